#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compares the code that two revisions generate for a fixed set of programs: the review artefact of a
# refactoring, whose difference is empty.
#
#   tools/codegen_diff.sh BASE HEAD [FORM...]
#
# BASE and HEAD are revisions, which are built in worktrees of their own, or paths of hlocc
# executables. FORMs are those of `hlocc compile --emit`; by default plan, vir and asm. Programs are
# those of tests/programs/one-device and the modules of tests/codegen and tests/golden, each compiled
# for AVX-512, AVX2 and SSE2. Prints a line for each output that differs, the first differences, and a
# count; exits 1 where there is a difference. The outputs stay in the folder that the last line names.
set -euo pipefail
top=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
[ $# -ge 2 ] || { sed -n '3,14s/^# \{0,1\}//p' "$0"; exit 2; }
base=$1 head=$2
shift 2
forms=${*:-plan vir asm}
work=$(mktemp -d "${TMPDIR:-/tmp}/codegen_diff.XXXXXX")

# build_tool NAME REVISION_OR_EXECUTABLE: prints the path of the tool.
build_tool() {
  if [ -f "$2" ] && [ -x "$2" ]; then
    realpath "$2"
    return
  fi
  git -C "$top" worktree add -q --detach "$work/$1.tree" "$2" >&2
  cmake -S "$work/$1.tree" -B "$work/$1.build" -DCMAKE_BUILD_TYPE=Release -DHLOCC_TESTS=OFF >&2
  cmake --build "$work/$1.build" -j "$(nproc)" --target hlocc_cli >&2
  git -C "$top" worktree remove --force "$work/$1.tree" >&2
  echo "$work/$1.build/bin/hlocc"
}

split_modules() {  # FOLDER: one file a module, named after where it comes from
  local file name
  find "$top/tests/codegen" "$top/tests/golden" -name '*.mlir' | sort | while read -r file; do
    name=${file#"$top/tests/"}
    awk -v out="$1/$(echo "${name%.mlir}" | tr / .)" '
      BEGIN { n = 0 } /^\/\/ -----$/ { n++; next } { print > (out "." n ".mlir") }' "$file"
  done
  for file in "$top"/tests/programs/one-device/*.mlirbc; do
    ln -s "$file" "$1/$(basename "$file")"
  done
}

compile_one() {  # PROGRAM: both tools, every form and level; prints the name of each output that differs
  local name form level side
  name=$(basename "$1")
  for form in $forms; do
    for level in avx512 avx2 generic; do
      for side in base head; do
        HLOCC_CPU=$level "${side}_tool" compile --emit="$form" "$1" \
          >"$work/$side/$name.$level.$form" 2>&1 || true
      done
      cmp -s "$work/base/$name.$level.$form" "$work/head/$name.$level.$form" \
        || echo "$name.$level.$form"
    done
  done
}

base_path=$(build_tool base "$base")
head_path=$(build_tool head "$head")
mkdir "$work/base" "$work/head" "$work/programs" "$work/bin"
ln -s "$base_path" "$work/bin/base_tool"
ln -s "$head_path" "$work/bin/head_tool"
split_modules "$work/programs"
export -f compile_one
export forms work PATH="$work/bin:$PATH"
find "$work/programs" -name '*.mlir*' | sort | xargs -P "$(nproc)" -I{} bash -c 'compile_one {}' >"$work/differ"

sort "$work/differ" | while read -r name; do
  echo "differs: $name"
done
first=$(sort "$work/differ" | head -n 1)
[ -z "$first" ] || diff -u "$work/base/$first" "$work/head/$first" | head -n 40 || true
count=$(wc -l <"$work/differ")
echo "codegen_diff: $count of $(find "$work/head" -type f | wc -l) outputs differ ($work)"
[ "$count" = 0 ]
