// SPDX-License-Identifier: Apache-2.0
// Attributes of StableHLO from their fields (see attrs.h).
#include "frontend/stablehlo/attrs.h"

#include <string.h>

static hlo_status_t finish(hlo_module_t* module, hlo_strbuf_t* text, const hlo_attr_t** out) {
  hlo_status_t status = hlo_strbuf_status(text);
  if (hlo_status_is_ok(status)) {
    *out = hlo_attr_opaque(module, hlo_strbuf_text(text), text->length);
    status = hlo_module_status(module);
  }
  hlo_strbuf_deinit(text);
  return status;
}

void hlo_text_put_quoted(hlo_strbuf_t* text, const char* string, size_t length) {
  hlo_strbuf_putc(text, '"');
  for (size_t i = 0; i < length; ++i) {
    unsigned char c = (unsigned char)string[i];
    if (c == '"' || c == '\\' || c < 0x20 || c >= 0x7f) {
      hlo_strbuf_printf(text, "\\%02X", c);
    } else {
      hlo_strbuf_putc(text, (char)c);
    }
  }
  hlo_strbuf_putc(text, '"');
}

void hlo_text_put_ints(hlo_strbuf_t* text, uint32_t count, const int64_t* values) {
  hlo_strbuf_putc(text, '[');
  for (uint32_t i = 0; i < count; ++i) {
    hlo_strbuf_printf(text, i ? ", %lld" : "%lld", (long long)values[i]);
  }
  hlo_strbuf_putc(text, ']');
}

// Returns `text` without a leading "#stablehlo.<mnemonic>".
static const char* without_mnemonic(const char* text, char open) {
  const char* start = strchr(text, open);
  return start ? start : text;
}

hlo_status_t hlo_make_output_operand_alias(hlo_module_t* module, uint32_t output_count,
                                           const int64_t* output_indices, int64_t operand,
                                           uint32_t operand_count, const int64_t* operand_indices,
                                           const hlo_attr_t** out) {
  static const char* const keys[] = {"output_tuple_indices", "operand_index",
                                     "operand_tuple_indices"};
  const hlo_attr_t* items[] = {hlo_attr_ints(module, output_count, output_indices),
                               hlo_attr_int(module, HLO_DTYPE_S64, operand),
                               hlo_attr_ints(module, operand_count, operand_indices)};
  HLO_TRY(hlo_module_status(module));
  *out = hlo_attr_dict(module, 3, keys, items);
  return hlo_module_status(module);
}

hlo_status_t hlo_make_result_accuracy(hlo_module_t* module, double atol, double rtol, int64_t ulps,
                                      const hlo_attr_t* mode, const hlo_attr_t** out) {
  static const char* const keys[] = {"atol", "rtol", "ulps", "mode"};
  const hlo_attr_t* items[] = {hlo_attr_float(module, HLO_DTYPE_F64, atol),
                               hlo_attr_float(module, HLO_DTYPE_F64, rtol),
                               hlo_attr_int(module, HLO_DTYPE_S64, ulps), mode};
  HLO_TRY(hlo_module_status(module));
  *out = hlo_attr_dict(module, 4, keys, items);
  return hlo_module_status(module);
}

bool hlo_is_default_accuracy(const hlo_attr_t* accuracy) {
  const hlo_attr_t* atol = hlo_attr_dict_get(accuracy, "atol");
  const hlo_attr_t* rtol = hlo_attr_dict_get(accuracy, "rtol");
  const hlo_attr_t* ulps = hlo_attr_dict_get(accuracy, "ulps");
  const hlo_attr_t* mode = hlo_attr_dict_get(accuracy, "mode");
  return atol && rtol && ulps && mode && atol->f == 0 && rtol->f == 0 && ulps->i == 0 &&
         mode->i == HLO_RESULT_ACCURACY_MODE_DEFAULT;
}

hlo_status_t hlo_make_sub_axis_info(hlo_module_t* module, int64_t pre_size, int64_t size,
                                    const hlo_attr_t** out) {
  hlo_strbuf_t text = {0};
  hlo_strbuf_printf(&text, "#stablehlo.sub_axis_info(%lld)%lld", (long long)pre_size,
                    (long long)size);
  return finish(module, &text, out);
}

hlo_status_t hlo_make_axis_ref(hlo_module_t* module, const hlo_attr_t* name, const hlo_attr_t* info,
                               const hlo_attr_t** out) {
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text, "#stablehlo.axis_ref<name = ");
  hlo_text_put_quoted(&text, name->text, name->text_length);
  if (info) hlo_strbuf_printf(&text, ", sub_axis_info = %s", without_mnemonic(info->text, '('));
  hlo_strbuf_putc(&text, '>');
  return finish(module, &text, out);
}

hlo_status_t hlo_make_mesh_axis(hlo_module_t* module, const hlo_attr_t* name, int64_t size,
                                const hlo_attr_t** out) {
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text, "#stablehlo.mesh_axis<name = ");
  hlo_text_put_quoted(&text, name->text, name->text_length);
  hlo_strbuf_printf(&text, ", size = %lld>", (long long)size);
  return finish(module, &text, out);
}

static void put_device_ids(hlo_strbuf_t* text, const hlo_literal_t* ids) {
  hlo_strbuf_puts(text, ", device_ids = dense<[");
  for (int64_t i = 0; i < ids->element_count; ++i) {
    long long id = (long long)hlo_dtype_load_int64(ids->dtype, hlo_literal_element(ids, i));
    hlo_strbuf_printf(text, i ? ", %lld" : "%lld", id);
  }
  hlo_strbuf_printf(text, "]> : tensor<%lldx%s>", (long long)ids->element_count,
                    hlo_dtype_info(ids->dtype)->mlir_name);
}

hlo_status_t hlo_make_mesh(hlo_module_t* module, const hlo_attr_t* axes,
                           const hlo_attr_t* device_ids, const hlo_attr_t** out) {
  enum { DEVICE_IDS_MAX = 1 << 20 };
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text, "#stablehlo.mesh<axes=[");
  for (uint32_t i = 0; i < axes->count; ++i) {
    const hlo_attr_t* axis = axes->items[i];
    if (i) hlo_strbuf_puts(&text, ", ");
    if (axis->kind == HLO_ATTR_KIND_OPAQUE)
      hlo_strbuf_puts(&text, without_mnemonic(axis->text, '<'));
  }
  hlo_strbuf_putc(&text, ']');
  if (device_ids && device_ids->kind == HLO_ATTR_KIND_LITERAL &&
      hlo_dtype_is_integer(device_ids->literal->dtype) &&
      device_ids->literal->element_count <= DEVICE_IDS_MAX) {
    put_device_ids(&text, device_ids->literal);
  }
  hlo_strbuf_putc(&text, '>');
  return finish(module, &text, out);
}

hlo_status_t hlo_make_replica_group_mesh_axes(hlo_module_t* module, const hlo_attr_t* mesh,
                                              const hlo_attr_t* axes, const hlo_attr_t** out) {
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text, "#stablehlo.replica_group_mesh_axes<mesh = ");
  if (mesh->kind == HLO_ATTR_KIND_STRING || mesh->kind == HLO_ATTR_KIND_SYMBOL) {
    hlo_strbuf_putc(&text, '@');
  }
  hlo_strbuf_puts(&text, mesh->text ? mesh->text : "");
  hlo_strbuf_puts(&text, ", axes = [");
  for (uint32_t i = 0; i < axes->count; ++i) {
    if (i) hlo_strbuf_puts(&text, ", ");
    hlo_strbuf_puts(&text, axes->items[i]->text ? axes->items[i]->text : "");
  }
  hlo_strbuf_puts(&text, "]>");
  return finish(module, &text, out);
}
