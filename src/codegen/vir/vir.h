// SPDX-License-Identifier: Apache-2.0
// The vector IR: functions of structured control flow over machine vectors, the level between fused
// kernels and machine code, C source or an interpreter. docs/vir.md is its reference.
//
// A value is a 64-bit INDEX (addresses, counters, conditions), a MASK, or a vector of 1 to 64 equal
// lanes that fits one register of the target. Values are assigned once, except `var`, a register
// that `set` changes; a use of a var reads its current value. Blocks nest: for, loop, if. The
// builder places every pure instruction in the outermost open block that has its operands and
// reuses equal ones, so loop-invariant code is never inside the loop.
//
// owner  : a module owns everything; freed at once.
// threads: confined while building, then immutable.
#pragma once

#include "base/fpenv.h"
#include "base/mem.h"
#include "base/status.h"
#include "base/strbuf.h"

typedef enum hlo_vir_opcode {
#define HLO_VIR_OP(id, ...) HLO_VIR_##id,
#define HLO_VIR_LANE(id, ...) HLO_VIR_##id,
#include "codegen/vir/vir.def"
  HLO_VIR_OPCODE_COUNT
} hlo_vir_opcode_t;

/// The classes of vir.def.
typedef enum hlo_vir_class {
  HLO_VIR_CONTROL,
  HLO_VIR_INDEX_OP,
  HLO_VIR_MEMORY,
  HLO_VIR_CROSS,
  HLO_VIR_TILE,
  HLO_VIR_GROUP,
  HLO_VIR_FLOAT,
  HLO_VIR_INT,
  HLO_VIR_DOT,
  HLO_VIR_HALF,
  HLO_VIR_BITS,
  HLO_VIR_CONVERT,
  HLO_VIR_COMPARE,
  HLO_VIR_MASK_OP,
} hlo_vir_class_t;

typedef enum hlo_vir_elem {
  HLO_VIR_VOID,   // no value
  HLO_VIR_INDEX,  // 64 bits in a general register, one lane
  HLO_VIR_MASK,   // one truth value per lane
  HLO_VIR_I8,
  HLO_VIR_I16,  // also f16 and bf16, which are converted by instructions
  HLO_VIR_I32,
  HLO_VIR_I64,
  HLO_VIR_F32,
  HLO_VIR_F64,
} hlo_vir_elem_t;

typedef struct hlo_vir_type {
  uint8_t elem;   // hlo_vir_elem_t
  uint8_t lanes;  // 1, 2, 4 ... 64; 0 for VOID
} hlo_vir_type_t;

typedef enum hlo_vir_condition {
  HLO_VIR_EQ,
  HLO_VIR_NE,  // true if unordered; the other five are false then
  HLO_VIR_LT,
  HLO_VIR_LE,
  HLO_VIR_GT,
  HLO_VIR_GE,
  HLO_VIR_UNORDERED,  // floats only
  HLO_VIR_ORDERED,
} hlo_vir_condition_t;

typedef enum hlo_vir_rounding {
  HLO_VIR_NEAREST_EVEN,
  HLO_VIR_FLOOR,
  HLO_VIR_CEIL,
  HLO_VIR_TOWARD_ZERO,
} hlo_vir_rounding_t;

/// The elements of the tiles of a tile_dot: signed or unsigned bytes of a and of b, or halves.
typedef enum hlo_vir_tile_kind {
  HLO_VIR_TILE_S8S8,
  HLO_VIR_TILE_S8U8,
  HLO_VIR_TILE_U8S8,
  HLO_VIR_TILE_U8U8,
  HLO_VIR_TILE_BF16,
  HLO_VIR_TILE_F16,
  HLO_VIR_TILE_KIND_COUNT
} hlo_vir_tile_kind_t;

/// Flags of an instruction. Memory: the scale in the low two bits (log2 of 1, 2, 4, 8); for iload,
/// istore and icas the width in the next two (log2 of bytes).
enum {
  HLO_VIR_SCALE_MASK = 3,
  HLO_VIR_WIDTH_SHIFT = 2,
  HLO_VIR_UNSIGNED = 1 << 4,   // iload, icas, to_index: zero-extend
  HLO_VIR_INVARIANT = 1 << 5,  // the memory never changes while the function runs: the load is
                               // moved and merged like a pure instruction, but not out of an `if`
                               // unless it is FIXED
  HLO_VIR_STREAM = 1 << 6,     // store past the caches, at a multiple of the vector's bytes
  HLO_VIR_FIXED = 1 << 6,      // INVARIANT iload: the memory does not change at fences either
  HLO_VIR_PARALLEL_SAFE = 1 << 7,  // for: iterations are independent (a hint)
  HLO_VIR_LOCAL = 1 << 7,          // call: the module's function imm (no entry), on this frame
};

typedef struct hlo_vir_value hlo_vir_value_t;
typedef struct hlo_vir_block hlo_vir_block_t;
typedef struct hlo_vir_func hlo_vir_func_t;
typedef struct hlo_vir_module hlo_vir_module_t;

enum { HLO_VIR_MAX_OPERANDS = 5, HLO_VIR_MAX_LANES = 64, HLO_VIR_MAX_PARAMS = 4 };

/// One instruction and its value.
struct hlo_vir_value {
  union {
    struct {
      uint16_t op;  // hlo_vir_opcode_t
      hlo_vir_type_t type;
      uint8_t flags;
      uint8_t operand_count;  // without trailing absent operands; absent ones in between are NULL
    };
    uint64_t head;  // all of these, the first one lowest, zeros above
  };
  uint32_t number;    // dense in the function, in order of creation
  uint32_t debug_id;  // the caller's number of the source operation; 0: none
  int64_t imm;
  hlo_vir_value_t* operands[HLO_VIR_MAX_OPERANDS];
  hlo_vir_block_t* parent;
  hlo_vir_block_t* body;        // for, loop, if
  hlo_vir_block_t* other_body;  // if
  hlo_vir_value_t *prev, *next;
};

struct hlo_vir_block {
  hlo_vir_value_t* owner;   // the instruction whose body it is; NULL: the function's body
  hlo_vir_block_t* parent;  // block of the owner
  uint32_t depth;           // 0: the function's body
  hlo_vir_value_t *first, *last;
  uint32_t single_trips;  // builder: open loops of one iteration
};

/// Returns the block in which a value becomes usable (nested blocks included): for a counter the
/// loop's body.
static inline hlo_vir_block_t* hlo_vir_value_block(const hlo_vir_value_t* value) {
  return value->op == HLO_VIR_for ? value->body : value->parent;
}

struct hlo_vir_func {
  hlo_vir_module_t* module;
  const char* name;
  uint32_t index, param_count, value_count;
  bool is_entry;  // int32_t f(hlo_frame_t*): may call and suspend; else a chunk, (frame, context,
                  // index)
  hlo_vir_block_t* body;
  hlo_vir_func_t* next;
};

typedef struct hlo_vir_blob {
  const uint8_t* bytes;  // 64-byte aligned, also in the final code
  size_t size_bytes;
  uint64_t hash;
} hlo_vir_blob_t;

struct hlo_vir_module {
  hlo_arena_t arena;
  hlo_vir_func_t *first_func, *last_func;
  uint32_t func_count, blob_count, blob_capacity;
  hlo_vir_blob_t* blobs;
  hlo_status_t failure;         // what stopped building, other than memory
  hlo_vir_value_t* poison;      // returned when memory is exhausted: an INDEX in no block
  bool has_half;                // HALF ops may be built
  bool has_permute;             // formulas may use `permute` and conversions of f16, which take
                                // few instructions
  bool has_scale;               // `scale` may be built
  bool has_groups;              // GROUP ops may be built
  hlo_subnormals_t subnormals;  // what becomes of them in the state that the code is to run in
  hlo_vir_func_t* poison_func;  // used only by a builder that cannot build
};

hlo_status_t hlo_vir_module_create(hlo_vir_module_t** out_module) HLO_MUST_USE;
void hlo_vir_module_release(hlo_vir_module_t* module);
/// Fails the module for a reason other than memory; the first reason is kept. Takes over `status`.
void hlo_vir_module_fail(hlo_vir_module_t* module, hlo_status_t status) HLO_COLD;
/// The sticky error of building, if any.
hlo_status_t hlo_vir_module_status(const hlo_vir_module_t* module) HLO_MUST_USE;
/// Copies constant bytes into the module, equal ones once; returns their number for `rodata`.
uint32_t hlo_vir_module_add_blob(hlo_vir_module_t* module, const void* bytes, size_t size_bytes);
/// Never returns NULL (a poison function when memory is exhausted).
hlo_vir_func_t* hlo_vir_func_create(hlo_vir_module_t* module, const char* name,
                                    uint32_t param_count, bool is_entry);

const char* hlo_vir_opcode_name(hlo_vir_opcode_t op);
/// Returns the most operands of an op; below, whether it has no effect and may be moved and merged.
uint32_t hlo_vir_opcode_operand_count(hlo_vir_opcode_t op);
typedef struct hlo_vir_opcode_info {
  const char* name;
  uint8_t operand_count;
  uint8_t klass;  // hlo_vir_class_t
  bool is_pure;
} hlo_vir_opcode_info_t;
extern const hlo_vir_opcode_info_t hlo_vir_opcodes[HLO_VIR_OPCODE_COUNT];
static inline bool hlo_vir_opcode_is_pure(hlo_vir_opcode_t op) {
  return hlo_vir_opcodes[op].is_pure;
}
static inline hlo_vir_class_t hlo_vir_opcode_class(hlo_vir_opcode_t op) {
  return (hlo_vir_class_t)hlo_vir_opcodes[op].klass;
}
/// Returns the element type of a DOT op.
static inline hlo_vir_elem_t hlo_vir_dot_elem(hlo_vir_opcode_t op) {
  return op == HLO_VIR_dot_bf16 ? HLO_VIR_F32 : HLO_VIR_I32;
}
/// Returns an operand; NULL if it is absent.
static inline hlo_vir_value_t* hlo_vir_operand(const hlo_vir_value_t* value, uint32_t at) {
  return at < value->operand_count ? value->operands[at] : NULL;
}
/// Returns the operand of a MEMORY op that is the base; the next operand is the index (or vector of
/// indices).
uint32_t hlo_vir_base_operand(hlo_vir_opcode_t op);
/// Returns 0 for VOID and MASK.
static inline uint32_t hlo_vir_elem_bits(hlo_vir_elem_t elem) {
  static const uint8_t bits[] = {
      [HLO_VIR_INDEX] = 64, [HLO_VIR_I8] = 8,   [HLO_VIR_I16] = 16, [HLO_VIR_I32] = 32,
      [HLO_VIR_I64] = 64,   [HLO_VIR_F32] = 32, [HLO_VIR_F64] = 64,
  };
  return elem <= HLO_VIR_F64 ? bits[elem] : 0;
}
static inline hlo_vir_type_t hlo_vir_type(hlo_vir_elem_t elem, uint32_t lanes) {
  return (hlo_vir_type_t){(uint8_t)elem, (uint8_t)lanes};
}
static inline bool hlo_vir_type_equal(hlo_vir_type_t a, hlo_vir_type_t b) {
  return a.elem == b.elem && a.lanes == b.lanes;
}

/// Reports every fault of a function as one INTERNAL status: types, operand counts, values used
/// where they are not available, widths above `vector_bytes` (0: any).
hlo_status_t hlo_vir_verify(const hlo_vir_module_t* module, uint32_t vector_bytes) HLO_MUST_USE;
/// Prints readable text, one instruction per line, blocks indented.
void hlo_vir_print(const hlo_vir_module_t* module, hlo_strbuf_t* out);
