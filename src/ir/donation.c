// SPDX-License-Identifier: Apache-2.0
// Donation attributes of arguments (see donation.h).
#include "ir/donation.h"

static const hlo_attr_t* argument_attr(const hlo_func_t* func, uint32_t argument,
                                       const char* name) {
  const hlo_attr_t* attrs = func->arg_attrs ? func->arg_attrs[argument] : NULL;
  return attrs ? hlo_attr_dict_get(attrs, name) : NULL;
}

const hlo_attr_t* hlo_func_argument_alias(const hlo_func_t* func, uint32_t argument) {
  return argument_attr(func, argument, "tf.aliasing_output");
}

bool hlo_func_argument_is_donor(const hlo_func_t* func, uint32_t argument) {
  const hlo_attr_t* donor = argument_attr(func, argument, "jax.buffer_donor");
  return donor && donor->kind == HLO_ATTR_KIND_BOOL && donor->i;
}

static void pair(uint32_t argument, uint32_t result, uint32_t* results, uint32_t* arguments) {
  results[argument] = result;
  arguments[result] = argument;
}

void hlo_func_pair_donations(const hlo_func_t* func, uint32_t* out_results,
                             uint32_t* out_arguments) {
  const hlo_type_t* const* types = func->type->elements;
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
    pair(a, (uint32_t)alias->i, out_results, out_arguments);
  }
  uint32_t next = 0;  // donors mostly come in the order of the results
  for (uint32_t a = 0; a < argument_count; ++a) {
    if (hlo_func_argument_alias(func, a) || !hlo_func_argument_is_donor(func, a)) continue;
    const size_t size_bytes = hlo_type_size_bytes(types[a]);
    for (uint32_t i = 0; i < result_count; ++i) {
      const uint32_t r = (next + i) % result_count;
      if (out_arguments[r] != HLO_DONATED_NOWHERE ||
          hlo_type_size_bytes(types[argument_count + r]) != size_bytes) {
        continue;
      }
      pair(a, r, out_results, out_arguments);
      next = r + 1;
      break;
    }
  }
}
