// SPDX-License-Identifier: Apache-2.0
// Layouts of compile options (see layouts.h).
#include "compiler/layouts.h"

#include <string.h>

#include "base/dim_order.h"
#include "ir/entry_layout.h"

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
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                             "the compile options have layouts of %zu %ss, the program has %u",
                             side->layout_count, side->what, side->type_count);
  }
  for (uint32_t i = 0; i < side->type_count; ++i) {
    if (is_array_of(&side->layouts[i], side->types[i])) continue;
    return hlo_status_create(
        HLO_STATUS_INVALID_ARGUMENT,
        "the layout of %s %u in the compile options is for another array than the program has",
        side->what, i);
  }
  return hlo_ok();
}

// Returns the attribute that requests a layout; NULL when memory is exhausted.
static const hlo_attr_t* mode_attr(hlo_module_t* module, const hlo_array_layout_t* layout) {
  hlo_strbuf_t text = {0};
  hlo_dim_order_print(layout->rank, layout->minor_to_major, &text);
  module->arena.failed |= text.failed;
  const hlo_attr_t* attr = hlo_attr_string(module, hlo_strbuf_text(&text), text.length);
  hlo_strbuf_deinit(&text);
  return attr;
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

hlo_status_t hlo_layouts_apply(hlo_func_t* entry, const hlo_compile_options_t* options) {
  const hlo_type_t* type = entry->type;
  const side_t arguments = {"argument", options->argument_layouts, options->argument_layout_count,
                            type->elements, type->input_count};
  const side_t results = {"result", options->result_layouts, options->result_layout_count,
                          type->elements + type->input_count,
                          type->element_count - type->input_count};
  HLO_TRY(apply_side(entry, &arguments, hlo_func_set_argument_attr));
  return apply_side(entry, &results, hlo_func_set_result_attr);
}
