// SPDX-License-Identifier: Apache-2.0
// From attributes as StableHLO's serialized forms spell them to those of the op table: forms are
// converted, defaults become absent, what the op does not know is kept as discardable.
#ifndef HLO_FRONTEND_STABLEHLO_IMPORT_H_
#define HLO_FRONTEND_STABLEHLO_IMPORT_H_

#include "ir/module.h"

/// Most attributes that an op may have inherently.
#define HLO_IMPORT_ATTRS_MAX 32

typedef struct hlo_raw_attr {
  const char* name;
  uint32_t name_length;
  bool is_inherent;  // declared by the op: dropped, not kept, where the op table lacks it
  const hlo_attr_t* value;
} hlo_raw_attr_t;

typedef struct hlo_imported_attrs {
  uint32_t count;
  hlo_named_attr_t attrs[HLO_IMPORT_ATTRS_MAX];
  const hlo_attr_t* extra;  // DICT or NULL
} hlo_imported_attrs_t;

/// Working state of an import into one module. Conversions are remembered, so that many ops that
/// share one large attribute cost one conversion.
typedef struct hlo_importer {
  hlo_module_t* module;
  hlo_arena_t* scratch;  // reset after each op
  struct {
    const hlo_attr_t* in;
    hlo_attr_id_t id;
    const hlo_attr_t* out;
  } cache[64];
} hlo_importer_t;

/// errors: INVALID_ARGUMENT naming the attribute that is not of the op's form; RESOURCE_EXHAUSTED
hlo_status_t hlo_import_attrs(hlo_importer_t* importer, hlo_op_t op, uint32_t count,
                              const hlo_raw_attr_t* raw, hlo_imported_attrs_t* out) HLO_MUST_USE;

#endif  // HLO_FRONTEND_STABLEHLO_IMPORT_H_
