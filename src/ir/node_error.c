// SPDX-License-Identifier: Apache-2.0
// Errors of single operations (see node_error.h).
#include "ir/node_error.h"

static void append_location(const hlo_node_t* node, hlo_strbuf_t* out) {
  if (node->parent && node->loc) {
    hlo_loc_format(hlo_region_module(node->parent), node->loc, out);
    hlo_strbuf_puts(out, ": ");
  }
  hlo_strbuf_puts(out, hlo_node_is_poison(node) ? "poison" : hlo_op_info(node->op)->name);
}

hlo_status_t hlo_node_error(const hlo_node_t* node, hlo_status_code_t code, const char* format,
                            ...) {
  hlo_strbuf_t location = {0};
  append_location(node, &location);
  va_list args;
  va_start(args, format);
  hlo_status_t status = hlo_status_createv(code, format, args);
  va_end(args);
  hlo_strbuf_t text = {0};
  hlo_strbuf_printf(&text, "%s: %s", hlo_strbuf_text(&location), hlo_status_message(status));
  hlo_status_release(status);
  status = hlo_status_create(code, "%s", hlo_strbuf_text(&text));
  hlo_strbuf_deinit(&text);
  hlo_strbuf_deinit(&location);
  return status;
}

hlo_status_t hlo_node_annotate(const hlo_node_t* node, hlo_status_t status) {
  if (hlo_status_is_ok(status)) return status;
  hlo_status_code_t code = hlo_status_code(status);
  hlo_status_t located = hlo_node_error(node, code, "%s", hlo_status_message(status));
  hlo_status_release(status);
  return located;
}
