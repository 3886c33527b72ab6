// SPDX-License-Identifier: Apache-2.0
// Tests every rule of rules.def: runs its pattern and its result in the reference interpreter, for
// every element type that the rule admits, over special values, all pairs of them, and random bits.
// Patterns of elementwise ops are built from the rule itself; the others are given as text below.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fpenv.h"
#include "interp/program.h"
#include "ir/clone.h"
#include "ir/test_util.h"
#include "passes/constants.h"
#include "passes/passes.h"
#include "passes/rules.h"

enum { ELEMENTS = 1536, VARIABLES_MAX = 3 };

// Ops with attributes that the pattern does not give: the function's arguments and body, T for the
// type.
typedef struct example {
  const char* rule;
  const char* args;
  const char* body;
  const char* result;
} example_t;

static const example_t examples[] = {
    {"convert_same", "%x: tensor<60xT>",
     "%r = \"stablehlo.convert\"(%x) : (tensor<60xT>) -> tensor<60xT>", "tensor<60xT>"},
    {"bitcast_same", "%x: tensor<60xT>",
     "%r = \"stablehlo.bitcast_convert\"(%x) : (tensor<60xT>) -> tensor<60xT>", "tensor<60xT>"},
    {"bitcast_bitcast", "%x: tensor<60xf32>",
     "%0 = \"stablehlo.bitcast_convert\"(%x) : (tensor<60xf32>) -> tensor<60x4xi8>\n"
     "%r = \"stablehlo.bitcast_convert\"(%0) : (tensor<60x4xi8>) -> tensor<60xf32>",
     "tensor<60xf32>"},
    {"real_complex", "%x: tensor<60xf32>, %y: tensor<60xf32>",
     "%0 = stablehlo.complex %x, %y : tensor<60xcomplex<f32>>\n"
     "%r = stablehlo.real %0 : (tensor<60xcomplex<f32>>) -> tensor<60xf32>",
     "tensor<60xf32>"},
    {"imag_complex", "%x: tensor<60xf64>, %y: tensor<60xf64>",
     "%0 = stablehlo.complex %x, %y : tensor<60xcomplex<f64>>\n"
     "%r = stablehlo.imag %0 : (tensor<60xcomplex<f64>>) -> tensor<60xf64>",
     "tensor<60xf64>"},
    {"reshape_same", "%x: tensor<3x4xT>",
     "%r = stablehlo.reshape %x : (tensor<3x4xT>) -> tensor<3x4xT>", "tensor<3x4xT>"},
    {"reshape_reshape", "%x: tensor<3x4xT>",
     "%0 = stablehlo.reshape %x : (tensor<3x4xT>) -> tensor<12xT>\n"
     "%r = stablehlo.reshape %0 : (tensor<12xT>) -> tensor<2x6xT>",
     "tensor<2x6xT>"},
    {"transpose_identity", "%x: tensor<3x4xT>",
     "%r = stablehlo.transpose %x, dims = [0, 1] : (tensor<3x4xT>) -> tensor<3x4xT>",
     "tensor<3x4xT>"},
    {"transpose_transpose", "%x: tensor<2x3x4xT>",
     "%0 = stablehlo.transpose %x, dims = [1, 2, 0] : (tensor<2x3x4xT>) -> tensor<3x4x2xT>\n"
     "%r = stablehlo.transpose %0, dims = [0, 2, 1] : (tensor<3x4x2xT>) -> tensor<3x2x4xT>",
     "tensor<3x2x4xT>"},
    {"broadcast_identity", "%x: tensor<3x4xT>",
     "%r = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<3x4xT>) -> tensor<3x4xT>",
     "tensor<3x4xT>"},
    {"broadcast_broadcast", "%x: tensor<3x1xT>",
     "%0 = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<3x1xT>) -> tensor<4x2x3xT>\n"
     "%r = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3] : (tensor<4x2x3xT>) -> "
     "tensor<2x4x2x3xT>",
     "tensor<2x4x2x3xT>"},
    {"slice_full", "%x: tensor<3x4xT>",
     "%r = stablehlo.slice %x [0:3, 0:4] : (tensor<3x4xT>) -> tensor<3x4xT>", "tensor<3x4xT>"},
    {"slice_slice", "%x: tensor<30x8xT>",
     "%0 = stablehlo.slice %x [3:29:3, 1:8] : (tensor<30x8xT>) -> tensor<9x7xT>\n"
     "%r = stablehlo.slice %0 [1:8:2, 2:6] : (tensor<9x7xT>) -> tensor<4x4xT>",
     "tensor<4x4xT>"},
    {"pad_nothing", "%x: tensor<3x4xT>, %y: tensor<T>",
     "%r = stablehlo.pad %x, %y, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<3x4xT>, "
     "tensor<T>) -> tensor<3x4xT>",
     "tensor<3x4xT>"},
    {"reverse_nothing", "%x: tensor<1x4xT>",
     "%r = stablehlo.reverse %x, dims = [0] : tensor<1x4xT>", "tensor<1x4xT>"},
    {"reverse_reverse", "%x: tensor<3x4xT>",
     "%0 = stablehlo.reverse %x, dims = [1, 0] : tensor<3x4xT>\n"
     "%r = stablehlo.reverse %0, dims = [1, 0] : tensor<3x4xT>",
     "tensor<3x4xT>"},
    {"concatenate_one", "%x: tensor<3x4xT>",
     "%r = stablehlo.concatenate %x, dim = 0 : (tensor<3x4xT>) -> tensor<3x4xT>", "tensor<3x4xT>"},
};

// Products whose contracted dimensions or operands pass canonicalize reorders.
static const example_t products[] = {
    {"swap, no transpose left", "%x: tensor<2x5x3xT>, %y: tensor<2x5x4xT>",
     "%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1], "
     "precision = [HIGH, HIGHEST] : (tensor<2x5x3xT>, tensor<2x5x4xT>) -> tensor<2x3x4xT>\n"
     "%r = stablehlo.transpose %0, dims = [0, 2, 1] : (tensor<2x3x4xT>) -> tensor<2x4x3xT>",
     "tensor<2x4x3xT>"},
    {"swap, rows innermost", "%x: tensor<3x7x2x5xT>, %y: tensor<4x2x6x5xT>",
     "%0 = stablehlo.dot_general %x, %y, batching_dims = [2] x [1], contracting_dims = [3] x [3] : "
     "(tensor<3x7x2x5xT>, tensor<4x2x6x5xT>) -> tensor<2x3x7x4x6xT>\n"
     "%r = stablehlo.transpose %0, dims = [3, 1, 0, 4, 2] : (tensor<2x3x7x4x6xT>) -> "
     "tensor<4x3x2x6x7xT>",
     "tensor<4x3x2x6x7xT>"},
    {"order of contraction", "%x: tensor<4x3x2x5xT>, %y: tensor<4x2x5x6xT>",
     "%r = stablehlo.dot_general %x, %y, contracting_dims = [3, 0, 2] x [2, 0, 1] : "
     "(tensor<4x3x2x5xT>, tensor<4x2x5x6xT>) -> tensor<3x6xT>",
     "tensor<3x6xT>"},
};

static const example_t* find_example(const char* rule) {
  for (size_t i = 0; i < sizeof examples / sizeof *examples; ++i) {
    if (strcmp(examples[i].rule, rule) == 0) return &examples[i];
  }
  return NULL;
}

static const char* type_name(hlo_dtype_t dtype, char text[32]) {
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  if (hlo_dtype_is_complex(dtype)) {
    snprintf(text, 32, "complex<%s>", hlo_dtype_info(info->part)->mlir_name);
  } else {
    snprintf(text, 32, "%s", info->mlir_name);
  }
  return text;
}

static void append_typed(hlo_strbuf_t* out, const char* text, const char* type) {
  for (; *text; ++text) {
    bool is_type = *text == 'T' && (text[1] == '>' || text[1] == 0);
    if (is_type)
      hlo_strbuf_puts(out, type);
    else
      hlo_strbuf_putc(out, *text);
  }
}

static hlo_module_t* module_of_example(const example_t* example, hlo_dtype_t dtype) {
  char name[32];
  hlo_strbuf_t text = {0};
  type_name(dtype, name);
  hlo_strbuf_puts(&text, "func.func @main(");
  append_typed(&text, example->args, name);
  hlo_strbuf_puts(&text, ") -> ");
  append_typed(&text, example->result, name);
  hlo_strbuf_puts(&text, " {\n");
  append_typed(&text, example->body, name);
  hlo_strbuf_puts(&text, "\nreturn %r : ");
  append_typed(&text, example->result, name);
  hlo_strbuf_puts(&text, "\n}\n");
  hlo_module_t* module = hlo_test_parse(hlo_strbuf_text(&text));
  hlo_strbuf_deinit(&text);
  return module;
}

// ---- modules of patterns

typedef struct builder {
  hlo_module_t* module;
  hlo_region_t* body;
  const hlo_type_t* type;
  hlo_value_t* variables[HLO_RULE_VARIABLES];
  bool is_impossible;  // the type cannot represent a number of the pattern
} builder_t;

static hlo_value_t* build_number(builder_t* b, const hlo_term_t* term, const hlo_type_t* type) {
  hlo_literal_t* literal = NULL;
  uint8_t element[16];
  if (!hlo_term_element(term, type->dtype, element)) b->is_impossible = true;
  hlo_test_check(hlo_literal_create(type->dtype, type->rank, type->dims, true, &literal));
  memcpy(hlo_literal_mutable_data(literal), element, hlo_dtype_size_bytes(type->dtype));
  hlo_node_t* node = hlo_constant_create(b->module, type, literal, 0);
  hlo_literal_release(literal);
  hlo_region_append(b->body, node);
  return &node->results[0];
}

static hlo_value_t* build_term(builder_t* b, const hlo_term_t* term, const hlo_type_t* type) {
  const hlo_type_t* pred = hlo_type_with_dtype(b->module, type, HLO_DTYPE_PRED);
  if (term->kind == HLO_TERM_VARIABLE) {
    hlo_value_t** value = &b->variables[term->variable];
    if (!*value) *value = hlo_region_add_arg(b->body, type);
    return *value;
  }
  if (term->kind != HLO_TERM_OP) return build_number(b, term, type);
  hlo_value_t* operands[3];
  for (uint32_t i = 0; i < term->operand_count; ++i) {
    bool is_choice = term->op == HLO_OP_select && i == 0;
    operands[i] = build_term(b, term->operands[i], is_choice ? pred : type);
  }
  hlo_node_t* node =
      hlo_node_create(b->module, &(hlo_node_spec_t){.op = term->op,
                                                    .operand_count = term->operand_count,
                                                    .operands = operands,
                                                    .result_count = 1,
                                                    .result_types = &type});
  hlo_region_append(b->body, node);
  return &node->results[0];
}

// Returns NULL if the type cannot represent a number of the pattern.
static hlo_module_t* module_of_pattern(const hlo_term_t* pattern, hlo_dtype_t dtype) {
  builder_t b = {0};
  hlo_test_check(hlo_module_create(0, &b.module));
  int64_t count = ELEMENTS;
  b.type = hlo_type_tensor(b.module, dtype, 1, &count);
  const hlo_type_t* type = hlo_type_function(b.module, 0, NULL, 1, &b.type);
  hlo_func_t* func = hlo_func_create(b.module, "main", type, HLO_PUBLIC, true, 0);
  b.body = func->body;
  hlo_value_t* result = build_term(&b, pattern, b.type);
  hlo_region_append(b.body, hlo_node_create(b.module, &(hlo_node_spec_t){.op = HLO_OP_func_return,
                                                                         .operand_count = 1,
                                                                         .operands = &result}));
  hlo_func_update_type(func);
  if (!b.is_impossible) return b.module;
  hlo_module_release(b.module);
  return NULL;
}

// ---- values

static uint64_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 11 ^ *state << 32;
}

static const double special_values[] = {0.0,   -0.0, 1.0,      -1.0,      2.0,     -2.0,
                                        0.5,   3.0,  INFINITY, -INFINITY, NAN,     5e-324,
                                        1e-38, 1e-5, 65504.0,  -448.0,    1.7e308, -3.4e38};
enum { SPECIALS = sizeof special_values / sizeof *special_values };
static const int64_t special_ints[SPECIALS] = {
    0,    1,   -1,    2,      -2,        3,         7,         127,       128,
    -128, 255, 32767, -32768, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 64};

static void fill_part(hlo_dtype_t dtype, uint8_t* at, int64_t i, uint32_t variable, bool moderate,
                      uint64_t* random) {
  int64_t pick = variable == 0 ? i % SPECIALS : i / SPECIALS % SPECIALS;
  bool special = i < SPECIALS * SPECIALS;
  uint64_t bits = next_random(random);
  if (hlo_dtype_is_float(dtype)) {
    uint8_t width = hlo_dtype_info(dtype)->bits;
    if (moderate) {
      double size = 0.5 + (double)(bits >> 12 & 0xffff) / 0x10000 * 3.0;
      hlo_dtype_store_double(dtype, at, bits & 1 ? size : -size);
    } else if (special) {
      hlo_dtype_store_double(dtype, at, special_values[pick]);
    } else {
      if (width < 8) bits &= (1u << width) - 1;
      memcpy(at, &bits, hlo_dtype_size_bytes(dtype));
    }
  } else if (dtype == HLO_DTYPE_PRED) {
    *at = (uint8_t)(special ? pick & 1 : bits & 1);
  } else {
    hlo_dtype_store_int64(dtype, at, special ? special_ints[pick] : (int64_t)bits);
  }
}

static hlo_tensor_t* make_input(const hlo_type_t* type, uint32_t variable, bool moderate) {
  hlo_tensor_t* tensor = NULL;
  hlo_test_check(hlo_tensor_create(type->dtype, type->rank, type->dims, &tensor));
  hlo_dtype_t part = hlo_dtype_info(type->dtype)->part;
  int64_t parts = hlo_dtype_is_complex(type->dtype) ? 2 : 1;
  size_t width = hlo_dtype_size_bytes(part);
  uint64_t random = 17 + variable;
  for (int64_t i = 0; i < tensor->element_count * parts; ++i) {
    fill_part(part, (uint8_t*)tensor->data + (size_t)i * width, i / parts + i % parts, variable,
              moderate, &random);
  }
  return tensor;
}

static hlo_tensor_t* evaluate(const hlo_module_t* module, bool moderate) {
  hlo_interp_program_t* program = NULL;
  hlo_test_check(hlo_interp_program_create(module, &program));
  const hlo_func_t* entry = hlo_module_entry(module);
  hlo_tensor_t* inputs[VARIABLES_MAX] = {0};
  assert_true(entry->type->input_count <= VARIABLES_MAX);
  for (uint32_t i = 0; i < entry->type->input_count; ++i) {
    inputs[i] = make_input(entry->type->elements[i], i, moderate);
  }
  hlo_tensor_t* output = NULL;
  hlo_fp_state_t before = hlo_fp_enter(HLO_SUBNORMALS_KEEP);
  hlo_test_check(
      hlo_interp_call(program, entry, entry->type->input_count, inputs, 1, &output, NULL));
  hlo_fp_leave(before);
  for (uint32_t i = 0; i < entry->type->input_count; ++i) hlo_tensor_release(inputs[i]);
  hlo_interp_program_release(program);
  return output;
}

// ---- comparison

static bool parts_agree(hlo_rule_class_t exactness, hlo_dtype_t dtype, const void* a,
                        const void* b) {
  if (memcmp(a, b, hlo_dtype_size_bytes(dtype)) == 0) return true;
  if (!hlo_dtype_is_float(dtype)) return false;
  double x = hlo_dtype_load_double(dtype, a), y = hlo_dtype_load_double(dtype, b);
  if (isnan(x) && isnan(y)) return true;
  if (exactness == HLO_RULE_BITS) return false;
  if (x == y) return true;
  if (exactness == HLO_RULE_VALUE) return false;
  double bound = ldexp(4.0, -hlo_dtype_info(dtype)->mantissa_bits);
  return !isfinite(x) || fabs(x - y) <= bound * fmax(1.0, fmax(fabs(x), fabs(y)));
}

static void compare(const char* name, hlo_rule_class_t exactness, const hlo_tensor_t* a,
                    const hlo_tensor_t* b) {
  assert_int_equal(a->dtype, b->dtype);
  assert_int_equal(a->size_bytes, b->size_bytes);
  hlo_dtype_t part = hlo_dtype_info(a->dtype)->part;
  size_t width = hlo_dtype_size_bytes(part);
  for (size_t at = 0; at < a->size_bytes; at += width) {
    const char *x = (const char*)a->data + at, *y = (const char*)b->data + at;
    if (parts_agree(exactness, part, x, y)) continue;
    fail_msg("%s on %s: part %zu: %g before, %g after", name, hlo_dtype_info(a->dtype)->name,
             at / width,
             hlo_dtype_is_float(part) ? hlo_dtype_load_double(part, x)
                                      : (double)hlo_dtype_load_int64(part, x),
             hlo_dtype_is_float(part) ? hlo_dtype_load_double(part, y)
                                      : (double)hlo_dtype_load_int64(part, y));
  }
}

// Verifies a rewritten module and compares its result with the one from before.
static void compare_after(const char* name, hlo_rule_class_t exactness, bool moderate,
                          const hlo_module_t* module, const hlo_tensor_t* before) {
  hlo_diag_t diag;
  hlo_diag_init(&diag, name, NULL, 0);
  hlo_test_check(hlo_module_verify(module, &diag));
  hlo_diag_deinit(&diag);
  hlo_tensor_t* after = evaluate(module, moderate);
  compare(name, exactness, before, after);
  hlo_tensor_release(after);
}

// Runs a module, applies the rule to the node that it returns, and runs it again. False if the rule
// does not apply.
static bool check_module(const hlo_rule_t* rule, const hlo_rule_set_t* set, hlo_module_t* module) {
  hlo_region_t* body = hlo_module_entry(module)->body;
  bool moderate = rule->exactness == HLO_RULE_FAST;
  hlo_tensor_t* before = evaluate(module, moderate);
  hlo_node_t* made = NULL;
  bool applied = hlo_rules_apply(set, hlo_node_operand(body->last, 0)->def, &made);
  if (applied) {
    compare_after(rule->name, rule->exactness, moderate, module, before);
  }
  hlo_tensor_release(before);
  hlo_module_release(module);
  return applied;
}

static void test_rules(void** state) {
  (void)state;
  for (uint32_t i = 0; i < hlo_rule_count(); ++i) {
    const hlo_rule_t* rule = hlo_rule(i);
    if (strcmp(rule->name, "convert_convert") == 0) continue;  // tested below
    const example_t* example = find_example(rule->name);
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    static hlo_rule_set_t set;
    hlo_test_check(hlo_rules_compile(rule, rule->exactness, &arena, &set));
    uint32_t checked = 0;
    for (hlo_dtype_t dtype = 0; dtype < HLO_DTYPE_COUNT; ++dtype) {
      if (hlo_dtype_info(dtype)->klass == HLO_DTYPE_CLASS_NONE || !hlo_rule_admits(rule, dtype)) {
        continue;
      }
      const hlo_term_t* pattern = NULL;
      for (int op = 0; op < HLO_OP_COUNT; ++op) {
        if (set.by_op[op]) pattern = set.by_op[op]->pattern;
      }
      hlo_module_t* module =
          example ? module_of_example(example, dtype) : module_of_pattern(pattern, dtype);
      if (!module) continue;
      if (!check_module(rule, &set, module)) {
        fail_msg("%s does not apply to %s", rule->name, hlo_dtype_info(dtype)->name);
      }
      ++checked;
    }
    if (checked == 0) fail_msg("%s applies to no type", rule->name);
    hlo_arena_deinit(&arena);
  }
}

static const hlo_rule_t* rule_named(const char* name) {
  for (uint32_t i = 0; i < hlo_rule_count(); ++i) {
    if (strcmp(hlo_rule(i)->name, name) == 0) return hlo_rule(i);
  }
  fail_msg("no rule %s", name);
  return NULL;
}

// From every type through every type that represents its values, to a few of each class.
static void test_conversions(void** state) {
  (void)state;
  static const hlo_dtype_t ends[] = {HLO_DTYPE_PRED, HLO_DTYPE_S8,  HLO_DTYPE_U8,  HLO_DTYPE_S32,
                                     HLO_DTYPE_U64,  HLO_DTYPE_F16, HLO_DTYPE_F32, HLO_DTYPE_C64};
  const hlo_rule_t* rule = rule_named("convert_convert");
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  static hlo_rule_set_t set;
  hlo_test_check(hlo_rules_compile(rule, HLO_RULE_FAST, &arena, &set));
  uint32_t applied = 0;
  for (hlo_dtype_t from = 0; from < HLO_DTYPE_COUNT; ++from) {
    for (hlo_dtype_t middle = 0; middle < HLO_DTYPE_COUNT; ++middle) {
      if (hlo_dtype_info(from)->klass == HLO_DTYPE_CLASS_NONE ||
          hlo_dtype_info(middle)->klass == HLO_DTYPE_CLASS_NONE ||
          !hlo_dtype_convert_is_lossless(from, middle)) {
        continue;
      }
      for (size_t k = 0; k < sizeof ends / sizeof *ends; ++k) {
        char a[32], b[32], c[32], text[512];
        type_name(from, a);
        type_name(middle, b);
        type_name(ends[k], c);
        snprintf(text, sizeof text,
                 "func.func @main(%%x: tensor<600x%s>) -> tensor<600x%s> {\n"
                 "%%0 = stablehlo.convert %%x : (tensor<600x%s>) -> tensor<600x%s>\n"
                 "%%r = stablehlo.convert %%0 : (tensor<600x%s>) -> tensor<600x%s>\n"
                 "return %%r : tensor<600x%s>\n}\n",
                 a, c, a, b, b, c, c);
        applied += check_module(rule, &set, hlo_test_parse(text));
      }
    }
  }
  assert_true(applied > 500);
  hlo_arena_deinit(&arena);
}

// Integers have one sum in every order; products of floats keep theirs when operands are swapped.
static void test_products(void** state) {
  (void)state;
  static const hlo_dtype_t dtypes[] = {HLO_DTYPE_S32, HLO_DTYPE_F32, HLO_DTYPE_C64};
  for (size_t i = 0; i < sizeof products / sizeof *products; ++i) {
    const bool reorders_sums = strstr(products[i].rule, "order") != NULL;
    for (size_t k = 0; k < (reorders_sums ? 1 : sizeof dtypes / sizeof *dtypes); ++k) {
      hlo_module_t* module = module_of_example(&products[i], dtypes[k]);
      hlo_tensor_t* before = evaluate(module, true);
      hlo_pass_ctx_t ctx = {0};
      hlo_test_check(hlo_pass_canonicalize(&ctx, module));
      assert_true(ctx.step_count > 0);
      compare_after(products[i].rule, HLO_RULE_BITS, true, module, before);
      hlo_tensor_release(before);
      hlo_module_release(module);
    }
  }
}

static void test_classes_compile(void** state) {
  (void)state;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  static hlo_rule_set_t set;
  hlo_test_check(hlo_rules_compile(NULL, HLO_RULE_FAST, &arena, &set));
  for (int i = 0; i < HLO_OP_COUNT; ++i) {
    for (const hlo_compiled_rule_t* c = set.by_op[i]; c; c = c->next) {
      assert_int_equal(c->pattern->op, i);
    }
  }
  hlo_test_check(hlo_rules_compile(NULL, HLO_RULE_BITS, &arena, &set));
  for (const hlo_compiled_rule_t* c = set.by_op[HLO_OP_add]; c; c = c->next) {
    assert_int_equal(c->rule->exactness, HLO_RULE_BITS);
  }
  hlo_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_classes_compile),
      cmocka_unit_test(test_rules),
      cmocka_unit_test(test_conversions),
      cmocka_unit_test(test_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
