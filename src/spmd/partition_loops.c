// SPDX-License-Identifier: Apache-2.0
// Values that a loop slices in every iteration, such as the inputs of a scan along a divided
// dimension. Owners would send each slice as terms of a sum, which is twice the bytes of one
// all_gather before the loop, and one collective in each iteration (see partition_impl.h).
#include "base/mem.h"
#include "base/tuning.h"
#include "ir/clone.h"
#include "passes/trip_count.h"
#include "spmd/partition_impl.h"

enum { TRIP_COUNT_MAX = 1 << 20 };

// The cost of the slices of one value, if they stay in the loop.
typedef struct slice_costs {
  hlo_partitioner_t* p;
  const hlo_spec_t* spec;      // of the value
  const hlo_spec_t* gathered;  // without the axes of dimensions that are sliced
  int32_t trip_count;          // -1: unknown
  double bytes;
} slice_costs_t;

static bool is_inside(const hlo_region_t* region, const hlo_node_t* loop) {
  while (region && region->parent != loop) region = region->parent ? region->parent->parent : NULL;
  return region != NULL;
}

// Adds the bytes that a dynamic_slice of the value sends in all iterations.
static void add_slice(slice_costs_t* c, const hlo_node_t* slice) {
  hlo_partitioner_t* p = c->p;
  const hlo_type_t *in = hlo_node_operand_type(slice, 0), *out = slice->results[0].type;
  double parts = 1, own_parts = 1, slices = 1;
  for (uint32_t d = 0; d < in->rank && c->gathered; ++d) {
    const int64_t dim_parts = hlo_spec_parts(p->grid, c->spec, d);
    if (dim_parts == 1) continue;
    if (in->dims[d] == out->dims[d]) {
      own_parts *= (double)dim_parts;
      continue;
    }
    c->gathered = hlo_spec_with_dim(p, c->gathered, d, NULL, 0);
    parts *= (double)dim_parts;
    slices *= (double)in->dims[d] / (double)hlo_max(out->dims[d], 1);
  }
  if (parts == 1) return;
  const double part = (double)hlo_type_size_bytes(out) / own_parts;
  const double runs = c->trip_count < 0 ? slices : c->trip_count;
  c->bytes += runs * (2 * part * (parts - 1) / parts + HLO_TUNING_COLLECTIVE_BYTES);
}

// Returns the spec under which the loop is to find a value: without the axes of dimensions that it
// slices, if it takes fewer bytes to gather them once.
static const hlo_spec_t* choose_spec(hlo_partitioner_t* p, const hlo_node_t* loop,
                                     const hlo_value_t* value, const hlo_spec_t* spec) {
  const hlo_type_t* type = value->type;
  if (!spec || !hlo_type_is_tensor(type) || !hlo_type_is_static(type) || spec->unreduced ||
      !hlo_spec_axes(spec)) {
    return spec;
  }
  slice_costs_t c = {.p = p, .spec = spec, .gathered = spec};
  c.trip_count = hlo_loop_trip_count(loop, TRIP_COUNT_MAX);
  for (const hlo_use_t* use = value->uses; use; use = use->next) {
    const bool is_slice = use->user->op == HLO_OP_dynamic_slice &&
                          hlo_node_operand(use->user, 0) == value &&
                          is_inside(use->user->parent, loop);
    if (is_slice) add_slice(&c, use->user);
  }
  if (!c.gathered || c.gathered == spec) return c.gathered;
  const double part = (double)hlo_type_size_bytes(hlo_local_type(p, type, c.gathered));
  return part <= HLO_TUNING_LOOP_GATHER_MAX_BYTES &&
                 hlo_reshard_bytes(p, type, spec, c.gathered) <= c.bytes
             ? c.gathered
             : spec;
}

typedef struct captures {
  hlo_partitioner_t* p;
  hlo_node_t* loop;
} captures_t;

// Gathers a value from outside of the loop that a node slices.
static hlo_status_t gather_capture(void* context, hlo_node_t* node) {
  const captures_t* c = context;
  if (node->op != HLO_OP_dynamic_slice) return hlo_ok();
  hlo_value_t* value = hlo_node_operand(node, 0);
  if (is_inside(value->region, c->loop)) return hlo_ok();
  const hlo_spec_t* spec = hlo_spmd_value_spec(c->p->spmd, value);
  const hlo_spec_t* chosen = choose_spec(c->p, c->loop, value, spec);
  return chosen == spec || hlo_local_get(c->p, value, chosen) ? hlo_ok()
                                                              : hlo_partitioner_status(c->p);
}

// Chooses the spec of a value that the loop passes on unchanged: after the loop it is what it was
// before.
static hlo_status_t gather_carried(hlo_partitioner_t* p, hlo_node_t* loop, uint32_t i,
                                   const hlo_spec_t** spec) {
  const hlo_spec_t *old = *spec, *chosen = choose_spec(p, loop, loop->regions[1]->args[i], old);
  if (!chosen) return hlo_partitioner_status(p);
  if (chosen == old) return hlo_ok();
  *spec = chosen;
  return hlo_local_set(p, &loop->results[i], old, hlo_local_get(p, hlo_node_operand(loop, i), old));
}

hlo_status_t hlo_gather_before_loop(hlo_partitioner_t* p, hlo_node_t* loop,
                                    const hlo_spec_t** specs) {
  hlo_region_t* body = loop->regions[1];
  const hlo_node_t* end = hlo_region_terminator(body);
  for (uint32_t i = 0; i < loop->operand_count && end; ++i) {
    if (hlo_node_operand(end, i) == body->args[i]) HLO_TRY(gather_carried(p, loop, i, &specs[i]));
  }
  captures_t captures = {p, loop};
  return hlo_region_walk(body, true, gather_capture, &captures);
}
