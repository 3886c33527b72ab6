// SPDX-License-Identifier: Apache-2.0
// Prints vector IR: one instruction per line, `%number:type = op operands`, blocks indented; for
// people and for comparing generated code, never parsed.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "codegen/vir/tile.h"

static const char* const condition_names[] = {"eq", "ne", "lt",        "le",
                                              "gt", "ge", "unordered", "ordered"};
static const char* const rounding_names[] = {"nearest_even", "floor", "ceil", "toward_zero"};

static const char* name_of(const char* const* names, size_t count, int64_t number) {
  return number >= 0 && (size_t)number < count ? names[number] : "?";
}
#define NAME_OF(names, number) name_of(names, sizeof(names) / sizeof *(names), number)

static void print_type(hlo_vir_type_t type, hlo_strbuf_t* out) {
  static const char* const names[] = {"void", "index", "mask", "i8", "i16",
                                      "i32",  "i64",   "f32",  "f64"};
  const char* name = NAME_OF(names, type.elem);
  if (type.elem == HLO_VIR_VOID || type.elem == HLO_VIR_INDEX) {
    hlo_strbuf_puts(out, name);
  } else {
    hlo_strbuf_printf(out, "%sx%u", name, type.lanes);
  }
}

static void print_value(const hlo_vir_value_t* value, hlo_strbuf_t* out) {
  if (value) {
    hlo_strbuf_printf(out, "%%%" PRIu32, value->number);
  } else {
    hlo_strbuf_putc(out, '_');
  }
}

// Prints [base + index << scale + displacement] and then the mask.
static void print_address(const hlo_vir_value_t* value, hlo_strbuf_t* out) {
  uint32_t base = hlo_vir_base_operand((hlo_vir_opcode_t)value->op);
  hlo_strbuf_puts(out, " [");
  print_value(hlo_vir_operand(value, base), out);
  if (hlo_vir_operand(value, base + 1)) {
    hlo_strbuf_puts(out, " + ");
    print_value(hlo_vir_operand(value, base + 1), out);
    hlo_strbuf_printf(out, " << %d", value->flags & HLO_VIR_SCALE_MASK);
  }
  if (value->imm)
    hlo_strbuf_printf(out, " %c %" PRIu64, value->imm < 0 ? '-' : '+',
                      value->imm < 0 ? 0 - (uint64_t)value->imm : (uint64_t)value->imm);
  hlo_strbuf_putc(out, ']');
  if (hlo_vir_operand(value, base + 2)) {
    hlo_strbuf_puts(out, " mask ");
    print_value(hlo_vir_operand(value, base + 2), out);
  }
  if (value->op == HLO_VIR_iload || value->op == HLO_VIR_istore || value->op == HLO_VIR_icas) {
    hlo_strbuf_printf(out, " bytes %d", 1 << ((value->flags >> HLO_VIR_WIDTH_SHIFT) & 3));
  }
}

static void print_flags(const hlo_vir_value_t* value, hlo_strbuf_t* out) {
  hlo_vir_class_t klass = hlo_vir_opcode_class((hlo_vir_opcode_t)value->op);
  if (value->op == HLO_VIR_icmp || klass == HLO_VIR_TILE || klass == HLO_VIR_GROUP) return;
  if (value->flags & HLO_VIR_UNSIGNED) hlo_strbuf_puts(out, " unsigned");
  if (value->flags & HLO_VIR_INVARIANT) hlo_strbuf_puts(out, " invariant");
  if (value->flags & HLO_VIR_STREAM) {
    hlo_strbuf_puts(out, value->op == HLO_VIR_iload ? " fixed" : " stream");
  }
  if (value->op == HLO_VIR_call) {
    if (value->flags & HLO_VIR_LOCAL) hlo_strbuf_puts(out, " local");
  } else if (value->flags & HLO_VIR_PARALLEL_SAFE) {
    hlo_strbuf_puts(out, " parallel_safe");
  }
}

// Prints a constant: its bits, and the number for floats.
static void print_const(const hlo_vir_value_t* value, hlo_strbuf_t* out) {
  if (value->type.elem == HLO_VIR_F32 || value->type.elem == HLO_VIR_F64) {
    float narrow;
    double wide;
    memcpy(&narrow, &value->imm, sizeof narrow);
    memcpy(&wide, &value->imm, sizeof wide);
    if (value->type.elem == HLO_VIR_F32) wide = narrow;
    hlo_strbuf_printf(out, " %.*g", value->type.elem == HLO_VIR_F32 ? 9 : 17, wide);
    if (!isnan(wide)) return;
  }
  hlo_strbuf_printf(out, " 0x%" PRIx64, (uint64_t)value->imm);
}

static void print_imm(const hlo_vir_value_t* value, hlo_strbuf_t* out) {
  switch (value->op) {
    case HLO_VIR_const:
    case HLO_VIR_mask_const: print_const(value, out); break;
    case HLO_VIR_for: hlo_strbuf_printf(out, " step %" PRId64, value->imm); break;
    case HLO_VIR_icmp: hlo_strbuf_printf(out, " %s", NAME_OF(condition_names, value->flags)); break;
    case HLO_VIR_fcmp:
    case HLO_VIR_scmp:
    case HLO_VIR_ucmp: hlo_strbuf_printf(out, " %s", NAME_OF(condition_names, value->imm)); break;
    case HLO_VIR_fround: hlo_strbuf_printf(out, " %s", NAME_OF(rounding_names, value->imm)); break;
    case HLO_VIR_tile_config:
      for (uint32_t i = 0; i < HLO_VIR_TILE_COUNT; ++i) {
        hlo_strbuf_printf(out, " %u", hlo_vir_tile_config_rows(value->imm, i));
      }
      break;
    case HLO_VIR_tile_load:
    case HLO_VIR_tile_store:
      hlo_strbuf_printf(out, " #%" PRId64 " tile %" PRIu32 " of %" PRIu32 " rows", value->imm,
                        hlo_vir_tile_of(value->flags), hlo_vir_tile_rows(value->flags));
      break;
    case HLO_VIR_tile_dot:
      hlo_strbuf_printf(out, " %s", hlo_vir_tile_kind_name((hlo_vir_tile_kind_t)value->flags));
      for (uint32_t i = 0; i < 3; ++i) {
        hlo_strbuf_printf(out, " %" PRIu32, hlo_vir_tile_operand(value->imm, i));
      }
      break;
    case HLO_VIR_tile_zero:
    case HLO_VIR_iconst:
    case HLO_VIR_param:
    case HLO_VIR_rodata:
    case HLO_VIR_func_address: hlo_strbuf_printf(out, " %" PRId64, value->imm); break;
    default:
      if (value->imm) hlo_strbuf_printf(out, " #%" PRId64, value->imm);
  }
}

static void print_head(const hlo_vir_value_t* value, hlo_strbuf_t* out) {
  if (value->type.elem != HLO_VIR_VOID) {
    print_value(value, out);
    hlo_strbuf_putc(out, ':');
    print_type(value->type, out);
    hlo_strbuf_puts(out, " = ");
  }
  hlo_strbuf_puts(out, hlo_vir_opcode_name((hlo_vir_opcode_t)value->op));
  bool is_memory = hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) == HLO_VIR_MEMORY;
  uint32_t plain =
      is_memory ? hlo_vir_base_operand((hlo_vir_opcode_t)value->op) : value->operand_count;
  for (uint32_t i = 0; i < plain; ++i) {
    hlo_strbuf_puts(out, i ? ", " : " ");
    print_value(value->operands[i], out);
  }
  if (is_memory) {
    print_address(value, out);
  } else {
    print_imm(value, out);
  }
  print_flags(value, out);
  if (value->body) hlo_strbuf_puts(out, " {");
  if (value->debug_id) hlo_strbuf_printf(out, "  ; debug %" PRIu32, value->debug_id);
}

static void indent(uint32_t depth, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i <= depth; ++i) hlo_strbuf_puts(out, "  ");
}

static void print_block(const hlo_vir_block_t* block, hlo_strbuf_t* out) {
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    indent(block->depth, out);
    print_head(value, out);
    hlo_strbuf_putc(out, '\n');
    if (!value->body) continue;
    print_block(value->body, out);
    if (value->other_body && value->other_body->first) {
      indent(block->depth, out);
      hlo_strbuf_puts(out, "} else {\n");
      print_block(value->other_body, out);
    }
    indent(block->depth, out);
    hlo_strbuf_puts(out, "}\n");
  }
}

void hlo_vir_print(const hlo_vir_module_t* module, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < module->blob_count; ++i) {
    hlo_strbuf_printf(out, "blob %" PRIu32 ": %zu bytes, hash %016" PRIx64 "\n", i,
                      module->blobs[i].size_bytes, module->blobs[i].hash);
  }
  for (const hlo_vir_func_t* func = module->first_func; func; func = func->next) {
    hlo_strbuf_printf(out, "%s %s(%" PRIu32 ") {\n", func->is_entry ? "entry" : "chunk", func->name,
                      func->param_count);
    print_block(func->body, out);
    hlo_strbuf_puts(out, "}\n");
  }
}
