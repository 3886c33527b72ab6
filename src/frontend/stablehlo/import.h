// SPDX-License-Identifier: Apache-2.0
// Attributes of StableHLO's serialized forms to those of the op table: forms are converted,
// defaults become absent, attributes unknown to the op become discardable.
#pragma once

#include "ir/module.h"

/// The maximum number of inherent attributes of an op.
#define HLO_IMPORT_ATTRS_MAX 32

typedef struct hlo_raw_attr {
  const char* name;
  uint32_t name_length;
  bool is_inherent;  // declared by the op: dropped if the op table lacks it
  const hlo_attr_t* value;
} hlo_raw_attr_t;

typedef struct hlo_imported_attrs {
  uint32_t count;
  hlo_named_attr_t attrs[HLO_IMPORT_ATTRS_MAX];
  const hlo_attr_t* extra;  // DICT or NULL
} hlo_imported_attrs_t;

/// The state of an import into one module. It caches conversions, so that many ops that share one
/// large attribute cost one conversion.
typedef struct hlo_importer {
  hlo_module_t* module;
  hlo_arena_t* scratch;  // reset after each op
  struct {
    const hlo_attr_t* in;
    hlo_attr_id_t id;
    const hlo_attr_t* out;
  } cache[64];
} hlo_importer_t;

/// Imports the attributes of an op.
/// errors : INVALID_ARGUMENT naming the attribute that does not have the op's form;
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_import_attrs(hlo_importer_t* importer, hlo_op_t op, uint32_t count,
                              const hlo_raw_attr_t* raw, hlo_imported_attrs_t* out) HLO_MUST_USE;
