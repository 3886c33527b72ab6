// SPDX-License-Identifier: Apache-2.0
// Fuzzes the text of Tile IR: what is read prints as text that is read and prints the same, before
// and after layouts were found for it. Small kernels run, and are searched for races.
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

// ---- small kernels run

// Elements of any type: the bytes of the first operand, as far as they go.
static bool compute(void* context, const hlo_tile_map_t* map, uint32_t operand_count,
                    const hlo_dtype_t* dtypes, const void* const* operands, hlo_dtype_t dtype,
                    void* result, size_t count) {
  (void)context, (void)map, (void)operand_count;
  size_t from = hlo_dtype_size_bytes(dtypes[0]), to = hlo_dtype_size_bytes(dtype);
  memmove(result, operands[0], count * (from < to ? from : to));
  return true;
}

static bool is_small(const hlo_tile_kernel_t* kernel) {
  enum { POINTS = 512, ELEMENTS = 256, OPS = 100 };
  const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
  uint32_t ops = 0;
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    if (kernel->buffers[i].element_count > ELEMENTS) return false;
  }
  for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    double points = 1;
    for (uint32_t i = hlo_tile_block_loops(op->block, loops); i-- > 0;) {
      points *= (double)(loops[i]->end - loops[i]->low);
    }
    bool is_large = hlo_tile_op_is_ref(op) && hlo_tile_ref_count(op) > ELEMENTS;
    if (points > POINTS || is_large || op->kind == HLO_TILE_OP_while || ++ops > OPS) return false;
  }
  return true;
}

static void run(hlo_arena_t* arena, const hlo_tile_kernel_t* kernel) {
  static const hlo_tile_meaning_t meaning = {.map = compute};
  void** buffers = hlo_arena_array(arena, kernel->buffer_count + 1, sizeof *buffers);
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &kernel->buffers[i];
    size_t bytes = (size_t)buffer->element_count * hlo_dtype_size_bytes(buffer->dtype);
    buffers[i] = calloc(1, bytes + 1);  // so that accesses beyond it are found
    if (!buffers[i]) abort();
  }
  hlo_status_release(hlo_tile_kernel_run(kernel, &meaning, buffers));
  hlo_status_release(hlo_tile_kernel_find_races(kernel, &meaning, buffers));
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) free(buffers[i]);
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
    if (is_small(kernel)) run(&arena, kernel);
    status = hlo_tile_kernel_infer(kernel, &MACHINE, FUEL);
    if (hlo_status_is_ok(status)) check_round_trip(&arena, kernel);
  }
  hlo_status_release(status);
  hlo_arena_deinit(&arena);
  return 0;
}
