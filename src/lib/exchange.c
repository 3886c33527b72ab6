// SPDX-License-Identifier: Apache-2.0
// Exchanges between members of a group (see exchange.h). Reductions fold a block of all operands
// while it is in the cache, first member to last like the reference; all other collectives are
// strided copies.
#include "lib/exchange.h"

#include <string.h>

#include "base/copy.h"
#include "ir/process_groups.h"
#include "lib/fold.h"

enum {
  BLOCK_BYTES = 1 << 14,     // of each operand, folded at a time
  CHUNK_BYTES = 1 << 18,     // of each operand, per chunk of a parallel loop
  PARALLEL_BYTES = 1 << 17,  // smaller exchanges stay on the calling thread
};

typedef enum exchange_kind {
  KIND_REDUCE,   // the fold of all operands, sent to every member
  KIND_SCATTER,  // one slice of the fold to each member
  KIND_MOVE,     // boxes copied between members
} exchange_kind_t;

// The box copied from sender s to receiver r: it begins at byte r * in_step of the operand and s *
// out_step of the result.
typedef struct box {
  uint32_t rank;
  int64_t dims[HLO_RANK_MAX], in_strides[HLO_RANK_MAX], out_strides[HLO_RANK_MAX];
  size_t in_step, out_step;
} box_t;

typedef struct tensor {
  size_t width;            // bytes of an element
  size_t count;            // elements of the result
  size_t row_count;        // KIND_SCATTER: contiguous elements of a slice
  const hlo_fold_t* fold;  // for reductions, on parts of `dtype`
  hlo_dtype_t dtype;
  size_t part_count;  // parts of an element: 2 of complex numbers
  box_t box;          // of KIND_MOVE
} tensor_t;

struct hlo_exchange {
  exchange_kind_t kind;
  const hlo_attr_t* pairs;  // of a permutation: source and target processes
  bool is_from_first;       // every member receives the first member's operand
  uint32_t tensor_count, group_count;
  tensor_t* tensors;
  hlo_exchange_group_t* groups;
  uint32_t *group_of, *position_of;  // by process
};

// ---- description of an exchange -----------------------------------------------------------------

// Returns the only op of a computation on its two arguments.
static const hlo_node_t* find_operation(const hlo_node_t* node) {
  bool is_swapped;
  const hlo_node_t* op =
      node->region_count == 1 ? hlo_region_binary_op(node->regions[0], &is_swapped) : NULL;
  return op && !is_swapped ? op : NULL;
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
  tensor->fold = hlo_fold_find(hlo_fold_op_of(op), tensor->dtype);
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
    default: return false;
  }
}

static size_t axis_of(const hlo_node_t* node, hlo_attr_id_t id) {
  return (size_t)hlo_node_attr_int(node, id, 0);
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

// ---- participants -------------------------------------------------------------------------------

static uint32_t find_position(const hlo_exchange_group_t* group, uint32_t process) {
  uint32_t position = 0;
  while (group->members[position] != process) ++position;
  return position;
}

// Fills in the groups; returns false if a process has no group or the groups differ in size.
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
  for (uint32_t p = 0; p < processes; ++p) {
    uint32_t count = 0, g = 0;
    HLO_TRY(hlo_group_members(node, hlo_group_strategy(node), ids, replica_count, partition_count,
                              p, members, &count));
    if (count == 0 || (p > 0 && count != exchange->groups[0].member_count)) return hlo_ok();
    while (g < exchange->group_count &&
           memcmp(exchange->groups[g].members, members, count * sizeof *members) != 0) {
      ++g;
    }
    if (g == exchange->group_count) {
      uint32_t* own = hlo_arena_array(arena, count, sizeof *own);
      if (!own) return hlo_arena_status(arena);
      memcpy(own, members, count * sizeof *own);
      exchange->groups[exchange->group_count++] = (hlo_exchange_group_t){count, own};
    }
    exchange->group_of[p] = g;
    exchange->position_of[p] = find_position(&exchange->groups[g], p);
  }
  *out_is_whole = true;
  return hlo_ok();
}

// Reads the pairs of a permutation; returns false if they name a process that does not exist.
static bool prepare_pairs(const hlo_node_t* node, hlo_exchange_t* exchange) {
  if (node->op != HLO_OP_collective_permute) return true;
  const hlo_attr_t* pairs = hlo_node_attr(node, HLO_ATTR_source_target_pairs);
  if (!pairs || pairs->kind != HLO_ATTR_KIND_INTS) return false;
  for (uint32_t k = 0; k < pairs->count; ++k) {
    if (pairs->values[k] < 0 || pairs->values[k] >= exchange->groups[0].member_count) return false;
  }
  exchange->pairs = pairs;
  return true;
}

hlo_status_t hlo_exchange_create(const hlo_node_t* node, uint32_t replica_count,
                                 uint32_t partition_count, hlo_arena_t* arena,
                                 const hlo_exchange_t** out_exchange) {
  *out_exchange = NULL;
  exchange_kind_t kind;
  bool is_whole = false;
  if (!find_kind(node, &kind) || node->operand_count != node->result_count) return hlo_ok();
  if (hlo_node_attr_bool(node, HLO_ATTR_has_dynamic_root, false)) return hlo_ok();
  hlo_exchange_t* exchange = hlo_arena_alloc_zeroed(arena, sizeof *exchange);
  if (!exchange) return hlo_arena_status(arena);
  HLO_TRY(make_groups(node, replica_count, partition_count, arena, exchange, &is_whole));
  if (!is_whole) return hlo_ok();
  exchange->kind = kind;
  exchange->is_from_first = node->op == HLO_OP_collective_broadcast;
  exchange->tensor_count = node->result_count;
  exchange->tensors = hlo_arena_array(arena, node->result_count, sizeof *exchange->tensors);
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 0; i < node->result_count; ++i) {
    uint32_t member_count = exchange->groups[0].member_count;
    if (!prepare_tensor(node, kind, i, member_count, &exchange->tensors[i])) return hlo_ok();
  }
  if (prepare_pairs(node, exchange)) *out_exchange = exchange;
  return hlo_ok();
}

const hlo_exchange_group_t* hlo_exchange_group(const hlo_exchange_t* exchange, uint32_t process,
                                               uint32_t* out_position) {
  *out_position = exchange->position_of[process];
  return &exchange->groups[exchange->group_of[process]];
}

uint32_t hlo_exchange_tensor_count(const hlo_exchange_t* exchange) {
  return exchange->tensor_count;
}

// ---- running -----------------------------------------------------------------------------------

// One tensor of one rendezvous.
typedef struct job {
  const hlo_exchange_t* exchange;
  const tensor_t* tensor;
  uint32_t member_count;
  size_t stride;    // distance from a member's buffers to the next member's
  void* const* in;  // of the first member
  void* const* out;
} job_t;

static uint8_t* in_of(const job_t* job, uint32_t member) {
  return job->in[member * job->stride];
}

static uint8_t* out_of(const job_t* job, uint32_t member) {
  return job->out[member * job->stride];
}

// Folds elements [at, at + count) of all operands into `out`, which must not be an operand.
static void fold_block(const job_t* job, size_t at, size_t count, void* out) {
  const tensor_t* tensor = job->tensor;
  const size_t begin = at * tensor->width;
  memcpy(out, in_of(job, 0) + begin, count * tensor->width);
  for (uint32_t m = 1; m < job->member_count; ++m) {
    hlo_fold_combine(tensor->fold, tensor->dtype, (int64_t)(count * tensor->part_count), out,
                     in_of(job, m) + begin);
  }
}

static void reduce_chunk(void* argument, uint64_t chunk) {
  const job_t* job = argument;
  const tensor_t* tensor = job->tensor;
  const size_t chunk_count = CHUNK_BYTES / tensor->width, block = BLOCK_BYTES / tensor->width;
  size_t at = chunk * chunk_count, end = at + chunk_count;
  uint64_t sums[BLOCK_BYTES / sizeof(uint64_t)];
  if (end > tensor->count) end = tensor->count;
  for (; at < end; at += block) {
    size_t count = end - at < block ? end - at : block;
    fold_block(job, at, count, sums);
    for (uint32_t m = 0; m < job->member_count; ++m) {
      memcpy(out_of(job, m) + at * tensor->width, sums, count * tensor->width);
    }
  }
}

// Chunks of the slices, in receiver order.
static void scatter_chunk(void* argument, uint64_t index) {
  const job_t* job = argument;
  const tensor_t* tensor = job->tensor;
  const size_t chunk_count = CHUNK_BYTES / tensor->width, block = BLOCK_BYTES / tensor->width;
  const size_t chunks = hlo_chunk_count(tensor->count, chunk_count), row = tensor->row_count;
  uint32_t receiver = (uint32_t)(index / chunks);
  size_t at = index % chunks * chunk_count, end = at + chunk_count;
  if (end > tensor->count) end = tensor->count;
  while (at < end) {
    size_t in_row = at % row, count = row - in_row;
    if (count > end - at) count = end - at;
    if (count > block) count = block;
    size_t from = (at / row * job->member_count + receiver) * row + in_row;
    fold_block(job, from, count, out_of(job, receiver) + at * tensor->width);
    at += count;
  }
}

// Returns the sender of a receiver in a permutation; UINT32_MAX: no sender.
static uint32_t giver_of(const hlo_attr_t* pairs, uint32_t receiver) {
  for (uint32_t k = 0; k + 1 < pairs->count; k += 2) {
    if (pairs->values[k + 1] == (int64_t)receiver) return (uint32_t)pairs->values[k];
  }
  return UINT32_MAX;
}

static void copy_box(const job_t* job, uint32_t sender, uint32_t receiver) {
  const box_t* box = &job->tensor->box;
  hlo_strided_copy(job->tensor->width, box->rank, box->dims,
                   out_of(job, receiver) + sender * box->out_step, box->out_strides,
                   in_of(job, sender) + receiver * box->in_step, box->in_strides);
}

// Copies the boxes of one receiver: from all members, or from one.
static void move_chunk(void* argument, uint64_t index) {
  const job_t* job = argument;
  const hlo_exchange_t* exchange = job->exchange;
  uint32_t receiver = (uint32_t)index;
  if (exchange->pairs) {
    uint32_t giver = giver_of(exchange->pairs, receiver);
    if (giver != UINT32_MAX) {
      copy_box(job, giver, receiver);
    } else {
      memset(out_of(job, receiver), 0, job->tensor->count * job->tensor->width);
    }
    return;
  }
  uint32_t end = exchange->is_from_first ? 1 : job->member_count;
  for (uint32_t sender = 0; sender < end; ++sender) copy_box(job, sender, receiver);
}

static void run_job(job_t* job, const hlo_parallel_t* parallel) {
  const tensor_t* tensor = job->tensor;
  if (tensor->count == 0) return;
  size_t bytes = tensor->count * tensor->width;
  size_t chunks = hlo_chunk_count(tensor->count, CHUNK_BYTES / tensor->width);
  if (bytes * job->member_count < PARALLEL_BYTES) parallel = NULL;
  switch (job->exchange->kind) {
    case KIND_REDUCE: hlo_parallel_for(parallel, chunks, reduce_chunk, job); break;
    case KIND_SCATTER:
      hlo_parallel_for(parallel, chunks * job->member_count, scatter_chunk, job);
      break;
    case KIND_MOVE: hlo_parallel_for(parallel, job->member_count, move_chunk, job); break;
  }
}

void hlo_exchange_run(const hlo_exchange_t* exchange, const hlo_exchange_group_t* group,
                      void* const* buffers, const hlo_parallel_t* parallel) {
  for (uint32_t i = 0; i < exchange->tensor_count; ++i) {
    job_t job = {.exchange = exchange,
                 .tensor = &exchange->tensors[i],
                 .member_count = group->member_count,
                 .stride = (size_t)2 * exchange->tensor_count,
                 .in = buffers + i,
                 .out = buffers + exchange->tensor_count + i};
    run_job(&job, parallel);
  }
}
