// SPDX-License-Identifier: Apache-2.0
// Interprets vector IR (see interp.h). A value is an array of lanes as zero-extended 64-bit words;
// a mask is one word with bit i for lane i.
#include "codegen/vir/interp.h"

#include <inttypes.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/program_abi.h"
#include "codegen/vir/lane.h"
#include "codegen/vir/saved.h"
#include "codegen/vir/tile.h"

enum { STACK_ALIGN = 64, WORD_BYTES = 8 };

typedef enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_RETURN } flow_t;

typedef struct run {
  const hlo_vir_func_t* func;
  const uint64_t* params;
  const hlo_vir_interp_options_t* options;
  hlo_frame_t* frame;
  hlo_arena_t arena;
  uint64_t** lanes;  // by number
  hlo_vir_saved_t saved;
  const hlo_vir_value_t* resume;  // the suspend to resume after, until it is reached
  int32_t answer;
  hlo_status_t status;
  hlo_vir_tiles_t* tiles;  // NULL: not configured
} run_t;

static uint64_t* lanes_of(const run_t* run, const hlo_vir_value_t* value) {
  return run->lanes[value->number];
}
static int64_t index_of(const run_t* run, const hlo_vir_value_t* value) {
  return (int64_t)run->lanes[value->number][0];
}
static uint32_t bits_of(const hlo_vir_value_t* value) {
  return hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem);
}
static uint64_t width_mask(uint32_t bits) {
  return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}
static int64_t sign_extend(uint64_t word, uint32_t bits) {
  return (int64_t)(word << (64 - bits)) >> (64 - bits);
}

static flow_t fault(run_t* run, const hlo_vir_value_t* value, const char* what, uint64_t address,
                    size_t size_bytes) {
  if (hlo_status_is_ok(run->status)) {
    run->status = hlo_internal_error(
        "%s: %%%" PRIu32 " %s (debug id %" PRIu32 "): %s (0x%" PRIx64 ", %zu)", run->func->name,
        value->number, hlo_vir_opcode_name((hlo_vir_opcode_t)value->op), value->debug_id, what,
        address, size_bytes);
  }
  return FLOW_RETURN;
}

// ---- memory ------------------------------------------------------------------------------------

static bool is_inside(const void* start, size_t room_bytes, uint64_t address, size_t size_bytes) {
  uint64_t first = (uint64_t)(uintptr_t)start;
  return address >= first && size_bytes <= room_bytes && address - first <= room_bytes - size_bytes;
}

static bool is_in_stack(const run_t* run, const hlo_vir_block_t* block, uint64_t address,
                        size_t size_bytes) {
  // The builder places `stack`, which has no operands, in the function's body.
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    if (value->op == HLO_VIR_stack && is_inside((const void*)(uintptr_t)lanes_of(run, value)[0],
                                                (size_t)value->imm, address, size_bytes)) {
      return true;
    }
  }
  return false;
}

static bool is_allowed(const run_t* run, uint64_t address, size_t size_bytes, bool is_write) {
  const hlo_vir_interp_options_t* options = run->options;
  for (uint32_t i = 0; i < options->range_count; ++i) {
    const hlo_vir_range_t* range = &options->ranges[i];
    if ((range->is_writable || !is_write) &&
        is_inside(range->address, range->size_bytes, address, size_bytes)) {
      return true;
    }
  }
  if (is_in_stack(run, run->func->body, address, size_bytes)) return true;
  if (is_write) return false;
  const hlo_frame_t* frame = run->frame;
  const hlo_vir_module_t* module = run->func->module;
  for (uint32_t i = 0; i < module->blob_count; ++i) {
    if (is_inside(module->blobs[i].bytes, module->blobs[i].size_bytes, address, size_bytes))
      return true;
  }
  return is_inside(frame, sizeof *frame, address, size_bytes) ||
         is_inside(frame->buffers, frame->buffer_count * sizeof *frame->buffers, address,
                   size_bytes);
}

static bool may_access(run_t* run, const hlo_vir_value_t* value, uint64_t address,
                       size_t size_bytes, bool is_write) {
  if (!run->options->check_memory || is_allowed(run, address, size_bytes, is_write)) return true;
  fault(run, value, is_write ? "writes outside its memory" : "reads outside its memory", address,
        size_bytes);
  return false;
}

static bool read_word(run_t* run, const hlo_vir_value_t* value, uint64_t address, size_t size_bytes,
                      uint64_t* out) {
  if (!may_access(run, value, address, size_bytes, false)) return false;
  *out = 0;
  memcpy(out, (const void*)(uintptr_t)address, size_bytes);
  return true;
}

static bool write_word(run_t* run, const hlo_vir_value_t* value, uint64_t address,
                       size_t size_bytes, uint64_t word) {
  if (!may_access(run, value, address, size_bytes, true)) return false;
  memcpy((void*)(uintptr_t)address, &word, size_bytes);
  return true;
}

// Returns base + (index << scale) + imm; for a gather or scatter with the index of one lane.
static uint64_t address_of(const run_t* run, const hlo_vir_value_t* value, uint32_t lane) {
  uint32_t at = hlo_vir_base_operand((hlo_vir_opcode_t)value->op);
  uint64_t address = (uint64_t)index_of(run, value->operands[at]) + (uint64_t)value->imm;
  const hlo_vir_value_t* index = hlo_vir_operand(value, at + 1);
  if (!index) return address;
  int64_t offset = sign_extend(lanes_of(run, index)[lane], bits_of(index));
  return address + ((uint64_t)offset << (value->flags & HLO_VIR_SCALE_MASK));
}

static uint64_t mask_at(const run_t* run, const hlo_vir_value_t* value, uint32_t at) {
  const hlo_vir_value_t* mask = hlo_vir_operand(value, at);
  return mask ? lanes_of(run, mask)[0] : UINT64_MAX;
}

static flow_t run_load(run_t* run, const hlo_vir_value_t* value) {
  uint64_t* out = lanes_of(run, value);
  bool is_gather = value->op == HLO_VIR_gather;
  uint32_t bytes = bits_of(value) / 8;
  uint64_t mask = mask_at(run, value, 2);
  for (uint32_t i = 0; i < value->type.lanes; ++i) {
    uint64_t address = address_of(run, value, is_gather ? i : 0);
    if (value->op == HLO_VIR_load) address += (uint64_t)i * bytes;
    out[i] = 0;
    if ((mask >> i & 1) && !read_word(run, value, address, bytes, &out[i])) return FLOW_RETURN;
  }
  return FLOW_NEXT;
}

static flow_t run_store(run_t* run, const hlo_vir_value_t* value) {
  const hlo_vir_value_t* from = value->operands[0];
  bool is_scatter = value->op == HLO_VIR_scatter;
  uint32_t bytes = bits_of(from) / 8;
  uint64_t mask = mask_at(run, value, 3);
  uint64_t size = (uint64_t)bytes * from->type.lanes;
  if ((value->flags & HLO_VIR_STREAM) && address_of(run, value, 0) % size != 0) {
    return fault(run, value, "stores past the caches where it is not aligned",
                 address_of(run, value, 0), size);
  }
  for (uint32_t i = 0; i < from->type.lanes; ++i) {
    uint64_t address = address_of(run, value, is_scatter ? i : 0);
    if (!is_scatter) address += (uint64_t)i * bytes;
    if ((mask >> i & 1) && !write_word(run, value, address, bytes, lanes_of(run, from)[i])) {
      return FLOW_RETURN;
    }
  }
  return FLOW_NEXT;
}

// Replaces an integer in one step: other threads may interpret the same function.
static uint64_t swap_word(uint64_t address, size_t bytes, uint64_t expected, uint64_t desired) {
  void* at = (void*)(uintptr_t)address;
  uint8_t old8 = (uint8_t)expected;
  uint16_t old16 = (uint16_t)expected;
  uint32_t old32 = (uint32_t)expected;
  switch (bytes) {
    case 1:
      __atomic_compare_exchange_n((uint8_t*)at, &old8, (uint8_t)desired, false, __ATOMIC_SEQ_CST,
                                  __ATOMIC_SEQ_CST);
      return old8;
    case 2:
      __atomic_compare_exchange_n((uint16_t*)at, &old16, (uint16_t)desired, false, __ATOMIC_SEQ_CST,
                                  __ATOMIC_SEQ_CST);
      return old16;
    case 4:
      __atomic_compare_exchange_n((uint32_t*)at, &old32, (uint32_t)desired, false, __ATOMIC_SEQ_CST,
                                  __ATOMIC_SEQ_CST);
      return old32;
    default:
      __atomic_compare_exchange_n((uint64_t*)at, &expected, desired, false, __ATOMIC_SEQ_CST,
                                  __ATOMIC_SEQ_CST);
      return expected;
  }
}

static flow_t run_swap(run_t* run, const hlo_vir_value_t* value, size_t bytes) {
  const uint64_t address = address_of(run, value, 0);
  if (!may_access(run, value, address, bytes, true)) return FLOW_RETURN;
  if (address % bytes) return fault(run, value, "swaps where it is not aligned", address, bytes);
  const uint64_t old = swap_word(address, bytes, (uint64_t)index_of(run, value->operands[0]),
                                 (uint64_t)index_of(run, value->operands[1]));
  const bool is_unsigned = value->flags & HLO_VIR_UNSIGNED;
  lanes_of(run, value)[0] = is_unsigned ? old : (uint64_t)sign_extend(old, 8 * (uint32_t)bytes);
  return FLOW_NEXT;
}

static flow_t run_memory(run_t* run, const hlo_vir_value_t* value) {
  size_t bytes = (size_t)1 << (value->flags >> HLO_VIR_WIDTH_SHIFT & 3);
  switch (value->op) {
    case HLO_VIR_prefetch: return FLOW_NEXT;
    case HLO_VIR_iload: {
      uint64_t* out = lanes_of(run, value);
      if (!read_word(run, value, address_of(run, value, 0), bytes, out)) return FLOW_RETURN;
      if (!(value->flags & HLO_VIR_UNSIGNED))
        *out = (uint64_t)sign_extend(*out, 8 * (uint32_t)bytes);
      return FLOW_NEXT;
    }
    case HLO_VIR_istore: {
      uint64_t word = (uint64_t)index_of(run, value->operands[0]);
      return write_word(run, value, address_of(run, value, 0), bytes, word) ? FLOW_NEXT
                                                                            : FLOW_RETURN;
    }
    case HLO_VIR_icas: return run_swap(run, value, bytes);
    case HLO_VIR_store:
    case HLO_VIR_scatter: return run_store(run, value);
    default: return run_load(run, value);
  }
}

// ---- tiles -------------------------------------------------------------------------------------

static flow_t run_tile_memory(run_t* run, const hlo_vir_value_t* value) {
  uint32_t tile = hlo_vir_tile_of(value->flags), rows = hlo_vir_tile_rows(value->flags);
  uint64_t address = (uint64_t)index_of(run, value->operands[0]) + (uint64_t)value->imm;
  bool is_store = value->op == HLO_VIR_tile_store;
  if (run->tiles->rows[tile] != rows) return fault(run, value, "another tile", tile, rows);
  for (uint32_t r = 0; r < rows; ++r) {
    uint8_t* row = run->tiles->data[tile][r];
    if (!may_access(run, value, address, HLO_VIR_TILE_ROW_BYTES, is_store)) return FLOW_RETURN;
    void* memory = (void*)(uintptr_t)address;
    memcpy(is_store ? memory : row, is_store ? row : memory, HLO_VIR_TILE_ROW_BYTES);
    address += (uint64_t)index_of(run, value->operands[1]);
  }
  return FLOW_NEXT;
}

static flow_t run_tile(run_t* run, const hlo_vir_value_t* value) {
  if (value->op == HLO_VIR_tile_config) {
    if (!run->tiles) run->tiles = hlo_arena_alloc(&run->arena, sizeof *run->tiles);
    if (!run->tiles) return FLOW_RETURN;
    hlo_vir_tiles_configure(run->tiles, value->imm);
    return FLOW_NEXT;
  }
  if (!run->tiles) return fault(run, value, "tiles are not configured", 0, 0);
  switch (value->op) {
    case HLO_VIR_tile_release: run->tiles = NULL; return FLOW_NEXT;
    case HLO_VIR_tile_zero:
      if (!run->tiles->rows[value->imm]) return fault(run, value, "no tile", 0, 0);
      memset(run->tiles->data[value->imm], 0, sizeof run->tiles->data[value->imm]);
      return FLOW_NEXT;
    case HLO_VIR_tile_dot:
      if (hlo_vir_tiles_dot(run->tiles, value->flags, value->imm)) return FLOW_NEXT;
      return fault(run, value, "tiles that do not fit", 0, 0);
    default: return run_tile_memory(run, value);
  }
}

// ---- INDEX -------------------------------------------------------------------------------------

static const hlo_vir_func_t* func_of(const run_t* run, int64_t number) {
  const hlo_vir_func_t* func = run->func->module->first_func;
  while (func->index != number) func = func->next;
  return func;
}

// Evaluates values without operands.
static uint64_t index_leaf(run_t* run, const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_param: return run->params[value->imm];
    case HLO_VIR_rodata: return (uint64_t)(uintptr_t)run->func->module->blobs[value->imm].bytes;
    case HLO_VIR_func_address: return (uint64_t)(uintptr_t)func_of(run, value->imm);
    case HLO_VIR_stack: {
      uint8_t* block = hlo_arena_alloc_zeroed(&run->arena, (size_t)value->imm + STACK_ALIGN);
      if (!block) return 0;
      return ((uint64_t)(uintptr_t)block + STACK_ALIGN - 1) & ~(uint64_t)(STACK_ALIGN - 1);
    }
    default: return (uint64_t)value->imm;
  }
}

static flow_t run_index(run_t* run, const hlo_vir_value_t* value) {
  uint64_t* out = lanes_of(run, value);
  if (!value->operand_count) {
    *out = index_leaf(run, value);
    return run->arena.failed ? FLOW_RETURN : FLOW_NEXT;
  }
  int64_t x = index_of(run, value->operands[0]), result = 0;
  switch (value->op) {
    case HLO_VIR_ishl: result = (int64_t)((uint64_t)x << value->imm); break;
    case HLO_VIR_ishr: result = x >> value->imm; break;
    case HLO_VIR_isext: result = sign_extend((uint64_t)x, (uint32_t)value->imm); break;
    case HLO_VIR_iselect: result = index_of(run, value->operands[x ? 1 : 2]); break;
    default:
      if (hlo_vir_index_pair(value->op, value->flags, x, index_of(run, value->operands[1]),
                             &result))
        break;
      return fault(run, value, "divides a negative or by no positive", (uint64_t)x, 0);
  }
  *out = (uint64_t)result;
  return FLOW_NEXT;
}

// ---- vectors -----------------------------------------------------------------------------------

static uint64_t first_lanes(int64_t count) {
  return count <= 0 ? 0 : count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

// Returns the `bits` bits of lane i, where the bits of the lanes are in sequence.
static uint64_t recast_lane(const uint64_t* lanes, uint32_t from_bits, uint32_t bits, uint32_t i) {
  if (bits <= from_bits) return lanes[i * bits / from_bits] >> i * bits % from_bits;
  const uint32_t count = bits / from_bits;
  uint64_t value = 0;
  for (uint32_t k = 0; k < count; ++k) value |= lanes[i * count + k] << k * from_bits;
  return value;
}

// Computes lane i of a CROSS op whose result is a vector; false for a lane out of range.
static bool cross_lane(const run_t* run, const hlo_vir_value_t* value, uint32_t i, uint64_t* out) {
  uint32_t half = value->type.lanes / 2;
  const uint64_t* a = value->operand_count ? lanes_of(run, value->operands[0]) : NULL;
  const uint64_t* b = value->operand_count > 1 ? lanes_of(run, value->operands[1]) : NULL;
  switch (value->op) {
    case HLO_VIR_const: *out = (uint64_t)value->imm; break;
    case HLO_VIR_lane_iota: *out = i; break;
    case HLO_VIR_splat:
    case HLO_VIR_splat_index: *out = a[0]; break;
    case HLO_VIR_lower_half: *out = a[i]; break;
    case HLO_VIR_upper_half: *out = a[i + value->type.lanes]; break;
    case HLO_VIR_join: *out = i < half ? a[i] : b[i - half]; break;
    case HLO_VIR_zip_low:
    case HLO_VIR_zip_high: {
      uint32_t part = value->imm ? (uint32_t)value->imm : value->type.lanes;
      uint32_t at = i / part * part + i % part / 2;
      if (value->op == HLO_VIR_zip_high) at += part / 2;
      *out = i % 2 ? b[at] : a[at];
      break;
    }
    case HLO_VIR_slide_up: *out = (int64_t)i < value->imm ? 0 : a[i - value->imm]; break;
    case HLO_VIR_recast:
      *out = recast_lane(a, bits_of(value->operands[0]), bits_of(value), i);
      break;
    case HLO_VIR_permute_pair: {
      const uint64_t at = lanes_of(run, value->operands[2])[i] % (2 * value->type.lanes);
      *out = at < value->type.lanes ? a[at] : b[at - value->type.lanes];
      break;
    }
    default: {  // permute
      const uint32_t part = value->imm ? (uint32_t)value->imm : value->type.lanes;
      if (b[i] >= part) return false;
      *out = a[i / part * part + b[i]];
    }
  }
  *out &= width_mask(bits_of(value));
  return true;
}

static flow_t run_cross(run_t* run, const hlo_vir_value_t* value) {
  uint64_t* out = lanes_of(run, value);
  uint64_t all = first_lanes(value->type.lanes);
  const hlo_vir_value_t* x = hlo_vir_operand(value, 0);
  switch (value->op) {
    case HLO_VIR_mask_const: *out = (uint64_t)value->imm & all; return FLOW_NEXT;
    case HLO_VIR_mask_first: *out = first_lanes(index_of(run, x)) & all; return FLOW_NEXT;
    case HLO_VIR_mask_bits: *out = lanes_of(run, x)[0]; return FLOW_NEXT;
    case HLO_VIR_to_index:
      *out = lanes_of(run, x)[0];
      if (!(value->flags & HLO_VIR_UNSIGNED)) *out = (uint64_t)sign_extend(*out, bits_of(x));
      return FLOW_NEXT;
    default:
      for (uint32_t i = 0; i < value->type.lanes; ++i) {
        if (!cross_lane(run, value, i, &out[i]))
          return fault(run, value, "reads a lane past the last", i, 0);
      }
      return FLOW_NEXT;
  }
}

// Returns lane i of an operand; of a mask 0 or all ones.
static uint64_t lane_at(const run_t* run, const hlo_vir_value_t* value, uint32_t at, uint32_t i) {
  const hlo_vir_value_t* from = hlo_vir_operand(value, at);
  if (!from) return 0;
  const uint64_t* lanes = lanes_of(run, from);
  return from->type.elem == HLO_VIR_MASK ? 0 - (lanes[0] >> i & 1) : lanes[i];
}

static flow_t run_lanes(run_t* run, const hlo_vir_value_t* value) {
  uint64_t results[HLO_VIR_MAX_LANES], mask = 0;
  for (uint32_t i = 0; i < value->type.lanes; ++i) {
    if (!hlo_vir_lane(value, lane_at(run, value, 0, i), lane_at(run, value, 1, i),
                      lane_at(run, value, 2, i), &results[i])) {
      return fault(run, value, "divides by 0 or overflows", i, 0);
    }
    mask |= (results[i] & 1) << i;
  }
  if (value->type.elem == HLO_VIR_MASK) {
    lanes_of(run, value)[0] = mask;
  } else {
    memcpy(lanes_of(run, value), results, value->type.lanes * sizeof *results);
  }
  return FLOW_NEXT;
}

// ---- control -----------------------------------------------------------------------------------

static flow_t run_block(run_t* run, const hlo_vir_block_t* block);

static uint32_t word_count(hlo_vir_type_t type) {
  return type.elem == HLO_VIR_MASK || type.elem == HLO_VIR_INDEX ? 1 : type.lanes;
}

static flow_t assign(run_t* run, const hlo_vir_value_t* to, const hlo_vir_value_t* from) {
  memmove(lanes_of(run, to), lanes_of(run, from), word_count(from->type) * sizeof(uint64_t));
  return FLOW_NEXT;
}

static flow_t run_for(run_t* run, const hlo_vir_value_t* value) {
  uint64_t* counter = lanes_of(run, value);
  if (!run->resume) *counter = lanes_of(run, value->operands[0])[0];
  while (run->resume || (int64_t)*counter < index_of(run, value->operands[1])) {
    flow_t flow = run_block(run, value->body);
    if (flow != FLOW_NEXT) return flow;
    *counter += (uint64_t)value->imm;
  }
  return FLOW_NEXT;
}

static flow_t run_loop(run_t* run, const hlo_vir_value_t* value) {
  for (;;) {
    flow_t flow = run_block(run, value->body);
    if (flow == FLOW_BREAK) return FLOW_NEXT;
    if (flow != FLOW_NEXT) return flow;
  }
}

// Returns true if `inner` is `block` or nested in it.
static bool is_within(const hlo_vir_block_t* inner, const hlo_vir_block_t* block) {
  while (inner && inner != block) inner = inner->parent;
  return inner == block;
}

static flow_t run_if(run_t* run, const hlo_vir_value_t* value) {
  bool is_prologue = run->resume ? is_within(run->resume->parent, value->body)
                                 : index_of(run, value->operands[0]) != 0;
  return run_block(run, is_prologue ? value->body : value->other_body);
}

static int32_t run_chunks(run_t* run, const hlo_vir_value_t* value) {
  const hlo_vir_func_t* chunk = (const void*)(uintptr_t)index_of(run, value->operands[1]);
  uint64_t count = (uint64_t)index_of(run, value->operands[0]);
  const hlo_vir_value_t* context = hlo_vir_operand(value, 2);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t params[HLO_VIR_MAX_PARAMS] = {(uint64_t)(uintptr_t)run->frame,
                                           context ? (uint64_t)index_of(run, context) : 0, i};
    int32_t answer = HLO_PROGRAM_ERROR;
    run->status = hlo_vir_interp_run(chunk, params, run->options, &answer);
    if (!hlo_status_is_ok(run->status) || answer != HLO_PROGRAM_DONE) return HLO_PROGRAM_ERROR;
  }
  return HLO_PROGRAM_DONE;
}

typedef int32_t (*runtime_function_t)(hlo_frame_t*, uint64_t, uint64_t, uint64_t, uint64_t);

static flow_t run_call(run_t* run, const hlo_vir_value_t* value) {
  uint64_t arguments[4] = {0};
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    if (value->operands[i]) arguments[i] = (uint64_t)index_of(run, value->operands[i]);
  }
  int32_t answer;
  if (value->flags & HLO_VIR_LOCAL) {
    uint64_t params[HLO_VIR_MAX_PARAMS] = {(uint64_t)(uintptr_t)run->frame, arguments[0],
                                           arguments[1], arguments[2]};
    answer = HLO_PROGRAM_ERROR;
    run->status = hlo_vir_interp_run(func_of(run, value->imm), params, run->options, &answer);
  } else if (value->imm == offsetof(hlo_runtime_table_t, parallel_for) &&
             value->operand_count >= 2) {
    answer = run_chunks(run, value);
  } else {
    runtime_function_t function;
    memcpy(&function, (const char*)run->frame->runtime + value->imm, sizeof function);
    answer = function(run->frame, arguments[0], arguments[1], arguments[2], arguments[3]);
  }
  lanes_of(run, value)[0] = (uint64_t)(int64_t)answer;
  return hlo_status_is_ok(run->status) ? FLOW_NEXT : FLOW_RETURN;
}

static const hlo_vir_resume_t* find_resume(const run_t* run, int64_t resume_point) {
  for (uint32_t i = 0; i < run->saved.resume_count; ++i) {
    if (run->saved.resumes[i].suspend->imm == resume_point) return &run->saved.resumes[i];
  }
  return NULL;
}

// Copies the values that are live across a suspend to or from the frame.
static void copy_saved(run_t* run, const hlo_vir_resume_t* resume, bool to_frame) {
  for (uint32_t i = 0; i < resume->value_count; ++i) {
    const hlo_vir_value_t* value = resume->values[i];
    uint8_t* at = run->frame->saved + run->saved.offsets[value->number];
    uint64_t* words = lanes_of(run, value);
    uint32_t bytes = value->type.elem == HLO_VIR_MASK ? WORD_BYTES : bits_of(value) / 8;
    for (uint32_t j = 0; j < word_count(value->type); ++j, at += bytes) {
      if (to_frame) {
        memcpy(at, &words[j], bytes);
      } else {
        words[j] = 0;
        memcpy(&words[j], at, bytes);
      }
    }
  }
}

static flow_t run_suspend(run_t* run, const hlo_vir_value_t* value) {
  if (run->saved.size_bytes > run->frame->saved_bytes) {
    return fault(run, value, "the frame is too small for the saved values", 0,
                 run->saved.size_bytes);
  }
  copy_saved(run, find_resume(run, value->imm), true);
  run->frame->resume_point = (uint32_t)value->imm;
  run->answer = HLO_PROGRAM_SUSPENDED;
  return FLOW_RETURN;
}

static flow_t run_control(run_t* run, const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_for: return run_for(run, value);
    case HLO_VIR_loop: return run_loop(run, value);
    case HLO_VIR_if: return run_if(run, value);
    case HLO_VIR_break_if: return index_of(run, value->operands[0]) ? FLOW_BREAK : FLOW_NEXT;
    case HLO_VIR_var: return assign(run, value, value->operands[0]);
    case HLO_VIR_set: return assign(run, value->operands[0], value->operands[1]);
    case HLO_VIR_call: return run_call(run, value);
    case HLO_VIR_suspend: return run_suspend(run, value);
    default: run->answer = (int32_t)index_of(run, value->operands[0]); return FLOW_RETURN;
  }
}

static flow_t run_value(run_t* run, const hlo_vir_value_t* value) {
  switch (hlo_vir_opcode_class((hlo_vir_opcode_t)value->op)) {
    case HLO_VIR_CONTROL: return run_control(run, value);
    case HLO_VIR_INDEX_OP: return run_index(run, value);
    case HLO_VIR_MEMORY: return run_memory(run, value);
    case HLO_VIR_CROSS: return run_cross(run, value);
    case HLO_VIR_TILE: return run_tile(run, value);
    default: return run_lanes(run, value);
  }
}

// Returns the instruction of a block that is, or contains, the resume point.
static const hlo_vir_value_t* way_to_resume(const run_t* run, const hlo_vir_block_t* block) {
  const hlo_vir_value_t* value = run->resume;
  while (value->parent != block) value = value->parent->owner;
  return value;
}

static flow_t run_block(run_t* run, const hlo_vir_block_t* block) {
  const hlo_vir_value_t* value = block->first;
  if (run->resume) value = way_to_resume(run, block);
  if (run->resume && run->resume == value) {
    run->resume = NULL;
    value = value->next;
  }
  for (; value; value = value->next) {
    flow_t flow = run_value(run, value);
    if (flow != FLOW_NEXT) return flow;
  }
  return FLOW_NEXT;
}

// ---- entry -------------------------------------------------------------------------------------

static void give_lanes(run_t* run, const hlo_vir_block_t* block) {
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    run->lanes[value->number] =
        hlo_arena_array(&run->arena, word_count(value->type), sizeof(uint64_t));
    if (run->arena.failed) return;
    if (value->body) give_lanes(run, value->body);
    if (value->other_body) give_lanes(run, value->other_body);
  }
}

// Restores the state of a suspended frame: saved values are loaded, the others recomputed.
static hlo_status_t prepare_resume(run_t* run) {
  const hlo_vir_resume_t* resume = find_resume(run, run->frame->resume_point);
  if (!resume) {
    return hlo_internal_error("%s has no resume point %" PRIu32, run->func->name,
                              run->frame->resume_point);
  }
  for (const hlo_vir_value_t* value = run->func->body->first; value; value = value->next) {
    if (run->saved.is_rematerialized[value->number]) run_value(run, value);
  }
  copy_saved(run, resume, false);
  run->resume = resume->suspend;
  return run->status;
}

static hlo_status_t prepare(run_t* run) {
  run->lanes = hlo_arena_array(&run->arena, run->func->value_count, sizeof *run->lanes);
  HLO_TRY(hlo_arena_status(&run->arena));
  give_lanes(run, run->func->body);
  HLO_TRY(hlo_arena_status(&run->arena));
  if (!run->func->is_entry) return hlo_ok();
  HLO_TRY(hlo_vir_saved_create(run->func, &run->arena, &run->saved));
  return run->frame->resume_point ? prepare_resume(run) : hlo_ok();
}

hlo_status_t hlo_vir_interp_run(const hlo_vir_func_t* func, const uint64_t* params,
                                const hlo_vir_interp_options_t* options, int32_t* out_answer) {
  run_t run = {.func = func, .params = params, .options = options};
  run.frame = (hlo_frame_t*)(uintptr_t)params[0];
  hlo_arena_init(&run.arena, 0);
  hlo_fp_state_t before = hlo_fp_enter(func->module->subnormals);
  hlo_status_t status = prepare(&run);
  if (hlo_status_is_ok(status)) {
    run_block(&run, func->body);
    status = run.status;
  }
  hlo_fp_leave(before);
  if (hlo_status_is_ok(status)) status = hlo_arena_status(&run.arena);
  hlo_arena_deinit(&run.arena);
  if (hlo_status_is_ok(status)) *out_answer = run.answer;
  return status;
}
