// SPDX-License-Identifier: Apache-2.0
// Pass import_gspmd: turns the shardings of GSPMD, and those of Shardy that XLA stores in frontend
// attributes, into attributes and ops of Shardy, the only form that later stages know.
//
// A value between SPMDFullToShardShape and SPMDShardToFullShape (or Shardy's pair of calls, which
// convert several values at once) belongs to one device. The ops that compute such values from each
// other become the body of one sdy.manual_computation.
#include <stdlib.h>
#include <string.h>

#include "ir/clone.h"
#include "ir/custom_call.h"
#include "ir/entry.h"
#include "passes/gspmd_mesh.h"
#include "passes/manual_parts.h"
#include "passes/passes.h"

#define FRONTEND_ATTR "mhlo.frontend_attributes"
#define SHARDY_ATTR "sdy.sharding"
#define SHARDY_PREFIX "xla.sdy."

typedef struct importer {
  hlo_pass_ctx_t* ctx;
  hlo_module_t* module;
  hlo_gspmd_t gspmd;
} importer_t;

// ---- attributes

static const hlo_attr_t* string_of(const hlo_attr_t* dict, const char* key) {
  const hlo_attr_t* text = hlo_attr_dict_get(dict, key);
  return text && text->kind == HLO_ATTR_KIND_STRING ? text : NULL;
}

// Returns the text that XLA stores for an attribute of Shardy as that attribute, or NULL.
static const hlo_attr_t* shardy_attr(hlo_module_t* module, const hlo_attr_t* extra,
                                     const char* key) {
  const hlo_attr_t* text = string_of(hlo_attr_dict_get(extra, FRONTEND_ATTR), key);
  return text ? hlo_attr_opaque(module, text->text, text->text_length) : NULL;
}

// Returns the attributes without those that this pass has replaced.
static const hlo_attr_t* without_shardings(hlo_module_t* module, const hlo_attr_t* extra) {
  const hlo_attr_t* frontend = hlo_attr_dict_get(extra, FRONTEND_ATTR);
  const hlo_attr_t* rest = frontend;
  for (uint32_t i = 0; frontend && frontend->kind == HLO_ATTR_KIND_DICT && i < frontend->count;
       ++i) {
    if (strncmp(frontend->keys[i], SHARDY_PREFIX, strlen(SHARDY_PREFIX)) != 0) continue;
    rest = hlo_attr_dict_with(module, rest, frontend->keys[i], NULL);
  }
  if (extra && rest != frontend) {
    extra = hlo_attr_dict_with(module, extra, FRONTEND_ATTR, rest && rest->count ? rest : NULL);
  }
  if (extra && hlo_attr_dict_get(extra, HLO_OP_SHARDING_ATTR)) {
    extra = hlo_attr_dict_with(module, extra, HLO_OP_SHARDING_ATTR, NULL);
  }
  return extra && extra->count ? extra : NULL;
}

static bool is_call_of(const hlo_node_t* node, const char* target) {
  return node->op == HLO_OP_custom_call && strcmp(hlo_custom_call_target(node), target) == 0;
}

// Returns the set of dimensions that a call of Sharding leaves open: "unspecified_dims=[0,2]".
static uint64_t open_dims(const hlo_node_t* node) {
  static const char key[] = "unspecified_dims=[";
  const char* config =
      is_call_of(node, "Sharding") ? hlo_node_attr_text(node, HLO_ATTR_backend_config) : NULL;
  const char* at = config ? strstr(config, key) : NULL;
  uint64_t set = 0;
  for (at = at ? at + strlen(key) : "]"; *at && *at != ']';) {
    char* end;
    const long dim = strtol(at, &end, 10);
    if (end == at) break;
    if (dim >= 0 && dim < HLO_RANK_MAX) set |= 1ull << dim;
    at = end + strspn(end, ", ");
  }
  return set;
}

// ---- shardings that are in the module

static hlo_status_t collect_dict(importer_t* im, const hlo_attr_t* dict) {
  const hlo_attr_t* text = string_of(dict, HLO_OP_SHARDING_ATTR);
  return text ? hlo_gspmd_add(&im->gspmd, text) : hlo_ok();
}

static hlo_status_t collect_node(void* context, hlo_node_t* node) {
  return hlo_node_annotate(node, collect_dict(context, node->extra));
}

static uint32_t result_count_of(const hlo_func_t* func) {
  return func->type->element_count - func->type->input_count;
}

static hlo_status_t collect(importer_t* im) {
  for (hlo_func_t* func = im->module->first_func; func; func = func->next) {
    for (uint32_t i = 0; func->arg_attrs && i < func->type->input_count; ++i) {
      HLO_TRY_MSG(collect_dict(im, func->arg_attrs[i]), "argument %u of @%s", i, func->name);
    }
    for (uint32_t i = 0; func->result_attrs && i < result_count_of(func); ++i) {
      HLO_TRY_MSG(collect_dict(im, func->result_attrs[i]), "result %u of @%s", i, func->name);
    }
  }
  return hlo_module_walk(im->module, false, collect_node, im);
}

// Adds the meshes that XLA stores in the module: {mesh = #sdy.mesh<["x"=4]>, ...}.
static hlo_status_t import_meshes(importer_t* im) {
  static const char prefix[] = "#sdy.mesh<";
  hlo_module_t* module = im->module;
  const hlo_attr_t* text =
      string_of(hlo_attr_dict_get(module->extra, FRONTEND_ATTR), SHARDY_PREFIX "meshes");
  const char* at = text ? text->text + strspn(text->text, "{ ") : "}";
  while (*at && *at != '}') {
    const bool is_quoted = *at == '"';
    const char* name = at + is_quoted;
    const size_t length = strcspn(name, is_quoted ? "\"" : " =");
    const char* mesh = strstr(name + length, prefix);
    const char* end = mesh ? strchr(mesh, '>') : NULL;
    if (!end) return hlo_invalid_argument(SHARDY_PREFIX "meshes are malformed");
    const hlo_named_attr_t attrs[] = {
        {HLO_ATTR_sym_name, hlo_attr_string(module, name, length)},
        {HLO_ATTR_mesh, hlo_attr_opaque(module, mesh, (size_t)(end - mesh) + 1)}};
    hlo_node_t* node = hlo_node_create(
        module, &(hlo_node_spec_t){.op = HLO_OP_sdy_mesh, .attr_count = 2, .attrs = attrs});
    HLO_TRY(hlo_module_status(module));
    hlo_region_append(module->top, node);
    ++im->ctx->step_count;
    at = end + 1 + strspn(end + 1, ", ");
  }
  if (text) module->extra = without_shardings(module, module->extra);
  return hlo_module_status(module);
}

// Sets *out_sharding to that of a value with the attributes of its op, argument or result; NULL if
// they have none, or leave it open. `open`: dimensions that may be divided further.
static hlo_status_t read_sharding(importer_t* im, const hlo_attr_t* extra, uint32_t result,
                                  const hlo_type_t* type, uint64_t open,
                                  const hlo_gspmd_mesh_t* mesh,
                                  const hlo_sharding_t** out_sharding) {
  *out_sharding = NULL;
  const hlo_attr_t* shardy = shardy_attr(im->module, extra, SHARDY_PREFIX "sharding");
  if (shardy) {
    uint32_t count;
    const hlo_sharding_t* const* list;
    if (strncmp(shardy->text, "#sdy.sharding_per_value", 23) != 0) {
      return hlo_sharding_parse(im->module, shardy, out_sharding);
    }
    HLO_TRY(hlo_sharding_parse_list(im->module, shardy, &count, &list));
    if (result >= count) return hlo_invalid_argument("too few shardings");
    *out_sharding = list[result];
    return hlo_ok();
  }
  const hlo_gspmd_entry_t* entry =
      hlo_gspmd_find(&im->gspmd, string_of(extra, HLO_OP_SHARDING_ATTR));
  if (!entry || !hlo_type_is_tensor(type)) return hlo_ok();
  if (entry->sharding.kind == HLO_OP_SHARDING_TUPLE) {
    if (result >= entry->sharding.elements.count) return hlo_invalid_argument("too few shardings");
    entry = &entry->elements[result];
  }
  if (entry->sharding.kind == HLO_OP_SHARDING_MANUAL) return hlo_ok();
  return hlo_gspmd_sharding(&im->gspmd, entry, type->rank, open, mesh, out_sharding);
}

static hlo_status_t list_attr(importer_t* im, uint32_t count, const hlo_sharding_t* const* list,
                              const hlo_attr_t** out_attr) {
  *out_attr = hlo_sharding_list_attr(im->module, count, list);
  if (*out_attr) return hlo_ok();
  HLO_TRY(hlo_module_status(im->module));
  return hlo_status_out_of_memory(count * sizeof *list);
}

// ---- arguments and results

static hlo_status_t import_side(importer_t* im, const hlo_attr_t** attrs,
                                const hlo_type_t* const* types, uint32_t count) {
  for (uint32_t i = 0; attrs && i < count; ++i) {
    const hlo_sharding_t* sharding;
    HLO_TRY(read_sharding(im, attrs[i], 0, types[i], 0, NULL, &sharding));
    const hlo_attr_t* rest = without_shardings(im->module, attrs[i]);
    if (rest == attrs[i]) continue;
    attrs[i] = sharding ? hlo_attr_dict_with(im->module, rest, SHARDY_ATTR, sharding->attr) : rest;
    ++im->ctx->step_count;
  }
  return hlo_module_status(im->module);
}

static hlo_status_t import_func(importer_t* im, hlo_func_t* func) {
  const uint32_t inputs = func->type->input_count;
  HLO_TRY_MSG(import_side(im, func->arg_attrs, func->type->elements, inputs), "arguments of @%s",
              func->name);
  HLO_TRY_MSG(
      import_side(im, func->result_attrs, func->type->elements + inputs, result_count_of(func)),
      "results of @%s", func->name);
  return hlo_ok();
}

// ---- manual computations

// Finds the attributes of the op or argument that makes a value.
static const hlo_attr_t* attrs_of(const hlo_value_t* value, uint64_t* out_open) {
  *out_open = 0;
  if (value->def) {
    *out_open = open_dims(value->def);
    return value->def->extra;
  }
  const hlo_func_t* func = value->region->parent ? NULL : value->region->func;
  return func && func->arg_attrs ? func->arg_attrs[value->number] : NULL;
}

static bool is_shardy_pair(const hlo_node_t* node) {
  return strncmp(hlo_custom_call_target(node), SHARDY_PREFIX, strlen(SHARDY_PREFIX)) == 0;
}

// Reads the shardings on the outer side of a call: of operands of an entry, of results of an exit.
static hlo_status_t read_outer(importer_t* im, const hlo_node_t* node, bool is_entry,
                               const hlo_gspmd_mesh_t* mesh, const hlo_sharding_t** out_list) {
  if (is_shardy_pair(node)) {
    const char* key = is_entry ? SHARDY_PREFIX "in_shardings" : SHARDY_PREFIX "out_shardings";
    uint32_t count;
    const hlo_sharding_t* const* list;
    HLO_TRY(hlo_sharding_parse_list(im->module, shardy_attr(im->module, node->extra, key), &count,
                                    &list));
    if (count != node->result_count)
      return hlo_invalid_argument("%s of another number of values", key);
    memcpy(out_list, list, count * sizeof *list);
    return hlo_ok();
  }
  uint64_t open = 0;
  const hlo_attr_t* extra = is_entry ? attrs_of(hlo_node_operand(node, 0), &open) : node->extra;
  const hlo_type_t* type = is_entry ? hlo_node_operand_type(node, 0) : node->results[0].type;
  HLO_TRY(read_sharding(im, extra, 0, type, open, mesh, out_list));
  if (*out_list) return hlo_ok();
  return hlo_invalid_argument("the sharding of the whole value is unknown");
}

// Sets the mesh of a manual computation: that of the first value that is divided.
static const hlo_gspmd_mesh_t* mesh_of_parts(const importer_t* im, const hlo_manual_part_t* part) {
  for (uint32_t i = 0; i < part->entry_count + part->exit_count; ++i) {
    uint64_t open;
    const bool is_entry = i < part->entry_count;
    const hlo_node_t* node = is_entry ? part->entries[i] : part->exits[i - part->entry_count];
    const hlo_attr_t* inner = is_entry ? node->extra : attrs_of(hlo_node_operand(node, 0), &open);
    const hlo_attr_t* outer = is_entry ? attrs_of(hlo_node_operand(node, 0), &open) : node->extra;
    const hlo_attr_t* const sides[] = {inner, outer};
    for (int s = 0; s < 2; ++s) {
      const hlo_gspmd_entry_t* entry =
          hlo_gspmd_find(&im->gspmd, string_of(sides[s], HLO_OP_SHARDING_ATTR));
      if (entry && entry->mesh) return entry->mesh;
    }
  }
  return im->gspmd.meshes;
}

// Makes the axes over which a part is manual.
static hlo_status_t manual_axes(importer_t* im, const hlo_manual_part_t* part,
                                const hlo_gspmd_mesh_t* mesh, const hlo_attr_t** out_axes) {
  uint64_t open;
  const hlo_node_t* node = part->entry_count ? part->entries[0] : part->exits[0];
  if (is_shardy_pair(node)) {
    *out_axes = shardy_attr(im->module, node->extra, SHARDY_PREFIX "manual_axes");
    return *out_axes ? hlo_ok() : hlo_invalid_argument(SHARDY_PREFIX "manual_axes are missing");
  }
  const hlo_attr_t* inner =
      part->entry_count ? node->extra : attrs_of(hlo_node_operand(node, 0), &open);
  const hlo_gspmd_entry_t* entry =
      hlo_gspmd_find(&im->gspmd, string_of(inner, HLO_OP_SHARDING_ATTR));
  const uint64_t set = entry ? hlo_gspmd_manual_axes(entry) : 0;
  if (!set) return hlo_invalid_argument("the sharding of a device's value is not manual");
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_puts(&text, "#sdy<manual_axes{");
  for (uint32_t a = 0, count = 0; a < mesh->mesh->axis_count; ++a) {
    if (!(set >> a & 1)) continue;
    hlo_strbuf_printf(&text, "%s\"%s\"", count++ ? ", " : "", mesh->mesh->axes[a].name);
  }
  hlo_strbuf_puts(&text, "}>");
  HLO_TRY(hlo_strbuf_status(&text));
  *out_axes = hlo_attr_opaque(im->module, hlo_strbuf_text(&text), text.length);
  return hlo_module_status(im->module);
}

static hlo_status_t outer_list(importer_t* im, hlo_node_t* const* nodes, uint32_t count,
                               bool is_entry, const hlo_gspmd_mesh_t* mesh,
                               const hlo_attr_t** out_attr) {
  uint32_t total = 0, at = 0;
  for (uint32_t i = 0; i < count; ++i) total += nodes[i]->result_count;
  const hlo_sharding_t** list = hlo_arena_array(&im->ctx->scratch, total, sizeof *list);
  if (!list) return hlo_arena_status(&im->ctx->scratch);
  for (uint32_t i = 0; i < count; ++i) {
    HLO_TRY(hlo_node_annotate(nodes[i], read_outer(im, nodes[i], is_entry, mesh, &list[at])));
    at += nodes[i]->result_count;
  }
  return list_attr(im, total, list, out_attr);
}

static hlo_status_t import_part(void* context, const hlo_manual_part_t* part) {
  importer_t* im = context;
  const hlo_gspmd_mesh_t* mesh = mesh_of_parts(im, part);
  const hlo_node_t* node = part->entry_count ? part->entries[0] : part->exits[0];
  const hlo_attr_t *in = NULL, *out = NULL, *axes = NULL;
  HLO_TRY(outer_list(im, part->entries, part->entry_count, true, mesh, &in));
  HLO_TRY(outer_list(im, part->exits, part->exit_count, false, mesh, &out));
  HLO_TRY(hlo_node_annotate(node, manual_axes(im, part, mesh, &axes)));
  ++im->ctx->step_count;
  return hlo_manual_part_build(im->module, part, in, out, axes);
}

// ---- other ops

// Follows a value with a constraint, which takes its uses.
static hlo_status_t constrain(importer_t* im, hlo_value_t* value, hlo_node_t* before, hlo_loc_t loc,
                              const hlo_sharding_t* sharding, hlo_value_t* replaced) {
  const hlo_named_attr_t attr = {HLO_ATTR_sharding, sharding->attr};
  hlo_node_t* node =
      hlo_node_create(im->module, &(hlo_node_spec_t){.op = HLO_OP_sdy_sharding_constraint,
                                                     .loc = loc,
                                                     .operand_count = 1,
                                                     .operands = &value,
                                                     .attr_count = 1,
                                                     .attrs = &attr,
                                                     .result_count = 1,
                                                     .result_types = &value->type});
  HLO_TRY(hlo_module_status(im->module));
  hlo_node_insert_before(before, node);
  if (replaced != value) {
    hlo_value_replace_uses(replaced, &node->results[0]);
    return hlo_ok();
  }
  hlo_value_replace_uses(value, &node->results[0]);
  hlo_node_set_operand(node, 0, value);
  return hlo_ok();
}

static hlo_status_t import_constraint(importer_t* im, hlo_node_t* node) {
  const hlo_sharding_t* sharding;
  hlo_value_t* operand = hlo_node_operand(node, 0);
  HLO_TRY(
      read_sharding(im, node->extra, 0, node->results[0].type, open_dims(node), NULL, &sharding));
  if (sharding) {
    HLO_TRY(constrain(im, operand, node, node->loc, sharding, &node->results[0]));
  } else {
    hlo_value_replace_uses(&node->results[0], operand);
  }
  hlo_node_erase(node);
  return hlo_ok();
}

// The sharding of a result of the function, as an attribute of it.
static hlo_status_t import_result(importer_t* im, hlo_node_t* node) {
  const hlo_sharding_t* sharding;
  hlo_func_t* func = node->parent->parent ? NULL : node->parent->func;
  hlo_node_t* end = func ? hlo_region_terminator(node->parent) : NULL;
  HLO_TRY(read_sharding(im, node->extra, 0, node->results[0].type, 0, NULL, &sharding));
  for (uint32_t i = 0; sharding && end && i < end->operand_count; ++i) {
    if (hlo_node_operand(end, i) != &node->results[0]) continue;
    hlo_func_set_result_attr(func, i, SHARDY_ATTR, sharding->attr);
  }
  hlo_value_replace_uses(&node->results[0], hlo_node_operand(node, 0));
  hlo_node_erase(node);
  return hlo_module_status(im->module);
}

// Returns a number that XLA stores as text, perhaps with its type.
static hlo_status_t read_number(const hlo_node_t* node, const char* key, int64_t* out_number) {
  const hlo_attr_t* text = string_of(hlo_attr_dict_get(node->extra, FRONTEND_ATTR), key);
  char* end = NULL;
  if (text) *out_number = strtoll(text->text, &end, 10);
  return text && end != text->text ? hlo_ok() : hlo_invalid_argument("%s is no number", key);
}

static hlo_status_t import_barrier(importer_t* im, hlo_node_t* node) {
  enum { DIRECTION_COUNT = 4 };
  int64_t direction = 0;
  hlo_value_t* operand = hlo_node_operand(node, 0);
  HLO_TRY(read_number(node, SHARDY_PREFIX "allowed_direction", &direction));
  if (direction < 0 || direction >= DIRECTION_COUNT) {
    return hlo_invalid_argument(SHARDY_PREFIX "allowed_direction is no direction");
  }
  const hlo_named_attr_t attr = {HLO_ATTR_allowed_direction,
                                 hlo_attr_int(im->module, HLO_DTYPE_S32, direction)};
  hlo_node_t* made =
      hlo_node_create(im->module, &(hlo_node_spec_t){.op = HLO_OP_sdy_propagation_barrier,
                                                     .loc = node->loc,
                                                     .operand_count = 1,
                                                     .operands = &operand,
                                                     .attr_count = 1,
                                                     .attrs = &attr,
                                                     .result_count = 1,
                                                     .result_types = &operand->type});
  HLO_TRY(hlo_module_status(im->module));
  hlo_node_insert_before(node, made);
  hlo_value_replace_uses(&node->results[0], &made->results[0]);
  hlo_node_erase(node);
  return hlo_ok();
}

static hlo_status_t import_group(importer_t* im, hlo_node_t* node) {
  int64_t group = 0;
  hlo_value_t* operand = hlo_node_operand(node, 0);
  HLO_TRY(read_number(node, SHARDY_PREFIX "sharding_group_id", &group));
  const hlo_named_attr_t attr = {HLO_ATTR_group_id, hlo_attr_int(im->module, HLO_DTYPE_S64, group)};
  hlo_node_t* made = hlo_node_create(im->module, &(hlo_node_spec_t){.op = HLO_OP_sdy_sharding_group,
                                                                    .loc = node->loc,
                                                                    .operand_count = 1,
                                                                    .operands = &operand,
                                                                    .attr_count = 1,
                                                                    .attrs = &attr});
  HLO_TRY(hlo_module_status(im->module));
  hlo_node_insert_before(node, made);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (hlo_value_is_unused(&node->results[i])) continue;
    return hlo_invalid_argument("the result of a sharding group is used");
  }
  hlo_node_erase(node);
  return hlo_ok();
}

// Sets *out_attr to the shardings of a call that one device makes for all, which has them as an
// attribute; NULL for others.
static hlo_status_t single_device(importer_t* im, const hlo_node_t* node,
                                  const hlo_attr_t** out_attr) {
  const hlo_gspmd_entry_t* entry =
      hlo_gspmd_find(&im->gspmd, string_of(node->extra, HLO_OP_SHARDING_ATTR));
  *out_attr = NULL;
  if (entry && entry->sharding.elements.count) entry = &entry->elements[0];
  if (node->op != HLO_OP_custom_call || !entry || entry->sharding.kind != HLO_OP_SHARDING_MAXIMAL) {
    return hlo_ok();
  }
  const uint32_t count = node->result_count ? node->result_count : 1;
  const hlo_sharding_t** list = hlo_arena_array(&im->ctx->scratch, count, sizeof *list);
  if (!list) return hlo_arena_status(&im->ctx->scratch);
  for (uint32_t i = 0; i < count; ++i) {
    const bool is_tensor = node->result_count && hlo_type_is_tensor(node->results[i].type);
    HLO_TRY(hlo_gspmd_sharding(&im->gspmd, entry, is_tensor ? node->results[i].type->rank : 0, 0,
                               NULL, &list[i]));
  }
  return list_attr(im, count, list, out_attr);
}

// An op with a sharding of its results.
static hlo_status_t import_op(importer_t* im, hlo_node_t* node, const hlo_attr_t* rest) {
  hlo_node_t* next = node->next;
  const hlo_attr_t* single;
  HLO_TRY(single_device(im, node, &single));
  for (uint32_t i = 0; !single && next && i < node->result_count; ++i) {
    const hlo_sharding_t* sharding;
    hlo_value_t* value = &node->results[i];
    HLO_TRY(read_sharding(im, node->extra, i, value->type, 0, NULL, &sharding));
    if (sharding) HLO_TRY(constrain(im, value, next, node->loc, sharding, value));
  }
  const hlo_attr_t* rule = shardy_attr(im->module, node->extra, SHARDY_PREFIX "sharding_rule");
  node->extra = rule ? hlo_attr_dict_with(im->module, rest, "sdy.sharding_rule", rule) : rest;
  if (single) node->extra = hlo_attr_dict_with(im->module, node->extra, SHARDY_ATTR, single);
  return hlo_module_status(im->module);
}

static bool is_one_to_one(const hlo_node_t* node) {
  return node->operand_count == 1 && node->result_count == 1 &&
         hlo_node_operand_type(node, 0) == node->results[0].type;
}

static hlo_status_t import_node_attrs(importer_t* im, hlo_node_t* node) {
  if (is_one_to_one(node) && is_call_of(node, "Sharding")) {
    HLO_TRY(import_constraint(im, node));
  } else if (is_one_to_one(node) && is_call_of(node, SHARDY_PREFIX "FuncResultSharding")) {
    HLO_TRY(import_result(im, node));
  } else if (is_one_to_one(node) && is_call_of(node, SHARDY_PREFIX "PropagationBarrier")) {
    HLO_TRY(import_barrier(im, node));
  } else if (is_call_of(node, SHARDY_PREFIX "ShardingGroup") && node->operand_count == 1) {
    HLO_TRY(import_group(im, node));
  } else {
    const hlo_attr_t* rest = without_shardings(im->module, node->extra);
    if (rest == node->extra) return hlo_ok();
    HLO_TRY(import_op(im, node, rest));
  }
  ++im->ctx->step_count;
  return hlo_ok();
}

static hlo_status_t import_node(void* context, hlo_node_t* node) {
  return hlo_node_annotate(node, import_node_attrs(context, node));
}

// ---- the pass

static hlo_status_t partition_count_of(const hlo_pass_ctx_t* ctx, const hlo_module_t* module,
                                       int64_t* out_count) {
  const hlo_attr_t* count = hlo_attr_dict_get(module->extra, "mhlo.num_partitions");
  char* end = NULL;
  *out_count = count && count->kind == HLO_ATTR_KIND_INT ? count->i : 1;
  if (ctx->argument) *out_count = strtoll(ctx->argument, &end, 10);
  return *out_count > 0 && (!end || !*end)
             ? hlo_ok()
             : hlo_invalid_argument("import_gspmd: bad number of partitions");
}

static hlo_status_t import_all(importer_t* im) {
  HLO_TRY(import_meshes(im));
  HLO_TRY(collect(im));
  if (im->gspmd.entries.live_count) HLO_TRY(hlo_gspmd_create_meshes(&im->gspmd));
  HLO_TRY(hlo_manual_parts_find(im->module, &im->ctx->scratch, import_part, im));
  HLO_TRY(hlo_module_walk(im->module, true, import_node, im));
  for (hlo_func_t* func = im->module->first_func; func; func = func->next) {
    HLO_TRY(import_func(im, func));
  }
  return hlo_module_status(im->module);
}

hlo_status_t hlo_pass_import_gspmd(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  importer_t im = {.ctx = ctx, .module = module};
  int64_t partitions;
  HLO_TRY(partition_count_of(ctx, module, &partitions));
  if (partitions == 1) return hlo_ok();
  hlo_gspmd_init(&im.gspmd, module, partitions, &ctx->scratch);
  hlo_status_t status = import_all(&im);
  hlo_gspmd_deinit(&im.gspmd);
  return status;
}
