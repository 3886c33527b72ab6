// SPDX-License-Identifier: Apache-2.0
// Rules of Shardy's named computations, edges and collectives. A collective states the sharding of
// its result; the rules compute it from the sharding of the operand and the axes.
// source : Shardy, ops.td (constraints)
#include <string.h>

#include "base/strbuf.h"
#include "ir/infer_impl.h"
#include "ir/sharding.h"

// The module only interns shardings.
static hlo_module_t* module_of(const hlo_verify_t* verify) {
  return (hlo_module_t*)verify->module;
}

static bool has_type_of_operand(hlo_verify_t* verify, const hlo_node_t* node) {
  if (hlo_types_compatible(node->results[0].type, hlo_node_operand_type(node, 0))) return true;
  hlo_verify_fault(verify, node, "the result does not have the type of the operand");
  return false;
}

static bool has_rank_of(hlo_verify_t* verify, const hlo_node_t* node, const char* what,
                        const hlo_sharding_t* sharding, const hlo_type_t* type) {
  const uint32_t rank = hlo_type_is_tensor(type) ? type->rank : 0;
  if (sharding->rank == rank || hlo_mesh_is_maximal(sharding->mesh)) return true;
  hlo_verify_fault(verify, node, "%s is of rank %u, its value of rank %u", what, sharding->rank,
                   rank);
  return false;
}

// ---- named computations and edges

// Checks a list of shardings, which may be absent, against the types of its values.
static void verify_list(hlo_verify_t* verify, const hlo_node_t* node, hlo_attr_id_t id,
                        const char* what, uint32_t type_count, uint32_t first_type) {
  const hlo_attr_t* attr = hlo_node_attr(node, id);
  const hlo_sharding_t* const* list;
  uint32_t count;
  if (!attr || !hlo_verify_status(
                   verify, node, hlo_sharding_parse_list(module_of(verify), attr, &count, &list))) {
    return;
  }
  if (count != type_count) {
    hlo_verify_fault(verify, node, "%s has %u shardings for %u values", what, count, type_count);
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    has_rank_of(verify, node, what, list[i], hlo_node_type(node, first_type + i));
  }
}

void hlo_verify_sdy_named_computation(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_region_t* body = node->regions[0];
  const hlo_node_t* end = hlo_region_terminator(body);
  if (body->arg_count != node->operand_count || !end || end->operand_count != node->result_count) {
    hlo_verify_fault(verify, node, "the body does not match operands and results");
    return;
  }
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    if (!hlo_types_compatible(body->args[i]->type, hlo_node_operand_type(node, i))) {
      hlo_verify_fault(verify, node, "argument %u of the body does not have its operand's type", i);
    }
  }
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    if (!hlo_types_compatible(hlo_node_operand_type(end, i), node->results[i].type)) {
      hlo_verify_fault(verify, node, "value %u of the body does not have its result's type", i);
    }
  }
  verify_list(verify, node, HLO_ATTR_in_shardings, "in_shardings", node->operand_count, 0);
  verify_list(verify, node, HLO_ATTR_out_shardings, "out_shardings", node->result_count,
              node->operand_count);
}

static bool is_shardy(hlo_op_t op) {
  return strncmp(hlo_op_info(op)->name, "sdy.", 4) == 0;
}

void hlo_verify_sdy_data_flow_edge(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_value_t* input = hlo_node_operand(node, 0);
  const hlo_attr_t* attr = hlo_node_attr(node, HLO_ATTR_sharding);
  const hlo_sharding_t* sharding;
  if (!has_type_of_operand(verify, node)) return;
  if (!hlo_type_is_static(input->type)) {
    hlo_verify_fault(verify, node, "the operand does not have a static shape");
  }
  if (input->uses->next) hlo_verify_fault(verify, node, "the operand has other users");
  if (input->def && is_shardy(input->def->op)) {
    hlo_verify_fault(verify, node, "the operand is the result of %s",
                     hlo_op_info(input->def->op)->name);
  }
  if (attr &&
      hlo_verify_status(verify, node, hlo_sharding_parse(module_of(verify), attr, &sharding))) {
    has_rank_of(verify, node, "the sharding", sharding, input->type);
  }
}

void hlo_verify_sdy_func_data_flow_edge(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_value_t* operand = hlo_node_operand(node, 0);
  const bool is_argument = !operand->def && !operand->region->parent;
  if (!has_type_of_operand(verify, node)) return;
  if (!is_argument && (!operand->def || operand->def->op != HLO_OP_call)) {
    hlo_verify_fault(verify, node, "the operand is neither an argument nor the result of a call");
  }
}

// ---- collectives: shardings of operands

// The sharding of a value, as far as attributes state it.
typedef struct known_sharding {
  bool is_known;
  const hlo_sharding_t* sharding;  // NULL: the value has none
} known_sharding_t;

static hlo_status_t item_of_list(const hlo_verify_t* verify, const hlo_attr_t* attr,
                                 uint32_t number, known_sharding_t* out) {
  const hlo_sharding_t* const* list;
  uint32_t count;
  if (!attr) return hlo_ok();
  HLO_TRY(hlo_sharding_parse_list(module_of(verify), attr, &count, &list));
  if (number < count) out->sharding = list[number];
  return hlo_ok();
}

static hlo_status_t sharding_of_result(const hlo_verify_t* verify, const hlo_value_t* value,
                                       known_sharding_t* out) {
  const hlo_node_t* def = value->def;
  const hlo_attr_t* one = hlo_node_attr(def, HLO_ATTR_out_sharding);
  out->is_known = true;
  if (!one && is_shardy(def->op)) one = hlo_node_attr(def, HLO_ATTR_sharding);
  if (one) return hlo_sharding_parse(module_of(verify), one, &out->sharding);
  const bool has_body =
      def->op == HLO_OP_sdy_manual_computation || def->op == HLO_OP_sdy_named_computation;
  return item_of_list(verify,
                      has_body ? hlo_node_attr(def, HLO_ATTR_out_shardings)
                               : hlo_attr_dict_get(def->extra, "sdy.sharding"),
                      value->number, out);
}

// Arguments of manual computations and of loops are divided in ways that no attribute states.
static hlo_status_t sharding_of(const hlo_verify_t* verify, const hlo_value_t* value,
                                known_sharding_t* out) {
  const hlo_node_t* parent = value->region->parent;
  const hlo_func_t* func = value->region->func;
  if (value->def) return sharding_of_result(verify, value, out);
  if (parent && parent->op != HLO_OP_sdy_named_computation) return hlo_ok();
  out->is_known = true;
  if (parent) {
    return item_of_list(verify, hlo_node_attr(parent, HLO_ATTR_in_shardings), value->number, out);
  }
  const hlo_attr_t* dict = func && func->arg_attrs ? func->arg_attrs[value->number] : NULL;
  const hlo_attr_t* attr = hlo_attr_dict_get(dict, "sdy.sharding");
  return attr ? hlo_sharding_parse(module_of(verify), attr, &out->sharding) : hlo_ok();
}

static bool meshes_agree(const hlo_mesh_t* a, const hlo_mesh_t* b, bool same_order) {
  bool agree = a->axis_count == b->axis_count && a->device_count == b->device_count;
  for (uint32_t i = 0; agree && i < a->axis_count; ++i) {
    agree = a->axes[i].size == b->axes[i].size && strcmp(a->axes[i].name, b->axes[i].name) == 0;
  }
  if (!agree || !same_order) return agree;
  for (int64_t i = 0; i < a->device_count && (a->device_ids || b->device_ids); ++i) {
    if ((a->device_ids ? a->device_ids[i] : i) != (b->device_ids ? b->device_ids[i] : i)) {
      return false;
    }
  }
  return true;
}

// ---- collectives: arithmetic of axes

enum { AXES_MAX = 2 * 64 };  // of a dimension: those of a sharding and of a collective

typedef struct axis_list {
  uint32_t count;
  hlo_axis_ref_t refs[AXES_MAX];
} axis_list_t;

static hlo_axis_refs_t refs_of(const axis_list_t* list) {
  return (hlo_axis_refs_t){list->count, list->refs};
}

// Appends an axis; two parts of an axis of which one follows the other are one part.
static void append_ref(axis_list_t* list, hlo_axis_ref_t ref) {
  hlo_axis_ref_t* last = list->count ? &list->refs[list->count - 1] : NULL;
  if (last && last->axis == ref.axis && last->pre_size * last->size == ref.pre_size) {
    last->size *= ref.size;
  } else if (list->count < AXES_MAX) {
    list->refs[list->count++] = ref;
  }
}

static void append_refs(axis_list_t* list, hlo_axis_refs_t axes) {
  for (uint32_t i = 0; i < axes.count; ++i) append_ref(list, axes.refs[i]);
}

// Removes axes from the end of a list. Returns false if they are not its end.
static bool remove_refs(axis_list_t* list, hlo_axis_refs_t axes) {
  for (uint32_t i = axes.count; i-- > 0;) {
    const hlo_axis_ref_t ref = axes.refs[i];
    hlo_axis_ref_t* last = list->count ? &list->refs[list->count - 1] : NULL;
    if (!last || last->axis != ref.axis || last->pre_size > ref.pre_size ||
        last->pre_size * last->size != ref.pre_size * ref.size ||
        ref.pre_size % last->pre_size != 0) {
      return false;
    }
    last->size = ref.pre_size / last->pre_size;
    if (last->size == 1) --list->count;
  }
  return true;
}

static int compare_refs(hlo_axis_ref_t a, hlo_axis_ref_t b) {
  if (a.axis != b.axis) return a.axis < b.axis ? -1 : 1;
  return (a.pre_size > b.pre_size) - (a.pre_size < b.pre_size);
}

// Sorts a list by axis and merges parts, so that lists of the same devices are equal.
static void sort_refs(axis_list_t* list) {
  axis_list_t sorted = {0};
  for (uint32_t i = 1; i < list->count; ++i) {
    const hlo_axis_ref_t ref = list->refs[i];
    uint32_t at = i;
    for (; at > 0 && compare_refs(list->refs[at - 1], ref) > 0; --at) {
      list->refs[at] = list->refs[at - 1];
    }
    list->refs[at] = ref;
  }
  append_refs(&sorted, refs_of(list));
  *list = sorted;
}

static bool refs_equal(hlo_axis_refs_t a, hlo_axis_refs_t b) {
  bool equal = a.count == b.count;
  for (uint32_t i = 0; equal && i < a.count; ++i) {
    equal = a.refs[i].size == b.refs[i].size && compare_refs(a.refs[i], b.refs[i]) == 0;
  }
  return equal;
}

static bool refs_overlap(hlo_axis_refs_t list, hlo_axis_ref_t ref) {
  for (uint32_t i = 0; i < list.count; ++i) {
    const hlo_axis_ref_t other = list.refs[i];
    if (other.axis == ref.axis && other.pre_size < ref.pre_size * ref.size &&
        ref.pre_size < other.pre_size * other.size) {
      return true;
    }
  }
  return false;
}

static int64_t size_of_refs(hlo_axis_refs_t axes) {
  int64_t size = 1;
  for (uint32_t i = 0; i < axes.count; ++i) size *= axes.refs[i].size;
  return size;
}

// ---- collectives: rules

// A collective between two shardings. `in` has no axes if the operand has no sharding.
typedef struct collective {
  hlo_verify_t* verify;
  const hlo_node_t* node;
  const hlo_sharding_t *in, *out;
  uint32_t rank;
  axis_list_t expected[HLO_RANK_MAX];  // the dimensions of the result
} collective_t;

static const char* text_of(const collective_t* c, hlo_axis_refs_t axes, hlo_strbuf_t* out) {
  hlo_axis_refs_print(c->out->mesh, axes, out);
  return hlo_strbuf_text(out);
}

// Axes must not be written as parts that are one part.
static bool verify_merged(const collective_t* c, hlo_axis_refs_t axes) {
  axis_list_t merged = {0};
  append_refs(&merged, axes);
  if (merged.count == axes.count) return true;
  HLO_SCOPED_STRBUF text = {0};
  hlo_verify_fault(c->verify, c->node, "parts of an axis in {%s} are one part",
                   text_of(c, axes, &text));
  return false;
}

static bool verify_sorted(const collective_t* c, hlo_axis_refs_t axes) {
  for (uint32_t i = 1; i < axes.count; ++i) {
    if (compare_refs(axes.refs[i - 1], axes.refs[i]) <= 0) continue;
    HLO_SCOPED_STRBUF text = {0};
    hlo_verify_fault(c->verify, c->node, "the axes {%s} are not in the order of the mesh",
                     text_of(c, axes, &text));
    return false;
  }
  return verify_merged(c, axes);
}

static bool gather_dim(collective_t* c, uint32_t dim, hlo_axis_refs_t axes) {
  HLO_SCOPED_STRBUF text = {0};
  if (remove_refs(&c->expected[dim], axes)) return true;
  hlo_verify_fault(c->verify, c->node, "dimension %u of the operand is not divided by {%s} last",
                   dim, text_of(c, axes, &text));
  return false;
}

static bool verify_dims(const collective_t* c) {
  for (uint32_t d = 0; d < c->rank; ++d) {
    if (refs_equal(refs_of(&c->expected[d]), c->out->dims[d].axes)) continue;
    HLO_SCOPED_STRBUF stated = {0}, expected = {0};
    hlo_verify_fault(c->verify, c->node,
                     "out_sharding divides dimension %u by {%s}, but operand and axes give {%s}", d,
                     text_of(c, c->out->dims[d].axes, &stated),
                     text_of(c, refs_of(&c->expected[d]), &expected));
    return false;
  }
  return true;
}

// The result must be a sum over the unreduced axes of the operand and `more`.
static void verify_unreduced(const collective_t* c, hlo_axis_refs_t more) {
  axis_list_t expected = {0};
  append_refs(&expected, c->in->unreduced);
  append_refs(&expected, more);
  sort_refs(&expected);
  if (c->out->unreduced_op != HLO_UNREDUCED_SUM) {
    hlo_verify_fault(c->verify, c->node, "the terms of the result are not those of a sum");
  } else if (!refs_equal(refs_of(&expected), c->out->unreduced)) {
    HLO_SCOPED_STRBUF text = {0};
    hlo_verify_fault(c->verify, c->node, "the unreduced axes of the result are not {%s}",
                     text_of(c, refs_of(&expected), &text));
  }
}

// Reads lists of axes by dimension; false after a fault.
static bool read_dim_axes(const collective_t* c, hlo_attr_id_t id, hlo_axis_refs_t* dims) {
  uint32_t count;
  if (!hlo_verify_status(c->verify, c->node,
                         hlo_mesh_parse_dim_axes(module_of(c->verify), c->out->mesh,
                                                 hlo_node_attr(c->node, id), &count, dims))) {
    return false;
  }
  if (count != c->rank) {
    hlo_verify_fault(c->verify, c->node, "axes of %u dimensions for a value of rank %u", count,
                     c->rank);
    return false;
  }
  for (uint32_t d = 0; d < count; ++d) {
    if (!verify_merged(c, dims[d])) return false;
  }
  return true;
}

static bool read_axes(const collective_t* c, hlo_attr_id_t id, hlo_axis_refs_t* axes) {
  return hlo_verify_status(c->verify, c->node,
                           hlo_mesh_parse_axes(module_of(c->verify), c->out->mesh,
                                               hlo_node_attr(c->node, id), axes)) &&
         verify_sorted(c, *axes);
}

static void verify_all_gather(collective_t* c) {
  hlo_axis_refs_t axes[HLO_RANK_MAX];
  if (!read_dim_axes(c, HLO_ATTR_gathering_axes, axes)) return;
  for (uint32_t d = 0; d < c->rank; ++d) {
    if (!gather_dim(c, d, axes[d])) return;
  }
  verify_dims(c);
}

// Dimensions are divided along more axes, which the function collects in `all`.
static bool verify_division(collective_t* c, hlo_attr_id_t id, axis_list_t* all) {
  hlo_axis_refs_t axes[HLO_RANK_MAX];
  if (!read_dim_axes(c, id, axes)) return false;
  for (uint32_t d = 0; d < c->rank; ++d) {
    append_refs(&c->expected[d], axes[d]);
    append_refs(all, axes[d]);
  }
  return verify_dims(c);
}

static void verify_all_slice(collective_t* c) {
  axis_list_t all = {0};
  verify_division(c, HLO_ATTR_slicing_axes, &all);
}

static bool verify_move(const collective_t* c, const hlo_axes_move_t* move, int64_t last_from,
                        uint64_t* seen) {
  if (move->from >= c->rank || move->to >= c->rank) {
    hlo_verify_fault(c->verify, c->node, "%lld->%lld are not dimensions of a value of rank %u",
                     (long long)move->from, (long long)move->to, c->rank);
    return false;
  }
  const uint64_t dims = UINT64_C(1) << move->from | UINT64_C(1) << move->to;
  if (move->from == move->to || (*seen & dims)) {
    hlo_verify_fault(c->verify, c->node, "%lld->%lld names a dimension again",
                     (long long)move->from, (long long)move->to);
    return false;
  }
  if (move->from < last_from) {
    hlo_verify_fault(c->verify, c->node, "dimension %lld comes after dimension %lld",
                     (long long)move->from, (long long)last_from);
    return false;
  }
  *seen |= dims;
  return verify_merged(c, move->axes);
}

static void verify_all_to_all(collective_t* c) {
  hlo_axes_move_t moves[HLO_RANK_MAX];
  uint32_t count;
  uint64_t seen = 0;
  if (!hlo_verify_status(
          c->verify, c->node,
          hlo_mesh_parse_moves(module_of(c->verify), c->out->mesh,
                               hlo_node_attr(c->node, HLO_ATTR_params), &count, moves))) {
    return;
  }
  if (!count) {
    hlo_verify_fault(c->verify, c->node, "moves no axes");
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (!verify_move(c, &moves[i], i ? moves[i - 1].from : 0, &seen) ||
        !gather_dim(c, (uint32_t)moves[i].from, moves[i].axes)) {
      return;
    }
    append_refs(&c->expected[moves[i].to], moves[i].axes);
  }
  verify_dims(c);
}

static void verify_collective_permute(collective_t* c) {
  for (uint32_t d = 0; d < c->rank; ++d) {
    const int64_t before = size_of_refs(c->in->dims[d].axes),
                  after = size_of_refs(c->out->dims[d].axes);
    if (before == after) continue;
    hlo_verify_fault(c->verify, c->node, "dimension %u is of %lld parts before and %lld after", d,
                     (long long)before, (long long)after);
    return;
  }
}

// Partial results along `axes` are combined as the operand says; others remain.
static void verify_reduction(const collective_t* c, hlo_axis_refs_t axes) {
  const int64_t op = hlo_node_attr_int(c->node, HLO_ATTR_reduction_op, HLO_UNREDUCED_SUM);
  for (uint32_t i = 0; i < axes.count; ++i) {
    const hlo_axis_refs_t one = {1, &axes.refs[i]};
    HLO_SCOPED_STRBUF text = {0};
    if (refs_overlap(c->out->unreduced, axes.refs[i])) {
      hlo_verify_fault(c->verify, c->node, "the result is unreduced along {%s}",
                       text_of(c, one, &text));
    } else if (refs_overlap(c->in->unreduced, axes.refs[i]) && op != (int64_t)c->in->unreduced_op) {
      hlo_verify_fault(c->verify, c->node, "the operand has another reduction along {%s}",
                       text_of(c, one, &text));
    }
  }
  for (uint32_t i = 0; i < c->out->unreduced.count; ++i) {
    const hlo_axis_refs_t one = {1, &c->out->unreduced.refs[i]};
    HLO_SCOPED_STRBUF text = {0};
    if (!refs_overlap(c->in->unreduced, one.refs[0])) {
      hlo_verify_fault(c->verify, c->node, "the operand is not unreduced along {%s}",
                       text_of(c, one, &text));
    }
  }
}

// No axis may divide the operand, or be one of its `others`.
static bool verify_disjoint(const collective_t* c, hlo_axis_refs_t axes, hlo_axis_refs_t others,
                            const char* what) {
  for (uint32_t i = 0; i < axes.count; ++i) {
    bool overlaps = refs_overlap(others, axes.refs[i]);
    for (uint32_t d = 0; d < c->rank; ++d) {
      overlaps = overlaps || refs_overlap(c->in->dims[d].axes, axes.refs[i]);
    }
    if (!overlaps) continue;
    const hlo_axis_refs_t one = {1, &axes.refs[i]};
    HLO_SCOPED_STRBUF text = {0};
    hlo_verify_fault(c->verify, c->node, "the operand is divided or %s along {%s}", what,
                     text_of(c, one, &text));
    return false;
  }
  return true;
}

static void verify_all_reduce(collective_t* c) {
  hlo_axis_refs_t axes;
  if (!read_axes(c, HLO_ATTR_reduction_axes, &axes) || !verify_dims(c)) return;
  if (verify_disjoint(c, axes, c->in->replicated, "replicated")) verify_reduction(c, axes);
}

static void verify_reduce_scatter(collective_t* c) {
  axis_list_t all = {0};
  if (verify_division(c, HLO_ATTR_reduce_scatter_axes, &all)) verify_reduction(c, refs_of(&all));
}

static void verify_sharded_to_unreduced(collective_t* c) {
  hlo_axis_refs_t axes[HLO_RANK_MAX];
  axis_list_t all = {0};
  if (!read_dim_axes(c, HLO_ATTR_axes, axes)) return;
  for (uint32_t d = 0; d < c->rank; ++d) {
    if (!gather_dim(c, d, axes[d])) return;
    append_refs(&all, axes[d]);
  }
  if (verify_dims(c)) verify_unreduced(c, refs_of(&all));
}

static void verify_replicated_to_unreduced(collective_t* c) {
  hlo_axis_refs_t axes;
  if (!read_axes(c, HLO_ATTR_axes, &axes) || !verify_dims(c)) return;
  if (!axes.count) hlo_verify_fault(c->verify, c->node, "names no axes");
  if (verify_disjoint(c, axes, c->in->unreduced, "unreduced")) verify_unreduced(c, axes);
}

// Reads both shardings; false after a fault, or if that of the operand is not known.
static bool read_collective(collective_t* c, bool needs_operand, bool same_order,
                            hlo_sharding_t* none) {
  known_sharding_t in = {0};
  const hlo_type_t* type = hlo_node_operand_type(c->node, 0);
  if (!has_type_of_operand(c->verify, c->node)) return false;
  hlo_status_t status = hlo_sharding_parse(module_of(c->verify),
                                           hlo_node_attr(c->node, HLO_ATTR_out_sharding), &c->out);
  if (hlo_status_is_ok(status)) status = sharding_of(c->verify, hlo_node_operand(c->node, 0), &in);
  if (!hlo_verify_status(c->verify, c->node, status) ||
      !has_rank_of(c->verify, c->node, "out_sharding", c->out, type) || !in.is_known) {
    return false;
  }
  if (!in.sharding && needs_operand) {
    hlo_verify_fault(c->verify, c->node, "the operand has no sharding");
    return false;
  }
  c->rank = c->out->rank;
  c->in = in.sharding ? in.sharding : none;
  if (c->in->rank != c->rank) {
    hlo_verify_fault(c->verify, c->node, "the operand's sharding is of rank %u, not %u",
                     c->in->rank, c->rank);
    return false;
  }
  if (in.sharding && !meshes_agree(c->in->mesh, c->out->mesh, same_order)) {
    hlo_verify_fault(c->verify, c->node, "operand and result are on different meshes");
    return false;
  }
  for (uint32_t d = 0; d < c->rank; ++d) append_refs(&c->expected[d], c->in->dims[d].axes);
  return true;
}

static void verify_collective(hlo_verify_t* verify, const hlo_node_t* node, bool needs_operand,
                              bool same_order, void (*verify_axes)(collective_t* c)) {
  static const hlo_dim_sharding_t whole[HLO_RANK_MAX];
  HLO_SCOPED_ARENA arena = {0};
  collective_t* c = hlo_arena_alloc_zeroed(&arena, sizeof *c);
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  if (!c) {
    (void)hlo_verify_status(verify, node, hlo_arena_status(&arena));
    return;
  }
  c->verify = verify;
  c->node = node;
  hlo_sharding_t none = {.dims = whole, .rank = hlo_type_is_tensor(type) ? type->rank : 0};
  if (read_collective(c, needs_operand, same_order, &none)) verify_axes(c);
}

#define COLLECTIVE(op, needs_operand, same_order)                            \
  void hlo_verify_sdy_##op(hlo_verify_t* verify, const hlo_node_t* node) {   \
    verify_collective(verify, node, needs_operand, same_order, verify_##op); \
  }
COLLECTIVE(all_gather, true, true)
COLLECTIVE(all_slice, false, true)
COLLECTIVE(all_to_all, true, true)
COLLECTIVE(collective_permute, true, false)
COLLECTIVE(all_reduce, false, true)
COLLECTIVE(reduce_scatter, false, true)
COLLECTIVE(sharded_to_unreduced, true, true)
COLLECTIVE(replicated_to_unreduced, true, true)
