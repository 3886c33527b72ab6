// SPDX-License-Identifier: Apache-2.0
// The listing of form HLO_LISTING_SPMD: the program of one device as text, and as comments after it
// the memory that a device needs and what its collectives send.
#pragma once

#include "compiler/compiler.h"
#include "spmd/traffic.h"

/// The parts of a program that its import removes and its listing needs.
/// owner  : whoever declared it, zero-initialised; hlo_spmd_listing_deinit()
typedef struct hlo_spmd_listing {
  hlo_arena_t arena;
  hlo_traffic_mesh_t mesh;
} hlo_spmd_listing_t;

/// Returns true if the listing of a configuration has this form.
bool hlo_spmd_listing_is_wanted(const hlo_compile_config_t* config);
/// Reads a program before the import.
/// errors : INVALID_ARGUMENT (a mesh), RESOURCE_EXHAUSTED
hlo_status_t hlo_spmd_listing_init(hlo_spmd_listing_t* listing, hlo_module_t* module,
                                   const hlo_compile_config_t* config) HLO_MUST_USE;
/// Appends the text of an executable that is complete. errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_spmd_listing_print(hlo_spmd_listing_t* listing,
                                    const hlo_executable_t* executable) HLO_MUST_USE;
void hlo_spmd_listing_deinit(hlo_spmd_listing_t* listing);
