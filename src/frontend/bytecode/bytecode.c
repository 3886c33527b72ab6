// SPDX-License-Identifier: Apache-2.0
// Entry of the bytecode reader: memory bounds, tables, then the IR (see reader.h).
#include "frontend/bytecode/bytecode.h"

#include <string.h>

#include "frontend/bytecode/reader.h"

// The shares of the memory bound of 16 MiB + 64x the input.
enum {
  MIB = 1 << 20,
  MODULE_BASE = 10 * MIB,
  MODULE_FACTOR = 34,
  SCRATCH_BASE = 4 * MIB,
  SCRATCH_FACTOR = 16,
  LITERAL_BASE = 2 * MIB,
  LITERAL_FACTOR = 14,
};

bool hlo_bytecode_sniff(const void* bytes, size_t size) {
  return size >= 4 && memcmp(bytes, "ML\xefR", 4) == 0;
}

hlo_status_t hlo_bytecode_read(const void* bytes, size_t size, hlo_literal_keeper_t* keeper,
                               hlo_module_t** out_module) {
  if (size > SIZE_MAX / 128) return hlo_status_out_of_memory(size);
  hlo_bc_cursor_t file = {bytes, bytes, (const uint8_t*)bytes + size, "file"};
  hlo_bc_reader_t reader = {.keeper = keeper,
                            .literal_budget = LITERAL_BASE + LITERAL_FACTOR * size};
  HLO_TRY(hlo_module_create(MODULE_BASE + MODULE_FACTOR * size, &reader.module));
  hlo_arena_init(&reader.scratch, SCRATCH_BASE + SCRATCH_FACTOR * size);
  hlo_status_t status = hlo_bc_open(&reader, &file);
  if (hlo_status_is_ok(status)) status = hlo_bc_read_ir(&reader);
  hlo_arena_deinit(&reader.scratch);
  if (!hlo_status_is_ok(status)) {
    hlo_module_release(reader.module);
    return status;
  }
  *out_module = reader.module;
  return hlo_ok();
}
