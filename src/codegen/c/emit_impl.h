// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the C emitter: the translation unit under construction, and helper
// functions that are added on demand.
#pragma once

#include "base/hashmap.h"
#include "codegen/c/emit.h"
#include "codegen/vir/saved.h"

enum { HLO_C_NAME_BYTES = 96 };

typedef struct hlo_c_emitter {
  const hlo_vir_module_t* module;
  const hlo_vir_func_t* func;
  hlo_arena_t arena;
  hlo_map_t known;       // names of the types and helpers emitted so far
  hlo_strbuf_t helpers;  // types and helper functions
  hlo_strbuf_t body;     // the functions
  uint8_t* mask_bits;    // width of each mask's lanes, by number
  hlo_vir_saved_t saved;
  bool uses_tiles;  // in any function
} hlo_c_emitter_t;

/// The start of every translation unit: index arithmetic, and the macros of vir.def's expressions.
extern const char hlo_c_prelude[];
/// The second part of the prelude, for modules with TILE ops.
extern const char hlo_c_tiles[];

/// Chooses the lane width of every mask in the function: that of the compared or selected values.
/// errors : sticky in the arena
void hlo_c_choose_masks(hlo_c_emitter_t* e);

/// Returns the C type of the value, masks in the chosen width.
void hlo_c_value_type(hlo_c_emitter_t* e, const hlo_vir_value_t* value,
                      char name[HLO_C_NAME_BYTES]);

/// Returns the name of the function that computes a MEMORY (except iload, istore, prefetch), CROSS
/// or lane-wise op, and defines it on first use. Its arguments are the address (memory), then the
/// operands that are vectors or INDEX; masks have the width hlo_c_mask_bits_of().
void hlo_c_helper(hlo_c_emitter_t* e, const hlo_vir_value_t* value, char name[HLO_C_NAME_BYTES]);
/// Returns the width in which an op expects its mask operands.
uint32_t hlo_c_mask_bits_of(const hlo_c_emitter_t* e, const hlo_vir_value_t* value);
/// Returns the name of the function that changes the width of a mask.
void hlo_c_mask_cast(hlo_c_emitter_t* e, uint32_t lanes, uint32_t from_bits, uint32_t to_bits,
                     char name[HLO_C_NAME_BYTES]);
