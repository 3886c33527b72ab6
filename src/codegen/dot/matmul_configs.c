// SPDX-License-Identifier: Apache-2.0
// Configurations of a product that may be faster than what its model chose (see kernel_config.h):
// the register tiles that the solver ranks first, other packings, blocks and parts, lanes along the
// other loop. An exhaustive list has every register tile, with every packing of both operands.
// Candidates may be impossible; hlo_kernel_try() then refuses them.
#include "codegen/dot/matmul_impl.h"

enum { PACKED_TILES = 2 };  // of the best tiles, each with the other packing, too

// Returns the choice that a packing of B corresponds to; 0: none.
static int64_t choice_of_b(hlo_matmul_packing_t packing) {
  switch (packing) {
    case HLO_MATMUL_IN_PLACE: return HLO_CHOICE_PLACE;
    case HLO_MATMUL_PANELS: return HLO_CHOICE_PANELS;
    case HLO_MATMUL_IN_SLICES:
    case HLO_MATMUL_BY_FIRST_TILE: return HLO_CHOICE_SLICES;
    default: return 0;
  }
}

static void add_packings(const hlo_matmul_t* m, hlo_kernel_configs_t* list) {
  const int64_t chosen = choice_of_b(m->operands[HLO_MATMUL_B].packing);
  const bool is_packed = m->operands[HLO_MATMUL_A].packing != HLO_MATMUL_IN_PLACE;
  for (int64_t other = HLO_CHOICE_PLACE; other <= HLO_CHOICE_SLICES; ++other) {
    if (other != chosen) hlo_kernel_configs_add_choice(list, HLO_CHOICE_pack_b, other, 0);
  }
  hlo_kernel_configs_add_choice(list, HLO_CHOICE_pack_a,
                                is_packed ? HLO_CHOICE_PLACE : HLO_CHOICE_LINES, 0);
}

// Adds half as many and twice as many steps per block as were chosen, and a single block.
static void add_blocks(const hlo_matmul_t* m, hlo_kernel_configs_t* list) {
  const int64_t steps = m->depth_extent, chosen = hlo_matmul_min(m->block_steps, steps);
  if (m->split == HLO_MATMUL_PARTS || m->depth_count > 1) return;
  if (chosen / 2 >= HLO_TUNING_CONFLICT_STEPS)
    hlo_kernel_configs_add_choice(list, HLO_CHOICE_block, chosen / 2, 0);
  if (chosen >= steps) return;
  hlo_kernel_configs_add_choice(list, HLO_CHOICE_block, steps, 0);
  if (2 * chosen < steps) hlo_kernel_configs_add_choice(list, HLO_CHOICE_block, 2 * chosen, 0);
}

static void add_parts(const hlo_matmul_t* m, hlo_kernel_configs_t* list) {
  if (m->part_count > 1) hlo_kernel_configs_add_choice(list, HLO_CHOICE_parts, 1, 0);
  for (int64_t parts = 2; parts <= HLO_TUNING_TUNE_PARTS_MAX; parts *= 2) {
    if (parts == m->part_count) continue;
    if (m->depth_extent / parts * 2 <= HLO_TUNING_TUNE_PARTS_MIN_STEPS) break;
    hlo_kernel_configs_add_choice(list, HLO_CHOICE_parts, parts, 0);
  }
}

// Adds the packings of both operands to every register tile of a list.
static void add_all_packings(const hlo_kernel_configs_t* tiles, hlo_kernel_configs_t* list) {
  for (uint32_t i = 0; i < tiles->count; ++i) {
    for (int64_t b = HLO_CHOICE_PLACE; b <= HLO_CHOICE_SLICES; ++b) {
      for (int64_t a = HLO_CHOICE_PLACE; a <= HLO_CHOICE_LINES; ++a) {
        hlo_kernel_config_t config = tiles->items[i].config;
        config.values[HLO_CHOICE_pack_a] = a;
        config.values[HLO_CHOICE_pack_b] = b;
        hlo_kernel_configs_add(list, &config, tiles->items[i].expected_ns);
      }
    }
  }
}

hlo_status_t hlo_matmul_list_configs(const hlo_matmul_t* m, bool is_exhaustive,
                                     hlo_kernel_configs_t* list) {
  const hlo_kernel_config_t model = {{0}};
  if (m->strategy == HLO_MATMUL_BY_CODES || m->strategy == HLO_MATMUL_BY_QUADS) {  // no choices
    hlo_kernel_configs_add_choice(list, HLO_CHOICE_strategy, HLO_CHOICE_CONTRACTION, 0);
    hlo_kernel_configs_add_choice(list, HLO_CHOICE_strategy, HLO_CHOICE_COLUMNS, 0);
    return hlo_ok();
  }
  hlo_kernel_configs_t tiles = {.count = 0};
  HLO_TRY(hlo_matmul_list_tiles(
      m, &model, is_exhaustive ? HLO_KERNEL_MAX_CANDIDATES : HLO_TUNING_TUNE_TILES, &tiles));
  for (uint32_t i = 0; i < tiles.count; ++i) {
    hlo_kernel_configs_add(list, &tiles.items[i].config, tiles.items[i].expected_ns);
    if (i + 1 == PACKED_TILES) add_packings(m, list);
  }
  if (tiles.count < PACKED_TILES) add_packings(m, list);
  const bool is_packed = hlo_matmul_is_packed(&m->operands[HLO_MATMUL_B]);
  for (uint32_t i = 0; i < tiles.count && i < PACKED_TILES; ++i) {
    hlo_kernel_config_t config = tiles.items[i].config;
    config.values[HLO_CHOICE_pack_b] = is_packed ? HLO_CHOICE_PLACE : HLO_CHOICE_PANELS;
    hlo_kernel_configs_add(list, &config, tiles.items[i].expected_ns);
  }
  if (m->strategy == HLO_MATMUL_NARROW) return hlo_ok();
  add_blocks(m, list);
  add_parts(m, list);
  const bool is_by_depth = m->strategy == HLO_MATMUL_BY_DEPTH;
  if (!m->is_convolution && m->depth_count == 1) {
    hlo_kernel_configs_add_choice(list, HLO_CHOICE_strategy,
                                  is_by_depth ? HLO_CHOICE_COLUMNS : HLO_CHOICE_CONTRACTION, 0);
  }
  if (is_exhaustive) add_all_packings(&tiles, list);
  return hlo_ok();
}
