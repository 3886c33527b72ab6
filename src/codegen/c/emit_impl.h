// SPDX-License-Identifier: Apache-2.0
// What the files of the C emitter share: the translation unit while it grows, and helper functions
// that are added to it as they are needed.
#ifndef HLO_CODEGEN_C_EMIT_IMPL_H_
#define HLO_CODEGEN_C_EMIT_IMPL_H_

#include "base/hashmap.h"
#include "codegen/c/emit.h"
#include "codegen/vir/saved.h"

enum { HLO_C_NAME_BYTES = 96 };

typedef struct hlo_c_emitter {
  const hlo_vir_module_t* module;
  const hlo_vir_func_t* func;
  hlo_arena_t arena;
  hlo_map_t known;       // names of types and helpers that are there
  hlo_strbuf_t helpers;  // types and helper functions
  hlo_strbuf_t body;     // the functions
  uint8_t* mask_bits;    // width of each mask's lanes, by number
  hlo_vir_saved_t saved;
  bool uses_tiles;  // somewhere
} hlo_c_emitter_t;

/// The start of every translation unit: index arithmetic, and the words of vir.def's expressions.
extern const char hlo_c_prelude[];
/// What follows it where there are TILE ops.
extern const char hlo_c_tiles[];

/// Chooses the width of every mask's lanes in the function: of what is compared or selected.
/// errors: sticky in the arena
void hlo_c_choose_masks(hlo_c_emitter_t* e);

/// The type of the value, masks in the width that was chosen.
void hlo_c_value_type(hlo_c_emitter_t* e, const hlo_vir_value_t* value,
                      char name[HLO_C_NAME_BYTES]);

/// The name of the function that computes a MEMORY (but for iload, istore, prefetch), CROSS or
/// lane-wise op, defined if it is new. Its arguments are the address (memory), then the operands
/// that are vectors or INDEX; masks among them in the width hlo_c_mask_bits_of().
void hlo_c_helper(hlo_c_emitter_t* e, const hlo_vir_value_t* value, char name[HLO_C_NAME_BYTES]);
/// The width that an op wants its mask operands in.
uint32_t hlo_c_mask_bits_of(const hlo_c_emitter_t* e, const hlo_vir_value_t* value);
/// The name of the function that changes the width of a mask.
void hlo_c_mask_cast(hlo_c_emitter_t* e, uint32_t lanes, uint32_t from_bits, uint32_t to_bits,
                     char name[HLO_C_NAME_BYTES]);

#endif  // HLO_CODEGEN_C_EMIT_IMPL_H_
