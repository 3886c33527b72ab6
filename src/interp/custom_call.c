// SPDX-License-Identifier: Apache-2.0
// Custom calls: first whoever evaluates is asked (FFI handlers, callbacks), then the table below.
#include "interp/custom_call.h"

#include <string.h>

#include "interp/check.h"
#include "interp/eval_impl.h"
#include "ir/clone.h"

#define REF_ARGUMENTS \
  hlo_eval_t *eval, const hlo_node_t *node, hlo_tensor_t **operands, hlo_tensor_t **results

static const double check_eq_tolerance = 1e-4;
static const double check_almost_tolerance = 1e-3;
enum { CHECK_CLOSE_ULP = 3 };

const hlo_attr_t* hlo_custom_call_config(const hlo_node_t* node) {
  const hlo_attr_t* config = hlo_node_attr(node, HLO_ATTR_backend_config);
  if (!config || config->kind != HLO_ATTR_KIND_DICT) {
    config = hlo_attr_dict_get(node->extra, "mhlo.backend_config");
  }
  return config && config->kind == HLO_ATTR_KIND_DICT ? config : NULL;
}

static const char* target_of(const hlo_node_t* node) {
  const char* target = hlo_node_attr_text(node, HLO_ATTR_call_target_name);
  return target ? target : "";
}

static hlo_status_t expect_operands(const hlo_node_t* node, uint32_t count) {
  if (node->operand_count == count) return hlo_ok();
  return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "@%s has %u operands, expected %u",
                        target_of(node), node->operand_count, count);
}

// ---- checks -------------------------------------------------------------------------------------

// A check that has a result answers true; a failed one is an error anyway.
static hlo_status_t check_pair(hlo_eval_t* eval, const hlo_node_t* node, const hlo_check_t* check,
                               hlo_tensor_t** operands, hlo_tensor_t** results) {
  HLO_TRY(expect_operands(node, 2));
  HLO_TRY(hlo_check_tensors(node, check, operands[0], operands[1]));
  for (uint32_t i = 0; i < node->result_count; ++i) {
    HLO_TRY(hlo_eval_result(eval, node, i, &results[i]));
    memset(results[i]->data, 1, results[i]->size_bytes);
  }
  return hlo_ok();
}

static hlo_status_t custom_check_eq(REF_ARGUMENTS) {
  hlo_check_t check = {.kind = HLO_CHECK_ALMOST, .tolerance = check_eq_tolerance};
  return check_pair(eval, node, &check, operands, results);
}

static hlo_status_t custom_check_expect_eq(REF_ARGUMENTS) {
  hlo_check_t check = {.kind = HLO_CHECK_EQUAL};
  return check_pair(eval, node, &check, operands, results);
}

static hlo_status_t custom_check_expect_almost_eq(REF_ARGUMENTS) {
  hlo_check_t check = {.kind = HLO_CHECK_ALMOST, .tolerance = check_almost_tolerance};
  return check_pair(eval, node, &check, operands, results);
}

static uint64_t ulp_attr(const hlo_node_t* node, const char* key, uint64_t fallback) {
  const hlo_attr_t* value = hlo_attr_dict_get(node->extra, key);
  if (!value) value = hlo_attr_dict_get(hlo_custom_call_config(node), key);
  return value && value->kind == HLO_ATTR_KIND_INT ? (uint64_t)value->i : fallback;
}

static hlo_status_t custom_check_expect_close(REF_ARGUMENTS) {
  hlo_check_t check = {.kind = HLO_CHECK_CLOSE,
                       .min_ulp = ulp_attr(node, "min_ulp_difference", 0),
                       .max_ulp = ulp_attr(node, "max_ulp_difference", CHECK_CLOSE_ULP)};
  return check_pair(eval, node, &check, operands, results);
}

// @shape_assertion(ok, values...): the message may name the values as {0}, {1} and so on.
static hlo_status_t custom_shape_assertion(REF_ARGUMENTS) {
  (void)eval, (void)results;
  if (!node->operand_count || operands[0]->kind != HLO_TYPE_TENSOR) return expect_operands(node, 1);
  if (hlo_tensor_int(operands[0], 0)) return hlo_ok();
  const hlo_attr_t* message = hlo_attr_dict_get(node->extra, "error_message");
  const char* format = message && message->text ? message->text : "shape assertion failed";
  hlo_strbuf_t text = {0};
  for (const char* c = format; *c; ++c) {
    uint32_t index = c[0] == '{' && c[1] >= '0' && c[1] <= '9' && c[2] == '}'
                         ? (uint32_t)(c[1] - '0') + 1
                         : 0;
    if (index && index < node->operand_count && operands[index]->kind == HLO_TYPE_TENSOR) {
      hlo_strbuf_printf(&text, "%lld", (long long)hlo_tensor_int(operands[index], 0));
      c += 2;
    } else {
      hlo_strbuf_putc(&text, *c);
    }
  }
  hlo_status_t status =
      hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "%s", hlo_strbuf_text(&text));
  hlo_strbuf_deinit(&text);
  return status;
}

// ---- annotations --------------------------------------------------------------------------------

// Notes to a partitioner: on one process the values themselves.
static hlo_status_t custom_identity(REF_ARGUMENTS) {
  (void)eval;
  if (node->operand_count < node->result_count) return expect_operands(node, node->result_count);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_type_t* type = node->results[i].type;
    bool is_alike = type->kind == operands[i]->kind && type->rank == operands[i]->rank;
    for (uint32_t d = 0; is_alike && d < type->rank; ++d) {
      is_alike = type->dims[d] < 0 || type->dims[d] == operands[i]->dims[d];
    }
    if (!is_alike) {
      return hlo_eval_error(node, HLO_STATUS_UNIMPLEMENTED,
                            "@%s changes a shape: the module has to be partitioned first",
                            target_of(node));
    }
  }
  for (uint32_t i = 0; i < node->result_count; ++i) results[i] = hlo_tensor_retain(operands[i]);
  return hlo_ok();
}

// Pin, Unpin: an array becomes a buffer, and a buffer an array. CreateBuffer has no operand: zeros.
// Values never change here, so that a copy is what in-place updates need.
static hlo_status_t custom_pin(REF_ARGUMENTS) {
  if (node->result_count != 1 || node->operand_count > 1) return expect_operands(node, 1);
  const hlo_type_t* type = node->results[0].type;
  HLO_TRY(hlo_eval_result(eval, node, 0, &results[0]));
  if (node->operand_count == 0) {
    memset(results[0]->data, 0, results[0]->size_bytes);
    return hlo_ok();
  }
  if (operands[0]->dtype != type->dtype || operands[0]->size_bytes != results[0]->size_bytes) {
    return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "@%s changes a type", target_of(node));
  }
  memcpy(results[0]->data, operands[0]->data, results[0]->size_bytes);
  return hlo_ok();
}

static hlo_status_t custom_nothing(REF_ARGUMENTS) {
  (void)eval, (void)operands, (void)results;
  if (node->result_count == 0) return hlo_ok();
  return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "@%s has no results", target_of(node));
}

// ---- the table ----------------------------------------------------------------------------------

typedef struct target {
  const char* name;
  hlo_ref_fn_t run;
  uint32_t begun_from;  // the operand that result 0 begins as a copy of, + 1; 0: none
} target_t;

// LAPACK's names: a letter for the type, two for the matrix (others if it is complex), the rest.
#define LAPACK_NAMED(real, complex, rest, function, from)                     \
  {"lapack_s" real rest "_ffi", hlo_custom_lapack_##function, from},          \
      {"lapack_d" real rest "_ffi", hlo_custom_lapack_##function, from},      \
      {"lapack_c" complex rest "_ffi", hlo_custom_lapack_##function, from}, { \
    "lapack_z" complex rest "_ffi", hlo_custom_lapack_##function, from        \
  }
#define LAPACK(matrix, rest, function, from) LAPACK_NAMED(matrix, matrix, rest, function, from)

static const target_t targets[] = {
    {"check.eq", custom_check_eq, 0},
    {"check.expect_eq", custom_check_expect_eq, 0},
    {"check.expect_close", custom_check_expect_close, 0},
    {"check.expect_almost_eq", custom_check_expect_almost_eq, 0},
    {"shape_assertion", custom_shape_assertion, 0},
    {"Sharding", custom_identity, 0},
    {"SPMDFullToShardShape", custom_identity, 0},
    {"SPMDShardToFullShape", custom_identity, 0},
    {"LayoutConstraint", custom_identity, 0},
    {"annotate_device_placement", custom_identity, 0},
    {"MoveToHost", custom_identity, 0},
    {"MoveToDevice", custom_identity, 0},
    {"PinToHost", custom_identity, 0},
    {"PinToDevice", custom_identity, 0},
    {"xla.sdy.FuncResultSharding", custom_identity, 0},
    {"xla.sdy.PropagationBarrier", custom_identity, 0},
    {"xla.sdy.ShardingGroup", custom_nothing, 0},
    {"xla.sdy.GlobalToLocalShape", custom_identity, 0},
    {"xla.sdy.LocalToGlobalShape", custom_identity, 0},
    {"Pin", custom_pin, 0},
    {"Unpin", custom_pin, 0},
    {"CreateBuffer", custom_pin, 0},
    {"dce_sink", custom_nothing, 0},
    {"InspectSharding", custom_nothing, 0},
    {"TopK", hlo_custom_topk, 0},
    {"mhlo.topk", hlo_custom_topk, 0},
    {"ApproxTopK", hlo_custom_approx_topk, 0},
    {"mhlo.acos", hlo_ref_chlo_acos, 0},
    {"mhlo.acosh", hlo_ref_chlo_acosh, 0},
    {"mhlo.asin", hlo_ref_chlo_asin, 0},
    {"mhlo.asinh", hlo_ref_chlo_asinh, 0},
    {"mhlo.atanh", hlo_ref_chlo_atanh, 0},
    {"mhlo.cosh", hlo_ref_chlo_cosh, 0},
    {"mhlo.erf", hlo_ref_chlo_erf, 0},
    {"mhlo.sinh", hlo_ref_chlo_sinh, 0},
    {"mhlo.tan", hlo_ref_chlo_tan, 0},
    LAPACK("po", "trf", potrf, 1),
    LAPACK("tr", "sm", trsm, 2),
    LAPACK("ge", "trf", getrf, 1),
    LAPACK("ge", "qrf", geqrf, 1),
    LAPACK_NAMED("or", "un", "gqr", orgqr, 1),
    LAPACK_NAMED("or", "un", "mqr", ormqr, 0),
    LAPACK("ge", "qp3", geqp3, 0),
    LAPACK_NAMED("sy", "he", "evd", syevd, 1),
    LAPACK_NAMED("sy", "he", "trd", sytrd, 1),
    LAPACK("ge", "sdd", gesdd, 0),
    LAPACK("ge", "svd", gesdd, 0),
    LAPACK("ge", "hrd", gehrd, 1),
    LAPACK("ge", "ev", geev, 0),
    LAPACK("ge", "es", gees, 0),
    LAPACK("gt", "sv", gtsv, 0),
    {"tridiagonal_solve_perturbed_ffi", hlo_custom_tridiagonal_solve_perturbed, 0},
};

uint32_t hlo_custom_call_count(void) {
  return sizeof(targets) / sizeof(targets[0]);
}

const char* hlo_custom_call_name(uint32_t index) {
  return targets[index].name;
}

static const target_t* find_target(const char* name) {
  for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); ++i) {
    if (strcmp(targets[i].name, name) == 0) return &targets[i];
  }
  return NULL;
}

hlo_ref_fn_t hlo_custom_call_find(const char* target) {
  const target_t* found = find_target(target);
  return found ? found->run : NULL;
}

bool hlo_custom_call_may_cover(const hlo_node_t* node, uint32_t result, uint32_t operand) {
  const target_t* found = find_target(target_of(node));
  return found && result == 0 && operand + 1 == found->begun_from;
}

// What JAX's debug.print, pure_callback and io_callback become, in several spellings.
static bool is_python_callback(const char* target) {
  return strstr(target, "python") && strstr(target, "callback");
}

static hlo_status_t unknown_target(const hlo_node_t* node) {
  const char* target = target_of(node);
  return hlo_eval_error(node, HLO_STATUS_UNIMPLEMENTED, "no custom call target @%s%s", target,
                        is_python_callback(target) ? ": programs cannot call back into Python"
                                                   : "");
}

hlo_status_t hlo_ref_custom_call(REF_ARGUMENTS) {
  const char* target = target_of(node);
  if (eval->options.custom_call) {
    bool is_handled = false, is_pending = false;
    hlo_status_t status =
        eval->options.custom_call(eval->options.custom_call_context, eval, node, operands, results,
                                  &eval->op_state, &is_handled, &is_pending);
    if (!hlo_status_is_ok(status)) return hlo_eval_annotate(node, status);
    if (is_pending) hlo_eval_suspend(eval);
    if (is_handled || is_pending) return hlo_ok();
  }
  hlo_ref_fn_t run = hlo_custom_call_find(target);
  return run ? run(eval, node, operands, results) : unknown_target(node);
}

static hlo_status_t check_call(void* context, hlo_node_t* node) {
  (void)context;
  bool is_known = node->op != HLO_OP_custom_call || hlo_custom_call_find(target_of(node));
  return is_known ? hlo_ok() : unknown_target(node);
}

hlo_status_t hlo_custom_call_check(hlo_module_t* module) {
  return hlo_module_walk(module, false, check_call, NULL);
}
