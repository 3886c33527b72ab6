// SPDX-License-Identifier: Apache-2.0
// Interprets Tile IR (see ir.h): the reference for what back ends make of it. A value is an array
// with one element per point of the tile at its block, the enclosing loops outermost first.
#include <inttypes.h>
#include <string.h>

#include "tile/ir_run_impl.h"

static const size_t MAX_RACE_BYTES = (size_t)1 << 30;

int64_t hlo_run_point_count(const hlo_tile_run_t* run) {
  int64_t count = 1;
  for (uint32_t i = 0; i < run->depth; ++i) count *= run->active[i].count;
  return count;
}

// ---- memory for values, as much as the largest tile needs

static int64_t most_points(const hlo_tile_block_t* block) {
  int64_t dims[HLO_TILE_MAX_DEPTH], count = 1;
  for (uint32_t i = hlo_tile_block_tile(block, dims, NULL); i-- > 0 && count < HLO_RUN_MAX_BYTES;) {
    count = dims[i] < HLO_RUN_MAX_BYTES ? count * dims[i] : HLO_RUN_MAX_BYTES;
  }
  return count < HLO_RUN_MAX_BYTES ? count : HLO_RUN_MAX_BYTES;
}

// Sums of narrow floats are rounded once, at the end.
static hlo_dtype_t sum_dtype(hlo_dtype_t dtype) {
  return hlo_dtype_is_float(dtype) && hlo_dtype_info(dtype)->bits < 32 ? HLO_DTYPE_F32 : dtype;
}

// The type in which results of an operation with regions are kept.
static hlo_dtype_t result_dtype(const hlo_tile_op_t* op, uint32_t number) {
  hlo_dtype_t dtype = hlo_tile_op_yield(op)->operands[number]->dtype;
  return op->kind == HLO_TILE_OP_reduce ? sum_dtype(dtype) : dtype;
}

static void make_value(hlo_tile_run_t* run, const hlo_tile_op_t* op, size_t points) {
  hlo_run_value_t* value = &run->values[op->number];
  value->op = op;
  value->data = hlo_arena_array(&run->arena, points, hlo_dtype_size_bytes(op->dtype));
  if (!hlo_tile_op_has_regions(op->kind)) return;
  uint32_t count = hlo_tile_result_count(op);
  value->results = hlo_arena_array(&run->arena, count, sizeof(void*));
  for (uint32_t i = 0; value->results && i < count; ++i) {
    size_t bytes = hlo_dtype_size_bytes(result_dtype(op, i));
    value->results[i] = hlo_arena_array(&run->arena, points, bytes);
  }
}

hlo_status_t hlo_run_make_values(hlo_tile_run_t* run, const hlo_tile_block_t* block) {
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) {
    const hlo_tile_block_t* region = hlo_tile_op_has_regions(op->kind) ? &op->body : NULL;
    for (; region; region = region->next) HLO_TRY(hlo_run_make_values(run, region));
    if (!hlo_tile_op_has_result(op)) continue;
    if (hlo_tile_op_is_ref(op)) {
      hlo_run_value_t* value = &run->values[op->number];
      *value = (hlo_run_value_t){.op = op};
      value->view = hlo_arena_alloc_zeroed(&run->arena, sizeof *value->view);
      continue;
    }
    size_t points = (size_t)most_points(op->block), values = 1;
    if (hlo_tile_op_has_regions(op->kind)) values += hlo_tile_result_count(op);
    if (run->arena.used_bytes + points * values * HLO_RUN_ELEMENT_BYTES > HLO_RUN_MAX_BYTES) {
      return hlo_resource_exhausted("tiles of %s are too large to be run", run->kernel->name);
    }
    make_value(run, op, points);
  }
  return hlo_arena_status(&run->arena);
}

bool hlo_run_is_on(const hlo_tile_run_t* run, int64_t point, int64_t count) {
  return !run->mask.is_on || run->mask.is_on[point / (count / run->mask.count)];
}

// ---- indices

const void* hlo_run_spread(hlo_tile_run_t* run, const hlo_tile_op_t* op, int64_t count) {
  const hlo_run_value_t* value = &run->values[op->number];
  if (value->count == count) return value->data;
  size_t bytes = hlo_dtype_size_bytes(op->dtype);
  uint8_t* all = hlo_arena_array(&run->scratch, (size_t)count, bytes);
  if (!all) return NULL;
  int64_t repeat = count / value->count;
  for (int64_t i = 0; i < count; ++i) {
    memcpy(all + (size_t)i * bytes, (const uint8_t*)value->data + (size_t)(i / repeat) * bytes,
           bytes);
  }
  return all;
}

// Adds the value of a loop variable at every point, times `factor`, to `sum`.
static void add_iv(const hlo_tile_run_t* run, uint32_t iv, int64_t factor, int64_t count,
                   int64_t* sum) {
  int64_t inner = count;
  for (uint32_t i = 0; i < run->depth; ++i) {
    const hlo_run_active_t* active = &run->active[i];
    inner /= active->count;
    if (active->iv != iv) continue;
    for (int64_t p = 0; p < count; ++p) {
      sum[p] += factor * (active->base + p / inner % active->count);
    }
    return;
  }
}

static void add_value(const hlo_tile_run_t* run, const hlo_expr_atom_t* atom, hlo_dtype_t dtype,
                      int64_t factor, int64_t count, int64_t* sum) {
  const hlo_run_value_t* value = &run->values[atom->number];
  size_t bytes = hlo_dtype_size_bytes(dtype);
  int64_t repeat = count / value->count;
  for (int64_t p = 0; p < count; ++p) {
    const uint8_t* element = (const uint8_t*)value->data + (size_t)(p / repeat) * bytes;
    int64_t number = hlo_dtype_load_int64(dtype, element);
    // Unsigned numbers that 63 bits cannot hold are large.
    if (number < 0 && hlo_dtype_is_unsigned(dtype)) number = atom->high;
    if (number < atom->low) number = atom->low;
    if (number > atom->high) number = atom->high;
    sum[p] += factor * number;
  }
}

static void add_atom(hlo_tile_run_t* run, const hlo_expr_term_t* term, int64_t count,
                     int64_t* sum) {
  const hlo_expr_atom_t* atom = term->atom;
  if (atom->kind == HLO_EXPR_LOOP) {
    add_iv(run, atom->number, term->coefficient, count, sum);
  } else if (atom->kind == HLO_EXPR_VALUE) {
    add_value(run, atom, run->values[atom->number].op->dtype, term->coefficient, count, sum);
  } else {
    const int64_t* argument = hlo_run_evaluate(run, atom->argument, count);
    for (int64_t p = 0; argument && p < count; ++p) {
      int64_t quotient = hlo_floor_div(argument[p], atom->divisor);
      int64_t number =
          atom->kind == HLO_EXPR_QUOTIENT ? quotient : argument[p] - quotient * atom->divisor;
      sum[p] += term->coefficient * number;
    }
  }
}

int64_t* hlo_run_evaluate(hlo_tile_run_t* run, const hlo_expr_t* expr, int64_t count) {
  int64_t* sum = hlo_arena_array(&run->scratch, (size_t)count, sizeof *sum);
  for (int64_t p = 0; sum && p < count; ++p) sum[p] = expr->constant;
  for (uint32_t i = 0; sum && i < expr->term_count; ++i) {
    add_atom(run, &expr->terms[i], count, sum);
  }
  return sum;
}

// ---- operations

// Elements outside the buffer are masked: they read as zeros.
static hlo_status_t load(hlo_tile_run_t* run, const hlo_tile_op_t* op, const int64_t* offsets,
                         int64_t count) {
  const hlo_tile_buffer_t* buffer = &run->kernel->buffers[op->buffer];
  size_t bytes = hlo_dtype_size_bytes(op->dtype);
  uint8_t* to = run->values[op->number].data;
  hlo_run_storage_t* storage = &run->buffers[op->buffer];
  for (int64_t p = 0; p < count; ++p, to += bytes) {
    if (offsets[p] < 0 || offsets[p] >= buffer->element_count) {
      memset(to, 0, bytes);
      continue;
    }
    memcpy(to, storage->data + (size_t)offsets[p] * bytes, bytes);
    if (storage->cells && hlo_run_is_on(run, p, count)) {
      HLO_TRY(hlo_run_note(run, storage, offsets[p], HLO_RACE_READ, op));
    }
  }
  return hlo_ok();
}

static hlo_status_t store(hlo_tile_run_t* run, const hlo_tile_op_t* op, const int64_t* offsets,
                          const void* elements, int64_t count) {
  const hlo_tile_buffer_t* buffer = &run->kernel->buffers[op->buffer];
  size_t bytes = hlo_dtype_size_bytes(buffer->dtype);
  hlo_run_storage_t* storage = &run->buffers[op->buffer];
  for (int64_t p = 0; p < count; ++p) {
    if (!hlo_run_is_on(run, p, count)) continue;
    if (offsets[p] < 0 || offsets[p] >= buffer->element_count) {
      return hlo_status_create(HLO_STATUS_OUT_OF_RANGE,
                               "%s: element %" PRId64 " of buffer %u, which has %" PRId64,
                               run->kernel->name, offsets[p], op->buffer, buffer->element_count);
    }
    memcpy(storage->data + (size_t)offsets[p] * bytes, (const uint8_t*)elements + (size_t)p * bytes,
           bytes);
    if (storage->cells) HLO_TRY(hlo_run_note(run, storage, offsets[p], HLO_RACE_WRITE, op));
  }
  return hlo_ok();
}

static void guard(hlo_tile_run_t* run, const hlo_tile_op_t* op, const int64_t* offsets,
                  const void* const* operands, int64_t count) {
  size_t bytes = hlo_dtype_size_bytes(op->dtype);
  uint8_t* to = run->values[op->number].data;
  for (int64_t p = 0; p < count; ++p) {
    bool is_inside = offsets[p] >= op->low && offsets[p] < op->end;
    memcpy(to + (size_t)p * bytes, (const uint8_t*)operands[is_inside ? 0 : 1] + (size_t)p * bytes,
           bytes);
  }
}

static void number_tile(hlo_tile_run_t* run, const hlo_tile_op_t* op, const int64_t* offsets,
                        int64_t count) {
  hlo_dtype_convert(HLO_DTYPE_S64, offsets, op->dtype, run->values[op->number].data, (size_t)count);
}

static void number_program(hlo_tile_run_t* run, const hlo_tile_op_t* op, int64_t count) {
  const hlo_tile_loop_t* loop = hlo_tile_block_grid(op->block, op->dimension);
  int64_t number = (loop->end - loop->low + loop->step - 1) / loop->step;
  for (uint32_t i = 0; op->kind == HLO_TILE_OP_program_id && i < run->depth; ++i) {
    if (run->active[i].iv == loop->iv) number = (run->active[i].base - loop->low) / loop->step;
  }
  uint8_t* to = run->values[op->number].data;
  size_t bytes = hlo_dtype_size_bytes(op->dtype);
  for (int64_t p = 0; p < count; ++p)
    hlo_dtype_store_int64(op->dtype, to + (size_t)p * bytes, number);
}

// Prints active elements of the first ones.
static void print(hlo_tile_run_t* run, const hlo_tile_op_t* op, const void* const* operands,
                  int64_t count) {
  if (!run->meaning->print) return;
  HLO_SCOPED_STRBUF line = {0};
  bool is_on[HLO_TILE_PRINTED_ELEMENTS];
  for (int64_t p = 0; p < count && p < HLO_TILE_PRINTED_ELEMENTS; ++p) {
    is_on[p] = hlo_run_is_on(run, p, count);
  }
  hlo_tile_print_line(op, operands, count, is_on, &line);
  run->meaning->print(run->meaning->context, hlo_strbuf_text(&line));
}

hlo_status_t hlo_run_map(hlo_tile_run_t* run, const hlo_tile_map_t* what, uint32_t operand_count,
                         const hlo_dtype_t* dtypes, const void* const* operands, hlo_dtype_t dtype,
                         void* result, int64_t count) {
  if (run->meaning->map(run->meaning->context, what, operand_count, dtypes, operands, dtype, result,
                        (size_t)count)) {
    return hlo_ok();
  }
  return hlo_unimplemented("%s: %s of %s elements in tiles", run->kernel->name,
                           hlo_op_info(what->op)->name, hlo_dtype_info(dtypes[0])->hlo_name);
}

// Converts both operands to the type of the sum and multiplies them.
static hlo_status_t product(hlo_tile_run_t* run, const hlo_tile_op_t* op,
                            const void* const* operands, int64_t count) {
  const void* wide[2];
  hlo_dtype_t dtypes[2] = {op->dtype, op->dtype};
  for (uint32_t i = 0; i < 2; ++i) {
    hlo_dtype_t from = op->operands[i]->dtype;
    wide[i] = operands[i];
    if (from == op->dtype) continue;
    void* converted =
        hlo_arena_array(&run->scratch, (size_t)count, hlo_dtype_size_bytes(op->dtype));
    HLO_TRY(hlo_arena_status(&run->scratch));
    hlo_dtype_convert(from, operands[i], op->dtype, converted, (size_t)count);
    wide[i] = converted;
  }
  const hlo_tile_map_t multiply = {.op = HLO_OP_multiply};
  return hlo_run_map(run, &multiply, 2, dtypes, wide, op->dtype, run->values[op->number].data,
                     count);
}

// ---- reductions

static bool is_better(const hlo_tile_op_t* op, hlo_dtype_t dtype, const void* a, const void* b) {
  bool is_maximum = op->reducers[0] == HLO_OP_maximum;
  if (hlo_dtype_is_float(dtype)) {
    double x = hlo_dtype_load_double(dtype, a), y = hlo_dtype_load_double(dtype, b);
    return x != x || (is_maximum ? x > y : x < y);
  }
  int64_t x = hlo_dtype_load_int64(dtype, a), y = hlo_dtype_load_int64(dtype, b);
  if (hlo_dtype_is_unsigned(dtype)) {
    return is_maximum ? (uint64_t)x > (uint64_t)y : (uint64_t)x < (uint64_t)y;
  }
  return is_maximum ? x > y : x < y;
}

static bool is_smaller(hlo_dtype_t dtype, const void* a, const void* b) {
  int64_t x = hlo_dtype_load_int64(dtype, a), y = hlo_dtype_load_int64(dtype, b);
  return hlo_dtype_is_unsigned(dtype) ? (uint64_t)x < (uint64_t)y : x < y;
}

// Selects the better pair of value and index. Of equal values the later one (zeros have signs) with
// the smaller index; NaNs are kept.
static void combine_arg(const hlo_tile_op_t* op, const hlo_dtype_t* dtypes, void* const* best,
                        const void* const* next, int64_t count) {
  size_t bytes[2] = {hlo_dtype_size_bytes(dtypes[0]), hlo_dtype_size_bytes(dtypes[1])};
  for (int64_t p = 0; p < count; ++p) {
    uint8_t* x = (uint8_t*)best[0] + (size_t)p * bytes[0];
    uint8_t* i = (uint8_t*)best[1] + (size_t)p * bytes[1];
    const uint8_t* y = (const uint8_t*)next[0] + (size_t)p * bytes[0];
    const uint8_t* j = (const uint8_t*)next[1] + (size_t)p * bytes[1];
    if (is_better(op, dtypes[0], x, y)) continue;
    bool is_equal = !is_better(op, dtypes[0], y, x);
    memcpy(x, y, bytes[0]);
    if (!is_equal || !is_smaller(dtypes[1], i, j)) memcpy(i, j, bytes[1]);
  }
}

// Folds element `step` of each of `count` runs of `run_length`, in the type of the sums.
static void* column(hlo_tile_run_t* run, const hlo_tile_op_t* yielded, const void* elements,
                    int64_t count, int64_t run_length, int64_t step) {
  size_t bytes = hlo_dtype_size_bytes(yielded->dtype);
  hlo_dtype_t sums = sum_dtype(yielded->dtype);
  uint8_t* picked = hlo_arena_array(&run->scratch, (size_t)count, bytes);
  void* wide = hlo_arena_array(&run->scratch, (size_t)count, hlo_dtype_size_bytes(sums));
  if (!picked || !wide) return NULL;
  for (int64_t p = 0; p < count; ++p) {
    memcpy(picked + (size_t)p * bytes,
           (const uint8_t*)elements + (size_t)(p * run_length + step) * bytes, bytes);
  }
  if (sums == yielded->dtype) return picked;
  hlo_dtype_convert(yielded->dtype, picked, sums, wide, (size_t)count);
  return wide;
}

// Folds what the body yields at the current points into the sums of the `outer` points.
static hlo_status_t combine(hlo_tile_run_t* run, const hlo_tile_op_t* op, int64_t outer) {
  const hlo_tile_op_t* yield = hlo_tile_op_yield(op);
  int64_t here = hlo_run_point_count(run), length = here / outer;
  uint32_t results = hlo_tile_result_count(op);
  const void* elements[HLO_TILE_MAX_OPERANDS];
  hlo_arena_mark_t mark = hlo_arena_mark(&run->scratch);
  for (uint32_t i = 0; i < results; ++i)
    elements[i] = hlo_run_spread(run, yield->operands[i], here);
  HLO_TRY(hlo_arena_status(&run->scratch));
  void* const* sums = run->values[op->number].results;
  for (int64_t step = 0; step < length; ++step) {
    hlo_arena_mark_t inner = hlo_arena_mark(&run->scratch);
    const void* next[HLO_TILE_MAX_OPERANDS];
    hlo_dtype_t dtypes[HLO_TILE_MAX_OPERANDS];
    for (uint32_t i = 0; i < results; ++i) {
      next[i] = column(run, yield->operands[i], elements[i], outer, length, step);
      dtypes[i] = sum_dtype(yield->operands[i]->dtype);
    }
    HLO_TRY(hlo_arena_status(&run->scratch));
    if (op->is_arg) combine_arg(op, dtypes, sums, next, outer);
    for (uint32_t i = 0; !op->is_arg && i < results; ++i) {
      const void* pair[2] = {sums[i], next[i]};
      const hlo_dtype_t types[2] = {dtypes[i], dtypes[i]};
      const hlo_tile_map_t reducer = {.op = op->reducers[i]};
      HLO_TRY(hlo_run_map(run, &reducer, 2, types, pair, dtypes[i], sums[i], outer));
    }
    hlo_arena_reset(&run->scratch, inner);
  }
  hlo_arena_reset(&run->scratch, mark);
  return hlo_ok();
}

// Stores what a region yields as the operation's results, at the active points.
hlo_status_t hlo_run_keep_yields(hlo_tile_run_t* run, const hlo_tile_op_t* op,
                                 const hlo_tile_op_t* yield) {
  int64_t count = hlo_run_point_count(run);
  hlo_arena_mark_t mark = hlo_arena_mark(&run->scratch);
  for (uint32_t i = 0; i < yield->operand_count; ++i) {
    size_t bytes = hlo_dtype_size_bytes(yield->operands[i]->dtype);
    const uint8_t* from = hlo_run_spread(run, yield->operands[i], count);
    HLO_TRY(hlo_arena_status(&run->scratch));
    uint8_t* to = run->values[op->number].results[i];
    for (int64_t p = 0; p < count; ++p) {
      if (hlo_run_is_on(run, p, count))
        memcpy(to + (size_t)p * bytes, from + (size_t)p * bytes, bytes);
    }
  }
  hlo_arena_reset(&run->scratch, mark);
  return hlo_ok();
}

// Runs the loops from index `at` of the operation, then its body.
static hlo_status_t run_loops(hlo_tile_run_t* run, const hlo_tile_op_t* op, uint32_t at,
                              int64_t outer) {
  if (at == op->loop_count) {
    HLO_TRY(hlo_run_block(run, &op->body));
    if (op->kind == HLO_TILE_OP_reduce) return combine(run, op, outer);
    return op->operand_count ? hlo_run_keep_yields(run, op, hlo_tile_op_yield(op)) : hlo_ok();
  }
  const hlo_tile_loop_t* loop = &op->loops[at];
  uint32_t depth = run->depth;
  bool forks = run->races && op->kind == HLO_TILE_OP_parallel;
  hlo_race_thread_t* parent = run->thread;
  hlo_race_clock_t known = {0};
  for (int64_t base = loop->low; base < loop->end; base += loop->step) {
    int64_t rest = loop->end - base;
    run->active[depth] = (hlo_run_active_t){loop->iv, base, rest < loop->step ? rest : loop->step};
    run->depth = depth + 1;
    if (forks) {
      run->thread = hlo_race_fork(run->races, parent);
      HLO_TRY(hlo_arena_status(run->races->arena));
    }
    HLO_TRY(run_loops(run, op, at + 1, outer));
    if (forks) hlo_race_end(run->races, run->thread, &known);
  }
  run->depth = depth;
  run->thread = parent;
  if (forks) hlo_race_learn(run->races, parent, &known);
  return hlo_ok();
}

static void copy_or_convert(hlo_dtype_t from, const void* source, hlo_dtype_t to, void* result,
                            int64_t count) {
  if (from == to) {
    memcpy(result, source, (size_t)count * hlo_dtype_size_bytes(to));
  } else {
    hlo_dtype_convert(from, source, to, result, (size_t)count);
  }
}

// Rounds a result of an operation with regions to its own type, as the value of `op`.
void hlo_run_take_result(hlo_tile_run_t* run, const hlo_tile_op_t* of, uint32_t number,
                         const hlo_tile_op_t* op) {
  const hlo_run_value_t* from = &run->values[of->number];
  hlo_run_value_t* to = &run->values[op->number];
  to->count = hlo_run_point_count(run);
  copy_or_convert(result_dtype(of, number), from->results[number], op->dtype, to->data, to->count);
}

hlo_status_t hlo_run_put_initial(hlo_tile_run_t* run, const hlo_tile_op_t* op) {
  int64_t count = hlo_run_point_count(run);
  hlo_run_value_t* value = &run->values[op->number];
  for (uint32_t i = 0; i < hlo_tile_result_count(op); ++i) {
    hlo_dtype_t dtype = result_dtype(op, i);
    memset(value->results[i], 0, (size_t)count * hlo_dtype_size_bytes(dtype));
    if (!op->operand_count) continue;
    const void* first = hlo_run_spread(run, op->operands[i], count);
    HLO_TRY(hlo_arena_status(&run->scratch));
    copy_or_convert(op->operands[i]->dtype, first, dtype, value->results[i], count);
  }
  return hlo_ok();
}

static hlo_status_t run_loop(hlo_tile_run_t* run, const hlo_tile_op_t* op) {
  if (!hlo_tile_op_has_result(op)) return run_loops(run, op, 0, 1);
  HLO_TRY(hlo_run_put_initial(run, op));
  HLO_TRY(run_loops(run, op, 0, hlo_run_point_count(run)));
  hlo_run_take_result(run, op, 0, op);
  return hlo_ok();
}

// ---- elements with different paths

// A mutable copy of the active points. NULL when memory is exhausted.
static uint8_t* copy_mask(hlo_tile_run_t* run, int64_t count) {
  uint8_t* copy = hlo_arena_array(&run->scratch, (size_t)count, 1);
  for (int64_t p = 0; copy && p < count; ++p) copy[p] = hlo_run_is_on(run, p, count);
  return copy;
}

static bool is_any_on(const uint8_t* mask, int64_t count) {
  return memchr(mask, 1, (size_t)count) != NULL;
}

static hlo_status_t run_while(hlo_tile_run_t* run, const hlo_tile_op_t* op) {
  int64_t count = hlo_run_point_count(run);
  const hlo_tile_op_t* condition = hlo_tile_block_yield(&op->body);
  hlo_run_mask_t outer = run->mask;
  uint8_t* goes_on = copy_mask(run, count);
  HLO_TRY(hlo_arena_status(&run->scratch));
  HLO_TRY(hlo_run_put_initial(run, op));
  run->mask = (hlo_run_mask_t){goes_on, count};
  for (;;) {
    hlo_arena_mark_t mark = hlo_arena_mark(&run->scratch);
    HLO_TRY(hlo_run_block(run, &op->body));
    const uint8_t* holds = hlo_run_spread(run, condition->operands[0], count);
    HLO_TRY(hlo_arena_status(&run->scratch));
    for (int64_t p = 0; p < count; ++p) goes_on[p] &= holds[p] != 0;
    hlo_arena_reset(&run->scratch, mark);
    if (!is_any_on(goes_on, count)) break;
    HLO_TRY(hlo_run_block(run, op->body.next));
    HLO_TRY(hlo_run_keep_yields(run, op, hlo_tile_op_yield(op)));
  }
  run->mask = outer;
  hlo_run_take_result(run, op, 0, op);
  return hlo_ok();
}

int64_t hlo_run_chosen(const hlo_tile_op_t* op, const void* number, int64_t region_count) {
  int64_t chosen = hlo_dtype_load_int64(op->operands[0]->dtype, number);
  if (op->kind == HLO_TILE_OP_if) return chosen ? 0 : 1;
  return chosen < 0 || chosen >= region_count ? region_count - 1 : chosen;
}

static hlo_status_t run_switch(hlo_tile_run_t* run, const hlo_tile_op_t* op) {
  int64_t count = hlo_run_point_count(run), number = 0, regions = 0;
  hlo_dtype_t dtype = op->operands[0]->dtype;
  hlo_run_mask_t outer = run->mask;
  uint8_t* here = hlo_arena_array(&run->scratch, (size_t)count, 1);
  const uint8_t* chosen = hlo_run_spread(run, op->operands[0], count);
  HLO_TRY(hlo_arena_status(&run->scratch));
  for (const hlo_tile_block_t* region = &op->body; region; region = region->next) ++regions;
  for (const hlo_tile_block_t* region = &op->body; region; region = region->next, ++number) {
    run->mask = outer;
    for (int64_t p = 0; p < count; ++p) {
      const void* which = chosen + (size_t)p * hlo_dtype_size_bytes(dtype);
      here[p] = hlo_run_is_on(run, p, count) && hlo_run_chosen(op, which, regions) == number;
    }
    if (!is_any_on(here, count)) continue;
    run->mask = (hlo_run_mask_t){here, count};
    HLO_TRY(hlo_run_block(run, region));
    if (hlo_tile_op_has_result(op))
      HLO_TRY(hlo_run_keep_yields(run, op, hlo_tile_block_yield(region)));
  }
  run->mask = outer;
  if (hlo_tile_op_has_result(op)) hlo_run_take_result(run, op, 0, op);
  return hlo_ok();
}

// ---- sequence of operations

static hlo_status_t run_value(hlo_tile_run_t* run, const hlo_tile_op_t* op, int64_t count) {
  const void* operands[HLO_TILE_MAX_OPERANDS];
  hlo_dtype_t dtypes[HLO_TILE_MAX_OPERANDS];
  const int64_t* offsets = NULL;
  hlo_run_value_t* value = hlo_tile_op_has_result(op) ? &run->values[op->number] : NULL;
  if (value) value->count = count;
  size_t bytes = hlo_dtype_size_bytes(op->dtype);
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    operands[i] = hlo_run_spread(run, op->operands[i], count);
    dtypes[i] = op->operands[i]->dtype;
  }
  if (hlo_tile_op_has_offset(op->kind)) offsets = hlo_run_evaluate(run, op->offset, count);
  HLO_TRY(hlo_arena_status(&run->scratch));
  switch (op->kind) {
    case HLO_TILE_OP_load: return load(run, op, offsets, count);
    case HLO_TILE_OP_store: return store(run, op, offsets, operands[0], count);
    case HLO_TILE_OP_constant:
      for (int64_t p = 0; p < count; ++p) {
        memcpy((uint8_t*)value->data + (size_t)p * bytes, op->element, bytes);
      }
      break;
    case HLO_TILE_OP_index: number_tile(run, op, offsets, count); break;
    case HLO_TILE_OP_guard: guard(run, op, offsets, operands, count); break;
    case HLO_TILE_OP_relayout:
    case HLO_TILE_OP_bitcast: memcpy(value->data, operands[0], (size_t)count * bytes); break;
    case HLO_TILE_OP_product: return product(run, op, operands, count);
    case HLO_TILE_OP_map:
      return hlo_run_map(run, &op->map, op->operand_count, dtypes, operands, op->dtype, value->data,
                         count);
    case HLO_TILE_OP_program_id:
    case HLO_TILE_OP_num_programs: number_program(run, op, count); break;
    case HLO_TILE_OP_print: print(run, op, operands, count); break;
    default: break;
  }
  return hlo_ok();
}

hlo_status_t hlo_run_op(hlo_tile_run_t* run, const hlo_tile_op_t* op) {
  switch (op->kind) {
    case HLO_TILE_OP_for:
    case HLO_TILE_OP_parallel:
    case HLO_TILE_OP_reduce: return run_loop(run, op);
    case HLO_TILE_OP_while: return run_while(run, op);
    case HLO_TILE_OP_if:
    case HLO_TILE_OP_switch: return run_switch(run, op);
    case HLO_TILE_OP_result:
      hlo_run_take_result(run, op->operands[0], op->result, op);
      return hlo_ok();
    case HLO_TILE_OP_argument:
      hlo_run_take_result(run, op->block->parent, op->result, op);
      return hlo_ok();
    case HLO_TILE_OP_yield: return hlo_ok();
    default: break;
  }
  int64_t count = hlo_run_point_count(run);
  bool is_memory = hlo_tile_op_is_ref(op) || hlo_tile_op_ref_operands(op->kind);
  return is_memory ? hlo_run_memory(run, op, count) : run_value(run, op, count);
}

hlo_status_t hlo_run_block(hlo_tile_run_t* run, const hlo_tile_block_t* block) {
  hlo_run_scope_t scope = hlo_run_enter(run);
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) {
    hlo_arena_mark_t mark = hlo_arena_mark(&run->scratch);
    HLO_TRY(hlo_run_op(run, op));
    hlo_arena_reset(&run->scratch, mark);
  }
  return hlo_run_leave(run, scope);
}

static hlo_status_t make_buffers(hlo_tile_run_t* run, void* const* buffers) {
  const hlo_tile_kernel_t* kernel = run->kernel;
  run->buffers = hlo_arena_array(&run->arena, kernel->buffer_count + 1, sizeof *run->buffers);
  HLO_TRY(hlo_arena_status(&run->arena));
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &kernel->buffers[i];
    hlo_run_storage_t* storage = &run->buffers[i];
    *storage = (hlo_run_storage_t){.buffer = i,
                                   .data = buffers[i],
                                   .count = buffer->element_count,
                                   .element_bytes = hlo_dtype_size_bytes(buffer->dtype)};
    if (!run->races || !storage->count) continue;
    storage->cells =
        hlo_arena_alloc_zeroed(run->races->arena, (size_t)storage->count * sizeof *storage->cells);
  }
  return run->races ? hlo_arena_status(run->races->arena) : hlo_ok();
}

static hlo_status_t run_kernel(const hlo_tile_kernel_t* kernel, const hlo_tile_meaning_t* meaning,
                               void* const* buffers, hlo_races_t* races) {
  hlo_tile_run_t run = {.kernel = kernel, .meaning = meaning, .races = races};
  hlo_arena_init(&run.arena, 0);
  hlo_arena_init(&run.scratch, 0);
  hlo_arena_init(&run.memory, HLO_RUN_MAX_BYTES);
  run.values = hlo_arena_array(&run.arena, kernel->value_count + 1, sizeof *run.values);
  hlo_status_t status = hlo_arena_status(&run.arena);
  if (hlo_status_is_ok(status)) status = make_buffers(&run, buffers);
  if (hlo_status_is_ok(status)) status = hlo_run_make_values(&run, &kernel->body);
  if (races) run.thread = hlo_race_fork(races, NULL);
  if (hlo_status_is_ok(status)) status = hlo_run_threads(&run);
  hlo_arena_deinit(&run.arena);
  hlo_arena_deinit(&run.scratch);
  hlo_arena_deinit(&run.memory);
  return status;
}

hlo_status_t hlo_tile_kernel_run(const hlo_tile_kernel_t* kernel, const hlo_tile_meaning_t* meaning,
                                 void* const* buffers) {
  return run_kernel(kernel, meaning, buffers, NULL);
}

hlo_status_t hlo_tile_kernel_find_races(const hlo_tile_kernel_t* kernel,
                                        const hlo_tile_meaning_t* meaning, void* const* buffers) {
  HLO_SCOPED_ARENA arena = {0};
  hlo_arena_init(&arena, MAX_RACE_BYTES);
  hlo_races_t races = {.arena = &arena};
  return run_kernel(kernel, meaning, buffers, &races);
}
