// SPDX-License-Identifier: Apache-2.0
// Which of a kernel's digits runs over lanes, as a small system: a candidate for each digit, what
// its loads and stores take by the machine's description, the least of all (see kernel_choose.h).
#include <stdlib.h>

#include "codegen/kernel_choose.h"
#include "tile/system.h"

enum { FUEL = 4 * HLO_TILED_MAX_DIGITS };

/// What there is to choose from.
typedef struct choice {
  const hlo_kernel_t* kernel;
  const hlo_kernel_pieces_t* pieces;
  uint32_t woven;  // HLO_TILED_MAX_DIGITS: none
  double load_ns;
} choice_t;

// What an access costs, in loads of neighbours; negative: the machine has none such.
static double access_cost(const choice_t* choice, hlo_tile_atom_op_t op) {
  return hlo_tile_access_loads(&choice->kernel->target->tile, op);
}

static size_t offset_bytes(const hlo_tiled_t* tiled) {
  return tiled->kind == HLO_TILED_INDEX ? 8 : hlo_dtype_size_bytes(tiled->value->type->dtype);
}

// What an offset costs per lane when the lanes run over `digit`: 0 not at all (one for all lanes),
// 1 a plain vector, more for strides, -1 when it cannot be done.
static double lane_cost(const choice_t* choice, const hlo_tiling_t* tiling,
                        const hlo_tiled_t* tiled, uint32_t digit) {
  int64_t step = hlo_kernel_lane_step(choice->kernel->target, tiled->offset, digit);
  if (step) {
    int64_t extent = tiling->digits[digit].end - tiling->digits[digit].low;
    int64_t lanes = choice->kernel->lanes, last = (extent < lanes ? extent : lanes) - 1;
    return access_cost(choice, HLO_TILE_ATOM_STEP) * (double)(last * llabs(step) / lanes + 1);
  }
  uint32_t pieces = hlo_kernel_table_pieces(choice->kernel->target, tiled, choice->kernel->lanes);
  switch (hlo_tiled_lane_access(tiled->offset, digit)) {
    case HLO_LANE_SAME: return 0;
    case HLO_LANE_PLAIN: return 1;
    case HLO_LANE_GATHERED:
      if (pieces) return access_cost(choice, HLO_TILE_ATOM_STEP) * pieces;
      return offset_bytes(tiled) >= 4 ? access_cost(choice, HLO_TILE_ATOM_GATHER) : -1;
    case HLO_LANE_UNKNOWN: break;
  }
  return -1;
}

// How many lanes a loop over a digit uses on average: without masks the last ones come one by one.
static double used_lanes(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling, uint32_t digit) {
  if (digit == HLO_TILED_MAX_DIGITS) return kernel->lanes;
  int64_t extent = tiling->digits[digit].end - tiling->digits[digit].low;
  int64_t whole = extent / kernel->lanes, rest = extent % kernel->lanes;
  if (kernel->target->has_masks) rest = rest > 0;
  return (double)extent / (double)(whole + rest);
}

// The cost of an output's stores for each vector; negative when impossible.
static double store_cost(const choice_t* choice, const hlo_tiling_t* tiling, uint32_t output,
                         hlo_kernel_lanes_t layout) {
  if (layout.woven < HLO_TILED_MAX_DIGITS) {
    return hlo_kernel_can_weave(tiling, layout.lane, layout.woven)
               ? access_cost(choice, HLO_TILE_ATOM_WEAVE)
               : -1;
  }
  hlo_lane_access_t access = hlo_tiled_lane_access(tiling->output_offsets[output], layout.lane);
  return access == HLO_LANE_PLAIN ? 1 : -1;
}

// The cost of a load for each of its points where the output's digits have no lanes: a reduction
// chooses lanes of its own.
static double inner_cost(const choice_t* choice, const hlo_tiling_t* tiling,
                         const hlo_tiled_t* tiled) {
  uint64_t digits = tiled->digits & ~hlo_tiled_space_mask(&tiling->spaces[0]);
  double best = 1;
  for (; digits; digits &= digits - 1) {
    uint32_t digit = (uint32_t)__builtin_ctzll(digits);
    double cost = lane_cost(choice, tiling, tiled, digit);
    if (cost < 0) continue;
    cost = (cost > 0 ? cost : 1) / used_lanes(choice->kernel, tiling, digit);
    if (cost < best) best = cost;
  }
  return best;
}

// The cost of all loads and stores. Negative when impossible.
static double layout_cost(const choice_t* choice, const hlo_tiling_t* tiling,
                          hlo_kernel_lanes_t layout) {
  const hlo_kernel_t* kernel = choice->kernel;
  uint32_t digit = layout.lane;
  double cost = 0, lanes = used_lanes(kernel, tiling, digit);
  uint64_t output_digits = hlo_tiled_space_mask(&tiling->spaces[0]);
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    double weight = hlo_tiling_points(tiling, tiled->digits);
    if (tiled->kind == HLO_TILED_GUARD && (tiled->offset->digits >> digit & 1)) return -1;
    if (!tiled->offset || tiled->kind == HLO_TILED_GUARD) continue;
    if (digit < HLO_TILED_MAX_DIGITS && (tiled->digits >> digit & 1)) {
      bool is_crossing =
          layout.cross < HLO_TILED_MAX_DIGITS && hlo_is_crossing(tiled, digit, layout.cross);
      double lane = is_crossing ? access_cost(choice, HLO_TILE_ATOM_TURN)
                                : lane_cost(choice, tiling, tiled, digit);
      if (lane < 0) return -1;
      cost += weight * (lane > 0 ? lane : 1) / lanes;
    } else {
      cost += weight * inner_cost(choice, tiling, tiled);
    }
  }
  double stores = hlo_tiling_points(tiling, output_digits);
  for (uint32_t i = 0; i < tiling->fusion->output_count; ++i) {
    const hlo_expr_t* offset = tiling->output_offsets[i];
    bool is_side = i >= hlo_kernel_main_count(kernel);
    if (is_side && (digit == HLO_TILED_MAX_DIGITS || !(offset->digits >> digit & 1))) continue;
    if (digit == HLO_TILED_MAX_DIGITS) {
      cost += stores;
    } else {
      double store = store_cost(choice, tiling, i, layout);
      if (store < 0) return -1;
      cost += stores * store / lanes;
    }
  }
  return cost;
}

static bool is_single(const hlo_tiling_t* tiling, uint32_t digit) {
  return tiling->digits[digit].end - tiling->digits[digit].low == 1;
}

// The same in all pieces; one that has a single value of the digit is computed one by one.
static double total_layout_cost(const choice_t* choice, hlo_kernel_lanes_t layout) {
  const hlo_kernel_pieces_t* pieces = choice->pieces;
  double total = 0;
  for (uint32_t i = 0; i < pieces->count; ++i) {
    const hlo_tiling_t* tiling = pieces->tilings[i];
    hlo_kernel_lanes_t here = layout;
    if (here.lane < HLO_TILED_MAX_DIGITS && is_single(tiling, here.lane)) {
      here.lane = here.cross = here.woven = HLO_TILED_MAX_DIGITS;
    }
    double cost = layout_cost(choice, tiling, here);
    if (cost < 0) return -1;
    total += cost;
  }
  return total;
}

// As many rows as half of the registers hold, or a little more, a power of two; no more than there
// are lanes.
uint32_t hlo_kernel_square_edge(const hlo_kernel_t* kernel, uint32_t lane) {
  uint32_t most = kernel->target->vector_registers - 1, edge = 1u << (31 - __builtin_clz(most));
  if (edge > HLO_KERNEL_MAX_EDGE) edge = HLO_KERNEL_MAX_EDGE;
  if (edge > kernel->lanes) edge = kernel->lanes;
  while (edge > kernel->spaces[0].extents[lane]) edge /= 2;
  return edge;
}

// A digit that some load runs over with stride 1 while the lanes jump, where squares can be turned,
// whole ones or of SHORT lanes and rows at least; HLO_TILED_MAX_DIGITS: none.
static uint32_t crossing_digit(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                               uint32_t lane) {
  enum { SHORT = 8 };
  uint32_t found = HLO_TILED_MAX_DIGITS;
  if (pieces->count != 1) return found;
  const hlo_tiling_t* tiling = pieces->tilings[0];
  const hlo_tiled_space_t* space = &tiling->spaces[0];
  const uint32_t edge = hlo_kernel_square_edge(kernel, lane);
  const uint32_t whole = kernel->lanes < SHORT ? kernel->lanes : SHORT;
  const uint32_t rows = kernel->target->has_masks ? whole : edge;
  if (edge < whole) return found;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind == HLO_TILED_REDUCE || tiled->kind == HLO_TILED_GUARD) {
      return HLO_TILED_MAX_DIGITS;
    }
    for (uint32_t k = 0; k < space->digit_count && found == HLO_TILED_MAX_DIGITS; ++k) {
      if (space->extents[k] >= rows && hlo_is_crossing(tiled, lane, k)) found = k;
    }
  }
  return found;
}

// The innermost digit if its few values may be woven into each other: the pieces differ
// in nothing else.
static uint32_t weaving_digit(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces) {
  const hlo_tiled_space_t* space = &kernel->spaces[0];
  uint32_t woven = space->digit_count;
  while (woven > 0 && space->extents[woven - 1] < 2) --woven;
  if (woven-- < 2 || !kernel->target->has_permute || kernel->fusion->side_count ||
      kernel->fusion->output_count > HLO_KERNEL_MAX_WOVEN_OUTPUTS) {
    return HLO_TILED_MAX_DIGITS;
  }
  for (uint32_t i = 0; i < pieces->count; ++i) {
    for (uint32_t k = 0; k < space->digit_count; ++k) {
      const hlo_tiled_digit_t* digit = &pieces->tilings[i]->digits[k];
      bool is_whole = digit->low == 0 && digit->end == space->extents[k];
      if (k != woven && !is_whole) return HLO_TILED_MAX_DIGITS;
    }
  }
  return woven;
}

// ---- the system

// What the values of its second variable stand for.
enum { PLAIN, WOVEN, WAYS };

static hlo_kernel_lanes_t lanes_of(const choice_t* choice, const int64_t* sizes) {
  const uint32_t none = HLO_TILED_MAX_DIGITS;
  uint32_t lane = (uint32_t)sizes[0];
  if (lane == none) return (hlo_kernel_lanes_t){none, none, none};
  if (sizes[1] == WOVEN) return (hlo_kernel_lanes_t){lane, none, choice->woven};
  return (hlo_kernel_lanes_t){lane, crossing_digit(choice->kernel, choice->pieces, lane), none};
}

// The time of all loads and stores.
static double accesses_ns(const void* context, const int64_t* sizes) {
  const choice_t* choice = context;
  const hlo_tiled_space_t* space = &choice->kernel->spaces[0];
  uint32_t lane = (uint32_t)sizes[0];
  bool is_none = lane == HLO_TILED_MAX_DIGITS;
  if (sizes[1] == WOVEN &&
      (is_none || lane == choice->woven || space->extents[lane] < choice->kernel->lanes)) {
    return -1;
  }
  double loads = total_layout_cost(choice, lanes_of(choice, sizes));
  return loads < 0 ? -1 : loads * choice->load_ns;
}

// No lanes first, then the innermost digit: of equal costs the first stays.
static uint32_t list_digits(const hlo_tiled_space_t* space, int64_t* digits) {
  uint32_t count = 0;
  digits[count++] = HLO_TILED_MAX_DIGITS;
  for (uint32_t i = space->digit_count; i-- > 0;) {
    if (space->extents[i] >= 2) digits[count++] = i;
  }
  return count;
}

// A choice and its variables. digits: room for all of them, and for none
static void init_choice(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                        int64_t* digits, choice_t* choice, hlo_tile_candidates_t* vars) {
  static const int64_t ways[WAYS] = {PLAIN, WOVEN};
  const hlo_tile_target_t* tile = &kernel->target->tile;
  *choice = (choice_t){.kernel = kernel,
                       .pieces = pieces,
                       .woven = weaving_digit(kernel, pieces),
                       .load_ns = 1 / hlo_tile_atom_find(tile, HLO_TILE_ATOM_LOAD, 0, 0)->per_ns};
  uint32_t way_count = choice->woven < HLO_TILED_MAX_DIGITS ? WAYS : 1;
  vars[0] = (hlo_tile_candidates_t){"lanes", list_digits(&kernel->spaces[0], digits), digits};
  vars[1] = (hlo_tile_candidates_t){"woven", way_count, ways};
}

hlo_kernel_lanes_t hlo_kernel_choose_lanes(const hlo_kernel_t* kernel,
                                           const hlo_kernel_pieces_t* pieces) {
  int64_t digits[HLO_TILED_MAX_DIGITS + 1], sizes[2] = {HLO_TILED_MAX_DIGITS, PLAIN};
  choice_t choice;
  hlo_tile_candidates_t vars[2];
  init_choice(kernel, pieces, digits, &choice, vars);
  // One point has no choice; where nothing can be nothing has lanes.
  if (vars[0].count > 1) (void)hlo_tile_cheapest(2, vars, accesses_ns, &choice, sizes);
  return lanes_of(&choice, sizes);
}

hlo_status_t hlo_kernel_explain_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                                      hlo_arena_t* scratch, hlo_strbuf_t* out) {
  int64_t digits[HLO_TILED_MAX_DIGITS + 1];
  choice_t choice;
  hlo_tile_candidates_t vars[2];
  init_choice(kernel, pieces, digits, &choice, vars);
  if (vars[0].count == 1) return hlo_ok();
  hlo_tile_system_t* s = hlo_tile_system_create(scratch, NULL, &kernel->target->tile);
  if (!s) return hlo_arena_status(scratch);
  hlo_tile_var_t numbers[2];
  for (uint32_t i = 0; i < 2; ++i) {
    numbers[i] = hlo_tile_system_size(s, vars[i].name, vars[i].count, vars[i].sizes);
  }
  hlo_tile_system_cost(s, "loads and stores", 2, numbers, accesses_ns, &choice);
  hlo_tile_solution_t solution;
  hlo_status_t status = hlo_tile_system_solve(s, FUEL, &solution);
  if (hlo_status_code(status) == HLO_STATUS_FAILED_PRECONDITION) {
    hlo_strbuf_printf(out, "%s\n", hlo_status_message(status));
    hlo_status_release(status);
    return hlo_ok();
  }
  if (hlo_status_is_ok(status)) hlo_tile_solution_print(s, &solution, out);
  return status;
}
