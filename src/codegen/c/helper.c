// SPDX-License-Identifier: Apache-2.0
// Types and helper functions of the C source: one small function for each combination of op, type
// and immediate.
//
// A vector is a value of the compiler's vector extension; a helper copies it to an array, loops
// over the lanes and copies the result back. gcc and clang reduce that to one instruction where the
// target has it.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codegen/c/emit_impl.h"

static uint32_t bits_of(hlo_vir_type_t type) {
  return hlo_vir_elem_bits((hlo_vir_elem_t)type.elem);
}
static bool is_float(hlo_vir_type_t type) {
  return type.elem == HLO_VIR_F32 || type.elem == HLO_VIR_F64;
}
// Records a name; true if it is new. The result is irrelevant when memory is exhausted.
static bool is_new(hlo_c_emitter_t* e, const char* name) {
  size_t length = strlen(name);
  if (hlo_map_get(&e->known, name, length)) return false;
  char* copy = hlo_arena_strndup(&e->arena, name, length);
  if (!copy || !hlo_map_put(&e->known, copy, length, copy)) e->arena.failed = true;
  return true;
}

// ---- types -------------------------------------------------------------------------------------

// The C type of one lane.
static void lane_type(hlo_vir_type_t type, uint32_t mask_bits, bool as_unsigned, char name[16]) {
  uint32_t bits = type.elem == HLO_VIR_MASK ? mask_bits : bits_of(type);
  if (is_float(type) && !as_unsigned) {
    snprintf(name, 16, "%s", bits == 32 ? "float" : "double");
  } else {
    snprintf(name, 16, "%sint%u_t", as_unsigned ? "u" : "", bits);
  }
}

// The C type of a value, declared on first use: int64_t, f32x16; a mask is a vector of integers.
static void type_name(hlo_c_emitter_t* e, hlo_vir_type_t type, uint32_t mask_bits,
                      char name[HLO_C_NAME_BYTES]) {
  if (type.elem == HLO_VIR_INDEX) {
    snprintf(name, HLO_C_NAME_BYTES, "int64_t");
    return;
  }
  uint32_t bits = type.elem == HLO_VIR_MASK ? mask_bits : bits_of(type);
  snprintf(name, HLO_C_NAME_BYTES, "%c%ux%u", is_float(type) ? 'f' : 'i', bits, type.lanes);
  if (!is_new(e, name)) return;
  char lane[16];
  lane_type(type, mask_bits, false, lane);
  hlo_strbuf_printf(&e->helpers, "typedef %s %s", lane, name);
  if (type.lanes > 1) {
    hlo_strbuf_printf(&e->helpers, " __attribute__((vector_size(%u)))", bits / 8 * type.lanes);
  }
  hlo_strbuf_puts(&e->helpers, ";\n");
}

void hlo_c_value_type(hlo_c_emitter_t* e, const hlo_vir_value_t* value,
                      char name[HLO_C_NAME_BYTES]) {
  type_name(e, value->type, e->mask_bits[value->number], name);
}

// ---- masks -------------------------------------------------------------------------------------

static bool is_mask(const hlo_vir_value_t* value) {
  return value && value->type.elem == HLO_VIR_MASK;
}

uint32_t hlo_c_mask_bits_of(const hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_store:
    case HLO_VIR_scatter: return bits_of(value->operands[0]->type);
    case HLO_VIR_set: return e->mask_bits[value->operands[0]->number];
    case HLO_VIR_mask_bits: return e->mask_bits[value->operands[0]->number];
    default: return is_mask(value) ? e->mask_bits[value->number] : bits_of(value->type);
  }
}

static void give_bits(hlo_c_emitter_t* e, const hlo_vir_value_t* value, uint32_t bits) {
  if (is_mask(value) && !e->mask_bits[value->number]) e->mask_bits[value->number] = (uint8_t)bits;
}

// Derives the widths of the masks that this instruction defines and uses.
static void learn_masks(hlo_c_emitter_t* e, const hlo_vir_value_t* value) {
  if (hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) == HLO_VIR_COMPARE) {
    give_bits(e, value, bits_of(value->operands[0]->type));
  }
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    if (!is_mask(value->operands[i])) continue;
    give_bits(e, value, e->mask_bits[value->operands[i]->number]);
    give_bits(e, value->operands[i], hlo_c_mask_bits_of(e, value));
  }
}

static void visit_masks(hlo_c_emitter_t* e, const hlo_vir_block_t* block, bool is_last) {
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    learn_masks(e, value);
    if (is_last) give_bits(e, value, 8);
    if (value->body) visit_masks(e, value->body, is_last);
    if (value->other_body) visit_masks(e, value->other_body, is_last);
  }
}

void hlo_c_choose_masks(hlo_c_emitter_t* e) {
  e->mask_bits = hlo_arena_array(&e->arena, e->func->value_count, 1);
  if (!e->mask_bits) return;
  visit_masks(e, e->func->body, false);
  visit_masks(e, e->func->body, false);  // users come after definitions
  visit_masks(e, e->func->body, true);
}

// ---- templates ---------------------------------------------------------------------------------

// The values of a template's placeholders: $F the function's name, $n lanes of the result, $m of
// operand a, $R its type, $T its lane, $V its lane as unsigned integer; $A $B $C types of operands
// a, b, c and $a $b $c their lanes; $U operand a's lane as unsigned integer; $X the op's
// expression, $I the immediate.
typedef struct slots {
  const char* name;
  uint32_t lanes, a_lanes;
  char result[HLO_C_NAME_BYTES], result_lane[16], result_unsigned[16];
  char operands[3][HLO_C_NAME_BYTES], lane[3][16], a_unsigned[16];
  const char* expression;
  int64_t imm;
} slots_t;

static void fill_slot(hlo_strbuf_t* out, char letter, const slots_t* slots) {
  switch (letter) {
    case 'F': hlo_strbuf_puts(out, slots->name); break;
    case 'n': hlo_strbuf_printf(out, "%u", slots->lanes); break;
    case 'm': hlo_strbuf_printf(out, "%u", slots->a_lanes); break;
    case 'R': hlo_strbuf_puts(out, slots->result); break;
    case 'T': hlo_strbuf_puts(out, slots->result_lane); break;
    case 'V': hlo_strbuf_puts(out, slots->result_unsigned); break;
    case 'U': hlo_strbuf_puts(out, slots->a_unsigned); break;
    case 'X': hlo_strbuf_puts(out, slots->expression); break;
    case 'I': hlo_strbuf_printf(out, "%" PRId64, slots->imm); break;
    default:
      if (letter >= 'a') {
        hlo_strbuf_puts(out, slots->lane[letter - 'a']);
      } else {
        hlo_strbuf_puts(out, slots->operands[letter - 'A']);
      }
  }
}

static void fill(hlo_strbuf_t* out, const char* template, const slots_t* slots) {
  for (const char* at = template; *at; ++at) {
    if (*at == '$') {
      fill_slot(out, *++at, slots);
    } else {
      hlo_strbuf_putc(out, *at);
    }
  }
}

// For an op with a vector result: parameters and the statement that sets lane i of r_; x_ are the
// lanes of operand x. For other ops: parameters and the whole body.
typedef struct template {
  const char* parameters;
  const char* lane;
  const char* body;
}
template_t;

#define LANES_OF(type, lanes, x) \
  "  " type " " x "_[" lanes "];\n  __builtin_memcpy(" x "_, &v" x ", sizeof " x "_);\n"
#define LANES_A LANES_OF("$a", "$m", "a")
#define LANES_B LANES_OF("$b", "$m", "b")
#define LANES_C LANES_OF("$c", "$m", "c")
#define PARTS "  enum { part = $I ? $I : $n };\n"
#define TYPES \
  "  typedef $a E_;\n  typedef $U U_;\n  typedef $T T_;\n  typedef $V V_;\n  enum { imm = $I };\n"

static const template_t templates[HLO_VIR_OPCODE_COUNT] = {
    [HLO_VIR_load] = {"const char* p", NULL,
                      "  $R r;\n  __builtin_memcpy(&r, p, sizeof r);\n  return r;\n"},
    [HLO_VIR_load_splat] = {"const char* p", "__builtin_memcpy(&r_[i], p, sizeof *r_)", ""},
    [HLO_VIR_gather] = {"const char* p, $A va",
                        "__builtin_memcpy(&r_[i], p + ((int64_t)a_[i] << $I), sizeof *r_)",
                        LANES_A},
    [HLO_VIR_store] = {"char* p, $A va", NULL, "  __builtin_memcpy(p, &va, sizeof va);\n"},
    [HLO_VIR_scatter] =
        {"char* p, $A va, $B vb", NULL,
         LANES_A LANES_B
         "  for (int i = 0; i < $m; ++i) {\n"
         "    __builtin_memcpy(p + ((int64_t)b_[i] << $I), &a_[i], sizeof *a_);\n  }\n"},
    [HLO_VIR_const] = {"$V bits", "__builtin_memcpy(&r_[i], &bits, sizeof bits)", ""},
    [HLO_VIR_mask_const] = {"uint64_t bits", "r_[i] = -($T)(bits >> i & 1)", ""},
    [HLO_VIR_lane_iota] = {"void", "r_[i] = ($T)i", ""},
    [HLO_VIR_splat] = {"$A a", "r_[i] = a", ""},
    [HLO_VIR_splat_index] = {"int64_t a", "r_[i] = ($T)a", ""},
    [HLO_VIR_mask_first] = {"int64_t a", "r_[i] = -($T)(i < a)", ""},
    [HLO_VIR_mask_bits] = {"$A va", NULL,
                           LANES_A
                           "  uint64_t bits = 0;\n"
                           "  for (int i = 0; i < $m; ++i) bits |= (uint64_t)(a_[i] & 1) << i;\n"
                           "  return (int64_t)bits;\n"},
    [HLO_VIR_lower_half] = {"$A va", "r_[i] = a_[i]", LANES_A},
    [HLO_VIR_upper_half] = {"$A va", "r_[i] = a_[i + $n]", LANES_A},
    [HLO_VIR_join] = {"$A va, $B vb", "r_[i] = i < $m ? a_[i] : b_[i - $m]", LANES_A LANES_B},
    [HLO_VIR_zip_low] = {"$A va, $B vb",
                         "r_[i] = (i % 2 ? b_ : a_)[i / part * part + i % part / 2]",
                         LANES_A LANES_B PARTS},
    [HLO_VIR_zip_high] = {"$A va, $B vb",
                          "r_[i] = (i % 2 ? b_ : a_)[i / part * part + (i % part + part) / 2]",
                          LANES_A LANES_B PARTS},
    [HLO_VIR_slide_up] = {"$A va", "r_[i] = i < $I ? 0 : a_[i - $I]", LANES_A},
    [HLO_VIR_permute] = {"$A va, $B vb", "r_[i] = a_[i / part * part + b_[i]]",
                         LANES_A LANES_B PARTS},
    [HLO_VIR_recast] = {"$A va",
                        "__builtin_memcpy(&r_[i], (const char*)&va + i * sizeof *r_, sizeof *r_)",
                        ""},
    [HLO_VIR_permute_pair] = {"$A va, $B vb, $C vc",
                              "const int at = (uint8_t)c_[i] % (2 * $n);\n"
                              "    r_[i] = at < $n ? a_[at] : b_[at - $n]",
                              LANES_A LANES_B LANES_C},
};

// With a mask as the last operand: only lanes with a set mask are accessed.
static const template_t masked[HLO_VIR_OPCODE_COUNT] = {
    [HLO_VIR_load] =
        {"const char* p, $A va",
         "r_[i] = 0;\n    if (a_[i]) __builtin_memcpy(&r_[i], p + i * sizeof *r_, sizeof *r_)",
         LANES_A},
    [HLO_VIR_gather] =
        {"const char* p, $A va, $B vb",
         "r_[i] = 0;\n    if (b_[i]) __builtin_memcpy(&r_[i], p + ((int64_t)a_[i] << $I), "
         "sizeof *r_)",
         LANES_A LANES_B},
    [HLO_VIR_store] =
        {"char* p, $A va, $B vb", NULL,
         LANES_A LANES_B
         "  for (int i = 0; i < $m; ++i) {\n"
         "    if (b_[i]) __builtin_memcpy(p + i * sizeof *a_, &a_[i], sizeof *a_);\n  }\n"},
    [HLO_VIR_scatter] =
        {"char* p, $A va, $B vb, $C vc", NULL,
         LANES_A LANES_B LANES_C
         "  for (int i = 0; i < $m; ++i) {\n"
         "    if (c_[i]) __builtin_memcpy(p + ((int64_t)b_[i] << $I), &a_[i], sizeof *a_);\n"
         "  }\n"},
};

// Lane-wise ops by their number of operands; the expression comes from vir.def.
static const template_t lane_wise[] = {
    {0},
    {"$A va", "const $a a = a_[i];\n    r_[i] = (T_)($X)", TYPES LANES_A},
    {"$A va, $B vb", "const $a a = a_[i];\n    const $b b = b_[i];\n    r_[i] = (T_)($X)",
     TYPES LANES_A LANES_B},
    {"$A va, $B vb, $C vc",
     "const $a a = a_[i];\n    const $b b = b_[i];\n    const $c c = c_[i];\n    r_[i] = (T_)($X)",
     TYPES LANES_A LANES_B LANES_C},
};

static const char* const expressions[HLO_VIR_OPCODE_COUNT] = {
#define TEXT_FLOAT(text) text
#define TEXT_INT(text) text
#define TEXT_DOT(text) text
#define TEXT_HALF(text) text
#define TEXT_BITS(text) text
#define TEXT_CONVERT(text) text
#define TEXT_COMPARE(text) "-(" text ")"
#define TEXT_MASK(text) "-((" text ") != 0)"
#define HLO_VIR_LANE(id, operand_count, klass, traits, ...) \
  [HLO_VIR_##id] = TEXT_##klass(#__VA_ARGS__),
#include "codegen/vir/vir.def"
};

// ---- selection ----------------------------------------------------------------------------------

// Collects the operands that are parameters of the helper: for memory ops all but the address.
static uint32_t helper_operands(const hlo_vir_value_t* value, const hlo_vir_value_t* out[3]) {
  uint32_t count = 0;
  bool is_memory = hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) == HLO_VIR_MEMORY;
  uint32_t base = is_memory ? hlo_vir_base_operand((hlo_vir_opcode_t)value->op) : UINT32_MAX;
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    const hlo_vir_value_t* x = hlo_vir_operand(value, i);
    if (!x || i == base || (is_memory && x->type.elem == HLO_VIR_INDEX)) continue;
    if (count < 3) out[count++] = x;
  }
  return count;
}

// Returns true for ops that work on the lanes as unsigned integers, such as bitwise AND.
static bool is_bits_op(const hlo_vir_value_t* value) {
  return hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) == HLO_VIR_BITS;
}

static void fill_slots(hlo_c_emitter_t* e, const hlo_vir_value_t* value, slots_t* slots) {
  const hlo_vir_value_t* operands[3] = {0};
  uint32_t count = helper_operands(value, operands);
  uint32_t mask_bits = hlo_c_mask_bits_of(e, value);
  bool as_unsigned = is_bits_op(value);
  slots->lanes = value->type.lanes;
  slots->expression = expressions[value->op];
  slots->imm = value->imm;
  if (value->op == HLO_VIR_gather || value->op == HLO_VIR_scatter) {
    slots->imm = value->flags & HLO_VIR_SCALE_MASK;
  }
  if (value->type.elem == HLO_VIR_VOID) {
    snprintf(slots->result, sizeof slots->result, "void");
  } else {
    type_name(e, value->type, mask_bits, slots->result);
    lane_type(value->type, mask_bits, as_unsigned, slots->result_lane);
    lane_type(value->type, mask_bits, true, slots->result_unsigned);
  }
  for (uint32_t i = 0; i < count; ++i) {
    type_name(e, operands[i]->type, mask_bits, slots->operands[i]);
    lane_type(operands[i]->type, mask_bits, as_unsigned && !is_mask(operands[i]), slots->lane[i]);
  }
  if (count) {
    slots->a_lanes = operands[0]->type.lanes;
    lane_type(operands[0]->type, mask_bits, true, slots->a_unsigned);
  }
}

static bool has_imm(const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_load:
    case HLO_VIR_store:
    case HLO_VIR_load_splat:
    case HLO_VIR_const:
    case HLO_VIR_mask_const: return false;
    default: return true;
  }
}

// Builds the name from the op, the types of result and operands, and the immediate, which identify
// the helper.
static void helper_name(const hlo_vir_value_t* value, const slots_t* slots, bool is_masked,
                        char name[HLO_C_NAME_BYTES]) {
  int at = snprintf(name, HLO_C_NAME_BYTES, "%s%s",
                    hlo_vir_opcode_name((hlo_vir_opcode_t)value->op), is_masked ? "_masked" : "");
  const char* last = "";
  const char* types[] = {slots->result, slots->operands[0], slots->operands[1], slots->operands[2]};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    if (!*types[i] || strcmp(types[i], last) == 0 || strcmp(types[i], "void") == 0) continue;
    at += snprintf(name + at, HLO_C_NAME_BYTES - (size_t)at, "_%s", types[i]);
    last = types[i];
  }
  if (has_imm(value) && slots->imm) {
    snprintf(name + at, HLO_C_NAME_BYTES - (size_t)at, "_%" PRId64, slots->imm);
  }
}

static const template_t* template_of(const hlo_vir_value_t* value, bool is_masked) {
  if (expressions[value->op]) return &lane_wise[value->operand_count];
  return is_masked ? &masked[value->op] : &templates[value->op];
}

void hlo_c_helper(hlo_c_emitter_t* e, const hlo_vir_value_t* value, char name[HLO_C_NAME_BYTES]) {
  bool is_memory = hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) == HLO_VIR_MEMORY;
  bool is_masked =
      is_memory && value->operand_count && is_mask(value->operands[value->operand_count - 1]);
  slots_t slots = {.name = name};
  fill_slots(e, value, &slots);
  helper_name(value, &slots, is_masked, name);
  if (!is_new(e, name)) return;
  const template_t* template = template_of(value, is_masked);
  hlo_strbuf_t* out = &e->helpers;
  fill(out, "static inline $R $F(", &slots);
  fill(out, template->parameters, &slots);
  hlo_strbuf_puts(out, ") {\n");
  fill(out, template->body, &slots);
  if (template->lane) {
    fill(out, "  $T r_[$n];\n  for (int i = 0; i < $n; ++i) {\n    ", &slots);
    fill(out, template->lane, &slots);
    fill(out, ";\n  }\n  $R r;\n  __builtin_memcpy(&r, r_, sizeof r);\n  return r;\n", &slots);
  }
  hlo_strbuf_puts(out, "}\n");
}

void hlo_c_mask_cast(hlo_c_emitter_t* e, uint32_t lanes, uint32_t from_bits, uint32_t to_bits,
                     char name[HLO_C_NAME_BYTES]) {
  hlo_vir_type_t type = hlo_vir_type(HLO_VIR_MASK, lanes);
  slots_t slots = {.name = name, .lanes = lanes, .a_lanes = lanes};
  type_name(e, type, to_bits, slots.result);
  type_name(e, type, from_bits, slots.operands[0]);
  lane_type(type, to_bits, false, slots.result_lane);
  lane_type(type, from_bits, false, slots.lane[0]);
  snprintf(name, HLO_C_NAME_BYTES, "mask_cast_%.20s_%.20s", slots.result, slots.operands[0]);
  if (!is_new(e, name)) return;
  fill(&e->helpers,
       "static inline $R $F($A va) {\n" LANES_A
       "  $T r_[$n];\n  for (int i = 0; i < $n; ++i) r_[i] = a_[i];\n"
       "  $R r;\n  __builtin_memcpy(&r, r_, sizeof r);\n  return r;\n}\n",
       &slots);
}
