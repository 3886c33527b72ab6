// SPDX-License-Identifier: Apache-2.0
// A program of machine code as bytes: code, allocations of calls, sizes. Nodes and constants are
// those of the module it was made from; an equal module is needed to load it.
#pragma once

#include "codegen/lower/call_sites.h"
#include "codegen/object/code.h"

/// The tables of a loaded program.
typedef struct hlo_image {
  hlo_code_t code;  // loaded: bytes and names lent from the image, the arrays in the arena;
                    // of the target's instruction set, which the loader sets
  hlo_call_site_table_t table;  // loaded: refers to the given module
  size_t temporary_bytes, saved_bytes;
} hlo_image_t;

/// Appends an image; `func` is the entry of the table's module. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_image_write(const hlo_code_t* code, const hlo_call_site_table_t* table,
                             size_t temporary_bytes, size_t saved_bytes,
                             hlo_strbuf_t* out) HLO_MUST_USE;

/// Reads an image for a module that is structurally equal to the one it was made from. Every count,
/// number and allocation is checked against the module and the sizes: any bytes are refused, or
/// give a program whose calls stay within its buffers. The machine code itself is not checked.
/// owner: hlo_call_site_table_deinit() of the table, also after failure.
/// errors: DATA_LOSS, RESOURCE_EXHAUSTED, those of hlo_call_site_table_begin()
hlo_status_t hlo_image_read(const void* bytes, size_t size_bytes, const hlo_func_t* func,
                            hlo_arena_t* arena, hlo_image_t* out_image) HLO_MUST_USE;
