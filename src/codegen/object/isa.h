// SPDX-License-Identifier: Apache-2.0
// An instruction set, as everything above its encoder sees it: a table of functions that make code,
// and what loaders, object files and listings have to know about the code. An encoder fills in one
// table (x86/compile.c); isa/isa.h finds the one of a target.
#pragma once

#include "base/status.h"
#include "codegen/object/code.h"

struct hlo_target;
struct hlo_vir_func;

typedef struct hlo_code_isa hlo_code_isa_t;

/// Code of some functions of a program, independent of the others. Units of one program may be
/// filled in parallel; joined in the order of the functions they give the program's code, with the
/// same bytes however the functions were distributed. The units of an encoder begin with this.
/// owner  : caller, hlo_code_unit_release()
/// threads: confined
typedef struct hlo_code_unit {
  const hlo_code_isa_t* isa;
} hlo_code_unit_t;

/// The role of a sealed function in a program.
typedef struct hlo_code_role {
  uint32_t index;
  const char* name;  // lent until the code is loaded
  const uint32_t* debug_ids;
} hlo_code_role_t;

enum { HLO_CODE_ISA_MAX_FRAME_BYTES = 64 };

/// How unwinders find the caller's registers, in the terms of DWARF's call frame information.
typedef struct hlo_code_isa_frames {
  uint8_t code_alignment;       // factor of distances in the code
  uint8_t data_alignment_sleb;  // of offsets from the canonical frame address, encoded
  uint8_t return_register;
  uint8_t entry_bytes;  // of the instructions that hold at a function's entry
  uint8_t entry[8];
  /// Appends the instructions for a function's prologue, at most HLO_CODE_ISA_MAX_FRAME_BYTES;
  /// their bytes.
  size_t (*write_prologue)(const hlo_code_func_t* func, uint8_t* out);
} hlo_code_isa_frames_t;

/// A 32-bit field of code that a linker fills in.
typedef struct hlo_code_isa_field {
  uint32_t offset_bytes, relocation;
  int64_t addend;
} hlo_code_isa_field_t;

/// The contents of object files of the instruction set. source: its ELF supplement
typedef struct hlo_code_isa_object {
  uint16_t machine;              // e_machine
  uint32_t address_relocation;   // an address of 64 bits
  uint32_t distance_relocation;  // a distance of 32 bits from the field
  // A jump to `trampoline_target`, with the address of `trampoline_data` as the third argument, the
  // others as they are.
  const uint8_t* trampoline;
  uint32_t trampoline_bytes;
  hlo_code_isa_field_t trampoline_data, trampoline_target;
} hlo_code_isa_object_t;

/// threads: immutable
struct hlo_code_isa {
  const char* name;
  /// Returns true if the target has an encoder for the set.
  bool (*encodes)(const struct hlo_target* target);
  /// A unit for functions of a program of func_count functions; the target is lent.
  /// errors: RESOURCE_EXHAUSTED
  hlo_status_t (*create)(const struct hlo_target* target, uint32_t func_count,
                         hlo_code_unit_t** out_unit);
  void (*release)(hlo_code_unit_t* unit);
  /// Appends the code of a verified function, which has number func->index in the program. Only
  /// func->name is needed afterwards, until the code is loaded. errors: UNIMPLEMENTED naming an op
  /// that the target lacks, or a function with too many live values; RESOURCE_EXHAUSTED (memory;
  /// stack above 32 KiB)
  hlo_status_t (*add)(hlo_code_unit_t* unit, const struct hlo_vir_func* func);
  /// Appends the contents of another unit of the program. errors: RESOURCE_EXHAUSTED
  hlo_status_t (*join)(hlo_code_unit_t* unit, const hlo_code_unit_t* next);
  /// Seals a unit of one function without calls, so that any program may include it: its debug ids
  /// become positions in `debug_ids` (0 for unknown ones), and memory used for encoding is
  /// released. Returns the bytes that remain. threads: immutable from then on
  size_t (*seal)(hlo_code_unit_t* unit, uint32_t debug_id_count, const uint32_t* debug_ids);
  /// Appends the function of a sealed unit, as add() would. errors: RESOURCE_EXHAUSTED
  hlo_status_t (*include)(hlo_code_unit_t* unit, const hlo_code_unit_t* sealed,
                          const hlo_code_role_t* role);
  /// Returns the code of all functions and their constants. errors: RESOURCE_EXHAUSTED
  hlo_status_t (*finish)(hlo_code_unit_t* unit, hlo_code_t* out_code);
  hlo_code_isa_frames_t frames;
  hlo_code_isa_object_t object;
  const char *objdump_machine, *objdump_syntax;  // its options -m and -M
};

static inline void hlo_code_unit_release(hlo_code_unit_t* unit) {
  if (unit) unit->isa->release(unit);
}
