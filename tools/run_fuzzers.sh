#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target of a build folder for some seconds, from the corpus of the same name.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1 seconds=$2
tokens="$folder/tokens.dict"
{
  grep -hoE '^HLO_OP\([^,]*, "[^"]+"|^HLO_(ATTR|DTYPE)\([^,]+|^HLO_ENUM_CASE\([^,]+, [^,]+' src/ir/*.def
  grep -hoE '^HLO_OP\([^,]*, "[^"]+", "[^"]+"' src/ir/ops.def  # the name in HLO
  grep -hoE '\{?(ROW|IN|CALL|SKIP)?[({]"[a-z_-]+"' src/frontend/hlo/*.c
} | sed -E 's/.*[(" ]([^(" ]+)"?$/"\1"/' | sort -u > "$tokens"
for target in "$folder"/fuzz/fuzz_*; do
  name=${target##*/fuzz_}
  found="$folder/found/$name"
  mkdir -p "$found"
  corpus="tests/corpus/$name"
  [ -d "$corpus" ] || corpus=  # a folder that is there is a test, which wants inputs
  echo "fuzz $name for $seconds s"
  "$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=0 -verbosity=0 \
    -dict="$tokens" -artifact_prefix="$found/" "$found" ${corpus:+"$corpus"}
done
echo "fuzz: OK"
