// SPDX-License-Identifier: Apache-2.0
// reduce_window with a recognised operation. Windows that extend back to the beginning of a
// dimension, or forward to its end, are scans: JAX writes cumsum, cumprod, cummax and the like this
// way. Other windows are folded one dimension after the other. The reference computes what is left.
#include <string.h>

#include "base/copy.h"
#include "ir/reducer.h"
#include "ir/window.h"
#include "lib/batches.h"
#include "lib/call_impl.h"
#include "lib/scan.h"

typedef struct {
  hlo_scan_t shape;        // of a scan
  const hlo_fold_t* fold;  // of a scan; else it reads the type in which it accumulates
  hlo_dtype_t dtype;       // of operand and result
  _Alignas(16) char init[16];
  size_t scratch_bytes, converted_bytes;  // converted_bytes: of the elements in the fold's type
  hlo_window_dim_t windows[HLO_RANK_MAX];
} plan_t;

// Returns true for a constant that changes nothing when it is folded in a second time.
static bool is_neutral(hlo_fold_op_t op, const hlo_node_t* init) {
  const hlo_attr_t* attr = init ? hlo_node_attr(init, HLO_ATTR_value) : NULL;
  if (!attr || init->op != HLO_OP_constant || attr->kind != HLO_ATTR_KIND_LITERAL) return false;
  const hlo_dtype_t dtype = attr->literal->dtype;
  const double value = hlo_dtype_load_double(dtype, attr->literal->data);
  switch (op) {
    case HLO_FOLD_ADD: return dtype == HLO_DTYPE_PRED || value == 0;
    case HLO_FOLD_XOR: return value == 0;
    case HLO_FOLD_MULTIPLY: return dtype == HLO_DTYPE_PRED || value == 1;
    default: return true;
  }
}

// ---- scans

static hlo_status_t scan_run(const hlo_lib_run_t* run) {
  const plan_t* plan = run->plan;
  const hlo_lib_array_t *operand = &run->operands[0], *result = &run->results[0];
  char* memory = hlo_mem_alloc_aligned(plan->scratch_bytes + plan->converted_bytes + 1, 64);
  if (!memory) return hlo_status_out_of_memory(plan->scratch_bytes + plan->converted_bytes);
  char* converted = memory + plan->scratch_bytes;
  const size_t count = (size_t)operand->element_count;
  if (plan->converted_bytes) {
    hlo_dtype_convert(plan->dtype, operand->data, plan->fold->in, converted, count);
    hlo_scan_run(run->parallel, &plan->shape, plan->init, converted, converted, memory);
    hlo_dtype_convert(plan->fold->in, converted, plan->dtype, result->data, count);
  } else {
    hlo_scan_run(run->parallel, &plan->shape, plan->init, operand->data, result->data, memory);
  }
  hlo_mem_free(memory);
  return hlo_ok();
}

static void scan_prepare(plan_t* plan, hlo_fold_op_t op, const hlo_lib_array_t* operand,
                         uint32_t axis) {
  plan->shape.op = op;
  plan->shape.dtype = plan->fold->in;
  plan->shape.outer = plan->shape.inner = 1;
  plan->shape.length = operand->dims[axis];
  for (uint32_t d = 0; d < axis; d++) plan->shape.outer *= operand->dims[d];
  for (uint32_t d = axis + 1; d < operand->rank; d++) plan->shape.inner *= operand->dims[d];
  plan->scratch_bytes = (hlo_scan_scratch_bytes(&plan->shape) + 63) & ~(size_t)63;
  if (plan->fold->in != plan->dtype) {
    plan->converted_bytes = (size_t)operand->element_count * hlo_dtype_size_bytes(plan->fold->in);
  }
}

// ---- windows

enum {
  BLOCK_ELEMENTS = 1 << 14,  // of padded lines in a block
  BLOCK_COLUMNS = 128,
  FEW_COLUMNS = 16,  // fewer are not worth a call of their own
  COPY_ELEMENTS = 1024,
};

// Folds the windows along one dimension: `in` is [outer, in_size, row], `out` [outer, out_size,
// row]. A block is some outputs of some lines and columns; its lines, padded and dilated, lie one
// after the other in the type of the fold.
typedef struct {
  const hlo_fold_t* fold;
  const hlo_window_dim_t* dim;
  const char *in, *init;
  char* out;
  hlo_dtype_t in_dtype, out_dtype;
  int64_t outer, row;
  int64_t lines, outs, columns;  // of a block
  int64_t line_blocks, out_blocks, column_blocks;
  int64_t levels;  // doublings before the windows are folded
  bool is_dense;   // all positions are folded, not only those where windows begin
} pass_t;

typedef struct {
  int64_t line, out, column;     // the first ones
  int64_t lines, outs, columns;  // how many
  int64_t length;                // positions of a padded line
  size_t bytes;                  // of an element
  char *padded, *folded, *copy;
} block_t;

static int64_t extent_of(const hlo_window_dim_t* dim) {
  return (dim->size - 1) * dim->window_dilation + 1;
}

static int64_t positions_of(const pass_t* pass, int64_t outs) {
  return (outs - 1) * pass->dim->stride + extent_of(pass->dim);
}

static void read_lines(const pass_t* pass, const block_t* b) {
  const hlo_window_dim_t* dim = pass->dim;
  const int64_t base = dim->base_dilation, start = b->out * dim->stride - dim->low;
  const int64_t first = start > 0 ? (start + base - 1) / base : 0, end = start + b->length;
  const int64_t last = end > 0 ? hlo_lib_min((end - 1) / base, dim->in_size - 1) : -1;
  const bool is_whole = base == 1 && b->columns == pass->row;
  const int64_t step = is_whole ? last - first + 1 : 1;  // input rows at once
  hlo_strided_fill(b->bytes, (size_t)(b->lines * b->length * b->columns), b->padded, pass->init);
  for (int64_t l = 0; l < b->lines; l++) {
    for (int64_t i = first; i <= last; i += step) {
      const int64_t from = ((b->line + l) * dim->in_size + i) * pass->row + b->column;
      const int64_t to = (l * b->length + i * base - start) * b->columns;
      hlo_dtype_convert(
          pass->in_dtype, pass->in + (size_t)from * hlo_dtype_size_bytes(pass->in_dtype),
          pass->fold->acc, b->padded + (size_t)to * b->bytes, (size_t)(step * b->columns));
    }
  }
}

static void write_lines(const pass_t* pass, const block_t* b) {
  const hlo_window_dim_t* dim = pass->dim;
  const int64_t step = dim->stride == 1 && b->columns == pass->row ? b->outs : 1;
  for (int64_t l = 0; l < b->lines; l++) {
    for (int64_t o = 0; o < b->outs; o += step) {
      const int64_t from = (l * b->length + o * dim->stride) * b->columns;
      const int64_t to = ((b->line + l) * dim->out_size + b->out + o) * pass->row + b->column;
      hlo_dtype_convert(pass->fold->acc, b->folded + (size_t)from * b->bytes, pass->out_dtype,
                        pass->out + (size_t)to * hlo_dtype_size_bytes(pass->out_dtype),
                        (size_t)(step * b->columns));
    }
  }
}

// Folds into each window what begins at its element `w`.
static void fold_element(const pass_t* pass, const block_t* b, int64_t w) {
  const int64_t ahead = w * pass->dim->window_dilation * b->columns;
  const int64_t total = b->lines * b->length * b->columns;
  if (pass->is_dense) {
    pass->fold->rows(total - ahead, b->padded + (size_t)ahead * b->bytes, b->folded);
    return;
  }
  for (int64_t l = 0; l < b->lines; l++) {
    for (int64_t o = 0; o < b->outs; o++) {
      const int64_t at = (l * b->length + o * pass->dim->stride) * b->columns;
      pass->fold->rows(b->columns, b->padded + (size_t)(at + ahead) * b->bytes,
                       b->folded + (size_t)at * b->bytes);
    }
  }
}

// Position p of the padded lines becomes the fold of elements 0..2^level-1 of the window at p, for
// one level after the other; windows take what they need of each. Folds that extend past the end of
// a line are in no window.
static void fold_windows(const pass_t* pass, const block_t* b) {
  const int64_t size = pass->dim->size, total = b->lines * b->length * b->columns;
  int64_t w = 0, width = 1;
  for (int64_t level = 0; level < pass->levels; level++, width *= 2) {
    if (size & width) {
      fold_element(pass, b, w);
      w += width;
    }
    const int64_t ahead = width * pass->dim->window_dilation * b->columns;
    for (int64_t i = 0; i + ahead < total; i += COPY_ELEMENTS) {
      const int64_t count = hlo_lib_min(COPY_ELEMENTS, total - ahead - i);
      memcpy(b->copy, b->padded + (size_t)(i + ahead) * b->bytes, (size_t)count * b->bytes);
      pass->fold->rows(count, b->copy, b->padded + (size_t)i * b->bytes);
    }
  }
  for (; w < size; w += width) fold_element(pass, b, w);
}

static void run_block(const void* arg, int64_t index, void* scratch) {
  const pass_t* pass = arg;
  block_t b = {.column = index % pass->column_blocks * pass->columns,
               .out = index / pass->column_blocks % pass->out_blocks * pass->outs,
               .line = index / pass->column_blocks / pass->out_blocks * pass->lines,
               .bytes = hlo_dtype_size_bytes(pass->fold->acc)};
  b.columns = hlo_lib_min(pass->columns, pass->row - b.column);
  b.outs = hlo_lib_min(pass->outs, pass->dim->out_size - b.out);
  b.lines = hlo_lib_min(pass->lines, pass->outer - b.line);
  b.length = positions_of(pass, b.outs);
  const size_t count = (size_t)(b.lines * b.length * b.columns);
  b.copy = scratch;
  b.padded = b.copy + COPY_ELEMENTS * b.bytes;
  b.folded = b.padded + count * b.bytes;
  read_lines(pass, &b);
  hlo_strided_fill(b.bytes, count, b.folded, pass->init);
  fold_windows(pass, &b);
  write_lines(pass, &b);
}

static int64_t even_part(int64_t total, int64_t limit, int64_t* out_parts) {
  if (limit < 1) limit = 1;
  *out_parts = (total + limit - 1) / limit;
  return (total + *out_parts - 1) / *out_parts;
}

static void split_pass(pass_t* pass) {
  const int64_t all = positions_of(pass, pass->dim->out_size), extent = extent_of(pass->dim);
  pass->columns = even_part(pass->row, BLOCK_COLUMNS, &pass->column_blocks);
  // Blocks overlap by a window less one element, so they are several times as long.
  int64_t length = BLOCK_ELEMENTS / pass->columns;
  if (length < 4 * extent) length = 4 * extent;
  const int64_t outs =
      all <= length ? pass->dim->out_size : (length - extent) / pass->dim->stride + 1;
  pass->outs = even_part(pass->dim->out_size, outs, &pass->out_blocks);
  const int64_t lines = BLOCK_ELEMENTS / (positions_of(pass, pass->outs) * pass->columns);
  pass->lines = even_part(pass->outer, pass->columns == pass->row ? lines : 1, &pass->line_blocks);
}

// Chooses the number of doublings that costs the fewest folded elements; a doubling also copies.
static void choose_levels(pass_t* pass) {
  const int64_t size = pass->dim->size, length = positions_of(pass, pass->outs);
  pass->is_dense = pass->dim->stride == 1 || pass->columns < FEW_COLUMNS;
  double least = 0;
  for (int64_t level = 0; level < 62 && size >> level; level++) {
    const int64_t terms =
        (size >> level) + __builtin_popcountll((uint64_t)size & ((1ull << level) - 1));
    const double cost = (double)terms * (double)(pass->is_dense ? length : pass->outs) +
                        2 * (double)level * (double)length;
    if (level > 0 && cost >= least) continue;
    least = cost;
    pass->levels = level;
  }
}

static hlo_status_t run_pass(const hlo_parallel_t* parallel, pass_t* pass) {
  split_pass(pass);
  choose_levels(pass);
  const int64_t elements = pass->lines * positions_of(pass, pass->outs) * pass->columns;
  const hlo_batches_t blocks = {.count = pass->line_blocks * pass->out_blocks * pass->column_blocks,
                                .elements = elements,
                                .scratch_bytes = (size_t)(2 * elements + COPY_ELEMENTS) *
                                                 hlo_dtype_size_bytes(pass->fold->acc),
                                .run = run_block,
                                .arg = pass};
  return hlo_batches_run(parallel, &blocks);
}

static hlo_status_t windows_run(const hlo_lib_run_t* run) {
  const plan_t* plan = run->plan;
  const hlo_lib_array_t *operand = &run->operands[0], *result = &run->results[0];
  uint32_t first = 0;
  while (hlo_window_is_trivial(&plan->windows[first])) first++;
  char *current = operand->data, *owned = NULL;
  hlo_dtype_t dtype = plan->dtype;
  int64_t inner = 1;
  hlo_status_t status = hlo_ok();
  // The last dimension comes first: passes that shrink rows make the others cheaper.
  for (uint32_t d = operand->rank; d-- > first && hlo_status_is_ok(status);) {
    const hlo_window_dim_t* dim = &plan->windows[d];
    pass_t pass = {.fold = plan->fold,
                   .dim = dim,
                   .in = current,
                   .init = plan->init,
                   .in_dtype = dtype,
                   .out_dtype = d == first ? plan->dtype : plan->fold->acc,
                   .outer = 1,
                   .row = inner};
    inner *= dim->out_size;
    if (hlo_window_is_trivial(dim)) continue;
    for (uint32_t i = 0; i < d; i++) pass.outer *= operand->dims[i];
    size_t bytes = 0;
    char* next = result->data;
    if (d > first) {
      const bool fits = hlo_size_mul((size_t)pass.outer, (size_t)inner, &bytes) &&
                        hlo_size_mul(bytes, hlo_dtype_size_bytes(pass.out_dtype), &bytes);
      next = fits ? hlo_mem_alloc_aligned(bytes, 64) : NULL;
    }
    pass.out = next;
    status = next ? run_pass(run->parallel, &pass) : hlo_status_out_of_memory(bytes);
    hlo_mem_free(owned);
    owned = d > first ? next : NULL;
    current = next;
    dtype = pass.out_dtype;
  }
  hlo_mem_free(owned);
  return status;
}

// Returns true if the windows are computed well: padding that is much longer than the input, and
// holes, would be folded like elements.
static bool windows_are_supported(const plan_t* plan, uint32_t rank) {
  enum { BASE_DILATION_MAX = 8, EXTENT_MIN = 1024 };
  bool is_any = false;
  for (uint32_t d = 0; d < rank; d++) {
    const hlo_window_dim_t* dim = &plan->windows[d];
    if (dim->out_size < 1 || dim->base_dilation > BASE_DILATION_MAX ||
        extent_of(dim) > EXTENT_MIN + 4 * dim->in_size * dim->base_dilation) {
      return false;
    }
    is_any |= !hlo_window_is_trivial(dim);
  }
  return is_any;
}

hlo_status_t hlo_lib_prepare_reduce_window(hlo_lib_call_t* call, hlo_arena_t* arena) {
  const hlo_node_t* node = call->node;
  const hlo_lib_array_t *operand = &call->operands[0], *result = &call->results[0];
  plan_t* plan = hlo_arena_array(arena, 1, sizeof *plan);
  HLO_TRY(hlo_arena_status(arena));
  const hlo_fold_op_t op =
      node->result_count == 1 ? hlo_fold_op_of(hlo_reduce_op(node, 0)) : HLO_FOLD_OP_COUNT;
  plan->fold = hlo_fold_find(op, operand->dtype);
  if (!plan->fold || operand->element_count == 0 || hlo_dtype_is_complex(operand->dtype) ||
      result->dtype != operand->dtype || call->operands[1].dtype != operand->dtype ||
      node->regions[0]->args[0]->type->dtype != operand->dtype ||
      !is_neutral(op, hlo_node_operand(node, 1)->def)) {
    return hlo_ok();
  }
  HLO_TRY(hlo_window_dims_of(node, operand->rank, operand->dims, plan->windows));
  plan->dtype = operand->dtype;
  const hlo_attr_t* init = hlo_node_attr(hlo_node_operand(node, 1)->def, HLO_ATTR_value);
  hlo_dtype_convert(operand->dtype, init->literal->data, plan->fold->acc, plan->init, 1);
  uint32_t axis = 0;
  call->plan = plan;
  if (hlo_window_is_scan(operand->rank, plan->windows, &axis, &plan->shape.is_reverse)) {
    scan_prepare(plan, op, operand, axis);
    call->run = scan_run;
  } else if (windows_are_supported(plan, operand->rank)) {
    plan->fold = hlo_fold_find(op, plan->fold->acc);
    call->run = windows_run;
  }
  return hlo_ok();
}
