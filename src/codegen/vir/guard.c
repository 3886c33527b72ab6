// SPDX-License-Identifier: Apache-2.0
// Checks before memory accesses (see guard.h).
#include "codegen/vir/guard.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/program_abi.h"
#include "codegen/vir/tile.h"

enum {
  NOTE_DEBUG_ID = 0,
  NOTE_BYTE = 8,
  NOTE_SIZE = 16,
  NOTE_BYTES = 24,
  SPARE_BYTES = 64,  // the widest access
  TRACE_LIMIT = 64,
};

struct hlo_vir_guard {
  hlo_vir_value_t* address;
  uint64_t size_bytes;
};

static const hlo_vir_type_t kIndex = {HLO_VIR_INDEX, 1};

void hlo_vir_guards_begin(hlo_vir_builder_t* b, hlo_vir_guards_t* guards) {
  *guards = (hlo_vir_guards_t){0};
  guards->note = hlo_vir_emit(b, HLO_VIR_stack, kIndex, 0, NOTE_BYTES, 0, NULL);
  guards->spare = hlo_vir_emit(b, HLO_VIR_stack, kIndex, 0, SPARE_BYTES, 0, NULL);
  hlo_vir_istore(b, hlo_vir_iconst(b, 0), guards->note, NOTE_DEBUG_ID, 0);
  b->guards = guards;
}

hlo_vir_value_t* hlo_vir_guard(hlo_vir_builder_t* b, hlo_vir_value_t* address,
                               uint64_t size_bytes) {
  hlo_vir_guards_t* guards = b->guards;
  // The maximum keeps the address one value: a sum would be folded into the sums made from it.
  // Addresses are not negative.
  address = hlo_vir_index(b, HLO_VIR_imax, address, hlo_vir_iconst(b, 0));
  for (uint32_t i = 0; i < guards->count; ++i) {
    if (guards->items[i].address != address) continue;
    if (guards->items[i].size_bytes < size_bytes) guards->items[i].size_bytes = size_bytes;
    return address;
  }
  if (!HLO_ARENA_GROW(&b->module->arena, guards->items, guards->count, guards->capacity))
    return address;  // the module has failed
  guards->items[guards->count++] = (struct hlo_vir_guard){address, size_bytes};
  return address;
}

void hlo_vir_guards_end(hlo_vir_builder_t* b) {
  hlo_vir_guards_t* guards = b->guards;
  b->guards = NULL;
  hlo_vir_value_t* debug_id = hlo_vir_iload(b, guards->note, NOTE_DEBUG_ID, 0);
  hlo_vir_begin_if(b, debug_id);
  hlo_vir_value_t* arguments[] = {hlo_vir_index(b, HLO_VIR_isub, debug_id, hlo_vir_iconst(b, 1)),
                                  hlo_vir_iload(b, guards->note, NOTE_BYTE, 0),
                                  hlo_vir_iload(b, guards->note, NOTE_SIZE, 0)};
  hlo_vir_return(b, hlo_vir_call(b, offsetof(hlo_runtime_table_t, check_failed), 3, arguments));
  hlo_vir_end(b);
}

// ---- provenance of addresses

typedef enum origin_kind { ORIGIN_BUFFER, ORIGIN_FRAME, ORIGIN_UNKNOWN } origin_kind_t;

typedef struct origin {
  origin_kind_t kind;
  hlo_vir_value_t* root;  // of a buffer: its address
  uint64_t size_bytes;
} origin_t;

// Returns the operand that an address derives from, with a second candidate in `*out_other`; NULL
// if the address has no such operand.
static hlo_vir_value_t* next_of(const hlo_vir_value_t* value, hlo_vir_value_t** out_other) {
  *out_other = NULL;
  switch (value->op) {
    case HLO_VIR_iadd: *out_other = value->operands[1]; return value->operands[0];
    case HLO_VIR_iselect: *out_other = value->operands[2]; return value->operands[1];
    case HLO_VIR_isub:
    case HLO_VIR_iand:
    case HLO_VIR_var: return value->operands[0];
    default: return NULL;
  }
}

static origin_t trace(const hlo_vir_builder_t* b, hlo_vir_value_t* value, uint32_t depth) {
  const hlo_vir_guards_t* guards = b->guards;
  for (uint32_t i = 0; i < guards->count; ++i) {
    if (guards->items[i].address == value) {
      return (origin_t){ORIGIN_BUFFER, value, guards->items[i].size_bytes};
    }
  }
  if (value->op == HLO_VIR_stack) return (origin_t){ORIGIN_BUFFER, value, (uint64_t)value->imm};
  if (value->op == HLO_VIR_rodata) {
    return (origin_t){ORIGIN_BUFFER, value, b->module->blobs[value->imm].size_bytes};
  }
  if (value->op == HLO_VIR_param) return (origin_t){ORIGIN_FRAME, value, 0};
  hlo_vir_value_t* other;
  hlo_vir_value_t* next = depth < TRACE_LIMIT ? next_of(value, &other) : NULL;
  origin_t origin = {.kind = ORIGIN_UNKNOWN};
  if (next) origin = trace(b, next, depth + 1);
  if (origin.kind == ORIGIN_UNKNOWN && next && other) origin = trace(b, other, depth + 1);
  return origin;
}

// ---- one access

typedef struct access {
  hlo_vir_builder_t* b;
  hlo_vir_guards_t* guards;
  const hlo_vir_value_t* draft;
  origin_t origin;
  uint32_t lanes, lane_bytes;
  hlo_vir_value_t *base, *index, *mask;
  hlo_vir_value_t* byte;  // of the buffer: first byte of the access; for a gather without its
                          // indices
} access_t;

static bool has_index_lanes(const hlo_vir_value_t* draft) {
  return draft->op == HLO_VIR_gather || draft->op == HLO_VIR_scatter;
}

static uint32_t mask_operand(const hlo_vir_value_t* draft) {
  switch (draft->op) {
    case HLO_VIR_load:
    case HLO_VIR_gather: return 2;
    case HLO_VIR_store:
    case HLO_VIR_scatter: return 3;
    default: return HLO_VIR_MAX_OPERANDS;
  }
}

static hlo_vir_value_t* sum(hlo_vir_builder_t* b, hlo_vir_value_t* x, hlo_vir_value_t* y) {
  return hlo_vir_index(b, HLO_VIR_iadd, x, y);
}

static hlo_vir_value_t* shifted(hlo_vir_builder_t* b, hlo_vir_value_t* x, int64_t bits) {
  return hlo_vir_emit(b, HLO_VIR_ishl, kIndex, 0, bits, 1, &x);
}

// Sets the extent of an access; a load_splat reads one element.
static void measure(access_t* a) {
  const hlo_vir_value_t* draft = a->draft;
  if (draft->op == HLO_VIR_iload || draft->op == HLO_VIR_istore || draft->op == HLO_VIR_icas) {
    a->lanes = 1;
    a->lane_bytes = 1u << (draft->flags >> HLO_VIR_WIDTH_SHIFT & 3);
    return;
  }
  hlo_vir_type_t type = draft->op == HLO_VIR_store || draft->op == HLO_VIR_scatter
                            ? draft->operands[0]->type
                            : draft->type;
  a->lanes = draft->op == HLO_VIR_load_splat ? 1 : type.lanes;
  a->lane_bytes = hlo_vir_elem_bits((hlo_vir_elem_t)type.elem) / 8;
}

// Returns true at run time if `bytes` at `byte` are outside the buffer.
static hlo_vir_value_t* is_outside(const access_t* a, hlo_vir_value_t* byte, uint32_t bytes) {
  hlo_vir_value_t* last = hlo_vir_iconst(a->b, (int64_t)a->origin.size_bytes - (int64_t)bytes);
  return hlo_vir_index(a->b, HLO_VIR_ior,
                       hlo_vir_icmp(a->b, HLO_VIR_LT, byte, hlo_vir_iconst(a->b, 0)),
                       hlo_vir_icmp(a->b, HLO_VIR_GT, byte, last));
}

// Records the first violation only.
static void note(const access_t* a, hlo_vir_value_t* byte) {
  hlo_vir_builder_t* b = a->b;
  hlo_vir_value_t* address = a->guards->note;
  hlo_vir_value_t* is_first = hlo_vir_icmp(
      b, HLO_VIR_EQ, hlo_vir_iload(b, address, NOTE_DEBUG_ID, 0), hlo_vir_iconst(b, 0));
  hlo_vir_begin_if(b, is_first);
  hlo_vir_istore(b, hlo_vir_iconst(b, (int64_t)b->debug_id + 1), address, NOTE_DEBUG_ID, 0);
  hlo_vir_istore(b, byte, address, NOTE_BYTE, 0);
  hlo_vir_istore(b, hlo_vir_iconst(b, (int64_t)a->origin.size_bytes), address, NOTE_SIZE, 0);
  hlo_vir_end(b);
}

static hlo_vir_value_t* check_whole(const access_t* a) {
  hlo_vir_value_t* bad = is_outside(a, a->byte, a->lanes * a->lane_bytes);
  hlo_vir_begin_if(a->b, bad);
  note(a, a->byte);
  hlo_vir_end(a->b);
  return bad;
}

// Checks each lane; lanes that the mask disables cannot fail.
static hlo_vir_value_t* check_lanes(const access_t* a) {
  hlo_vir_builder_t* b = a->b;
  const hlo_vir_value_t* draft = a->draft;
  hlo_vir_value_t* offsets = NULL;
  uint32_t offset_bytes = 0;
  if (has_index_lanes(draft)) {
    offset_bytes = hlo_vir_elem_bits((hlo_vir_elem_t)a->index->type.elem) / 8;
    offsets = hlo_vir_emit(b, HLO_VIR_stack, kIndex, 0, a->lanes * offset_bytes, 0, NULL);
    hlo_vir_emit(b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), 0, 0, 2,
                 (hlo_vir_value_t*[]){a->index, offsets});
  }
  hlo_vir_value_t* bits = hlo_vir_iconst(b, -1);
  if (a->mask)
    bits = hlo_vir_emit(b, HLO_VIR_mask_bits, kIndex, 0, 0, 1, &(hlo_vir_value_t*){a->mask});
  hlo_vir_value_t* left = hlo_vir_var(b, bits);
  hlo_vir_value_t* bad = hlo_vir_var(b, hlo_vir_iconst(b, 0));
  hlo_vir_value_t* lane =
      hlo_vir_begin_for(b, hlo_vir_iconst(b, 0), hlo_vir_iconst(b, a->lanes), 1, 0);
  hlo_vir_value_t* offset = hlo_vir_index(b, HLO_VIR_imul, lane, hlo_vir_iconst(b, a->lane_bytes));
  if (offsets) {
    uint32_t width = offset_bytes == 8 ? 3 : 2;
    offset = hlo_vir_index(b, HLO_VIR_imul, lane, hlo_vir_iconst(b, offset_bytes));
    offset = hlo_vir_emit(b, HLO_VIR_iload, kIndex, width << HLO_VIR_WIDTH_SHIFT, 0, 2,
                          (hlo_vir_value_t*[]){offsets, offset});
    offset = shifted(b, offset, draft->flags & HLO_VIR_SCALE_MASK);
  }
  hlo_vir_value_t* byte = sum(b, a->byte, offset);
  hlo_vir_value_t* is_on = hlo_vir_index(b, HLO_VIR_iand, left, hlo_vir_iconst(b, 1));
  hlo_vir_begin_if(b, hlo_vir_index(b, HLO_VIR_iand, is_on, is_outside(a, byte, a->lane_bytes)));
  note(a, byte);
  hlo_vir_set(b, bad, hlo_vir_iconst(b, 1));
  hlo_vir_end(b);
  hlo_vir_set(b, left, hlo_vir_emit(b, HLO_VIR_ishr, kIndex, 0, 1, 1, &left));
  hlo_vir_end(b);
  return sum(b, bad, hlo_vir_iconst(b, 0));
}

// Redirects a failing access to the spare memory; a failing gather gets an empty mask.
static hlo_vir_value_t* emit_safe(const access_t* a, hlo_vir_value_t* bad) {
  hlo_vir_builder_t* b = a->b;
  hlo_vir_value_t draft = *a->draft;
  draft.flags &= (uint8_t)~HLO_VIR_INVARIANT;  // must not move before its check
  uint32_t base_at = hlo_vir_base_operand((hlo_vir_opcode_t)draft.op);
  if (has_index_lanes(&draft)) {
    uint32_t mask_at = mask_operand(&draft);
    hlo_vir_value_t* count =
        hlo_vir_emit(b, HLO_VIR_iselect, kIndex, 0, 0, 3,
                     (hlo_vir_value_t*[]){bad, hlo_vir_iconst(b, 0), hlo_vir_iconst(b, a->lanes)});
    hlo_vir_value_t* mask =
        hlo_vir_emit(b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, a->lanes), 0, 0, 1, &count);
    draft.operands[mask_at] = a->mask ? hlo_vir_binary(b, HLO_VIR_mask_and, a->mask, mask) : mask;
    draft.operand_count = (uint8_t)(mask_at + 1);
  } else {
    hlo_vir_value_t* address = sum(b, a->origin.root, a->byte);
    draft.operands[base_at] = hlo_vir_emit(b, HLO_VIR_iselect, kIndex, 0, 0, 3,
                                           (hlo_vir_value_t*[]){bad, a->guards->spare, address});
    if (base_at + 1 < draft.operand_count) draft.operands[base_at + 1] = NULL;
    draft.imm = 0;
  }
  return hlo_vir_emit(b, (hlo_vir_opcode_t)draft.op, draft.type, draft.flags, draft.imm,
                      draft.operand_count, draft.operands);
}

// Rows between the first and the last one are between them in memory as well.
static hlo_vir_value_t* emit_checked_tile(access_t* a) {
  hlo_vir_builder_t* b = a->b;
  hlo_vir_value_t draft = *a->draft, *step = draft.operands[1], *zero = hlo_vir_iconst(b, 0);
  a->byte =
      sum(b, hlo_vir_index(b, HLO_VIR_isub, a->base, a->origin.root), hlo_vir_iconst(b, draft.imm));
  hlo_vir_value_t* rows_after = hlo_vir_iconst(b, hlo_vir_tile_rows(draft.flags) - 1);
  hlo_vir_value_t* last = sum(b, a->byte, hlo_vir_index(b, HLO_VIR_imul, step, rows_after));
  hlo_vir_value_t* is_first_bad = is_outside(a, a->byte, HLO_VIR_TILE_ROW_BYTES);
  hlo_vir_value_t* bad =
      hlo_vir_index(b, HLO_VIR_ior, is_first_bad, is_outside(a, last, HLO_VIR_TILE_ROW_BYTES));
  hlo_vir_begin_if(b, bad);
  note(a, hlo_vir_emit(b, HLO_VIR_iselect, kIndex, 0, 0, 3,
                       (hlo_vir_value_t*[]){is_first_bad, a->byte, last}));
  hlo_vir_end(b);
  hlo_vir_value_t* at = sum(b, a->origin.root, a->byte);
  hlo_vir_value_t* operands[] = {
      hlo_vir_emit(b, HLO_VIR_iselect, kIndex, 0, 0, 3,
                   (hlo_vir_value_t*[]){bad, a->guards->spare, at}),
      hlo_vir_emit(b, HLO_VIR_iselect, kIndex, 0, 0, 3, (hlo_vir_value_t*[]){bad, zero, step})};
  return hlo_vir_emit(b, (hlo_vir_opcode_t)draft.op, draft.type, draft.flags, 0, 2, operands);
}

static hlo_vir_value_t* emit_checked(access_t* a) {
  hlo_vir_builder_t* b = a->b;
  if (hlo_vir_opcode_class((hlo_vir_opcode_t)a->draft->op) == HLO_VIR_TILE) {
    return emit_checked_tile(a);
  }
  measure(a);
  a->byte = sum(b, hlo_vir_index(b, HLO_VIR_isub, a->base, a->origin.root),
                hlo_vir_iconst(b, a->draft->imm));
  bool by_lane = has_index_lanes(a->draft);
  if (a->index && !by_lane) {
    a->byte = sum(b, a->byte, shifted(b, a->index, a->draft->flags & HLO_VIR_SCALE_MASK));
  }
  return emit_safe(a, by_lane || a->mask ? check_lanes(a) : check_whole(a));
}

hlo_vir_value_t* hlo_vir_emit_guarded(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  uint32_t base_at = hlo_vir_base_operand((hlo_vir_opcode_t)draft->op);
  access_t access = {.b = b,
                     .guards = b->guards,
                     .draft = draft,
                     .base = draft->operands[base_at],
                     .index = hlo_vir_operand(draft, base_at + 1),
                     .mask = hlo_vir_operand(draft, mask_operand(draft)),
                     .origin = trace(b, draft->operands[base_at], 0)};
  if (access.origin.kind == ORIGIN_UNKNOWN) {
    hlo_vir_module_fail(
        b->module,
        hlo_internal_error("%s: %s with debug id %" PRIu32 ": no buffer is known for the address",
                           b->func->name, hlo_vir_opcode_name((hlo_vir_opcode_t)draft->op),
                           b->debug_id));
    return b->module->poison;
  }
  b->guards = NULL;
  hlo_vir_value_t* value;
  if (access.origin.kind == ORIGIN_FRAME || draft->op == HLO_VIR_prefetch) {
    value = hlo_vir_emit(b, (hlo_vir_opcode_t)draft->op, draft->type, draft->flags, draft->imm,
                         draft->operand_count, draft->operands);
  } else {
    value = emit_checked(&access);
  }
  b->guards = access.guards;
  return value;
}
