// SPDX-License-Identifier: Apache-2.0
// Prepares modules for code generation (see prepare.h).
#include "codegen/lower/prepare.h"

#include "codegen/body/schedule.h"
#include "codegen/body/split.h"
#include "codegen/index/tiled.h"
#include "codegen/lower/op_list.h"
#include "codegen/lower/split.h"
#include "ir/clone.h"
#include "ir/custom_call.h"
#include "lib/call.h"
#include "lib/exchange.h"
#include "passes/build.h"
#include "passes/expand.h"
#include "passes/pipeline.h"
#include "passes/splice.h"

enum { REGION_DEPTH_LIMIT = 128 };

typedef struct refusal {
  const hlo_node_t* node;  // NULL: an argument
  const char* cause;       // NULL: none found
} refusal_t;

// Returns why an op cannot be called, or depends on the process that runs it; NULL for a supported
// op.
static const char* refuse_op(const hlo_node_t* node) {
  uint32_t traits = hlo_op_info(node->op)->traits;
  if (traits & (HLO_TRAIT_TERMINATOR | HLO_TRAIT_STRUCTURED | HLO_TRAIT_CONSTANT)) return NULL;
  switch (node->op) {
    case HLO_OP_async_start:
    case HLO_OP_async_done:
    case HLO_OP_hlo_send_done:
    case HLO_OP_hlo_recv_done:
      return "the matching `done` or start is in another function or region";
    case HLO_OP_interpreter_run_parallel:
    case HLO_OP_interpreter_print:
    case HLO_OP_interpreter_probe:
    case HLO_OP_check_expect_serialized_eq: return "it talks to the interpreter";
    case HLO_OP_hlo_fusion:  // of pass outline_attention
    case HLO_OP_custom_call: return NULL;
    case HLO_OP_call:
    case HLO_OP_composite:
    case HLO_OP_sdy_manual_computation: return "its body cannot replace it";
    case HLO_OP_tuple:
    case HLO_OP_get_tuple_element: return "it works on tuples";
    default: return traits & HLO_TRAIT_CONTROL ? "the library has no function for it" : NULL;
  }
}

static const int64_t MAX_ELEMENTS = (int64_t)1 << 44;

static const char* refuse_type(const hlo_type_t* type) {
  if (type->kind == HLO_TYPE_TOKEN) return NULL;
  if (type->kind != HLO_TYPE_TENSOR) return "a value is neither tensor nor token";
  if (!hlo_type_is_static(type)) return "a shape is known only when running";
  // The reference reports where such a program fails.
  return hlo_type_element_count(type) > MAX_ELEMENTS ? "a value is too large for any memory" : NULL;
}

// Checks all ops of a region. Ops without loops or library function on their types are refused
// later (hlo_call_site_table_prepare()).
static void refuse_region(const hlo_region_t* region, uint32_t depth, refusal_t* out) {
  if (depth > REGION_DEPTH_LIMIT) out->cause = "regions are nested too deeply";
  for (uint32_t i = 0; i < region->arg_count && !out->cause; ++i) {
    out->cause = refuse_type(region->args[i]->type);
    out->node = region->parent;
  }
  for (const hlo_node_t* node = region->first; node && !out->cause; node = node->next) {
    out->node = node;
    out->cause = refuse_op(node);
    for (uint32_t i = 0; i < node->result_count && !out->cause; ++i) {
      out->cause = refuse_type(node->results[i].type);
    }
    for (uint32_t i = 0; i < node->region_count && !out->cause; ++i) {
      refuse_region(node->regions[i], depth + 1, out);
    }
  }
}

// ---- arguments with sub-byte elements

// Hosts may leave arbitrary values in the unused high bits; converting to a whole byte and back
// clears them.
static void extend_arguments(const hlo_func_t* func) {
  for (uint32_t i = 0; i < func->body->arg_count; ++i) {
    hlo_value_t* argument = func->body->args[i];
    const hlo_type_t* type = argument->type;
    if (type->kind != HLO_TYPE_TENSOR || !hlo_dtype_is_integer(type->dtype) ||
        hlo_dtype_info(type->dtype)->bits >= 8 || hlo_value_is_unused(argument)) {
      continue;
    }
    const hlo_dtype_t byte = hlo_dtype_is_signed(type->dtype) ? HLO_DTYPE_S8 : HLO_DTYPE_U8;
    hlo_node_t* first = func->body->first;
    hlo_value_t* wide = hlo_build_convert(first, byte, argument);
    hlo_value_t* narrow = hlo_build_node(first, HLO_OP_convert, type, 1, &wide, 0, NULL);
    if (!narrow) return;  // the module records the failure
    hlo_value_replace_uses(argument, narrow);
    hlo_node_set_operand(wide->def, 0, argument);
  }
}

static void describe(const hlo_module_t* module, const refusal_t* refusal, hlo_strbuf_t* out) {
  if (refusal->node) {
    hlo_loc_format(module, refusal->node->loc, out);
    hlo_strbuf_printf(out, ": %s: ", hlo_op_info(refusal->node->op)->name);
  }
  hlo_strbuf_puts(out, refusal->cause);
}

// Replaces a node whose body runs once on the operands with that body.
static void inline_body(hlo_node_t* node) {
  const hlo_node_t* end = hlo_region_terminator(node->regions[0]);
  if (!end || end->operand_count != node->result_count || !hlo_splice_own_body(node)) return;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_value_replace_uses(&node->results[i], hlo_node_operand(end, i));
  }
  hlo_node_erase(node);
}

// Removes the `done` half of a transfer that completes with its other half.
static void remove_done(hlo_node_t* node) {
  const hlo_value_t* begun = hlo_node_operand(node, 0);
  const hlo_node_t* tuple = begun->def && begun->def->op == HLO_OP_tuple ? begun->def : NULL;
  if (tuple ? tuple->operand_count < node->result_count : node->result_count != 1) return;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_value_t* value = tuple ? hlo_node_operand(tuple, i) : hlo_node_operand(node, 0);
    if (value->type != node->results[i].type) return;
    hlo_value_replace_uses(&node->results[i], value);
  }
  hlo_node_erase(node);
}

// Removes a node whose results are its operands: steps have an order without tokens.
static void pass_through(hlo_node_t* node) {
  if (node->operand_count < node->result_count) return;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (hlo_node_operand_type(node, i) != node->results[i].type) return;
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_value_replace_uses(&node->results[i], hlo_node_operand(node, i));
  }
  hlo_node_erase(node);
}

// Returns true for nodes that compute nothing: annotations for a partitioner, copies in HLO.
static bool is_passed_through(const hlo_node_t* node) {
  hlo_custom_function_t function;
  switch (node->op) {
    case HLO_OP_hlo_copy:
    case HLO_OP_hlo_domain:
    case HLO_OP_hlo_add_dependency: return true;
    case HLO_OP_custom_call:
      function = hlo_custom_function_of(node);
      return function == HLO_CUSTOM_identity || function == HLO_CUSTOM_nothing ||
             function == HLO_CUSTOM_control_dep || function == HLO_CUSTOM_pin;
    default: return false;
  }
}

// ---- asynchronous computations: executed at their start

// Returns the only node that completes `start`, past nodes that only query its progress.
static hlo_node_t* find_async_done(const hlo_node_t* start) {
  const hlo_use_t* use = start->results[0].uses;
  while (use && !use->next && use->user->op == HLO_OP_hlo_async_update) {
    use = use->user->results[0].uses;
  }
  return use && !use->next && use->user->op == HLO_OP_hlo_async_done ? use->user : NULL;
}

static hlo_node_t* build_call(hlo_node_t* start, const hlo_node_t* done) {
  hlo_module_t* module = start->parent->module;
  hlo_value_t** operands =
      hlo_arena_array(&module->arena, start->operand_count + 1, sizeof *operands);
  const hlo_type_t** types = hlo_arena_array(&module->arena, done->result_count + 1, sizeof *types);
  if (!operands || !types) return NULL;
  for (uint32_t i = 0; i < start->operand_count; ++i) operands[i] = hlo_node_operand(start, i);
  for (uint32_t i = 0; i < done->result_count; ++i) types[i] = done->results[i].type;
  const hlo_named_attr_t callee = {HLO_ATTR_callee, hlo_node_attr(start, HLO_ATTR_callee)};
  hlo_node_t* call =
      hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_call,
                                                 .loc = start->loc,
                                                 .operand_count = start->operand_count,
                                                 .operands = operands,
                                                 .attr_count = 1,
                                                 .attrs = &callee,
                                                 .result_count = done->result_count,
                                                 .result_types = types});
  if (hlo_node_is_poison(call)) return NULL;
  hlo_node_insert_before(start, call);
  return call;
}

static void inline_async(hlo_node_t* start) {
  hlo_node_t* done = find_async_done(start);
  const hlo_node_t* end =
      done && start->region_count == 1 ? hlo_region_terminator(start->regions[0]) : NULL;
  const hlo_node_t* call = NULL;
  if (end && end->operand_count == done->result_count && hlo_splice_own_body(start)) {
    for (uint32_t i = 0; i < done->result_count; ++i) {
      hlo_value_replace_uses(&done->results[i], hlo_node_operand(end, i));
    }
  } else if (done && start->region_count == 0 && hlo_node_attr(start, HLO_ATTR_callee) &&
             (call = build_call(start, done))) {
    for (uint32_t i = 0; i < done->result_count; ++i) {
      hlo_value_replace_uses(&done->results[i], &call->results[i]);
    }
  } else {
    return;
  }
  for (hlo_node_t* node = done; node != start;) {
    hlo_node_t* before = hlo_node_operand(node, 0)->def;
    hlo_node_erase(node);
    node = before;
  }
  hlo_node_erase(start);
}

// Sets *out_quantized if a value of the region has a quantized type.
static void inline_bodies(hlo_region_t* region, uint32_t depth, bool* out_quantized) {
  if (depth > REGION_DEPTH_LIMIT) return;  // refused later
  for (uint32_t i = 0; i < region->arg_count; ++i)
    *out_quantized |= region->args[i]->type->quant != NULL;
  for (hlo_node_t *node = region->last, *previous; node; node = previous) {
    for (uint32_t i = 0; i < node->result_count; ++i) {
      *out_quantized |= node->results[i].type->quant != NULL;
    }
    previous = node->prev;  // a `done` is replaced together with its start, which precedes it
    for (uint32_t i = 0; i < node->region_count; ++i)
      inline_bodies(node->regions[i], depth + 1, out_quantized);
    if (node->op == HLO_OP_hlo_async_start) inline_async(node);
    if (node->op == HLO_OP_hlo_fusion && node->region_count == 1) inline_body(node);
    if (is_passed_through(node)) pass_through(node);
    if (node->op == HLO_OP_hlo_send_done || node->op == HLO_OP_hlo_recv_done) remove_done(node);
  }
}

// Returns true if loops or the library compute a node.
static bool is_computed(const hlo_node_t* node) {
  if (node->op == HLO_OP_all_reduce || node->op == HLO_OP_reduce_scatter) {
    return hlo_exchange_can_reduce(node);
  }
  if (hlo_tiled_supports(node)) return true;
  hlo_arena_t arena;
  hlo_lib_call_t* call = NULL;
  hlo_arena_init(&arena, 0);
  hlo_status_release(hlo_lib_call_prepare(node, &arena, &call));
  const bool has_call = call != NULL;
  hlo_lib_call_deinit(call);
  hlo_arena_deinit(&arena);
  return has_call;
}

// Runs the native stage, and again while ops are left that have to be expanded.
static hlo_status_t lower_module(hlo_module_t* module, const hlo_pass_options_t* options) {
  enum { ROUNDS_MAX = 8 };  // expansions may need expansions, as bodies in bodies do
  const hlo_stage_options_t stage = {.passes = options ? *options : (hlo_pass_options_t){0}};
  bool has_changed = true;
  for (int i = 0; i < ROUNDS_MAX && has_changed; ++i) {
    HLO_TRY(hlo_stages_run(module, HLO_STAGE_NATIVE, HLO_STAGE_NATIVE, &stage));
    HLO_TRY(hlo_expand(module, options, is_computed, &has_changed));
  }
  return hlo_ok();
}

static hlo_status_t mark_memory(void* context, hlo_node_t* node) {
  hlo_module_t* module = node->parent->module;
  if (!hlo_node_is_collective(node) || !hlo_op_list_has(context, node->op)) return hlo_ok();
  const hlo_attr_t* extra =
      hlo_attr_dict_with(module, node->extra, "hlocc.collective_memory", hlo_attr_unit(module));
  if (extra) node->extra = extra;
  return hlo_module_status(module);
}

static hlo_status_t prepare_collectives(const hlo_func_t* func, const hlo_pass_options_t* options) {
  const char* sync = options ? options->sync_collectives : NULL;
  const char* memory = options ? options->collective_memory : NULL;
  HLO_TRY(hlo_op_list_check("sync_collectives", sync));
  HLO_TRY(hlo_op_list_check("collective_memory", memory));
  HLO_TRY(hlo_split_collectives(func->body, sync));
  if (!memory || !*memory) return hlo_ok();
  return hlo_module_walk(func->body->module, true, mark_memory, (void*)memory);
}

hlo_status_t hlo_prepare_module(const hlo_module_t* module, const char* name,
                                const hlo_pass_options_t* options, hlo_strbuf_t* out_refusal,
                                hlo_module_t** out_module) {
  *out_module = NULL;
  hlo_module_t* copy = NULL;
  bool is_quantized = false;
  HLO_TRY(hlo_module_clone(module, &copy));
  // Only the entry is called from outside the module: private functions are removed after inlining.
  for (hlo_func_t* func = copy->first_func; func; func = func->next) {
    func->visibility = func == hlo_module_find_func(copy, name) ? HLO_PUBLIC : HLO_PRIVATE;
    if (func->body) inline_bodies(func->body, 0, &is_quantized);
  }
  hlo_status_t status = is_quantized ? hlo_passes_run(copy, "lower_quantized", options) : hlo_ok();
  if (hlo_status_is_ok(status)) status = lower_module(copy, options);
  const hlo_func_t* func = hlo_module_find_func(copy, name);
  refusal_t refusal = {0};
  if (hlo_status_is_ok(status)) status = prepare_collectives(func, options);
  if (hlo_status_code(status) == HLO_STATUS_UNIMPLEMENTED) {
    hlo_strbuf_puts(out_refusal, hlo_status_message(status));
    refusal.cause = "";
    hlo_status_release(status);
    status = hlo_ok();
  } else if (hlo_status_is_ok(status)) {
    refuse_region(func->body, 0, &refusal);
    if (refusal.cause) describe(copy, &refusal, out_refusal);
  }
  if (hlo_status_is_ok(status) && !refusal.cause) {
    extend_arguments(func);
    status = hlo_module_status(copy);
  }
  if (hlo_status_is_ok(status) && !refusal.cause) {
    *out_module = copy;
  } else {
    hlo_module_release(copy);
  }
  return status;
}
