// SPDX-License-Identifier: Apache-2.0
// The table of custom-call targets (see custom_call.h).
#include "ir/custom_call.h"

#include <string.h>

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

bool hlo_custom_call_is_foreign(const hlo_node_t* node) {
  return node->op == HLO_OP_custom_call &&
         hlo_custom_function_of(node) == HLO_CUSTOM_FUNCTION_COUNT;
}

bool hlo_custom_call_is_per_part(const hlo_node_t* node) {
  return hlo_custom_function_of(node) == HLO_CUSTOM_control_dep ||
         strcmp(hlo_custom_call_target(node), "xla_ffi_partitioned_python_cpu_callback") == 0;
}

int64_t hlo_custom_call_aliased_operand(const hlo_node_t* node, uint32_t result) {
  const hlo_attr_t* aliases = hlo_node_attr(node, HLO_ATTR_output_operand_aliases);
  for (uint32_t i = 0; aliases && i < aliases->count; ++i) {
    const hlo_attr_t* output = hlo_attr_dict_get(aliases->items[i], "output_tuple_indices");
    const hlo_attr_t* operand = hlo_attr_dict_get(aliases->items[i], "operand_index");
    if (!output || !operand) continue;
    // A single result is not a tuple and needs no index.
    const int64_t index = output->count ? output->values[0] : 0;
    if (index == (int64_t)result && operand->i < (int64_t)node->operand_count) return operand->i;
  }
  return -1;
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

hlo_status_t hlo_custom_call_unknown(const hlo_node_t* node) {
  return hlo_node_error(node, HLO_STATUS_UNIMPLEMENTED, "no custom call target @%s",
                        hlo_custom_call_target(node));
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
