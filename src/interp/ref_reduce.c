// SPDX-License-Identifier: Apache-2.0
// reduce: a recognised operation folds whole rows (lib/fold.h); any other body runs in
// ref_reduce_any.c.
#include <string.h>

#include "interp/ref_fold.h"
#include "interp/ref_util.h"

enum {
  CHUNK = 1024,    // elements converted or accumulated at a time
  SHORT_ROW = 24,  // rows up to this length are folded side by side
};

// The input's dims after merging adjacent ones of the same kind, innermost last.
typedef struct {
  uint32_t rank;
  int64_t dims[HLO_RANK_MAX + 1];
  int64_t strides[HLO_RANK_MAX + 1];  // in elements
  bool reduced[HLO_RANK_MAX + 1];
} groups_t;

static void merge_groups(groups_t* groups, uint32_t rank, const int64_t* dims,
                         hlo_ints_t reduced_dims) {
  groups->rank = 0;
  for (uint32_t d = 0; d < rank; d++) {
    const bool reduced = hlo_ints_has(reduced_dims, d);
    if (dims[d] == 1) continue;
    if (groups->rank > 0 && groups->reduced[groups->rank - 1] == reduced) {
      groups->dims[groups->rank - 1] *= dims[d];
    } else {
      groups->dims[groups->rank] = dims[d];
      groups->reduced[groups->rank++] = reduced;
    }
  }
  if (groups->rank == 0) {
    groups->dims[0] = 1;
    groups->reduced[groups->rank++] = true;
  }
}

static void set_group_strides(groups_t* groups) {
  int64_t stride = 1;
  for (uint32_t g = groups->rank; g > 0; g--) {
    groups->strides[g - 1] = stride;
    stride *= groups->dims[g - 1];
  }
}

// Advances over the groups of one kind, except the last group; returns false after the last index.
static bool next_group(const groups_t* groups, bool reduced, int64_t* index, int64_t* offset) {
  for (uint32_t g = groups->rank - 1; g > 0; g--) {
    if (groups->reduced[g - 1] != reduced) continue;
    *offset += groups->strides[g - 1];
    if (++index[g - 1] < groups->dims[g - 1]) return true;
    *offset -= groups->dims[g - 1] * groups->strides[g - 1];
    index[g - 1] = 0;
  }
  return false;
}

// The state of one recognised reduction.
typedef struct {
  const hlo_fold_t* fold;
  hlo_dtype_t dtype;  // of input and output
  const char* in;
  size_t in_bytes;
  groups_t groups;
  _Alignas(16) char init[16];           // one accumulator
  _Alignas(64) char acc[CHUNK * 8];     // in fold->acc
  _Alignas(64) char wide[CHUNK * 8];    // converted elements
  _Alignas(64) char narrow[CHUNK * 8];  // transposed elements
} fold_run_t;

static const void* widened(fold_run_t* run, int64_t offset, int64_t count) {
  const char* in = run->in + offset * (int64_t)run->in_bytes;
  if (run->fold->in == run->dtype) return in;
  hlo_dtype_convert(run->dtype, in, run->fold->in, run->wide, (size_t)count);
  return run->wide;
}

// Innermost group reduced: one accumulator per output, whole rows at a time.
static void fold_rows_inward(fold_run_t* run, char* out) {
  const groups_t* groups = &run->groups;
  const int64_t row = groups->dims[groups->rank - 1];
  const int64_t step = run->fold->in == run->dtype ? row : CHUNK;
  int64_t kept[HLO_RANK_MAX + 1] = {0}, kept_offset = 0;
  do {
    int64_t index[HLO_RANK_MAX + 1] = {0}, offset = kept_offset;
    memcpy(run->acc, run->init, sizeof(run->init));
    do {
      for (int64_t i = 0; i < row; i += step) {
        const int64_t count = row - i < step ? row - i : step;
        run->fold->row(count, widened(run, offset + i, count), run->acc);
      }
    } while (next_group(groups, true, index, &offset));
    hlo_dtype_convert(run->fold->acc, run->acc, run->dtype, out, 1);
    out += run->in_bytes;
  } while (next_group(groups, false, kept, &kept_offset));
}

// Innermost group kept: a chunk of accumulators, to which one row after the other is added.
static void fold_rows_down(fold_run_t* run, char* out) {
  const groups_t* groups = &run->groups;
  const int64_t row = groups->dims[groups->rank - 1];
  const size_t acc_bytes = hlo_dtype_size_bytes(run->fold->acc);
  int64_t kept[HLO_RANK_MAX + 1] = {0}, kept_offset = 0;
  do {
    for (int64_t i = 0; i < row; i += CHUNK) {
      const int64_t count = row - i < CHUNK ? row - i : CHUNK;
      int64_t index[HLO_RANK_MAX + 1] = {0}, offset = kept_offset;
      hlo_strided_fill(acc_bytes, (size_t)count, run->acc, run->init);
      do {
        run->fold->rows(count, widened(run, offset + i, count), run->acc);
      } while (next_group(groups, true, index, &offset));
      hlo_dtype_convert(run->fold->acc, run->acc, run->dtype, out, (size_t)count);
      out += (size_t)count * run->in_bytes;
    }
  } while (next_group(groups, false, kept, &kept_offset));
}

// Innermost group reduced but short, and many adjacent outputs: chunks are transposed, so that each
// position of the short rows becomes a row of its own.
static void fold_rows_transposed(fold_run_t* run, char* out) {
  const groups_t* groups = &run->groups;
  const uint32_t last = groups->rank - 1;
  const int64_t row = groups->dims[last], outputs = groups->dims[last - 1];
  const int64_t chunk = CHUNK / row;
  const size_t acc_bytes = hlo_dtype_size_bytes(run->fold->acc);
  const int64_t bytes = (int64_t)run->in_bytes;
  groups_t outer = *groups;  // the groups before these two
  outer.dims[last - 1] = 1;
  int64_t kept[HLO_RANK_MAX + 1] = {0}, kept_offset = 0;
  do {
    for (int64_t i = 0; i < outputs; i += chunk) {
      const int64_t count = outputs - i < chunk ? outputs - i : chunk;
      const int64_t dims[2] = {row, count}, in[2] = {bytes, row * bytes};
      const int64_t transposed[2] = {count * bytes, bytes};
      int64_t index[HLO_RANK_MAX + 1] = {0}, offset = kept_offset + i * row;
      hlo_strided_fill(acc_bytes, (size_t)count, run->acc, run->init);
      do {
        hlo_strided_copy((size_t)bytes, 2, dims, run->narrow, transposed, run->in + offset * bytes,
                         in);
        const char* rows = run->narrow;
        const size_t row_bytes = (size_t)count * hlo_dtype_size_bytes(run->fold->in);
        if (run->fold->in != run->dtype) {
          hlo_dtype_convert(run->dtype, run->narrow, run->fold->in, run->wide,
                            (size_t)(row * count));
          rows = run->wide;
        }
        for (int64_t r = 0; r < row; r++) {
          run->fold->rows(count, rows + (size_t)r * row_bytes, run->acc);
        }
      } while (next_group(&outer, true, index, &offset));
      hlo_dtype_convert(run->fold->acc, run->acc, run->dtype, out, (size_t)count);
      out += (size_t)(count * bytes);
    }
  } while (next_group(&outer, false, kept, &kept_offset));
}

// Reduces one input by a recognised operation; returns false if the operation has no loops.
static bool reduce_recognised(hlo_op_t op, const hlo_tensor_t* input, const hlo_tensor_t* init,
                              hlo_ints_t reduced_dims, hlo_tensor_t* result) {
  fold_run_t run;  // not initialised as a whole: the buffers are large
  run.dtype = input->dtype;
  run.in = input->data;
  merge_groups(&run.groups, input->rank, input->dims, reduced_dims);
  const char* init_data = init->data;
  if (hlo_dtype_is_complex(input->dtype) && op == HLO_OP_add) {  // parts are added independently
    run.dtype = hlo_dtype_info(input->dtype)->part;
    run.groups.dims[run.groups.rank] = 2;
    run.groups.reduced[run.groups.rank++] = false;
    if (memcmp(init_data, init_data + hlo_dtype_size_bytes(run.dtype),
               hlo_dtype_size_bytes(run.dtype)) != 0) {
      return false;
    }
  }
  run.fold = hlo_fold_find(hlo_fold_op_of(op), run.dtype);
  if (!run.fold) return false;
  run.in_bytes = hlo_dtype_size_bytes(run.dtype);
  set_group_strides(&run.groups);
  hlo_dtype_convert(run.dtype, init_data, run.fold->acc, run.init, 1);
  const uint32_t last = run.groups.rank - 1;
  if (!run.groups.reduced[last]) {
    fold_rows_down(&run, result->data);
  } else if (last > 0 && run.groups.dims[last] <= SHORT_ROW &&
             run.groups.dims[last - 1] >= SHORT_ROW) {
    fold_rows_transposed(&run, result->data);
  } else {
    fold_rows_inward(&run, result->data);
  }
  return true;
}

static hlo_status_t reduce_prepared(hlo_eval_t* eval, const hlo_node_t* node,
                                    const hlo_fold_operands_t* fold, hlo_tensor_t** results) {
  const hlo_ints_t reduced_dims = hlo_node_ints(node, HLO_ATTR_dimensions);
  const hlo_tensor_t* input = fold->inputs[0];
  int64_t dims[HLO_RANK_MAX];
  uint32_t rank = 0;
  for (uint32_t d = 0; d < input->rank; d++) {
    if (!hlo_ints_has(reduced_dims, d)) dims[rank++] = input->dims[d];
  }
  HLO_TRY(hlo_fold_results(eval, node, fold, rank, dims, results));
  if (input->element_count == 0) return hlo_ok();
  if (fold->count == 1 && results[0]->dtype == input->dtype && !results[0]->quant &&
      reduce_recognised(fold->binary, input, fold->inits[0], reduced_dims, results[0])) {
    return hlo_ok();
  }
  return hlo_reduce_any(fold, reduced_dims, results);
}

hlo_status_t hlo_ref_reduce(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                            hlo_tensor_t** results) {
  return hlo_fold_run(eval, node, operands, results, reduce_prepared);
}
