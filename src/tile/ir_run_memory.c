// SPDX-License-Identifier: Apache-2.0
// References at run time: allocations, parts of them, their elements, copies and synchronisation.
#include <inttypes.h>
#include <string.h>

#include "tile/ir_run_impl.h"

enum { UNDEFINED = 0xff };  // bytes of new allocations: NaNs, and -1

// ---- messages

static const char* root_of(hlo_tile_run_t* run, const hlo_run_storage_t* storage) {
  if (!storage->op) return hlo_arena_printf(&run->scratch, "buffer %u", storage->buffer);
  HLO_SCOPED_STRBUF name = {0};
  hlo_tile_op_format(storage->op, &name);
  const char* text = hlo_strbuf_text(&name);
  return hlo_arena_strndup(&run->scratch, text, strlen(text));
}

hlo_status_t hlo_run_note(hlo_tile_run_t* run, hlo_run_storage_t* storage, int64_t element,
                          hlo_race_access_t access, const hlo_tile_op_t* op) {
  const hlo_tile_op_t* other =
      hlo_race_access(run->races, run->thread, &storage->cells[element], access, op);
  if (!other) return hlo_arena_status(run->races->arena);
  HLO_SCOPED_STRBUF first = {0};
  HLO_SCOPED_STRBUF second = {0};
  hlo_tile_op_format(other, &first);
  hlo_tile_op_format(op, &second);
  const char* root = root_of(run, storage);
  return hlo_failed_precondition("race: nothing orders %s and %s at element %" PRId64 " of %s",
                                 hlo_strbuf_text(&first), hlo_strbuf_text(&second), element,
                                 root ? root : "memory");
}

static hlo_status_t outside(const hlo_tile_op_t* op, uint32_t dim, int64_t index, int64_t extent) {
  HLO_SCOPED_STRBUF name = {0};
  hlo_tile_op_format(op, &name);
  return hlo_status_create(HLO_STATUS_OUT_OF_RANGE,
                           "%s: index %" PRId64 " of dimension %u, which has %" PRId64,
                           hlo_strbuf_text(&name), index, dim, extent);
}

// ---- allocations

hlo_run_scope_t hlo_run_enter(const hlo_tile_run_t* run) {
  return (hlo_run_scope_t){hlo_arena_mark(&run->memory), run->storages};
}

hlo_status_t hlo_run_leave(hlo_tile_run_t* run, hlo_run_scope_t scope) {
  for (const hlo_run_storage_t* s = run->storages; s != scope.storages; s = s->next) {
    for (int64_t i = 0; s->semaphores && i < s->count; ++i) {
      int64_t left = s->semaphores[i].count + s->semaphores[i].arrived;
      if (!left) continue;
      const char* root = root_of(run, s);
      return hlo_failed_precondition("%s ends with %" PRId64 " that nothing has waited for",
                                     root ? root : "a semaphore", left);
    }
  }
  run->storages = scope.storages;
  hlo_arena_reset(&run->memory, scope.mark);
  return hlo_ok();
}

static hlo_status_t allocate(hlo_tile_run_t* run, const hlo_tile_op_t* op, hlo_run_view_t* view) {
  hlo_run_storage_t* storage = hlo_arena_alloc_zeroed(&run->memory, sizeof *storage);
  HLO_TRY(hlo_arena_status(&run->memory));
  size_t count = (size_t)hlo_tile_ref_count(op), bytes = hlo_dtype_size_bytes(op->dtype);
  *storage = (hlo_run_storage_t){
      .op = op, .count = (int64_t)count, .element_bytes = bytes, .next = run->storages};
  if (op->ref.space == HLO_TILE_SPACE_semaphore || op->ref.space == HLO_TILE_SPACE_barrier) {
    size_t each = sizeof *storage->semaphores;
    if (count > HLO_RUN_MAX_BYTES / each) return hlo_resource_exhausted("too many semaphores");
    storage->semaphores = hlo_arena_alloc_zeroed(&run->memory, count * each + 1);
  } else {
    storage->data = hlo_arena_array(&run->memory, count + 1, bytes);
    if (storage->data) memset(storage->data, UNDEFINED, count * bytes);
    if (run->races && storage->data) {
      storage->cells = hlo_arena_alloc_zeroed(&run->memory, (count + 1) * sizeof *storage->cells);
    }
  }
  HLO_TRY(hlo_arena_status(&run->memory));
  run->storages = storage;
  *view = (hlo_run_view_t){.storage = storage};
  return hlo_ok();
}

// ---- views

static hlo_run_view_t* view_of(const hlo_tile_run_t* run, const hlo_tile_op_t* ref) {
  return run->values[ref->number].view;
}

static hlo_status_t slice(hlo_tile_run_t* run, const hlo_tile_op_t* op, int64_t count,
                          hlo_run_view_t* view) {
  const hlo_tile_op_t* of = op->operands[0];
  const hlo_run_view_t* from = view_of(run, of);
  *view = (hlo_run_view_t){.storage = from->storage, .offset = from->offset};
  for (uint32_t i = 0; i < op->index_count; ++i) {
    const int64_t* start = hlo_run_evaluate(run, op->indices[i], count);
    HLO_TRY(hlo_arena_status(&run->scratch));
    int64_t last = start[0] + (op->sizes[i] - 1) * op->strides[i];
    if (start[0] < 0 || last >= of->ref.dims[i]) {
      return outside(op, i, start[0] < 0 ? start[0] : last, of->ref.dims[i]);
    }
    view->offset += start[0] * from->strides[i];
  }
  return hlo_ok();
}

static hlo_status_t make_view(hlo_tile_run_t* run, const hlo_tile_op_t* op, int64_t count) {
  hlo_run_view_t* view = view_of(run, op);
  switch (op->kind) {
    case HLO_TILE_OP_reference: *view = (hlo_run_view_t){&run->buffers[op->buffer], 0, {0}}; break;
    case HLO_TILE_OP_alloc: HLO_TRY(allocate(run, op, view)); break;
    case HLO_TILE_OP_slice: HLO_TRY(slice(run, op, count, view)); break;
    default: *view = *view_of(run, op->operands[0]); break;
  }
  hlo_tile_ref_strides(op, view->strides);
  return hlo_ok();
}

// Lists where all elements of a reference are, in row-major order; NULL when memory is exhausted.
static int64_t* list_elements(hlo_tile_run_t* run, const hlo_tile_op_t* ref) {
  const hlo_run_view_t* view = view_of(run, ref);
  int64_t count = hlo_tile_ref_count(ref);
  int64_t* places = hlo_arena_array(&run->scratch, (size_t)count + 1, sizeof *places);
  for (int64_t n = 0; places && n < count; ++n) {
    int64_t rest = n, place = view->offset;
    for (uint32_t i = ref->ref.rank; i-- > 0; rest /= ref->ref.dims[i]) {
      place += rest % ref->ref.dims[i] * view->strides[i];
    }
    places[n] = place;
  }
  return places;
}

// ---- elements of tiles

// Where the index of every active point is; inactive points have none, -1.
static hlo_status_t find_places(hlo_tile_run_t* run, const hlo_tile_op_t* op, int64_t count,
                                const uint8_t* mask, int64_t** out_places) {
  const hlo_tile_op_t* ref = op->operands[0];
  const hlo_run_view_t* view = view_of(run, ref);
  int64_t* places = hlo_arena_array(&run->scratch, (size_t)count, sizeof *places);
  HLO_TRY(hlo_arena_status(&run->scratch));
  for (int64_t p = 0; p < count; ++p) {
    places[p] = hlo_run_is_on(run, p, count) && (!mask || mask[p]) ? view->offset : -1;
  }
  for (uint32_t i = 0; i < op->index_count; ++i) {
    const int64_t* index = hlo_run_evaluate(run, op->indices[i], count);
    HLO_TRY(hlo_arena_status(&run->scratch));
    for (int64_t p = 0; p < count; ++p) {
      if (places[p] < 0) continue;
      if (index[p] < 0 || index[p] >= ref->ref.dims[i]) {
        return outside(op, i, index[p], ref->ref.dims[i]);
      }
      places[p] += index[p] * view->strides[i];
    }
  }
  *out_places = places;
  return hlo_ok();
}

static hlo_status_t access_elements(hlo_tile_run_t* run, const hlo_tile_op_t* op, int64_t count) {
  bool is_load = op->kind == HLO_TILE_OP_ref_load;
  hlo_run_storage_t* storage = view_of(run, op->operands[0])->storage;
  const uint8_t* operands[HLO_TILE_MAX_OPERANDS] = {NULL};
  for (uint32_t i = 1; i < op->operand_count; ++i) {
    operands[i] = hlo_run_spread(run, op->operands[i], count);
  }
  HLO_TRY(hlo_arena_status(&run->scratch));
  const uint8_t* mask = op->is_masked ? operands[is_load ? 1 : 2] : NULL;
  int64_t* places;
  HLO_TRY(find_places(run, op, count, mask, &places));
  size_t bytes = storage->element_bytes;
  if (is_load) run->values[op->number].count = count;
  for (int64_t p = 0; p < count; ++p) {
    uint8_t* value = is_load ? (uint8_t*)run->values[op->number].data + (size_t)p * bytes : NULL;
    if (places[p] < 0) {
      if (!is_load) continue;
      if (mask && !mask[p]) {
        memcpy(value, operands[2] + (size_t)p * bytes, bytes);
      } else {
        memset(value, 0, bytes);
      }
      continue;
    }
    uint8_t* element = storage->data + (size_t)places[p] * bytes;
    if (is_load) {
      memcpy(value, element, bytes);
    } else {
      memcpy(element, operands[1] + (size_t)p * bytes, bytes);
    }
    hlo_race_access_t access = is_load ? HLO_RACE_READ : HLO_RACE_WRITE;
    if (storage->cells) HLO_TRY(hlo_run_note(run, storage, places[p], access, op));
  }
  return hlo_ok();
}

static hlo_status_t update(hlo_tile_run_t* run, const hlo_tile_op_t* op, uint8_t* element,
                           const uint8_t* first, const uint8_t* second) {
  static const hlo_op_t OPS[HLO_TILE_ATOMIC_COUNT] = {[HLO_TILE_ATOMIC_add] = HLO_OP_add,
                                                      [HLO_TILE_ATOMIC_max] = HLO_OP_maximum,
                                                      [HLO_TILE_ATOMIC_min] = HLO_OP_minimum};
  size_t bytes = hlo_dtype_size_bytes(op->dtype);
  if (op->atomic == HLO_TILE_ATOMIC_exchange) {
    memcpy(element, first, bytes);
    return hlo_ok();
  }
  if (op->atomic == HLO_TILE_ATOMIC_compare_exchange) {
    if (memcmp(element, first, bytes) == 0) memcpy(element, second, bytes);
    return hlo_ok();
  }
  const hlo_tile_map_t what = {.op = OPS[op->atomic]};
  const hlo_dtype_t dtypes[2] = {op->dtype, op->dtype};
  uint8_t result[HLO_RUN_ELEMENT_BYTES];
  HLO_TRY(
      hlo_run_map(run, &what, 2, dtypes, (const void*[]){element, first}, op->dtype, result, 1));
  memcpy(element, result, bytes);
  return hlo_ok();
}

// Point after point, each after the other.
static hlo_status_t run_atomic(hlo_tile_run_t* run, const hlo_tile_op_t* op, int64_t count) {
  hlo_run_storage_t* storage = view_of(run, op->operands[0])->storage;
  const uint8_t* operands[HLO_TILE_MAX_OPERANDS] = {NULL};
  for (uint32_t i = 1; i < op->operand_count; ++i) {
    operands[i] = hlo_run_spread(run, op->operands[i], count);
  }
  HLO_TRY(hlo_arena_status(&run->scratch));
  int64_t* places;
  HLO_TRY(
      find_places(run, op, count, op->is_masked ? operands[op->operand_count - 1] : NULL, &places));
  size_t bytes = storage->element_bytes;
  hlo_run_value_t* value = &run->values[op->number];
  value->count = count;
  const uint8_t* second = op->operand_count > 2 ? operands[2] : NULL;
  for (int64_t p = 0; p < count; ++p) {
    size_t at = (size_t)p * bytes;
    if (places[p] < 0) {
      memset((uint8_t*)value->data + at, 0, bytes);
      continue;
    }
    uint8_t* element = storage->data + (size_t)places[p] * bytes;
    memcpy((uint8_t*)value->data + at, element, bytes);
    HLO_TRY(update(run, op, element, operands[1] + at, second ? second + at : NULL));
    if (storage->cells) HLO_TRY(hlo_run_note(run, storage, places[p], HLO_RACE_ATOMIC, op));
  }
  return hlo_ok();
}

// ---- whole references

// Records an access to all elements that are listed.
static hlo_status_t note_all(hlo_tile_run_t* run, const hlo_tile_op_t* ref, const int64_t* places,
                             hlo_race_access_t access, const hlo_tile_op_t* op) {
  hlo_run_storage_t* storage = view_of(run, ref)->storage;
  int64_t count = storage->cells ? hlo_tile_ref_count(ref) : 0;
  for (int64_t n = 0; n < count; ++n) {
    HLO_TRY(hlo_run_note(run, storage, places[n], access, op));
  }
  return hlo_ok();
}

// Takes the elements of a reference, in row-major order, converted to a type.
static hlo_status_t take_elements(hlo_tile_run_t* run, const hlo_tile_op_t* ref, hlo_dtype_t dtype,
                                  const hlo_tile_op_t* op, uint8_t** out_elements) {
  const hlo_run_storage_t* storage = view_of(run, ref)->storage;
  size_t bytes = storage->element_bytes, count = (size_t)hlo_tile_ref_count(ref);
  const int64_t* places = list_elements(run, ref);
  uint8_t* elements = hlo_arena_array(&run->scratch, count + 1, bytes);
  HLO_TRY(hlo_arena_status(&run->scratch));
  for (size_t n = 0; n < count; ++n) {
    memcpy(elements + n * bytes, storage->data + (size_t)places[n] * bytes, bytes);
  }
  HLO_TRY(note_all(run, ref, places, HLO_RACE_READ, op));
  *out_elements = elements;
  if (dtype == ref->dtype) return hlo_ok();
  *out_elements = hlo_arena_array(&run->scratch, count + 1, hlo_dtype_size_bytes(dtype));
  HLO_TRY(hlo_arena_status(&run->scratch));
  hlo_dtype_convert(ref->dtype, elements, dtype, *out_elements, count);
  return hlo_ok();
}

static hlo_status_t put_elements(hlo_tile_run_t* run, const hlo_tile_op_t* ref,
                                 const uint8_t* elements, const hlo_tile_op_t* op) {
  const hlo_run_storage_t* storage = view_of(run, ref)->storage;
  size_t bytes = storage->element_bytes, count = (size_t)hlo_tile_ref_count(ref);
  const int64_t* places = list_elements(run, ref);
  HLO_TRY(hlo_arena_status(&run->scratch));
  for (size_t n = 0; n < count; ++n) {
    memcpy(storage->data + (size_t)places[n] * bytes, elements + n * bytes, bytes);
  }
  return note_all(run, ref, places, HLO_RACE_WRITE, op);
}

static hlo_status_t copy(hlo_tile_run_t* run, const hlo_tile_op_t* op) {
  uint8_t* elements;
  HLO_TRY(take_elements(run, op->operands[0], op->operands[0]->dtype, op, &elements));
  return put_elements(run, op->operands[1], elements, op);
}

// ---- products

// The dimensions of one side of a product: those of the result, then those that are summed.
typedef struct side {
  int64_t strides[4 * HLO_TILE_MAX_RANK];  // in the operand's elements in row-major order
} side_t;

static bool is_named(const uint32_t* list, uint32_t count, uint32_t dim) {
  for (uint32_t i = 0; i < count; ++i) {
    if (list[i] == dim) return true;
  }
  return false;
}

static uint32_t put_side(const hlo_tile_ref_t* ref, const hlo_tile_dims_t* d, const uint32_t* batch,
                         const uint32_t* contract, uint32_t free_at, uint32_t out_rank,
                         side_t* out_side) {
  int64_t dense[HLO_TILE_MAX_RANK], stride = 1;
  for (uint32_t i = ref->rank; i-- > 0; stride *= ref->dims[i]) dense[i] = stride;
  *out_side = (side_t){{0}};
  for (uint32_t i = 0; i < d->batch_count; ++i) out_side->strides[i] = dense[batch[i]];
  for (uint32_t i = 0; i < ref->rank; ++i) {
    if (is_named(batch, d->batch_count, i) || is_named(contract, d->contract_count, i)) continue;
    out_side->strides[free_at++] = dense[i];
  }
  for (uint32_t i = 0; i < d->contract_count; ++i) {
    out_side->strides[out_rank + i] = dense[contract[i]];
  }
  return free_at;
}

// Where position `n` of some dimensions is on a side.
static int64_t place_on(const side_t* side, uint32_t first, uint32_t count, const int64_t* dims,
                        int64_t n) {
  int64_t place = 0;
  for (uint32_t i = count; i-- > 0; n /= dims[i]) place += n % dims[i] * side->strides[first + i];
  return place;
}

static void pick(uint8_t* to, const uint8_t* from, size_t bytes, const int64_t* places,
                 int64_t count, int64_t offset) {
  for (int64_t n = 0; n < count; ++n) {
    memcpy(to + (size_t)n * bytes, from + (size_t)(places[n] + offset) * bytes, bytes);
  }
}

// Multiplies the elements of a reference, in row-major order, by the scales of their blocks.
static hlo_status_t scale_elements(hlo_tile_run_t* run, const hlo_tile_op_t* ref,
                                   const hlo_tile_op_t* scales, hlo_dtype_t dtype,
                                   const hlo_tile_op_t* op, uint8_t* elements) {
  const hlo_tile_map_t multiply = {.op = HLO_OP_multiply};
  const hlo_dtype_t dtypes[2] = {dtype, dtype};
  const size_t bytes = hlo_dtype_size_bytes(dtype), count = (size_t)hlo_tile_ref_count(ref);
  uint8_t *each, *repeated = hlo_arena_array(&run->scratch, count + 1, bytes);
  HLO_TRY(take_elements(run, scales, dtype, op, &each));
  HLO_TRY(hlo_arena_status(&run->scratch));
  for (size_t n = 0; n < count; ++n) {
    int64_t place = 0, stride = 1, rest = (int64_t)n;
    for (uint32_t i = ref->ref.rank; i-- > 0; rest /= ref->ref.dims[i]) {
      const int64_t block = ref->ref.dims[i] / scales->ref.dims[i];
      place += rest % ref->ref.dims[i] / block * stride;
      stride *= scales->ref.dims[i];
    }
    memcpy(repeated + n * bytes, each + (size_t)place * bytes, bytes);
  }
  return hlo_run_map(run, &multiply, 2, dtypes, (const void*[]){elements, repeated}, dtype,
                     elements, (int64_t)count);
}

// Adds one product after the other to all sums, in their type.
static hlo_status_t run_mma(hlo_tile_run_t* run, const hlo_tile_op_t* op) {
  const hlo_tile_op_t* operands[3] = {op->operands[0], op->operands[1], op->operands[2]};
  const hlo_tile_dims_t* d = &op->dims;
  hlo_dtype_t dtype = operands[0]->dtype;
  const hlo_dtype_t dtypes[2] = {dtype, dtype};
  int64_t dims[4 * HLO_TILE_MAX_RANK], *places[2], steps = 1;
  uint8_t *elements[3], *picked[2];
  side_t sides[2];
  uint32_t rank = hlo_tile_mma_shape(op, dims);
  uint32_t at = put_side(&operands[1]->ref, d, d->left_batch, d->left_contract, d->batch_count,
                         rank, &sides[0]);
  put_side(&operands[2]->ref, d, d->right_batch, d->right_contract, at, rank, &sides[1]);
  for (uint32_t i = 0; i < d->contract_count; ++i) {
    dims[rank + i] = operands[1]->ref.dims[d->left_contract[i]];
    steps *= dims[rank + i];
  }
  int64_t count = hlo_tile_ref_count(operands[0]);
  size_t bytes = hlo_dtype_size_bytes(dtype);
  for (uint32_t i = 0; i < 3; ++i) {
    HLO_TRY(take_elements(run, operands[i], dtype, op, &elements[i]));
    if (!i || op->kind != HLO_TILE_OP_scaled_mma) continue;
    HLO_TRY(scale_elements(run, operands[i], op->operands[i + 2], dtype, op, elements[i]));
  }
  for (uint32_t i = 0; i < 2; ++i) {
    places[i] = hlo_arena_array(&run->scratch, (size_t)count + 1, sizeof *places[i]);
    picked[i] = hlo_arena_array(&run->scratch, (size_t)count + 1, bytes);
    for (int64_t n = 0; places[i] && n < count; ++n) {
      places[i][n] = place_on(&sides[i], 0, rank, dims, n);
    }
  }
  HLO_TRY(hlo_arena_status(&run->scratch));
  const hlo_tile_map_t multiply = {.op = HLO_OP_multiply}, add = {.op = HLO_OP_add};
  for (int64_t step = 0; step < steps; ++step) {
    for (uint32_t i = 0; i < 2; ++i) {
      int64_t offset = place_on(&sides[i], rank, d->contract_count, dims + rank, step);
      pick(picked[i], elements[i + 1], bytes, places[i], count, offset);
    }
    HLO_TRY(hlo_run_map(run, &multiply, 2, dtypes, (const void*[]){picked[0], picked[1]}, dtype,
                        picked[0], count));
    HLO_TRY(hlo_run_map(run, &add, 2, dtypes, (const void*[]){elements[0], picked[0]}, dtype,
                        elements[0], count));
  }
  return put_elements(run, operands[0], elements[0], op);
}

// ---- synchronisation

static hlo_run_semaphore_t* semaphore_of(const hlo_tile_run_t* run, const hlo_tile_op_t* op) {
  const hlo_run_view_t* view = view_of(run, op->operands[op->operand_count - 1]);
  return &view->storage->semaphores[view->offset];
}

static void signal_semaphore(hlo_tile_run_t* run, const hlo_tile_op_t* op, int64_t count) {
  hlo_run_semaphore_t* semaphore = semaphore_of(run, op);
  semaphore->count += count;
  if (run->races) hlo_race_signal(run->races, run->thread, &semaphore->signals, count);
}

// The copy is a thread of its own, which nothing orders but its signal.
static hlo_status_t start_copy(hlo_tile_run_t* run, const hlo_tile_op_t* op) {
  hlo_race_thread_t* parent = run->thread;
  if (run->races) {
    run->thread = hlo_race_fork(run->races, parent);
    HLO_TRY(hlo_arena_status(run->races->arena));
  }
  hlo_status_t status = copy(run, op);
  signal_semaphore(run, op, 1);
  if (run->races) hlo_race_end(run->races, run->thread, NULL);
  run->thread = parent;
  return status;
}

static int64_t waited_count(const hlo_tile_op_t* op) {
  return op->kind == HLO_TILE_OP_copy_wait ? 1 : op->count;
}

static void wait_semaphore(hlo_tile_run_t* run, const hlo_tile_op_t* op) {
  hlo_run_semaphore_t* semaphore = semaphore_of(run, op);
  int64_t count = waited_count(op);
  semaphore->count -= count;
  if (run->races) hlo_race_wait(run->races, run->thread, &semaphore->signals, count);
}

static void arrive(hlo_tile_run_t* run, const hlo_tile_op_t* op) {
  hlo_run_semaphore_t* barrier = semaphore_of(run, op);
  if (run->races) hlo_race_signal(run->races, run->thread, &barrier->signals, 1);
  if (++barrier->arrived < hlo_tile_ref_root(op->operands[0])->count) return;
  barrier->arrived = 0;
  ++barrier->phase;
  if (run->races) hlo_race_complete(run->races, &barrier->signals);
}

bool hlo_run_must_wait(hlo_tile_run_t* run, const hlo_tile_op_t* op) {
  hlo_run_semaphore_t* semaphore = semaphore_of(run, op);
  if (op->kind != HLO_TILE_OP_barrier_wait) return semaphore->count < waited_count(op);
  hlo_arena_mark_t mark = hlo_arena_mark(&run->scratch);
  const int64_t* phase = hlo_run_evaluate(run, op->indices[0], 1);
  bool must_wait = phase && (semaphore->phase & 1) == (phase[0] & 1);
  hlo_arena_reset(&run->scratch, mark);
  return must_wait;
}

static hlo_status_t run_wait(hlo_tile_run_t* run, const hlo_tile_op_t* op) {
  if (op->kind != HLO_TILE_OP_barrier_wait) {
    wait_semaphore(run, op);
  } else if (run->races) {
    hlo_race_learn(run->races, run->thread, &semaphore_of(run, op)->signals.phases);
  }
  return hlo_ok();
}

hlo_status_t hlo_run_memory(hlo_tile_run_t* run, const hlo_tile_op_t* op, int64_t count) {
  if (hlo_tile_op_is_ref(op)) return make_view(run, op, count);
  if (hlo_tile_op_is_uniform(op->kind) && !hlo_run_is_on(run, 0, count)) return hlo_ok();
  switch (op->kind) {
    case HLO_TILE_OP_ref_load:
    case HLO_TILE_OP_ref_store: return access_elements(run, op, count);
    case HLO_TILE_OP_atomic: return run_atomic(run, op, count);
    case HLO_TILE_OP_copy: return copy(run, op);
    case HLO_TILE_OP_copy_start: return start_copy(run, op);
    case HLO_TILE_OP_semaphore_signal: signal_semaphore(run, op, op->count); return hlo_ok();
    case HLO_TILE_OP_barrier_arrive: arrive(run, op); return hlo_ok();
    case HLO_TILE_OP_mma:
    case HLO_TILE_OP_scaled_mma: return run_mma(run, op);
    default: return run_wait(run, op);
  }
}
