// SPDX-License-Identifier: Apache-2.0
// Reshapes that join or split a dimension whose parts are of unequal size (see partition_impl.h).
//
// Dimensions that become others are one line of elements. If only the first of them is divided, a
// device has a range of that line before the reshape, and another one after it: what the ranges do
// not share is sent. Also the parts of 6 x 4 and of 8 x 3 elements are the same ranges, though no
// dimension is a part of another one.
#include <string.h>

#include "base/mem.h"
#include "spmd/partition_impl.h"

// Dimensions of the operand, and those of the result that they become: from first[t] to end[t].
typedef struct line {
  uint32_t first[2], end[2];
} line_t;

typedef struct divided_line {
  hlo_op_plan_t* plan;
  line_t line;
  hlo_dim_axes_t axes;
  int64_t parts;
  const hlo_spec_t* spec[2];
  hlo_dim_exchange_t exchange;  // of a device's range
  double bytes;
} divided_line_t;

static const hlo_type_t* type_of(const hlo_op_plan_t* plan, uint32_t tensor) {
  return hlo_node_type(plan->node, tensor);
}

static const hlo_spec_t* decided_spec(const hlo_op_plan_t* plan, uint32_t tensor) {
  const hlo_node_t* node = plan->node;
  return hlo_spmd_value_spec(plan->p->spmd, tensor ? &node->results[0] : hlo_node_operand(node, 0));
}

// Finds the dimensions after those of a line that are the next one; false after the last one.
static bool next_line(const hlo_op_plan_t* plan, line_t* line) {
  int64_t product[2] = {1, 1};
  bool is_any = false;
  for (uint32_t t = 0; t < 2; ++t) {
    line->first[t] = line->end[t];
    if (line->end[t] == type_of(plan, t)->rank) continue;
    product[t] = type_of(plan, t)->dims[line->end[t]++];
    is_any = true;
  }
  while (product[0] != product[1]) {
    const uint32_t t = product[0] > product[1];
    product[t] *= type_of(plan, t)->dims[line->end[t]++];
  }
  return is_any;
}

// Returns the first dimension of a line that has several elements; its end if all have one.
static uint32_t major_dim(const hlo_op_plan_t* plan, const line_t* line, uint32_t tensor) {
  uint32_t d = line->first[tensor];
  while (d < line->end[tensor] && type_of(plan, tensor)->dims[d] == 1) ++d;
  return d;
}

// Takes the axes of the tensor's first dimension of the line, if they divide no other one of the
// line and the plan drops some of them.
static bool take_line_axes(divided_line_t* x, uint32_t tensor) {
  const hlo_op_plan_t* plan = x->plan;
  const hlo_spec_t* decided = decided_spec(plan, tensor);
  const uint32_t major = major_dim(plan, &x->line, tensor);
  if (!decided || major == x->line.end[tensor]) return false;
  const uint8_t* axes;
  for (uint32_t d = x->line.first[tensor]; d < x->line.end[tensor]; ++d) {
    if (d != major && hlo_spec_dim(decided, d, &axes)) return false;
  }
  x->axes.count = hlo_spec_dim(decided, major, &axes);
  memcpy(x->axes.axes, axes, x->axes.count);
  x->parts = hlo_grid_size(plan->p->grid, axes, x->axes.count);
  return x->parts > hlo_spec_parts(plan->p->grid, plan->specs[tensor], major);
}

// Returns the bytes that are sent before the reshape and after it.
static double reshape_bytes(const hlo_op_plan_t* plan, const hlo_spec_t* before,
                            const hlo_spec_t* after) {
  const hlo_spec_t* decided = decided_spec(plan, 1);
  return hlo_local_bytes(plan->p, hlo_node_operand(plan->node, 0), before) +
         (decided ? hlo_reshard_bytes(plan->p, type_of(plan, 1), after, decided) : 0);
}

// Returns the type of a device's range: the line between the dimensions before and after it.
static const hlo_type_t* range_type(const divided_line_t* x) {
  hlo_partitioner_t* p = x->plan->p;
  const hlo_type_t* local = hlo_local_type(p, type_of(x->plan, 0), x->spec[0]);
  if (!local) return NULL;
  int64_t dims[3] = {1, x->exchange.size / x->parts, 1};
  for (uint32_t d = 0; d < local->rank; ++d) {
    if (d < x->line.first[0]) dims[0] *= local->dims[d];
    if (d >= x->line.end[0]) dims[2] *= local->dims[d];
  }
  return hlo_type_with_dims(p->module, local, 3, dims);
}

// Finds what is sent.
static bool plan_exchange(divided_line_t* x, const int64_t* length, int64_t size) {
  x->exchange = (hlo_dim_exchange_t){.dim = 1,
                                     .axes = x->axes,
                                     .is_divided = true,
                                     .size = length[0] * x->parts,
                                     .step = length[1],
                                     .count = length[1],
                                     .valid_high = size};
  const hlo_type_t* range = range_type(x);
  if (!range) return false;
  x->bytes = reshape_bytes(x->plan, x->spec[0], x->spec[1]);
  if (length[0] != length[1]) x->bytes += hlo_dim_exchange_bytes(x->plan->p, range, &x->exchange);
  return true;
}

// Divides the first dimension of the line, and no other one of it, by the axes. Returns false if
// the plan uses them elsewhere.
static bool divide_line(divided_line_t* x) {
  const hlo_op_plan_t* plan = x->plan;
  int64_t length[2] = {1, 1}, size = 1;  // of the device's ranges, and of the line
  const hlo_axis_set_t taken = hlo_axis_set(x->axes.axes, x->axes.count);
  for (uint32_t t = 0; t < 2; ++t) {
    const hlo_spec_t* spec = plan->specs[t];
    const uint32_t major = major_dim(plan, &x->line, t);
    for (uint32_t d = x->line.first[t]; d < x->line.end[t]; ++d) {
      spec = hlo_spec_with_dim(plan->p, spec, d, NULL, 0);
    }
    if (!spec ||
        (taken & (spec->unreduced | hlo_axis_set(spec->axes, hlo_spec_axis_count(spec))))) {
      return false;
    }
    x->spec[t] = hlo_spec_with_dim(plan->p, spec, major, x->axes.axes, x->axes.count);
    const hlo_type_t* local = hlo_local_type(plan->p, type_of(plan, t), x->spec[t]);
    for (uint32_t d = x->line.first[t]; local && d < x->line.end[t]; ++d) {
      length[t] *= local->dims[d];
      if (t) size *= type_of(plan, t)->dims[d];
    }
    if (!local || length[t] > INT32_MAX / x->parts) return false;
  }
  return plan_exchange(x, length, size);
}

static hlo_status_t build(divided_line_t* x) {
  hlo_partitioner_t* p = x->plan->p;
  hlo_node_t* node = x->plan->node;
  const hlo_type_t *range = range_type(x),
                   *type = hlo_local_type(p, node->results[0].type, x->spec[1]);
  hlo_value_t* value = hlo_local_get(p, hlo_node_operand(node, 0), x->spec[0]);
  value = value && range ? hlo_build_reshape(p->at, range, value) : NULL;
  value = hlo_build_exchange(p, value, &x->exchange, NULL);
  value = value && type ? hlo_build_reshape(p->at, type, value) : NULL;
  return hlo_local_set(p, &node->results[0], x->spec[1], value);
}

hlo_status_t hlo_partition_reshape(hlo_op_plan_t* plan, bool* out_is_built) {
  divided_line_t best = {.bytes = reshape_bytes(plan, plan->specs[0], plan->specs[1])};
  *out_is_built = false;
  if (type_of(plan, 0)->quant || hlo_type_element_count(type_of(plan, 0)) == 0) return hlo_ok();
  line_t line = {0};
  while (next_line(plan, &line)) {
    for (uint32_t t = 0; t < 2; ++t) {
      divided_line_t x = {.plan = plan, .line = line};
      if (take_line_axes(&x, t) && divide_line(&x) && x.bytes < best.bytes) {
        best = x;
      }
    }
  }
  HLO_TRY(hlo_partitioner_status(plan->p));
  if (!best.plan) return hlo_ok();
  *out_is_built = true;
  return build(&best);
}
