#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes Debian packages from a build folder that was configured for the prefix /usr:
#
#   tools/deb_packages.sh BUILD OUT
#
#   libhlocc0     the C library
#   libhlocc-dev  headers, libhlocc_rt.a, pkg-config and CMake files, the page of the C interface
#   hlocc         the tool, the PJRT plugin, their pages
#
# dpkg-shlibdeps finds what they depend on. HLOCC_MAINTAINER replaces the name in them.
set -euo pipefail
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
cd "$(dirname "$0")/.."

maintainer=${HLOCC_MAINTAINER:-hlocc maintainers <maintainers@hlocc.invalid>}
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
arch=$(dpkg --print-architecture)
version=$(sed -n 's/^project(hlocc VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# $1 package, then files of the staged tree
take() {
  local package=$1 file
  shift
  for file in "$@"; do
    mkdir -p "$work/debian/$package/$(dirname "$file")"
    mv "$work/stage/$file" "$work/debian/$package/$file"
  done
}

documents() {  # $1 package: copyright, changelog
  local folder=$work/debian/$1/usr/share/doc/$1
  mkdir -p "$folder"
  cat >"$folder/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: hlocc

Files: *
Copyright: $(date -ud "@$SOURCE_DATE_EPOCH" +%Y) the hlocc authors
License: Apache-2.0
 On Debian systems, the complete text of the Apache License, Version 2.0,
 is in /usr/share/common-licenses/Apache-2.0.
END
  {
    printf 'hlocc (%s) unstable; urgency=medium\n\n  * Packages of this version.\n\n' "$version"
    printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -uRd "@$SOURCE_DATE_EPOCH")"
  } | gzip -9n >"$folder/changelog.gz"
}

# $1 package, $2 section, $3 fields of the control file, $4 one line, $5 the rest of the description
pack() {
  local root=$work/debian/$1 depends
  documents "$1"
  mkdir -p "$root/DEBIAN"
  depends=$(cd "$work" && find "debian/$1" -type f \( -name '*.so*' -o -path '*/bin/*' \) -print0 |
    xargs -0 -r dpkg-shlibdeps -O --ignore-missing-info 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
  {
    printf 'Package: %s\nSource: hlocc\nVersion: %s\nArchitecture: %s\n' "$1" "$version" "$arch"
    printf 'Maintainer: %s\nInstalled-Size: %s\n' "$maintainer" "$(du -sk --exclude=DEBIAN "$root" | cut -f1)"
    printf 'Section: %s\nPriority: optional\n%b' "$2" "$3"
    [ -z "$depends" ] || printf 'Depends: %s\n' "$depends"
    printf 'Description: %s\n%s\n' "$4" "$5"
  } >"$root/DEBIAN/control"
  (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  find "$root" -type d -exec chmod 755 {} +
  find "$root" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz --build "$root" "$out/${1}_${version}_$arch.deb" >/dev/null
  echo "$out/${1}_${version}_$arch.deb"
}

mkdir -p "$work/debian"
printf 'Source: hlocc\nMaintainer: %s\n\nPackage: hlocc\nArchitecture: any\nDescription: x\n' \
  "$maintainer" >"$work/debian/control"
DESTDIR=$work/stage cmake --install "$build" >/dev/null
find "$work/stage" -type f \( -name '*.so*' -o -path '*/bin/*' \) \
  -exec strip --strip-unneeded -R .comment -R .note {} +
find "$work/stage" -name '*.a' -exec strip --strip-debug --enable-deterministic-archives {} +
find "$work/stage/usr/share/man" -type f -exec gzip -9n {} +
find "$work/stage" -type f ! -path '*/bin/*' -exec chmod 644 {} +

cd "$work/stage"
lib=usr/lib/$triplet
take libhlocc0 $lib/libhlocc.so.*
take libhlocc-dev usr/include $lib/libhlocc.so $lib/libhlocc_rt.a $lib/pkgconfig $lib/cmake usr/share/man/man3
take hlocc usr
cd - >/dev/null

# The control files of the library are for those that link it.
mkdir -p "$work/debian/libhlocc0/DEBIAN"
echo "libhlocc 0 libhlocc0 (>= $version)" >"$work/debian/libhlocc0/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$work/debian/libhlocc0/DEBIAN/triggers"

about=" hlocc compiles StableHLO and HLO programs, such as those of JAX, to machine
 code, and runs them."
pack libhlocc0 libs "Multi-Arch: same\n" "machine-learning compiler and runtime in C - library" \
  "$about"$'\n .\n This package contains the C library.'
pack libhlocc-dev libdevel "Depends: libhlocc0 (= $version)\n" \
  "machine-learning compiler and runtime in C - development files" \
  "$about"$'\n .\n This package contains the header files, the library of programs that were\n compiled ahead of time, and the files for pkg-config and CMake.'
pack hlocc science "Recommends: libhlocc-dev\nSuggests: python3-pip\n" \
  "machine-learning compiler and runtime in C - tool and PJRT plugin" \
  "$about"$'\n .\n This package contains the command-line tool and the plugin for JAX and other\n users of PJRT.'
