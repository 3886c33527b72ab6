// SPDX-License-Identifier: Apache-2.0
// Layouts and host memory of an entry computation as attributes of its function (see build.h). The
// layouts of other instructions are hints for a compiler and have no meaning.
#include <string.h>

#include "base/memory_kind.h"
#include "base/shape.h"
#include "frontend/hlo/build.h"
#include "ir/entry.h"

// A walk over the leaves of shapes and, in parallel, the arguments or results of a function.
typedef struct leaves {
  hlo_func_t* func;
  bool is_result;
  uint32_t next, count;
} leaves_t;

static hlo_status_t misfit(const leaves_t* leaves) {
  return hlo_invalid_argument("entry_computation_layout: the %s do not match the entry computation",
                              leaves->is_result ? "results" : "parameters");
}

static void print_tiles(const hlo_desc_layout_t* layout, hlo_strbuf_t* out) {
  const hlo_desc_tile_t* tiles = layout->tiles.items;
  if (layout->tiles.count) hlo_strbuf_putc(out, 'T');
  for (size_t i = 0; i < layout->tiles.count; ++i) {
    hlo_dim_order_print_tile(tiles[i].dimensions.count, tiles[i].dimensions.items, out);
  }
}

enum { HOST_MEMORY_TEXT_BYTES = 4 };
static const char kHostMemoryText[HOST_MEMORY_TEXT_BYTES + 1] = "S(5)";

// Takes host memory out of the layout; returns true if the array is there.
static bool take_host_memory(hlo_desc_layout_t* layout) {
  hlo_wire_bytes_t* text = &layout->properties;
  const bool ends_so = text->size >= HOST_MEMORY_TEXT_BYTES &&
                       memcmp(text->data + text->size - HOST_MEMORY_TEXT_BYTES, kHostMemoryText,
                              HOST_MEMORY_TEXT_BYTES) == 0;
  if (ends_so) text->size -= HOST_MEMORY_TEXT_BYTES;
  return ends_so || layout->memory_space == HLO_DESC_HOST_MEMORY_SPACE;
}

// "{0,1:T(8,128)}"
static void print_layout(const hlo_desc_layout_t* layout, hlo_strbuf_t* out) {
  hlo_dim_order_print(layout->minor_to_major.count, layout->minor_to_major.items, out);
  if (!layout->tiles.count && !layout->properties.size) return;
  if (out->length) --out->length;  // continue before the brace
  hlo_strbuf_putc(out, ':');
  print_tiles(layout, out);
  hlo_strbuf_append(out, (const char*)layout->properties.data, layout->properties.size);
  hlo_strbuf_putc(out, '}');
}

// Keeps only the order if the rest of the text has no effect, and nothing if it is row-major.
// Layouts with tiles are kept, so that a later check can refuse them.
static hlo_status_t simplify(uint32_t rank, hlo_strbuf_t* text) {
  int64_t order[HLO_RANK_MAX];
  hlo_status_t status = hlo_dim_order_parse(hlo_strbuf_text(text), rank, order);
  const bool is_order = hlo_status_is_ok(status);
  if (hlo_status_code(status) == HLO_STATUS_INVALID_ARGUMENT) return status;
  hlo_status_release(status);
  if (is_order) text->length = 0;
  if (is_order && !hlo_dim_order_is_row_major(rank, order)) hlo_dim_order_print(rank, order, text);
  return hlo_ok();
}

static void mark_host_memory(hlo_func_t* func, bool is_result, uint32_t number) {
  const char* name = hlo_memory_kind_name(HLO_MEMORY_PINNED_HOST);
  const hlo_attr_t* kind = hlo_attr_string(func->module, name, strlen(name));
  if (is_result) {
    hlo_func_set_result_attr(func, number, HLO_MEMORY_KIND_ATTR, kind);
  } else {
    hlo_func_set_argument_attr(func, number, HLO_MEMORY_KIND_ATTR, kind);
  }
}

static hlo_status_t mark_leaf(leaves_t* leaves, const hlo_desc_shape_t* shape) {
  if (leaves->next >= leaves->count) return misfit(leaves);
  const uint32_t number = leaves->next++;
  hlo_func_t* func = leaves->func;
  const uint32_t first = leaves->is_result ? func->type->input_count : 0;
  const hlo_type_t* type = func->type->elements[first + number];
  const hlo_desc_layout_t* layout = shape->layout;
  if (!layout || !hlo_type_is_tensor(type)) return hlo_ok();
  if (layout->minor_to_major.count == 0 && type->rank != 0) return hlo_ok();
  hlo_desc_layout_t rest = *layout;
  if (take_host_memory(&rest)) mark_host_memory(func, leaves->is_result, number);
  HLO_SCOPED_STRBUF text = {0};
  print_layout(&rest, &text);
  hlo_status_t status = hlo_strbuf_status(&text);
  if (hlo_status_is_ok(status)) status = simplify(type->rank, &text);
  if (hlo_status_is_ok(status) && text.length) {
    const hlo_attr_t* mode = hlo_attr_string(func->module, text.data, text.length);
    if (leaves->is_result) {
      hlo_func_set_result_attr(func, number, HLO_LAYOUT_MODE_ATTR, mode);
    } else {
      hlo_func_set_argument_attr(func, number, HLO_LAYOUT_MODE_ATTR, mode);
    }
  }
  if (hlo_status_is_ok(status)) status = hlo_module_status(func->module);
  HLO_TRY_MSG(status, "%s %u of the entry computation", leaves->is_result ? "result" : "parameter",
              number);
  return hlo_ok();
}

static hlo_status_t mark_shape(leaves_t* leaves, const hlo_desc_shape_t* shape) {
  if (shape->element_type != HLO_DESC_TUPLE) return mark_leaf(leaves, shape);
  const hlo_desc_shape_t* items = shape->tuple_shapes.items;
  for (size_t i = 0; i < shape->tuple_shapes.count; ++i) HLO_TRY(mark_shape(leaves, &items[i]));
  return hlo_ok();
}

hlo_status_t hlo_desc_mark_layouts(hlo_desc_builder_t* b, hlo_func_t* entry,
                                   const hlo_desc_instruction_t* const* parameters,
                                   uint32_t parameter_count, const hlo_desc_instruction_t* root) {
  const hlo_desc_program_shape_t* given = b->desc->shape;
  const uint32_t inputs = entry->type->input_count;
  leaves_t arguments = {entry, false, 0, inputs};
  leaves_t results = {entry, true, 0, entry->type->element_count - inputs};
  const hlo_desc_shape_t* shapes = given ? given->parameters.items : NULL;
  const size_t count = given ? given->parameters.count : parameter_count;
  for (size_t i = 0; i < count; ++i) {
    HLO_TRY(mark_shape(&arguments, given ? &shapes[i] : parameters[i]->shape));
  }
  if (arguments.next != arguments.count) return misfit(&arguments);
  const hlo_desc_shape_t* result = given ? given->result : root->shape;
  if (!result) return hlo_ok();
  HLO_TRY(mark_shape(&results, result));
  return results.next == results.count ? hlo_ok() : misfit(&results);
}
