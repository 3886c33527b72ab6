// SPDX-License-Identifier: Apache-2.0
// Loops, branches, vars, calls of the runtime, suspension.
#include <stdlib.h>

#include "base/program_abi.h"
#include "base/tuning.h"
#include "codegen/x86/x86_impl.h"

static hlo_x86_cc_t negated(hlo_x86_cc_t cc) {
  return (hlo_x86_cc_t)(cc ^ 1);
}

static hlo_x86_control_t* control_of(const hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  return &f->controls[hlo_x86_live_range(f, value)->aux];
}

// ---- loops

static void begin_copies(hlo_x86_fn_t* f, const hlo_x86_control_t* control) {
  for (uint32_t n = control->first_copy; n < control->first_copy + control->copy_count; ++n) {
    const hlo_x86_live_range_t* copy = &f->ranges[n];
    if (copy->place != HLO_X86_IN_REGISTER) continue;
    hlo_x86_live_range_t* home = &f->ranges[hlo_x86_live_range(f, copy->value)->home];
    hlo_x86_load_live_range(f, home, copy->reg);
    home->copy = n;
  }
}

static void end_copies(hlo_x86_fn_t* f, const hlo_x86_control_t* control) {
  for (uint32_t n = control->first_copy; n < control->first_copy + control->copy_count; ++n) {
    f->ranges[hlo_x86_live_range(f, f->ranges[n].value)->home].copy = HLO_X86_NONE;
  }
}

static void begin_body(hlo_x86_fn_t* f, hlo_x86_control_t* control) {
  begin_copies(f, control);
  if (!control->has_inner_loop) hlo_x86_align(f->as, HLO_TUNING_LOOP_ALIGNMENT, true);
  control->top = hlo_x86_label_create(f->as);
  hlo_x86_label_bind(f->as, control->top);
}

// Compares the counter with the limit of its loop.
static void compare_limit(hlo_x86_fn_t* f, const hlo_vir_value_t* loop, unsigned counter) {
  const hlo_vir_value_t* hi = loop->operands[1];
  int32_t imm;
  if (hlo_x86_in_imm(hi, &imm)) {
    hlo_x86_mi(f->as, HLO_X86_cmp, 8, hlo_x86_reg(counter), imm);
  } else {
    hlo_x86_rm(f->as, HLO_X86_cmp, 8, counter, hlo_x86_in_rm(f, hi));
  }
}

static void begin_for(hlo_x86_fn_t* f, const hlo_vir_value_t* loop) {
  hlo_x86_control_t* control = control_of(f, loop);
  const hlo_vir_value_t *lo = loop->operands[0], *hi = loop->operands[1];
  control->done = hlo_x86_label_create(f->as);
  unsigned counter = hlo_x86_out(f, loop);
  if (lo->op == HLO_VIR_iconst) {
    hlo_x86_mov_imm(f->as, counter, lo->imm);
  } else {
    hlo_x86_move(f, HLO_X86_GENERAL, 8, counter, hlo_x86_in(f, lo));
  }
  hlo_x86_out_done(f, loop, counter);
  bool runs = lo->op == HLO_VIR_iconst && hi->op == HLO_VIR_iconst && lo->imm < hi->imm;
  if (!runs) {
    compare_limit(f, loop, counter);
    hlo_x86_jcc(f->as, HLO_X86_GE, control->done);
  }
  begin_body(f, control);
}

static void end_for(hlo_x86_fn_t* f, const hlo_vir_value_t* loop) {
  hlo_x86_control_t* control = control_of(f, loop);
  const hlo_x86_live_range_t* range = hlo_x86_live_range(f, loop);
  unsigned counter = range->reg;
  if (range->place != HLO_X86_IN_REGISTER) {
    counter = hlo_x86_temp_gpr(f);
    hlo_x86_load_live_range(f, range, counter);
  }
  if (loop->imm == (int32_t)loop->imm) {
    hlo_x86_mi(f->as, HLO_X86_add, 8, hlo_x86_reg(counter), (int32_t)loop->imm);
  } else {
    unsigned step = hlo_x86_temp_gpr(f);
    hlo_x86_mov_imm(f->as, step, loop->imm);
    hlo_x86_rm(f->as, HLO_X86_add, 8, counter, hlo_x86_reg(step));
  }
  if (range->place != HLO_X86_IN_REGISTER) hlo_x86_store_live_range(f, range, counter);
  compare_limit(f, loop, counter);
  hlo_x86_jcc(f->as, HLO_X86_L, control->top);
  hlo_x86_label_bind(f->as, control->done);
  end_copies(f, control);
}

static void begin_loop(hlo_x86_fn_t* f, const hlo_vir_value_t* loop) {
  hlo_x86_control_t* control = control_of(f, loop);
  control->done = hlo_x86_label_create(f->as);
  begin_body(f, control);
}

static void end_loop(hlo_x86_fn_t* f, const hlo_vir_value_t* loop) {
  hlo_x86_control_t* control = control_of(f, loop);
  hlo_x86_jmp(f->as, control->top);
  hlo_x86_label_bind(f->as, control->done);
  end_copies(f, control);
}

// Leaves the innermost `loop`, and any `for` in between.
static void emit_break(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  const hlo_vir_block_t* block = value->parent;
  while (block->owner && block->owner->op != HLO_VIR_loop) block = block->parent;
  if (!block->owner) return;
  hlo_x86_cc_t cc = hlo_x86_emit_condition(f, value->operands[0]);
  hlo_x86_jcc(f->as, cc, control_of(f, block->owner)->done);
}

// ---- if

static void begin_if(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  hlo_x86_control_t* control = control_of(f, value);
  control->other = hlo_x86_label_create(f->as);
  control->done = hlo_x86_label_create(f->as);
  const hlo_vir_value_t* owner = value->parent->owner;
  bool ends_turn = !value->next && owner && owner->op == HLO_VIR_loop && !value->other_body->first;
  hlo_x86_label_t target = ends_turn ? control_of(f, owner)->top : control->other;
  hlo_x86_jcc(f->as, negated(hlo_x86_emit_condition(f, value->operands[0])), target);
}

void hlo_x86_emit_else(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  hlo_x86_control_t* control = control_of(f, value);
  if (value->other_body->first) hlo_x86_jmp(f->as, control->done);
  hlo_x86_label_bind(f->as, control->other);
}

void hlo_x86_emit_end(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_for: end_for(f, value); break;
    case HLO_VIR_loop: end_loop(f, value); break;
    default: {
      hlo_x86_control_t* control = control_of(f, value);
      if (!value->other_body) hlo_x86_label_bind(f->as, control->other);
      hlo_x86_label_bind(f->as, control->done);
    }
  }
}

// ---- vars

static void assign(hlo_x86_fn_t* f, const hlo_vir_value_t* var, const hlo_vir_value_t* value) {
  const hlo_x86_live_range_t* range = hlo_x86_live_range(f, var);
  unsigned reg;
  if (range->place == HLO_X86_IN_REGISTER && value->op == HLO_VIR_iconst) {
    hlo_x86_mov_imm(f->as, range->reg, value->imm);
    return;
  }
  if (range->klass == HLO_X86_VECTORS && var->type.elem == HLO_VIR_MASK) {
    reg = hlo_x86_in_mask(f, value, range->lane_bits);
  } else {
    reg = hlo_x86_in(f, value);
  }
  hlo_x86_store_live_range(f, range, reg);
}

static void emit_set(hlo_x86_fn_t* f, const hlo_vir_value_t* set) {
  const hlo_vir_value_t *var = set->operands[0], *value = hlo_x86_resolve(set->operands[1]);
  if (hlo_x86_live_range(f, value)->home == var->number) return;  // computed there already
  assign(f, var, set->operands[1]);
}

// ---- calls

// Parallel moves between registers; a cycle goes through rax.
static void move_together(hlo_x86_fn_t* f, const uint8_t* to, uint8_t* from, unsigned count) {
  bool done[HLO_VIR_MAX_OPERANDS] = {false};
  for (unsigned left = count; left;) {
    bool moved = false;
    for (unsigned i = 0; i < count; ++i) {
      bool blocked = done[i];
      for (unsigned j = 0; j < count; ++j) blocked |= j != i && !done[j] && from[j] == to[i];
      if (blocked) continue;
      hlo_x86_move(f, HLO_X86_GENERAL, 8, to[i], from[i]);
      done[i] = moved = true;
      --left;
    }
    if (moved || !left) continue;
    unsigned first = 0;
    while (done[first]) ++first;
    hlo_x86_move(f, HLO_X86_GENERAL, 8, HLO_X86_RAX, from[first]);
    from[first] = HLO_X86_RAX;
  }
}

static void emit_call(hlo_x86_fn_t* f, const hlo_vir_value_t* call) {
  static const uint8_t arguments[] = {HLO_X86_RSI, HLO_X86_RDX, HLO_X86_RCX, HLO_X86_R8};
  uint8_t to[HLO_VIR_MAX_OPERANDS], from[HLO_VIR_MAX_OPERANDS];
  unsigned moves = 0;
  const hlo_x86_live_range_t* ranges[HLO_VIR_MAX_OPERANDS];
  for (uint32_t i = 0; i < call->operand_count; ++i) {
    ranges[i] = call->operands[i] ? hlo_x86_live_range(f, call->operands[i]) : NULL;
    if (ranges[i]) ranges[i] = &f->ranges[ranges[i]->home];
    if (!ranges[i] || ranges[i]->place != HLO_X86_IN_REGISTER) continue;
    to[moves] = arguments[i];
    from[moves++] = ranges[i]->reg;
  }
  move_together(f, to, from, moves);
  for (uint32_t i = 0; i < call->operand_count; ++i) {
    if (!ranges[i]) {
      hlo_x86_mov_imm(f->as, arguments[i], 0);
    } else if (ranges[i]->place != HLO_X86_IN_REGISTER) {
      hlo_x86_load_live_range(f, ranges[i], arguments[i]);
    }
  }
  if (f->uses_wide) hlo_x86_bare(f->as, HLO_X86_vzeroupper);
  hlo_x86_rm(f->as, HLO_X86_mov, 8, HLO_X86_RDI, hlo_x86_reg(HLO_X86_RBX));
  if (call->flags & HLO_VIR_LOCAL) {
    hlo_x86_call(f->as, (hlo_x86_label_t)call->imm);
  } else {
    hlo_x86_rm(f->as, HLO_X86_mov, 8, HLO_X86_RAX,
               hlo_x86_mem(HLO_X86_RBX, offsetof(hlo_frame_t, runtime)));
    hlo_x86_m(f->as, HLO_X86_call, 4, hlo_x86_mem(HLO_X86_RAX, (int32_t)call->imm));
  }
  if (!hlo_x86_live_range(f, call)->uses) return;
  hlo_x86_rm(f->as, HLO_X86_movsxd, 8, HLO_X86_RAX, hlo_x86_reg(HLO_X86_RAX));
  hlo_x86_out_done(f, call, HLO_X86_RAX);
}

// ---- suspension

static void emit_suspend(hlo_x86_fn_t* f, const hlo_vir_value_t* suspend) {
  hlo_x86_mi(f->as, HLO_X86_mov, 4, hlo_x86_mem(HLO_X86_RBX, offsetof(hlo_frame_t, resume_point)),
             (int32_t)suspend->imm);
  hlo_x86_mov_imm(f->as, HLO_X86_RAX, HLO_PROGRAM_SUSPENDED);
  hlo_x86_jmp(f->as, f->epilogue);
  hlo_x86_label_bind(f->as, hlo_x86_live_range(f, suspend)->aux);
}

static int by_point(const void* a, const void* b) {
  const hlo_vir_value_t *x = *(const hlo_vir_value_t*const*)a,
                        *y = *(const hlo_vir_value_t*const*)b;
  return (x->imm > y->imm) - (x->imm < y->imm);
}

// Jumps to the resume point in eax, if it is one of these, by binary search.
static void emit_search(hlo_x86_fn_t* f, const hlo_vir_value_t* const* points, uint32_t count) {
  hlo_x86_rm_t eax = hlo_x86_reg(HLO_X86_RAX);
  if (count <= HLO_TUNING_SWITCH_LINEAR_CASES) {
    for (uint32_t i = 0; i < count; ++i) {
      hlo_x86_mi(f->as, HLO_X86_cmp, 4, eax, (int32_t)points[i]->imm);
      hlo_x86_jcc(f->as, HLO_X86_E, hlo_x86_live_range(f, points[i])->aux);
    }
    hlo_x86_mov_imm(f->as, HLO_X86_RAX, HLO_PROGRAM_ERROR);
    hlo_x86_jmp(f->as, f->epilogue);
    return;
  }
  uint32_t half = count / 2;
  hlo_x86_label_t upper = hlo_x86_label_create(f->as);
  hlo_x86_mi(f->as, HLO_X86_cmp, 4, eax, (int32_t)points[half]->imm);
  hlo_x86_jcc(f->as, HLO_X86_AE, upper);
  emit_search(f, points, half);
  hlo_x86_label_bind(f->as, upper);
  emit_search(f, points + half, count - half);
}

void hlo_x86_emit_resume(hlo_x86_fn_t* f) {
  uint32_t count = f->items[f->item_count - 1].suspends_before, found = 0;
  const hlo_vir_value_t** points = hlo_arena_array(f->arena, count, sizeof(void*));
  if (!points) return;
  for (uint32_t p = 0; p < f->item_count; ++p) {
    const hlo_x86_item_t* item = &f->items[p];
    if (item->kind != HLO_X86_ITEM_INSN || item->value->op != HLO_VIR_suspend) continue;
    hlo_x86_live_range(f, item->value)->aux = hlo_x86_label_create(f->as);
    points[found++] = item->value;
  }
  qsort(points, count, sizeof(void*), by_point);
  hlo_x86_label_t start = hlo_x86_label_create(f->as);
  hlo_x86_rm(f->as, HLO_X86_mov, 4, HLO_X86_RAX,
             hlo_x86_mem(HLO_X86_RBX, offsetof(hlo_frame_t, resume_point)));
  hlo_x86_rm(f->as, HLO_X86_test, 4, HLO_X86_RAX, hlo_x86_reg(HLO_X86_RAX));
  hlo_x86_jcc(f->as, HLO_X86_E, start);
  emit_search(f, points, count);
  hlo_x86_label_bind(f->as, start);
}

static void emit_return(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  const hlo_vir_value_t* code = value->operands[0];
  if (code->op == HLO_VIR_iconst) {
    hlo_x86_mov_imm(f->as, HLO_X86_RAX, code->imm);
  } else {
    hlo_x86_rm(f->as, HLO_X86_mov, 8, HLO_X86_RAX, hlo_x86_in_rm(f, code));
  }
  bool is_last = f->position + 2 == f->item_count;  // at the end of the function
  if (!is_last) hlo_x86_jmp(f->as, f->epilogue);
}

void hlo_x86_emit_control(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_for: begin_for(f, value); break;
    case HLO_VIR_loop: begin_loop(f, value); break;
    case HLO_VIR_break_if: emit_break(f, value); break;
    case HLO_VIR_if: begin_if(f, value); break;
    case HLO_VIR_var: assign(f, value, value->operands[0]); break;
    case HLO_VIR_set: emit_set(f, value); break;
    case HLO_VIR_call: emit_call(f, value); break;
    case HLO_VIR_suspend: emit_suspend(f, value); break;
    default: emit_return(f, value); break;
  }
}
