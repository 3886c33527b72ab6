// SPDX-License-Identifier: Apache-2.0
// Look-up of ops of the serialized dialects (see schema.h).
#include "frontend/stablehlo/schema.h"

#include <string.h>

#define NAME(text) text, sizeof(text) - 1

static const hlo_bc_op_schema_t schemas[] = {
    {NAME("builtin.module"), 0, 0, HLO_BC_OP_MODULE, HLO_OP_COUNT, "sym_name? sym_visibility?"},
    {NAME("builtin.unrealized_conversion_cast"), 0, 0, HLO_BC_OP_CAST, HLO_OP_COUNT, ""},
    {NAME("func.func"), 0, 0, HLO_BC_OP_FUNC, HLO_OP_COUNT,
     "arg_attrs? function_type no_inline+ res_attrs? sym_name sym_visibility?"},
    {NAME("vhlo.func_v1"), 9, 1020, HLO_BC_OP_FUNC, HLO_OP_COUNT,
     "arg_attrs function_type res_attrs sym_name sym_visibility"},
#define HLO_VHLO_OP(name, since, until, op, properties) \
  {NAME("vhlo." name), since, until, HLO_BC_OP_NODE, HLO_OP_##op, properties},
#include "frontend/stablehlo/vhlo.def"
#undef HLO_VHLO_OP
#define HLO_DIALECT_OP(name, op, properties) \
  {NAME(name), 0, 0, HLO_BC_OP_NODE, HLO_OP_##op, properties},
#include "frontend/stablehlo/dialects.def"
#undef HLO_DIALECT_OP
};

// Reads a decimal number of at most three digits; returns NULL if the text does not start with one.
static const char* read_number(const char* text, uint32_t* out) {
  uint32_t value = 0;
  int digits = 0;
  for (; *text >= '0' && *text <= '9' && digits < 4; ++text, ++digits) {
    value = value * 10 + (uint32_t)(*text - '0');
  }
  *out = value;
  return digits > 0 && digits < 4 ? text : NULL;
}

uint32_t hlo_stablehlo_version(const char* producer) {
  static const char prefix[] = "StableHLO_v";
  uint32_t major, minor;
  if (strncmp(producer, prefix, sizeof prefix - 1) != 0) return 0;
  const char* rest = read_number(producer + sizeof prefix - 1, &major);
  if (!rest || *rest != '.' || !read_number(rest + 1, &minor)) return 0;
  return major * 1000 + minor;
}

const hlo_bc_op_schema_t* hlo_bc_find_op(const char* dialect, size_t dialect_length,
                                         const char* name, size_t length) {
  for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; ++i) {
    const char* full = schemas[i].name;
    if (schemas[i].name_length == dialect_length + 1 + length && full[dialect_length] == '.' &&
        memcmp(full, dialect, dialect_length) == 0 &&
        memcmp(full + dialect_length + 1, name, length) == 0) {
      return &schemas[i];
    }
  }
  return NULL;
}
