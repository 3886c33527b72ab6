// SPDX-License-Identifier: Apache-2.0
// Attributes of the Shardy dialect in bytecode. The IR carries them as text, so each is decoded to
// the text that MLIR prints; nested attributes are printed without their "#sdy.<mnemonic>".
// source : Shardy bytecode.td (codes and field orders), attrs.td and printers (text)
#include <string.h>

#include "frontend/bytecode/reader.h"
#include "frontend/stablehlo/attrs.h"
#include "ir/sharding.h"

enum sdy_attr_code {
  ATTR_MANUAL_AXES,
  ATTR_MESH_AXIS,
  ATTR_MESH,
  ATTR_SUB_AXIS_INFO,
  ATTR_AXIS_REF,
  ATTR_DIMENSION_SHARDING,
  ATTR_TENSOR_SHARDING,
  ATTR_TENSOR_SHARDING_PER_VALUE,
  ATTR_DIM_MAPPING,
  ATTR_TENSOR_MAPPING,
  ATTR_OP_SHARDING_RULE,
  ATTR_AXIS_REF_LIST,
  ATTR_LIST_OF_AXIS_REF_LISTS,
  ATTR_ALL_TO_ALL_PARAM,
  ATTR_ALL_TO_ALL_PARAM_LIST,
  ATTR_TENSOR_SHARDING_UNREDUCED,
  ATTR_TENSOR_SHARDING_PER_VALUE_UNREDUCED,
  ATTR_TENSOR_SHARDING_REDUCTION_OP,
};

static const char* const mnemonics[] = {"manual_axes",
                                        "mesh_axis",
                                        "mesh",
                                        "sub_axis_info",
                                        "axis_ref",
                                        "dimension_sharding",
                                        "sharding",
                                        "sharding_per_value",
                                        "dim_mapping",
                                        "tensor_mapping",
                                        "op_sharding_rule",
                                        "axis_ref_list",
                                        "list_of_axis_ref_lists",
                                        "all_to_all_param",
                                        "all_to_all_param_list",
                                        "sharding",
                                        "sharding_per_value",
                                        "sharding"};

// Appends the text of an sdy attribute after "#sdy<" or "#sdy." and its mnemonic.
static hlo_status_t put_stripped(const hlo_bc_cursor_t* c, const hlo_attr_t* attr,
                                 const char* mnemonic, hlo_strbuf_t* text) {
  size_t length = strlen(mnemonic);
  bool in_brackets = strncmp(attr->text, "#sdy<", 5) == 0;
  if ((!in_brackets && strncmp(attr->text, "#sdy.", 5) != 0) || attr->text_length < 5 + length ||
      strncmp(attr->text + 5, mnemonic, length) != 0) {
    return hlo_bc_error(c, "expected a %s attribute", mnemonic);
  }
  hlo_strbuf_append(text, attr->text + 5 + length, attr->text_length - 5 - length - in_brackets);
  return hlo_ok();
}

// Reads a list of attributes of one kind and appends them, separated by ", ".
static hlo_status_t put_list(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, const char* mnemonic,
                             uint32_t* out_count, hlo_strbuf_t* text) {
  HLO_TRY(hlo_bc_count(c, 1, out_count));
  for (uint32_t i = 0; i < *out_count; ++i) {
    const hlo_attr_t* item;
    HLO_TRY(hlo_bc_read_attr_of(reader, c, HLO_ATTR_KIND_OPAQUE, mnemonic, &item));
    if (i) hlo_strbuf_puts(text, ", ");
    HLO_TRY(put_stripped(c, item, mnemonic, text));
    if (text->length > HLO_BC_TEXT_MAX_BYTES) return hlo_bc_error(c, "the attribute is too long");
  }
  return hlo_ok();
}

static hlo_status_t put_name(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_strbuf_t* text) {
  hlo_bc_string_t name;
  HLO_TRY(hlo_bc_read_string(reader, c, &name));
  hlo_text_put_quoted(text, name.text, name.length);
  return hlo_ok();
}

static hlo_status_t put_manual_axes(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                    hlo_strbuf_t* text) {
  uint32_t count;
  HLO_TRY(hlo_bc_count(c, 1, &count));
  hlo_strbuf_putc(text, '{');
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_attr_t* name;
    HLO_TRY(hlo_bc_read_attr_of(reader, c, HLO_ATTR_KIND_STRING, "axis name", &name));
    if (i) hlo_strbuf_puts(text, ", ");
    hlo_text_put_quoted(text, name->text, name->text_length);
    if (text->length > HLO_BC_TEXT_MAX_BYTES) return hlo_bc_error(c, "the attribute is too long");
  }
  hlo_strbuf_putc(text, '}');
  return hlo_ok();
}

static hlo_status_t put_mesh(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_strbuf_t* text) {
  uint32_t count;
  int64_t* ids;
  hlo_strbuf_puts(text, "<[");
  HLO_TRY(put_list(reader, c, "mesh_axis", &count, text));
  hlo_strbuf_putc(text, ']');
  HLO_TRY(hlo_bc_read_svarints(reader, c, &count, &ids));
  if (count) {
    hlo_strbuf_puts(text, ", device_ids=");
    hlo_text_put_ints(text, count, ids);
  }
  hlo_strbuf_putc(text, '>');
  return hlo_ok();
}

static hlo_status_t put_axis_ref(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_strbuf_t* text) {
  const hlo_attr_t* info;
  HLO_TRY(put_name(reader, c, text));
  HLO_TRY(hlo_bc_read_optional_attr(reader, c, &info));
  if (!info) return hlo_ok();
  if (info->kind != HLO_ATTR_KIND_OPAQUE) return hlo_bc_error(c, "expected a sub-axis");
  hlo_strbuf_putc(text, ':');
  return put_stripped(c, info, "sub_axis_info", text);
}

static hlo_status_t put_dimension(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_strbuf_t* text) {
  uint32_t count;
  uint8_t is_closed;
  uint64_t priority;
  bool has_priority;
  hlo_strbuf_putc(text, '{');
  HLO_TRY(put_list(reader, c, "axis_ref", &count, text));
  HLO_TRY(hlo_bc_byte(c, &is_closed));
  HLO_TRY(hlo_bc_varint_flag(c, &priority, &has_priority));
  if (!is_closed) hlo_strbuf_puts(text, count ? ", ?" : "?");
  hlo_strbuf_putc(text, '}');
  if (has_priority) hlo_strbuf_printf(text, "p%llu", (unsigned long long)priority);
  return hlo_ok();
}

static hlo_status_t put_axes(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, const char* keyword,
                             hlo_strbuf_t* text) {
  size_t start = text->length;
  uint32_t count;
  hlo_strbuf_printf(text, ", %s={", keyword);
  HLO_TRY(put_list(reader, c, "axis_ref", &count, text));
  hlo_strbuf_putc(text, '}');
  if (count == 0 && !text->failed) {  // both are absent
    text->length = start;
    text->data[start] = 0;
  }
  return hlo_ok();
}

// Unreduced axes, and then the number of the op that combines the parts.
static hlo_status_t put_unreduced(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_strbuf_t* text) {
  static const char* const keywords[] = {"unreduced=", "unreduced=max", "unreduced=min"};
  HLO_SCOPED_STRBUF axes = {0};
  uint32_t count;
  int64_t op;
  HLO_TRY(put_list(reader, c, "axis_ref", &count, &axes));
  HLO_TRY(hlo_bc_svarint(c, &op));
  if (op < 0 || op > 2) return hlo_bc_error(c, "reduction %lld is unknown", (long long)op);
  if (count) hlo_strbuf_printf(text, ", %s{%s}", keywords[op], hlo_strbuf_text(&axes));
  return hlo_strbuf_status(&axes);
}

static hlo_status_t put_sharding(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint64_t code,
                                 hlo_strbuf_t* text) {
  const hlo_attr_t* mesh;
  uint32_t count;
  HLO_TRY(hlo_bc_read_attr(reader, c, &mesh));
  hlo_strbuf_putc(text, '<');
  if (mesh->kind == HLO_ATTR_KIND_SYMBOL) {
    hlo_strbuf_printf(text, "@%s", mesh->text);
  } else if (mesh->kind == HLO_ATTR_KIND_OPAQUE) {
    hlo_strbuf_puts(text, "mesh");
    HLO_TRY(put_stripped(c, mesh, "mesh", text));
  } else {
    return hlo_bc_error(c, "a sharding on something that is not a mesh");
  }
  hlo_strbuf_puts(text, ", [");
  HLO_TRY(put_list(reader, c, "dimension_sharding", &count, text));
  hlo_strbuf_putc(text, ']');
  HLO_TRY(put_axes(reader, c, "replicated", text));
  if (code == ATTR_TENSOR_SHARDING_UNREDUCED) HLO_TRY(put_axes(reader, c, "unreduced", text));
  if (code == ATTR_TENSOR_SHARDING_REDUCTION_OP) HLO_TRY(put_unreduced(reader, c, text));
  hlo_strbuf_putc(text, '>');
  return hlo_ok();
}

static hlo_status_t put_factors(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, const char* keyword,
                                hlo_strbuf_t* text) {
  uint32_t count;
  int64_t* factors;
  HLO_TRY(hlo_bc_read_svarints(reader, c, &count, &factors));
  if (count == 0) return hlo_ok();
  if (keyword) hlo_strbuf_printf(text, " %s={", keyword);
  for (uint32_t i = 0; i < count; ++i) {
    if (factors[i] < 0) return hlo_bc_error(c, "factor %lld", (long long)factors[i]);
    if (i && keyword) hlo_strbuf_puts(text, ", ");
    hlo_factor_print(factors[i], text);
  }
  if (keyword) hlo_strbuf_putc(text, '}');
  return hlo_ok();
}

static hlo_status_t put_rule(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_strbuf_t* text) {
  static const char* const kinds[] = {"reduction", "need_replication", "permutation",
                                      "blocked_propagation"};
  uint32_t count, size_count;
  int64_t* sizes;
  uint8_t is_custom;
  HLO_TRY(hlo_bc_read_svarints(reader, c, &size_count, &sizes));
  hlo_strbuf_puts(text, "<(");
  HLO_TRY(put_list(reader, c, "tensor_mapping", &count, text));
  hlo_strbuf_puts(text, ")->(");
  HLO_TRY(put_list(reader, c, "tensor_mapping", &count, text));
  hlo_strbuf_putc(text, ')');
  for (uint32_t i = 0; i < size_count; ++i) {
    hlo_strbuf_puts(text, i ? ", " : " {");
    hlo_factor_print(i, text);
    hlo_strbuf_printf(text, "=%lld", (long long)sizes[i]);
  }
  if (size_count) hlo_strbuf_putc(text, '}');
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    HLO_TRY(put_factors(reader, c, kinds[i], text));
  }
  HLO_TRY(hlo_bc_byte(c, &is_custom));
  hlo_strbuf_puts(text, is_custom ? ", custom>" : ">");
  return hlo_ok();
}

static hlo_status_t put_sizes(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint64_t code,
                              hlo_strbuf_t* text) {
  int64_t first, second = 0;
  if (code == ATTR_MESH_AXIS) HLO_TRY(put_name(reader, c, text));
  HLO_TRY(hlo_bc_svarint(c, &first));
  if (code == ATTR_SUB_AXIS_INFO) HLO_TRY(hlo_bc_svarint(c, &second));
  if (code == ATTR_MESH_AXIS) {
    hlo_strbuf_printf(text, "=%lld", (long long)first);
  } else {
    hlo_strbuf_printf(text, "(%lld)%lld", (long long)first, (long long)second);
  }
  return hlo_ok();
}

static hlo_status_t put_enclosed(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, const char* open,
                                 const char* mnemonic, const char* close, hlo_strbuf_t* text) {
  uint32_t count;
  hlo_strbuf_puts(text, open);
  HLO_TRY(put_list(reader, c, mnemonic, &count, text));
  hlo_strbuf_puts(text, close);
  return hlo_ok();
}

static hlo_status_t put_all_to_all(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                   hlo_strbuf_t* text) {
  int64_t from, to;
  HLO_TRY(put_enclosed(reader, c, "{", "axis_ref", "}", text));
  HLO_TRY(hlo_bc_svarint(c, &from));
  HLO_TRY(hlo_bc_svarint(c, &to));
  hlo_strbuf_printf(text, ": %lld->%lld", (long long)from, (long long)to);
  return hlo_ok();
}

static hlo_status_t put_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint64_t code,
                             hlo_strbuf_t* text) {
  switch (code) {
    case ATTR_MANUAL_AXES: return put_manual_axes(reader, c, text);
    case ATTR_MESH_AXIS:
    case ATTR_SUB_AXIS_INFO: return put_sizes(reader, c, code, text);
    case ATTR_MESH: return put_mesh(reader, c, text);
    case ATTR_AXIS_REF: return put_axis_ref(reader, c, text);
    case ATTR_DIMENSION_SHARDING: return put_dimension(reader, c, text);
    case ATTR_TENSOR_SHARDING:
    case ATTR_TENSOR_SHARDING_UNREDUCED:
    case ATTR_TENSOR_SHARDING_REDUCTION_OP: return put_sharding(reader, c, code, text);
    case ATTR_TENSOR_SHARDING_PER_VALUE:
    case ATTR_TENSOR_SHARDING_PER_VALUE_UNREDUCED:
      return put_enclosed(reader, c, "<[", "sharding", "]>", text);
    case ATTR_DIM_MAPPING: return put_factors(reader, c, NULL, text);
    case ATTR_TENSOR_MAPPING: return put_enclosed(reader, c, "[", "dim_mapping", "]", text);
    case ATTR_OP_SHARDING_RULE: return put_rule(reader, c, text);
    case ATTR_AXIS_REF_LIST: return put_enclosed(reader, c, "{", "axis_ref", "}", text);
    case ATTR_LIST_OF_AXIS_REF_LISTS:
      return put_enclosed(reader, c, "[", "axis_ref_list", "]", text);
    case ATTR_ALL_TO_ALL_PARAM: return put_all_to_all(reader, c, text);
    default: return put_enclosed(reader, c, "[", "all_to_all_param", "]", text);
  }
}

static hlo_status_t read_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_bc_attr_t* out) {
  uint64_t code;
  HLO_TRY(hlo_bc_varint(c, &code));
  if (code >= sizeof mnemonics / sizeof mnemonics[0]) {
    return hlo_bc_error(c, "Shardy attribute code %llu is unknown", (unsigned long long)code);
  }
  HLO_SCOPED_STRBUF body = {0}, text = {0};
  hlo_status_t status = put_attr(reader, c, code, &body);
  if (hlo_status_is_ok(status)) status = hlo_strbuf_status(&body);
  if (hlo_status_is_ok(status)) {
    // A body in brackets follows the mnemonic; any other body is put in brackets together with the
    // mnemonic.
    bool bracketed = body.length && body.data[0] == '<';
    hlo_strbuf_printf(&text, bracketed ? "#sdy.%s%s" : "#sdy<%s%s>", mnemonics[code],
                      hlo_strbuf_text(&body));
    status = hlo_strbuf_status(&text);
  }
  if (hlo_status_is_ok(status)) {
    hlo_bc_set_attr(out, hlo_attr_opaque(reader->module, hlo_strbuf_text(&text), text.length));
  }
  return status;
}

const hlo_bc_dialect_t hlo_bc_dialect_sdy = {"sdy", read_attr, NULL};
