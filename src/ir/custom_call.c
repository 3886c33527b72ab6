// SPDX-License-Identifier: Apache-2.0
// The table of custom-call targets (see custom_call.h).
#include "ir/custom_call.h"

#include <string.h>

#include "ir/clone.h"

typedef struct target_row {
  const char* name;
  hlo_custom_function_t function;
} target_row_t;

static const target_row_t target_rows[] = {
#define HLO_CUSTOM_CALL(target, id) {target, HLO_CUSTOM_##id},
#include "ir/custom_calls.def"
};
enum { TARGET_COUNT = sizeof target_rows / sizeof target_rows[0] };

static const int8_t begun_from_of[HLO_CUSTOM_FUNCTION_COUNT] = {
#define HLO_CUSTOM_FUNCTION(id, begun_from) [HLO_CUSTOM_##id] = begun_from,
#include "ir/custom_calls.def"
};

const char* hlo_custom_call_target(const hlo_node_t* node) {
  const char* target = hlo_node_attr_text(node, HLO_ATTR_call_target_name);
  return target ? target : "";
}

hlo_custom_function_t hlo_custom_function_of(const hlo_node_t* node) {
  const char* target = hlo_custom_call_target(node);
  for (size_t i = 0; i < TARGET_COUNT; ++i) {
    if (strcmp(target_rows[i].name, target) == 0) return target_rows[i].function;
  }
  return HLO_CUSTOM_FUNCTION_COUNT;
}

bool hlo_custom_call_may_cover(const hlo_node_t* node, uint32_t result, uint32_t operand) {
  const hlo_custom_function_t function = hlo_custom_function_of(node);
  return function != HLO_CUSTOM_FUNCTION_COUNT && result == 0 &&
         begun_from_of[function] == (int64_t)operand;
}

uint32_t hlo_custom_call_count(void) {
  return TARGET_COUNT;
}

const char* hlo_custom_call_name(uint32_t index) {
  return target_rows[index].name;
}

// The names that JAX gives to debug.print, pure_callback and io_callback.
static bool is_python_callback(const char* target) {
  return strstr(target, "python") && strstr(target, "callback");
}

hlo_status_t hlo_custom_call_unknown(const hlo_node_t* node) {
  const char* target = hlo_custom_call_target(node);
  return hlo_node_error(
      node, HLO_STATUS_UNIMPLEMENTED, "no custom call target @%s%s", target,
      is_python_callback(target) ? ": programs cannot call back into Python" : "");
}

static hlo_status_t check_call(void* context, hlo_node_t* node) {
  (void)context;
  const bool is_known =
      node->op != HLO_OP_custom_call || hlo_custom_function_of(node) != HLO_CUSTOM_FUNCTION_COUNT;
  return is_known ? hlo_ok() : hlo_custom_call_unknown(node);
}

hlo_status_t hlo_custom_call_check(hlo_module_t* module) {
  return hlo_module_walk(module, false, check_call, NULL);
}

const hlo_attr_t* hlo_custom_call_config(const hlo_node_t* node) {
  const hlo_attr_t* config = hlo_node_attr(node, HLO_ATTR_backend_config);
  if (!config || config->kind != HLO_ATTR_KIND_DICT) {
    config = hlo_attr_dict_get(node->extra, "mhlo.backend_config");
  }
  return config && config->kind == HLO_ATTR_KIND_DICT ? config : NULL;
}

int64_t hlo_custom_call_int(const hlo_node_t* node, const char* key, int64_t fallback) {
  const hlo_attr_t* value = hlo_attr_dict_get(hlo_custom_call_config(node), key);
  return value && value->kind == HLO_ATTR_KIND_INT ? value->i : fallback;
}

bool hlo_custom_call_flag(const hlo_node_t* node, const char* key) {
  const hlo_attr_t* value = hlo_attr_dict_get(hlo_custom_call_config(node), key);
  return value && value->kind == HLO_ATTR_KIND_BOOL && value->i;
}
