#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the wheel and the Debian packages in a system that has never seen this tree, and uses them:
#
#   tools/clean_root_test.sh WHEEL DEB...
#
# As root that is a new Debian system (mmdebstrap), entered by chroot without a network. Otherwise the
# packages are unpacked into a folder and the wheel is installed into a new virtual environment.
set -euo pipefail
wheel=$(realpath "$1")
shift
debs=$(realpath "$@")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir -p "$work/try/wheels"
cp -r examples/c tests/programs/one-device/mlp_train_digits.mlirbc "$work/try"
cp "$wheel" "$work/try/wheels"

cat >"$work/try/jax_program.py" <<'END'
import jax, jax.numpy as jnp, numpy as np
from hlocc import library_path
assert "hlocc" in jax.devices()[0].client.platform_version
assert "/site-packages/" in library_path(), library_path()
x = jnp.arange(12.0).reshape(3, 4)
slope = jax.jit(jax.grad(lambda x: jnp.sin(x @ x.T).sum()))(x)
assert np.isfinite(np.asarray(slope)).all()
doubled = jax.pure_callback(lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
np.testing.assert_array_equal(doubled, 2 * x)
print("jax", jax.__version__, "on", jax.devices()[0].client.platform_version.splitlines()[-1])
END

# What is run there. $1: where the packages are: "" for the root, or a folder.
cat >"$work/try/run.sh" <<'END'
set -eu
cd "$(dirname "$0")"
triplet=$(gcc -print-multiarch)
PATH=$1/usr/bin:$PATH
export LD_LIBRARY_PATH=$1/usr/lib/$triplet PKG_CONFIG_PATH=$1/usr/lib/$triplet/pkgconfig
[ -z "$1" ] || export PKG_CONFIG_SYSROOT_DIR=$1
hlocc run c/softmax.mlir --input=2x4xf32=random --print
hlocc compile --emit=plan mlp_train_digits.mlirbc >/dev/null
gcc c/run_module.c $(pkg-config --cflags --libs hlocc) -o run_module
./run_module c/softmax.mlir
plugin=$1$(pkg-config --variable=pjrt_plugin hlocc)
hlocc info >/dev/null
test -f "$1/usr/share/man/man1/hlocc.1.gz"
unset PIP_FIND_LINKS
venv/bin/python -m pip install -q --no-index --find-links wheels hlocc jax
HLOCC_LIBRARY_PATH=$plugin venv/bin/python -m hlocc
JAX_PLATFORMS=hlocc venv/bin/python jax_program.py
END

clean_root() {
  local suite
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  echo "clean root: Debian $suite, chroot without a network"
  mmdebstrap -q --variant=apt --include=gcc,libc6-dev,pkg-config,python3-venv "$suite" "$work/clean"
  mv "$work/try" "$work/clean/try"
  mkdir "$work/clean/try/debs"
  cp $debs "$work/clean/try/debs"
  fetch_wheels "$(chroot "$work/clean" python3 -c "$print_version")" "$work/clean/try/wheels"
  unshare --mount --net sh -c '
    mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" &&
    chroot "$1" sh -euc "
      dpkg -i /try/debs/*.deb >/dev/null
      python3 -m venv /try/venv
      sh /try/run.sh \"\"
      dpkg --purge hlocc libhlocc-dev libhlocc0 >/dev/null
      test ! -e /usr/bin/hlocc"' sh "$work/clean"
}

unpacked() {
  echo "unpacked packages and a new virtual environment (no root, so no chroot)"
  for deb in $debs; do dpkg -x "$deb" "$work/clean"; done
  python3 -m venv "$work/try/venv"
  fetch_wheels "$(python3 -c "$print_version")" "$work/try/wheels"
  sh "$work/try/run.sh" "$work/clean"
}

# $1 version of Python, $2 folder: the newest JAX for it, and what it needs.
print_version='import sys; print("%d.%d" % sys.version_info[:2])'
fetch_wheels() {
  build/venv/bin/python -m pip download -q --disable-pip-version-check --only-binary=:all: --python-version "$1" \
    -d "$2" jax
}

if [ "$(id -u)" = 0 ]; then clean_root; else unpacked; fi
echo "1 passed, 0 failed"
