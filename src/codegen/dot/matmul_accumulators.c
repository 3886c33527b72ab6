// SPDX-License-Identifier: Apache-2.0
// Chooses the rows and the vectors of columns of a register tile: a system of constraints over the
// machine's description, whose cost is the time of all tiles (see matmul.h). No machine constant
// appears in this file.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/dot/matmul_impl.h"
#include "tile/memo.h"
#include "tile/system.h"

// The first of several equally fast tiles is chosen, and the first widths divide most matrices.
enum { WIDTH_COUNT = 11, MAX_WIDTH = 16, MAX_TILES = 128 };
static const int64_t WIDTHS[WIDTH_COUNT] = {4, 2, 8, 1, 16, 3, 6, 5, 7, 10, 12};
// Vectors of channels share nothing, so widths have another order.
static const int64_t CHANNEL_WIDTHS[WIDTH_COUNT] = {2, 1, 4, 8, 16, 3, 6, 5, 7, 10, 12};

static double largest(double a, double b) {
  return a > b ? a : b;
}

/// The quantities that the cost of a tile depends on.
typedef struct model {
  const hlo_matmul_t* m;
  const hlo_tile_target_t* machine;
  int64_t vectors;                 // of columns, over all panels
  int64_t steps;                   // along the contraction
  int64_t piece_bytes, row_bytes;  // that a step reads of B per vector, of A per row
  double product_ns, load_ns, splat_ns, latency_ns;
  double a_bytes, b_bytes;             // of the whole operands
  double a_ns, b_ns, accumulators_ns;  // per byte
  int64_t a_lines, b_lines;            // lines of their rows in place that the first cache
                                       // holds
} model_t;

static const hlo_tile_atom_t* atom_of(const hlo_matmul_t* m, const hlo_tile_target_t* machine) {
  hlo_dtype_t operand = m->group == 4 ? HLO_DTYPE_S8 : m->group == 2 ? HLO_DTYPE_BF16 : m->dtype;
  return hlo_tile_atom_find(machine, HLO_TILE_ATOM_PRODUCT, operand, m->dtype);
}

static double byte_ns(const hlo_tile_target_t* machine, double bytes) {
  return 1 / hlo_tile_home(machine, bytes)->bytes_per_ns;
}

static void init_model(model_t* model, const hlo_matmul_t* m) {
  const hlo_tile_target_t* machine = &m->target->tile;
  const hlo_tile_atom_t* atom = atom_of(m, machine);
  const hlo_tile_atom_t* load = hlo_tile_atom_find(machine, HLO_TILE_ATOM_LOAD, 0, 0);
  const hlo_tile_atom_t* splat = hlo_tile_atom_find(machine, HLO_TILE_ATOM_SPLAT, 0, 0);
  const hlo_tile_atom_t* vector = hlo_tile_atom_find(machine, HLO_TILE_ATOM_VECTOR, 0, 0);
  double rows = (double)m->rows.extent, columns = (double)m->columns.extent;
  double depth = (double)m->depth_extent, bytes = (double)m->element_bytes;
  int64_t lanes = m->lanes, piece = lanes * m->element_bytes;
  bool is_by_depth = m->strategy == HLO_MATMUL_BY_DEPTH;
  bool is_vector = is_by_depth || m->strategy == HLO_MATMUL_BY_CHANNEL;
  *model = (model_t){
      .m = m,
      .machine = machine,
      .vectors = is_by_depth ? m->columns.extent : hlo_divide_up(m->columns.extent, lanes),
      .steps = is_by_depth ? hlo_divide_up(m->depth_extent, lanes) : m->depth_extent,
      .piece_bytes = piece,
      .row_bytes = is_vector ? piece : m->element_bytes,
      .product_ns = 1 / (atom ? atom->per_ns : hlo_tile_product_rate(machine, m->dtype)),
      .load_ns = 1 / load->per_ns,
      .splat_ns = 1 / (splat && !is_vector ? splat : load)->per_ns,
      .latency_ns = (atom ? atom : vector)->latency_ns,
      .a_bytes = rows * depth * bytes,
      .b_bytes = columns * depth * bytes};
  model->a_ns = byte_ns(machine, model->a_bytes);
  model->b_ns = byte_ns(machine, model->b_bytes);
  model->accumulators_ns = byte_ns(machine, rows * columns * bytes);
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  int64_t element = m->element_bytes;
  model->a_lines = hlo_tile_lines_held(&machine->memories[1], m->rows.from[HLO_MATMUL_A] * element);
  model->b_lines = hlo_tile_lines_held(&machine->memories[1], inner->from[HLO_MATMUL_B] * element);
}

/// A tile, and the memory behaviour of its reads.
typedef struct tile_reads {
  int64_t width, line_bytes;        // of B; the bytes that come for free at the start of each
                                    // row
  int64_t row_bytes, rows_line;     // of A's rows; the bytes that come for free
  double first_ns, again_ns, a_ns;  // per byte of B at its first and at later reads, of A
} tile_reads_t;

// Returns the time of a step of a tile: the longest of multiplying, waiting for the previous step,
// loading, and moving data from its memory, plus the costs that the machine does not overlap with
// it.
static double step_ns(const model_t* model, const tile_reads_t* reads, int64_t rows, double b_ns) {
  const hlo_matmul_t* m = model->m;
  double products = (double)(rows * reads->width) * model->product_ns;
  double rows_loaded = (double)rows;
  if (m->strategy == HLO_MATMUL_BY_CHANNEL) {
    rows_loaded = (double)(reads->width * (rows + m->slide - 1)) / (double)m->slide;
  }
  double loads = (double)reads->width * model->load_ns + rows_loaded * model->splat_ns;
  double b = (double)(reads->width * model->piece_bytes + reads->line_bytes) * b_ns;
  double a = (double)(rows * reads->row_bytes + reads->rows_line) * reads->a_ns;
  // An accumulator that waits for its own last update misses an issue slot now and then.
  double chain = model->latency_ns + model->product_ns;
  double moved = reads->a_ns == b_ns ? a + b : largest(a, b);  // from one or two memories
  double longest = largest(largest(products, chain), largest(loads, moved));
  return longest + (products + chain + loads + a + b - longest) * model->machine->exposed;
}

static tile_reads_t reads_of(const model_t* model, int64_t rows, int64_t width, double panel_bytes,
                             bool is_packed) {
  const hlo_matmul_t* m = model->m;
  const hlo_tile_memory_t* near = &model->machine->memories[1];
  double beyond = (double)near->capacity_bytes + 1;
  bool is_apart = width < model->vectors && m->strategy != HLO_MATMUL_BY_DEPTH && !is_packed;
  // A's rows are adjacent, so each step is in another line.
  bool is_across = m->rows.from[HLO_MATMUL_A] == 1 && m->rows.extent > rows &&
                   m->depth[m->depth_count - 1].from[HLO_MATMUL_A] > m->group;
  tile_reads_t reads = {.width = width,
                        .line_bytes = is_apart ? near->line_bytes : 0,
                        .row_bytes = model->row_bytes,
                        .rows_line = is_across ? near->line_bytes : 0,
                        .first_ns = model->b_ns,
                        .a_ns = model->a_ns};
  // Lines that evict each other come again from the next memory: a panel's for each tile, A's rows
  // for each element.
  if (is_apart && model->steps > model->b_lines) panel_bytes = largest(panel_bytes, beyond);
  reads.again_ns = byte_ns(model->machine, panel_bytes);
  if (rows >= model->a_lines && reads.row_bytes < near->line_bytes &&
      !hlo_matmul_packs_a(m, model->vectors / width, rows)) {
    reads.row_bytes = near->line_bytes;
    reads.a_ns = largest(reads.a_ns, byte_ns(model->machine, beyond));
  }
  return reads;
}

static double panel_ns(const model_t* model, int64_t height, int64_t width, bool is_packed) {
  const hlo_matmul_t* m = model->m;
  int64_t rows = m->rows.extent, tiles = hlo_divide_up(rows, height),
          high = hlo_divide_up(rows, tiles);
  int64_t tall = rows - tiles * (high - 1);
  const hlo_tile_memory_t* memories = model->machine->memories;
  double panel = (double)model->steps * (double)(width * model->piece_bytes);
  double far = (double)memories[2].capacity_bytes;
  bool may_cut =
      tiles > 1 && m->depth_count == 1 && m->strategy != HLO_MATMUL_BY_DEPTH && !m->is_convolution;
  double blocks = 1;
  if (may_cut) {
    int64_t capacity = memories[1].capacity_bytes;
    double near = (double)(capacity - capacity / HLO_TUNING_STREAM_SHARE);
    blocks = largest(panel / far, (double)(model->steps * high * model->row_bytes) / near);
    blocks = blocks > 1 ? blocks : 1;
    if (panel > far) panel = far;
  }
  tile_reads_t reads = reads_of(model, high, width, panel, is_packed);
  double first = step_ns(model, &reads, high, reads.first_ns);
  double others = (double)(tall - 1) * step_ns(model, &reads, high, reads.again_ns);
  if (tiles > tall) {
    others += (double)(tiles - tall) * step_ns(model, &reads, high - 1, reads.again_ns);
  }
  // Each block stores its accumulators, and all but the first load them. A tile waits for its first
  // loads and for its last accumulators.
  double accumulators =
      (double)(rows * width * model->piece_bytes) * model->accumulators_ns * (2 * blocks - 1);
  double waits = (double)tiles * blocks * model->latency_ns * 2;
  return (double)model->steps * (first + others) + accumulators + waits;
}

// Returns the largest number of rows that fits the registers next to `width` vectors, as in the
// constraint.
static int64_t tallest(const model_t* model, int64_t width) {
  const hlo_matmul_t* m = model->m;
  int64_t registers = model->machine->vector_count;
  int64_t aside = m->strategy == HLO_MATMUL_BY_CHANNEL ? m->slide + 2 : 1 + width;
  int64_t height = (registers - aside) / width;
  return height > 1 ? height : 1;
}

static double tiles_ns(const void* context, const int64_t* sizes) {
  const model_t* model = context;
  const hlo_matmul_t* m = model->m;
  int64_t width = sizes[0], height = sizes[1], edge = model->vectors % width;
  bool is_packed = hlo_matmul_packs_b(m, hlo_divide_up(m->rows.extent, height));
  double ns = (double)(model->vectors / width) * panel_ns(model, height, width, is_packed);
  if (edge) {
    double low = panel_ns(model, hlo_matmul_min(height, tallest(model, edge)), edge, is_packed);
    double high = panel_ns(model, tallest(model, edge), edge, is_packed);
    ns += low < high ? low : high;
  }
  if (hlo_matmul_packs_a(m, hlo_divide_up(model->vectors, width), height)) {
    ns += 2 * model->a_bytes * model->a_ns;
  }
  if (!is_packed) return ns;
  // All of B is read and written, or the data that a panel's first tile reads goes to the second
  // cache.
  const hlo_tile_memory_t* far = &model->machine->memories[2];
  bool is_sliced = hlo_matmul_may_slice(m, 2 * far->capacity_bytes);
  return ns + model->b_bytes * (is_sliced ? 1 / far->bytes_per_ns : 2 * model->b_ns);
}

// Lists the heights that cut the rows evenly into the least number of tiles, for all widths.
static uint32_t list_heights(const model_t* model, uint32_t width_count, const int64_t* widths,
                             int64_t* heights) {
  uint32_t count = 0;
  int64_t rows = model->m->rows.extent;
  for (uint32_t i = 0; i < width_count; ++i) {
    int64_t height = hlo_divide_up(rows, hlo_divide_up(rows, tallest(model, widths[i])));
    uint32_t k = 0;
    while (k < count && heights[k] != height) ++k;
    if (k == count) heights[count++] = height;
  }
  return count;
}

static uint32_t list_widths(const model_t* model, int64_t* widths) {
  uint32_t count = 0;
  hlo_matmul_strategy_t strategy = model->m->strategy;
  uint32_t most = strategy == HLO_MATMUL_BY_DEPTH ? HLO_TUNING_DEPTH_WIDTHS : WIDTH_COUNT;
  const int64_t* all = strategy == HLO_MATMUL_BY_CHANNEL ? CHANNEL_WIDTHS : WIDTHS;
  for (uint32_t i = 0; i < most; ++i) {
    // Unusually wide tiles are for a few rows, which they hold at once.
    bool is_wide = i > 0 && all[i] > WIDTHS[0] && tallest(model, all[i]) < model->m->rows.extent;
    if (all[i] <= model->vectors && !is_wide) widths[count++] = all[i];
  }
  if (!count) widths[count++] = model->vectors;
  return count;
}

/// The sizes to try.
typedef struct candidates {
  bool is_given;  // the width
  uint32_t width_count, height_count;
  int64_t widths[MAX_WIDTH + 1], heights[MAX_ACCUMULATORS];
} candidates_t;

/// A system and its variables.
typedef struct choice {
  model_t model;
  hlo_tile_system_t* system;
  hlo_tile_var_t sizes[2];  // vectors of columns, rows
  hlo_tile_solution_t solution;
} choice_t;

// Makes the system: the constraints on a tile, and its cost.
static hlo_status_t make_system(choice_t* choice, const candidates_t* all, hlo_arena_t* scratch) {
  const model_t* model = &choice->model;
  const hlo_matmul_t* m = model->m;
  const hlo_tile_target_t* machine = model->machine;
  int64_t vector = machine->vector_bytes;
  hlo_tile_system_t* s = hlo_tile_system_create(scratch, NULL, machine);
  if (!s) return hlo_arena_status(scratch);
  hlo_tile_system_tolerance(s, HLO_TUNING_TILE_COST_TOLERANCE);
  hlo_tile_var_t x = hlo_tile_system_size(s, "vectors", all->width_count, all->widths);
  hlo_tile_var_t y = hlo_tile_system_size(s, "rows", all->height_count, all->heights);
  const hlo_tile_monomial_t held[2] = {{vector, 2, {x, y}}, {vector, 1, {x}}};
  if (m->strategy == HLO_MATMUL_BY_CHANNEL) {
    int64_t whole = hlo_divide_up(m->repeat, m->lanes);
    if (whole > 1 && !all->is_given) hlo_tile_system_multiple(s, "channels", x, whole);
    hlo_tile_system_fits(s, "accumulators, and steps that slide", 0, (m->slide + 2) * vector, 1,
                         held);
  } else {
    // A single row uses each of B's vectors only once, directly from memory.
    hlo_tile_system_fits(s, "accumulators, B and one of A", 0, vector, m->rows.extent > 1 ? 2 : 1,
                         held);
  }
  choice->system = s;
  choice->sizes[0] = x, choice->sizes[1] = y;
  hlo_tile_system_cost(s, "all tiles", 2, choice->sizes, tiles_ns, model);
  return hlo_ok();
}

// Solves the system. `width`: of the tile; 0: any.
static hlo_status_t solve_tile(choice_t* choice, const hlo_matmul_t* m, int64_t width,
                               hlo_arena_t* scratch) {
  model_t* model = &choice->model;
  candidates_t all = {.is_given = width > 0};
  init_model(model, m);
  all.width_count = list_widths(model, all.widths);
  if (width) all.widths[all.width_count++] = width;
  all.height_count = list_heights(model, all.width_count, all.widths, all.heights);
  if (width) {
    model->vectors = all.widths[0] = width;
    all.width_count = 1;
  }
  HLO_TRY(make_system(choice, &all, scratch));
  return hlo_tile_system_solve(choice->system, HLO_TUNING_TILE_FUEL, &choice->solution);
}

// ---- all possible tiles

/// A possible tile, and the time of the whole product with it.
typedef struct ranked {
  hlo_matmul_accumulators_t tile;
  double ns;
} ranked_t;

static int compare_ranked(const void* a, const void* b) {
  const ranked_t *x = a, *y = b;
  if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
  if (x->tile.width != y->tile.width) return x->tile.width < y->tile.width ? -1 : 1;
  return x->tile.height < y->tile.height ? -1 : x->tile.height > y->tile.height;
}

typedef struct ranking {
  choice_t choice;
  uint32_t count;
  ranked_t tiles[MAX_TILES];
} ranking_t;

static void rank_tile(void* context, const hlo_tile_solution_t* solution) {
  ranking_t* ranking = context;
  if (ranking->count == MAX_TILES) return;
  const hlo_tile_var_t* sizes = ranking->choice.sizes;
  const hlo_matmul_accumulators_t tile = {solution->values[sizes[0]].size,
                                          solution->values[sizes[1]].size};
  ranking->tiles[ranking->count++] = (ranked_t){tile, solution->cost_ns};
}

// Ranks all tiles that fit the registers, the fastest first. Of heights that cut the rows into
// equally many tiles, only the least is listed. `only`: rank only this tile; NULL: all.
static hlo_status_t rank_tiles(const hlo_matmul_t* m, const hlo_matmul_accumulators_t* only,
                               ranking_t* out_ranking) {
  candidates_t all = {0};
  choice_t* choice = &out_ranking->choice;
  out_ranking->count = 0;
  init_model(&choice->model, m);
  int64_t rows = m->rows.extent,
          most = m->strategy == HLO_MATMUL_BY_DEPTH ? HLO_TUNING_DEPTH_WIDTHS : MAX_WIDTH;
  for (int64_t width = 1; width <= hlo_matmul_min(most, choice->model.vectors); ++width) {
    if (!only || width == only->width) all.widths[all.width_count++] = width;
  }
  for (int64_t height = 1; height <= hlo_matmul_min(rows, MAX_ACCUMULATORS); ++height) {
    bool is_least = height == hlo_divide_up(rows, hlo_divide_up(rows, height));
    if (only ? height == only->height : is_least) all.heights[all.height_count++] = height;
  }
  if (!all.width_count || !all.height_count) return hlo_ok();
  HLO_SCOPED_ARENA scratch = {0};
  hlo_status_t status = make_system(choice, &all, &scratch);
  if (hlo_status_is_ok(status)) {
    status = hlo_tile_system_each(choice->system, HLO_TUNING_RANKING_FUEL, rank_tile, out_ranking);
  }
  qsort(out_ranking->tiles, out_ranking->count, sizeof *out_ranking->tiles, compare_ranked);
  return status;
}

// Returns the key of a product in machine descriptions.
static hlo_tile_tuned_t name_of(const hlo_matmul_t* m) {
  hlo_tile_tuned_t name = {
      .rows = m->rows.extent, .columns = m->columns.extent, .steps = m->depth_extent};
  const char* type = hlo_dtype_info(m->operands[HLO_MATMUL_B].dtype)->hlo_name;
  bool is_a_transposed = m->rows.from[HLO_MATMUL_A] == 1 && m->depth_extent > 1;
  bool is_b_transposed = m->columns.from[HLO_MATMUL_B] != 1;
  const char forms[2][2][3] = {{"nn", "nt"}, {"tn", "tt"}};
  snprintf(name.kind, sizeof name.kind, "%s.%s", type,
           m->is_convolution ? "conv" : forms[is_a_transposed][is_b_transposed]);
  return name;
}

// Finds the tile that the description names for the product, if that tile is possible.
static hlo_status_t find_tuned(const hlo_matmul_t* m, hlo_matmul_accumulators_t* out_tile,
                               bool* out_is_found) {
  *out_is_found = false;
  if (!m->target->tile.tuned_count) return hlo_ok();
  const hlo_tile_tuned_t name = name_of(m), *tuned = hlo_tile_tuned_find(&m->target->tile, &name);
  if (!tuned) return hlo_ok();
  ranking_t ranking;
  *out_tile = (hlo_matmul_accumulators_t){tuned->width, tuned->height};
  HLO_TRY(rank_tiles(m, out_tile, &ranking));
  *out_is_found = ranking.count > 0;
  return hlo_ok();
}

// Returns the product's state when the tile was chosen, before packing was decided.
static hlo_matmul_t before_packing(const hlo_matmul_t* m) {
  hlo_matmul_t before = *m;
  if (before.operands[HLO_MATMUL_B].packing != HLO_MATMUL_ON_STACK) {
    before.operands[HLO_MATMUL_B].packing = HLO_MATMUL_IN_PLACE;
  }
  return before;
}

static bool has_system(const hlo_matmul_t* m) {
  return m->strategy != HLO_MATMUL_NARROW && m->strategy != HLO_MATMUL_IN_TILES &&
         m->strategy != HLO_MATMUL_BY_CODES && m->strategy != HLO_MATMUL_BY_QUADS;
}

hlo_status_t hlo_matmul_is_possible_tile(const hlo_matmul_t* m,
                                         const hlo_matmul_accumulators_t* tile,
                                         bool* out_is_possible) {
  *out_is_possible = false;
  if (!has_system(m)) return hlo_ok();
  ranking_t ranking;
  HLO_TRY(rank_tiles(m, tile, &ranking));
  *out_is_possible = ranking.count > 0;
  return hlo_ok();
}

hlo_status_t hlo_matmul_list_tiles(const hlo_matmul_t* m, const hlo_kernel_config_t* base,
                                   uint32_t most, hlo_kernel_configs_t* list) {
  if (!has_system(m)) return hlo_ok();
  ranking_t ranking;
  const hlo_matmul_t before = before_packing(m);
  HLO_TRY(rank_tiles(&before, NULL, &ranking));
  for (uint32_t i = 0; i < ranking.count && i < most; ++i) {
    hlo_kernel_config_t config = *base;
    config.values[HLO_CHOICE_rows] = ranking.tiles[i].tile.height;
    config.values[HLO_CHOICE_vectors] = ranking.tiles[i].tile.width;
    hlo_kernel_configs_add(list, &config, ranking.tiles[i].ns * (double)m->outer_extent);
  }
  return hlo_ok();
}

// ---- choice

// Chooses the tile. A product for which no tile fits the registers gets one row of the fewest
// vectors that belong together.
static hlo_status_t choose_tile(const hlo_matmul_t* m, int64_t width,
                                hlo_matmul_accumulators_t* out_tile, hlo_strbuf_t* text) {
  HLO_SCOPED_ARENA scratch = {0};
  choice_t choice;
  hlo_status_t status = solve_tile(&choice, m, width, &scratch);
  if (hlo_status_is_ok(status)) {
    const hlo_tile_value_t* values = choice.solution.values;
    *out_tile =
        (hlo_matmul_accumulators_t){values[choice.sizes[0]].size, values[choice.sizes[1]].size};
    if (text) hlo_tile_solution_print(choice.system, &choice.solution, text);
  } else if (hlo_status_code(status) == HLO_STATUS_FAILED_PRECONDITION) {
    if (text) hlo_strbuf_printf(text, "%s\n", hlo_status_message(status));
    hlo_status_release(status);
    status = hlo_ok();
    *out_tile = (hlo_matmul_accumulators_t){width ? width : hlo_divide_up(m->repeat, m->lanes), 1};
  }
  return status;
}

// Lists all properties of a product that its system depends on.
static uint32_t list_keys(const hlo_matmul_t* m, int64_t width, int64_t* keys) {
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  const int64_t all[] = {width,
                         m->rows.extent,
                         m->columns.extent,
                         m->depth_extent,
                         inner->extent,
                         m->depth_count,
                         m->lanes,
                         m->element_bytes,
                         m->dtype,
                         m->operands[HLO_MATMUL_A].dtype,
                         m->operands[HLO_MATMUL_B].dtype,
                         hlo_matmul_is_produced(&m->operands[HLO_MATMUL_A]),
                         hlo_matmul_is_produced(&m->operands[HLO_MATMUL_B]),
                         m->group,
                         m->slide,
                         m->repeat,
                         m->strategy,
                         m->is_convolution,
                         m->operands[HLO_MATMUL_B].packing,
                         m->rows.from[HLO_MATMUL_A],
                         m->columns.from[HLO_MATMUL_B],
                         inner->from[HLO_MATMUL_A],
                         inner->from[HLO_MATMUL_B],
                         m->depth[0].from[HLO_MATMUL_A],
                         m->group_from[HLO_MATMUL_A],
                         m->group_from[HLO_MATMUL_B],
                         m->last_group};
  _Static_assert(sizeof all / sizeof *all <= HLO_TILE_MEMO_KEYS, "the memo has room");
  memcpy(keys, all, sizeof all);
  return sizeof all / sizeof *all;
}

hlo_status_t hlo_matmul_choose_accumulators(const hlo_matmul_t* m, hlo_tile_memo_t* memo,
                                            int64_t width, hlo_matmul_accumulators_t* out_tile) {
  if (m->strategy == HLO_MATMUL_BY_CODES) {
    *out_tile = hlo_matmul_codes_tile(m);
    return hlo_ok();
  }
  if (m->strategy == HLO_MATMUL_BY_QUADS) {
    *out_tile = hlo_matmul_quads_tile(m);
    return hlo_ok();
  }
  if (m->strategy == HLO_MATMUL_IN_TILES) {  // of a fixed size
    *out_tile = hlo_matmul_tile_size(m);
    if (width) out_tile->width = width;
    return hlo_ok();
  }
  bool is_tuned = false;
  if (!width) HLO_TRY(find_tuned(m, out_tile, &is_tuned));
  if (is_tuned) return hlo_ok();
  int64_t keys[HLO_TILE_MEMO_KEYS];
  uint32_t count = list_keys(m, width, keys);
  const int64_t* known = hlo_tile_memo_find(memo, count, keys);
  if (known) {
    *out_tile = (hlo_matmul_accumulators_t){known[0], known[1]};
    return hlo_ok();
  }
  HLO_TRY(choose_tile(m, width, out_tile, NULL));
  const int64_t values[2] = {out_tile->width, out_tile->height};
  hlo_tile_memo_keep(memo, count, keys, 2, values);
  return hlo_ok();
}

// ---- text

hlo_status_t hlo_matmul_print_tiles(const hlo_matmul_t* m, hlo_strbuf_t* out) {
  if (!has_system(m)) return hlo_ok();
  ranking_t ranking;
  const hlo_matmul_t before = before_packing(m);
  hlo_tile_tuned_t line = name_of(&before);
  hlo_matmul_accumulators_t chosen;
  HLO_TRY(rank_tiles(&before, NULL, &ranking));
  HLO_TRY(hlo_matmul_choose_accumulators(&before, NULL, 0, &chosen));
  for (uint32_t i = 0; i < ranking.count; ++i) {
    const hlo_matmul_accumulators_t* tile = &ranking.tiles[i].tile;
    bool is_chosen = tile->width == chosen.width && tile->height == chosen.height;
    line.width = tile->width, line.height = tile->height;
    hlo_tile_tuned_print(&line, out);
    hlo_strbuf_printf(out, ", %.0f ns%s\n", ranking.tiles[i].ns * (double)m->outer_extent,
                      is_chosen ? ", chosen" : "");
  }
  return hlo_ok();
}

hlo_status_t hlo_matmul_explain_accumulators(const hlo_matmul_t* m, hlo_strbuf_t* out) {
  if (!has_system(m)) return hlo_ok();
  hlo_matmul_accumulators_t tile;
  const hlo_matmul_t before = before_packing(m);
  bool is_tuned;
  HLO_TRY(find_tuned(&before, &tile, &is_tuned));
  if (is_tuned) {
    hlo_strbuf_printf(out, "vectors = %d, rows = %d, from the machine's description\n",
                      (int)tile.width, (int)tile.height);
    return hlo_ok();
  }
  return choose_tile(&before, 0, &tile, out);
}
