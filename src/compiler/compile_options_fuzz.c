// SPDX-License-Identifier: Apache-2.0
//
// Arbitrary bytes as compile options: parsed or refused, with bounded memory.
#include "base/wire_fuzz.inl"
#include "compiler/compile_options.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hlo_arena_t arena;
  hlo_arena_init(&arena, ((size_t)16 << 20) + 64 * size);
  hlo_compile_options_t options;
  hlo_status_release(hlo_compile_options_parse(data, size, &arena, &options));
  hlo_arena_deinit(&arena);
  return 0;
}
