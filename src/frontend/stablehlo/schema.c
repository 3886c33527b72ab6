// SPDX-License-Identifier: Apache-2.0
// Look-up of ops of the serialized dialects (see schema.h).
#include "frontend/stablehlo/schema.h"

#include <stdlib.h>
#include <string.h>

enum {
  FIRST_VHLO = 9,  // versions as 1000 * major + minor
  NEWEST_VHLO = 1000 * HLO_STABLEHLO_MAJOR + HLO_STABLEHLO_MINOR,
};

static const hlo_bc_op_schema_t schemas[] = {
    {"builtin.module", 0, 0, HLO_BC_OP_MODULE, HLO_OP_COUNT, "sym_name? sym_visibility?"},
    {"builtin.unrealized_conversion_cast", 0, 0, HLO_BC_OP_CAST, HLO_OP_COUNT, ""},
    {"func.func", 0, 0, HLO_BC_OP_FUNC, HLO_OP_COUNT,
     "arg_attrs? function_type no_inline+ res_attrs? sym_name sym_visibility?"},
    {"vhlo.func_v1", FIRST_VHLO, NEWEST_VHLO, HLO_BC_OP_FUNC, HLO_OP_COUNT,
     "arg_attrs function_type res_attrs sym_name sym_visibility"},
    {"func.call", 0, 0, HLO_BC_OP_NODE, HLO_OP_call, "arg_attrs+ callee no_inline+ res_attrs+"},
    {"chlo.scan", 0, 0, HLO_BC_OP_NODE, HLO_OP_chlo_scan,
     "dimension is_associative? is_reverse? scan_dim_size? operand_segment_sizes* "
     "result_segment_sizes*"},
};

// Versions of ops, sorted by name.
static const hlo_bc_op_schema_t versions[] = {
#define HLO_VHLO_OP(name, since, until, op, properties) \
  {"vhlo." name, since, until, HLO_BC_OP_NODE, HLO_OP_##op, properties},
#include "frontend/stablehlo/vhlo.def"
#undef HLO_VHLO_OP
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

typedef struct property {
  const char* name;
  bool is_required;
} property_t;

static int compare_names(const void* a, const void* b) {
  return strcmp(((const property_t*)a)->name, ((const property_t*)b)->name);
}

// Lists the attributes of an op, sorted by name. VHLO has the fields of structs instead of structs.
static uint32_t list_properties(hlo_op_t op, bool is_vhlo, property_t* properties) {
  const hlo_op_info_t* info = hlo_op_info(op);
  uint32_t count = 0;
  for (uint32_t i = 0; i < info->attr_count; ++i) {
    const hlo_attr_id_t id = info->attrs[i].id;
    const hlo_struct_attr_t* whole = is_vhlo ? NULL : hlo_op_struct_of(op, id);
    if (is_vhlo ? id == HLO_ATTR_channel_type : whole && whole->fields[0].id != id) continue;
    properties[count++] =
        (property_t){whole ? whole->name : hlo_attr_name(id), is_vhlo || info->attrs[i].required};
  }
  qsort(properties, count, sizeof *properties, compare_names);
  return count;
}

// Returns true for optional attributes that ops had not got in their first encoding.
static bool is_added_later(const char* name) {
  static const char* const names[] = {"algorithm",       "has_dynamic_root", "reduction_op",
                                      "result_accuracy", "result_tilings",   "source_target_pairs"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return false;
}

// Completes a schema with the properties that the op table implies.
static hlo_status_t complete(hlo_arena_t* arena, const hlo_bc_op_schema_t* known, bool is_vhlo,
                             const hlo_bc_op_schema_t** out_schema) {
  property_t* properties =
      hlo_arena_array(arena, hlo_op_info(known->op)->attr_count, sizeof *properties);
  hlo_bc_op_schema_t* schema = hlo_arena_alloc(arena, sizeof *schema);
  if (!properties || !schema) return hlo_arena_status(arena);
  const uint32_t count = list_properties(known->op, is_vhlo, properties);
  size_t size_bytes = 1;
  for (uint32_t i = 0; i < count; ++i) size_bytes += strlen(properties[i].name) + strlen(" ?");
  char* list = hlo_arena_alloc(arena, size_bytes);
  if (!list) return hlo_arena_status(arena);
  char* end = list;
  for (uint32_t i = 0; i < count; ++i) {
    const property_t* p = &properties[i];
    if (i) *end++ = ' ';
    end = stpcpy(end, p->name);
    if (!p->is_required) *end++ = is_added_later(p->name) ? '+' : '?';
  }
  *end = '\0';
  *schema = *known;
  schema->properties = list;
  *out_schema = schema;
  return hlo_ok();
}

// Finds the op of StableHLO that vhlo.<name>_v1 is; HLO_OP_COUNT if the name has another form.
static hlo_op_t find_vhlo_op(const char* name) {
  char plain[64] = "stablehlo";
  const char *base = name + strlen("vhlo"), *version = strstr(base, "_v1");
  const size_t length = version ? (size_t)(version - base) : 0;
  if (!version || version[3] || strlen(plain) + length >= sizeof plain) return HLO_OP_COUNT;
  memcpy(plain + strlen(plain), base, length);
  return hlo_op_from_name(plain, strlen("stablehlo") + length);
}

static int compare_with_schema(const void* name, const void* schema) {
  return strcmp(name, ((const hlo_bc_op_schema_t*)schema)->name);
}

static const hlo_bc_op_schema_t* find_schema(const char* name) {
  for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; ++i) {
    if (strcmp(schemas[i].name, name) == 0) return &schemas[i];
  }
  return bsearch(name, versions, sizeof versions / sizeof versions[0], sizeof versions[0],
                 compare_with_schema);
}

hlo_status_t hlo_bc_find_op(hlo_arena_t* arena, const char* name,
                            const hlo_bc_op_schema_t** out_schema) {
  static const char* const dialects[] = {"chlo.", "func.", "sdy.", "stablehlo."};
  const bool is_vhlo = strncmp(name, "vhlo.", 5) == 0;
  *out_schema = NULL;
  const hlo_bc_op_schema_t* known = find_schema(name);
  if (known && !known->properties) return complete(arena, known, is_vhlo, out_schema);
  if (known) {
    *out_schema = known;
    return hlo_ok();
  }
  hlo_bc_op_schema_t implied = {.since = is_vhlo ? FIRST_VHLO : 0,
                                .until = is_vhlo ? NEWEST_VHLO : 0};
  bool is_known = is_vhlo;
  for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; ++i) {
    is_known |= strncmp(name, dialects[i], strlen(dialects[i])) == 0;
  }
  implied.op = is_vhlo ? find_vhlo_op(name) : hlo_op_from_name(name, strlen(name));
  implied.name = hlo_arena_strndup(arena, name, strlen(name));
  if (!implied.name) return hlo_arena_status(arena);
  if (!is_known || implied.op == HLO_OP_COUNT) return hlo_ok();
  return complete(arena, &implied, is_vhlo, out_schema);
}
