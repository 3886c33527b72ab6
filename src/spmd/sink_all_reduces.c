// SPDX-License-Identifier: Apache-2.0
// Pass sink_all_reduces: moves the all_reduce of an accumulation out of a loop,
//
//   while: sum = sum + move(all_reduce(x))     becomes     while: part = part + move(x), from 0
//                                                          sum = sum + all_reduce(part)
//
// where `move` are conversions to wider elements, transposes, reshapes, slices, and selections of
// elements or zeros by predicates that the processes of a group agree on: one exchange instead of
// one per iteration. The sum may be of a slice of the accumulator, at a position that they agree
// on. Elements are converted before they are added. Sums are regrouped: floats are rounded
// differently.
//
// All_reduces whose results are kept, each in a slice of its own, are moved by sink_updates.c.
//
// A reduce_scatter is moved if the argument says so: its accumulator then has the size of the whole
// operand, and the moves follow it after the loop.
#include <string.h>

#include "ir/clone.h"
#include "passes/build.h"
#include "spmd/collective.h"
#include "spmd/passes.h"
#include "spmd/processes.h"
#include "spmd/sink_impl.h"

enum { MOVES_MAX = 8 };

typedef struct sinker {
  hlo_pass_ctx_t* ctx;
  hlo_processes_t processes;
  bool takes_scatters;
} sinker_t;

/// An accumulation in a loop.
typedef struct accumulation {
  hlo_node_t* loop;
  uint32_t index;  // of the carried value
  hlo_node_t *slice,
      *update;  // dynamic_slice and dynamic_update_slice of what is added to; NULL: all
  hlo_node_t* add;
  hlo_value_t* summand;
  hlo_node_t* collective;
  uint32_t move_count;
  hlo_node_t* moves[MOVES_MAX];  // from the collective to the sum
} accumulation_t;

static bool has_one_use(const hlo_value_t* value) {
  return value->uses && !value->uses->next;
}

static uint32_t use_count(const hlo_value_t* value) {
  uint32_t count = 0;
  for (const hlo_use_t* use = value->uses; use; use = use->next) ++count;
  return count;
}

static bool is_zero(const hlo_value_t* value) {
  const hlo_node_t* node = value->def;
  if (node && node->op == HLO_OP_broadcast_in_dim) node = hlo_node_operand(node, 0)->def;
  const hlo_attr_t* attr =
      node && node->op == HLO_OP_constant ? hlo_node_attr(node, HLO_ATTR_value) : NULL;
  if (!attr || attr->kind != HLO_ATTR_KIND_LITERAL || !attr->literal->is_splat) return false;
  const hlo_type_t* type = node->results[0].type;
  const char* bytes = attr->literal->data;
  for (size_t i = 0; i < hlo_dtype_size_bytes(type->dtype); ++i) {
    if (bytes[i]) return false;
  }
  return !type->quant;
}

// Returns the operand that a node moves elements of; -1 if it is no move.
static int moved_operand(const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_transpose:
    case HLO_OP_reshape:
    case HLO_OP_slice: return 0;
    case HLO_OP_convert: return hlo_convert_widens(node) ? 0 : -1;
    case HLO_OP_select:
      return is_zero(hlo_node_operand(node, 1)) ? 2 : is_zero(hlo_node_operand(node, 2)) ? 1 : -1;
    default: return -1;
  }
}

// Follows the moves from a summand back to a collective.
static bool find_collective(const hlo_region_t* body, bool takes_scatters, accumulation_t* a) {
  hlo_node_t* back[MOVES_MAX];
  const hlo_value_t* value = a->summand;
  bool has_selection = false;
  for (a->move_count = 0;; ++a->move_count) {
    hlo_node_t* node = value->def;
    if (!node || node->parent != body) return false;
    const int moved = moved_operand(node);
    a->collective = node;
    if (moved < 0) break;
    if (node->extra || a->move_count == MOVES_MAX || !has_one_use(value)) return false;
    has_selection |= node->op == HLO_OP_select || node->op == HLO_OP_slice;
    back[a->move_count] = node;
    value = hlo_node_operand(node, (uint32_t)moved);
  }
  for (uint32_t i = 0; i < a->move_count; ++i) a->moves[i] = back[a->move_count - 1 - i];
  const hlo_node_t* c = a->collective;
  const bool is_scatter = takes_scatters && c->op == HLO_OP_reduce_scatter && has_one_use(value) &&
                          !has_selection && !a->update;
  return (c->op == HLO_OP_all_reduce || is_scatter) && c->operand_count == 1 &&
         hlo_collective_reducer(c) == HLO_OP_add && hlo_collective_has_plain_body(c) &&
         hlo_type_is_static(hlo_node_operand_type(c, 0)) &&
         hlo_node_operand_type(c, 0)->dtype == c->results[0].type->dtype;
}

// Returns the part of a carried value that is replaced by `update`: a dynamic_slice of the same
// position and size, if these are the only uses.
static hlo_node_t* find_slice(const hlo_node_t* update, const hlo_value_t* old) {
  if (hlo_node_operand(update, 0) != old || update->extra) return NULL;
  hlo_node_t* slice = NULL;
  for (const hlo_use_t* use = old->uses; use; use = use->next) {
    if (use->user == update) continue;
    if (slice || use->user->op != HLO_OP_dynamic_slice) return NULL;
    slice = use->user;
  }
  if (!slice || hlo_node_operand(slice, 0) != old || use_count(old) != 2) return NULL;
  if (slice->results[0].type != hlo_node_operand_type(update, 1)) return NULL;
  for (uint32_t i = 1; i < slice->operand_count; ++i) {
    if (hlo_node_operand(slice, i) != hlo_node_operand(update, i + 1)) return NULL;
  }
  return slice;
}

static bool find_accumulation(hlo_node_t* loop, uint32_t index, bool takes_scatters,
                              accumulation_t* a) {
  hlo_region_t *cond = loop->regions[0], *body = loop->regions[1];
  hlo_value_t *sum = hlo_node_operand(hlo_region_terminator(body), index), *old = body->args[index];
  *a = (accumulation_t){.loop = loop, .index = index};
  if (!sum->def || sum->def->parent != body || !has_one_use(sum) || cond->args[index]->uses ||
      old->type != sum->type || loop->results[index].type != sum->type) {
    return false;
  }
  if (sum->def->op == HLO_OP_dynamic_update_slice) {
    a->update = sum->def;
    a->slice = find_slice(a->update, old);
    sum = hlo_node_operand(a->update, 1);
    if (!a->slice) return false;
    old = &a->slice->results[0];
  }
  a->add = sum->def;
  if (!a->add || a->add->op != HLO_OP_add || a->add->parent != body || a->add->extra ||
      !has_one_use(sum) || !has_one_use(old)) {
    return false;
  }
  for (uint32_t side = 0; side < 2; ++side) {
    if (hlo_node_operand(a->add, side) != old) continue;
    a->summand = hlo_node_operand(a->add, 1 - side);
    return find_collective(body, takes_scatters, a);
  }
  return false;
}

// Returns true if the processes of a group agree on what is selected and on where it is added.
static bool agrees(sinker_t* s, const accumulation_t* a) {
  const hlo_groups_t* groups = NULL;
  for (uint32_t i = 0; i < a->move_count; ++i) {
    if (a->moves[i]->op != HLO_OP_select) continue;
    if (!groups) groups = hlo_processes_groups(&s->processes, a->collective);
    if (!groups ||
        !hlo_processes_agree_in_loop(&s->processes, hlo_node_operand(a->moves[i], 0), groups))
      return false;
  }
  if (a->update && !groups) groups = hlo_processes_groups(&s->processes, a->collective);
  for (uint32_t i = 1; a->slice && i < a->slice->operand_count; ++i) {
    if (!groups ||
        !hlo_processes_agree_in_loop(&s->processes, hlo_node_operand(a->slice, i), groups))
      return false;
  }
  return true;
}

// ---- sums of an all_reduce

// Builds what is added in the loop: the moves of the operand of the collective.
static hlo_value_t* build_summand(const accumulation_t* a) {
  hlo_value_t* value = hlo_node_operand(a->collective, 0);
  for (uint32_t i = 0; i < a->move_count && value; ++i) {
    const hlo_node_t* move = a->moves[i];
    hlo_value_t* operands[3];
    for (uint32_t k = 0; k < move->operand_count; ++k) operands[k] = hlo_node_operand(move, k);
    operands[moved_operand(move)] = value;
    value = hlo_build_copy(a->add, move, move->results[0].type, operands);
  }
  return value;
}

// Creates the all_reduce of a result of the loop, after it.
static hlo_node_t* create_after(const accumulation_t* a) {
  hlo_module_t* module = a->loop->parent->module;
  const hlo_node_t* like = a->collective;
  hlo_value_t* part = &a->loop->results[a->index];
  hlo_node_t* new = hlo_node_create(module, &(hlo_node_spec_t){.op = like->op,
                                                               .loc = like->loc,
                                                               .operand_count = 1,
                                                               .operands = &part,
                                                               .extra = like->extra,
                                                               .region_count = 1,
                                                               .result_count = 1,
                                                               .result_types = &part->type});
  if (hlo_node_is_poison(new)) return NULL;
  hlo_node_copy_attrs(new, like);
  hlo_node_insert_before(a->loop->next, new);
  return hlo_build_reducer(new, HLO_OP_add) ? new : NULL;
}

static hlo_status_t sink_all_reduce(sinker_t* s, const accumulation_t* a) {
  hlo_module_t* module = a->loop->parent->module;
  hlo_node_t* after = a->loop->next;
  hlo_value_t *result = &a->loop->results[a->index], *initial = hlo_node_operand(a->loop, a->index);
  hlo_value_t* zero = hlo_build_splat(a->loop, result->type, 0);
  hlo_value_t* summand = build_summand(a);
  hlo_node_t* new = zero&& summand ? create_after(a) : NULL;
  hlo_value_t* sum = new ? hlo_build_binary(after, HLO_OP_add, initial, &new->results[0]) : NULL;
  if (!sum) return hlo_module_status(module);
  hlo_value_replace_uses(result, sum);
  hlo_node_set_operand(new, 0, result);
  hlo_node_set_operand(a->loop, a->index, zero);
  hlo_node_set_operand(a->add, hlo_node_operand(a->add, 0) == a->summand ? 0 : 1, summand);
  for (uint32_t i = a->move_count; i > 0; --i) hlo_node_erase(a->moves[i - 1]);
  if (hlo_node_is_unused(a->collective)) hlo_node_erase(a->collective);
  ++s->ctx->step_count;
  return hlo_module_status(module);
}

// ---- sums of a reduce_scatter

// Puts the collective and the moves after the loop; returns the sum with `initial`.
static hlo_value_t* build_after(const accumulation_t* a, const hlo_type_t* type,
                                hlo_node_t** out_collective) {
  hlo_node_t* insertion_point = a->loop->next;
  hlo_module_t* module = insertion_point->parent->module;
  hlo_value_t* initial = hlo_node_operand(a->loop, a->index);
  const hlo_type_t* result =
      hlo_type_with_dtype(module, a->collective->results[0].type, type->dtype);
  if (!result) return NULL;
  hlo_node_t* new = hlo_collective_create_like(a->collective->op, a->collective, 1,
                                               &a->loop->operands[a->index].value, 1, &result);
  if (hlo_node_is_poison(new)) return NULL;
  if (!hlo_collective_set_dtype(new, type)) return NULL;
  hlo_node_insert_before(insertion_point, new);
  hlo_value_t* value = &new->results[0];
  for (uint32_t i = 0; i < a->move_count && value; ++i) {
    const hlo_node_t* move = a->moves[i];
    const hlo_type_t* moved = hlo_type_with_dtype(module, move->results[0].type, type->dtype);
    if (move->op != HLO_OP_convert) value = hlo_build_copy(insertion_point, move, moved, &value);
  }
  *out_collective = new;
  return value ? hlo_build_binary(insertion_point, HLO_OP_add, initial, value) : NULL;
}

static bool carry(const accumulation_t* a, const hlo_type_t* type) {
  hlo_region_t *cond = a->loop->regions[0], *body = a->loop->regions[1];
  hlo_node_t* end = hlo_region_terminator(body);
  hlo_value_t* zero = hlo_build_splat(a->loop, type, 0);
  hlo_value_t* x = hlo_build_convert(end, type->dtype, hlo_node_operand(a->collective, 0));
  if (!zero || !x) return false;
  cond->args[a->index]->type = body->args[a->index]->type = type;
  a->loop->results[a->index].type = type;
  hlo_node_set_operand(a->loop, a->index, zero);
  hlo_value_t* sum = hlo_build_binary(end, HLO_OP_add, body->args[a->index], x);
  if (!sum) return false;
  hlo_node_set_operand(end, a->index, sum);
  hlo_node_erase(a->add);
  for (uint32_t i = a->move_count; i > 0; --i) hlo_node_erase(a->moves[i - 1]);
  hlo_node_erase(a->collective);
  return true;
}

static hlo_status_t sink_reduce_scatter(sinker_t* s, const accumulation_t* a) {
  hlo_module_t* module = a->loop->parent->module;
  const hlo_type_t* type = hlo_type_with_dtype(module, hlo_node_operand_type(a->collective, 0),
                                               a->loop->results[a->index].type->dtype);
  hlo_node_t* collective = NULL;
  hlo_value_t* sum = type ? build_after(a, type, &collective) : NULL;
  if (!sum) return hlo_module_status(module);
  hlo_value_replace_uses(&a->loop->results[a->index], sum);
  hlo_node_set_operand(collective, 0, &a->loop->results[a->index]);
  if (carry(a, type)) ++s->ctx->step_count;
  return hlo_module_status(module);
}

// ---- loops

// Returns true if all uses of an accumulation's collective are accumulations: it leaves the loop.
static bool leaves_loop(const accumulation_t* all, uint32_t count, const accumulation_t* a) {
  uint32_t sums = 0;
  for (uint32_t i = 0; i < count; ++i) sums += all[i].collective == a->collective;
  return sums == use_count(&a->collective->results[0]);
}

static hlo_status_t sink_from_loop(void* context, hlo_node_t* loop) {
  sinker_t* s = context;
  if (loop->op != HLO_OP_while || !hlo_region_terminator(loop->regions[1])) return hlo_ok();
  HLO_TRY(hlo_sink_updates(s->ctx, loop));
  accumulation_t* all = hlo_arena_array(&s->ctx->scratch, loop->result_count, sizeof *all);
  if (!all) return hlo_arena_status(&s->ctx->scratch);
  uint32_t count = 0;
  for (uint32_t i = 0; i < loop->result_count; ++i) {
    if (find_accumulation(loop, i, s->takes_scatters, &all[count])) count += agrees(s, &all[count]);
  }
  // One that stays keeps the collectives that it shares.
  for (uint32_t i = 0; i < count;) {
    if (leaves_loop(all, count, &all[i])) {
      ++i;
      continue;
    }
    memmove(&all[i], &all[i + 1], (--count - i) * sizeof *all);
    i = 0;
  }
  while (count-- > 0) {  // each is put directly after the loop
    HLO_TRY(all[count].collective->op == HLO_OP_all_reduce ? sink_all_reduce(s, &all[count])
                                                           : sink_reduce_scatter(s, &all[count]));
  }
  return hlo_ok();
}

hlo_status_t hlo_pass_sink_all_reduces(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  if (ctx->argument && strcmp(ctx->argument, "reduce_scatter") != 0) {
    return hlo_invalid_argument("sink_all_reduces takes 'reduce_scatter', not '%s'", ctx->argument);
  }
  sinker_t s = {.ctx = ctx, .takes_scatters = ctx->argument != NULL};
  HLO_TRY(hlo_processes_init(module, &ctx->scratch, &s.processes));
  HLO_TRY(hlo_processes_relate(&s.processes, module));
  HLO_TRY(hlo_module_walk(module, true, sink_from_loop, &s));
  return hlo_arena_status(&ctx->scratch);
}
