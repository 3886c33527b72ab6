// SPDX-License-Identifier: Apache-2.0
// The plugin as a whole: initialisation, which does nothing, and attributes.
#include "pjrt/call.h"

hlo_status_t hlo_pjrt_Plugin_Initialize(HLO_UNUSED PJRT_Plugin_Initialize_Args* args) {
  return hlo_ok();
}

// StableHLO versions of the portable artifacts that the reader supports. A framework sends programs
// in the newest version that both support.
static const int64_t stablehlo_current_version[] = {1, 20, 0};
static const int64_t stablehlo_minimum_version[] = {0, 9, 0};

#define VERSION(version_name)                                                  \
  {                                                                            \
    .struct_size = PJRT_NamedValue_STRUCT_SIZE, .name = #version_name,         \
    .name_size = sizeof #version_name - 1, .type = PJRT_NamedValue_kInt64List, \
    .int64_array_value = version_name, .value_size = 3                         \
  }

static const PJRT_NamedValue attributes[] = {
    // Version 2 of the contract between plugins and XLA's clients: portable StableHLO programs,
    // options as protos.
    {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
     .name = "xla_version",
     .name_size = sizeof "xla_version" - 1,
     .type = PJRT_NamedValue_kInt64,
     .int64_value = 2,
     .value_size = 1},
    VERSION(stablehlo_current_version),
    VERSION(stablehlo_minimum_version),
};

hlo_status_t hlo_pjrt_Plugin_Attributes(PJRT_Plugin_Attributes_Args* args) {
  args->attributes = attributes;
  args->num_attributes = sizeof attributes / sizeof attributes[0];
  // The clients of jaxlib before 0.7 state a size without the last field, which their blocks have.
  args->struct_size = sizeof *args;
  return hlo_ok();
}
