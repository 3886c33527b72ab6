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
