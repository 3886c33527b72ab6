// SPDX-License-Identifier: Apache-2.0
// Measures and copies loop bodies (see unroll.h).
#include "codegen/vir/unroll.h"

enum { MAX_OUTSIDE = 64, MAX_COPIES = 8 };

/// Notes on each value created since the loop began.
typedef struct notes {
  uint32_t first, count;
  uint32_t* items;
} notes_t;

static bool make_notes(const hlo_vir_builder_t* b, const hlo_vir_value_t* loop, notes_t* out) {
  *out = (notes_t){.first = loop->number, .count = b->func->value_count - loop->number};
  out->items = hlo_mem_alloc_zeroed(out->count * sizeof *out->items);
  if (!out->items) b->module->arena.failed = true;
  return out->items != NULL;
}

static bool is_inside(const hlo_vir_value_t* loop, const hlo_vir_value_t* value) {
  return value && value->parent == loop->body;
}

static bool is_vector(const hlo_vir_value_t* value) {
  return value->type.elem > HLO_VIR_MASK;
}

/// Vectors defined outside that were found so far.
typedef struct outside {
  uint32_t count;
  const hlo_vir_value_t* values[MAX_OUTSIDE];
} outside_t;

static bool is_new(outside_t* outside, const hlo_vir_value_t* value) {
  for (uint32_t i = 0; i < outside->count; ++i) {
    if (outside->values[i] == value) return false;
  }
  if (outside->count < MAX_OUTSIDE) outside->values[outside->count++] = value;
  return true;
}

static void count_outside(const hlo_vir_value_t* loop, hlo_vir_pressure_t* pressure) {
  outside_t outside = {0};
  for (const hlo_vir_value_t* at = loop->body->first; at; at = at->next) {
    for (uint32_t i = 0; i < at->operand_count; ++i) {
      const hlo_vir_value_t* operand = at->operands[i];
      if (!operand || is_inside(loop, operand) || !is_vector(operand)) continue;
      if (!is_new(&outside, operand)) continue;
      ++*(operand->op == HLO_VIR_const ? &pressure->constants : &pressure->invariants);
    }
  }
}

static bool may_copy(const hlo_vir_value_t* value) {
  return hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) != HLO_VIR_CONTROL;
}

// Backwards: a value is live from its definition to its last use.
static void count_lives(const hlo_vir_value_t* loop, notes_t* used, hlo_vir_pressure_t* pressure) {
  uint32_t vectors = 0, masks = 0;
  for (const hlo_vir_value_t* at = loop->body->last; at; at = at->prev) {
    bool is_live = used->items[at->number - used->first];
    vectors -= is_live && is_vector(at);
    masks -= is_live && at->type.elem == HLO_VIR_MASK;
    for (uint32_t i = 0; i < at->operand_count; ++i) {
      const hlo_vir_value_t* operand = at->operands[i];
      if (!is_inside(loop, operand) || used->items[operand->number - used->first]) continue;
      used->items[operand->number - used->first] = 1;
      vectors += is_vector(operand);
      masks += operand->type.elem == HLO_VIR_MASK;
    }
    if (vectors > pressure->vectors) pressure->vectors = vectors;
    if (masks > pressure->masks) pressure->masks = masks;
  }
}

static void measure_chain(const hlo_vir_value_t* loop, notes_t* depths,
                          hlo_vir_pressure_t* pressure) {
  for (const hlo_vir_value_t* at = loop->body->first; at; at = at->next) {
    uint32_t depth = 0;
    for (uint32_t i = 0; i < at->operand_count; ++i) {
      if (!is_inside(loop, at->operands[i])) continue;
      uint32_t other = depths->items[at->operands[i]->number - depths->first];
      if (other > depth) depth = other;
    }
    depths->items[at->number - depths->first] = depth + 1;
    if (depth + 1 > pressure->chain) pressure->chain = depth + 1;
  }
}

void hlo_vir_measure_loop(const hlo_vir_builder_t* b, const hlo_vir_value_t* loop,
                          hlo_vir_pressure_t* out_pressure) {
  *out_pressure = (hlo_vir_pressure_t){.is_straight = loop->op == HLO_VIR_for};
  if (!out_pressure->is_straight) return;
  for (const hlo_vir_value_t* at = loop->body->first; at; at = at->next) {
    out_pressure->is_straight &= may_copy(at);
  }
  notes_t used = {0}, depths = {0};
  if (make_notes(b, loop, &used) && make_notes(b, loop, &depths)) {
    count_outside(loop, out_pressure);
    count_lives(loop, &used, out_pressure);
    measure_chain(loop, &depths, out_pressure);
  }
  hlo_mem_free(used.items);
  hlo_mem_free(depths.items);
}

/// Copies of the values of a loop's body, `copies` of each.
typedef struct copying {
  const hlo_vir_value_t* loop;
  uint32_t first, copies;
  hlo_vir_value_t** values;
  hlo_vir_value_t* counters[MAX_COPIES];
} copying_t;

static hlo_vir_value_t* copy_of(const copying_t* c, uint32_t copy, hlo_vir_value_t* value) {
  if (value == c->loop) return c->counters[copy];
  if (!is_inside(c->loop, value)) return value;
  return c->values[(value->number - c->first) * c->copies + copy];
}

static void copy_instruction(hlo_vir_builder_t* b, copying_t* c, uint32_t copy,
                             const hlo_vir_value_t* value) {
  hlo_vir_value_t* operands[HLO_VIR_MAX_OPERANDS] = {0};
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    operands[i] = copy_of(c, copy, value->operands[i]);
  }
  b->debug_id = value->debug_id;
  c->values[(value->number - c->first) * c->copies + copy] =
      hlo_vir_emit(b, (hlo_vir_opcode_t)value->op, value->type, value->flags, value->imm,
                   value->operand_count, operands);
}

void hlo_vir_unroll_loop(hlo_vir_builder_t* b, const hlo_vir_value_t* loop, hlo_vir_value_t* lo,
                         hlo_vir_value_t* hi, uint32_t copies) {
  uint32_t debug_id = b->debug_id, count = b->func->value_count - loop->number;
  copying_t c = {.loop = loop, .first = loop->number, .copies = copies};
  c.values = hlo_mem_alloc_zeroed((size_t)count * copies * sizeof *c.values);
  if (!c.values) {
    b->module->arena.failed = true;
    return;
  }
  hlo_vir_value_t* counter = hlo_vir_begin_for(b, lo, hi, loop->imm * copies, loop->flags);
  for (uint32_t i = 0; i < copies; ++i) {
    c.counters[i] =
        hlo_vir_index(b, HLO_VIR_iadd, counter, hlo_vir_iconst(b, (int64_t)i * loop->imm));
  }
  for (const hlo_vir_value_t* at = loop->body->first; at; at = at->next) {
    for (uint32_t i = 0; i < copies; ++i) copy_instruction(b, &c, i, at);
  }
  hlo_vir_end(b);
  b->debug_id = debug_id;
  hlo_mem_free(c.values);
}

void hlo_vir_drop_loop(hlo_vir_value_t* loop) {
  hlo_vir_block_t* block = loop->parent;
  *(loop->prev ? &loop->prev->next : &block->first) = loop->next;
  *(loop->next ? &loop->next->prev : &block->last) = loop->prev;
}
