// SPDX-License-Identifier: Apache-2.0
// Pretty forms of ops: interprets the rows of asm.def to print nodes. A node that does not match
// its row (an unusual attribute, more results, ...) is printed in generic form.
#include <inttypes.h>
#include <string.h>

#include "ir/print_impl.h"

// ---- Types, by rule

static bool all_types_are(const hlo_node_t* node, const hlo_type_t* type) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (hlo_node_operand_type(node, i) != type) return false;
  }
  return true;
}

static void print_operand_types(hlo_printer_t* p, const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (i) hlo_strbuf_puts(p->out, ", ");
    hlo_print_type(hlo_node_operand_type(node, i), p->out);
  }
}

static bool check_one_result(const hlo_node_t* node) {
  return node->result_count == 1 && node->results[0].type->kind != HLO_TYPE_FUNCTION;
}

static bool check_no_results(const hlo_node_t* node) {
  return node->result_count == 0;
}

static bool check_any(HLO_UNUSED const hlo_node_t* node) {
  return true;
}

static void print_same(hlo_printer_t* p, const hlo_node_t* node) {
  if (all_types_are(node, node->results[0].type)) {
    hlo_print_type(node->results[0].type, p->out);
  } else {
    hlo_print_signature(p, node);
  }
}

static void print_fn(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_print_signature(p, node);
}

static void print_result(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_print_type(node->results[0].type, p->out);
}

// Returns true if `real` is the type of the parts of `complex`, as for the operands of
// stablehlo.complex.
static bool is_real_of(const hlo_type_t* real, const hlo_type_t* complex) {
  if (real->kind != complex->kind || real->rank != complex->rank || real->quant ||
      real->dtype != hlo_dtype_info(complex->dtype)->part || real->encoding != complex->encoding ||
      !real->bounds != !complex->bounds) {
    return false;
  }
  size_t bytes = real->rank * sizeof(int64_t);
  return memcmp(real->dims, complex->dims, bytes) == 0 &&
         (!real->bounds || memcmp(real->bounds, complex->bounds, bytes) == 0);
}

static void print_complex(hlo_printer_t* p, const hlo_node_t* node) {
  const hlo_type_t* result = node->results[0].type;
  const hlo_type_t* operand = hlo_node_operand_type(node, 0);
  if (hlo_dtype_is_complex(result->dtype) && is_real_of(operand, result) &&
      all_types_are(node, operand)) {
    hlo_print_type(result, p->out);
  } else {
    hlo_print_signature(p, node);
  }
}

static bool check_select(const hlo_node_t* node) {
  return check_one_result(node) && node->operand_count == 3;
}

static void print_select(hlo_printer_t* p, const hlo_node_t* node) {
  const hlo_type_t* result = node->results[0].type;
  if (hlo_node_operand_type(node, 1) == result && hlo_node_operand_type(node, 2) == result) {
    hlo_print_type(hlo_node_operand_type(node, 0), p->out);
    hlo_strbuf_puts(p->out, ", ");
    hlo_print_type(result, p->out);
  } else {
    hlo_print_signature(p, node);
  }
}

static bool check_tuple(const hlo_node_t* node) {
  if (node->result_count != 1) return false;
  const hlo_type_t* tuple = node->results[0].type;
  if (tuple->kind != HLO_TYPE_TUPLE || tuple->element_count != node->operand_count) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (hlo_node_operand_type(node, i) != tuple->elements[i]) return false;
  }
  return true;
}

// Needs no text: the attribute `value` carries the type.
static bool check_value(const hlo_node_t* node) {
  const hlo_attr_t* value = hlo_node_attr(node, HLO_ATTR_value);
  if (!value || value->kind != HLO_ATTR_KIND_LITERAL) return false;
  if (node->result_count + node->operand_count != 1) return false;
  const hlo_type_t* type =
      node->result_count ? node->results[0].type : hlo_node_operand_type(node, 0);
  return type == value->type;
}

static void print_nothing(HLO_UNUSED hlo_printer_t* p, HLO_UNUSED const hlo_node_t* node) {}

static bool check_operand(const hlo_node_t* node) {
  return node->result_count == 0 && node->operand_count > 0 &&
         all_types_are(node, hlo_node_operand_type(node, 0));
}

static void print_operand_type(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_print_type(hlo_node_operand_type(node, 0), p->out);
}

static void print_return(hlo_printer_t* p, const hlo_node_t* node) {
  if (node->operand_count == 0) return;
  hlo_strbuf_puts(p->out, " : ");
  print_operand_types(p, node);
}

static bool check_arrow(const hlo_node_t* node) {
  return node->result_count > 0 && node->operand_count > 0 &&
         node->results[0].type->kind != HLO_TYPE_FUNCTION;
}

static void print_arrow(hlo_printer_t* p, const hlo_node_t* node) {
  print_operand_types(p, node);
  hlo_strbuf_puts(p->out, node->result_count == 1 ? " -> " : " -> (");
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (i) hlo_strbuf_puts(p->out, ", ");
    hlo_print_type(node->results[i].type, p->out);
  }
  if (node->result_count > 1) hlo_strbuf_putc(p->out, ')');
}

typedef struct part {
  const char* name;
  bool (*check)(const hlo_node_t* node);
  void (*print)(hlo_printer_t* p, const hlo_node_t* node);
} part_t;

static const part_t kTypeRules[] = {
    {"same", check_one_result, print_same},
    {"fn", check_any, print_fn},
    {"results", check_one_result, print_result},
    {"complex", check_one_result, print_complex},
    {"select", check_select, print_select},
    {"tuple", check_tuple, print_result},
    {"value", check_value, print_nothing},
    {"operand", check_operand, print_operand_type},
    {"operands", check_no_results, print_operand_types},
    {"return", check_no_results, print_return},
    {"arrow", check_arrow, print_arrow},
    {NULL, NULL, NULL},
};

// ---- Notations with their own code

static bool is_dims(const hlo_attr_t* attr) {
  return attr && attr->kind == HLO_ATTR_KIND_INTS && attr->rows == 0 && attr->cols == 0 &&
         attr->dtype == HLO_DTYPE_S64 && !attr->is_index;
}

static void print_dims(hlo_printer_t* p, const hlo_attr_t* attr) {
  hlo_strbuf_putc(p->out, '[');
  hlo_print_int_list(p->out, attr->values, attr->count);
  hlo_strbuf_putc(p->out, ']');
}

static bool check_slice_ranges(const hlo_node_t* node) {
  const hlo_attr_t* start = hlo_node_attr(node, HLO_ATTR_start_indices);
  const hlo_attr_t* limit = hlo_node_attr(node, HLO_ATTR_limit_indices);
  const hlo_attr_t* stride = hlo_node_attr(node, HLO_ATTR_strides);
  return is_dims(start) && is_dims(limit) && is_dims(stride) && start->count == limit->count &&
         start->count == stride->count;
}

static void print_slice_ranges(hlo_printer_t* p, const hlo_node_t* node) {
  const hlo_attr_t* start = hlo_node_attr(node, HLO_ATTR_start_indices);
  const hlo_attr_t* limit = hlo_node_attr(node, HLO_ATTR_limit_indices);
  const hlo_attr_t* stride = hlo_node_attr(node, HLO_ATTR_strides);
  hlo_strbuf_puts(p->out, " [");
  for (uint32_t i = 0; i < start->count; ++i) {
    hlo_strbuf_printf(p->out, "%s%" PRId64 ":%" PRId64, i ? ", " : "", start->values[i],
                      limit->values[i]);
    if (stride->values[i] != 1) hlo_strbuf_printf(p->out, ":%" PRId64, stride->values[i]);
  }
  hlo_strbuf_putc(p->out, ']');
}

static bool check_dot_dims(const hlo_node_t* node) {
  return is_dims(hlo_node_attr(node, HLO_ATTR_lhs_batching_dimensions)) &&
         is_dims(hlo_node_attr(node, HLO_ATTR_rhs_batching_dimensions)) &&
         is_dims(hlo_node_attr(node, HLO_ATTR_lhs_contracting_dimensions)) &&
         is_dims(hlo_node_attr(node, HLO_ATTR_rhs_contracting_dimensions));
}

static void print_dot_dims(hlo_printer_t* p, const hlo_node_t* node) {
  const hlo_attr_t* lhs_batch = hlo_node_attr(node, HLO_ATTR_lhs_batching_dimensions);
  const hlo_attr_t* rhs_batch = hlo_node_attr(node, HLO_ATTR_rhs_batching_dimensions);
  if (lhs_batch->count || rhs_batch->count) {
    hlo_strbuf_puts(p->out, " batching_dims = ");
    print_dims(p, lhs_batch);
    hlo_strbuf_puts(p->out, " x ");
    print_dims(p, rhs_batch);
    hlo_strbuf_putc(p->out, ',');
  }
  hlo_strbuf_puts(p->out, " contracting_dims = ");
  print_dims(p, hlo_node_attr(node, HLO_ATTR_lhs_contracting_dimensions));
  hlo_strbuf_puts(p->out, " x ");
  print_dims(p, hlo_node_attr(node, HLO_ATTR_rhs_contracting_dimensions));
}

static bool check_precision(const hlo_node_t* node) {
  const hlo_attr_t* config = hlo_node_attr(node, HLO_ATTR_precision_config);
  if (!config) return true;
  if (config->kind != HLO_ATTR_KIND_ARRAY) return false;
  for (uint32_t i = 0; i < config->count; ++i) {
    const hlo_attr_t* item = config->items[i];
    if (item->kind != HLO_ATTR_KIND_ENUM || item->enum_kind != HLO_ENUM_PRECISION) return false;
  }
  return true;
}

static void print_precision(hlo_printer_t* p, const hlo_node_t* node) {
  const hlo_attr_t* config = hlo_node_attr(node, HLO_ATTR_precision_config);
  if (!config) return;
  hlo_strbuf_puts(p->out, ", precision = [");
  for (uint32_t i = 0; i < config->count; ++i) {
    hlo_strbuf_printf(p->out, "%s%s", i ? ", " : "",
                      hlo_enum_case_name(HLO_ENUM_PRECISION, config->items[i]->i));
  }
  hlo_strbuf_putc(p->out, ']');
}

static void print_algorithm(hlo_printer_t* p, const hlo_node_t* node) {
  if (!hlo_node_attr(node, HLO_ATTR_lhs_precision_type)) return;
  hlo_strbuf_puts(p->out, ", algorithm = ");
  hlo_print_struct(p, node, hlo_op_struct_named(node->op, "algorithm", 9), false);
}

static void print_conv_dims(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_strbuf_putc(p->out, ' ');
  hlo_print_conv_dims(node, p->out);
}

static bool check_window(const hlo_node_t* node) {
  for (int i = 0; i < HLO_WINDOW_PART_COUNT; ++i) {
    const hlo_attr_t* attr = hlo_node_attr(node, hlo_window_parts[i].id);
    if (!attr) continue;
    if (attr->kind != HLO_ATTR_KIND_INTS || attr->is_index) return false;
    if (hlo_window_parts[i].id == HLO_ATTR_padding ? attr->cols != 2 : attr->cols != 0)
      return false;
  }
  return true;
}

static void print_window(hlo_printer_t* p, const hlo_node_t* node) {
  const char* separator = "";
  for (int i = 0; i < HLO_WINDOW_PART_COUNT; ++i) {
    const hlo_attr_t* attr = hlo_node_attr(node, hlo_window_parts[i].id);
    if (!attr) continue;
    hlo_strbuf_printf(p->out, "%s%s = [", separator, hlo_window_parts[i].name);
    separator = ", ";
    for (uint32_t k = 0; k < attr->count; ++k) {
      const char* comma = k ? ", " : "";
      if (attr->cols == 2) {
        hlo_strbuf_printf(p->out,
                          k % 2 ? ", %" PRId64 "]"
                          : k   ? ", [%" PRId64
                                : "[%" PRId64,
                          attr->values[k]);
      } else if (attr->dtype == HLO_DTYPE_PRED) {
        hlo_strbuf_printf(p->out, "%s%s", comma, attr->values[k] ? "true" : "false");
      } else {
        hlo_strbuf_printf(p->out, "%s%" PRId64, comma, attr->values[k]);
      }
    }
    hlo_strbuf_putc(p->out, ']');
  }
}

static bool is_i32(const hlo_attr_t* attr) {
  return attr && attr->kind == HLO_ATTR_KIND_INT && attr->dtype == HLO_DTYPE_S32 && attr->i >= 0;
}

static bool check_format(const hlo_node_t* node) {
  return is_i32(hlo_node_attr(node, HLO_ATTR_exponent_bits)) &&
         is_i32(hlo_node_attr(node, HLO_ATTR_mantissa_bits));
}

static void print_format(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_strbuf_printf(p->out, " e%" PRId64 "m%" PRId64,
                    hlo_node_attr_int(node, HLO_ATTR_exponent_bits, 0),
                    hlo_node_attr_int(node, HLO_ATTR_mantissa_bits, 0));
}

static bool check_target(const hlo_node_t* node) {
  const hlo_attr_t* name = hlo_node_attr(node, HLO_ATTR_call_target_name);
  return name && name->kind == HLO_ATTR_KIND_STRING;
}

static void print_target(hlo_printer_t* p, const hlo_node_t* node) {
  const hlo_attr_t* name = hlo_node_attr(node, HLO_ATTR_call_target_name);
  hlo_strbuf_puts(p->out, " @");
  if (hlo_text_is_bare(name->text, name->text_length)) {
    hlo_strbuf_append(p->out, name->text, name->text_length);
  } else {
    hlo_print_quoted(p->out, name->text, name->text_length);
  }
}

static bool check_barrier(const hlo_node_t* node) {
  if (node->operand_count != node->result_count) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (hlo_node_operand_type(node, i) != node->results[i].type) return false;
  }
  return true;
}

static void print_barrier(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_strbuf_putc(p->out, ' ');
  if (node->operand_count == 0) {
    hlo_strbuf_puts(p->out, "()");
    return;
  }
  hlo_print_operands(p, node, 0, node->operand_count);
  hlo_strbuf_puts(p->out, " : ");
  print_operand_types(p, node);
}

static bool check_no_regions(const hlo_node_t* node) {
  return node->region_count == 0;
}

// ---- Control flow

bool hlo_while_is_pretty(const hlo_node_t* node) {
  if (node->op != HLO_OP_while || node->region_count != 2 ||
      node->operand_count != node->result_count) {
    return false;
  }
  for (int r = 0; r < 2; ++r) {
    if (node->regions[r]->arg_count != node->operand_count) return false;
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      const hlo_type_t* type = hlo_node_operand_type(node, i);
      if (node->regions[r]->args[i]->type != type || node->results[i].type != type) return false;
    }
  }
  return true;
}

static void print_while(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_strbuf_putc(p->out, '(');
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (i) hlo_strbuf_puts(p->out, ", ");
    hlo_print_value_name(p, node->regions[0]->args[i]);
    hlo_strbuf_puts(p->out, " = ");
    hlo_print_value_name(p, hlo_node_operand(node, i));
  }
  hlo_strbuf_puts(p->out, node->operand_count ? ") : " : ")");
  print_operand_types(p, node);
  hlo_print_attr_dict(p, node, NULL, " attributes");
  hlo_print_newline(p);
  hlo_strbuf_puts(p->out, "cond {");
  hlo_print_region_body(p, node->regions[0]);
  hlo_print_newline(p);
  hlo_strbuf_puts(p->out, "} do {");
  hlo_print_region_body(p, node->regions[1]);
  hlo_print_newline(p);
  hlo_strbuf_putc(p->out, '}');
}

bool hlo_reduce_is_compact(const hlo_node_t* node) {
  if (node->op != HLO_OP_reduce || node->region_count != 1 || node->operand_count != 2 ||
      !is_dims(hlo_node_attr(node, HLO_ATTR_dimensions))) {
    return false;
  }
  const hlo_region_t* body = node->regions[0];
  const hlo_node_t* inner = body->first;
  const hlo_node_t* end = inner ? inner->next : NULL;
  if (!end || end->next || end->op != HLO_OP_return || end->extra || inner->extra) return false;
  const hlo_op_info_t* info = hlo_op_info(inner->op);
  if (strncmp(info->name, "stablehlo.", 10) != 0 || !(info->traits & HLO_TRAIT_COMMUTATIVE) ||
      inner->operand_count != 2 || inner->result_count != 1 || body->arg_count != 2 ||
      end->operand_count != 1 || hlo_node_operand(end, 0) != &inner->results[0]) {
    return false;
  }
  const hlo_type_t* input = hlo_node_operand_type(node, 0);
  const hlo_type_t* type = inner->results[0].type;
  return input->kind == HLO_TYPE_TENSOR && type->kind == HLO_TYPE_TENSOR && type->rank == 0 &&
         type->dtype == input->dtype && type->quant == input->quant &&
         type->is_index == input->is_index && !type->encoding &&
         hlo_node_operand(inner, 0) == body->args[0] &&
         hlo_node_operand(inner, 1) == body->args[1] && body->args[0]->type == type &&
         body->args[1]->type == type;
}

static bool check_reduce(const hlo_node_t* node) {
  const hlo_attr_t* dims = hlo_node_attr(node, HLO_ATTR_dimensions);
  return node->operand_count > 0 && node->operand_count % 2 == 0 && node->region_count == 1 &&
         node->regions[0]->arg_count == node->operand_count && is_dims(dims);
}

static void print_reducer(hlo_printer_t* p, const hlo_node_t* node) {
  const hlo_region_t* body = node->regions[0];
  uint32_t count = body->arg_count / 2;
  hlo_print_newline(p);
  hlo_strbuf_puts(p->out, " reducer");
  for (uint32_t i = 0; i < count; ++i) {
    hlo_value_t* pair[2] = {body->args[i], body->args[count + i]};
    hlo_strbuf_putc(p->out, '(');
    for (int k = 0; k < 2; ++k) {
      if (k) hlo_strbuf_puts(p->out, ", ");
      hlo_print_value_name(p, pair[k]);
      hlo_strbuf_puts(p->out, ": ");
      hlo_print_type(pair[k]->type, p->out);
    }
    hlo_strbuf_puts(p->out, ") ");
  }
  hlo_strbuf_putc(p->out, '{');
  hlo_print_region_body(p, body);
  hlo_print_newline(p);
  hlo_strbuf_putc(p->out, '}');
}

static void print_reduce(hlo_printer_t* p, const hlo_node_t* node) {
  uint32_t count = node->operand_count / 2;
  for (uint32_t i = 0; i < count; ++i) {
    hlo_strbuf_puts(p->out, i ? ", (" : "(");
    hlo_print_value_name(p, hlo_node_operand(node, i));
    hlo_strbuf_puts(p->out, " init: ");
    hlo_print_value_name(p, hlo_node_operand(node, count + i));
    hlo_strbuf_putc(p->out, ')');
  }
  bool compact = hlo_reduce_is_compact(node);
  if (compact) {
    hlo_strbuf_printf(p->out, " applies %s", hlo_op_info(node->regions[0]->first->op)->name);
  }
  hlo_strbuf_puts(p->out, " across dimensions = ");
  print_dims(p, hlo_node_attr(node, HLO_ATTR_dimensions));
  hlo_attr_set_t shown = {0};
  hlo_attr_set_add(&shown, HLO_ATTR_dimensions);
  hlo_print_attr_dict(p, node, &shown, "");
  hlo_strbuf_puts(p->out, " : ");
  hlo_print_signature(p, node);
  if (!compact) print_reducer(p, node);
}

static bool check_scan(const hlo_node_t* node) {
  uint32_t first, count;
  const hlo_attr_t* dim = hlo_node_attr(node, HLO_ATTR_dimension);
  return node->region_count == 1 && dim && dim->kind == HLO_ATTR_KIND_INT &&
         dim->dtype == HLO_DTYPE_S64 && hlo_node_attr(node, HLO_ATTR_operand_segment_sizes) &&
         hlo_node_operand_segment(node, 1, &first, &count) &&
         first + count == node->operand_count && node->result_count >= count;
}

static void print_scan(hlo_printer_t* p, const hlo_node_t* node) {
  uint32_t first = 0, count = 0;
  if (!hlo_node_operand_segment(node, 1, &first, &count)) return;
  hlo_strbuf_puts(p->out, " (");
  hlo_print_operands(p, node, 0, first);
  hlo_strbuf_puts(p->out, ") inits (");
  hlo_print_operands(p, node, first, count);
  hlo_strbuf_printf(p->out, ") dimension=%" PRId64, hlo_node_attr_int(node, HLO_ATTR_dimension, 0));
  hlo_attr_set_t shown = {0};
  hlo_attr_set_add(&shown, HLO_ATTR_dimension);
  hlo_attr_set_add(&shown, HLO_ATTR_operand_segment_sizes);
  hlo_print_attr_dict(p, node, &shown, " attributes");
  hlo_strbuf_puts(p->out, " ");
  hlo_print_region(p, node->regions[0]);
  hlo_strbuf_puts(p->out, " : ");
  hlo_print_signature(p, node);
}

// ---- Shardy

// Returns the text of an OPAQUE attribute after `prefix`, without its last `drop` characters; NULL
// for any other attribute.
static const char* opaque_after(const hlo_attr_t* attr, const char* prefix, size_t drop,
                                size_t* out_length) {
  size_t length = strlen(prefix);
  if (!attr || attr->kind != HLO_ATTR_KIND_OPAQUE || attr->text_length < length + drop ||
      memcmp(attr->text, prefix, length) != 0) {
    return NULL;
  }
  *out_length = attr->text_length - length - drop;
  return attr->text + length;
}

static bool check_opaque(const hlo_node_t* node, hlo_attr_id_t id, const char* prefix,
                         size_t drop) {
  size_t length;
  return opaque_after(hlo_node_attr(node, id), prefix, drop, &length) != NULL;
}

static void print_opaque(hlo_printer_t* p, const hlo_node_t* node, hlo_attr_id_t id,
                         const char* prefix, size_t drop) {
  size_t length = 0;
  const char* text = opaque_after(hlo_node_attr(node, id), prefix, drop, &length);
  if (text) hlo_strbuf_append(p->out, text, length);
}

static bool check_sharding(const hlo_node_t* node) {
  return check_opaque(node, HLO_ATTR_sharding, "#sdy.sharding<", 0);
}

static void print_sharding(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_strbuf_putc(p->out, ' ');
  print_opaque(p, node, HLO_ATTR_sharding, "#sdy.sharding", 0);
}

// Names of the values of allowed_direction.
static const char* direction_name(const hlo_node_t* node) {
  const hlo_attr_t* attr = hlo_node_attr(node, HLO_ATTR_allowed_direction);
  const bool is_known = is_i32(attr) && attr->i >= 0 && attr->i < HLO_DIRECTION_COUNT;
  return is_known ? hlo_direction_names[attr->i] : NULL;
}

static bool check_direction(const hlo_node_t* node) {
  return direction_name(node) != NULL;
}

static void print_direction(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_strbuf_printf(p->out, " %s", direction_name(node));
}

static bool check_edge_sharding(const hlo_node_t* node) {
  return !hlo_node_attr(node, HLO_ATTR_sharding) || check_sharding(node);
}

static void print_edge_sharding(hlo_printer_t* p, const hlo_node_t* node) {
  if (!hlo_node_attr(node, HLO_ATTR_sharding)) return;
  hlo_strbuf_puts(p->out, " sharding=");
  print_opaque(p, node, HLO_ATTR_sharding, "#sdy.sharding", 0);
}

static bool check_out_sharding(const hlo_node_t* node) {
  return check_opaque(node, HLO_ATTR_out_sharding, "#sdy.sharding<", 0);
}

static void print_out_sharding(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_strbuf_putc(p->out, ' ');
  print_opaque(p, node, HLO_ATTR_out_sharding, "#sdy.sharding", 0);
}

static bool check_axes(const hlo_node_t* node) {
  const hlo_axes_notation_t* axes = hlo_axes_notation(node->op);
  size_t length;
  const char* text =
      axes ? opaque_after(hlo_node_attr(node, axes->id), axes->prefix, 1, &length) : NULL;
  return text && length && text[0] == axes->open;
}

static void print_axes(hlo_printer_t* p, const hlo_node_t* node) {
  const hlo_axes_notation_t* axes = hlo_axes_notation(node->op);
  hlo_strbuf_putc(p->out, ' ');
  print_opaque(p, node, axes->id, axes->prefix, 1);
}

// An absent reduction is a sum.
static bool check_reduction(const hlo_node_t* node) {
  const hlo_attr_t* attr = hlo_node_attr(node, HLO_ATTR_reduction_op);
  return !attr || (is_i32(attr) && attr->i >= 0 && attr->i < HLO_REDUCTION_COUNT);
}

static void print_reduction(hlo_printer_t* p, const hlo_node_t* node) {
  const hlo_attr_t* attr = hlo_node_attr(node, HLO_ATTR_reduction_op);
  if (attr) hlo_strbuf_printf(p->out, " %s", hlo_reduction_names[attr->i]);
}

static bool check_mesh(const hlo_node_t* node) {
  return hlo_node_attr_text(node, HLO_ATTR_sym_name) && node->operand_count == 0 &&
         node->result_count == 0 && check_opaque(node, HLO_ATTR_mesh, "#sdy.mesh<", 0);
}

static void print_mesh(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_strbuf_putc(p->out, ' ');
  hlo_print_symbol(p->out, hlo_node_attr_text(node, HLO_ATTR_sym_name));
  hlo_strbuf_puts(p->out, " = ");
  print_opaque(p, node, HLO_ATTR_mesh, "#sdy.mesh", 0);
  hlo_attr_set_t shown = {0};
  hlo_attr_set_add(&shown, HLO_ATTR_sym_name);
  hlo_attr_set_add(&shown, HLO_ATTR_mesh);
  hlo_print_attr_dict(p, node, &shown, "");
}

static bool check_manual_computation(const hlo_node_t* node) {
  return node->region_count == 1 &&
         check_opaque(node, HLO_ATTR_in_shardings, "#sdy.sharding_per_value<[", 1) &&
         check_opaque(node, HLO_ATTR_out_shardings, "#sdy.sharding_per_value<[", 1) &&
         check_opaque(node, HLO_ATTR_manual_axes, "#sdy<manual_axes{", 1);
}

// (%0) in_shardings=[...] out_shardings=[...]
static void print_values_and_shardings(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_strbuf_putc(p->out, '(');
  hlo_print_operands(p, node, 0, node->operand_count);
  hlo_strbuf_putc(p->out, ')');
  if (hlo_node_attr(node, HLO_ATTR_in_shardings)) {
    hlo_strbuf_puts(p->out, " in_shardings=");
    print_opaque(p, node, HLO_ATTR_in_shardings, "#sdy.sharding_per_value<", 1);
  }
  if (hlo_node_attr(node, HLO_ATTR_out_shardings)) {
    hlo_strbuf_puts(p->out, " out_shardings=");
    print_opaque(p, node, HLO_ATTR_out_shardings, "#sdy.sharding_per_value<", 1);
  }
}

// (%arg: T) {...} {attributes} : signature
static void print_body_and_signature(hlo_printer_t* p, const hlo_node_t* node,
                                     hlo_attr_id_t other) {
  hlo_strbuf_puts(p->out, " (");
  hlo_print_region_args(p, node->regions[0]);
  hlo_strbuf_puts(p->out, ") {");
  hlo_print_region_body(p, node->regions[0]);
  hlo_print_newline(p);
  hlo_strbuf_putc(p->out, '}');
  hlo_attr_set_t shown = {0};
  hlo_attr_set_add(&shown, HLO_ATTR_in_shardings);
  hlo_attr_set_add(&shown, HLO_ATTR_out_shardings);
  hlo_attr_set_add(&shown, other);
  hlo_print_attr_dict(p, node, &shown, "");
  hlo_strbuf_puts(p->out, " : ");
  hlo_print_signature(p, node);
}

static void print_manual_computation(hlo_printer_t* p, const hlo_node_t* node) {
  print_values_and_shardings(p, node);
  hlo_strbuf_puts(p->out, " manual_axes=");
  print_opaque(p, node, HLO_ATTR_manual_axes, "#sdy<manual_axes", 1);
  print_body_and_signature(p, node, HLO_ATTR_manual_axes);
}

static bool check_optional_shardings(const hlo_node_t* node, hlo_attr_id_t id) {
  return !hlo_node_attr(node, id) || check_opaque(node, id, "#sdy.sharding_per_value<[", 1);
}

static bool check_named_computation(const hlo_node_t* node) {
  const hlo_attr_t* name = hlo_node_attr(node, HLO_ATTR_name);
  return node->region_count == 1 && name && name->kind == HLO_ATTR_KIND_STRING &&
         check_optional_shardings(node, HLO_ATTR_in_shardings) &&
         check_optional_shardings(node, HLO_ATTR_out_shardings);
}

// <"name">(%0) in_shardings=[...] out_shardings=[...] (%arg: T) {...} : signature
static void print_named_computation(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_strbuf_putc(p->out, '<');
  hlo_print_any_attr(&p->options, hlo_node_attr(node, HLO_ATTR_name), p->out);
  hlo_strbuf_putc(p->out, '>');
  print_values_and_shardings(p, node);
  print_body_and_signature(p, node, HLO_ATTR_name);
}

static const part_t kNotations[] = {
    {"slice_ranges", check_slice_ranges, print_slice_ranges},
    {"dot_dims", check_dot_dims, print_dot_dims},
    {"precision", check_precision, print_precision},
    {"algorithm", check_any, print_algorithm},
    {"conv_dims", hlo_conv_dims_are_plain, print_conv_dims},
    {"window", check_window, print_window},
    {"format", check_format, print_format},
    {"target", check_target, print_target},
    {"barrier", check_barrier, print_barrier},
    {"regions", check_no_regions, print_nothing},
    {"while", hlo_while_is_pretty, print_while},
    {"reduce", check_reduce, print_reduce},
    {"scan", check_scan, print_scan},
    {"sharding", check_sharding, print_sharding},
    {"direction", check_direction, print_direction},
    {"mesh", check_mesh, print_mesh},
    {"manual_computation", check_manual_computation, print_manual_computation},
    {"named_computation", check_named_computation, print_named_computation},
    {"edge_sharding", check_edge_sharding, print_edge_sharding},
    {"out_sharding", check_out_sharding, print_out_sharding},
    {"axes", check_axes, print_axes},
    {"reduction", check_reduction, print_reduction},
    {NULL, NULL, NULL},
};

// Attributes that a notation prints, so that "@" omits them.
static const struct {
  const char* notation;
  hlo_attr_id_t first, last;  // first and last field, or the struct's name
  const char* struct_name;
} kShown[] = {
    {"slice_ranges", HLO_ATTR_start_indices, HLO_ATTR_limit_indices, NULL},
    {"slice_ranges", HLO_ATTR_strides, HLO_ATTR_strides, NULL},
    {"dot_dims", HLO_ATTR_COUNT, HLO_ATTR_COUNT, "dot_dimension_numbers"},
    {"dot_dims", HLO_ATTR_lhs_batching_dimensions, HLO_ATTR_rhs_batching_dimensions, NULL},
    {"dot_dims", HLO_ATTR_lhs_contracting_dimensions, HLO_ATTR_rhs_contracting_dimensions, NULL},
    {"precision", HLO_ATTR_precision_config, HLO_ATTR_precision_config, NULL},
    {"algorithm", HLO_ATTR_COUNT, HLO_ATTR_COUNT, "algorithm"},
    {"conv_dims", HLO_ATTR_COUNT, HLO_ATTR_COUNT, "dimension_numbers"},
    {"window", HLO_ATTR_window_strides, HLO_ATTR_padding, NULL},
    {"window", HLO_ATTR_lhs_dilation, HLO_ATTR_rhs_dilation, NULL},
    {"window", HLO_ATTR_window_reversal, HLO_ATTR_window_reversal, NULL},
    {"format", HLO_ATTR_exponent_bits, HLO_ATTR_mantissa_bits, NULL},
    {"target", HLO_ATTR_call_target_name, HLO_ATTR_call_target_name, NULL},
    {"sharding", HLO_ATTR_sharding, HLO_ATTR_sharding, NULL},
    {"direction", HLO_ATTR_allowed_direction, HLO_ATTR_allowed_direction, NULL},
    {"edge_sharding", HLO_ATTR_sharding, HLO_ATTR_sharding, NULL},
    {"out_sharding", HLO_ATTR_out_sharding, HLO_ATTR_out_sharding, NULL},
    {"axes", HLO_ATTR_gathering_axes, HLO_ATTR_slicing_axes, NULL},
    {"axes", HLO_ATTR_params, HLO_ATTR_reduction_axes, NULL},
    {"axes", HLO_ATTR_reduce_scatter_axes, HLO_ATTR_axes, NULL},
    {"reduction", HLO_ATTR_reduction_op, HLO_ATTR_reduction_op, NULL},
};

static void add_shown(hlo_attr_set_t* shown, hlo_op_t op, const char* notation, size_t length) {
  for (size_t i = 0; i < sizeof kShown / sizeof *kShown; ++i) {
    if (!hlo_text_same(kShown[i].notation, notation, length)) continue;
    if (kShown[i].struct_name) {
      const char* name = kShown[i].struct_name;
      const hlo_struct_attr_t* info = hlo_op_struct_named(op, name, strlen(name));
      for (unsigned f = 0; info && f < info->field_count; ++f) {
        hlo_attr_set_add(shown, info->fields[f].id);
      }
    } else {
      hlo_attr_set_add(shown, kShown[i].first);
      hlo_attr_set_add(shown, kShown[i].last);
    }
  }
}

// ---- The interpreter of forms

static const part_t* find_part(const part_t* parts, const char* name, size_t length) {
  for (; parts->name; ++parts) {
    if (hlo_text_same(parts->name, name, length)) return parts;
  }
  return NULL;
}

static bool check_short(const hlo_attr_t* attr, hlo_attr_form_t form) {
  if (!attr) return false;
  switch (form) {
    case HLO_ATTR_FORM_I64:
      return attr->kind == HLO_ATTR_KIND_INT && attr->dtype == HLO_DTYPE_S64 && !attr->is_index;
    case HLO_ATTR_FORM_U64: return attr->kind == HLO_ATTR_KIND_INT && attr->dtype == HLO_DTYPE_U64;
    case HLO_ATTR_FORM_I32: return attr->kind == HLO_ATTR_KIND_INT && attr->dtype == HLO_DTYPE_S32;
    case HLO_ATTR_FORM_BOOL: return attr->kind == HLO_ATTR_KIND_BOOL;
    case HLO_ATTR_FORM_DIMS: return is_dims(attr);
    case HLO_ATTR_FORM_STRING: return attr->kind == HLO_ATTR_KIND_STRING;
    case HLO_ATTR_FORM_SYMBOL: return attr->kind == HLO_ATTR_KIND_SYMBOL;
    case HLO_ATTR_FORM_ANY: return true;
    default: return attr->kind == HLO_ATTR_KIND_ENUM;
  }
}

static void print_short(hlo_printer_t* p, const hlo_attr_t* attr) {
  switch (attr->kind) {
    case HLO_ATTR_KIND_INT:
      hlo_strbuf_printf(p->out, attr->dtype == HLO_DTYPE_U64 ? "%" PRIu64 : "%" PRId64, attr->i);
      return;
    case HLO_ATTR_KIND_INTS: print_dims(p, attr); return;
    case HLO_ATTR_KIND_ENUM:
      hlo_strbuf_puts(p->out, hlo_enum_case_name(attr->enum_kind, attr->i));
      return;
    default: hlo_print_any_attr(&p->options, attr, p->out); return;
  }
}

typedef struct walk {
  const hlo_node_t* node;
  uint32_t next_operand;
  bool skipping;  // inside a (?group whose attribute is absent
  bool glue;      // no blank before the next word
  hlo_attr_set_t shown;
} walk_t;

static const hlo_attr_t* word_attr(const hlo_node_t* node, const char* word, size_t length,
                                   hlo_attr_id_t* out_id) {
  *out_id = hlo_attr_from_name(word, length);
  return hlo_node_attr(node, *out_id);
}

static bool enter_group(walk_t* w, const char* word, size_t length) {
  hlo_attr_id_t id;
  if (length > 2 && word[0] == '(' && word[1] == '?') {
    w->skipping = !word_attr(w->node, word + 2, length - 2, &id);
    return true;
  }
  if (length == 2 && word[0] == '?') {
    w->skipping = false;
    return true;
  }
  return w->skipping;
}

static bool check_word(walk_t* w, const char* word, size_t length) {
  const hlo_node_t* node = w->node;
  hlo_attr_id_t id;
  const hlo_attr_t* attr;
  switch (word[0]) {
    case '%':
      if (length > 1) {
        w->next_operand = node->operand_count;
        return true;
      }
      return w->next_operand++ < node->operand_count;
    case '$':
      if (length > 1 && word[1] == '$') {
        attr = word_attr(node, word + 2, length - 2, &id);
        hlo_attr_set_add(&w->shown, id);
        return attr != NULL;
      }
      attr = word_attr(node, word + 1, length - 1, &id);
      hlo_attr_set_add(&w->shown, id);
      return check_short(attr, hlo_attr_form(id));
    case '^': return find_part(kTypeRules, word + 1, length - 1)->check(node);
    case '!':
      add_shown(&w->shown, node->op, word + 1, length - 1);
      return find_part(kNotations, word + 1, length - 1)->check(node);
    default: return true;
  }
}

// Nodes with regions are pretty only through a notation that covers the whole form.
static bool check_form(walk_t* w, const char* form) {
  if (w->node->region_count && form[0] != '!') return false;
  const char* word;
  size_t length;
  while (hlo_asm_next_word(&form, &word, &length)) {
    if (enter_group(w, word, length)) continue;
    if (!check_word(w, word, length)) return false;
    if (word[0] == '!' && hlo_op_info(w->node->op)->region_count != 0) return true;
    if (hlo_text_same("!mesh", word, length)) return true;
  }
  return w->next_operand == w->node->operand_count || w->node->op == HLO_OP_optimization_barrier;
}

static void print_blank(walk_t* w, hlo_printer_t* p) {
  if (!w->glue) hlo_strbuf_putc(p->out, ' ');
  w->glue = false;
}

static void print_operand_word(walk_t* w, hlo_printer_t* p, size_t length) {
  uint32_t first = w->next_operand;
  uint32_t count = length > 1 ? w->node->operand_count - first : 1;
  if (count) print_blank(w, p);
  w->glue = false;
  hlo_print_operands(p, w->node, first, count);
  if (length > 2 && count) hlo_strbuf_putc(p->out, ',');
  w->next_operand += count;
}

static void print_word(walk_t* w, hlo_printer_t* p, const char* word, size_t length) {
  hlo_attr_id_t id;
  switch (word[0]) {
    case '%': print_operand_word(w, p, length); return;
    case '$': {
      size_t skip = length > 1 && word[1] == '$' ? 2 : 1;
      const hlo_attr_t* attr = word_attr(w->node, word + skip, length - skip, &id);
      print_blank(w, p);
      if (skip == 2) {
        hlo_print_any_attr(&p->options, attr, p->out);
      } else {
        print_short(p, attr);
      }
      return;
    }
    case '@': hlo_print_attr_dict(p, w->node, &w->shown, ""); return;
    case '^':
      if (!hlo_text_same("return", word + 1, length - 1) &&
          !hlo_text_same("value", word + 1, length - 1)) {
        print_blank(w, p);
      }
      find_part(kTypeRules, word + 1, length - 1)->print(p, w->node);
      return;
    case '!':
      w->glue = false;
      find_part(kNotations, word + 1, length - 1)->print(p, w->node);
      return;
    default:
      if (!strchr(",()[]}", word[0])) print_blank(w, p);
      hlo_strbuf_append(p->out, word, length);
      w->glue = word[0] == '(' || word[0] == '[' || word[0] == '{';
      return;
  }
}

bool hlo_print_pretty(hlo_printer_t* p, const hlo_node_t* node) {
  const char* form = hlo_asm_format(node->op);
  walk_t w = {.node = node};
  if (!form || !check_form(&w, form)) return false;
  w.next_operand = 0;
  w.skipping = false;
  const char* word;
  size_t length;
  while (hlo_asm_next_word(&form, &word, &length)) {
    if (!enter_group(&w, word, length)) print_word(&w, p, word, length);
  }
  return true;
}
