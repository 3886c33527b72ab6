// SPDX-License-Identifier: Apache-2.0
// Exchanges between members of a group (see exchange.h). Each part of a result is computed once,
// straight from the memory of all members, first member to last like the reference, and stored for
// every member that receives it; all other collectives are strided copies. Parts are independent,
// so all threads share the work of all members.
#include "lib/exchange.h"

#include <stdatomic.h>
#include <string.h>

#include "base/copy.h"
#include "base/hash.h"
#include "base/tuning.h"
#include "ir/process_groups.h"
#include "lib/exchange_impl.h"
#include "lib/fold.h"
#include "lib/isa.h"

enum {
  BLOCK_BYTES = 512,         // of accumulators: few, so that all operands are read side by side
  CHUNK_BYTES = 1 << 18,     // of each operand, per chunk of a parallel loop
  PARALLEL_BYTES = 1 << 17,  // smaller exchanges stay on the calling thread
};

typedef enum exchange_kind {
  KIND_REDUCE,   // the fold of all operands, sent to every member
  KIND_SCATTER,  // one slice of the fold to each member
  KIND_MOVE,     // boxes copied between members
  KIND_RAGGED,   // rows copied between members, as operands say
} exchange_kind_t;

// The box copied from sender s to receiver r: it begins at byte r * in_step of the operand and s *
// out_step of the result.
typedef struct box {
  uint32_t rank;
  int64_t dims[HLO_RANK_MAX], in_strides[HLO_RANK_MAX], out_strides[HLO_RANK_MAX];
  size_t in_step, out_step;
  uint32_t run_rank;  // dimensions around runs that are contiguous in operand and result
  size_t run_bytes;
  uint32_t piece_axis;  // pieces are ranges of this dimension, of piece_rows
  int64_t piece_rows;
  size_t piece_count;
} box_t;

typedef struct tensor {
  size_t width;            // bytes of an element
  size_t count;            // elements of the result
  size_t row_count;        // KIND_SCATTER: contiguous elements of a slice
  const hlo_fold_t* fold;  // for reductions, on parts of type `acc`
  hlo_fold_op_t fold_op;
  hlo_dtype_t dtype,
      acc;            // of parts; sums and products of narrow floats are rounded once, at the end
  size_t part_count;  // parts of an element: 2 of complex numbers
  box_t box;          // of KIND_MOVE
} tensor_t;

// A ragged all-to-all; its operands in this order, with one entry of the vectors per slice.
enum { RAGGED_IN, RAGGED_OUT, RAGGED_FROM, RAGGED_SIZES, RAGGED_TO, RAGGED_OPERANDS = 6 };
typedef struct ragged {
  int64_t in_rows, out_rows, slice_count;
  size_t row_bytes;
  hlo_dtype_t dtypes[RAGGED_OPERANDS];
} ragged_t;

struct hlo_exchange {
  exchange_kind_t kind;
  hlo_exchange_identity_t identity;
  uint32_t* senders;   // of a permutation, by receiver; UINT32_MAX: nobody sends
  bool is_from_first;  // every member receives the first member's operand
  bool has_roots;      // instead, the last operand of a member says whose operands it receives
  hlo_dtype_t root_dtype;
  uint32_t operand_count, tensor_count, group_count;
  tensor_t* tensors;  // by result
  ragged_t ragged;    // of KIND_RAGGED
  hlo_exchange_group_t* groups;
  uint32_t *group_of, *position_of;  // by process
};

// ---- description of an exchange -----------------------------------------------------------------

// Returns the only op of a computation on its two arguments.
static const hlo_node_t* find_operation(const hlo_node_t* node) {
  bool is_swapped;
  const hlo_node_t* op =
      node->region_count == 1 ? hlo_region_binary_op(node->regions[0], &is_swapped) : NULL;
  return op && (!is_swapped || hlo_op_has(op->op, HLO_TRAIT_COMMUTATIVE)) ? op : NULL;
}

// A sum of complex numbers is the sum of their parts.
static bool prepare_fold(const hlo_node_t* node, hlo_dtype_t dtype, tensor_t* tensor) {
  const hlo_node_t* operation = find_operation(node);
  hlo_op_t op = HLO_OP_COUNT;
  if (node->op == HLO_OP_cross_replica_sum) {
    op = HLO_OP_add;
  } else if (operation && hlo_node_operand_type(operation, 0)->dtype == dtype &&
             operation->results[0].type->dtype == dtype) {
    op = operation->op;
  }
  const bool is_complex = hlo_dtype_is_complex(dtype);
  if (is_complex && op != HLO_OP_add) return false;
  tensor->dtype = is_complex ? hlo_dtype_info(dtype)->part : dtype;
  tensor->part_count = is_complex ? 2 : 1;
  tensor->acc = hlo_group_accumulator(op, tensor->dtype);
  tensor->fold_op = hlo_fold_op_of(op);
  tensor->fold = hlo_fold_find(tensor->fold_op, tensor->acc);
  return tensor->fold != NULL;
}

static bool find_kind(const hlo_node_t* node, exchange_kind_t* out_kind) {
  switch (node->op) {
    case HLO_OP_all_reduce:
    case HLO_OP_cross_replica_sum: *out_kind = KIND_REDUCE; return true;
    case HLO_OP_reduce_scatter: *out_kind = KIND_SCATTER; return true;
    case HLO_OP_all_gather:
    case HLO_OP_all_to_all:
    case HLO_OP_collective_permute:
    case HLO_OP_collective_broadcast: *out_kind = KIND_MOVE; return true;
    case HLO_OP_hlo_ragged_all_to_all: *out_kind = KIND_RAGGED; return true;
    default: return false;
  }
}

static size_t axis_of(const hlo_node_t* node, hlo_attr_id_t id) {
  return (size_t)hlo_node_attr_int(node, id, 0);
}

// Finds the runs of a box and divides it into pieces of at most CHUNK_BYTES, if it has enough rows.
static void divide_box(size_t width, box_t* box) {
  box->run_rank = box->rank;
  box->run_bytes = width;
  while (box->run_rank > 0) {
    const uint32_t d = box->run_rank - 1;
    const bool is_run = box->in_strides[d] == (int64_t)box->run_bytes &&
                        box->out_strides[d] == (int64_t)box->run_bytes;
    if (!is_run && box->dims[d] != 1) break;
    box->run_bytes *= (size_t)box->dims[d];
    box->run_rank = d;
  }
  size_t bytes = width;
  for (uint32_t d = 0; d < box->rank; ++d) bytes *= (size_t)box->dims[d];
  while (box->piece_axis + 1 < box->rank && box->dims[box->piece_axis] == 1) ++box->piece_axis;
  const int64_t rows = box->rank ? box->dims[box->piece_axis] : 1;
  const size_t row_bytes = rows ? bytes / (size_t)rows : 0;
  box->piece_rows = row_bytes && row_bytes < CHUNK_BYTES ? (int64_t)(CHUNK_BYTES / row_bytes) : 1;
  box->piece_count = hlo_chunk_count((size_t)rows, (size_t)box->piece_rows);
}

static bool prepare_box(const hlo_node_t* node, const hlo_type_t* in, const hlo_type_t* out,
                        uint32_t member_count, box_t* box) {
  size_t width = hlo_dtype_size_bytes(in->dtype);
  box->rank = in->rank;
  memcpy(box->dims, in->dims, in->rank * sizeof *box->dims);
  hlo_strided_dense(width, in->rank, in->dims, box->in_strides);
  hlo_strided_dense(width, out->rank, out->dims, box->out_strides);
  if (node->op == HLO_OP_all_gather) {
    size_t axis = axis_of(node, HLO_ATTR_all_gather_dim);
    if (axis >= in->rank || out->dims[axis] != in->dims[axis] * member_count) return false;
    box->out_step = (size_t)(in->dims[axis] * box->out_strides[axis]);
  } else if (node->op == HLO_OP_all_to_all) {
    size_t split = axis_of(node, HLO_ATTR_split_dimension);
    size_t concat = axis_of(node, HLO_ATTR_concat_dimension);
    if (split >= in->rank || concat >= in->rank || in->dims[split] % member_count ||
        hlo_node_attr_int(node, HLO_ATTR_split_count, member_count) != member_count) {
      return false;
    }
    box->dims[split] /= member_count;
    box->in_step = (size_t)(box->dims[split] * box->in_strides[split]);
    box->out_step = (size_t)(box->dims[concat] * box->out_strides[concat]);
  }
  divide_box(width, box);
  return true;
}

static bool prepare_tensor(const hlo_node_t* node, exchange_kind_t kind, uint32_t i,
                           uint32_t member_count, tensor_t* tensor) {
  const hlo_type_t* in = hlo_node_operand_type(node, i);
  const hlo_type_t* out = node->results[i].type;
  if (in->kind != HLO_TYPE_TENSOR || !hlo_type_is_static(in) || !hlo_type_is_static(out) ||
      in->quant || out->quant || in->dtype != out->dtype || in->rank != out->rank) {
    return false;
  }
  tensor->width = hlo_dtype_size_bytes(in->dtype);
  tensor->count = (size_t)hlo_type_element_count(out);
  if (kind == KIND_MOVE) return prepare_box(node, in, out, member_count, &tensor->box);
  if (!prepare_fold(node, in->dtype, tensor)) return false;
  if (kind == KIND_REDUCE) return true;
  size_t axis = axis_of(node, HLO_ATTR_scatter_dimension);
  if (axis >= in->rank || in->dims[axis] != out->dims[axis] * member_count) return false;
  tensor->row_count = 1;
  for (size_t d = axis; d < out->rank; ++d) tensor->row_count *= (size_t)out->dims[d];
  return true;
}

bool hlo_exchange_can_reduce(const hlo_node_t* node) {
  tensor_t tensor = {0};
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_type_t *in = hlo_node_operand_type(node, i), *out = node->results[i].type;
    if (in->kind != HLO_TYPE_TENSOR || in->dtype != out->dtype ||
        !prepare_fold(node, in->dtype, &tensor)) {
      return false;
    }
  }
  return true;
}

// ---- participants -------------------------------------------------------------------------------

static uint32_t find_position(const hlo_exchange_group_t* group, uint32_t process) {
  uint32_t position = 0;
  while (group->members[position] != process) ++position;
  return position;
}

// Returns the number of a new group; UINT32_MAX when memory is exhausted.
static uint32_t add_group(hlo_exchange_t* exchange, const hlo_exchange_group_t* like,
                          hlo_arena_t* arena) {
  const size_t bytes = like->member_count * sizeof *like->members;
  uint32_t* own = hlo_arena_array(arena, like->member_count, sizeof *own);
  if (!own) return UINT32_MAX;
  memcpy(own, like->members, bytes);
  exchange->groups[exchange->group_count] = *like;
  exchange->groups[exchange->group_count].members = own;
  exchange->groups[exchange->group_count].id = hlo_hash_bytes(own, bytes, like->member_count);
  return exchange->group_count++;
}

// Returns the number of a group, which is added if it is new; UINT32_MAX when memory is exhausted.
static uint32_t find_group(hlo_exchange_t* exchange, const hlo_exchange_group_t* like,
                           hlo_arena_t* arena) {
  const size_t bytes = like->member_count * sizeof *like->members;
  for (uint32_t g = 0; g < exchange->group_count; ++g) {
    const hlo_exchange_group_t* have = &exchange->groups[g];
    if (have->member_count == like->member_count && have->is_outside == like->is_outside &&
        memcmp(have->members, like->members, bytes) == 0) {
      return g;
    }
  }
  return add_group(exchange, like, arena);
}

// Returns true if no id is listed twice, so that all members of a group have the same one.
static bool are_disjoint(const hlo_attr_t* ids, uint32_t limit, uint32_t* seen) {
  if (!ids || ids->kind != HLO_ATTR_KIND_INTS) return true;
  memset(seen, 0, limit * sizeof *seen);
  for (uint32_t i = 0; i < ids->count; ++i) {
    if (ids->values[i] == -1) continue;
    if (ids->values[i] < 0 || ids->values[i] >= (int64_t)limit || seen[ids->values[i]]++) {
      return false;
    }
  }
  return true;
}

// Enters a group for its members, whose groups need not be searched for again.
static void enter_members(hlo_exchange_t* exchange, uint32_t g) {
  const hlo_exchange_group_t* group = &exchange->groups[g];
  for (uint32_t i = 0; i < group->member_count; ++i) {
    exchange->group_of[group->members[i]] = g;
    exchange->position_of[group->members[i]] = i;
  }
}

// Fills in the groups. *out_is_whole stays false if a process has no group, or the groups differ in
// size, and the op does not say what that means.
static hlo_status_t make_groups(const hlo_node_t* node, uint32_t replica_count,
                                uint32_t partition_count, hlo_arena_t* arena,
                                hlo_exchange_t* exchange, bool* out_is_whole) {
  uint32_t processes = replica_count * partition_count;
  const hlo_attr_t* ids =
      node->op == HLO_OP_collective_permute ? NULL : hlo_node_attr(node, HLO_ATTR_replica_groups);
  uint32_t* members = hlo_arena_array(arena, processes, sizeof *members);
  exchange->groups = hlo_arena_array(arena, processes, sizeof *exchange->groups);
  exchange->group_of = hlo_arena_array(arena, processes, sizeof *exchange->group_of);
  exchange->position_of = hlo_arena_array(arena, processes, sizeof *exchange->position_of);
  HLO_TRY(hlo_arena_status(arena));
  const bool are_known = are_disjoint(ids, processes, members);
  memset(exchange->group_of, 0xff, processes * sizeof *exchange->group_of);
  for (uint32_t p = 0; p < processes; ++p) {
    uint32_t count = 0;
    if (are_known && exchange->group_of[p] != UINT32_MAX) continue;
    HLO_TRY(hlo_group_members(node, hlo_group_strategy(node), ids, replica_count, partition_count,
                              p, members, &count));
    const bool is_broadcast = node->op == HLO_OP_collective_broadcast;
    const bool is_uneven = p > 0 && count != exchange->groups[0].member_count;
    if (!is_broadcast && (count == 0 || (is_uneven && exchange->kind != KIND_REDUCE))) {
      return hlo_ok();
    }
    hlo_exchange_group_t group = {
        .member_count = count, .members = members, .is_outside = count == 0};
    if (group.is_outside) members[group.member_count++] = p;
    const uint32_t g =
        are_known ? add_group(exchange, &group, arena) : find_group(exchange, &group, arena);
    if (g == UINT32_MAX) return hlo_arena_status(arena);
    exchange->group_of[p] = g;
    exchange->position_of[p] = find_position(&exchange->groups[g], p);
    if (are_known) enter_members(exchange, g);
  }
  *out_is_whole = true;
  return hlo_ok();
}

// Reads the pairs of a permutation; *out_is_valid is false if they name a process that does not
// exist.
static hlo_status_t prepare_pairs(const hlo_node_t* node, hlo_arena_t* arena,
                                  hlo_exchange_t* exchange, bool* out_is_valid) {
  const uint32_t members = exchange->groups[0].member_count;
  *out_is_valid = node->op != HLO_OP_collective_permute;
  if (*out_is_valid) return hlo_ok();
  const hlo_attr_t* pairs = hlo_node_attr(node, HLO_ATTR_source_target_pairs);
  if (!pairs || pairs->kind != HLO_ATTR_KIND_INTS) return hlo_ok();
  exchange->senders = hlo_arena_array(arena, members, sizeof *exchange->senders);
  if (!exchange->senders) return hlo_arena_status(arena);
  for (uint32_t i = 0; i < members; ++i) exchange->senders[i] = UINT32_MAX;
  for (uint32_t k = 0; k + 1 < pairs->count; k += 2) {
    const int64_t source = pairs->values[k], target = pairs->values[k + 1];
    if (source < 0 || source >= members || target < 0 || target >= members) return hlo_ok();
    if (exchange->senders[target] == UINT32_MAX) exchange->senders[target] = (uint32_t)source;
  }
  *out_is_valid = true;
  return hlo_ok();
}

static bool is_plain(const hlo_type_t* type) {
  return type->kind == HLO_TYPE_TENSOR && hlo_type_is_static(type) && !type->quant;
}

static bool prepare_ragged(const hlo_node_t* node, hlo_exchange_t* exchange) {
  ragged_t* ragged = &exchange->ragged;
  const hlo_type_t* in = hlo_node_operand_type(node, RAGGED_IN);
  const hlo_type_t* out = node->results[0].type;
  bool is_valid = is_plain(in) && is_plain(out) && in->rank > 0 && in->rank == out->rank &&
                  in->dtype == out->dtype &&
                  memcmp(in->dims + 1, out->dims + 1, (in->rank - 1) * sizeof *in->dims) == 0;
  if (!is_valid) return false;
  for (uint32_t i = RAGGED_FROM; i <= RAGGED_TO; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    if (!is_plain(type) || type->rank != 1 ||
        type->dims[0] != hlo_node_operand_type(node, RAGGED_FROM)->dims[0]) {
      return false;
    }
    ragged->dtypes[i] = type->dtype;
  }
  ragged->in_rows = in->dims[0];
  ragged->out_rows = out->dims[0];
  ragged->slice_count =
      hlo_node_operand_type(node, RAGGED_FROM)->dims[0] / exchange->groups[0].member_count;
  ragged->row_bytes = hlo_dtype_size_bytes(in->dtype);
  for (uint32_t d = 1; d < in->rank; ++d) ragged->row_bytes *= (size_t)in->dims[d];
  exchange->tensors[0].width = hlo_dtype_size_bytes(out->dtype);
  exchange->tensors[0].count = (size_t)hlo_type_element_count(out);
  return true;
}

// Returns true if the last operand has a number for each result.
static bool are_roots_known(const hlo_node_t* node) {
  const hlo_type_t* type = hlo_node_operand_type(node, node->result_count);
  return is_plain(type) && hlo_dtype_is_integer(type->dtype) &&
         hlo_type_element_count(type) >= (int64_t)node->result_count;
}

static uint64_t hash_type(uint64_t hash, const hlo_type_t* type) {
  hash = hlo_hash_word(hlo_hash_word(hash, type->kind), type->dtype);
  if (type->kind != HLO_TYPE_TENSOR) return hash;
  return hlo_hash_bytes(type->dims, type->rank * sizeof *type->dims, hash);
}

static uint64_t signature_of(const hlo_node_t* node) {
  uint64_t hash = hlo_hash_word(node->op, node->operand_count);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hash = hash_type(hash, hlo_node_operand_type(node, i));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) hash = hash_type(hash, node->results[i].type);
  return hash;
}

hlo_status_t hlo_exchange_create(const hlo_node_t* node, uint32_t replica_count,
                                 uint32_t partition_count, hlo_arena_t* arena,
                                 const hlo_exchange_t** out_exchange) {
  *out_exchange = NULL;
  exchange_kind_t kind;
  bool is_whole = false;
  if (!find_kind(node, &kind)) return hlo_ok();
  const bool has_roots = hlo_node_attr_bool(node, HLO_ATTR_has_dynamic_root, false);
  if (kind != KIND_RAGGED && node->operand_count != node->result_count + has_roots) return hlo_ok();
  if (has_roots && !are_roots_known(node)) return hlo_ok();
  hlo_exchange_t* exchange = hlo_arena_alloc_zeroed(arena, sizeof *exchange);
  if (!exchange) return hlo_arena_status(arena);
  exchange->kind = kind;
  exchange->identity =
      (hlo_exchange_identity_t){.channel_id = hlo_node_attr_int(node, HLO_ATTR_channel_id, 0),
                                .signature = signature_of(node),
                                .buffer_count = node->operand_count + node->result_count};
  HLO_TRY(make_groups(node, replica_count, partition_count, arena, exchange, &is_whole));
  if (!is_whole) return hlo_ok();
  exchange->operand_count = node->operand_count;
  exchange->is_from_first = node->op == HLO_OP_collective_broadcast && !has_roots;
  exchange->has_roots = has_roots;
  if (has_roots) exchange->root_dtype = hlo_node_operand_type(node, node->result_count)->dtype;
  exchange->tensor_count = node->result_count;
  exchange->tensors = hlo_arena_array(arena, node->result_count, sizeof *exchange->tensors);
  HLO_TRY(hlo_arena_status(arena));
  if (kind == KIND_RAGGED) {
    if (prepare_ragged(node, exchange)) *out_exchange = exchange;
    return hlo_ok();
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    uint32_t member_count = exchange->groups[0].member_count;
    if (!prepare_tensor(node, kind, i, member_count, &exchange->tensors[i])) return hlo_ok();
  }
  HLO_TRY(prepare_pairs(node, arena, exchange, &is_whole));
  if (is_whole) *out_exchange = exchange;
  return hlo_ok();
}

const hlo_exchange_group_t* hlo_exchange_group(const hlo_exchange_t* exchange, uint32_t process,
                                               uint32_t* out_position) {
  *out_position = exchange->position_of[process];
  return &exchange->groups[exchange->group_of[process]];
}

const hlo_exchange_identity_t* hlo_exchange_identity(const hlo_exchange_t* exchange) {
  return &exchange->identity;
}

// ---- running -----------------------------------------------------------------------------------

// One tensor of one rendezvous.
typedef struct job {
  const hlo_exchange_t* exchange;
  const tensor_t* tensor;
  uint32_t member_count;
  bool is_outside;
  size_t stride;    // distance from a member's buffers to the next member's
  void* const* in;  // of the first member
  void* const* out;
  const hlo_exchange_loops_t* loops;
  bool is_streamed;                   // results are stored past the caches, which cannot hold them
  atomic_uint_fast64_t* moved_bytes;  // counts those between members; NULL: nobody wants them
} job_t;

// relaxed: the end of the parallel loop orders the reader after all chunks.
static void count_moved(atomic_uint_fast64_t* moved_bytes, size_t bytes) {
  if (HLO_LIKELY(!moved_bytes)) return;
  atomic_fetch_add_explicit(moved_bytes, bytes, memory_order_relaxed);
}

static uint8_t* in_of(const job_t* job, uint32_t member) {
  return job->in[member * job->stride];
}

static uint8_t* out_of(const job_t* job, uint32_t member) {
  return job->out[member * job->stride];
}

static const hlo_exchange_loops_t* find_loops(void) {
  switch (hlo_isa()) {
#if defined(__x86_64__)
    case HLO_ISA_AVX512: return &hlo_exchange_loops_avx512;
    case HLO_ISA_AVX2: return &hlo_exchange_loops_avx2;
#endif
    default: return &hlo_exchange_loops_generic;
  }
}

// Elements [in_begin, in_begin + count) of all operands, and the results that receive their fold.
typedef struct range {
  size_t in_begin, out_begin, count;
  void* const* out;  // of the first receiver
  uint32_t out_count;
} range_t;

// acc[i] = op(acc[i], in[i]), with accumulators of a wider type.
static void fold_wide(const job_t* job, size_t count, const void* in, void* acc) {
  const tensor_t* tensor = job->tensor;
  uint64_t wide[BLOCK_BYTES / sizeof(uint64_t)];
  hlo_dtype_convert(tensor->dtype, in, tensor->acc, wide, count);
  tensor->fold->into((int64_t)count, wide, acc);
}

// Folds `count` parts of all operands from byte `begin` on; returns them in `acc` or in `rounded`.
static const void* fold_block(const job_t* job, size_t begin, size_t count, void* acc,
                              void* rounded) {
  const tensor_t* tensor = job->tensor;
  const bool is_wide = tensor->acc != tensor->dtype;
  hlo_dtype_convert(tensor->dtype, in_of(job, 0) + begin, tensor->acc, acc, count);
  for (uint32_t m = 1; m < job->member_count; ++m) {
    if (is_wide) {
      fold_wide(job, count, in_of(job, m) + begin, acc);
    } else {
      hlo_fold_combine(tensor->fold, tensor->dtype, (int64_t)count, acc, in_of(job, m) + begin);
    }
  }
  if (!is_wide) return acc;
  hlo_dtype_convert(tensor->acc, acc, tensor->dtype, rounded, count);
  return rounded;
}

static void fold_range(const job_t* job, const range_t* range) {
  const tensor_t* tensor = job->tensor;
  const size_t width = hlo_dtype_size_bytes(tensor->dtype), parts = tensor->part_count;
  const size_t acc_width = hlo_dtype_size_bytes(tensor->acc);
  const size_t block = BLOCK_BYTES / (acc_width > width ? acc_width : width);
  uint64_t acc[BLOCK_BYTES / sizeof(uint64_t)], rounded[BLOCK_BYTES / sizeof(uint64_t)];
  const size_t end = range->count * parts;
  for (size_t at = 0; at < end; at += block) {
    const size_t count = end - at < block ? end - at : block;
    const size_t in = (range->in_begin * parts + at) * width;
    const size_t out = (range->out_begin * parts + at) * width;
    const void* result = fold_block(job, in, count, acc, rounded);
    for (uint32_t r = 0; r < range->out_count; ++r) {
      uint8_t* to = (uint8_t*)range->out[r * job->stride] + out;
      if (job->is_streamed) {
        job->loops->stream(to, result, count * width);
      } else {
        memcpy(to, result, count * width);
      }
    }
  }
  if (job->is_streamed) job->loops->fence();
}

// One member reads the operands of the others, and stores the result for others who receive it.
static void reduce_range(const job_t* job, const range_t* range) {
  const tensor_t* tensor = job->tensor;
  count_moved(job->moved_bytes,
              range->count * tensor->width * (job->member_count - 1 + range->out_count - 1));
  const hlo_exchange_reduce_fn_t reduce =
      job->member_count > 1 ? job->loops->find_reduce(tensor->fold_op, tensor->dtype) : NULL;
  if (!reduce) {
    fold_range(job, range);
    return;
  }
  const size_t parts = tensor->part_count;
  reduce(&(hlo_exchange_reduce_t){.count = range->count * parts,
                                  .in_count = job->member_count,
                                  .out_count = range->out_count,
                                  .stride = job->stride,
                                  .in = job->in,
                                  .out = range->out,
                                  .in_begin = range->in_begin * parts,
                                  .out_begin = range->out_begin * parts,
                                  .is_streamed = job->is_streamed});
}

// Returns the elements of a chunk; a multiple of what the loops do at once.
static size_t chunk_elements(const tensor_t* tensor) {
  return CHUNK_BYTES / tensor->width;
}

static void reduce_chunk(void* argument, uint64_t chunk) {
  const job_t* job = argument;
  const size_t chunk_count = chunk_elements(job->tensor), at = chunk * chunk_count;
  const size_t left = job->tensor->count - at;
  reduce_range(job, &(range_t){.in_begin = at,
                               .out_begin = at,
                               .count = left < chunk_count ? left : chunk_count,
                               .out = job->out,
                               .out_count = job->member_count});
}

// Chunks of the slices, in receiver order.
static void scatter_chunk(void* argument, uint64_t index) {
  const job_t* job = argument;
  const tensor_t* tensor = job->tensor;
  const size_t chunk_count = chunk_elements(tensor);
  const size_t chunks = hlo_chunk_count(tensor->count, chunk_count), row = tensor->row_count;
  uint32_t receiver = (uint32_t)(index / chunks);
  size_t at = index % chunks * chunk_count, end = at + chunk_count;
  if (end > tensor->count) end = tensor->count;
  while (at < end) {
    size_t in_row = at % row, count = row - in_row;
    if (count > end - at) count = end - at;
    reduce_range(job,
                 &(range_t){.in_begin = (at / row * job->member_count + receiver) * row + in_row,
                            .out_begin = at,
                            .count = count,
                            .out = job->out + receiver * job->stride,
                            .out_count = 1});
    at += count;
  }
}

static void copy_piece(const job_t* job, uint32_t sender, uint32_t receiver, size_t piece) {
  enum { LONG_RUN_BYTES = 1 << 10 };  // where passing the caches is worth its setup
  const box_t* box = &job->tensor->box;
  const size_t width = job->tensor->width;
  int64_t dims[HLO_RANK_MAX];
  uint8_t* out = out_of(job, receiver) + sender * box->out_step;
  const uint8_t* in = in_of(job, sender) + receiver * box->in_step;
  size_t run_bytes = box->run_bytes;
  if (box->rank) {
    memcpy(dims, box->dims, box->rank * sizeof *dims);
    const uint32_t axis = box->piece_axis;
    const int64_t begin = (int64_t)piece * box->piece_rows, left = dims[axis] - begin;
    const int64_t rows = left < box->piece_rows ? left : box->piece_rows;
    if (axis >= box->run_rank) run_bytes = run_bytes / (size_t)dims[axis] * (size_t)rows;
    dims[axis] = rows;
    in += begin * box->in_strides[axis];
    out += begin * box->out_strides[axis];
  }
  if (job->moved_bytes && sender != receiver) {
    size_t bytes = width;
    for (uint32_t d = 0; d < box->rank; ++d) bytes *= (size_t)dims[d];
    count_moved(job->moved_bytes, bytes);
  }
  if (!job->is_streamed || run_bytes < LONG_RUN_BYTES) {
    hlo_strided_copy(width, box->rank, dims, out, box->out_strides, in, box->in_strides);
    return;
  }
  int64_t index[HLO_RANK_MAX] = {0};
  do {
    int64_t in_at = 0, out_at = 0;
    for (uint32_t d = 0; d < box->run_rank; ++d) {
      in_at += index[d] * box->in_strides[d];
      out_at += index[d] * box->out_strides[d];
    }
    job->loops->stream(out + out_at, in + in_at, run_bytes);
  } while (hlo_index_next(box->run_rank, dims, index));
  job->loops->fence();
}

// Returns the member whose operand `tensor` a member receives, as it says itself.
static int64_t root_of(const hlo_exchange_t* exchange, void* const* buffers, uint32_t member,
                       uint32_t tensor) {
  const hlo_dtype_t dtype = exchange->root_dtype;
  const uint8_t* roots =
      buffers[member * exchange->identity.buffer_count + exchange->operand_count - 1];
  return hlo_dtype_load_int64(dtype, roots + tensor * hlo_dtype_size_bytes(dtype));
}

static hlo_status_t check_roots(const hlo_exchange_t* exchange, const hlo_exchange_group_t* group,
                                void* const* buffers) {
  const uint32_t count = group->is_outside ? 0 : group->member_count;
  for (uint32_t m = 0; m < count; ++m) {
    for (uint32_t i = 0; i < exchange->tensor_count; ++i) {
      const int64_t root = root_of(exchange, buffers, m, i);
      if (root >= 0 && root < (int64_t)count) continue;
      return hlo_invalid_argument("the root is member %lld of a group of %u", (long long)root,
                                  count);
    }
  }
  return hlo_ok();
}

// Returns the chunks of a move: pieces of the box of each sender, receiver, or both.
static size_t move_chunk_count(const job_t* job) {
  const size_t pieces = job->tensor->box.piece_count;
  if (job->exchange->is_from_first) return pieces;
  return pieces * job->member_count * (job->tensor->box.in_step ? job->member_count : 1);
}

// A piece that all members receive is copied to all while it is in the caches.
static void move_chunk(void* argument, uint64_t index) {
  const job_t* job = argument;
  const box_t* box = &job->tensor->box;
  const size_t piece = index % box->piece_count;
  const uint32_t rest = (uint32_t)(index / box->piece_count);
  if (job->exchange->has_roots) {
    const uint32_t tensor = (uint32_t)(job->tensor - job->exchange->tensors);
    copy_piece(job, (uint32_t)root_of(job->exchange, job->in - tensor, rest, tensor), rest, piece);
  } else if (job->exchange->senders) {
    const uint32_t sender = job->exchange->senders[rest];
    if (sender != UINT32_MAX) {
      copy_piece(job, sender, rest, piece);
    } else if (piece == 0) {
      memset(out_of(job, rest), 0, job->tensor->count * job->tensor->width);
    }
  } else if (box->in_step) {
    copy_piece(job, rest % job->member_count, rest / job->member_count, piece);
  } else {
    for (uint32_t receiver = 0; receiver < job->member_count; ++receiver) {
      copy_piece(job, rest, receiver, piece);
    }
  }
}

static void run_job(job_t* job, const hlo_parallel_t* parallel) {
  const tensor_t* tensor = job->tensor;
  if (tensor->count == 0) return;
  size_t bytes = tensor->count * tensor->width;
  if (job->is_outside) {
    memset(out_of(job, 0), 0, bytes);
    return;
  }
  size_t chunks = hlo_chunk_count(tensor->count, CHUNK_BYTES / tensor->width);
  if (bytes * job->member_count < PARALLEL_BYTES) parallel = NULL;
  job->is_streamed = bytes * job->member_count >= HLO_TUNING_EXCHANGE_STREAM_BYTES;
  switch (job->exchange->kind) {
    case KIND_REDUCE: hlo_parallel_for(parallel, chunks, reduce_chunk, job); break;
    case KIND_SCATTER:
      hlo_parallel_for(parallel, chunks * job->member_count, scatter_chunk, job);
      break;
    case KIND_MOVE: hlo_parallel_for(parallel, move_chunk_count(job), move_chunk, job); break;
    case KIND_RAGGED: break;  // run_ragged()
  }
}

// ---- ragged all-to-all -------------------------------------------------------------------------

typedef struct ragged_job {
  const hlo_exchange_t* exchange;
  uint32_t member_count;
  void* const* buffers;
  atomic_uint_fast64_t* moved_bytes;  // as above
} ragged_job_t;

typedef struct slice {
  int64_t from, to, rows;
} slice_t;

static void* buffer_of(const ragged_job_t* job, uint32_t member, uint32_t i) {
  return job->buffers[member * job->exchange->identity.buffer_count + i];
}

static int64_t entry_of(const ragged_job_t* job, uint32_t sender, uint32_t i, int64_t at) {
  const hlo_dtype_t dtype = job->exchange->ragged.dtypes[i];
  const uint8_t* vector = buffer_of(job, sender, i);
  return hlo_dtype_load_int64(dtype, vector + (size_t)at * hlo_dtype_size_bytes(dtype));
}

// Reads slice `at` of a sender; returns false if it exceeds the tensors.
static bool read_slice(const ragged_job_t* job, uint32_t sender, int64_t at, slice_t* out_slice) {
  const ragged_t* ragged = &job->exchange->ragged;
  const slice_t slice = {.from = entry_of(job, sender, RAGGED_FROM, at),
                         .to = entry_of(job, sender, RAGGED_TO, at),
                         .rows = entry_of(job, sender, RAGGED_SIZES, at)};
  *out_slice = slice;
  return slice.from >= 0 && slice.to >= 0 && slice.rows >= 0 && slice.rows <= ragged->in_rows &&
         slice.from <= ragged->in_rows - slice.rows && slice.rows <= ragged->out_rows &&
         slice.to <= ragged->out_rows - slice.rows;
}

static hlo_status_t check_slices(const ragged_job_t* job) {
  const int64_t count = job->exchange->ragged.slice_count * job->member_count;
  for (uint32_t sender = 0; sender < job->member_count; ++sender) {
    for (int64_t at = 0; at < count; ++at) {
      slice_t slice;
      if (read_slice(job, sender, at, &slice)) continue;
      return hlo_invalid_argument("a slice of %lld rows from %lld to %lld exceeds its tensors",
                                  (long long)slice.rows, (long long)slice.from,
                                  (long long)slice.to);
    }
  }
  return hlo_ok();
}

// The result of one member: what it had, then the slices of all senders in order.
static void ragged_chunk(void* argument, uint64_t receiver) {
  const ragged_job_t* job = argument;
  const ragged_t* ragged = &job->exchange->ragged;
  uint8_t* out = buffer_of(job, (uint32_t)receiver, RAGGED_OPERANDS);
  const void* before = buffer_of(job, (uint32_t)receiver, RAGGED_OUT);
  if (out != before) memcpy(out, before, (size_t)ragged->out_rows * ragged->row_bytes);
  for (uint32_t sender = 0; sender < job->member_count; ++sender) {
    const uint8_t* in = buffer_of(job, sender, RAGGED_IN);
    for (int64_t i = 0; i < ragged->slice_count; ++i) {
      slice_t slice;
      read_slice(job, sender, (int64_t)receiver * ragged->slice_count + i, &slice);
      if (slice.rows == 0) continue;
      if (sender != receiver) {
        count_moved(job->moved_bytes, (size_t)slice.rows * ragged->row_bytes);
      }
      memcpy(out + (size_t)slice.to * ragged->row_bytes,
             in + (size_t)slice.from * ragged->row_bytes, (size_t)slice.rows * ragged->row_bytes);
    }
  }
}

static hlo_status_t run_ragged(const hlo_exchange_t* exchange, uint32_t member_count,
                               void* const* buffers, const hlo_parallel_t* parallel,
                               atomic_uint_fast64_t* moved_bytes) {
  ragged_job_t job = {exchange, member_count, buffers, moved_bytes};
  const tensor_t* tensor = &exchange->tensors[0];
  HLO_TRY(check_slices(&job));
  if (tensor->count == 0) return hlo_ok();
  if (tensor->count * tensor->width * member_count < PARALLEL_BYTES) parallel = NULL;
  hlo_parallel_for(parallel, member_count, ragged_chunk, &job);
  return hlo_ok();
}

hlo_status_t hlo_exchange_run(const hlo_exchange_t* exchange, const hlo_exchange_group_t* group,
                              void* const* buffers, const hlo_parallel_t* parallel,
                              uint64_t* out_moved_bytes) {
  atomic_uint_fast64_t count = 0, *moved_bytes = out_moved_bytes ? &count : NULL;
  if (exchange->kind == KIND_RAGGED) {
    HLO_TRY(run_ragged(exchange, group->member_count, buffers, parallel, moved_bytes));
  }
  if (exchange->has_roots) HLO_TRY(check_roots(exchange, group, buffers));
  for (uint32_t i = 0; i < exchange->tensor_count && exchange->kind != KIND_RAGGED; ++i) {
    job_t job = {.exchange = exchange,
                 .tensor = &exchange->tensors[i],
                 .member_count = group->member_count,
                 .is_outside = group->is_outside,
                 .stride = exchange->identity.buffer_count,
                 .in = buffers + i,
                 .out = buffers + exchange->operand_count + i,
                 .loops = find_loops(),
                 .moved_bytes = moved_bytes};
    run_job(&job, parallel);
  }
  if (out_moved_bytes) *out_moved_bytes = atomic_load_explicit(&count, memory_order_relaxed);
  return hlo_ok();
}
