// SPDX-License-Identifier: Apache-2.0
// Verifies that Tile IR is well formed (see ir.h): one function per group of rules.
#include <inttypes.h>

#include "tile/ir_impl.h"

typedef struct verifier {
  const hlo_tile_kernel_t* kernel;
  const hlo_tile_op_t** values;  // by number
} verifier_t;

static const char* const RULES[HLO_TILE_RULE_COUNT] = {
#define HLO_TILE_RULE(id, text) [HLO_TILE_RULE_##id] = text,
#include "tile/ir_rules.def"
#undef HLO_TILE_RULE
};

static hlo_status_t wrong(const hlo_tile_op_t* op, hlo_tile_rule_t rule) {
  HLO_SCOPED_STRBUF name = {0};
  hlo_tile_op_format(op, &name);
  return hlo_invalid_argument("%s: %s", hlo_strbuf_text(&name), RULES[rule]);
}

#define CHECK(op, condition, rule) \
  if (!(condition)) return wrong(op, HLO_TILE_RULE_##rule)

// Returns true if a value is defined where `block` can use it.
static bool is_visible(const hlo_tile_op_t* value, const hlo_tile_block_t* block) {
  for (; block; block = block->parent ? block->parent->block : NULL) {
    if (value->block == block) return true;
  }
  return false;
}

static hlo_status_t check_expr(const verifier_t* v, const hlo_tile_op_t* op, const hlo_expr_t* expr,
                               uint64_t ivs) {
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    const hlo_expr_atom_t* atom = expr->terms[i].atom;
    if (atom->kind == HLO_EXPR_LOOP) {
      CHECK(op, ivs >> atom->number & 1, INDEX_IV);
    } else if (atom->kind == HLO_EXPR_VALUE) {
      const hlo_tile_op_t* value =
          atom->number < v->kernel->value_count ? v->values[atom->number] : NULL;
      CHECK(op, value && is_visible(value, op->block), INDEX_VISIBLE);
      CHECK(op, hlo_tile_op_has_value(value) && hlo_dtype_is_integer(value->dtype), INDEX_TYPE);
    } else {
      HLO_TRY(check_expr(v, op, atom->argument, ivs));
    }
  }
  return hlo_ok();
}

static hlo_status_t check_schedule(const hlo_tile_op_t* op, const hlo_tile_loop_t* loop) {
  const hlo_tile_schedule_t* schedule = &loop->schedule;
  for (uint32_t i = 0; i < HLO_TILE_SCHEDULE_COUNT; ++i) {
    CHECK(op, hlo_tile_schedule_get(schedule, i) >= 0, SCHEDULE_NUMBER);
  }
  CHECK(op, !schedule->chunk || op->kind == HLO_TILE_OP_parallel, SCHEDULE_CHUNK);
  CHECK(op, !schedule->stages || op->kind != HLO_TILE_OP_parallel, SCHEDULE_STAGES);
  if (!schedule->lanes) return hlo_ok();
  int64_t extent = loop->end - loop->low, tile = loop->step < extent ? loop->step : extent;
  CHECK(op, tile % schedule->lanes == 0, SCHEDULE_LANES);
  const hlo_tile_loop_t* around[HLO_TILE_MAX_DEPTH];
  uint32_t count = hlo_tile_block_loops(op->block, around);
  for (uint32_t i = 0; i < count; ++i) CHECK(op, !around[i]->schedule.lanes, SCHEDULE_LANES_TWICE);
  for (uint32_t i = 0; i < op->loop_count; ++i) {
    CHECK(op, &op->loops[i] == loop || !op->loops[i].schedule.lanes, SCHEDULE_LANES_TWICE);
  }
  return hlo_ok();
}

static hlo_status_t check_loops(const hlo_tile_op_t* op) {
  const hlo_tile_loop_t* around[HLO_TILE_MAX_DEPTH];
  uint32_t count = hlo_tile_block_loops(op->block, around);
  CHECK(op, op->kind == HLO_TILE_OP_reduce ? op->loop_count > 0 : op->loop_count == 1, LOOP_COUNT);
  CHECK(op, count + op->loop_count < HLO_TILE_MAX_DEPTH, LOOP_DEPTH);
  for (uint32_t i = 0; i < op->loop_count; ++i) {
    const hlo_tile_loop_t* loop = &op->loops[i];
    CHECK(op, loop->iv < HLO_EXPR_MAX_LOOPS && loop->step > 0 && loop->low < loop->end, LOOP_STEPS);
    for (uint32_t k = 0; k < count; ++k) CHECK(op, around[k]->iv != loop->iv, LOOP_AROUND);
    for (uint32_t k = 0; k < i; ++k) CHECK(op, op->loops[k].iv != loop->iv, LOOP_TWICE);
    HLO_TRY(check_schedule(op, loop));
  }
  return hlo_ok();
}

// ---- the rules of each operation

static hlo_status_t check_memory(const verifier_t* v, const hlo_tile_op_t* op) {
  CHECK(op, op->buffer < v->kernel->buffer_count, BUFFER);
  const hlo_tile_buffer_t* buffer = &v->kernel->buffers[op->buffer];
  bool is_load = op->kind == HLO_TILE_OP_load;
  CHECK(op, (is_load ? op->dtype : op->operands[0]->dtype) == buffer->dtype, BUFFER_TYPE);
  CHECK(op, is_load || buffer->is_output, BUFFER_OUTPUT);
  CHECK(op, op->alias < HLO_TILE_MAX_ALIASES, ALIAS);
  return hlo_ok();
}

static hlo_status_t check_map(HLO_UNUSED const verifier_t* v, const hlo_tile_op_t* op) {
  CHECK(op, op->operand_count > 0, MAP_OPERANDS);
  return hlo_ok();
}

static hlo_status_t check_guard(HLO_UNUSED const verifier_t* v, const hlo_tile_op_t* op) {
  CHECK(op, op->operands[0]->dtype == op->dtype && op->operands[1]->dtype == op->dtype, GUARD_TYPE);
  return hlo_ok();
}

static hlo_status_t check_relayout(HLO_UNUSED const verifier_t* v, const hlo_tile_op_t* op) {
  CHECK(op, op->operands[0]->dtype == op->dtype, RELAYOUT_TYPE);
  return hlo_ok();
}

// Checks that a region ends by yielding the operation's values, in the types of `like` if given.
static hlo_status_t check_yield_of(const hlo_tile_op_t* op, const hlo_tile_block_t* region,
                                   hlo_tile_op_t* const* like) {
  const hlo_tile_op_t* yield = hlo_tile_block_yield(region);
  CHECK(op, yield, YIELD_MISSING);
  uint32_t count = hlo_tile_result_count(op);
  CHECK(op, yield->operand_count == count && count > 0, YIELD_COUNT);
  CHECK(op, yield->operands[0]->dtype == op->dtype, YIELD_TYPE);
  for (uint32_t i = 0; like && i < count; ++i) {
    CHECK(op, yield->operands[i]->dtype == like[i]->dtype, YIELD_TYPE);
  }
  return hlo_ok();
}

static hlo_status_t check_reduce(HLO_UNUSED const verifier_t* v, const hlo_tile_op_t* op) {
  CHECK(op, op->reducer_count > 0, REDUCE_HOW);
  CHECK(op, !op->is_arg || op->reducer_count == 1, REDUCE_ARG);
  HLO_TRY(check_yield_of(op, &op->body, NULL));
  uint32_t results = hlo_tile_result_count(op);
  CHECK(op, op->operand_count == 0 || op->operand_count == results, INITIAL_COUNT);
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    CHECK(op, op->operands[i]->dtype == hlo_tile_op_yield(op)->operands[i]->dtype, INITIAL_TYPE);
  }
  return hlo_ok();
}

static hlo_status_t check_for(HLO_UNUSED const verifier_t* v, const hlo_tile_op_t* op) {
  CHECK(op, hlo_tile_op_has_result(op) == (op->operand_count > 0), CARRY_VALUES);
  if (!op->operand_count) return hlo_ok();
  const hlo_tile_loop_t* loop = &op->loops[0];
  CHECK(op, loop->step == 1 || loop->end - loop->low == 1, CARRY_STEP);
  return check_yield_of(op, &op->body, op->operands);
}

static hlo_status_t check_while(HLO_UNUSED const verifier_t* v, const hlo_tile_op_t* op) {
  CHECK(op, op->operand_count > 0, CARRY_VALUES);
  const hlo_tile_op_t* condition = hlo_tile_block_yield(&op->body);
  CHECK(op, condition, YIELD_MISSING);
  CHECK(op, condition->operand_count == 1 && condition->operands[0]->dtype == HLO_DTYPE_PRED,
        CONDITION);
  return check_yield_of(op, op->body.next, op->operands);
}

static hlo_status_t check_switch(HLO_UNUSED const verifier_t* v, const hlo_tile_op_t* op) {
  CHECK(op, hlo_dtype_is_integer(op->operands[0]->dtype), SWITCH_INDEX);
  if (!hlo_tile_op_has_result(op)) return hlo_ok();
  const hlo_tile_op_t* last = hlo_tile_op_yield(op);
  CHECK(op, last, YIELD_MISSING);
  for (const hlo_tile_block_t* region = &op->body; region; region = region->next) {
    HLO_TRY(check_yield_of(op, region, last->operands));
  }
  return hlo_ok();
}

static hlo_status_t check_result(HLO_UNUSED const verifier_t* v, const hlo_tile_op_t* op) {
  const hlo_tile_op_t* of = op->operands[0];
  CHECK(op, hlo_tile_op_has_regions(of->kind), RESULT_OF);
  CHECK(op, op->result < hlo_tile_result_count(of), RESULT_NUMBER);
  CHECK(op, hlo_tile_op_yield(of)->operands[op->result]->dtype == op->dtype, RESULT_TYPE);
  return hlo_ok();
}

static hlo_status_t check_argument(HLO_UNUSED const verifier_t* v, const hlo_tile_op_t* op) {
  const hlo_tile_op_t* of = op->block->parent;
  CHECK(op, of && hlo_tile_op_carries(of->kind) && of->operand_count, ARGUMENT_OF);
  CHECK(op, op->result < of->operand_count, ARGUMENT_NUMBER);
  CHECK(op, of->operands[op->result]->dtype == op->dtype, ARGUMENT_TYPE);
  return hlo_ok();
}

static hlo_status_t check_yield(HLO_UNUSED const verifier_t* v, const hlo_tile_op_t* op) {
  const hlo_tile_op_t* of = op->block->parent;
  CHECK(op, of && hlo_tile_op_has_result(of) && !op->next, YIELD_PLACE);
  return hlo_ok();
}

static hlo_status_t check_if(const verifier_t* v, const hlo_tile_op_t* op) {
  CHECK(op, op->operands[0]->dtype == HLO_DTYPE_PRED, CONDITION);
  const hlo_tile_block_t* second = op->body.next;
  CHECK(op, second ? !second->next : !hlo_tile_op_has_result(op), IF_REGIONS);
  if (!hlo_tile_op_has_result(op)) return hlo_ok();
  (void)v;
  CHECK(op, hlo_tile_block_yield(second), YIELD_MISSING);
  HLO_TRY(check_yield_of(op, second, NULL));
  return check_yield_of(op, &op->body, hlo_tile_block_yield(second)->operands);
}

static hlo_status_t check_program(HLO_UNUSED const verifier_t* v, const hlo_tile_op_t* op) {
  CHECK(op, hlo_tile_block_grid(op->block, op->dimension), GRID);
  CHECK(op, hlo_dtype_is_integer(op->dtype), PROGRAM_TYPE);
  return hlo_ok();
}

static hlo_status_t check_bitcast(HLO_UNUSED const verifier_t* v, const hlo_tile_op_t* op) {
  CHECK(op, hlo_dtype_info(op->dtype)->bits == hlo_dtype_info(op->operands[0]->dtype)->bits,
        BITCAST_TYPE);
  return hlo_ok();
}

typedef hlo_status_t (*check_fn_t)(const verifier_t* v, const hlo_tile_op_t* op);

// Operations without rules of their own are absent.
static const check_fn_t CHECKS[HLO_TILE_OP_KIND_COUNT] = {
    [HLO_TILE_OP_load] = check_memory,
    [HLO_TILE_OP_store] = check_memory,
    [HLO_TILE_OP_map] = check_map,
    [HLO_TILE_OP_guard] = check_guard,
    [HLO_TILE_OP_relayout] = check_relayout,
    [HLO_TILE_OP_reduce] = check_reduce,
    [HLO_TILE_OP_for] = check_for,
    [HLO_TILE_OP_while] = check_while,
    [HLO_TILE_OP_switch] = check_switch,
    [HLO_TILE_OP_result] = check_result,
    [HLO_TILE_OP_argument] = check_argument,
    [HLO_TILE_OP_yield] = check_yield,
    [HLO_TILE_OP_if] = check_if,
    [HLO_TILE_OP_program_id] = check_program,
    [HLO_TILE_OP_num_programs] = check_program,
    [HLO_TILE_OP_bitcast] = check_bitcast,
};

// ---- all of them

static hlo_status_t check_layout(const hlo_tile_op_t* op) {
  int64_t dims[HLO_TILE_MAX_DEPTH];
  uint32_t rank = hlo_tile_block_tile(op->block, dims, NULL);
  CHECK(op, op->layout->rank == rank, LAYOUT_RANK);
  for (uint32_t i = 0; i < rank; ++i) {
    if (op->layout->dims[i] == dims[i]) continue;
    HLO_SCOPED_STRBUF name = {0};
    hlo_tile_op_format(op, &name);
    return hlo_invalid_argument("%s: %s: dimension %u has %" PRId64 " elements, the tile %" PRId64,
                                hlo_strbuf_text(&name), RULES[HLO_TILE_RULE_LAYOUT_SHAPE], i,
                                op->layout->dims[i], dims[i]);
  }
  return hlo_ok();
}

// Which operands are references, and that nothing else is.
static hlo_status_t check_refs(const hlo_tile_op_t* op) {
  uint32_t refs = hlo_tile_op_ref_operands(op->kind);
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    bool is_ref = hlo_tile_op_is_ref(op->operands[i]);
    CHECK(op, is_ref || i >= refs, REF_OPERAND);
    CHECK(op, !is_ref || i < refs, VALUE_OPERAND);
  }
  return hlo_ok();
}

static hlo_status_t check_operands(const verifier_t* v, const hlo_tile_op_t* op) {
  int32_t count = hlo_tile_op_infos[op->kind].operand_count;
  CHECK(op, count < 0 || op->operand_count == (uint32_t)count, OPERAND_COUNT);
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    const hlo_tile_op_t* operand = op->operands[i];
    CHECK(op,
          hlo_tile_op_has_result(operand) && v->values[operand->number] == operand &&
              is_visible(operand, op->block),
          OPERAND_VISIBLE);
  }
  return check_refs(op);
}

static hlo_status_t check_op(verifier_t* v, const hlo_tile_op_t* op);

static hlo_status_t check_regions(verifier_t* v, const hlo_tile_op_t* op) {
  int32_t expected = hlo_tile_op_infos[op->kind].region_count, count = 0;
  if (expected == 0) return hlo_ok();
  for (const hlo_tile_block_t* region = &op->body; region; region = region->next) {
    for (const hlo_tile_op_t* inner = region->first; inner; inner = inner->next) {
      HLO_TRY(check_op(v, inner));
    }
    ++count;
  }
  CHECK(op, expected < 0 || count == expected, REGION_COUNT);
  return hlo_ok();
}

static hlo_status_t check_op(verifier_t* v, const hlo_tile_op_t* op) {
  HLO_TRY(check_operands(v, op));
  if (hlo_tile_op_has_offset(op->kind)) {
    HLO_TRY(check_expr(v, op, op->offset, hlo_tile_block_ivs(op->block)));
  }
  for (uint32_t i = 0; i < op->index_count; ++i) {
    HLO_TRY(check_expr(v, op, op->indices[i], hlo_tile_block_ivs(op->block)));
  }
  if (hlo_tile_op_has_loops(op->kind)) HLO_TRY(check_loops(op));
  HLO_TRY(check_regions(v, op));
  if (CHECKS[op->kind]) HLO_TRY(CHECKS[op->kind](v, op));
  hlo_tile_rule_t broken = hlo_tile_memory_rule(v->kernel, op);
  if (broken != HLO_TILE_RULE_COUNT) return wrong(op, broken);
  if (op->layout && !hlo_tile_op_is_ref(op)) HLO_TRY(check_layout(op));
  if (hlo_tile_op_has_result(op)) v->values[op->number] = op;
  return hlo_ok();
}

static hlo_status_t check_buffer(const hlo_tile_kernel_t* kernel, uint32_t number) {
  const hlo_tile_buffer_t* buffer = &kernel->buffers[number];
  hlo_tile_ref_t shape = hlo_tile_buffer_ref(buffer);
  hlo_tile_rule_t broken = HLO_TILE_RULE_COUNT;
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; ++i) count *= shape.dims[i];
  if (count != buffer->element_count) broken = HLO_TILE_RULE_BUFFER_SHAPE;
  if (buffer->is_prefetched && (buffer->is_output || !hlo_dtype_is_integer(buffer->dtype))) {
    broken = HLO_TILE_RULE_BUFFER_PREFETCH;
  }
  if (broken == HLO_TILE_RULE_COUNT) return hlo_ok();
  return hlo_invalid_argument("buffer %u: %s", number, RULES[broken]);
}

hlo_status_t hlo_tile_kernel_verify(const hlo_tile_kernel_t* kernel) {
  HLO_SCOPED_ARENA scratch = {0};
  verifier_t verifier = {.kernel = kernel};
  verifier.values = hlo_arena_array(&scratch, kernel->value_count + 1, sizeof *verifier.values);
  HLO_TRY(hlo_arena_status(&scratch));
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) HLO_TRY(check_buffer(kernel, i));
  for (const hlo_tile_op_t* op = kernel->body.first; op; op = op->next) {
    HLO_TRY(check_op(&verifier, op));
  }
  return hlo_ok();
}
