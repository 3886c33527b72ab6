// SPDX-License-Identifier: Apache-2.0
// Chooses the loop that runs over lanes, and the loop that blocks are transposed along, as a small
// constraint system: a candidate for each loop; the cost of its loads, computations and stores by
// the target description (see kernel_choose.h).
#include <stdlib.h>

#include "base/tuning.h"
#include "codegen/loops/kernel_choose.h"
#include "codegen/math/elementwise.h"
#include "codegen/math/square.h"
#include "tile/system.h"

/// The inputs of the choice.
typedef struct choice {
  const hlo_kernel_t* kernel;
  const hlo_kernel_pieces_t* pieces;
  uint32_t interleaved;  // HLO_TILED_MAX_LOOPS: none
  bool reduces;
  double load_ns;
} choice_t;

// Returns the cost of an access in loads of adjacent elements; negative if the machine lacks it.
static double access_cost(const choice_t* choice, hlo_tile_atom_op_t op) {
  return hlo_tile_access_loads(&choice->kernel->target->tile, op);
}

static size_t offset_bytes(const hlo_tiled_t* tiled) {
  return tiled->kind == HLO_TILED_INDEX ? 8 : hlo_dtype_size_bytes(tiled->value->type->dtype);
}

// Returns how many lanes vectors along a loop of `extent` have: fewer than a register holds if the
// loop has fewer iterations, whose number is a power of two or there are no masks.
static uint32_t lanes_along(const hlo_kernel_t* kernel, int64_t extent) {
  const uint32_t all = kernel->lanes, widest = kernel->target->vector_bytes / all;
  const bool has_masks = kernel->target->has_parts, may_halve = kernel->moves_bits && !has_masks;
  if ((extent >= all && !may_halve) || extent < 2) return all;
  // Lanes of floats that are only moved are as few as those of the f32 that stand for the others.
  const uint32_t widened = kernel->moves_bits && widest < sizeof(float) ? sizeof(float) : widest;
  const uint32_t least = HLO_TUNING_SHORT_VECTOR_BYTES / widened;
  if (has_masks) {
    uint32_t lanes = 1;
    while (lanes < extent) lanes *= 2;
    return lanes < least ? all : lanes;
  }
  uint32_t best = all;  // the fewest vectors and single elements
  for (uint32_t lanes = all / 2; lanes >= least; lanes /= 2) {
    if (extent / lanes + extent % lanes < extent / best + extent % best) best = lanes;
  }
  return best;
}

// Returns true if vectors along a loop may be shorter than a register: every reduction is computed
// in each lane, none over lanes of its own.
static bool may_be_short(const choice_t* choice, uint32_t loop) {
  if (!choice->reduces) return true;
  for (uint32_t i = 0; i < choice->pieces->count; ++i) {
    const hlo_tiling_t* tiling = choice->pieces->tilings[i];
    for (uint32_t k = 0; k < tiling->instance_count; ++k) {
      const hlo_tiled_t* tiled = tiling->instances[k];
      if (tiled->kind == HLO_TILED_REDUCE && !(tiled->loops >> loop & 1)) return false;
    }
  }
  return true;
}

// Returns the same for a loop of the outputs.
static uint32_t lanes_of_loop(const choice_t* choice, uint32_t loop) {
  const hlo_kernel_t* kernel = choice->kernel;
  return may_be_short(choice, loop) ? lanes_along(kernel, kernel->spaces[0].extents[loop])
                                    : kernel->lanes;
}

// Returns the cost of an offset per lane when the lanes run over a loop: 0 none (one element for
// all lanes), 1 a plain vector, more for strides, -1 impossible.
static double lane_cost(const choice_t* choice, const hlo_tiling_t* tiling,
                        const hlo_tiled_t* tiled, uint32_t loop) {
  int64_t step = hlo_kernel_lane_step(choice->kernel->target, tiled, loop);
  if (step) {
    int64_t extent = tiling->loops[loop].end - tiling->loops[loop].low;
    int64_t lanes = choice->kernel->lanes, last = (extent < lanes ? extent : lanes) - 1;
    return access_cost(choice, HLO_TILE_ATOM_STEP) * (double)(last * llabs(step) / lanes + 1);
  }
  const uint32_t lanes = lanes_of_loop(choice, loop);
  uint32_t pieces = hlo_kernel_table_pieces(choice->kernel->target, tiled, lanes);
  switch (hlo_tiled_lane_access(tiled->offset, loop)) {
    case HLO_LANE_SAME: return 0;
    case HLO_LANE_PLAIN: return 1;
    case HLO_LANE_GATHERED:
      if (pieces) return access_cost(choice, HLO_TILE_ATOM_STEP) * pieces;
      return offset_bytes(tiled) >= HLO_TILE_GATHER_BYTES
                 ? access_cost(choice, HLO_TILE_ATOM_GATHER)
                 : -1;
    case HLO_LANE_UNKNOWN: break;
  }
  const hlo_expr_atom_t* window =
      tiled->kind == HLO_TILED_LOAD
          ? hlo_kernel_lane_window(choice->kernel->target, tiled->offset, loop, lanes)
          : NULL;
  if (!window) return -1;
  // The window of a remainder never changes: it is loaded once.
  double cost = access_cost(choice, HLO_TILE_ATOM_WINDOW);
  return window->kind == HLO_EXPR_REMAINDER ? cost / 2 : cost;
}

// Returns the average number of lanes used: without masks the last elements are computed one by
// one.
static double used_lanes(const choice_t* choice, const hlo_tiling_t* tiling, uint32_t loop) {
  const hlo_kernel_t* kernel = choice->kernel;
  if (loop == HLO_TILED_MAX_LOOPS) return kernel->lanes;
  const int64_t extent = tiling->loops[loop].end - tiling->loops[loop].low;
  const bool is_short = may_be_short(choice, loop);
  const int64_t lanes = is_short ? lanes_along(kernel, extent) : kernel->lanes;
  int64_t whole = extent / lanes, rest = extent % lanes;
  if (kernel->target->has_parts) rest = rest > 0;
  return (double)extent / (double)(whole + rest);
}

// Returns the cost of interleaving vectors: by halves, or lane by lane.
static double interleaving_cost(const choice_t* choice, int64_t count) {
  double shuffle = access_cost(choice, HLO_TILE_ATOM_SHUFFLE);
  bool is_power = (count & (count - 1)) == 0;
  return is_power ? shuffle * __builtin_ctzll((uint64_t)count) : (double)count;
}

// Returns the cost of an output's stores per vector; negative if impossible.
static double store_cost(const choice_t* choice, const hlo_tiling_t* tiling, uint32_t output,
                         hlo_kernel_lanes_t layout) {
  if (layout.kind == HLO_KERNEL_INTERLEAVED) {
    return hlo_kernel_can_interleave(tiling, layout.lane, layout.other)
               ? 1 + interleaving_cost(choice, tiling->spaces[0].extents[layout.other])
               : -1;
  }
  hlo_lane_access_t access = hlo_tiled_lane_access(tiling->output_offsets[output], layout.lane);
  return access == HLO_LANE_PLAIN ? 1 : -1;
}

// Returns the cost of a load per point if the output's loops have no lanes: a reduction chooses its
// own.
static double inner_cost(const choice_t* choice, const hlo_tiling_t* tiling,
                         const hlo_tiled_t* tiled) {
  uint64_t loops = tiled->loops & ~hlo_tiled_space_mask(&tiling->spaces[0]);
  double best = 1;
  for (; loops; loops &= loops - 1) {
    uint32_t loop = (uint32_t)__builtin_ctzll(loops);
    double cost = lane_cost(choice, tiling, tiled, loop);
    if (cost < 0) continue;
    cost = (cost > 0 ? cost : 1) / used_lanes(choice, tiling, loop);
    if (cost < best) best = cost;
  }
  return best;
}

// Returns the cost of all stores; negative if impossible.
static double stores_cost(const choice_t* choice, const hlo_tiling_t* tiling,
                          hlo_kernel_lanes_t layout) {
  bool has_lanes = layout.lane < HLO_TILED_MAX_LOOPS;
  double cost = 0, lanes = used_lanes(choice, tiling, layout.lane);
  for (uint32_t i = 0; i < tiling->fusion->output_count; ++i) {
    bool is_extra_output = i >= hlo_kernel_main_count(choice->kernel);
    bool is_over =
        has_lanes && (!is_extra_output || (tiling->output_offsets[i]->loops >> layout.lane & 1));
    double store = is_over ? store_cost(choice, tiling, i, layout) : is_extra_output ? 0 : 1;
    if (store < 0) return -1;
    cost += is_over ? store / lanes : store;
  }
  return cost * hlo_tiling_points(tiling, hlo_tiled_space_mask(&tiling->spaces[0]));
}

// Returns true for instances without a cost of their own. Operands and users of reductions have
// lanes either way (kernel_rows.c).
static bool is_free(const choice_t* choice, const hlo_tiled_t* tiled) {
  if (tiled->kind == HLO_TILED_COMPUTE) return choice->reduces;
  return !tiled->offset || tiled->kind == HLO_TILED_MASK;
}

// Returns the cost of an instance that is not free per point, in loads; negative if impossible.
static double instance_cost(const choice_t* choice, const hlo_tiling_t* tiling,
                            const hlo_tiled_t* tiled, uint64_t loops, hlo_kernel_lanes_t layout,
                            double lanes) {
  uint32_t loop = layout.lane;
  bool has_lanes = loop < HLO_TILED_MAX_LOOPS && (loops >> loop & 1);
  if (tiled->kind == HLO_TILED_COMPUTE) {
    double cost = hlo_elementwise_cost(tiled->value->def);
    return has_lanes ? cost / lanes : cost;
  }
  if (!has_lanes) return inner_cost(choice, tiling, tiled);
  if (!(tiled->loops >> loop & 1)) return 1 / lanes;  // one element for all lanes
  bool is_crossing =
      layout.kind == HLO_KERNEL_TRANSPOSE && hlo_is_crossing(tiled, loop, layout.other);
  double lane = is_crossing ? access_cost(choice, HLO_TILE_ATOM_TRANSPOSE)
                            : lane_cost(choice, tiling, tiled, loop);
  return lane < 0 ? -1 : (lane > 0 ? lane : 1) / lanes;
}

// Returns the cost of all instances and stores; negative if impossible.
static double layout_cost(const choice_t* choice, const hlo_tiling_t* tiling,
                          hlo_kernel_lanes_t layout) {
  uint32_t loop = layout.lane;
  double cost = stores_cost(choice, tiling, layout);
  double lanes = used_lanes(choice, tiling, loop);
  uint64_t rows = hlo_tiled_space_mask(&tiling->spaces[0]);
  if (layout.kind == HLO_KERNEL_INTERLEAVED) rows &= ~((uint64_t)1 << layout.other);
  for (uint32_t i = 0; i < tiling->instance_count && cost >= 0; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind == HLO_TILED_MASK && (tiled->offset->loops >> loop & 1)) return -1;
    if (is_free(choice, tiled)) continue;
    const uint64_t loops = hlo_kernel_enclosing_loops(tiling, tiled);
    double each = instance_cost(choice, tiling, tiled, loops, layout, lanes);
    if (each < 0) return -1;
    // Lanes are the innermost loop: an instance that depends on it is recomputed in each row.
    uint64_t again = loop < HLO_TILED_MAX_LOOPS && loops >> loop & 1 ? rows : 0;
    cost += hlo_tiling_points(tiling, loops | again) * each;
  }
  return cost;
}

static bool is_single(const hlo_tiling_t* tiling, uint32_t loop) {
  return tiling->loops[loop].end - tiling->loops[loop].low == 1;
}

static const hlo_kernel_lanes_t no_lanes = {HLO_KERNEL_POINTS, HLO_TILED_MAX_LOOPS,
                                            HLO_TILED_MAX_LOOPS, 0};

// Returns the sum over all segments; a segment with a single value of the loop is computed element
// by element.
static double total_layout_cost(const choice_t* choice, hlo_kernel_lanes_t layout) {
  const hlo_kernel_pieces_t* pieces = choice->pieces;
  double total = 0;
  for (uint32_t i = 0; i < pieces->count; ++i) {
    const hlo_tiling_t* tiling = pieces->tilings[i];
    hlo_kernel_lanes_t here = layout;
    if (here.lane < HLO_TILED_MAX_LOOPS && is_single(tiling, here.lane)) here = no_lanes;
    double cost = layout_cost(choice, tiling, here);
    if (cost < 0) return -1;
    total += cost;
  }
  return total;
}

// Returns the edge of the blocks transposed in registers if lanes run over loop `lane`: the largest
// power of two below the number of registers and at most the number of lanes.
static uint32_t transpose_edge(const hlo_kernel_t* kernel, uint32_t lane) {
  uint32_t most = kernel->target->vector_registers - 1, edge = 1u << (31 - __builtin_clz(most));
  if (edge > HLO_KERNEL_MAX_EDGE) edge = HLO_KERNEL_MAX_EDGE;
  if (edge > kernel->lanes) edge = kernel->lanes;
  while (edge > kernel->spaces[0].extents[lane]) edge /= 2;
  return edge;
}

// Returns true if blocks can be transposed: only values that are loaded directly, in one segment.
static bool can_transpose(const hlo_kernel_pieces_t* pieces) {
  if (pieces->count != 1) return false;
  const hlo_tiling_t* tiling = pieces->tilings[0];
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    hlo_tiled_kind_t kind = tiling->instances[i]->kind;
    if (kind == HLO_TILED_REDUCE || kind == HLO_TILED_MASK) return false;
  }
  return true;
}

static uint32_t least_edge(const hlo_kernel_t* kernel) {
  return kernel->lanes < HLO_TUNING_TRANSPOSE_EDGE ? kernel->lanes : HLO_TUNING_TRANSPOSE_EDGE;
}

// Returns true if blocks of `extent` columns of a load can be transposed: whole blocks, whole parts
// or, with masks, at least one part.
static bool has_block_columns(const hlo_kernel_t* kernel, const hlo_tiled_t* tiled, uint32_t edge,
                              int64_t extent) {
  const int64_t part = hlo_square_part(tiled->value->type->dtype, edge);
  return extent >= (kernel->target->has_masks ? part : edge) || extent % part == 0;
}

// Returns true if some load is strided along the lanes and contiguous along `cross`, and all such
// loads fill blocks.
static bool is_transposed(const choice_t* choice, uint32_t lane, uint32_t cross) {
  const hlo_kernel_t* kernel = choice->kernel;
  const hlo_tiling_t* tiling = choice->pieces->tilings[0];
  const uint32_t edge = transpose_edge(kernel, lane);
  if (edge < least_edge(kernel)) return false;
  bool is_any = false;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (!hlo_is_crossing(tiled, lane, cross)) continue;
    if (!has_block_columns(kernel, tiled, edge, tiling->spaces[0].extents[cross])) return false;
    is_any = true;
  }
  return is_any;
}

// Returns the innermost loop if its few values may be interleaved: the segments differ only in it.
static uint32_t interleaving_loop(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces) {
  const hlo_tiled_space_t* space = &kernel->spaces[0];
  uint32_t interleaved = space->loop_count;
  while (interleaved > 0 && space->extents[interleaved - 1] < 2) --interleaved;
  if (interleaved-- < 2 || !kernel->target->has_permute || kernel->fusion->extra_output_count ||
      kernel->fusion->output_count > HLO_KERNEL_MAX_INTERLEAVED_OUTPUTS) {
    return HLO_TILED_MAX_LOOPS;
  }
  for (uint32_t i = 0; i < pieces->count; ++i) {
    for (uint32_t k = 0; k < space->loop_count; ++k) {
      const hlo_tiled_loop_t* loop = &pieces->tilings[i]->loops[k];
      bool is_whole = loop->low == 0 && loop->end == space->extents[k];
      if (k != interleaved && !is_whole) return HLO_TILED_MAX_LOOPS;
    }
  }
  return interleaved;
}

// ---- the system

// The variables of the system, and the values of METHOD.
enum { LANES, METHOD, ACROSS, VARS };
enum { PLAIN, INTERLEAVED, METHODS };

static hlo_kernel_lanes_t lanes_of(const choice_t* choice, const int64_t* sizes) {
  const uint32_t lane = (uint32_t)sizes[LANES], across = (uint32_t)sizes[ACROSS];
  if (lane == HLO_TILED_MAX_LOOPS) return no_lanes;
  if (sizes[METHOD] == INTERLEAVED) {
    return (hlo_kernel_lanes_t){HLO_KERNEL_INTERLEAVED, lane, choice->interleaved, 0};
  }
  const bool is_across = across < HLO_TILED_MAX_LOOPS;
  return (hlo_kernel_lanes_t){is_across ? HLO_KERNEL_TRANSPOSE : HLO_KERNEL_LANES, lane, across, 0};
}

static uint32_t lane_count(const choice_t* choice, const hlo_kernel_lanes_t* layout) {
  const hlo_kernel_t* kernel = choice->kernel;
  if (layout->kind == HLO_KERNEL_TRANSPOSE) return transpose_edge(kernel, layout->lane);
  return layout->kind == HLO_KERNEL_LANES ? lanes_of_loop(choice, layout->lane) : kernel->lanes;
}

// Returns the time of all segments.
static double total_ns(const void* context, const int64_t* sizes) {
  const choice_t* choice = context;
  const uint32_t none = HLO_TILED_MAX_LOOPS;
  const hlo_kernel_lanes_t layout = lanes_of(choice, sizes);
  bool is_interleaved = sizes[METHOD] == INTERLEAVED, is_across = sizes[ACROSS] != none;
  if ((layout.lane == none || is_interleaved) && is_across) return -1;
  if (is_interleaved && (layout.lane == none || layout.lane == layout.other ||
                         choice->kernel->spaces[0].extents[layout.lane] < choice->kernel->lanes)) {
    return -1;
  }
  if (is_across && !is_transposed(choice, layout.lane, layout.other)) return -1;
  double loads = total_layout_cost(choice, layout);
  return loads < 0 ? -1 : loads * choice->load_ns;
}

// No lanes first, then the innermost loop: among equal costs the first candidate wins.
static uint32_t list_loops(const hlo_tiled_space_t* space, int64_t* loops) {
  uint32_t count = 0;
  loops[count++] = HLO_TILED_MAX_LOOPS;
  for (uint32_t i = space->loop_count; i-- > 0;) {
    if (space->extents[i] >= 2) loops[count++] = i;
  }
  return count;
}

static bool is_plain_somewhere(const hlo_tiling_t* tiling, uint32_t loop) {
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind == HLO_TILED_LOAD &&
        hlo_tiled_lane_access(tiled->offset, loop) == HLO_LANE_PLAIN) {
      return true;
    }
  }
  return false;
}

// Lists the loops along which blocks may be transposed, none first.
static uint32_t list_crossing(const choice_t* choice, int64_t* loops) {
  const hlo_tiled_space_t* space = &choice->kernel->spaces[0];
  uint32_t count = 0;
  loops[count++] = HLO_TILED_MAX_LOOPS;
  if (!can_transpose(choice->pieces)) return count;
  for (uint32_t i = 0; i < space->loop_count; ++i) {
    if (space->extents[i] < 2) continue;
    if (is_plain_somewhere(choice->pieces->tilings[0], i)) loops[count++] = i;
  }
  return count;
}

// Lists the candidates of the variables.
typedef struct candidates {
  int64_t loops[HLO_TILED_MAX_LOOPS + 1], crossing[HLO_TILED_MAX_LOOPS + 1];
  hlo_tile_candidates_t vars[VARS];
} candidates_t;

static bool has_reductions(const hlo_kernel_pieces_t* pieces) {
  for (uint32_t i = 0; i < pieces->count; ++i) {
    if (hlo_tiling_has_reduction(pieces->tilings[i])) return true;
  }
  return false;
}

static void init_choice(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                        choice_t* choice, candidates_t* may) {
  static const int64_t methods[METHODS] = {PLAIN, INTERLEAVED};
  const hlo_tile_target_t* tile = &kernel->target->tile;
  *choice = (choice_t){.kernel = kernel,
                       .pieces = pieces,
                       .interleaved = interleaving_loop(kernel, pieces),
                       .reduces = has_reductions(pieces),
                       .load_ns = 1 / hlo_tile_atom_find(tile, HLO_TILE_ATOM_LOAD, 0, 0)->per_ns};
  uint32_t method_count = choice->interleaved < HLO_TILED_MAX_LOOPS ? METHODS : 1;
  may->vars[LANES] =
      (hlo_tile_candidates_t){"lanes", list_loops(&kernel->spaces[0], may->loops), may->loops};
  may->vars[METHOD] = (hlo_tile_candidates_t){"interleaved", method_count, methods};
  may->vars[ACROSS] =
      (hlo_tile_candidates_t){"across", list_crossing(choice, may->crossing), may->crossing};
}

double hlo_kernel_choose_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                               hlo_kernel_lanes_t* out_lanes) {
  const int64_t none = HLO_TILED_MAX_LOOPS;
  int64_t sizes[VARS] = {[LANES] = none, [METHOD] = PLAIN, [ACROSS] = none};
  choice_t choice;
  candidates_t may;
  init_choice(kernel, pieces, &choice, &may);
  // A single point needs no choice; an impossible one has no lanes.
  double cost_ns =
      may.vars[LANES].count > 1 ? hlo_tile_cheapest(VARS, may.vars, total_ns, &choice, sizes) : 0;
  *out_lanes = lanes_of(&choice, sizes);
  out_lanes->count = lane_count(&choice, out_lanes);
  return cost_ns;
}

// ---- configurations

// Returns the variable that a choice stands for: a loop by its number, from 2.
static int64_t given_loop(const hlo_kernel_t* kernel, hlo_kernel_choice_t choice) {
  const int64_t value = hlo_kernel_config_value(kernel->config, choice);
  return value < HLO_CHOICE_FIRST_LOOP ? HLO_TILED_MAX_LOOPS : value - HLO_CHOICE_FIRST_LOOP;
}

static bool is_candidate(const hlo_tile_candidates_t* var, int64_t size) {
  uint32_t i = 0;
  while (i < var->count && var->sizes[i] != size) ++i;
  return i < var->count;
}

bool hlo_kernel_take_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                           hlo_kernel_lanes_t* out_lanes) {
  const bool is_interleaved =
      hlo_kernel_config_value(kernel->config, HLO_CHOICE_interleaved) == HLO_CHOICE_YES;
  const int64_t sizes[VARS] = {[LANES] = given_loop(kernel, HLO_CHOICE_lanes),
                               [METHOD] = is_interleaved ? INTERLEAVED : PLAIN,
                               [ACROSS] = given_loop(kernel, HLO_CHOICE_across)};
  choice_t choice;
  candidates_t may;
  init_choice(kernel, pieces, &choice, &may);
  for (uint32_t i = 0; i < VARS; ++i) {
    if (!is_candidate(&may.vars[i], sizes[i])) return false;
  }
  if (total_ns(&choice, sizes) < 0) return false;
  *out_lanes = lanes_of(&choice, sizes);
  out_lanes->count = lane_count(&choice, out_lanes);
  return true;
}

typedef struct listing {
  const hlo_tile_var_t* numbers;
  hlo_kernel_configs_t* list;
} listing_t;

static void list_solution(void* context, const hlo_tile_solution_t* solution) {
  const listing_t* listing = context;
  const hlo_tile_value_t* values = solution->values;
  const int64_t lane = values[listing->numbers[LANES]].size;
  const int64_t across = values[listing->numbers[ACROSS]].size;
  hlo_kernel_config_t config = {{0}};
  config.values[HLO_CHOICE_lanes] =
      lane == HLO_TILED_MAX_LOOPS ? HLO_CHOICE_NO_LOOP : lane + HLO_CHOICE_FIRST_LOOP;
  if (values[listing->numbers[METHOD]].size == INTERLEAVED) {
    config.values[HLO_CHOICE_interleaved] = HLO_CHOICE_YES;
  }
  if (across != HLO_TILED_MAX_LOOPS) {
    config.values[HLO_CHOICE_across] = across + HLO_CHOICE_FIRST_LOOP;
  }
  hlo_kernel_configs_add(listing->list, &config, solution->cost_ns);
}

// Makes the system. numbers: its variables
static hlo_status_t make_system(const hlo_kernel_t* kernel, const candidates_t* may,
                                const choice_t* choice, hlo_arena_t* scratch,
                                hlo_tile_var_t* numbers, hlo_tile_system_t** out_system) {
  hlo_tile_system_t* s = hlo_tile_system_create(scratch, NULL, &kernel->target->tile);
  if (!s) return hlo_arena_status(scratch);
  for (uint32_t i = 0; i < VARS; ++i) {
    const hlo_tile_candidates_t* var = &may->vars[i];
    numbers[i] = hlo_tile_system_size(s, var->name, var->count, var->sizes);
  }
  hlo_tile_system_cost(s, "loads, computations and stores", VARS, numbers, total_ns, choice);
  *out_system = s;
  return hlo_ok();
}

hlo_status_t hlo_kernel_list_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                                   hlo_arena_t* scratch, hlo_kernel_configs_t* list) {
  choice_t choice;
  candidates_t may;
  hlo_tile_var_t numbers[VARS];
  hlo_tile_system_t* s;
  init_choice(kernel, pieces, &choice, &may);
  if (may.vars[LANES].count == 1) return hlo_ok();
  HLO_TRY(make_system(kernel, &may, &choice, scratch, numbers, &s));
  listing_t listing = {numbers, list};
  return hlo_tile_system_each(s, HLO_TUNING_LANES_FUEL, list_solution, &listing);
}

hlo_status_t hlo_kernel_explain_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                                      hlo_arena_t* scratch, hlo_strbuf_t* out) {
  choice_t choice;
  candidates_t may;
  init_choice(kernel, pieces, &choice, &may);
  if (may.vars[LANES].count == 1) return hlo_ok();
  hlo_tile_var_t numbers[VARS];
  hlo_tile_system_t* s;
  HLO_TRY(make_system(kernel, &may, &choice, scratch, numbers, &s));
  hlo_tile_solution_t solution;
  hlo_status_t status = hlo_tile_system_solve(s, HLO_TUNING_LANES_FUEL, &solution);
  if (hlo_status_code(status) == HLO_STATUS_FAILED_PRECONDITION) {
    hlo_strbuf_printf(out, "%s\n", hlo_status_message(status));
    hlo_status_release(status);
    return hlo_ok();
  }
  if (hlo_status_is_ok(status)) hlo_tile_solution_print(s, &solution, out);
  return status;
}
