// SPDX-License-Identifier: Apache-2.0
// Fuzzes the text of Tile IR: what is read prints as text that is read and prints the same, before
// and after layouts were found for it.
#include <stdlib.h>
#include <string.h>

#include "base/fuzz.h"
#include "tile/ir.h"

enum { SIZE_LIMIT = 1 << 13, FUEL = 100 };

static const hlo_tile_target_t MACHINE = {
    .vector_bytes = 16,
    .vector_count = 16,
    .memory_count = 2,
    .atom_count = 2,
    .memories = {{"registers", 256, 16, 0, 0}, {"main", INT64_MAX, 64, 8, 0}},
    .atoms = {{.name = "load", .op = HLO_TILE_ATOM_LOAD, .per_ns = 2},
              {.name = "shuffle", .op = HLO_TILE_ATOM_SHUFFLE, .per_ns = 2}},
};

static void check_round_trip(hlo_arena_t* arena, const hlo_tile_kernel_t* kernel) {
  hlo_strbuf_t text = {0}, again = {0};
  hlo_tile_kernel_t* copy = NULL;
  hlo_tile_kernel_print(kernel, &text);
  if (!hlo_status_is_ok(hlo_tile_kernel_parse(arena, hlo_strbuf_text(&text), &copy))) abort();
  hlo_tile_kernel_print(copy, &again);
  if (strcmp(hlo_strbuf_text(&text), hlo_strbuf_text(&again)) != 0) abort();
  hlo_strbuf_deinit(&text);
  hlo_strbuf_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > SIZE_LIMIT) return 0;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  const char* text = hlo_arena_strndup(&arena, (const char*)data, size);
  hlo_tile_kernel_t* kernel = NULL;
  hlo_status_t status = hlo_tile_kernel_parse(&arena, text, &kernel);
  if (hlo_status_is_ok(status) && hlo_status_is_ok(status = hlo_tile_kernel_renumber(kernel))) {
    check_round_trip(&arena, kernel);
    status = hlo_tile_kernel_infer(kernel, &MACHINE, FUEL);
    if (hlo_status_is_ok(status)) check_round_trip(&arena, kernel);
  }
  hlo_status_release(status);
  hlo_arena_deinit(&arena);
  return 0;
}
