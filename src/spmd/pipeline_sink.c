// SPDX-License-Identifier: Apache-2.0
// Pass pipeline_collectives, sink: the all_reduces of a loop, each of which fills its own part of a
// buffer, become one all_reduce of the buffer after the loop.
//
//   for i: buffer = update(buffer, all_reduce(x(i)), i)               becomes
//
//   for i: buffer = update(buffer, x(i), i)
//   buffer = all_reduce(buffer)
//
// The iterations fill the buffer exactly, which is computed for each of them, and nothing reads it
// before the end; transposes and reshapes may be between the all_reduce and the update. Each
// element is reduced once in both forms, so values stay the same bit for bit. Linear in the size of
// a loop and in its trip count.
#include "spmd/collective.h"
#include "spmd/pipeline_impl.h"

static bool has_one_use(const hlo_value_t* value) {
  return value->uses && !value->uses->next;
}

// Returns the all_reduce that alone makes the value of an update.
static hlo_node_t* find_all_reduce(const hlo_counted_loop_t* loop, const hlo_node_t* update) {
  const hlo_value_t* value = hlo_node_operand(update, 1);
  for (;;) {
    hlo_node_t* node = value->def;
    if (!node || node->parent != loop->body || !has_one_use(value)) return NULL;
    if (node->op == HLO_OP_all_reduce) {
      const bool is_plain = node->operand_count == 1 && !node->results[0].type->quant &&
                            hlo_collective_reducer(node) != HLO_OP_COUNT &&
                            hlo_node_operand_type(node, 0) == node->results[0].type;
      return is_plain ? node : NULL;
    }
    if (node->op != HLO_OP_reshape && node->op != HLO_OP_transpose) return NULL;
    value = hlo_node_operand(node, 0);
  }
}

// Returns true if parts of an update are all of the buffer in every dimension but one, which they
// divide among the iterations.
static bool find_divided_dim(const hlo_counted_loop_t* loop, const hlo_node_t* update,
                             uint32_t* out_dim) {
  const hlo_type_t* whole = hlo_node_operand_type(update, 0);
  const hlo_type_t* part = hlo_node_operand_type(update, 1);
  uint32_t count = 0;
  if (!hlo_type_is_static(whole)) return false;
  for (uint32_t d = 0; d < whole->rank; ++d) {
    if (part->dims[d] == whole->dims[d]) continue;
    *out_dim = d;
    ++count;
  }
  return count == 1 && part->dims[*out_dim] * loop->trip_count == whole->dims[*out_dim];
}

// Returns true if the iterations of a loop fill the whole buffer, each its own part.
static bool fills_buffer(const hlo_counted_loop_t* loop, const hlo_node_t* update,
                         hlo_arena_t* scratch) {
  uint32_t dim;
  int64_t starts[HLO_RANK_MAX];
  if (loop->trip_count > HLO_PIPELINE_ITERATIONS_MAX || !find_divided_dim(loop, update, &dim)) {
    return false;
  }
  const int64_t* sizes = hlo_node_operand_type(update, 1)->dims;
  bool* seen = hlo_arena_array(scratch, (size_t)loop->trip_count, sizeof *seen);
  for (int32_t i = 0; seen && i < loop->trip_count; ++i) {
    if (!hlo_pipeline_find_starts(loop, update, 2, i, sizes, starts)) return false;
    const int64_t part = starts[dim] / sizes[dim];
    if (starts[dim] % sizes[dim] || seen[part]) return false;
    seen[part] = true;
  }
  return seen != NULL;
}

// Puts one like `reduce` after the loop, around slot `slot`, and removes `reduce`.
static hlo_status_t sink(hlo_pipeliner_t* p, const hlo_counted_loop_t* loop, uint32_t slot,
                         hlo_node_t* reduce) {
  hlo_module_t* module = loop->body->module;
  hlo_value_t *buffer = &loop->node->results[slot], *initial = hlo_node_operand(loop->node, slot);
  hlo_node_t* after =
      hlo_collective_create_like(HLO_OP_all_reduce, reduce, 1, &initial, 1, &buffer->type);
  if (hlo_node_is_poison(after)) return hlo_module_status(module);
  hlo_node_insert_before(loop->node->next, after);
  hlo_value_replace_uses(buffer, &after->results[0]);
  hlo_node_set_operand(after, 0, buffer);
  hlo_value_replace_uses(&reduce->results[0], hlo_node_operand(reduce, 0));
  hlo_node_erase(reduce);
  ++p->ctx->step_count;
  return hlo_ok();
}

hlo_status_t hlo_pipeline_sink(hlo_pipeliner_t* p, const hlo_counted_loop_t* loop) {
  for (uint32_t i = 0; i < loop->end->operand_count; ++i) {
    const hlo_value_t *arg = loop->body->args[i], *next = hlo_node_operand(loop->end, i);
    const hlo_node_t* update = next->def;
    if (!update || update->op != HLO_OP_dynamic_update_slice || update->parent != loop->body ||
        hlo_node_operand(update, 0) != arg || !has_one_use(arg) || !has_one_use(next) ||
        loop->cond->args[i]->uses) {
      continue;
    }
    hlo_node_t* reduce = find_all_reduce(loop, update);
    if (!reduce || !fills_buffer(loop, update, &p->ctx->scratch)) continue;
    HLO_TRY(sink(p, loop, i, reduce));
  }
  return hlo_arena_status(&p->ctx->scratch);
}
