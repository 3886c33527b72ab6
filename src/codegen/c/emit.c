// SPDX-License-Identifier: Apache-2.0
// Functions of vector IR as C source (see emit.h): one statement per instruction, blocks as C
// blocks. helper.c emits the functions that the statements call.
//
// An entry function that may suspend first recomputes the values that depend on its arguments only,
// then jumps to the statement after the suspend, inside the scopes of the values that are restored
// there.

#include <inttypes.h>
#include <string.h>

#include "base/program_abi.h"
#include "codegen/c/emit_impl.h"
#include "codegen/vir/tile.h"

static hlo_vir_opcode_t opcode(const hlo_vir_value_t* value) {
  return (hlo_vir_opcode_t)value->op;
}
static void indent(hlo_c_emitter_t* e, uint32_t depth) {
  for (uint32_t i = 0; i <= depth; ++i) hlo_strbuf_puts(&e->body, "  ");
}

// ---- operands ----------------------------------------------------------------------------------

static void print_int(hlo_strbuf_t* out, int64_t value) {
  if (value == INT64_MIN) {
    hlo_strbuf_puts(out, "INT64_MIN");
  } else {
    hlo_strbuf_printf(out, value == (int32_t)value ? "%" PRId64 : "INT64_C(%" PRId64 ")", value);
  }
}

static void print_value(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  if (value->op == HLO_VIR_iconst) {
    print_int(&e->body, value->imm);
  } else {
    hlo_strbuf_printf(&e->body, "v%" PRIu32, value->number);
  }
}

// Prints a value; a mask in the width that its user expects.
static void print_wanted(hlo_c_emitter_t* e, const hlo_vir_value_t* value, uint32_t mask_bits) {
  uint32_t has_bits = e->mask_bits[value->number];
  if (value->type.elem != HLO_VIR_MASK || has_bits == mask_bits) {
    print_value(e, value);
    return;
  }
  char name[HLO_C_NAME_BYTES];
  hlo_c_mask_cast(e, value->type.lanes, has_bits, mask_bits, name);
  hlo_strbuf_printf(&e->body, "%s(", name);
  print_value(e, value);
  hlo_strbuf_putc(&e->body, ')');
}

static void print_address(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  uint32_t base = hlo_vir_base_operand(opcode(value));
  const hlo_vir_value_t* index = hlo_vir_operand(value, base + 1);
  hlo_strbuf_puts(&e->body, "at(");
  print_value(e, value->operands[base]);
  hlo_strbuf_puts(&e->body, ", ");
  if (index && index->type.elem == HLO_VIR_INDEX) {
    print_value(e, index);
    hlo_strbuf_printf(&e->body, ", %d, ", value->flags & HLO_VIR_SCALE_MASK);
  } else {
    hlo_strbuf_puts(&e->body, "0, 0, ");
  }
  print_int(&e->body, value->imm);
  hlo_strbuf_putc(&e->body, ')');
}

// ---- instructions ------------------------------------------------------------------------------

static void print_helper_call(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  char name[HLO_C_NAME_BYTES];
  hlo_c_helper(e, value, name);
  bool is_memory = hlo_vir_opcode_class(opcode(value)) == HLO_VIR_MEMORY, has_argument = is_memory;
  hlo_strbuf_printf(&e->body, "%s(", name);
  if (is_memory) print_address(e, value);
  if (value->op == HLO_VIR_const || value->op == HLO_VIR_mask_const) {
    hlo_strbuf_printf(&e->body, "0x%" PRIx64, (uint64_t)value->imm);
  }
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    const hlo_vir_value_t* x = value->operands[i];
    if (!x || (is_memory && x->type.elem == HLO_VIR_INDEX)) continue;
    if (has_argument) hlo_strbuf_puts(&e->body, ", ");
    has_argument = true;
    print_wanted(e, x, hlo_c_mask_bits_of(e, value));
  }
  hlo_strbuf_putc(&e->body, ')');
}

static void print_index_memory(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  const char* prefix = value->flags & HLO_VIR_UNSIGNED ? "u" : "";
  uint32_t bits = 8u << (value->flags >> HLO_VIR_WIDTH_SHIFT & 3);
  bool is_load = value->op == HLO_VIR_iload;
  const char* name = is_load ? "READ" : value->op == HLO_VIR_icas ? "SWAP" : "WRITE";
  hlo_strbuf_printf(&e->body, "%s(%sint%" PRIu32 "_t, ", name, prefix, bits);
  print_address(e, value);
  for (uint32_t i = 0; i < hlo_vir_base_operand(opcode(value)); ++i) {
    hlo_strbuf_puts(&e->body, ", ");
    print_value(e, value->operands[i]);
  }
  hlo_strbuf_putc(&e->body, ')');
}

static void print_condition(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  static const char* const signs[] = {"==", "!=", "<", "<=", ">", ">="};
  print_value(e, value->operands[0]);
  hlo_strbuf_printf(&e->body, " %s ", signs[value->flags]);
  print_value(e, value->operands[1]);
}

static void print_index(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  hlo_strbuf_t* out = &e->body;
  switch (value->op) {
    case HLO_VIR_param: hlo_strbuf_printf(out, "p%" PRId64, value->imm); return;
    case HLO_VIR_icmp: print_condition(e, value); return;
    case HLO_VIR_stack:
      hlo_strbuf_printf(out, "(int64_t)(uintptr_t)stack_%" PRIu32, value->number);
      return;
    case HLO_VIR_rodata:
      hlo_strbuf_printf(out, "(int64_t)(uintptr_t)hlo_blobs[%" PRId64 "]", value->imm);
      return;
    case HLO_VIR_func_address:
      hlo_strbuf_printf(out, "(int64_t)(uintptr_t)func_%" PRId64, value->imm);
      return;
    case HLO_VIR_iselect:
      print_value(e, value->operands[0]);
      hlo_strbuf_puts(out, " ? ");
      print_value(e, value->operands[1]);
      hlo_strbuf_puts(out, " : ");
      print_value(e, value->operands[2]);
      return;
    default: break;
  }
  hlo_strbuf_printf(out, "%s(", hlo_vir_opcode_name(opcode(value)));
  print_value(e, value->operands[0]);
  hlo_strbuf_puts(out, ", ");
  if (value->operand_count > 1) {
    print_value(e, value->operands[1]);
  } else {
    print_int(out, value->imm);
  }
  hlo_strbuf_putc(out, ')');
}

// Prints (*(entry of the runtime table))(frame, arguments...), or a call of a function of the
// module.
static void print_call(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  hlo_strbuf_t* out = &e->body;
  if (value->flags & HLO_VIR_LOCAL) {
    hlo_strbuf_printf(out, "func_%" PRId64 "(p0", value->imm);
  } else {
    hlo_strbuf_puts(out, "((int32_t (*)(int64_t");
    for (uint32_t i = 0; i < value->operand_count; ++i) hlo_strbuf_puts(out, ", int64_t");
    hlo_strbuf_printf(out, "))READ(void*, READ(char*, at(p0, 0, 0, %zu)) + %" PRId64 "))(p0",
                      offsetof(hlo_frame_t, runtime), value->imm);
  }
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    hlo_strbuf_puts(out, ", ");
    if (value->operands[i]) {
      print_value(e, value->operands[i]);
    } else {
      hlo_strbuf_putc(out, '0');
    }
  }
  hlo_strbuf_putc(out, ')');
}

static void print_tile(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  hlo_strbuf_t* out = &e->body;
  hlo_strbuf_printf(out, "%s(&tiles", hlo_vir_opcode_name(opcode(value)));
  switch (value->op) {
    case HLO_VIR_tile_config:
      hlo_strbuf_printf(out, ", UINT64_C(0x%" PRIx64 ")", (uint64_t)value->imm);
      break;
    case HLO_VIR_tile_zero: hlo_strbuf_printf(out, ", %" PRId64, value->imm); break;
    case HLO_VIR_tile_dot:
      hlo_strbuf_printf(out, ", %d", value->flags);
      for (uint32_t i = 0; i < 3; ++i) {
        hlo_strbuf_printf(out, ", %" PRIu32, hlo_vir_tile_operand(value->imm, i));
      }
      break;
    case HLO_VIR_tile_load:
    case HLO_VIR_tile_store:
      hlo_strbuf_printf(out, ", %" PRIu32 ", at(", hlo_vir_tile_of(value->flags));
      print_value(e, value->operands[0]);
      hlo_strbuf_printf(out, ", 0, 0, %" PRId64 "), ", value->imm);
      print_value(e, value->operands[1]);
      break;
    default: break;
  }
  hlo_strbuf_putc(out, ')');
}

// Prints an instruction without a body as an expression.
static void print_expression(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_var: print_wanted(e, value->operands[0], hlo_c_mask_bits_of(e, value)); return;
    case HLO_VIR_call: print_call(e, value); return;
    case HLO_VIR_iload:
    case HLO_VIR_istore:
    case HLO_VIR_icas: print_index_memory(e, value); return;
    case HLO_VIR_prefetch:
      hlo_strbuf_puts(&e->body, "__builtin_prefetch(");
      print_address(e, value);
      hlo_strbuf_putc(&e->body, ')');
      return;
    case HLO_VIR_to_index:
      hlo_strbuf_puts(&e->body, "(int64_t)");
      if (value->flags & HLO_VIR_UNSIGNED) {
        uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)value->operands[0]->type.elem);
        hlo_strbuf_printf(&e->body, "(uint%" PRIu32 "_t)", bits);
      }
      print_value(e, value->operands[0]);
      return;
    default: break;
  }
  switch (hlo_vir_opcode_class(opcode(value))) {
    case HLO_VIR_INDEX_OP: print_index(e, value); break;
    case HLO_VIR_TILE: print_tile(e, value); break;
    default: print_helper_call(e, value);
  }
}

static void print_plain(hlo_c_emitter_t* e, const hlo_vir_value_t* value, uint32_t depth) {
  if (value->op == HLO_VIR_iconst) return;
  indent(e, depth);
  if (value->op == HLO_VIR_stack) {
    hlo_strbuf_printf(&e->body, "_Alignas(64) char stack_%" PRIu32 "[%" PRId64 "];\n",
                      value->number, value->imm);
    indent(e, depth);
  }
  if (value->type.elem != HLO_VIR_VOID) {
    char type[HLO_C_NAME_BYTES];
    hlo_c_value_type(e, value, type);
    hlo_strbuf_printf(&e->body, "%s v%" PRIu32 " = ", type, value->number);
  }
  print_expression(e, value);
  hlo_strbuf_puts(&e->body, ";\n");
}

// ---- control flow
// --------------------------------------------------------------------------------

// Prints the location of a value in frame->saved.
static void print_place(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  hlo_strbuf_printf(&e->body, "READ(char*, at(p0, 0, 0, %zu)) + %" PRIu32,
                    offsetof(hlo_frame_t, saved), e->saved.offsets[value->number]);
}

// A mask is saved as its bits, independent of its width here.
static void print_saved_mask(hlo_c_emitter_t* e, const hlo_vir_value_t* value, bool is_save) {
  char name[HLO_C_NAME_BYTES];
  hlo_vir_value_t bits = {.op = HLO_VIR_mask_bits, .type = {HLO_VIR_INDEX, 1}, .operand_count = 1};
  bits.operands[0] = (hlo_vir_value_t*)value;
  hlo_vir_value_t mask = {.op = HLO_VIR_mask_const, .type = value->type, .number = value->number};
  hlo_c_helper(e, is_save ? &bits : &mask, name);
  if (is_save) {
    hlo_strbuf_puts(&e->body, "WRITE(int64_t, ");
    print_place(e, value);
    hlo_strbuf_printf(&e->body, ", %s(v%" PRIu32 "));\n", name, value->number);
  } else {
    hlo_strbuf_printf(&e->body, "v%" PRIu32 " = %s(READ(uint64_t, ", value->number, name);
    print_place(e, value);
    hlo_strbuf_puts(&e->body, "));\n");
  }
}

// Saves or restores the values that are live across a suspend, one per line.
static void print_saved(hlo_c_emitter_t* e, const hlo_vir_resume_t* resume, bool is_save,
                        uint32_t depth) {
  for (uint32_t i = 0; i < resume->value_count; ++i) {
    const hlo_vir_value_t* value = resume->values[i];
    indent(e, depth);
    if (value->type.elem == HLO_VIR_MASK) {
      print_saved_mask(e, value, is_save);
      continue;
    }
    hlo_strbuf_puts(&e->body, is_save ? "SAVE(" : "RESTORE(");
    print_place(e, value);
    hlo_strbuf_printf(&e->body, ", v%" PRIu32 ");\n", value->number);
  }
}

static void print_suspend(hlo_c_emitter_t* e, const hlo_vir_value_t* value, uint32_t depth) {
  const hlo_vir_resume_t* resume = e->saved.resumes;
  while (resume->suspend != value) ++resume;
  print_saved(e, resume, true, depth);
  indent(e, depth);
  hlo_strbuf_printf(&e->body, "WRITE(uint32_t, at(p0, 0, 0, %zu), %" PRId64 ");\n",
                    offsetof(hlo_frame_t, resume_point), value->imm);
  indent(e, depth);
  hlo_strbuf_printf(&e->body, "return %d;\n", HLO_PROGRAM_SUSPENDED);
  indent(e, depth);
  hlo_strbuf_printf(&e->body, "resume_%" PRId64 ":;\n", value->imm);
  print_saved(e, resume, false, depth);
}

static const hlo_vir_value_t* loop_around(const hlo_vir_value_t* value) {
  const hlo_vir_value_t* at = value->parent->owner;
  while (at->op != HLO_VIR_loop) at = at->parent->owner;
  return at;
}

static void print_block(hlo_c_emitter_t* e, const hlo_vir_block_t* block);

// Prints the head of an instruction with a body, up to its brace.
static void print_head(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  if (value->op == HLO_VIR_for) {
    hlo_strbuf_printf(&e->body, "for (int64_t v%" PRIu32 " = ", value->number);
    print_value(e, value->operands[0]);
    hlo_strbuf_printf(&e->body, "; v%" PRIu32 " < ", value->number);
    print_value(e, value->operands[1]);
    hlo_strbuf_printf(&e->body, "; v%" PRIu32 " = iadd(v%" PRIu32 ", %" PRId64 ")) {\n",
                      value->number, value->number, value->imm);
  } else if (value->op == HLO_VIR_if) {
    hlo_strbuf_puts(&e->body, "if (");
    print_value(e, value->operands[0]);
    hlo_strbuf_puts(&e->body, ") {\n");
  } else {
    hlo_strbuf_puts(&e->body, "for (;;) {\n");
  }
}

static void print_structured(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  uint32_t depth = value->parent->depth;
  indent(e, depth);
  print_head(e, value);
  print_block(e, value->body);
  if (value->other_body && value->other_body->first) {
    indent(e, depth);
    hlo_strbuf_puts(&e->body, "} else {\n");
    print_block(e, value->other_body);
  }
  indent(e, depth);
  hlo_strbuf_puts(&e->body, "}\n");
  if (value->op == HLO_VIR_loop) {
    indent(e, depth);
    hlo_strbuf_printf(&e->body, "break_%" PRIu32 ":;\n", value->number);
  }
}

static void print_control(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  uint32_t depth = value->parent->depth;
  if (value->body) {
    print_structured(e, value);
    return;
  }
  switch (value->op) {
    case HLO_VIR_suspend: print_suspend(e, value, depth); return;
    case HLO_VIR_var:
    case HLO_VIR_call: print_plain(e, value, depth); return;
    default: break;
  }
  indent(e, depth);
  if (value->op == HLO_VIR_break_if) {
    hlo_strbuf_puts(&e->body, "if (");
    print_value(e, value->operands[0]);
    hlo_strbuf_printf(&e->body, ") goto break_%" PRIu32, loop_around(value)->number);
  } else if (value->op == HLO_VIR_set) {
    hlo_strbuf_printf(&e->body, "v%" PRIu32 " = ", value->operands[0]->number);
    print_wanted(e, value->operands[1], hlo_c_mask_bits_of(e, value));
  } else {
    hlo_strbuf_puts(&e->body, "return (int32_t)");
    print_value(e, value->operands[0]);
  }
  hlo_strbuf_puts(&e->body, ";\n");
}

static bool is_made_before(const hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  return e->saved.resume_count && e->saved.is_rematerialized[value->number];
}

static void print_block(hlo_c_emitter_t* e, const hlo_vir_block_t* block) {
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    if (is_made_before(e, value)) continue;
    if (hlo_vir_opcode_class(opcode(value)) == HLO_VIR_CONTROL) {
      print_control(e, value);
    } else {
      print_plain(e, value, block->depth);
    }
  }
}

// ---- functions ---------------------------------------------------------------------------------

static void print_prototype(hlo_strbuf_t* out, const hlo_vir_func_t* func) {
  hlo_strbuf_printf(out, "static int32_t func_%" PRIu32 "(", func->index);
  for (uint32_t i = 0; i < func->param_count; ++i) {
    hlo_strbuf_printf(out, "%sint64_t p%" PRIu32, i ? ", " : "", i);
  }
  hlo_strbuf_putc(out, ')');
}

// Prints the recomputed values, then the jump to the suspended position.
static void print_resume(hlo_c_emitter_t* e) {
  if (!e->saved.resume_count) return;
  for (const hlo_vir_value_t* value = e->func->body->first; value; value = value->next) {
    if (is_made_before(e, value)) print_plain(e, value, 0);
  }
  hlo_strbuf_printf(&e->body, "  switch (READ(uint32_t, at(p0, 0, 0, %zu))) {\n",
                    offsetof(hlo_frame_t, resume_point));
  for (uint32_t i = 0; i < e->saved.resume_count; ++i) {
    int64_t point = e->saved.resumes[i].suspend->imm;
    hlo_strbuf_printf(&e->body, "    case %" PRId64 ": goto resume_%" PRId64 ";\n", point, point);
  }
  hlo_strbuf_puts(&e->body, "  }\n");
}

static bool has_tiles(const hlo_vir_block_t* block) {
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    if (value->op == HLO_VIR_tile_config || (value->body && has_tiles(value->body)) ||
        (value->other_body && has_tiles(value->other_body))) {
      return true;
    }
  }
  return false;
}

static hlo_status_t print_func(hlo_c_emitter_t* e, const hlo_vir_func_t* func) {
  e->func = func;
  e->saved = (hlo_vir_saved_t){0};
  hlo_c_choose_masks(e);
  HLO_TRY(hlo_arena_status(&e->arena));
  if (func->is_entry) HLO_TRY(hlo_vir_saved_create(func, &e->arena, &e->saved));
  hlo_strbuf_printf(&e->body, "\n// %s\n", func->name);
  print_prototype(&e->body, func);
  hlo_strbuf_puts(&e->body, " {\n");
  if (has_tiles(func->body)) {
    hlo_strbuf_puts(&e->body, "  tiles_t tiles;\n");
    e->uses_tiles = true;
  }
  print_resume(e);
  print_block(e, func->body);
  hlo_strbuf_puts(&e->body, "}\n");
  return hlo_arena_status(&e->arena);
}

// Prints the constants as words; the last word is padded with zeros.
static void print_blobs(const hlo_vir_module_t* module, hlo_c_blobs_t blobs, hlo_strbuf_t* out) {
  if (!module->blob_count) return;
  if (blobs == HLO_C_BLOBS_EXTERNAL) {
    hlo_strbuf_printf(out, "const void* hlo_blobs[%" PRIu32 "];\n", module->blob_count);
    return;
  }
  for (uint32_t i = 0; i < module->blob_count; ++i) {
    const hlo_vir_blob_t* blob = &module->blobs[i];
    hlo_strbuf_printf(out, "static const _Alignas(64) uint64_t blob_%" PRIu32 "[] = {", i);
    for (size_t at = 0; at < blob->size_bytes || at == 0; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      size_t left = blob->size_bytes - at;
      if (blob->size_bytes)
        memcpy(&word, blob->bytes + at, left < sizeof word ? left : sizeof word);
      hlo_strbuf_printf(out, "%s0x%" PRIx64 ",", at % 64 ? " " : "\n  ", word);
    }
    hlo_strbuf_puts(out, "\n};\n");
  }
  hlo_strbuf_puts(out, "static const void* const hlo_blobs[] = {");
  for (uint32_t i = 0; i < module->blob_count; ++i) {
    hlo_strbuf_printf(out, "%sblob_%" PRIu32, i ? ", " : "", i);
  }
  hlo_strbuf_puts(out, "};\n");
}

static void print_unit(hlo_c_emitter_t* e, hlo_c_blobs_t blobs, const uint32_t* saved_bytes,
                       hlo_strbuf_t* out) {
  const hlo_vir_func_t* func;
  hlo_strbuf_printf(out, "#define HLOCC_FLUSHES %d  // subnormal numbers\n",
                    e->module->subnormals == HLO_SUBNORMALS_FLUSH);
  hlo_strbuf_puts(out, hlo_c_prelude);
  if (e->uses_tiles) hlo_strbuf_puts(out, hlo_c_tiles);
  hlo_strbuf_puts(out, hlo_strbuf_text(&e->helpers));
  hlo_strbuf_putc(out, '\n');
  print_blobs(e->module, blobs, out);
  for (func = e->module->first_func; func; func = func->next) {
    print_prototype(out, func);
    hlo_strbuf_puts(out, ";\n");
  }
  hlo_strbuf_puts(out, hlo_strbuf_text(&e->body));
  hlo_strbuf_puts(out, "\nvoid* const hlo_functions[] = {");
  for (func = e->module->first_func; func; func = func->next) {
    hlo_strbuf_printf(out, "%s(void*)func_%" PRIu32, func->index ? ", " : "", func->index);
  }
  hlo_strbuf_puts(out, "};\nconst uint32_t hlo_saved_bytes[] = {");
  for (func = e->module->first_func; func; func = func->next) {
    hlo_strbuf_printf(out, "%s%" PRIu32, func->index ? ", " : "", saved_bytes[func->index]);
  }
  hlo_strbuf_puts(out, "};\n");
}

static hlo_status_t emit_unit(hlo_c_emitter_t* e, hlo_c_blobs_t blobs, hlo_strbuf_t* out) {
  uint32_t* saved_bytes = hlo_arena_array(&e->arena, e->module->func_count, sizeof *saved_bytes);
  HLO_TRY(hlo_arena_status(&e->arena));
  for (const hlo_vir_func_t* func = e->module->first_func; func; func = func->next) {
    HLO_TRY(print_func(e, func));
    saved_bytes[func->index] = e->saved.size_bytes;
  }
  HLO_TRY(hlo_strbuf_status(&e->helpers));
  HLO_TRY(hlo_strbuf_status(&e->body));
  print_unit(e, blobs, saved_bytes, out);
  return hlo_strbuf_status(out);
}

hlo_status_t hlo_c_emit(const hlo_vir_module_t* module, hlo_c_blobs_t blobs, hlo_strbuf_t* out) {
  hlo_c_emitter_t e = {.module = module};
  hlo_arena_init(&e.arena, 0);
  hlo_status_t status = emit_unit(&e, blobs, out);
  hlo_strbuf_deinit(&e.helpers);
  hlo_strbuf_deinit(&e.body);
  hlo_map_deinit(&e.known);
  hlo_arena_deinit(&e.arena);
  return status;
}
