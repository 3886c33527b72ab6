// SPDX-License-Identifier: Apache-2.0
// Targets of custom_call that hlocc implements (custom_calls.def).
#pragma once

#include "ir/module.h"

typedef enum hlo_custom_function {
#define HLO_CUSTOM_FUNCTION(id, begun_from) HLO_CUSTOM_##id,
#include "ir/custom_calls.def"
  HLO_CUSTOM_FUNCTION_COUNT,
} hlo_custom_function_t;

/// Returns the function that a custom_call names; HLO_CUSTOM_FUNCTION_COUNT if the target is
/// unknown.
hlo_custom_function_t hlo_custom_function_of(const hlo_node_t* node);
/// Returns true for a custom_call whose target hlocc does not implement: a foreign function, which
/// the runtime finds and calls.
bool hlo_custom_call_is_foreign(const hlo_node_t* node);
/// Returns true for a call that each device makes with its own parts of the operands, however these
/// are divided: a Python callback that wants parts, or a control dependency.
bool hlo_custom_call_is_per_part(const hlo_node_t* node);
/// Returns the operand in whose memory a foreign function expects result `result`; -1: none.
int64_t hlo_custom_call_aliased_operand(const hlo_node_t* node, uint32_t result);
/// Returns the target that a custom_call names; "" if it names none.
const char* hlo_custom_call_target(const hlo_node_t* node);
/// Returns true if result `result` begins as a copy of operand `operand` and may be written over
/// it.
bool hlo_custom_call_may_cover(const hlo_node_t* node, uint32_t result, uint32_t operand);
/// The targets of the table, to list them.
uint32_t hlo_custom_call_count(void);
const char* hlo_custom_call_name(uint32_t index);

/// Returns the error of a call whose target is unknown.
hlo_status_t hlo_custom_call_unknown(const hlo_node_t* node) HLO_MUST_USE;

/// Returns the dictionary of the call: backend_config if it is a dictionary, else the discardable
/// attribute that carries typed-FFI attributes through StableHLO. NULL if the call has neither.
const hlo_attr_t* hlo_custom_call_config(const hlo_node_t* node);
/// Returns an entry of that dictionary as an integer (including LAPACK's letters, which are sent as
/// ui8), or `fallback` if the entry is absent or not an integer.
int64_t hlo_custom_call_int(const hlo_node_t* node, const char* key, int64_t fallback);
static inline char hlo_custom_call_char(const hlo_node_t* node, const char* key, char fallback) {
  return (char)hlo_custom_call_int(node, key, fallback);
}
/// Returns an entry as a boolean; false if the entry is absent or not a boolean.
bool hlo_custom_call_flag(const hlo_node_t* node, const char* key);
