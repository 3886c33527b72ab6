// SPDX-License-Identifier: Apache-2.0
// Attributes of arguments and results (see entry.h).
#include "ir/entry.h"

#include <string.h>

#include "base/memory_kind.h"

static const hlo_attr_t* get_attr(const hlo_attr_t* const* attrs, uint32_t number,
                                  const char* key) {
  return attrs ? hlo_attr_dict_get(attrs[number], key) : NULL;
}

const hlo_attr_t* hlo_func_argument_attr(const hlo_func_t* func, uint32_t number, const char* key) {
  return get_attr(func->arg_attrs, number, key);
}

const hlo_attr_t* hlo_func_result_attr(const hlo_func_t* func, uint32_t number, const char* key) {
  return get_attr(func->result_attrs, number, key);
}

static void set_attr(hlo_module_t* module, const hlo_attr_t*** attrs, uint32_t count,
                     uint32_t number, const char* key, const hlo_attr_t* value) {
  if (!*attrs) {
    if (!value) return;
    *attrs = hlo_arena_array(&module->arena, count, sizeof **attrs);
    if (!*attrs) return;
  }
  (*attrs)[number] = hlo_attr_dict_with(module, (*attrs)[number], key, value);
}

void hlo_func_set_argument_attr(hlo_func_t* func, uint32_t number, const char* key,
                                const hlo_attr_t* value) {
  set_attr(func->module, &func->arg_attrs, func->type->input_count, number, key, value);
}

void hlo_func_set_result_attr(hlo_func_t* func, uint32_t number, const char* key,
                              const hlo_attr_t* value) {
  const uint32_t count = func->type->element_count - func->type->input_count;
  set_attr(func->module, &func->result_attrs, count, number, key, value);
}

// ---- donation

const hlo_attr_t* hlo_func_argument_alias(const hlo_func_t* func, uint32_t argument) {
  return hlo_func_argument_attr(func, argument, "tf.aliasing_output");
}

bool hlo_func_argument_is_donor(const hlo_func_t* func, uint32_t argument) {
  const hlo_attr_t* donor = hlo_func_argument_attr(func, argument, "jax.buffer_donor");
  return donor && donor->kind == HLO_ATTR_KIND_BOOL && donor->i;
}

// Returns the memory kind that the attribute names; without one it is the device's.
static const char* memory_kind(const hlo_attr_t* attr) {
  return attr && attr->kind == HLO_ATTR_KIND_STRING ? attr->text
                                                    : hlo_memory_kind_name(HLO_MEMORY_DEVICE);
}

// The sizes in bytes and the kinds of memory must agree, and the dimensions must have the same
// order in memory: a result in another order cannot be computed in place.
static bool fits_result(const hlo_func_t* func, uint32_t argument, uint32_t result) {
  const hlo_type_t* const* types = func->type->elements;
  return hlo_type_size_bytes(types[argument]) ==
             hlo_type_size_bytes(types[func->type->input_count + result]) &&
         hlo_func_argument_attr(func, argument, HLO_LAYOUT_ATTR) ==
             hlo_func_result_attr(func, result, HLO_LAYOUT_ATTR) &&
         strcmp(memory_kind(hlo_func_argument_attr(func, argument, HLO_MEMORY_KIND_ATTR)),
                memory_kind(hlo_func_result_attr(func, result, HLO_MEMORY_KIND_ATTR))) == 0;
}

static void pair_donation(uint32_t argument, uint32_t result, uint32_t* results,
                          uint32_t* arguments) {
  results[argument] = result;
  arguments[result] = argument;
}

void hlo_func_pair_donations(const hlo_func_t* func, uint32_t* out_results,
                             uint32_t* out_arguments) {
  const uint32_t argument_count = func->type->input_count;
  const uint32_t result_count = func->type->element_count - argument_count;
  for (uint32_t a = 0; a < argument_count; ++a) out_results[a] = HLO_DONATED_NOWHERE;
  for (uint32_t r = 0; r < result_count; ++r) out_arguments[r] = HLO_DONATED_NOWHERE;
  for (uint32_t a = 0; a < argument_count; ++a) {
    const hlo_attr_t* alias = hlo_func_argument_alias(func, a);
    if (!alias || alias->kind != HLO_ATTR_KIND_INT || alias->i < 0 || alias->i >= result_count ||
        out_arguments[alias->i] != HLO_DONATED_NOWHERE) {
      continue;
    }
    pair_donation(a, (uint32_t)alias->i, out_results, out_arguments);
  }
  uint32_t next = 0;  // donors mostly come in the order of the results
  for (uint32_t a = 0; a < argument_count; ++a) {
    if (hlo_func_argument_alias(func, a) || !hlo_func_argument_is_donor(func, a)) continue;
    for (uint32_t i = 0; i < result_count; ++i) {
      const uint32_t r = (next + i) % result_count;
      if (out_arguments[r] != HLO_DONATED_NOWHERE || !fits_result(func, a, r)) continue;
      pair_donation(a, r, out_results, out_arguments);
      next = r + 1;
      break;
    }
  }
}

// Pairs a donor with a result of its size in another layout or memory: the memory is not reused,
// but XLA's clients would take it.
static bool takes_donor(const hlo_func_t* func, uint32_t argument, uint32_t* arguments) {
  const hlo_type_t* const* types = func->type->elements;
  const uint32_t count = func->type->input_count;
  for (uint32_t r = 0; r < func->type->element_count - count; ++r) {
    if (arguments[r] != HLO_DONATED_NOWHERE ||
        hlo_type_size_bytes(types[argument]) != hlo_type_size_bytes(types[count + r])) {
      continue;
    }
    arguments[r] = argument;
    return true;
  }
  return false;
}

hlo_status_t hlo_func_settle_donations(hlo_func_t* func) {
  const uint32_t count = func->type->input_count;
  HLO_SCOPED_ARENA scratch;
  hlo_arena_init(&scratch, 0);
  uint32_t* results = hlo_arena_array(&scratch, count, sizeof *results);
  uint32_t* arguments =
      hlo_arena_array(&scratch, func->type->element_count - count, sizeof *arguments);
  if (!results || !arguments) return hlo_arena_status(&scratch);
  hlo_func_pair_donations(func, results, arguments);
  for (uint32_t a = 0; a < count; ++a) {
    if (!hlo_func_argument_is_donor(func, a)) continue;
    const bool is_paired = results[a] != HLO_DONATED_NOWHERE;
    if (!is_paired && takes_donor(func, a, arguments)) continue;
    hlo_func_set_argument_attr(func, a, "jax.buffer_donor", NULL);
    if (!is_paired) continue;
    hlo_func_set_argument_attr(func, a, "tf.aliasing_output",
                               hlo_attr_int(func->module, HLO_DTYPE_S32, results[a]));
  }
  return hlo_module_status(func->module);
}
