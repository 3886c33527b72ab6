// SPDX-License-Identifier: Apache-2.0
// sort by a comparator of keys (sort_comparator.h): sorts the bits of the keys to a permutation for
// each line, then applies it to every operand. Other comparators are left to the caller.
#include <stdatomic.h>
#include <string.h>

#include "base/copy.h"
#include "ir/sort_comparator.h"
#include "lib/call_impl.h"
#include "lib/sort.h"

// The lines of a tensor along one dimension.
typedef struct {
  int64_t length, stride;  // in elements
  int64_t outer, inner;    // line l starts at (l / inner) * length * inner + l % inner
} lines_t;

static lines_t lines_of(const hlo_lib_array_t* tensor, uint32_t axis) {
  lines_t lines = {.length = 1, .outer = 1, .inner = 1};
  for (uint32_t d = 0; d < tensor->rank; d++) {
    if (d < axis) lines.outer *= tensor->dims[d];
    if (d == axis) lines.length = tensor->dims[d];
    if (d > axis) lines.inner *= tensor->dims[d];
  }
  lines.stride = lines.inner;
  return lines;
}

static int64_t line_start(const lines_t* lines, int64_t line) {
  return line / lines->inner * lines->length * lines->inner + line % lines->inner;
}

// The parameters of a sort.
typedef struct {
  const hlo_node_t* node;
  uint32_t count;  // of operands
  const hlo_lib_array_t *operands, *results;
  lines_t lines;
  int64_t line_count;
  uint32_t key_count;
  hlo_sort_key_t keys[HLO_SORT_KEYS_MAX];
  int64_t lines_per_chunk;
  int64_t group;         // lines sorted together; 0: each alone
  bool by_values;        // the only operand is its own key
  bool skips_unused;     // results without a use stay unwritten
  size_t scratch_bytes;  // per line in progress, or per group
} sort_t;

// A run of the lines in chunks.
typedef struct {
  sort_t sort;               // with the data of the run
  atomic_bool is_exhausted;  // a chunk failed to allocate memory
} sort_run_t;

// The memory of one line in progress.
typedef struct {
  void* scratch;              // of lib/sort.h
  char* line;                 // dense copy of a line of a key
  uint32_t* positions;        // of a line
  uint32_t* group_positions;  // of a group
} worker_t;

// ---- by keys

static hlo_sort_form_t form_of(const sort_t* sort, const hlo_sort_key_t* key) {
  const hlo_dtype_t dtype = sort->operands[key->operand].dtype;
  return (hlo_sort_form_t){.dtype = hlo_dtype_info(dtype)->part,
                           .canonical = key->canonical,
                           .descending = key->descending};
}

// Computes the memory of one line; the widest key decides.
static bool worker_bytes(const sort_t* sort, size_t* out_bytes) {
  size_t most = 0, rest = 0;
  for (uint32_t k = 0; k < sort->key_count; k++) {
    size_t bytes = 0;
    if (!hlo_sort_scratch_bytes(form_of(sort, &sort->keys[k]).dtype, sort->lines.length, &bytes)) {
      return false;
    }
    if (bytes > most) most = bytes;
  }
  if (sort->group) {
    const size_t bytes = hlo_sort_group_scratch_bytes(sort->lines.length);
    if (bytes > most) most = bytes;
  }
  const size_t each = sizeof(uint64_t) + (size_t)(sort->group + 1) * sizeof(uint32_t);
  return hlo_size_mul((size_t)sort->lines.length, each, &rest) &&
         hlo_size_add(most, rest, out_bytes);
}

static bool worker_init(sort_run_t* run, worker_t* out_worker) {
  const sort_t* sort = &run->sort;
  char* block = hlo_mem_alloc_aligned(sort->scratch_bytes, 64);
  if (!block) {
    atomic_store(&run->is_exhausted, true);
    return false;
  }
  const size_t length = (size_t)sort->lines.length;
  out_worker->positions = (uint32_t*)(block + sort->scratch_bytes) - length;
  out_worker->group_positions = out_worker->positions - length * (size_t)sort->group;
  out_worker->line = (char*)out_worker->group_positions - length * sizeof(uint64_t);
  out_worker->scratch = block;
  return true;
}

// Returns the line's key as dense elements: in the operand itself or in a copy.
static const char* key_line(const sort_t* sort, const worker_t* worker, const hlo_sort_key_t* key,
                            int64_t start) {
  const hlo_lib_array_t* operand = &sort->operands[key->operand];
  const size_t bytes = hlo_lib_element_bytes(operand);
  const size_t part_bytes = hlo_dtype_size_bytes(hlo_dtype_info(operand->dtype)->part);
  const char* line = (const char*)operand->data + (size_t)start * bytes;
  if (sort->lines.stride == 1 && part_bytes == bytes) return line;
  const int64_t in = sort->lines.stride * (int64_t)bytes, out = (int64_t)part_bytes;
  hlo_strided_copy(part_bytes, 1, &sort->lines.length, worker->line, &out,
                   line + (size_t)key->part * part_bytes, &in);
  return worker->line;
}

// Sorts the only operand by its own elements: no positions are needed.
static bool sort_values(const sort_t* sort, const hlo_parallel_t* parallel, const worker_t* worker,
                        int64_t start) {
  if (!sort->by_values) return false;
  const hlo_sort_form_t form = form_of(sort, &sort->keys[0]);
  const hlo_lib_array_t* result = &sort->results[0];
  const size_t bytes = hlo_lib_element_bytes(result);
  char* out = (char*)result->data + (size_t)start * bytes;
  const char* in = key_line(sort, worker, &sort->keys[0], start);
  const bool is_dense = sort->lines.stride == 1;
  if (!hlo_sort_values(parallel, &form, sort->lines.length, in, is_dense ? out : worker->line,
                       worker->scratch)) {
    return false;
  }
  if (!is_dense) {
    const int64_t to = sort->lines.stride * (int64_t)bytes, from = (int64_t)bytes;
    hlo_strided_copy(bytes, 1, &sort->lines.length, out, &to, worker->line, &from);
  }
  return true;
}

// out[i * stride] = in[positions[i] * stride], in parts.
typedef struct {
  size_t bytes;  // per element
  int64_t count, stride;
  const uint32_t* positions;
  char* out;
  const char* in;
} permute_t;

enum { PERMUTE_PIECE = 1 << 15 };

static void permute_piece(void* arg, uint64_t index) {
  const permute_t* p = arg;
  const int64_t first = (int64_t)index * PERMUTE_PIECE, left = p->count - first;
  hlo_sort_permute(p->bytes, left < PERMUTE_PIECE ? left : PERMUTE_PIECE, p->stride,
                   p->positions + first, p->in, p->out + (size_t)(first * p->stride) * p->bytes);
}

// Returns true if the operand holds the positions of its line, as argsort passes one.
static bool is_own_position(const sort_t* sort, uint32_t k) {
  const hlo_node_t* def = hlo_node_operand(sort->node, k)->def;
  const hlo_lib_array_t* tensor = &sort->operands[k];
  return def && def->op == HLO_OP_iota && sort->lines.stride == 1 &&
         hlo_node_attr_int(def, HLO_ATTR_iota_dimension, -1) == (int64_t)tensor->rank - 1 &&
         hlo_dtype_is_integer(tensor->dtype) && hlo_dtype_info(tensor->dtype)->bits >= 32;
}

// Moves the elements of a line of every operand to their sorted positions.
static void permute_operands(const sort_t* sort, const hlo_parallel_t* parallel,
                             const uint32_t* positions, int64_t start) {
  for (uint32_t k = 0; k < sort->count; k++) {
    if (sort->skips_unused && hlo_value_is_unused(&sort->node->results[k])) continue;
    const size_t bytes = hlo_lib_element_bytes(&sort->results[k]);
    const size_t at = (size_t)start * bytes;
    permute_t permute = {.bytes = bytes,
                         .count = sort->lines.length,
                         .stride = sort->lines.stride,
                         .positions = positions,
                         .out = (char*)sort->results[k].data + at,
                         .in = (const char*)sort->operands[k].data + at};
    if (is_own_position(sort, k)) {
      hlo_dtype_convert(HLO_DTYPE_U32, positions, sort->results[k].dtype, permute.out,
                        (size_t)permute.count);
      continue;
    }
    hlo_parallel_for(parallel, hlo_chunk_count((size_t)permute.count, PERMUTE_PIECE), permute_piece,
                     &permute);
  }
}

static void sort_positions(const sort_t* sort, const hlo_parallel_t* parallel,
                           const worker_t* worker, int64_t start) {
  for (uint32_t k = sort->key_count; k > 0; k--) {  // the most significant key last
    const hlo_sort_key_t* key = &sort->keys[k - 1];
    const hlo_sort_form_t form = form_of(sort, key);
    hlo_sort_positions(parallel, &form, sort->lines.length, key_line(sort, worker, key, start),
                       k == sort->key_count, worker->positions, worker->scratch);
  }
  permute_operands(sort, parallel, worker->positions, start);
}

static void sort_line(const sort_t* sort, const hlo_parallel_t* parallel, const worker_t* worker,
                      int64_t line) {
  const int64_t start = line_start(&sort->lines, line);
  if (!sort_values(sort, parallel, worker, start)) sort_positions(sort, parallel, worker, start);
}

// Sorts lines that are consecutive or adjacent.
static void sort_group(const sort_t* sort, const worker_t* worker, int64_t first, int64_t lines) {
  const hlo_sort_form_t form = form_of(sort, &sort->keys[0]);
  const hlo_lib_array_t* operand = &sort->operands[sort->keys[0].operand];
  const int64_t length = sort->lines.length, stride = sort->lines.stride;
  const int64_t start = line_start(&sort->lines, first);
  const char* in = (const char*)operand->data + (size_t)start * hlo_lib_element_bytes(operand);
  if (!sort->by_values) {
    hlo_sort_group_positions(&form, lines, length, stride, in, worker->group_positions,
                             worker->scratch);
    for (int64_t l = 0; l < lines; l++) {
      permute_operands(sort, NULL, worker->group_positions + l * length,
                       line_start(&sort->lines, first + l));
    }
    return;
  }
  char* out = (char*)sort->results[0].data + (size_t)start * hlo_lib_element_bytes(operand);
  const uint32_t left =
      hlo_sort_group_values(&form, lines, length, stride, in, out, worker->scratch);
  for (int64_t l = 0; l < lines; l++) {
    if (left >> l & 1) sort_line(sort, NULL, worker, first + l);
  }
}

static void sort_chunk(void* arg, uint64_t index) {
  sort_run_t* run = arg;
  const sort_t* sort = &run->sort;
  int64_t l = (int64_t)index * sort->lines_per_chunk;
  const int64_t end =
      l + sort->lines_per_chunk < sort->line_count ? l + sort->lines_per_chunk : sort->line_count;
  worker_t worker;
  if (!worker_init(run, &worker)) return;
  while (l < end) {
    int64_t lines = end - l < sort->group ? end - l : sort->group;
    const int64_t beside = sort->lines.inner - l % sort->lines.inner;
    if (sort->lines.inner > 1 && beside < lines) lines = beside;
    if (sort->group && 2 * lines > sort->group) {  // empty lanes cost as much as used ones
      sort_group(sort, &worker, l, lines);
      l += lines;
    } else {
      sort_line(sort, NULL, &worker, l++);
    }
  }
  hlo_mem_free(worker.scratch);
}

// Chooses the fast path of the sort, if one applies.
static void choose_form(sort_t* sort) {
  if (sort->key_count != 1) return;
  const hlo_sort_form_t form = form_of(sort, &sort->keys[0]);
  const hlo_dtype_t dtype = sort->operands[sort->keys[0].operand].dtype;
  sort->by_values = sort->count == 1 && form.dtype == dtype && hlo_sort_values_supports(form.dtype);
  if (form.dtype == dtype) {
    sort->group = hlo_sort_group(&form, !sort->by_values, sort->lines.length);
  }
  if (2 * sort->line_count <= sort->group) sort->group = 0;
}

// Splits a few long lines into parts; distributes many short ones over the threads whole.
static hlo_status_t sort_run(const hlo_lib_run_t* lib_run) {
  enum { LONG_LINE = 1 << 16, FEW_LINES = 8 };
  sort_run_t run = {.sort = *(const sort_t*)lib_run->plan};
  sort_t* sort = &run.sort;
  sort->operands = lib_run->operands;
  sort->results = lib_run->results;
  if (sort->line_count < FEW_LINES && sort->lines.length >= LONG_LINE) {
    worker_t worker;
    for (int64_t l = 0; l < sort->line_count && worker_init(&run, &worker); l++) {
      sort_line(sort, lib_run->parallel, &worker, l);
      hlo_mem_free(worker.scratch);
    }
  } else {
    hlo_parallel_for(lib_run->parallel,
                     hlo_chunk_count((size_t)sort->line_count, (size_t)sort->lines_per_chunk),
                     sort_chunk, &run);
  }
  return atomic_load(&run.is_exhausted) ? hlo_status_out_of_memory(sort->scratch_bytes) : hlo_ok();
}

static bool fits(const sort_t* sort, int64_t axis) {
  const hlo_lib_array_t* first = sort->operands;
  bool is_same = axis >= 0 && axis < (int64_t)first->rank && first->element_count > 0;
  for (uint32_t k = 0; k < sort->count; k++) {
    is_same &= sort->operands[k].element_count == first->element_count;
  }
  return is_same && sort->node->regions[0]->arg_count == 2 * sort->count;
}

hlo_status_t hlo_lib_prepare_sort(hlo_lib_call_t* call, hlo_arena_t* arena) {
  enum { CHUNK_ELEMENTS = 1 << 14 };
  const hlo_node_t* node = call->node;
  sort_t* sort = hlo_arena_array(arena, 1, sizeof *sort);
  HLO_TRY(hlo_arena_status(arena));
  *sort = (sort_t){.node = node, .count = node->operand_count, .operands = call->operands};
  int64_t axis = hlo_node_attr_int(node, HLO_ATTR_dimension, -1);
  if (axis < 0) axis += sort->operands[0].rank;
  if (!fits(sort, axis)) return hlo_ok();
  sort->lines = lines_of(&sort->operands[0], (uint32_t)axis);
  sort->line_count = sort->lines.outer * sort->lines.inner;
  sort->key_count = hlo_sort_keys_of(node->regions[0], sort->keys);
  if (!sort->key_count || sort->lines.length > HLO_SORT_COUNT_MAX) return hlo_ok();
  for (uint32_t k = 0; k < sort->count; k++) {
    sort->skips_unused |= !hlo_value_is_unused(&node->results[k]);
  }
  choose_form(sort);
  if (!worker_bytes(sort, &sort->scratch_bytes)) return hlo_ok();
  const int64_t lines = CHUNK_ELEMENTS / sort->lines.length;
  sort->lines_per_chunk = lines < 1 ? 1 : lines;
  if (sort->group) {
    sort->lines_per_chunk = (sort->lines_per_chunk + sort->group - 1) / sort->group * sort->group;
  }
  call->plan = sort;
  call->run = sort_run;
  return hlo_ok();
}
