// SPDX-License-Identifier: Apache-2.0
// Linearizes blocks and computes the live range of every value (see x86_impl.h): one pass to order,
// one backwards to count uses, one forwards to fold, to share locations and to find ranges, and, if
// there are calls, one for copies inside loops without calls. All passes are linear.
#include "base/tuning.h"
#include "codegen/x86/x86_impl.h"

enum { STACK_ALIGN = 64 };

const hlo_vir_value_t* hlo_x86_resolve(const hlo_vir_value_t* value) {
  while ((value->op == HLO_VIR_bitcast || value->op == HLO_VIR_lower_half) &&
         value->operands[0]->op != HLO_VIR_var) {
    value = value->operands[0];
  }
  return value;
}

static bool is_iconst(const hlo_vir_value_t* value) {
  return value->op == HLO_VIR_iconst;
}

static bool is_power_of_two(int64_t x) {
  return x > 0 && (x & (x - 1)) == 0;
}

// Returns true if a division needs rdx, or a swap rax: values stay out of both.
static bool is_long_division(const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_idiv:
    case HLO_VIR_irem:
      return !is_iconst(value->operands[1]) || !is_power_of_two(value->operands[1]->imm);
    case HLO_VIR_sdiv:
    case HLO_VIR_srem:
    case HLO_VIR_udiv:
    case HLO_VIR_urem:
    case HLO_VIR_icas: return true;
    default: return false;
  }
}

// ---- addresses

static bool add_disp(int64_t* disp, int64_t term, uint32_t scale) {
  int64_t sum;
  if (__builtin_mul_overflow(term, INT64_C(1) << scale, &sum)) return false;
  if (__builtin_add_overflow(sum, *disp, &sum) || sum != (int32_t)sum) return false;
  *disp = sum;
  return true;
}

hlo_x86_address_t hlo_x86_address_of(const hlo_vir_value_t* value) {
  uint32_t base = hlo_vir_base_operand((hlo_vir_opcode_t)value->op);
  hlo_x86_address_t address = {
      .base = value->operands[base],
      .log2_scale = value->flags & HLO_VIR_SCALE_MASK,
      .disp = value->imm,
  };
  bool has_index = value->op != HLO_VIR_gather && value->op != HLO_VIR_scatter;
  if (!has_index || base + 1 >= value->operand_count) return address;
  address.index = value->operands[base + 1];
  if (!address.index) return address;
  const hlo_vir_value_t* index = address.index;
  if (index->op == HLO_VIR_ishl && index->operands[0]->op != HLO_VIR_var && index->imm >= 0 &&
      index->imm + address.log2_scale <= 3) {
    address.index = index->operands[0];
    address.log2_scale += (uint32_t)index->imm;
  } else if (is_iconst(index) && add_disp(&address.disp, index->imm, address.log2_scale)) {
    address.index = NULL;
  }
  return address;
}

// Lists the values that the emitted instruction will read.
static uint32_t operands_of(const hlo_vir_value_t* value,
                            const hlo_vir_value_t* out[HLO_VIR_MAX_OPERANDS]) {
  uint32_t count = 0, base = HLO_X86_NONE, index = HLO_X86_NONE;
  if (hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) == HLO_VIR_MEMORY) {
    hlo_x86_address_t address = hlo_x86_address_of(value);
    base = hlo_vir_base_operand((hlo_vir_opcode_t)value->op);
    bool has_index = value->op != HLO_VIR_gather && value->op != HLO_VIR_scatter;
    if (has_index) index = base + 1;
    out[count++] = address.base;
    if (address.index) out[count++] = address.index;
  }
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    if (i == base || i == index || !value->operands[i]) continue;
    out[count++] = hlo_x86_resolve(value->operands[i]);
  }
  return count;
}

// ---- linear order

static hlo_x86_class_t class_of(const hlo_x86_fn_t* f, hlo_vir_type_t type) {
  if (type.elem == HLO_VIR_INDEX) return HLO_X86_GENERAL;
  if (type.elem == HLO_VIR_MASK && f->is_avx512) return HLO_X86_MASKS;
  return HLO_X86_VECTORS;
}

// A call that the function returns from: nothing is live across it.
static bool is_last_call(const hlo_vir_value_t* call) {
  const hlo_vir_value_t* next = call->next;
  return next && next->op == HLO_VIR_return &&
         (next->operands[0] == call || is_iconst(next->operands[0]));
}

static void append_item(hlo_x86_fn_t* f, const hlo_vir_value_t* value, hlo_x86_item_kind_t kind,
                        hlo_x86_item_t* totals) {
  hlo_x86_item_t* item = &f->items[f->item_count++];
  *item = *totals;
  item->value = value;
  item->kind = (uint8_t)kind;
  if (kind != HLO_X86_ITEM_INSN) return;
  totals->calls_before += value->op == HLO_VIR_call && !is_last_call(value);
  totals->suspends_before += value->op == HLO_VIR_suspend;
  totals->divisions_before += is_long_division(value);
}

static void begin_range(hlo_x86_fn_t* f, const hlo_vir_value_t* value, uint32_t position) {
  bool is_param = value->op == HLO_VIR_param;
  f->ranges[value->number] = (hlo_x86_live_range_t){
      .value = value,
      .start = is_param ? 0 : 2 * position + 1,
      .end = is_param ? 0 : 2 * position + 1,
      .home = value->number,
      .copy = HLO_X86_NONE,
      .readings = HLO_X86_NONE,
      .overwritten = UINT32_MAX,
      .klass = (uint8_t)class_of(f, value->type),
      .reg = HLO_X86_NO_REG,
  };
}

static uint32_t begin_control(hlo_x86_fn_t* f, const hlo_vir_value_t* value, uint32_t loop) {
  uint32_t number = f->control_count++;
  bool is_loop = value->op != HLO_VIR_if;
  uint32_t depth = loop == HLO_X86_NONE ? 0 : f->controls[loop].depth;
  f->controls[number] = (hlo_x86_control_t){
      .begin = f->item_count - 1,
      .loop = loop,
      .depth = depth + is_loop,
      .is_loop = is_loop,
  };
  hlo_x86_live_range(f, value)->aux = number;
  if (is_loop && loop != HLO_X86_NONE) f->controls[loop].has_inner_loop = true;
  return is_loop ? number : loop;
}

static void line_up(hlo_x86_fn_t* f) {
  hlo_x86_item_t totals = {0};
  const hlo_vir_block_t* block = f->vir->body;
  const hlo_vir_value_t* value = block->first;
  uint32_t loop = HLO_X86_NONE;
  for (;;) {
    while (!value) {
      const hlo_vir_value_t* owner = block->owner;
      if (!owner) {
        append_item(f, NULL, HLO_X86_ITEM_END, &totals);
        return;
      }
      if (block == owner->body && owner->other_body) {
        append_item(f, owner, HLO_X86_ITEM_ELSE, &totals);
        block = owner->other_body;
        value = block->first;
        continue;
      }
      append_item(f, owner, HLO_X86_ITEM_END, &totals);
      hlo_x86_control_t* control = &f->controls[hlo_x86_live_range(f, owner)->aux];
      control->end = f->item_count - 1;
      loop = control->loop;
      value = owner->next;
      block = owner->parent;
    }
    begin_range(f, value, f->item_count);
    append_item(f, value, HLO_X86_ITEM_INSN, &totals);
    if (value->body) {
      loop = begin_control(f, value, loop);
      block = value->body;
      value = block->first;
    } else {
      value = value->next;
    }
  }
}

bool hlo_x86_has_effect(const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_var:
    case HLO_VIR_load:
    case HLO_VIR_load_splat:
    case HLO_VIR_gather:
    case HLO_VIR_iload: return false;
    default: return !hlo_vir_opcode_is_pure((hlo_vir_opcode_t)value->op);
  }
}

// Runs backwards, so that operands of dead instructions only are dead as well.
static void count_uses(hlo_x86_fn_t* f) {
  const hlo_vir_value_t* operands[HLO_VIR_MAX_OPERANDS];
  for (uint32_t p = f->item_count; p-- > 0;) {
    const hlo_x86_item_t* item = &f->items[p];
    if (item->kind != HLO_X86_ITEM_INSN || hlo_x86_is_dead(f, item->value)) continue;
    uint32_t count = operands_of(item->value, operands);
    for (uint32_t i = 0; i < count; ++i) ++hlo_x86_live_range(f, operands[i])->uses;
  }
}

// ---- ranges

typedef struct walk {
  hlo_x86_fn_t* f;
  uint32_t position;
  uint32_t loop;          // innermost loop around the position
  uint32_t memory_epoch;  // counts possible changes of memory, and blocks
  uint32_t set_epoch;     // counts `set`
  uint32_t barrier;       // position of the last break_if
} walk_t;

static uint32_t weight_at(const walk_t* w) {
  uint32_t depth = w->loop == HLO_X86_NONE ? 0 : w->f->controls[w->loop].depth;
  if (depth > HLO_TUNING_SPILL_MAX_DEPTH) depth = HLO_TUNING_SPILL_MAX_DEPTH;
  return 1u << (HLO_TUNING_SPILL_LOOP_WEIGHT_LOG2 * depth);
}

static void add_weight(const walk_t* w, hlo_x86_live_range_t* range) {
  if (__builtin_add_overflow(range->weight, weight_at(w), &range->weight))
    range->weight = UINT32_MAX;
}

// The value is read here (a var: or set): it is live until here, and through every enclosing loop
// that began after its definition.
static void touch(const walk_t* w, const hlo_vir_value_t* value) {
  hlo_x86_live_range_t* range = hlo_x86_live_range(w->f, value);
  uint32_t end = 2 * w->position;
  for (uint32_t loop = w->loop; loop != HLO_X86_NONE; loop = w->f->controls[loop].loop) {
    if (w->f->controls[loop].begin <= range->start >> 1) break;
    end = 2 * w->f->controls[loop].end + 1;
  }
  if (range->end < end) range->end = end;
  range->last_touch = w->position;
  add_weight(w, range);
}

// A constant that needs no register so far.
static bool is_immediate(const walk_t* w, const hlo_vir_value_t* value) {
  const hlo_x86_live_range_t* range = hlo_x86_live_range(w->f, value);
  return is_iconst(value) && range->end == range->start;
}

// Returns true if a constant of an outer block should be in a register: the instruction has no
// immediate form.
static bool wants_register(const hlo_vir_value_t* user, const hlo_vir_value_t* constant) {
  bool is_choice =
      user->op == HLO_VIR_imin || user->op == HLO_VIR_imax || user->op == HLO_VIR_iselect;
  return is_choice && constant->parent != user->parent;
}

static void touch_operands(const walk_t* w, const hlo_vir_value_t* value) {
  const hlo_vir_value_t* operands[HLO_VIR_MAX_OPERANDS];
  uint32_t count = operands_of(value, operands);
  for (uint32_t i = 0; i < count; ++i) {
    if (hlo_x86_live_range(w->f, operands[i])->is_folded) {
      touch_operands(w, operands[i]);  // at most a load inside a comparison
    } else if (!is_immediate(w, operands[i]) || wants_register(value, operands[i])) {
      touch(w, operands[i]);
    }
  }
}

// Returns true if the instruction would still read the same values here.
static bool is_fresh(const walk_t* w, const hlo_vir_value_t* value) {
  const hlo_x86_live_range_t* range = hlo_x86_live_range(w->f, value);
  bool reads_memory = hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) == HLO_VIR_MEMORY;
  if (reads_memory && range->aux != w->memory_epoch) return false;  // INVARIANT holds up to a fence
  if (range->set_epoch == w->set_epoch) return true;
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    if (value->operands[i] && value->operands[i]->op == HLO_VIR_var) return false;
  }
  return true;
}

static bool is_sole_use(const walk_t* w, const hlo_vir_value_t* user,
                        const hlo_vir_value_t* operand) {
  const hlo_x86_live_range_t* range = hlo_x86_live_range(w->f, operand);
  return range->uses == 1 && !range->is_folded && operand->parent == user->parent &&
         is_fresh(w, operand);
}

static bool is_foldable_load(const walk_t* w, const hlo_vir_value_t* user, uint32_t i) {
  const hlo_vir_value_t* load = hlo_x86_resolve(user->operands[i]);
  if (load->op != HLO_VIR_load && load->op != HLO_VIR_load_splat && load->op != HLO_VIR_iload) {
    return false;
  }
  if (!is_sole_use(w, user, load) || load->imm != (int32_t)load->imm) return false;
  hlo_x86_fold_t fold = hlo_x86_may_fold(w->f, user, i);
  if (load->op == HLO_VIR_iload) return fold.whole;
  if (load->op == HLO_VIR_load_splat) return fold.splat;
  if (load->operand_count > 2) return false;  // with a mask
  hlo_vir_type_t type = user->operands[i]->type;
  return type.lanes == 1 ? fold.splat : fold.whole;
}

// Folds one load into the memory operand of the instruction.
static void fold_load(const walk_t* w, const hlo_vir_value_t* user) {
  for (uint32_t i = user->operand_count; i-- > 0;) {
    if (!user->operands[i] || !is_foldable_load(w, user, i)) continue;
    hlo_x86_live_range(w->f, hlo_x86_resolve(user->operands[i]))->is_folded = true;
    return;
  }
}

// Folds a comparison into its branch or select; a load as well.
static void fold_compare(const walk_t* w, const hlo_vir_value_t* user) {
  const hlo_vir_value_t* compare = user->operands[0];
  bool is_load = compare->op == HLO_VIR_iload && compare->imm == (int32_t)compare->imm;
  if ((compare->op != HLO_VIR_icmp && !is_load) || !is_sole_use(w, user, compare)) return;
  if (is_load) {
    hlo_x86_live_range(w->f, compare)->is_folded = true;
    return;
  }
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_vir_value_t* operand = compare->operands[i];
    if (hlo_x86_live_range(w->f, operand)->is_folded && !is_fresh(w, operand)) return;
  }
  hlo_x86_live_range(w->f, compare)->is_folded = true;
}

static bool can_share(const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_var:
    case HLO_VIR_for:
    case HLO_VIR_param:
    case HLO_VIR_iconst:
    case HLO_VIR_stack: return false;
    default: return true;
  }
}

// Returns the var if the value is its current value.
static const hlo_vir_value_t* var_read_by(const hlo_vir_value_t* value) {
  if (!value->operand_count || !value->operands[0]) return NULL;
  const hlo_vir_value_t* var = value->operands[0];
  if (var->op != HLO_VIR_var || !hlo_vir_type_equal(var->type, value->type)) return NULL;
  bool is_same =
      value->op == HLO_VIR_bitcast ||
      (value->op == HLO_VIR_iadd && is_iconst(value->operands[1]) && value->operands[1]->imm == 0);
  return is_same ? var : NULL;
}

static void note_reading(const walk_t* w, const hlo_vir_value_t* value) {
  const hlo_vir_value_t* var = var_read_by(value);
  if (!var) return;
  hlo_x86_live_range_t* home = hlo_x86_live_range(w->f, var);
  hlo_x86_live_range(w->f, value)->readings = home->readings;
  home->readings = value->number;
}

// Ends the readings of a var at this half position.
static void overwrite(const walk_t* w, const hlo_vir_value_t* var, uint32_t at) {
  hlo_x86_live_range_t* home = hlo_x86_live_range(w->f, var);
  for (uint32_t n = home->readings; n != HLO_X86_NONE; n = w->f->ranges[n].readings) {
    w->f->ranges[n].overwritten = at;
  }
  home->readings = HLO_X86_NONE;
}

// Merges values read from a var with it if they are not used after its next set.
static void merge_readings(hlo_x86_fn_t* f) {
  for (uint32_t n = 0; n < f->vir->value_count; ++n) {
    hlo_x86_live_range_t* range = &f->ranges[n];
    const hlo_vir_value_t* var = range->value ? var_read_by(range->value) : NULL;
    if (!var || range->home != n || range->is_folded || !range->uses) continue;
    if (range->end > range->overwritten) continue;
    hlo_x86_live_range_t* home = hlo_x86_live_range(f, var);
    if (home->lane_bits != range->lane_bits || home->klass != range->klass) continue;
    range->home = var->number;
    if (home->end < range->end) home->end = range->end;
    if (__builtin_add_overflow(home->weight, range->weight, &home->weight)) {
      home->weight = UINT32_MAX;
    }
  }
}

// For `set var, x` where x has no other use: x is computed in the location of the var if the var is
// not read afterwards and no exit lies in between.
static void share_home(const walk_t* w, const hlo_vir_value_t* set) {
  const hlo_vir_value_t* var = set->operands[0];
  const hlo_vir_value_t* value = hlo_x86_resolve(set->operands[1]);
  hlo_x86_live_range_t* range = hlo_x86_live_range(w->f, value);
  const hlo_x86_live_range_t* home = hlo_x86_live_range(w->f, var);
  uint32_t made = range->start >> 1;
  if (range->uses != 1 || range->is_folded || value->parent != set->parent || !can_share(value)) {
    return;
  }
  if (made <= home->start >> 1 || w->barrier > made || home->lane_bits != range->lane_bits) return;
  bool early = hlo_x86_is_early(w->f, value);
  if (home->last_touch > made || (early && home->last_touch == made)) return;
  range->home = var->number;
  overwrite(w, var, early ? 2 * made - 1 : 2 * made);
}

static void note_epochs(walk_t* w, const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_set: ++w->set_epoch; break;
    case HLO_VIR_break_if: w->barrier = w->position; break;
    case HLO_VIR_store:
    case HLO_VIR_istore:
    case HLO_VIR_icas:
    case HLO_VIR_scatter:
    case HLO_VIR_tile_store:
    case HLO_VIR_call:
    case HLO_VIR_suspend: ++w->memory_epoch; break;
    default: break;
  }
}

static hlo_status_t add_object(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  uint64_t bytes = (uint64_t)value->imm;
  if (bytes > HLO_X86_MAX_STACK_BYTES - f->objects_bytes) {
    return hlo_resource_exhausted("%s: %llu bytes of stack, more than %d in all", f->vir->name,
                                  (unsigned long long)bytes, HLO_X86_MAX_STACK_BYTES);
  }
  hlo_x86_live_range(f, value)->slot = (int32_t)f->objects_bytes;
  f->objects_bytes += (uint32_t)(bytes + STACK_ALIGN - 1) & ~(uint32_t)(STACK_ALIGN - 1);
  return hlo_ok();
}

// Collects the needs of the function as a whole.
static hlo_status_t note_needs(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  hlo_vir_type_t type = value->type;
  if (type.elem == HLO_VIR_MASK) {
    f->uses_wide |= !f->is_avx512 && !f->is_sse;
  } else if (type.elem > HLO_VIR_MASK) {
    f->uses_wide |= hlo_x86_width(type) > 16;
  }
  f->has_call |= value->op == HLO_VIR_call;
  f->calls_fma |= f->is_sse && (value->op == HLO_VIR_fma || value->op == HLO_VIR_fnma);
  f->has_suspend |= value->op == HLO_VIR_suspend;
  f->uses_stream |= value->op == HLO_VIR_store && value->flags & HLO_VIR_STREAM;
  f->uses_scratch |= hlo_x86_needs_scratch(f, value);
  if (value->op != HLO_VIR_param) return hlo_ok();
  const hlo_vir_value_t** param = &f->params[value->imm];
  if (*param) hlo_x86_live_range(f, value)->home = (*param)->number;
  if (!*param) *param = value;
  return hlo_ok();
}

static void walk_insn(walk_t* w, const hlo_vir_value_t* value) {
  hlo_x86_fn_t* f = w->f;
  hlo_x86_live_range_t* range = hlo_x86_live_range(f, value);
  if (!value->body) range->aux = w->memory_epoch;
  range->set_epoch = w->set_epoch;
  hlo_x86_choose_lane_bits(f, value);
  if (value->op == HLO_VIR_break_if || value->op == HLO_VIR_if || value->op == HLO_VIR_iselect) {
    fold_compare(w, value);
  } else {
    fold_load(w, value);
  }
  if (value->op == HLO_VIR_set) {
    share_home(w, value);
    overwrite(w, value->operands[0], 2 * w->position);
  }
  note_reading(w, value);
  touch_operands(w, value);
  add_weight(w, range);
  note_epochs(w, value);
}

// Merges the second value of a parameter into the live range of the first.
static void merge_params(hlo_x86_fn_t* f) {
  for (uint32_t n = 0; n < f->vir->value_count; ++n) {
    hlo_x86_live_range_t* range = &f->ranges[n];
    if (!range->value || range->value->op != HLO_VIR_param || range->home == n) continue;
    hlo_x86_live_range_t* first = &f->ranges[range->home];
    if (first->end < range->end) first->end = range->end;
    first->uses += range->uses;
    first->weight += range->weight;
  }
}

static uint32_t add_copy(hlo_x86_fn_t* f, const hlo_vir_value_t* value, uint32_t control) {
  if (!HLO_ARENA_GROW(f->arena, f->ranges, f->range_count, f->range_capacity)) return HLO_X86_NONE;
  uint32_t number = f->range_count++;
  const hlo_x86_live_range_t* original = hlo_x86_live_range(f, value);
  f->ranges[number] = (hlo_x86_live_range_t){
      .value = value,
      .start = 2 * f->controls[control].begin + 1,
      .end = 2 * f->controls[control].end + 1,
      .home = number,
      .copy = HLO_X86_NONE,
      .aux = control,
      .klass = original->klass,
      .lane_bits = original->lane_bits,
      .reg = HLO_X86_NO_REG,
      .uses = 1,
  };
  return number;
}

static void walk_end(walk_t* w, const hlo_vir_value_t* owner) {
  hlo_x86_control_t* control = &w->f->controls[hlo_x86_live_range(w->f, owner)->aux];
  if (owner->op == HLO_VIR_for) {
    touch(w, owner);
    const hlo_vir_value_t* hi = owner->operands[1];  // of a var, its value at the end counts
    if (!is_immediate(w, hi)) touch(w, hi);
  }
  w->loop = control->loop;
}

static hlo_status_t find_ranges(hlo_x86_fn_t* f) {
  walk_t w = {.f = f, .loop = HLO_X86_NONE};
  for (w.position = 0; w.position < f->item_count; ++w.position) {
    const hlo_x86_item_t* item = &f->items[w.position];
    const hlo_vir_value_t* value = item->value;
    if (item->kind != HLO_X86_ITEM_INSN) {
      ++w.memory_epoch;
      if (item->kind == HLO_X86_ITEM_END && value) walk_end(&w, value);
      continue;
    }
    if (hlo_x86_is_dead(f, value)) continue;
    HLO_TRY(note_needs(f, value));
    walk_insn(&w, value);
    if (value->op == HLO_VIR_stack) HLO_TRY(add_object(f, value));
    if (!value->body) continue;
    ++w.memory_epoch;
    if (value->op != HLO_VIR_if) w.loop = hlo_x86_live_range(f, value)->aux;
  }
  merge_params(f);
  merge_readings(f);
  return hlo_arena_status(f->arena);
}

// ---- copies

static bool crosses_call(const hlo_x86_fn_t* f, const hlo_x86_live_range_t* range) {
  const hlo_x86_item_t* begin = &f->items[range->start ? (range->start >> 1) + 1 : 0];
  const hlo_x86_item_t* end = &f->items[range->end >> 1];
  return begin < end && (begin->calls_before != end->calls_before ||
                         begin->suspends_before != end->suspends_before);
}

// A value that calls force into memory is kept in a register at least inside loops without calls.
static void copy_operand(hlo_x86_fn_t* f, const hlo_vir_value_t* value, uint32_t loop) {
  hlo_x86_live_range_t* range = hlo_x86_live_range(f, value);
  if (is_iconst(value) || value->op == HLO_VIR_var || value->op == HLO_VIR_stack ||
      (value->op == HLO_VIR_param && value->imm == 0) || range->is_folded) {
    return;
  }
  if (range->start >> 1 >= f->controls[loop].begin || !crosses_call(f, range)) return;
  uint32_t copy = range->copy;
  if (copy == HLO_X86_NONE || f->ranges[copy].aux != loop) {
    copy = add_copy(f, value, loop);
    if (copy == HLO_X86_NONE) return;
    if (!f->controls[loop].copy_count++) f->controls[loop].first_copy = copy;
    hlo_x86_live_range(f, value)->copy = copy;
  }
  f->ranges[copy].weight += 1u << HLO_TUNING_SPILL_LOOP_WEIGHT_LOG2;
}

static void find_copies(hlo_x86_fn_t* f) {
  const hlo_vir_value_t* operands[HLO_VIR_MAX_OPERANDS];
  uint32_t quiet = HLO_X86_NONE;
  for (uint32_t p = 0; p < f->item_count; ++p) {
    const hlo_x86_item_t* item = &f->items[p];
    if (item->kind == HLO_X86_ITEM_END && item->value &&
        hlo_x86_live_range(f, item->value)->aux == quiet) {
      quiet = HLO_X86_NONE;
    }
    if (item->kind != HLO_X86_ITEM_INSN || hlo_x86_is_dead(f, item->value)) continue;
    if (quiet == HLO_X86_NONE && item->value->body && item->value->op != HLO_VIR_if) {
      const hlo_x86_control_t* control = &f->controls[hlo_x86_live_range(f, item->value)->aux];
      const hlo_x86_item_t* end = &f->items[control->end];
      if (end->calls_before == item->calls_before &&
          end->suspends_before == item->suspends_before) {
        quiet = hlo_x86_live_range(f, item->value)->aux;
      }
    }
    if (quiet == HLO_X86_NONE) continue;
    uint32_t count = operands_of(item->value, operands);
    for (uint32_t i = 0; i < count; ++i) copy_operand(f, operands[i], quiet);
  }
  for (uint32_t n = 0; n < f->range_count; ++n) f->ranges[n].copy = HLO_X86_NONE;
}

// ---- addresses of the stack

static bool spread(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  bool is_index = hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) == HLO_VIR_INDEX_OP;
  if (!is_index && value->op != HLO_VIR_var && value->op != HLO_VIR_set) return false;
  bool found = value->op == HLO_VIR_stack;
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    found |= hlo_x86_live_range(f, value->operands[i])->is_of_stack;
  }
  bool* mark =
      &hlo_x86_live_range(f, value->op == HLO_VIR_set ? value->operands[0] : value)->is_of_stack;
  bool is_new = found && !*mark;
  *mark |= found;
  return is_new;
}

// Finds the values that point into the stack, which does not outlive a suspension. Repeats while a
// var that was read earlier turns out to be one.
static void find_stack_addresses(hlo_x86_fn_t* f) {
  bool again = true;
  while (again) {
    again = false;
    for (uint32_t p = 0; p < f->item_count; ++p) {
      const hlo_x86_item_t* item = &f->items[p];
      if (item->kind != HLO_X86_ITEM_INSN) continue;
      again |= spread(f, item->value) && item->value->op == HLO_VIR_set;
    }
  }
}

hlo_status_t hlo_x86_analyse(hlo_x86_fn_t* f) {
  uint32_t count = f->vir->value_count;
  // Controls have up to two items more than their instruction.
  f->items = hlo_arena_alloc(f->arena, ((size_t)count * 3 + 1) * sizeof *f->items);
  f->ranges = hlo_arena_array(f->arena, (size_t)count + 1, sizeof *f->ranges);
  f->controls = hlo_arena_alloc(f->arena, ((size_t)count + 1) * sizeof *f->controls);
  HLO_TRY(hlo_arena_status(f->arena));
  f->range_count = count;
  f->range_capacity = count + 1;
  line_up(f);
  count_uses(f);
  HLO_TRY(find_ranges(f));
  if (f->uses_scratch) f->objects_bytes += HLO_X86_SCRATCH_BYTES;
  if (f->has_call || f->has_suspend) find_copies(f);
  if (f->has_suspend && f->objects_bytes) find_stack_addresses(f);
  return hlo_arena_status(f->arena);
}
