// SPDX-License-Identifier: Apache-2.0
// Descriptions of HLO modules: C structs with the supported fields of XLA's HloModuleProto
// (desc.def). The proto reader decodes into them, the text reader fills them from text, and build.c
// converts them to IR.
#pragma once

#include "base/dtype.h"
#include "base/wire.h"
#include "ir/literal.h"

// Values of PrimitiveType that are not element types.
enum {
  HLO_DESC_TUPLE = 13,
  HLO_DESC_OPAQUE = 14,
  HLO_DESC_TOKEN = 17,
  HLO_DESC_BUFFER = 34,  // of the only array in tuple_shapes; "b(f32[4])" in text
};

// The memory space of layouts in host memory. source: xla/layout.h, kHostMemorySpace
enum { HLO_DESC_HOST_MEMORY_SPACE = 5 };

// An unbounded dimension ("?" in text), as protos write it.
#define HLO_DESC_UNBOUNDED INT64_MIN

// hlo_desc_tile_t and so on.
#define HLO_WIRE_MESSAGES "frontend/hlo/desc.def"
#define HLO_WIRE_STRUCT(message, suffix) hlo_desc_##message##suffix
#include "base/wire_structs.inl"
#undef HLO_WIRE_MESSAGES
#undef HLO_WIRE_STRUCT

/// Tables for hlo_wire_decode() and _encode(): an HloModuleProto, an HloProto around one, and an
/// HloModuleProtoWithConfig, whose second field differs.
typedef struct hlo_desc_wrapper {
  hlo_desc_module_t* hlo_module;
  hlo_desc_config_t* config;
} hlo_desc_wrapper_t;
extern const hlo_wire_message_t hlo_desc_module_message;
extern const hlo_wire_message_t hlo_desc_wrapper_message;
extern const hlo_wire_message_t hlo_desc_with_config_message;
