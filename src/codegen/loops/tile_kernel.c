// SPDX-License-Identifier: Apache-2.0
// Builds Tile IR from the walk of a fusion (see tile_kernel.h): every instance goes into the
// outermost loop inside all loops that it depends on. The body of a reduction has the instances
// that depend on its loops.
#include "codegen/loops/tile_kernel.h"

#include <string.h>

#include "codegen/loops/kernel_impl.h"
#include "codegen/tiles/lower.h"
#include "ir/reducer.h"

enum { MAX_LEVELS = 48, PRODUCT_DEPTH = 16 };

/// A block that takes operations, and the loops around it.
typedef struct level {
  hlo_tile_block_t* block;
  uint64_t loops;
} level_t;

typedef struct lowering {
  const hlo_kernel_t* kernel;
  const hlo_tiling_t* tiling;
  hlo_tile_kernel_t* tile;
  const char* refusal;
  hlo_tile_op_t** made;  // indexed by instance number
  uint32_t level_count;
  level_t levels[MAX_LEVELS];
} lowering_t;

static hlo_tile_op_t* lower_instance(lowering_t* l, const hlo_tiled_t* tiled);

static hlo_tile_op_t* refuse_tile(lowering_t* l, const char* why) {
  if (!l->refusal) l->refusal = why;
  return NULL;
}

// ---- expressions

static const hlo_expr_t* replace_atom(void* context, const hlo_expr_atom_t* atom) {
  lowering_t* l = context;
  hlo_expr_space_t* exprs = &l->tile->exprs;
  if (atom->kind == HLO_EXPR_LOOP) {
    return hlo_expr_loop(exprs, atom->number, atom->low, atom->high + 1);
  }
  hlo_tile_op_t* op = lower_instance(l, l->tiling->instances[atom->number]);
  return op ? hlo_tile_value_expr(l->tile, op, atom->low, atom->high) : hlo_expr_const(exprs, 0);
}

static const hlo_expr_t* lower_expr(lowering_t* l, const hlo_expr_t* expr) {
  return hlo_expr_rewrite(&l->tile->exprs, expr, replace_atom, l);
}

// ---- operations

static bool is_visible(const lowering_t* l, const hlo_tile_op_t* op) {
  for (uint32_t i = 0; i < l->level_count; ++i) {
    if (l->levels[i].block == op->block) return true;
  }
  return false;
}

static hlo_tile_map_t map_of(const hlo_node_t* node) {
  hlo_tile_map_t map = {.op = node->op};
  if (node->op == HLO_OP_compare) {
    map.direction = hlo_node_attr_int(node, HLO_ATTR_comparison_direction, 0);
    map.is_total_order =
        hlo_node_attr_int(node, HLO_ATTR_compare_type, HLO_COMPARISON_TYPE_NOTYPE) ==
        HLO_COMPARISON_TYPE_TOTALORDER;
  }
  return map;
}

static bool runs_over_lanes(const hlo_kernel_t* kernel, const hlo_tiled_t* tiled) {
  return hlo_kernel_has_lanes(kernel) && tiled->loops >> kernel->loops[kernel->loop_count - 1] & 1;
}

// Lists the loops of a reduction; the last one in tiles if the lanes run along it.
static void reduce_loops(const lowering_t* l, const hlo_tiled_t* tiled, hlo_tile_op_t* fields) {
  const hlo_tiled_space_t* space = &l->tiling->spaces[tiled->reduction];
  for (uint32_t i = 0; i < space->loop_count; ++i) {
    if (space->extents[i] == 1 && space->loop_count > 1) continue;
    if (fields->loop_count == HLO_TILE_MAX_REDUCE_LOOPS) return;
    fields->loops[fields->loop_count++] =
        (hlo_tile_loop_t){.iv = space->first_loop + i, .end = space->extents[i], .step = 1};
  }
  if (fields->loop_count == 0) {
    fields->loops[fields->loop_count++] =
        (hlo_tile_loop_t){.iv = space->first_loop, .end = 1, .step = 1};
  }
  hlo_tile_loop_t* last = &fields->loops[fields->loop_count - 1];
  if (hlo_kernel_form_of(l->kernel)) {
    last->step = PRODUCT_DEPTH;
  } else if (!runs_over_lanes(l->kernel, tiled)) {
    last->step = l->kernel->lanes;
  }
}

static bool set_reducers(lowering_t* l, const hlo_tiled_t* tiled, hlo_tile_op_t* fields) {
  const hlo_node_t* node = tiled->value->def;
  hlo_op_t arg = hlo_reduce_arg_op(node);
  if (arg != HLO_OP_COUNT) {
    fields->is_arg = true;
    fields->reducers[fields->reducer_count++] = arg;
    return true;
  }
  uint32_t results = hlo_tiled_result_count(tiled);
  if (results > HLO_TILE_MAX_OPERANDS / 2)
    return refuse_tile(l, "a reduction has too many results");
  for (uint32_t i = 0; i < results; ++i) {
    fields->reducers[fields->reducer_count++] = hlo_tiled_reducer(node, i);
  }
  return true;
}

// The reduction is in the block of the current level; its body does not see deeper levels.
static hlo_tile_op_t* lower_reduce(lowering_t* l, const hlo_tiled_t* tiled, hlo_tile_op_t* fields) {
  uint32_t results = hlo_tiled_result_count(tiled), depth = l->level_count;
  if (depth == MAX_LEVELS) return refuse_tile(l, "too many loops");
  if (!set_reducers(l, tiled, fields)) return NULL;
  for (uint32_t i = 0; results + i < tiled->operand_count; ++i) {
    fields->operands[fields->operand_count++] = lower_instance(l, tiled->operands[results + i]);
  }
  reduce_loops(l, tiled, fields);
  hlo_tile_op_t* op = hlo_tile_begin(l->tile, l->levels[depth - 1].block, fields);
  if (!op) return refuse_tile(l, "memory");
  const hlo_tiled_space_t* space = &l->tiling->spaces[tiled->reduction];
  l->levels[l->level_count++] =
      (level_t){&op->body, l->levels[depth - 1].loops | hlo_tiled_space_mask(space)};
  hlo_tile_op_t yield = {.kind = HLO_TILE_OP_yield, .operand_count = results};
  for (uint32_t i = 0; i < results; ++i) {
    if (!(yield.operands[i] = lower_instance(l, tiled->operands[i]))) return NULL;
  }
  hlo_tile_append(l->tile, &op->body, &yield);
  l->level_count = depth;
  hlo_tile_end(l->tile, op);
  return op;
}

static hlo_tile_op_t* lower_in_block(lowering_t* l, const hlo_tiled_t* tiled) {
  static const hlo_tile_op_kind_t kinds[] = {
      [HLO_TILED_LOAD] = HLO_TILE_OP_load,     [HLO_TILED_CONSTANT] = HLO_TILE_OP_constant,
      [HLO_TILED_INDEX] = HLO_TILE_OP_index,   [HLO_TILED_COMPUTE] = HLO_TILE_OP_map,
      [HLO_TILED_REDUCE] = HLO_TILE_OP_reduce, [HLO_TILED_PRODUCT] = HLO_TILE_OP_product,
      [HLO_TILED_RESULT] = HLO_TILE_OP_result, [HLO_TILED_MASK] = HLO_TILE_OP_guard,
  };
  if (tiled->kind >= sizeof kinds / sizeof *kinds || tiled->kind == HLO_TILED_DOT) {
    return refuse_tile(l, "an instance has no operation on tiles");
  }
  hlo_tile_op_t fields = {.kind = kinds[tiled->kind],
                          .dtype = tiled->value->type->dtype,
                          .buffer = tiled->input,
                          .low = tiled->low,
                          .end = tiled->end};
  const hlo_node_t* node = tiled->value->def;
  if (tiled->kind == HLO_TILED_REDUCE) {
    if (node->region_count == 0) fields.dtype = hlo_tiled_sum_dtype(node);
    return lower_reduce(l, tiled, &fields);
  }
  if (tiled->kind == HLO_TILED_PRODUCT) fields.dtype = hlo_tiled_sum_dtype(node);
  if (tiled->kind == HLO_TILED_COMPUTE) fields.map = map_of(node);
  if (tiled->kind == HLO_TILED_RESULT) fields.result = tiled->value->number;
  if (tiled->kind == HLO_TILED_CONSTANT && node && node->op == HLO_OP_constant) {
    const hlo_literal_t* literal = hlo_node_attr(node, HLO_ATTR_value)->literal;
    memcpy(fields.element, literal->data, hlo_dtype_size_bytes(fields.dtype));
  }
  for (uint32_t i = 0; i < tiled->operand_count; ++i) {
    if (!(fields.operands[fields.operand_count++] = lower_instance(l, tiled->operands[i])))
      return NULL;
  }
  if (tiled->offset) fields.offset = lower_expr(l, tiled->offset);
  return hlo_tile_append(l->tile, l->levels[l->level_count - 1].block, &fields);
}

// Rounds the sum of a product to the type of the result.
static hlo_tile_op_t* round_sum(lowering_t* l, const hlo_tiled_t* tiled, hlo_tile_op_t* sum) {
  hlo_dtype_t dtype = tiled->value->type->dtype;
  if (!sum || tiled->kind != HLO_TILED_REDUCE || sum->dtype == dtype) return sum;
  hlo_tile_op_t fields = {.kind = HLO_TILE_OP_map,
                          .dtype = dtype,
                          .map = {.op = HLO_OP_convert},
                          .operand_count = 1,
                          .operands = {sum}};
  return hlo_tile_append(l->tile, l->levels[l->level_count - 1].block, &fields);
}

// Returns the instance's value, computed in the outermost block where all its operands are known.
static hlo_tile_op_t* lower_instance(lowering_t* l, const hlo_tiled_t* tiled) {
  hlo_tile_op_t* made = l->made[tiled->number];
  if (made && is_visible(l, made)) return made;
  uint32_t depth = l->level_count, at = 1;
  while (at < depth && (tiled->loops & ~l->levels[at - 1].loops)) ++at;
  level_t saved[MAX_LEVELS];
  memcpy(saved, l->levels, sizeof saved);
  l->level_count = at;
  hlo_tile_op_t* op = round_sum(l, tiled, lower_in_block(l, tiled));
  memcpy(l->levels, saved, sizeof saved);
  l->level_count = depth;
  if (!op) return refuse_tile(l, "memory");
  return l->made[tiled->number] = op;
}

// ---- loops of the output

static int64_t tile_step(const hlo_kernel_t* kernel, uint32_t loop) {
  hlo_kernel_shape_t shape = {.tile_loops = {-1, -1}};
  const hlo_kernel_form_t* form = hlo_kernel_form_of(kernel);
  if (form) form->describe(kernel, &shape);
  for (uint32_t i = 0; i < 2; ++i) {
    if (shape.tile_loops[i] == (int32_t)loop) return shape.tile_steps[i];
  }
  bool is_lanes = hlo_kernel_has_lanes(kernel) && kernel->loops[kernel->loop_count - 1] == loop;
  return is_lanes ? kernel->lanes : 1;
}

// Returns the loops of the output in the order of execution.
static uint32_t loop_order(const lowering_t* l, uint32_t* out_loops) {
  const hlo_kernel_t* kernel = l->kernel;
  if (!hlo_kernel_form_of(kernel)) {
    uint32_t count = kernel->loop_count;
    memcpy(out_loops, kernel->loops, count * sizeof *out_loops);
    if (kernel->kind != HLO_KERNEL_INTERLEAVED) return count;
    out_loops[count] = out_loops[count - 1];  // the lanes are the innermost loop
    out_loops[count - 1] = kernel->interleaved_loop;
    return count + 1;
  }
  const hlo_tiled_space_t* space = &l->tiling->spaces[0];
  uint32_t count = 0;
  for (uint32_t i = 0; i < space->loop_count; ++i) {
    if (space->extents[i] > 1) out_loops[count++] = i;
  }
  return count;
}

// Computes all values first: an output may share the memory of an input that another output reads.
static bool lower_stores(lowering_t* l) {
  const hlo_fusion_t* fusion = l->kernel->fusion;
  for (uint32_t i = 0; i < fusion->output_count; ++i) {
    if (!lower_instance(l, l->tiling->outputs[i])) return false;
    lower_expr(l, l->tiling->output_offsets[i]);
  }
  for (uint32_t i = 0; i < fusion->output_count; ++i) {
    hlo_tile_op_t fields = {.kind = HLO_TILE_OP_store,
                            .buffer = fusion->input_count + i,
                            .operand_count = 1,
                            .operands = {lower_instance(l, l->tiling->outputs[i])},
                            .offset = lower_expr(l, l->tiling->output_offsets[i])};
    hlo_tile_append(l->tile, l->levels[l->level_count - 1].block, &fields);
  }
  return !l->refusal;
}

static bool lower_loops(lowering_t* l, const uint32_t* loops, uint32_t count) {
  hlo_tile_op_t* tile_loops[HLO_TILED_MAX_LOOPS];
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_tiled_loop_t* loop = &l->tiling->loops[loops[i]];
    bool is_parallel = l->kernel->chunk_count > 1 && (i == 0 || hlo_kernel_form_of(l->kernel));
    hlo_tile_op_t fields = {.kind = is_parallel ? HLO_TILE_OP_parallel : HLO_TILE_OP_for,
                            .loop_count = 1,
                            .loops = {{.iv = loops[i],
                                       .low = loop->low,
                                       .end = loop->end,
                                       .step = tile_step(l->kernel, loops[i])}}};
    level_t* level = &l->levels[l->level_count - 1];
    tile_loops[i] = hlo_tile_begin(l->tile, level->block, &fields);
    if (!tile_loops[i]) return refuse_tile(l, "memory");
    l->levels[l->level_count++] =
        (level_t){&tile_loops[i]->body, level->loops | (uint64_t)1 << loops[i]};
  }
  bool is_done = lower_stores(l);
  for (uint32_t i = count; i-- > 0;) hlo_tile_end(l->tile, tile_loops[i]);
  l->level_count = 1;
  return is_done;
}

// ---- kernels

static hlo_status_t walk_segment(const hlo_kernel_t* kernel, const hlo_kernel_segment_t* segment,
                                 hlo_arena_t* arena, hlo_tiling_t** out_tiling) {
  if (!hlo_kernel_form_of(kernel)) return hlo_kernel_walk(kernel, arena, segment, out_tiling);
  // Expands a product into sums over loops, seen from its result.
  hlo_tiling_t* tiling;
  HLO_TRY(hlo_tiling_create(kernel->fusion, arena, &tiling));
  tiling->expands_products = true;
  tiling->space_count = 1;
  tiling->spaces[0] = kernel->spaces[0];
  *out_tiling = tiling;
  return hlo_tiling_walk(tiling, *segment, true);
}

static hlo_status_t lower_segment(const hlo_kernel_t* kernel, const hlo_kernel_segment_t* segment,
                                  hlo_tile_kernel_t* tile, hlo_arena_t* scratch) {
  hlo_tiling_t* tiling;
  HLO_TRY(walk_segment(kernel, segment, scratch, &tiling));
  lowering_t lowering = {.kernel = kernel, .tile = tile, .tiling = tiling};
  lowering.made = hlo_arena_array(scratch, tiling->instance_count + 1, sizeof *lowering.made);
  HLO_TRY(hlo_arena_status(scratch));
  uint32_t loops[HLO_TILED_MAX_LOOPS], count = loop_order(&lowering, loops);
  uint64_t outer = 0;
  for (uint32_t i = 0; i < count; ++i) outer |= (uint64_t)1 << loops[i];
  // Loops with a single value are not emitted; their value is known in every block.
  uint64_t fixed = hlo_tiled_space_mask(&tiling->spaces[0]) & ~outer;
  lowering.levels[lowering.level_count++] = (level_t){&tile->body, fixed};
  if (hlo_verdict_is_no(&tiling->verdict)) {
    return hlo_verdict_error(&tiling->verdict, HLO_STATUS_UNIMPLEMENTED, kernel->fusion->index);
  }
  if (count + 1 >= MAX_LEVELS) refuse_tile(&lowering, "too many loops");
  if (!lowering.refusal) lower_loops(&lowering, loops, count);
  if (tile->exprs.is_exceeded) refuse_tile(&lowering, "its index expressions are too long");
  HLO_TRY(hlo_arena_status(tile->arena));
  return lowering.refusal ? hlo_status_create(HLO_STATUS_UNIMPLEMENTED, "fusion %u as tiles: %s",
                                              kernel->fusion->index, lowering.refusal)
                          : hlo_ok();
}

static hlo_tile_kernel_t* create_tile_kernel(const hlo_kernel_t* kernel, hlo_arena_t* arena) {
  const hlo_fusion_t* fusion = kernel->fusion;
  uint32_t count = fusion->input_count + fusion->output_count;
  hlo_tile_buffer_t* buffers = hlo_arena_array(arena, count + 1, sizeof *buffers);
  const char* name = hlo_arena_printf(arena, "fusion%u", fusion->index);
  if (!buffers || !name) return NULL;
  for (uint32_t i = 0; i < count; ++i) {
    bool is_output = i >= fusion->input_count;
    const hlo_value_t* value =
        is_output ? fusion->outputs[i - fusion->input_count] : fusion->inputs[i];
    buffers[i] = (hlo_tile_buffer_t){.dtype = value->type->dtype,
                                     .element_count = hlo_type_element_count(value->type),
                                     .is_output = is_output};
  }
  return hlo_tile_kernel_create(arena, name, count, buffers);
}

hlo_status_t hlo_kernel_to_tile(const hlo_kernel_t* kernel, hlo_arena_t* arena,
                                hlo_tile_kernel_t** out_tile) {
  if (kernel->fusion->extra_output_count) {
    return hlo_status_create(HLO_STATUS_UNIMPLEMENTED,
                             "fusion %u as tiles: its outputs have several sizes",
                             kernel->fusion->index);
  }
  hlo_tile_kernel_t* tile = create_tile_kernel(kernel, arena);
  HLO_TRY(hlo_arena_status(arena));
  hlo_arena_t scratch;
  hlo_arena_init(&scratch, 0);
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < kernel->segment_count && hlo_status_is_ok(status); ++i) {
    status = lower_segment(kernel, &kernel->segments[i], tile, &scratch);
  }
  hlo_arena_deinit(&scratch);
  HLO_TRY(status);
  HLO_TRY(hlo_tile_kernel_renumber(tile));
  HLO_TRY(hlo_tile_kernel_verify(tile));
  *out_tile = tile;
  return hlo_ok();
}

// The chosen loops read all inputs of an iteration before they write; tiles do not.
static void share_no_tiles(const hlo_kernel_t* kernel) {
  bool is_one_iteration = kernel->loop_count == 0 || hlo_kernel_has(kernel, HLO_KERNEL_WHOLE);
  if (!is_one_iteration && !hlo_kernel_kinds[kernel->kind].reads_first) return;
  memset(kernel->shareable, 0, kernel->fusion->output_count * sizeof *kernel->shareable);
}

void hlo_kernel_run_as_tile(hlo_kernel_t* kernel, const hlo_tile_kernel_t* tile) {
  kernel->tile = tile;
  share_no_tiles(kernel);
}

hlo_status_t hlo_kernel_lower_tile(hlo_kernel_t* kernel, const hlo_tile_kernel_t* tile) {
  const bool is_split = kernel->cut == HLO_KERNEL_CUT_REDUCTION && kernel->chunk_count > 1;
  if (hlo_kernel_form_of(kernel) || is_split || kernel->summary.phase_count > 1) {
    return hlo_unimplemented("fusion %u from tiles: its loops have phases, or are a form's",
                             kernel->fusion->index);
  }
  HLO_TRY(hlo_tile_check_lowering(tile, kernel->target));
  kernel->lowered = tile;
  share_no_tiles(kernel);
  return hlo_ok();
}

void hlo_kernel_emit_tile(const hlo_kernel_t* kernel, hlo_vir_builder_t* b,
                          hlo_vir_value_t* const* addresses, hlo_vir_value_t* chunk) {
  hlo_tile_cut_t cut = {0};
  if (chunk && kernel->cut == HLO_KERNEL_CUT_TWO_LOOPS) {
    hlo_vir_value_t* parts = hlo_vir_iconst(b, (int64_t)kernel->parts_per_outer);
    cut.count = 2;
    cut.loops[0].chunk = hlo_vir_index(b, HLO_VIR_idiv, chunk, parts);
    cut.loops[0].size = 1;
    cut.loops[1].chunk = hlo_vir_index(b, HLO_VIR_irem, chunk, parts);
    cut.loops[1].size = kernel->chunk_size;
  } else if (chunk) {
    cut.count = 1;
    cut.loops[0].chunk = chunk;
    cut.loops[0].size = kernel->chunk_size;
  }
  for (uint32_t i = 0; i < cut.count; ++i) cut.loops[i].iv = kernel->loops[i];
  hlo_tile_emit(kernel->lowered, kernel->target, &cut, NULL, b, addresses);
}

const hlo_tile_kernel_t* hlo_kernel_tile(const hlo_kernel_t* kernel) {
  return kernel->tile;
}
