// SPDX-License-Identifier: Apache-2.0
// Proves a plan by running it over tokens. Every definition of a value writes its own token into
// the value's allocation, overwriting the contents; every use must find the token of its value.
// Loops run twice, branches one after the other from the same state, and donated arguments both
// with memory of their own and with the result's. It shares nothing with planning but the order of
// steps.
#include <string.h>

#include "base/vec.h"
#include "codegen/body/split.h"
#include "codegen/memory/plan.h"
#include "ir/call.h"
#include "ir/clone.h"

// Memory that holds a token: a range of one space.
typedef struct cell {
  uint32_t space;  // SPACE_TEMPORARY, or a buffer of its own
  uint64_t begin, end;
  uint64_t token;
} cell_t;

enum { SPACE_TEMPORARY = 0 };

typedef HLO_VEC(cell_t) cells_t;

typedef struct check {
  const hlo_plan_t* plan;
  hlo_arena_t arena;
  bool is_donated;  // results are the memory of arguments where allowed
  cells_t cells;
  uint64_t* tokens;  // by value index
  uint64_t next_token;
} check_t;

// ---- memory

static uint32_t argument_space(uint32_t i) {
  return 1 + i;
}

static uint32_t space_of(const check_t* check, hlo_allocation_t allocation) {
  const hlo_plan_t* plan = check->plan;
  switch (allocation.kind) {
    case HLO_ALLOCATION_ARGUMENT: return argument_space(allocation.index);
    case HLO_ALLOCATION_RESULT:
      if (check->is_donated && plan->donor_of[allocation.index] != HLO_DONATED_NOWHERE) {
        return argument_space(plan->donor_of[allocation.index]);
      }
      return 1 + plan->argument_count + allocation.index;
    case HLO_ALLOCATION_CONSTANT:
      return 1 + plan->argument_count + plan->result_count + allocation.index;
    case HLO_ALLOCATION_REGISTER:
      return 1 + plan->argument_count + plan->result_count + plan->constant_count +
             allocation.index;
    default: return SPACE_TEMPORARY;
  }
}

static hlo_status_t write_cell(check_t* check, hlo_allocation_t allocation, uint64_t size_bytes,
                               uint64_t token) {
  if (allocation.kind == HLO_ALLOCATION_NONE || size_bytes == 0) return hlo_ok();
  cell_t cell = {space_of(check, allocation), allocation.offset_bytes,
                 allocation.offset_bytes + size_bytes, token};
  size_t kept = 0;
  for (size_t i = 0; i < check->cells.count; ++i) {
    const cell_t* old = &check->cells.items[i];
    bool meets = old->space == cell.space && old->begin < cell.end && cell.begin < old->end;
    if (!meets) check->cells.items[kept++] = *old;
  }
  check->cells.count = kept;
  if (!hlo_vec_push(&check->cells, cell)) return hlo_status_out_of_memory(sizeof cell);
  return hlo_ok();
}

// Returns the token in an allocation; 0 if none covers it.
static uint64_t read_cell(const check_t* check, hlo_allocation_t allocation, uint64_t size_bytes) {
  uint32_t space = space_of(check, allocation);
  for (size_t i = 0; i < check->cells.count; ++i) {
    const cell_t* cell = &check->cells.items[i];
    if (cell->space == space && cell->begin == allocation.offset_bytes &&
        cell->end >= allocation.offset_bytes + size_bytes) {
      return cell->token;
    }
  }
  return 0;
}

static uint64_t size_of(const hlo_value_t* value) {
  return value->type->kind == HLO_TYPE_TENSOR ? hlo_type_size_bytes(value->type) : 0;
}

static bool overlap(const check_t* check, hlo_allocation_t a, uint64_t a_bytes, hlo_allocation_t b,
                    uint64_t b_bytes) {
  if (!a_bytes || !b_bytes || a.kind == HLO_ALLOCATION_NONE || b.kind == HLO_ALLOCATION_NONE)
    return false;
  return space_of(check, a) == space_of(check, b) && a.offset_bytes < b.offset_bytes + b_bytes &&
         b.offset_bytes < a.offset_bytes + a_bytes;
}

// ---- uses and definitions

static hlo_status_t fault(const check_t* check, const hlo_node_t* node, const char* what,
                          uint32_t i) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_plan_print(check->plan, &text);
  return hlo_internal_error("the buffer plan is wrong at %s: %s %u\n%s",
                            hlo_op_info(node->op)->name, what, i, hlo_strbuf_text(&text));
}

static bool holds(const check_t* check, const hlo_value_t* value, hlo_allocation_t allocation) {
  uint64_t bytes = size_of(value);
  if (bytes == 0) return true;
  return allocation.kind != HLO_ALLOCATION_NONE &&
         read_cell(check, allocation, bytes) == check->tokens[value->index];
}

static hlo_status_t read_value(const check_t* check, const hlo_node_t* node,
                               const hlo_value_t* value, uint32_t i) {
  if (holds(check, value, hlo_plan_allocation(check->plan, value))) return hlo_ok();
  return fault(check, node, "something else is in the place of input", i);
}

static hlo_status_t define(check_t* check, const hlo_value_t* value) {
  check->tokens[value->index] = ++check->next_token;
  return write_cell(check, hlo_plan_allocation(check->plan, value), size_of(value),
                    check->tokens[value->index]);
}

static hlo_status_t run_copies(check_t* check, const hlo_node_t* node) {
  const hlo_copy_list_t* list = &check->plan->copies[node->index];
  for (uint32_t i = 0; i < list->count; ++i) {
    const hlo_copy_t* copy = &list->items[i];
    uint64_t token = read_cell(check, copy->from, copy->size_bytes);
    if (!token) return fault(check, node, "nothing is there to be copied by copy", i);
    bool is_same = space_of(check, copy->from) == space_of(check, copy->to) &&
                   copy->from.offset_bytes == copy->to.offset_bytes;
    if (!is_same && overlap(check, copy->from, copy->size_bytes, copy->to, copy->size_bytes)) {
      return fault(check, node, "source and target overlap in copy", i);
    }
    if (!is_same) HLO_TRY(write_cell(check, copy->to, copy->size_bytes, token));
  }
  return hlo_ok();
}

// ---- steps

static hlo_status_t run_region(check_t* check, const hlo_region_t* region);

static hlo_status_t look_at_fusion(const check_t* check, const hlo_step_t* step) {
  const hlo_fusion_t* fusion = step->fusion;
  const hlo_plan_t* plan = check->plan;
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    HLO_TRY(read_value(check, step->node, fusion->inputs[i], i));
  }
  for (uint32_t o = 0; o < fusion->output_count; ++o) {
    const hlo_value_t* output = fusion->outputs[o];
    hlo_allocation_t allocation = hlo_plan_allocation(plan, output);
    int32_t updated = hlo_kernel_updates(plan->kernels[fusion->index], o);
    if (updated >= 0 && !holds(check, fusion->inputs[updated], allocation)) {
      return fault(check, step->node, "what is updated is not in the place of output", o);
    }
    for (uint32_t i = 0; i < fusion->input_count; ++i) {
      hlo_allocation_t other = hlo_plan_allocation(plan, fusion->inputs[i]);
      if (allocation.kind == HLO_ALLOCATION_REGISTER) break;  // given when everything is read
      if (overlap(check, allocation, size_of(output), other, size_of(fusion->inputs[i])) &&
          !hlo_kernel_may_share(plan->kernels[fusion->index], o, i)) {
        return fault(check, step->node, "the kernel may not write over input", i);
      }
    }
    for (uint32_t k = 0; k < o; ++k) {
      hlo_allocation_t other = hlo_plan_allocation(plan, fusion->outputs[k]);
      if (overlap(check, allocation, size_of(output), other, size_of(fusion->outputs[k]))) {
        return fault(check, step->node, "another output is in the place of output", o);
      }
    }
  }
  return hlo_ok();
}

static hlo_status_t define_outputs(check_t* check, const hlo_fusion_t* fusion) {
  for (uint32_t o = 0; o < fusion->output_count; ++o) HLO_TRY(define(check, fusion->outputs[o]));
  return hlo_ok();
}

static hlo_status_t run_fusion(check_t* check, const hlo_step_t* step) {
  HLO_TRY(look_at_fusion(check, step));
  return define_outputs(check, step->fusion);
}

typedef struct memory {
  hlo_allocation_t allocation;
  uint64_t bytes;
} memory_t;

// The memory that a fusion writes: its outputs, then its scratch memory.
static memory_t written_by(const check_t* check, const hlo_fusion_t* fusion, uint32_t i) {
  const hlo_plan_t* plan = check->plan;
  if (i < fusion->output_count) {
    return (memory_t){hlo_plan_allocation(plan, fusion->outputs[i]), size_of(fusion->outputs[i])};
  }
  return (memory_t){plan->scratch[fusion->index],
                    hlo_kernel_scratch_bytes(plan->kernels[fusion->index])};
}

// Members of a concurrent group never touch what another one writes.
static hlo_status_t look_at_pair(const check_t* check, const hlo_step_t* step,
                                 const hlo_step_t* other) {
  const hlo_fusion_t *a = step->fusion, *b = other->fusion;
  for (uint32_t o = 0; o <= a->output_count; ++o) {
    memory_t written = written_by(check, a, o);
    for (uint32_t i = 0; i < b->input_count; ++i) {
      hlo_allocation_t allocation = hlo_plan_allocation(check->plan, b->inputs[i]);
      if (overlap(check, written.allocation, written.bytes, allocation, size_of(b->inputs[i]))) {
        return fault(check, step->node, "a member of its team reads the place of output", o);
      }
    }
    for (uint32_t k = 0; k <= b->output_count; ++k) {
      memory_t theirs = written_by(check, b, k);
      if (overlap(check, written.allocation, written.bytes, theirs.allocation, theirs.bytes)) {
        return fault(check, step->node, "a member of its team writes the place of output", o);
      }
    }
  }
  return hlo_ok();
}

// Outputs are written after all members have read their inputs.
static hlo_status_t run_concurrent_group(check_t* check, const hlo_step_t* steps, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) HLO_TRY(run_copies(check, steps[i].node));
  for (uint32_t i = 0; i < count; ++i) {
    HLO_TRY(look_at_fusion(check, &steps[i]));
    for (uint32_t k = 0; k < count; ++k) {
      if (k != i) HLO_TRY(look_at_pair(check, &steps[i], &steps[k]));
    }
  }
  for (uint32_t i = 0; i < count; ++i) HLO_TRY(define_outputs(check, steps[i].fusion));
  return hlo_ok();
}

static bool is_changed(const hlo_node_t* node, uint32_t operand) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (hlo_call_may_share(node, r, operand)) return true;
  }
  return false;
}

// Operands of library calls have an address.
static hlo_status_t in_memory(check_t* check, const hlo_node_t* node, hlo_allocation_t allocation,
                              uint32_t i) {
  if (allocation.kind != HLO_ALLOCATION_REGISTER) return hlo_ok();
  return fault(check, node, "the library is given a register for operand, result or capture", i);
}

static hlo_status_t run_site(check_t* check, const hlo_node_t* node) {
  const hlo_plan_t* plan = check->plan;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_value_t* operand = hlo_node_operand(node, i);
    hlo_allocation_t allocation = hlo_plan_operand_allocation(plan, node, i);
    HLO_TRY(in_memory(check, node, allocation, i));
    if (!holds(check, operand, allocation)) {
      return fault(check, node, "something else is in the place of operand", i);
    }
    for (uint32_t r = 0; r < node->result_count && !is_changed(node, i); ++r) {
      if (!hlo_call_may_cover(node, r, i) &&
          overlap(check, allocation, size_of(operand), hlo_plan_allocation(plan, &node->results[r]),
                  size_of(&node->results[r]))) {
        return fault(check, node, "a result is in the place of operand", i);
      }
    }
  }
  uint32_t count = 0;
  const hlo_value_t** captures = NULL;
  HLO_TRY(hlo_node_captures(node, &check->arena, &count, &captures));
  for (uint32_t i = 0; i < count; ++i) {
    HLO_TRY(in_memory(check, node, hlo_plan_allocation(plan, captures[i]), i));
    HLO_TRY(read_value(check, node, captures[i], i));
  }
  for (uint32_t r = 0; r < node->result_count; ++r) {
    HLO_TRY(in_memory(check, node, hlo_plan_allocation(plan, &node->results[r]), r));
    HLO_TRY(define(check, &node->results[r]));
  }
  return hlo_ok();
}

// `to` becomes the value `from`: the bytes must be in the allocation of `to`.
static hlo_status_t hand_over(check_t* check, const hlo_node_t* node, const hlo_value_t* to,
                              uint64_t token, uint32_t i) {
  check->tokens[to->index] = token;
  if (holds(check, to, hlo_plan_allocation(check->plan, to))) return hlo_ok();
  return fault(check, node, "not handed over: value", i);
}

static hlo_status_t end_tokens(check_t* check, const hlo_region_t* region, uint64_t** out_tokens) {
  const hlo_node_t* end = hlo_region_terminator(region);
  uint64_t* tokens = hlo_arena_array(&check->arena, end->operand_count, sizeof *tokens);
  HLO_TRY(hlo_arena_status(&check->arena));
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    tokens[i] = check->tokens[hlo_node_operand(end, i)->index];
  }
  *out_tokens = tokens;
  return hlo_ok();
}

static hlo_status_t run_while(check_t* check, const hlo_node_t* node) {
  uint64_t* tokens = hlo_arena_array(&check->arena, node->operand_count, sizeof *tokens);
  HLO_TRY(hlo_arena_status(&check->arena));
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    tokens[i] = check->tokens[hlo_node_operand(node, i)->index];
  }
  for (int round = 0;; ++round) {
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      HLO_TRY(hand_over(check, node, node->regions[0]->args[i], tokens[i], i));
    }
    HLO_TRY(run_region(check, node->regions[0]));
    HLO_TRY(
        read_value(check, node, hlo_node_operand(hlo_region_terminator(node->regions[0]), 0), 0));
    if (round == 2) break;
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      HLO_TRY(hand_over(check, node, node->regions[1]->args[i], tokens[i], i));
    }
    HLO_TRY(run_region(check, node->regions[1]));
    HLO_TRY(end_tokens(check, node->regions[1], &tokens));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    HLO_TRY(hand_over(check, node, &node->results[i], tokens[i], i));
  }
  return hlo_ok();
}

static bool is_same_cell(const cell_t* a, const cell_t* b) {
  return a->space == b->space && a->begin == b->begin && a->end == b->end && a->token == b->token;
}

// Keeps only the tokens that all branches leave alike.
static void intersect(cells_t* cells, const cells_t* other) {
  size_t kept = 0;
  for (size_t i = 0; i < cells->count; ++i) {
    for (size_t k = 0; k < other->count; ++k) {
      if (is_same_cell(&cells->items[i], &other->items[k])) {
        cells->items[kept++] = cells->items[i];
        break;
      }
    }
  }
  cells->count = kept;
}

static bool copy_cells(const cells_t* from, cells_t* to) {
  to->count = 0;
  if (!hlo_vec_reserve(to, from->count + 1)) return false;
  if (from->count) memcpy(to->items, from->items, from->count * sizeof(cell_t));
  to->count = from->count;
  return true;
}

// Branches leave their results as equal tokens.
static hlo_status_t run_branch(check_t* check, const hlo_node_t* node, const hlo_region_t* region,
                               const uint64_t* tokens) {
  HLO_TRY(run_region(check, region));
  uint64_t* own = NULL;
  HLO_TRY(end_tokens(check, region, &own));
  for (uint32_t i = 0; i < node->result_count; ++i) {
    HLO_TRY(hand_over(check, node, &node->results[i], own[i], i));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    check->tokens[node->results[i].index] = tokens[i];
    HLO_TRY(write_cell(check, hlo_plan_allocation(check->plan, &node->results[i]),
                       size_of(&node->results[i]), tokens[i]));
  }
  return hlo_ok();
}

static hlo_status_t run_branches(check_t* check, const hlo_node_t* node) {
  HLO_TRY(read_value(check, node, hlo_node_operand(node, 0), 0));
  uint64_t* tokens = hlo_arena_array(&check->arena, node->result_count, sizeof *tokens);
  HLO_TRY(hlo_arena_status(&check->arena));
  for (uint32_t i = 0; i < node->result_count; ++i) tokens[i] = ++check->next_token;
  cells_t before = {0}, after = {0};
  hlo_status_t status =
      copy_cells(&check->cells, &before) ? hlo_ok() : hlo_status_out_of_memory(sizeof(cell_t));
  for (uint32_t k = 0; k < node->region_count && hlo_status_is_ok(status); ++k) {
    if (!copy_cells(&before, &check->cells)) status = hlo_status_out_of_memory(sizeof(cell_t));
    if (hlo_status_is_ok(status)) status = run_branch(check, node, node->regions[k], tokens);
    if (!hlo_status_is_ok(status)) break;
    if (k > 0) intersect(&check->cells, &after);
    if (!copy_cells(&check->cells, &after)) status = hlo_status_out_of_memory(sizeof(cell_t));
  }
  hlo_vec_deinit(&before);
  hlo_vec_deinit(&after);
  return status;
}

static hlo_status_t run_view(check_t* check, const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_value_t* operand = hlo_node_operand(node, i);
    HLO_TRY(read_value(check, node, operand, i));
    HLO_TRY(hand_over(check, node, &node->results[i], check->tokens[operand->index], i));
  }
  const hlo_node_t* begun = hlo_split_begin(node);
  for (uint32_t i = 0; begun && i < begun->operand_count; ++i) {
    if (!holds(check, hlo_node_operand(begun, i),
               hlo_plan_operand_allocation(check->plan, begun, i))) {
      return fault(check, begun, "before its end something else is in the place of operand", i);
    }
  }
  return hlo_ok();
}

static hlo_status_t run_step(check_t* check, const hlo_step_t* step) {
  HLO_TRY(run_copies(check, step->node));
  switch (step->kind) {
    case HLO_STEP_FUSION: return run_fusion(check, step);
    case HLO_STEP_VIEW: return run_view(check, step->node);
    case HLO_STEP_CALL: return run_site(check, step->node);
    case HLO_STEP_CONTROL: break;
  }
  return step->node->op == HLO_OP_while ? run_while(check, step->node)
                                        : run_branches(check, step->node);
}

static hlo_status_t run_region(check_t* check, const hlo_region_t* region) {
  const hlo_sequence_t* sequence = hlo_schedule_find(check->plan->schedule, region);
  for (uint32_t i = 0; i < sequence->step_count;) {
    const hlo_concurrent_group_t* concurrent_group = hlo_step_concurrent_group(&sequence->steps[i]);
    uint32_t count = concurrent_group ? concurrent_group->member_count : 1;
    if (count > sequence->step_count - i) {
      return fault(check, sequence->steps[i].node, "a concurrent group is split at step", i);
    }
    HLO_TRY(concurrent_group ? run_concurrent_group(check, &sequence->steps[i], count)
                             : run_step(check, &sequence->steps[i]));
    i += count;
  }
  return run_copies(check, hlo_region_terminator(region));
}

// ---- the whole

static hlo_status_t define_outside(check_t* check) {
  const hlo_plan_t* plan = check->plan;
  const hlo_region_t* body = plan->func->body;
  for (uint32_t i = 0; i < body->arg_count; ++i) HLO_TRY(define(check, body->args[i]));
  for (uint32_t i = 0; i < plan->constant_count; ++i) {
    HLO_TRY(define(check, plan->constants[i].value));
  }
  return hlo_ok();
}

static hlo_status_t run_once(check_t* check) {
  const hlo_plan_t* plan = check->plan;
  check->cells.count = 0;
  HLO_TRY(define_outside(check));
  HLO_TRY(run_region(check, plan->func->body));
  const hlo_node_t* end = hlo_region_terminator(plan->func->body);
  for (uint32_t r = 0; r < end->operand_count; ++r) {
    hlo_allocation_t allocation = {.kind = HLO_ALLOCATION_RESULT, .index = r};
    if (!holds(check, hlo_node_operand(end, r), allocation)) {
      return fault(check, end, "something else is in the place of result", r);
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_plan_check(const hlo_plan_t* plan) {
  check_t check = {.plan = plan};
  hlo_arena_init(&check.arena, 0);
  check.tokens =
      hlo_arena_array(&check.arena, plan->func->module->value_count, sizeof *check.tokens);
  hlo_status_t status = hlo_arena_status(&check.arena);
  for (int i = 0; i < 2 && hlo_status_is_ok(status); ++i) {
    check.is_donated = i == 1;
    status = run_once(&check);
  }
  hlo_vec_deinit(&check.cells);
  hlo_arena_deinit(&check.arena);
  return status;
}
