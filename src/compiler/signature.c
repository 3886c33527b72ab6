// SPDX-License-Identifier: Apache-2.0
// Signatures of executables (see signature.h).
#include "compiler/signature.h"

#include <string.h>

#include "base/mem.h"
#include "base/shape.h"
#include "base/tuning.h"
#include "ir/clone.h"
#include "ir/custom_call.h"
#include "ir/entry.h"
#include "ir/op_sharding.h"
#include "ir/work.h"
#include "passes/trip_count.h"

// The program's dimensions, if those of the type are in memory order.
static hlo_status_t read_layout(hlo_module_t* module, const hlo_type_t* type,
                                const hlo_attr_t* layout, hlo_signature_entry_t* out) {
  out->dims = type->dims;
  if (!layout) return hlo_ok();
  if (layout->kind != HLO_ATTR_KIND_INTS || layout->count != type->rank ||
      !hlo_dim_order_is_valid(type->rank, layout->values)) {
    return hlo_invalid_argument(HLO_LAYOUT_ATTR " is no order of %u dimensions", type->rank);
  }
  int64_t* dims = hlo_arena_array(&module->arena, type->rank + 1, sizeof *dims);
  if (!dims) return hlo_module_status(module);
  for (uint32_t i = 0; i < type->rank; ++i) {
    dims[layout->values[type->rank - 1 - i]] = type->dims[i];
  }
  out->dims = dims;
  out->minor_to_major = layout->values;
  return hlo_ok();
}

static const char* read_sharding(const hlo_attr_t* attrs) {
  const hlo_attr_t* sharding = hlo_attr_dict_get(attrs, HLO_OP_SHARDING_ATTR);
  return sharding && sharding->kind == HLO_ATTR_KIND_STRING ? sharding->text : NULL;
}

static hlo_status_t read_entry(hlo_module_t* module, const hlo_type_t* type,
                               const hlo_attr_t* attrs, const char* what, uint32_t number,
                               hlo_signature_entry_t* out) {
  *out = (hlo_signature_entry_t){
      .alias = -1, .memory_kind = "device", .sharding = read_sharding(attrs)};
  if (type->kind == HLO_TYPE_TOKEN) {
    static const int64_t kNone[1];
    out->is_token = true;
    out->dtype = HLO_DTYPE_TOKEN;
    out->dims = kNone;
    return hlo_ok();
  }
  if (type->kind != HLO_TYPE_TENSOR) {
    return hlo_unimplemented(
        "%s %u of the entry function is no tensor (tuples and buffers are not supported there)",
        what, number);
  }
  if (!hlo_type_is_static(type)) {
    return hlo_unimplemented(
        "%s %u of the entry function has a dynamic shape; shapes must be static when a program is "
        "compiled",
        what, number);
  }
  out->dtype = type->dtype;
  out->rank = type->rank;
  HLO_TRY_MSG(read_layout(module, type, hlo_attr_dict_get(attrs, HLO_LAYOUT_ATTR), out),
              "%s %u of the entry function", what, number);
  out->element_count = hlo_type_element_count(type);
  out->size_bytes = hlo_type_size_bytes(type);
  const hlo_attr_t* kind = hlo_attr_dict_get(attrs, HLO_MEMORY_KIND_ATTR);
  if (!kind) return hlo_ok();
  if (kind->kind != HLO_ATTR_KIND_STRING) {
    return hlo_invalid_argument(HLO_MEMORY_KIND_ATTR " of %s %u of the entry function is no string",
                                what, number);
  }
  out->memory_kind = kind->text;
  return hlo_ok();
}

// Checks that an argument may alias the result it names.
static hlo_status_t check_alias(const hlo_executable_t* executable, const hlo_func_t* entry,
                                const uint32_t* arguments, uint32_t number) {
  const hlo_attr_t* alias = hlo_func_argument_alias(entry, number);
  if (!alias || alias->kind != HLO_ATTR_KIND_INT) return hlo_ok();
  if (alias->i < 0 || alias->i >= executable->result_count) {
    return hlo_invalid_argument("argument %u aliases result %lld, the program has %u results",
                                number, (long long)alias->i, executable->result_count);
  }
  if (arguments[alias->i] != number) {
    return hlo_invalid_argument("arguments %u and %u both alias result %lld", arguments[alias->i],
                                number, (long long)alias->i);
  }
  const size_t size_bytes = executable->arguments[number].size_bytes;
  const size_t result_bytes = executable->results[alias->i].size_bytes;
  if (result_bytes == size_bytes) return hlo_ok();
  return hlo_invalid_argument("argument %u of %zu bytes cannot alias result %lld of %zu bytes",
                              number, size_bytes, (long long)alias->i, result_bytes);
}

static hlo_status_t read_donation(hlo_executable_t* executable, const hlo_func_t* entry) {
  const size_t count = (size_t)executable->argument_count + executable->result_count;
  uint32_t* results = hlo_mem_alloc((count + 1) * sizeof *results);
  if (!results) return hlo_status_out_of_memory(count * sizeof *results);
  uint32_t* arguments = results + executable->argument_count;
  hlo_func_pair_donations(entry, results, arguments);
  hlo_status_t status = hlo_ok();
  for (uint32_t a = 0; a < executable->argument_count && hlo_status_is_ok(status); ++a) {
    hlo_signature_entry_t* argument = &executable->arguments[a];
    argument->is_donor = hlo_func_argument_is_donor(entry, a);
    status = check_alias(executable, entry, arguments, a);
    if (results[a] == HLO_DONATED_NOWHERE) continue;
    argument->alias = (int32_t)results[a];
    executable->results[results[a]].alias = (int32_t)a;
    executable->alias_bytes += argument->size_bytes;
  }
  hlo_mem_free(results);
  return status;
}

hlo_status_t hlo_signature_read(hlo_executable_t* executable, const hlo_func_t* entry) {
  const hlo_type_t* type = entry->type;
  uint32_t inputs = type->input_count, results = type->element_count - inputs;
  executable->arguments = hlo_mem_alloc_zeroed((inputs + 1) * sizeof(hlo_signature_entry_t));
  executable->results = hlo_mem_alloc_zeroed((results + 1) * sizeof(hlo_signature_entry_t));
  if (!executable->arguments || !executable->results) {
    return hlo_status_out_of_memory((inputs + results) * sizeof(hlo_signature_entry_t));
  }
  executable->argument_count = inputs;
  executable->result_count = results;
  for (uint32_t i = 0; i < inputs; ++i) {
    HLO_TRY(read_entry(entry->module, type->elements[i],
                       entry->arg_attrs ? entry->arg_attrs[i] : NULL, "argument", i,
                       &executable->arguments[i]));
    executable->argument_bytes += executable->arguments[i].size_bytes;
  }
  for (uint32_t i = 0; i < results; ++i) {
    HLO_TRY(read_entry(entry->module, type->elements[inputs + i],
                       entry->result_attrs ? entry->result_attrs[i] : NULL, "result", i,
                       &executable->results[i]));
    executable->result_bytes += executable->results[i].size_bytes;
  }
  return read_donation(executable, entry);
}

static hlo_status_t count_node(void* context, hlo_node_t* node) {
  hlo_node_cost_add(node, context);
  return hlo_ok();
}

void hlo_cost_count(hlo_module_t* module, hlo_cost_t* out_cost) {
  *out_cost = (hlo_cost_t){0};
  hlo_status_release(hlo_module_walk(module, false, count_node, out_cost));
}

// Factorisations and related routines, as ops or by LAPACK names.
static bool is_linear_algebra(const hlo_node_t* node) {
  if (node->op == HLO_OP_cholesky || node->op == HLO_OP_triangular_solve) return true;
  if (node->op != HLO_OP_custom_call || node->operand_count == 0) return false;
  return strncmp(hlo_custom_call_target(node), "lapack_", 7) == 0 &&
         hlo_custom_function_of(node) != HLO_CUSTOM_FUNCTION_COUNT;
}

// One step per element of the result and column of the operand; iterative methods take many more.
static double linear_algebra_work(const hlo_node_t* node) {
  static const char* const iterative[] = {"gesdd", "syevd", "heevd", "geev", "gees"};
  const hlo_type_t* operand = hlo_node_operand_type(node, 0);
  const char* target = hlo_node_attr_text(node, HLO_ATTR_call_target_name);
  double steps = 0.25;
  for (size_t i = 0; target && i < sizeof iterative / sizeof *iterative; ++i) {
    if (strstr(target, iterative[i])) steps = 4;
  }
  const double columns = operand->rank ? (double)operand->dims[operand->rank - 1] : 1;
  return steps * columns * hlo_type_work_elements(node->results[0].type);
}

// Returns true if the work of an op is proportional to its elements, or those of its operands.
static bool is_plain(const hlo_node_t* node) {
  if (node->result_count && !hlo_type_is_static(node->results[0].type)) return false;
  if (is_linear_algebra(node)) return hlo_type_is_static(hlo_node_operand_type(node, 0));
  if (hlo_op_has(node->op, HLO_TRAIT_TERMINATOR)) return true;
  const hlo_op_cost_t cost = hlo_op_info(node->op)->cost;
  return cost != HLO_COST_OTHER && cost != HLO_COST_CONVOLUTION;
}

/// The costs of an executor beside those of the cost classes, in the same unit, and the limit below
/// which a program is cheap.
typedef struct pace {
  bool is_machine_code;       // the unit is a nanosecond; otherwise a simple operation
  double step;                // of any op
  double byte;                // of results, including the reads for them
  double limit, group_limit;  // of one process; of several together, which could run side by side
} pace_t;

static const pace_t kInterpreted = {
    .step = 64, .limit = HLO_TUNING_CHEAP_MAX_STEPS, .group_limit = HLO_TUNING_CHEAP_MAX_STEPS};
static const pace_t kMachine = {.is_machine_code = true,
                                .step = 5,
                                .byte = 0.02,
                                .limit = HLO_TUNING_CHEAP_MAX_NS,
                                .group_limit = HLO_TUNING_CHEAP_GROUP_MAX_NS};

static double rate_of(hlo_op_cost_t cost, const pace_t* pace) {
  const hlo_op_cost_info_t* info = hlo_op_cost_info(cost);
  return pace->is_machine_code ? info->ns : info->interpreted;
}

static double cost_of(const hlo_node_t* node, const pace_t* pace) {
  if (hlo_op_has(node->op, HLO_TRAIT_CONSTANT) || node->result_count == 0) return 0;
  if (is_linear_algebra(node)) return linear_algebra_work(node);
  const hlo_op_cost_t cost = hlo_op_info(node->op)->cost;
  const double elements = hlo_type_work_elements(node->results[0].type);
  const double copied = cost == HLO_COST_SCATTER ? rate_of(HLO_COST_MOVE, pace) * elements : 0;
  return rate_of(cost, pace) * hlo_node_work(node) + copied;
}

static double result_bytes(const hlo_type_t* type) {
  double bytes = 0;
  for (uint32_t i = type->input_count; i < type->element_count; ++i) {
    bytes += hlo_type_work_bytes(type->elements[i]);
  }
  return bytes;
}

// Adds the work of a region's nodes, `times` times. False if it exceeds the limit or is unknown.
static bool add_region(const hlo_region_t* region, const pace_t* pace, double times, double limit,
                       double* work) {
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (hlo_op_has(node->op, HLO_TRAIT_STRUCTURED)) {
      const int32_t turns =
          node->op == HLO_OP_while ? hlo_loop_trip_count(node, HLO_TUNING_CHEAP_MAX_ITERATIONS) : 1;
      for (uint32_t i = 0; i < node->region_count; ++i) {
        if (turns < 0 || !add_region(node->regions[i], pace, times * turns, limit, work)) {
          return false;
        }
      }
      continue;
    }
    if (!is_plain(node)) return false;
    *work += times * (pace->step + cost_of(node, pace));
    if (*work > limit) return false;
  }
  return true;
}

bool hlo_func_is_cheap(const hlo_func_t* func, bool is_machine_code, int32_t process_count) {
  const pace_t* pace = is_machine_code ? &kMachine : &kInterpreted;
  const double limit = process_count > 1 ? pace->group_limit / process_count : pace->limit;
  double work = pace->byte * result_bytes(func->type);
  return add_region(func->body, pace, 1, limit, &work);
}

// ---- layouts that compile options request

// One list of layouts and its purpose.
typedef struct side {
  const char* what;
  const hlo_array_layout_t* layouts;
  size_t layout_count;
  const hlo_type_t* const* types;
  uint32_t type_count;
} side_t;

static bool is_array_of(const hlo_array_layout_t* layout, const hlo_type_t* type) {
  if (type->kind == HLO_TYPE_TOKEN) return layout->dtype == HLO_DTYPE_TOKEN;
  return type->kind == HLO_TYPE_TENSOR && layout->dtype == type->dtype &&
         layout->rank == type->rank &&
         (type->rank == 0 ||
          memcmp(layout->dimensions, type->dims, type->rank * sizeof *type->dims) == 0);
}

static hlo_status_t check_side(const side_t* side) {
  if (side->layout_count == 0) return hlo_ok();
  if (side->layout_count != side->type_count) {
    return hlo_invalid_argument("the compile options have layouts of %zu %ss, the program has %u",
                                side->layout_count, side->what, side->type_count);
  }
  for (uint32_t i = 0; i < side->type_count; ++i) {
    if (is_array_of(&side->layouts[i], side->types[i])) continue;
    return hlo_invalid_argument(
        "the layout of %s %u in the compile options is for another array than the program has",
        side->what, i);
  }
  return hlo_ok();
}

// Returns the attribute that requests a layout; NULL when memory is exhausted.
static const hlo_attr_t* mode_attr(hlo_module_t* module, const hlo_array_layout_t* layout) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_dim_order_print(layout->rank, layout->minor_to_major, &text);
  module->arena.failed |= text.failed;
  return hlo_attr_string(module, hlo_strbuf_text(&text), text.length);
}

typedef void (*set_attr_t)(hlo_func_t* func, uint32_t number, const char* key,
                           const hlo_attr_t* value);

static hlo_status_t apply_side(hlo_func_t* entry, const side_t* side, set_attr_t set_attr) {
  HLO_TRY(check_side(side));
  for (uint32_t i = 0; i < side->layout_count; ++i) {
    if (!side->layouts[i].minor_to_major || side->types[i]->kind != HLO_TYPE_TENSOR) continue;
    set_attr(entry, i, HLO_LAYOUT_MODE_ATTR, mode_attr(entry->module, &side->layouts[i]));
  }
  return hlo_module_status(entry->module);
}

// An earlier phase has applied the options, and dimensions are those in memory.
static bool has_lowered_layouts(const hlo_func_t* entry) {
  const uint32_t arguments = entry->type->input_count;
  bool found = false;
  for (uint32_t i = 0; i < entry->type->element_count; ++i) {
    found |= i < arguments ? hlo_func_argument_attr(entry, i, HLO_LAYOUT_ATTR) != NULL
                           : hlo_func_result_attr(entry, i - arguments, HLO_LAYOUT_ATTR) != NULL;
  }
  return found;
}

hlo_status_t hlo_layouts_apply(hlo_func_t* entry, const hlo_compile_options_t* options) {
  const hlo_type_t* type = entry->type;
  const side_t arguments = {"argument", options->argument_layouts, options->argument_layout_count,
                            type->elements, type->input_count};
  const side_t results = {"result", options->result_layouts, options->result_layout_count,
                          type->elements + type->input_count,
                          type->element_count - type->input_count};
  if (has_lowered_layouts(entry)) return hlo_ok();
  HLO_TRY(apply_side(entry, &arguments, hlo_func_set_argument_attr));
  return apply_side(entry, &results, hlo_func_set_result_attr);
}

hlo_status_t hlo_signature_part(const hlo_signature_entry_t* entry, uint32_t partition,
                                int64_t* out_offsets, int64_t* out_dims) {
  HLO_SCOPED_ARENA arena = {0};
  hlo_op_sharding_t sharding = {.kind = HLO_OP_SHARDING_REPLICATED};
  int64_t parts[HLO_RANK_MAX], at[HLO_RANK_MAX];
  if (entry->sharding) {
    const size_t length = strlen(entry->sharding);
    HLO_TRY(hlo_op_sharding_parse(entry->sharding, length, &arena, &sharding));
  }
  HLO_TRY(hlo_op_sharding_place(&sharding, partition, entry->rank, parts, at));
  for (uint32_t d = 0; d < entry->rank; ++d) {
    out_offsets[d] = at[d] * entry->dims[d];
    out_dims[d] = parts[d] * entry->dims[d];
  }
  return hlo_ok();
}
