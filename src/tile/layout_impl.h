// SPDX-License-Identifier: Apache-2.0
// Modes while a layout is built. Private to tile.
#pragma once

#include "tile/layout.h"

/// Modes in any order, not yet a layout; an overflow is recorded as a failure.
typedef struct hlo_layout_mode_list {
  uint32_t count;
  bool failed;
  hlo_layout_mode_t modes[HLO_TILE_LAYOUT_MAX_MODES];
} hlo_layout_mode_list_t;

/// Modes of extent 1 are ignored.
void hlo_layout_modes_add(hlo_layout_mode_list_t* list, hlo_layout_mode_t mode);
/// Splits the modes of both at each other's boundaries and sorts them; false if they do not match.
bool hlo_layout_modes_refine(hlo_layout_mode_list_t* a, hlo_layout_mode_list_t* b);
void hlo_layout_modes_of(const hlo_tile_layout_t* a, hlo_layout_mode_list_t* out_list);
