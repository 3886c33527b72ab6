// SPDX-License-Identifier: Apache-2.0
// Prints how a fusion could be tiled (hlocc compile --emit=tilings): the parallel dimensions of its
// result, the sequential dimensions of reductions, the index values known only at run time, and the
// number of valid tilings. Products list all tilings that the target description allows.
#include <inttypes.h>

#include "base/tuning.h"
#include "codegen/loops/kernel_impl.h"
#include "tile/system.h"

/// A dimension: adjacent loops, outermost first, that make up one or more dimensions of a tensor.
typedef struct dim {
  uint32_t loop_count;
  const int64_t* loops;
  uint32_t size_count;
  int64_t sizes[HLO_TILE_MAX_SIZES];
} dim_t;

typedef struct tilings {
  const hlo_kernel_t* kernel;
  uint32_t dim_count;
  dim_t dims[HLO_TILED_MAX_LOOPS];
  uint64_t count;  // valid tilings
} tilings_t;

static void add_dim(tilings_t* t, const int64_t* loops, uint32_t loop_count) {
  dim_t* dim = &t->dims[t->dim_count++];
  dim->loops = loops;
  dim->loop_count = loop_count;
  dim->size_count = hlo_tile_list_sizes(loop_count, loops, dim->sizes);
}

// Groups the fewest adjacent loops that make up whole dimensions of the result, from the innermost.
static void find_dims(tilings_t* t) {
  const hlo_tiled_space_t* space = &t->kernel->spaces[0];
  const hlo_type_t* type = hlo_tiled_written(t->kernel->fusion->outputs[0])->type;
  uint32_t end = space->loop_count, at = end, d = type->rank;
  int64_t loops = 1, elements = 1;
  while (at > 0) {
    loops *= space->extents[--at];
    while (elements < loops && d > 0) elements *= type->dims[--d];
    if (elements != loops && at > 0) continue;
    add_dim(t, &space->extents[at], end - at);
    end = at;
    loops = elements = 1;
  }
}

// ---- text

static void print_extent(const char* kind, const int64_t* loops, uint32_t count,
                         hlo_strbuf_t* out) {
  int64_t extent = 1;
  for (uint32_t i = 0; i < count; ++i) extent *= loops[i];
  hlo_strbuf_printf(out, "  %s %" PRId64, kind, extent);
  for (uint32_t i = 0; count > 1 && i < count; ++i) {
    hlo_strbuf_printf(out, "%s%" PRId64, i ? " x " : " = ", loops[i]);
  }
}

static void print_dims(const tilings_t* t, hlo_strbuf_t* out) {
  for (uint32_t i = t->dim_count; i-- > 0;) {
    const dim_t* dim = &t->dims[i];
    print_extent("parallel", dim->loops, dim->loop_count, out);
    for (uint32_t k = 0; k < dim->size_count; ++k) {
      hlo_strbuf_printf(out, "%s%" PRId64, k ? ", " : ": tiles of ", dim->sizes[k]);
    }
    hlo_strbuf_putc(out, '\n');
  }
  hlo_kernel_shape_t shape = {0};
  const hlo_kernel_form_t* form = hlo_kernel_form_of(t->kernel);
  if (form) form->describe(t->kernel, &shape);
  for (uint32_t i = 0; i < shape.depth_count; ++i) {
    print_extent("sequential", &shape.depths[i], 1, out);
    hlo_strbuf_putc(out, '\n');
  }
  for (uint32_t i = 1; i < t->kernel->space_count; ++i) {
    const hlo_tiled_space_t* space = &t->kernel->spaces[i];
    print_extent("sequential", space->extents, space->loop_count, out);
    hlo_strbuf_putc(out, '\n');
  }
}

// Prints the values of an index that are known only at run time, unless printed already.
static void print_values(const hlo_tiling_t* tiling, const hlo_expr_t* index, bool* is_printed,
                         hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < index->term_count; ++i) {
    const hlo_expr_atom_t* atom = index->terms[i].atom;
    if (atom->argument) print_values(tiling, atom->argument, is_printed, out);
    if (atom->kind != HLO_EXPR_VALUE || is_printed[atom->number]) continue;
    is_printed[atom->number] = true;
    const hlo_tiled_t* tiled = tiling->instances[atom->number];
    hlo_strbuf_printf(out, "  value %" PRId64 " to %" PRId64 ": ", atom->low, atom->high);
    if (tiled->kind == HLO_TILED_LOAD) {
      hlo_strbuf_printf(out, "input %u\n", tiled->input);
    } else {
      hlo_strbuf_printf(out, "%s\n",
                        tiled->value->def ? hlo_op_info(tiled->value->def->op)->name : "argument");
    }
  }
}

static void print_ranges(const hlo_kernel_t* kernel, uint32_t piece, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "  piece %u:", piece);
  for (uint32_t i = 0; i < kernel->spaces[0].loop_count; ++i) {
    const int64_t* range = kernel->segments[piece][i];
    hlo_strbuf_printf(out, " %" PRId64 "..%" PRId64, range[0], range[1]);
  }
  hlo_strbuf_putc(out, '\n');
}

static hlo_status_t print_piece(const tilings_t* t, uint32_t number, hlo_arena_t* scratch,
                                hlo_strbuf_t* out) {
  hlo_tiling_t* tiling;
  HLO_TRY(hlo_kernel_walk(t->kernel, scratch, &t->kernel->segments[number], &tiling));
  bool* is_printed = hlo_arena_array(scratch, tiling->instance_count + 1, sizeof *is_printed);
  if (!is_printed) return hlo_arena_status(scratch);
  if (t->kernel->segment_count > 1) print_ranges(t->kernel, number, out);
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_expr_t* offset = tiling->instances[i]->offset;
    if (offset) print_values(tiling, offset, is_printed, out);
  }
  return hlo_ok();
}

// ---- counting

static void count_tiling(void* context, HLO_UNUSED const hlo_tile_solution_t* solution) {
  ++((tilings_t*)context)->count;
}

// All tilings cost 0; a tile whose output elements exceed the cache is invalid.
static double check_cache(const void* context, const int64_t* sizes) {
  const tilings_t* t = context;
  const hlo_fusion_t* fusion = t->kernel->fusion;
  double elements = 1, bytes = 0;
  for (uint32_t i = 0; i < t->dim_count; ++i) elements *= (double)sizes[i];
  for (uint32_t i = 0; i < fusion->output_count; ++i) {
    bytes += elements * (double)hlo_dtype_size_bytes(fusion->outputs[i]->type->dtype);
  }
  return bytes <= (double)t->kernel->target->tile.memories[1].capacity_bytes ? 0 : -1;
}

static hlo_status_t count_tilings(tilings_t* t, hlo_arena_t* scratch, hlo_strbuf_t* out) {
  hlo_tile_system_t* s = hlo_tile_system_create(scratch, NULL, &t->kernel->target->tile);
  if (!s) return hlo_arena_status(scratch);
  hlo_tile_var_t sizes[HLO_TILE_MAX_COST_SIZES];
  for (uint32_t i = 0; i < t->dim_count; ++i) {
    sizes[i] = hlo_tile_system_size(s, "tile", t->dims[i].size_count, t->dims[i].sizes);
  }
  hlo_tile_system_cost(s, "results in the first cache", t->dim_count, sizes, check_cache, t);
  HLO_TRY(hlo_tile_system_each(s, HLO_TUNING_TILINGS_FUEL, count_tiling, t));
  hlo_strbuf_printf(out, "  %" PRIu64 " tilings whose results stay in the first cache\n", t->count);
  return hlo_ok();
}

hlo_status_t hlo_kernel_print_tilings(const hlo_kernel_t* kernel, hlo_strbuf_t* out) {
  hlo_arena_t scratch;
  hlo_arena_init(&scratch, 0);
  tilings_t t = {.kernel = kernel};
  find_dims(&t);
  print_dims(&t, out);
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < kernel->segment_count && hlo_status_is_ok(status); ++i) {
    status = print_piece(&t, i, &scratch, out);
  }
  const hlo_kernel_form_t* form = hlo_kernel_form_of(kernel);
  if (hlo_status_is_ok(status) && form) {
    status = form->print_tiles(kernel, out);
  } else if (hlo_status_is_ok(status) && t.dim_count <= HLO_TILE_MAX_COST_SIZES) {
    status = count_tilings(&t, &scratch, out);
  }
  hlo_arena_deinit(&scratch);
  return status;
}
