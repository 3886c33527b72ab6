// SPDX-License-Identifier: Apache-2.0
// Attributes of arguments and results (see entry_layout.h).
#include "ir/entry_layout.h"

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
