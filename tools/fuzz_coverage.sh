#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Line coverage of the readers (src/frontend, src/ir/parse*) by the committed corpora alone: replays
# them in a build folder instrumented for llvm-cov, prints a table and fails below a percentage.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1 wanted=$2
profiles="$folder/corpus-profiles"
rm -rf "$profiles"
mkdir -p "$profiles"
objects=()
for replay in "$folder"/test/replay_*; do
  name=${replay##*/replay_}
  objects+=(-object "$replay")
  LLVM_PROFILE_FILE="$profiles/$name.profraw" "$replay" "tests/corpus/$name" >/dev/null
done
llvm-profdata merge -sparse "$profiles"/*.profraw -o "$profiles/all.profdata"
report=$(llvm-cov report "${objects[@]}" -instr-profile="$profiles/all.profdata" \
  -ignore-filename-regex='_(test|fuzz)\.c$|\.(h|inl|def)$' |
  awk -v wanted="$wanted" '
    $1 ~ /^src\/(frontend\/|ir\/parse)/ || $1 ~ /\/src\/(frontend\/|ir\/parse)/ {
      sub(".*src/", "src/", $1)
      printf "%-44s %5d lines %6.2f %%\n", $1, $8, 100 * ($8 - $9) / $8
      lines += $8
      missed += $9
      if ($1 ~ /frontend\/hlo\//) { hlo += $8; hlo_missed += $9 }
    }
    END {
      percent = lines ? 100 * (lines - missed) / lines : 0
      printf "%-44s %5d lines %6.2f %%\n", "src/frontend/hlo", hlo, hlo ? 100 * (hlo - hlo_missed) / hlo : 0
      printf "%-44s %5d lines %6.2f %%\n", "all", lines, percent
      exit percent < wanted
    }') && status=0 || status=$?
echo "$report"
[ "$status" = 0 ] || { echo "fuzz coverage: below $wanted %"; exit 1; }
echo "fuzz coverage: OK"
