// SPDX-License-Identifier: Apache-2.0
// Builds vector IR (see builder.h): placement of instructions and reuse of equal ones.

#include <string.h>

#include "base/check.h"
#include "base/float_bits.h"
#include "base/hash.h"
#include "codegen/vir/builder_impl.h"
#include "codegen/vir/guard.h"

enum { FIRST_SLOTS = 64, POINTER_WIDTH_LOG2 = 3 };

// ---- equal instructions ------------------------------------------------------------------------

typedef struct slot {
  uint64_t hash;
  hlo_vir_value_t* value;        // NULL: free
  const hlo_vir_block_t* block;  // the block of the value
} slot_t;

// Open addressing. Entries of closed blocks can never be equal to anything again; they are dropped
// when the table is full.
struct hlo_vir_equal_table {
  slot_t* slots;
  uint32_t slot_count;  // a power of two
  uint32_t used;
};

static uint64_t content_hash(const hlo_vir_value_t* value) {
  uint64_t hash = hlo_hash_word(value->head, (uint64_t)value->imm);
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    hash = hlo_hash_word(hash, (uint64_t)(uintptr_t)value->operands[i]);
  }
  return hash;
}

static uint64_t hash_in(uint64_t hash, const hlo_vir_block_t* block) {
  return hlo_hash_word(hash, (uint64_t)(uintptr_t)block);
}

static bool equal_content(const hlo_vir_value_t* a, const hlo_vir_value_t* b) {
  if (a->head != b->head || a->imm != b->imm) return false;
  for (uint32_t i = 0; i < a->operand_count; ++i) {
    if (a->operands[i] != b->operands[i]) return false;
  }
  return true;
}

// Returns true if the instruction reads memory that is invariant only up to the next fence.
static bool is_fenced(const hlo_vir_value_t* draft) {
  return (draft->flags & (HLO_VIR_INVARIANT | HLO_VIR_FIXED)) == HLO_VIR_INVARIANT;
}

// Returns the slot of an instruction equal to `value` in `block`, or the slot where it belongs.
static slot_t* find_slot(const struct hlo_vir_equal_table* table, uint64_t hash,
                         const hlo_vir_value_t* value, const hlo_vir_block_t* block) {
  uint32_t mask = table->slot_count - 1, at = (uint32_t)hash & mask;
  for (;; at = (at + 1) & mask) {
    slot_t* slot = &table->slots[at];
    if (!slot->value ||
        (slot->hash == hash && slot->block == block && equal_content(slot->value, value))) {
      return slot;
    }
  }
}

static hlo_vir_value_t* find_equal(const hlo_vir_builder_t* b, uint64_t hash,
                                   const hlo_vir_value_t* draft, const hlo_vir_block_t* block) {
  if (!b->equal) return NULL;
  uint32_t first = is_fenced(draft) ? b->fence_number : 0;
  hlo_vir_value_t* found = find_slot(b->equal, hash_in(hash, block), draft, block)->value;
  return found && found->number >= first ? found : NULL;
}

static bool is_open(const hlo_vir_builder_t* b, const hlo_vir_block_t* block) {
  const hlo_vir_block_t* at = b->block;
  while (at->depth > block->depth) at = at->parent;
  return at == block;
}

static void put_slot(struct hlo_vir_equal_table* table, uint64_t hash, hlo_vir_value_t* value) {
  slot_t* slot = find_slot(table, hash, value, value->parent);
  table->used += !slot->value;
  *slot = (slot_t){hash, value, value->parent};  // may replace a load from before a fence
}

// Entries that are moved are all different.
static void move_slot(struct hlo_vir_equal_table* table, const slot_t* slot) {
  uint32_t mask = table->slot_count - 1, at = (uint32_t)slot->hash & mask;
  while (table->slots[at].value) at = (at + 1) & mask;
  table->slots[at] = *slot;
  ++table->used;
}

// Makes room for twice the entries of open blocks.
static bool renew_table(const hlo_vir_builder_t* b, struct hlo_vir_equal_table* table) {
  uint32_t open_count = 0, count = FIRST_SLOTS;
  for (uint32_t i = 0; i < table->slot_count; ++i) {
    slot_t* slot = &table->slots[i];
    if (!slot->value) continue;
    if (is_open(b, slot->block)) {
      ++open_count;
    } else {
      slot->value = NULL;
    }
  }
  while (count < 4 * (uint64_t)open_count) count *= 2;
  struct hlo_vir_equal_table renewed = {hlo_mem_alloc_zeroed(count * sizeof(slot_t)), count, 0};
  if (!renewed.slots) return false;
  for (uint32_t i = 0; i < table->slot_count; ++i) {
    if (table->slots[i].value) move_slot(&renewed, &table->slots[i]);
  }
  hlo_mem_free(table->slots);
  *table = renewed;
  return true;
}

static void remember(hlo_vir_builder_t* b, uint64_t hash, hlo_vir_value_t* value) {
  if (!b->equal) b->equal = hlo_mem_alloc_zeroed(sizeof *b->equal);
  if (!b->equal || (b->equal->used * 2 >= b->equal->slot_count && !renew_table(b, b->equal))) {
    b->module->arena.failed = true;
    return;
  }
  put_slot(b->equal, hash_in(hash, value->parent), value);
}

void hlo_vir_builder_init(hlo_vir_builder_t* b, hlo_vir_func_t* func) {
  *b = (hlo_vir_builder_t){.module = func->module, .func = func, .block = func->body};
}

void hlo_vir_builder_deinit(hlo_vir_builder_t* b) {
  if (b->equal) hlo_mem_free(b->equal->slots);
  hlo_mem_free(b->equal);
  b->equal = NULL;
}

// ---- placement ---------------------------------------------------------------------------------

// Returns the instruction of `block` that contains the innermost open block; NULL if that is
// `block` itself.
static hlo_vir_value_t* open_child(const hlo_vir_builder_t* b, const hlo_vir_block_t* block) {
  const hlo_vir_block_t* inner = b->block;
  if (inner == block) return NULL;
  while (inner->parent != block) inner = inner->parent;
  return inner->owner;
}

// Links a value into an open block: at its end, which precedes the instruction that is still open.
static void link_value(hlo_vir_builder_t* b, hlo_vir_value_t* value, hlo_vir_block_t* block) {
  hlo_vir_value_t* next = open_child(b, block);
  hlo_vir_value_t* prev = next ? next->prev : block->last;
  value->parent = block;
  value->prev = prev;
  value->next = next;
  *(prev ? &prev->next : &block->first) = value;
  *(next ? &next->prev : &block->last) = value;
}

// Creates a copy of the draft in the block; the poison value when memory is exhausted.
static hlo_vir_value_t* make(hlo_vir_builder_t* b, const hlo_vir_value_t* draft,
                             hlo_vir_block_t* block) {
  hlo_vir_value_t* value =
      b->module->arena.failed ? NULL : hlo_arena_alloc(&b->module->arena, sizeof *value);
  if (!value) return b->module->poison;
  value->head = draft->head;
  value->number = b->func->value_count++;
  value->debug_id = b->debug_id;
  value->imm = draft->imm;
  memcpy(value->operands, draft->operands, sizeof value->operands);
  value->body = value->other_body = NULL;
  link_value(b, value, block);
  return value;
}

// Returns the outermost open block in which all operands are available.
static hlo_vir_block_t* outermost_block(const hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  uint32_t depth = is_fenced(draft) ? b->fence_depth : 0;
  for (uint32_t i = 0; i < draft->operand_count; ++i) {
    const hlo_vir_value_t* operand = draft->operands[i];
    if (!operand) continue;
    uint32_t operand_depth = hlo_vir_value_block(operand)->depth;
    if (operand_depth > depth) depth = operand_depth;
  }
  hlo_vir_block_t* block = b->block;
  while (block->depth > depth) block = block->parent;
  return block;
}

// Returns true if the division could trap when hoisted out of an `if` or an empty loop.
static bool may_trap(const hlo_vir_value_t* draft) {
  const hlo_vir_value_t* divisor = draft->operands[1];
  switch (draft->op) {
    case HLO_VIR_idiv:
    case HLO_VIR_irem: return !hlo_vir_is_const_index(divisor) || divisor->imm <= 0;
    case HLO_VIR_sdiv:
    case HLO_VIR_srem:
    case HLO_VIR_udiv:
    case HLO_VIR_urem: {
      uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)divisor->type.elem);
      if (divisor->op != HLO_VIR_const || !bits) return true;
      int64_t value = (int64_t)((uint64_t)divisor->imm << (64 - bits)) >> (64 - bits);
      return value == 0 || value == -1;
    }
    default: return false;
  }
}

static bool is_movable(const hlo_vir_value_t* draft) {
  if (hlo_vir_opcode_is_pure((hlo_vir_opcode_t)draft->op)) return true;
  if (!(draft->flags & HLO_VIR_INVARIANT)) return false;
  return draft->op == HLO_VIR_load || draft->op == HLO_VIR_iload || draft->op == HLO_VIR_gather ||
         draft->op == HLO_VIR_load_splat;
}

void hlo_vir_fence(hlo_vir_builder_t* b) {
  b->fence_depth = b->block->depth;
  b->fence_number = b->func->value_count;
}

// Returns the outermost block, up to `outermost`, for the instruction: a load must stay inside the
// `if` that proves that the element exists.
static hlo_vir_block_t* reachable_block(const hlo_vir_builder_t* b, const hlo_vir_value_t* draft,
                                        const hlo_vir_block_t* outermost) {
  hlo_vir_block_t* block = b->block;
  if (may_trap(draft)) return block;
  while (block != outermost && !(is_fenced(draft) && block->owner->op == HLO_VIR_if)) {
    block = block->parent;
  }
  return block;
}

// Emits a movable instruction without var operands: reuses an equal one, or places it as far out as
// possible.
static hlo_vir_value_t* make_movable(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  hlo_vir_block_t* block = outermost_block(b, draft);
  hlo_vir_block_t* innermost = reachable_block(b, draft, block);
  uint64_t hash = content_hash(draft);
  for (hlo_vir_block_t* at = innermost;; at = at->parent) {
    hlo_vir_value_t* found = find_equal(b, hash, draft, at);
    if (found) return found;
    if (at == block) break;
  }
  hlo_vir_value_t* value = make(b, draft, innermost);
  if (value != b->module->poison) remember(b, hash, value);
  return value;
}

// Omits a prefetch that the block already has.
static hlo_vir_value_t* make_prefetch(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  uint64_t hash = content_hash(draft);
  hlo_vir_value_t* found = find_equal(b, hash, draft, b->block);
  if (found) return found;
  hlo_vir_value_t* value = make(b, draft, b->block);
  if (value != b->module->poison) remember(b, hash, value);
  return value;
}

// Makes the draft of an instruction; false if an operand is poison.
static bool draft_of(const hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_type_t type,
                     uint32_t flags, int64_t imm, uint32_t operand_count,
                     hlo_vir_value_t* const* operands, hlo_vir_value_t* out) {
  while (operand_count && !operands[operand_count - 1]) --operand_count;
  // One wide store: the draft is read as a whole soon after, which stalls on several narrow stores.
  out->head = op | (uint64_t)type.elem << 16 | (uint64_t)type.lanes << 24 | (uint64_t)flags << 32 |
              (uint64_t)operand_count << 40;
  out->imm = imm;
  bool is_sound = true;
  for (uint32_t i = 0; i < HLO_VIR_MAX_OPERANDS; ++i) {
    out->operands[i] = i < operand_count ? operands[i] : NULL;
    is_sound &= out->operands[i] != b->module->poison;
  }
  return is_sound;
}

hlo_vir_value_t* hlo_vir_emit(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_type_t type,
                              uint32_t flags, int64_t imm, uint32_t operand_count,
                              hlo_vir_value_t* const* operands) {
  hlo_vir_value_t draft;
  if (b->module->arena.failed || operand_count > HLO_VIR_MAX_OPERANDS ||
      !draft_of(b, op, type, flags, imm, operand_count, operands, &draft)) {
    return b->module->poison;
  }
  bool is_memory = hlo_vir_opcode_class(op) == HLO_VIR_MEMORY;
  if (b->guards && (is_memory || op == HLO_VIR_tile_load || op == HLO_VIR_tile_store)) {
    return hlo_vir_emit_guarded(b, &draft);
  }
  if (b->is_plain) return make(b, &draft, b->block);
  bool has_var = false;
  for (uint32_t i = 0; i < draft.operand_count; ++i) {
    has_var |= draft.operands[i] && draft.operands[i]->op == HLO_VIR_var;
  }
  if (is_memory) hlo_vir_fold_address(&draft);
  if (op == HLO_VIR_prefetch && !has_var) return make_prefetch(b, &draft);
  if (has_var || !is_movable(&draft)) return make(b, &draft, b->block);
  hlo_vir_value_t* folded = hlo_vir_fold(b, &draft);
  return folded ? folded : make_movable(b, &draft);
}

// ---- blocks ------------------------------------------------------------------------------------

static hlo_vir_block_t* new_block(hlo_vir_builder_t* b) {
  hlo_vir_block_t* block = hlo_arena_alloc_zeroed(&b->module->arena, sizeof *block);
  if (!block) return NULL;
  block->parent = b->block;
  block->depth = b->block->depth + 1;
  return block;
}

// Appends an instruction with a body (`if`: two) and enters it. Without memory the current block
// stays open, and the matching end() finds a loop of one iteration.
static hlo_vir_value_t* begin(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  hlo_vir_block_t* body = new_block(b);
  hlo_vir_block_t* other = draft->op == HLO_VIR_if ? new_block(b) : NULL;
  hlo_vir_value_t* value = make(b, draft, b->block);
  if (value == b->module->poison) {
    ++b->block->single_trips;
    return value;
  }
  value->body = body;
  value->other_body = other;
  body->owner = value;
  if (other) other->owner = value;
  b->block = body;
  return value;
}

static bool is_single_trip(const hlo_vir_value_t* lo, const hlo_vir_value_t* hi, int64_t step) {
  if (!hlo_vir_is_const_index(lo) || !hlo_vir_is_const_index(hi) || step <= 0) return false;
  return lo->imm < hi->imm && (uint64_t)hi->imm - (uint64_t)lo->imm <= (uint64_t)step;
}

// Returns the current value of a var; other values themselves.
static hlo_vir_value_t* value_now(hlo_vir_builder_t* b, hlo_vir_value_t* value) {
  if (value->op != HLO_VIR_var) return value;
  return hlo_vir_index(b, HLO_VIR_iadd, value, hlo_vir_iconst(b, 0));
}

hlo_vir_value_t* hlo_vir_begin_for(hlo_vir_builder_t* b, hlo_vir_value_t* lo, hlo_vir_value_t* hi,
                                   int64_t step, uint32_t flags) {
  hlo_vir_value_t draft;
  hlo_vir_value_t* operands[] = {value_now(b, lo), value_now(b, hi)};
  if (!b->is_plain && is_single_trip(lo, hi, step)) {
    ++b->block->single_trips;
    return lo;
  }
  draft_of(b, HLO_VIR_for, hlo_vir_type(HLO_VIR_INDEX, 1), flags, step, 2, operands, &draft);
  return begin(b, &draft);
}

void hlo_vir_begin_loop(hlo_vir_builder_t* b) {
  begin(b, &(hlo_vir_value_t){.op = HLO_VIR_loop});
}

void hlo_vir_begin_if(hlo_vir_builder_t* b, hlo_vir_value_t* condition) {
  begin(b, &(hlo_vir_value_t){.op = HLO_VIR_if, .operand_count = 1, .operands = {condition}});
}

void hlo_vir_begin_else(hlo_vir_builder_t* b) {
  if (b->block->single_trips || !b->block->owner) return;  // memory was exhausted at begin_if
  b->block = b->block->owner->other_body;
}

void hlo_vir_end(hlo_vir_builder_t* b) {
  if (b->block->single_trips) {
    --b->block->single_trips;
  } else if (b->block->parent) {
    b->block = b->block->parent;
  }
}

// ---- one function per instruction --------------------------------------------------------------

static const hlo_vir_type_t void_type = {HLO_VIR_VOID, 0};
static const hlo_vir_type_t index_type = {HLO_VIR_INDEX, 1};

static hlo_vir_value_t* emit1(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_type_t type,
                              uint32_t flags, int64_t imm, hlo_vir_value_t* x) {
  return hlo_vir_emit(b, op, type, flags, imm, 1, &x);
}

static hlo_vir_value_t* emit2(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_type_t type,
                              uint32_t flags, int64_t imm, hlo_vir_value_t* x, hlo_vir_value_t* y) {
  return hlo_vir_emit(b, op, type, flags, imm, 2, (hlo_vir_value_t*[]){x, y});
}

hlo_vir_value_t* hlo_vir_var(hlo_vir_builder_t* b, hlo_vir_value_t* first) {
  return emit1(b, HLO_VIR_var, first->type, 0, 0, first);
}

void hlo_vir_set(hlo_vir_builder_t* b, hlo_vir_value_t* var, hlo_vir_value_t* value) {
  HLO_ASSERT(var->op == HLO_VIR_var || var == b->module->poison,
             "values are assigned once, but for a var");
  emit2(b, HLO_VIR_set, void_type, 0, 0, var, value);
}

void hlo_vir_break_if(hlo_vir_builder_t* b, hlo_vir_value_t* condition) {
  emit1(b, HLO_VIR_break_if, void_type, 0, 0, condition);
}

void hlo_vir_return(hlo_vir_builder_t* b, hlo_vir_value_t* code) {
  emit1(b, HLO_VIR_return, void_type, 0, 0, code);
}

hlo_vir_value_t* hlo_vir_call(hlo_vir_builder_t* b, size_t offset_bytes, uint32_t argument_count,
                              hlo_vir_value_t* const* arguments) {
  return hlo_vir_emit(b, HLO_VIR_call, index_type, 0, (int64_t)offset_bytes, argument_count,
                      arguments);
}

hlo_vir_value_t* hlo_vir_call_chunk(hlo_vir_builder_t* b, uint32_t func, hlo_vir_value_t* context,
                                    hlo_vir_value_t* chunk) {
  return emit2(b, HLO_VIR_call, index_type, HLO_VIR_LOCAL, func, context, chunk);
}

void hlo_vir_suspend(hlo_vir_builder_t* b, int64_t resume_point) {
  hlo_vir_emit(b, HLO_VIR_suspend, void_type, 0, resume_point, 0, NULL);
}

hlo_vir_value_t* hlo_vir_iconst(hlo_vir_builder_t* b, int64_t value) {
  return hlo_vir_emit(b, HLO_VIR_iconst, index_type, 0, value, 0, NULL);
}

hlo_vir_value_t* hlo_vir_param(hlo_vir_builder_t* b, uint32_t number) {
  return hlo_vir_emit(b, HLO_VIR_param, index_type, 0, number, 0, NULL);
}

hlo_vir_value_t* hlo_vir_index(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                               hlo_vir_value_t* y) {
  return emit2(b, op, index_type, 0, 0, x, y);
}

hlo_vir_value_t* hlo_vir_icmp(hlo_vir_builder_t* b, hlo_vir_condition_t condition,
                              hlo_vir_value_t* x, hlo_vir_value_t* y) {
  return emit2(b, HLO_VIR_icmp, index_type, condition, 0, x, y);
}

hlo_vir_value_t* hlo_vir_iload(hlo_vir_builder_t* b, hlo_vir_value_t* base, int64_t offset_bytes,
                               uint32_t flags) {
  flags |= POINTER_WIDTH_LOG2 << HLO_VIR_WIDTH_SHIFT;
  return emit1(b, HLO_VIR_iload, index_type, flags, offset_bytes, base);
}

void hlo_vir_istore(hlo_vir_builder_t* b, hlo_vir_value_t* value, hlo_vir_value_t* base,
                    int64_t offset_bytes, uint32_t flags) {
  flags |= POINTER_WIDTH_LOG2 << HLO_VIR_WIDTH_SHIFT;
  emit2(b, HLO_VIR_istore, void_type, flags, offset_bytes, value, base);
}

hlo_vir_value_t* hlo_vir_unary(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x) {
  return emit1(b, op, x->type, 0, 0, x);
}

hlo_vir_value_t* hlo_vir_binary(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                                hlo_vir_value_t* y) {
  return emit2(b, op, x->type, 0, 0, x, y);
}

hlo_vir_value_t* hlo_vir_ternary(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                                 hlo_vir_value_t* y, hlo_vir_value_t* z) {
  hlo_vir_type_t type = op == HLO_VIR_select ? y->type : x->type;
  return hlo_vir_emit(b, op, type, 0, 0, 3, (hlo_vir_value_t*[]){x, y, z});
}

hlo_vir_value_t* hlo_vir_unary_imm(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                                   int64_t imm) {
  return emit1(b, op, x->type, 0, imm, x);
}

hlo_vir_value_t* hlo_vir_compare(hlo_vir_builder_t* b, hlo_vir_opcode_t op,
                                 hlo_vir_condition_t condition, hlo_vir_value_t* x,
                                 hlo_vir_value_t* y) {
  return emit2(b, op, hlo_vir_type(HLO_VIR_MASK, x->type.lanes), 0, condition, x, y);
}

hlo_vir_value_t* hlo_vir_convert(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_elem_t elem,
                                 hlo_vir_value_t* x) {
  return emit1(b, op, hlo_vir_type(elem, x->type.lanes), 0, 0, x);
}

hlo_vir_value_t* hlo_vir_const_bits(hlo_vir_builder_t* b, hlo_vir_type_t type, uint64_t bits) {
  uint32_t width = hlo_vir_elem_bits((hlo_vir_elem_t)type.elem);
  if (width < 64) bits &= (UINT64_C(1) << width) - 1;
  return hlo_vir_emit(b, HLO_VIR_const, type, 0, (int64_t)bits, 0, NULL);
}

hlo_vir_value_t* hlo_vir_const_float(hlo_vir_builder_t* b, hlo_vir_type_t type, double value) {
  bool is_f32 = type.elem == HLO_VIR_F32;
  return hlo_vir_const_bits(b, type,
                            is_f32 ? hlo_f32_to_bits((float)value) : hlo_f64_to_bits(value));
}

hlo_vir_value_t* hlo_vir_const_mask(hlo_vir_builder_t* b, uint32_t lanes, uint32_t count) {
  const uint64_t bits = count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
  return hlo_vir_emit(b, HLO_VIR_mask_const, hlo_vir_type(HLO_VIR_MASK, lanes), 0, (int64_t)bits, 0,
                      NULL);
}
