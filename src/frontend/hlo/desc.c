// SPDX-License-Identifier: Apache-2.0
// The tables with which the wire decoder and encoder handle descriptions of HLO modules.
#include "frontend/hlo/desc.h"

#define HLO_WIRE_MESSAGES "frontend/hlo/desc.def"
#define HLO_WIRE_STRUCT(message, suffix) hlo_desc_##message##suffix
#include "base/wire_tables.inl"

const hlo_wire_message_t hlo_desc_module_message =
    HLO_WIRE_MESSAGE(hlo_desc_module_t, hlo_desc_module_fields);

static const hlo_wire_field_info_t wrapper_fields[] = {
    HLO_WIRE_NESTED(hlo_desc_wrapper_t, 1, hlo_module, &hlo_desc_module_table),
};
const hlo_wire_message_t hlo_desc_wrapper_message =
    HLO_WIRE_MESSAGE(hlo_desc_wrapper_t, wrapper_fields);

static const hlo_wire_field_info_t with_config_fields[] = {
    HLO_WIRE_NESTED(hlo_desc_wrapper_t, 1, hlo_module, &hlo_desc_module_table),
    HLO_WIRE_NESTED(hlo_desc_wrapper_t, 2, config, &hlo_desc_config_table),
};
const hlo_wire_message_t hlo_desc_with_config_message =
    HLO_WIRE_MESSAGE(hlo_desc_wrapper_t, with_config_fields);
