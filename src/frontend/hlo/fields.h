// SPDX-License-Identifier: Apache-2.0
// The table that maps attributes of ops to fields of HLO instructions and back: attrs.c and
// fields.c use it (private to hlo/).
#pragma once

#include "frontend/hlo/desc.h"
#include "ir/ops.h"
#include "ir/type.h"

typedef enum hlo_desc_field_kind {
  HLO_DESC_FIELD_I64,
  HLO_DESC_FIELD_I32,
  HLO_DESC_FIELD_BOOL,
  HLO_DESC_FIELD_BOOL_IF_TRUE,
  HLO_DESC_FIELD_F32,
  HLO_DESC_FIELD_DIMS,
  HLO_DESC_FIELD_DIMS_IF_ANY,
  HLO_DESC_FIELD_FIRST,  // the only value of a list
  HLO_DESC_FIELD_ENUM,
  HLO_DESC_FIELD_STRING,
  HLO_DESC_FIELD_STRING_IF_ANY,
  HLO_DESC_FIELD_WINDOW,  // a list, with one value per dimension of the window
  HLO_DESC_FIELD_PAD,     // ... per dimension of the padding
  HLO_DESC_FIELD_SLICE,   // ... per dimension of the slice
} hlo_desc_field_kind_t;

enum { HLO_DESC_NO_OUTER = 0xffff };

typedef struct hlo_desc_field_row {
  hlo_op_t op;
  hlo_attr_id_t attr;
  hlo_desc_field_kind_t kind;
  uint16_t outer, outer_bytes;  // offset of the pointer to the struct that contains the field
  uint16_t offset;              // WINDOW, PAD, SLICE: in the struct of one dimension
  hlo_enum_kind_t enum_kind;
} hlo_desc_field_row_t;

extern const hlo_desc_field_row_t hlo_desc_field_rows[];
extern const size_t hlo_desc_field_row_count;

/// The list of an instruction for WINDOW, PAD and SLICE, one struct per dimension.
typedef struct hlo_desc_columns {
  uint16_t outer, outer_bytes;
  uint16_t offset;      // of the list
  uint16_t item_bytes;  // of one dimension's struct
} hlo_desc_columns_t;
const hlo_desc_columns_t* hlo_desc_columns(hlo_desc_field_kind_t kind);
