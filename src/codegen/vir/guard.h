// SPDX-License-Identifier: Apache-2.0
// Checked memory: while guards are on, every access that the builder emits is first compared with
// the buffer that its address derives from. A wrong access is recorded and redirected to spare
// memory, so nothing is overwritten; hlo_vir_guards_end() turns the record into an error.
#pragma once

#include "codegen/vir/builder.h"

/// Turns guards on. owner: `guards`, hlo_vir_guards_end() with the same builder.
typedef struct hlo_vir_guards {
  hlo_vir_value_t* note;   // stack: debug id + 1, first byte, size of the buffer
  hlo_vir_value_t* spare;  // stack: target of wrong accesses
  uint32_t count, capacity;
  struct hlo_vir_guard* items;
} hlo_vir_guards_t;

void hlo_vir_guards_begin(hlo_vir_builder_t* b, hlo_vir_guards_t* guards);
/// Registers a buffer and returns the address to use for it from now on. Accesses must derive from
/// such addresses, the stack, constants or the frame; others fail the module with INTERNAL.
hlo_vir_value_t* hlo_vir_guard(hlo_vir_builder_t* b, hlo_vir_value_t* address, uint64_t size_bytes);
/// Turns guards off and returns from the function with check_failed(debug id, byte, size) if an
/// access was wrong.
void hlo_vir_guards_end(hlo_vir_builder_t* b);

/// For hlo_vir_emit(): emits a memory instruction after its check.
hlo_vir_value_t* hlo_vir_emit_guarded(hlo_vir_builder_t* b, const hlo_vir_value_t* draft);
