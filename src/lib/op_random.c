// SPDX-License-Identifier: Apache-2.0
// rng_bit_generator: counters in chunks, which may run in parallel; and the stateful generators, on
// the counter in the frame.
#include <math.h>
#include <string.h>

#include "ir/random.h"
#include "lib/call_impl.h"
#include "lib/random.h"

enum { CHUNK_COUNTERS = 1 << 14 };  // of a parallel loop

static bool is_even(int64_t size) {
  return size % 2 == 0;
}

// A buffer to fill with random bits: counters in chunks, which may run in parallel.
typedef struct {
  uint64_t key;
  uint64_t counter[2];
  int64_t counter_count;
  const hlo_lib_array_t* out;
  size_t width;
  // Threefry: [outer, size, inner], pairs of neighbours along the middle dimension
  int64_t size, inner;
} filler_t;

// Stores the low bits of words (two for each element of 8 bytes) as elements from `first` on.
static void store_words(const filler_t* filler, int64_t first, int64_t count,
                        const uint32_t* words) {
  uint8_t* out = (uint8_t*)filler->out->data + (size_t)first * filler->width;
  if (filler->width >= 4) {
    memcpy(out, words, (size_t)count * filler->width);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    memcpy(out + (size_t)i * filler->width, &words[i], filler->width);
}

// Stores both words of `count` counters from counter `first` on.
static void store_pairs(const filler_t* filler, int64_t first, int64_t count,
                        const uint32_t words[2][HLO_RANDOM_BLOCK]) {
  // Neighbours in memory, whole elements of 8 bytes.
  if (filler->inner == 1 && is_even(filler->size)) {
    uint32_t both[2 * HLO_RANDOM_BLOCK];
    for (int i = 0; i < HLO_RANDOM_BLOCK; ++i) {
      both[2 * i] = words[0][i];
      both[2 * i + 1] = words[1][i];
    }
    const int64_t each = filler->width == 8 ? 1 : 2;
    store_words(filler, first * each, count * each, both);
    return;
  }
  const int64_t pairs = (filler->size + 1) / 2;
  for (int64_t done = 0, run; done < count; done += run) {
    const int64_t i = (first + done) % filler->inner, pair = (first + done) / filler->inner;
    const int64_t s = 2 * (pair % pairs);
    const int64_t at = (pair / pairs * filler->size + s) * filler->inner + i;
    run = hlo_lib_min(filler->inner - i, count - done);
    store_words(filler, at, run, words[0] + done);
    if (s + 1 < filler->size) store_words(filler, at + filler->inner, run, words[1] + done);
  }
}

static void fill_threefry_chunk(void* arg, uint64_t chunk) {
  const filler_t* filler = arg;
  const int64_t begin = (int64_t)chunk * CHUNK_COUNTERS;
  const int64_t end = hlo_lib_min(begin + CHUNK_COUNTERS, filler->counter_count);
  for (int64_t at = begin; at < end; at += HLO_RANDOM_BLOCK) {
    uint32_t words[2][HLO_RANDOM_BLOCK];
    hlo_random_threefry(filler->key, filler->counter[0] + (uint64_t)at, words);
    store_pairs(filler, at, hlo_lib_min(end - at, HLO_RANDOM_BLOCK),
                (const uint32_t(*)[HLO_RANDOM_BLOCK])words);
  }
}

static void fill_philox_chunk(void* arg, uint64_t chunk) {
  const filler_t* filler = arg;
  const int64_t per_counter = filler->width == 8 ? 2 : 4;
  const int64_t begin = (int64_t)chunk * CHUNK_COUNTERS;
  const int64_t end = hlo_lib_min(begin + CHUNK_COUNTERS, filler->counter_count);
  for (int64_t at = begin; at < end; at += HLO_RANDOM_BLOCK) {
    uint32_t words[HLO_RANDOM_BLOCK][4];
    const uint64_t low = filler->counter[0] + (uint64_t)at;
    const uint64_t counter[2] = {low, filler->counter[1] + (low < filler->counter[0])};
    hlo_random_philox(filler->key, counter, words);
    const int64_t first = at * per_counter;
    const int64_t count = hlo_lib_min(end - at, HLO_RANDOM_BLOCK) * per_counter;
    store_words(filler, first, hlo_lib_min(count, filler->out->element_count - first), words[0]);
  }
}

static uint64_t chunk_count(const filler_t* filler) {
  return (uint64_t)((filler->counter_count + CHUNK_COUNTERS - 1) / CHUNK_COUNTERS);
}

static void fill_threefry(const hlo_parallel_t* parallel, uint64_t* state,
                          const hlo_lib_array_t* out) {
  filler_t filler = {.key = state[0],
                     .counter = {state[1]},
                     .counter_count = out->element_count,
                     .out = out,
                     .width = hlo_lib_element_bytes(out),
                     .size = 2,
                     .inner = 1};
  if (filler.width < 8) {
    const uint32_t split = out->rank ? hlo_threefry_dimension(out->rank, out->dims) : 0;
    filler.size = out->rank ? out->dims[split] : 1;
    for (uint32_t d = split + 1; d < out->rank; ++d) filler.inner *= out->dims[d];
    filler.counter_count = out->element_count / filler.size * ((filler.size + 1) / 2);
  }
  hlo_parallel_for(parallel, chunk_count(&filler), fill_threefry_chunk, &filler);
  state[1] += (uint64_t)filler.counter_count;
}

// The counter is state[1] with state[2] or else the key above it.
static void fill_philox(const hlo_parallel_t* parallel, uint64_t* state, int64_t state_count,
                        const hlo_lib_array_t* out) {
  const size_t width = hlo_lib_element_bytes(out);
  const int64_t per_counter = width == 8 ? 2 : 4;
  filler_t filler = {.key = state[0],
                     .counter = {state[1], state_count > 2 ? state[2] : state[0]},
                     .counter_count = (out->element_count + per_counter - 1) / per_counter,
                     .out = out,
                     .width = width};
  hlo_parallel_for(parallel, chunk_count(&filler), fill_philox_chunk, &filler);
  state[1] += (uint64_t)filler.counter_count;
  if (state_count > 2) state[2] += state[1] < filler.counter[0];
}

static hlo_status_t run_threefry(const hlo_lib_run_t* run) {
  uint64_t state[2];
  memcpy(state, run->operands[0].data, sizeof state);
  fill_threefry(run->parallel, state, &run->results[1]);
  memcpy(run->results[0].data, state, sizeof state);
  return hlo_ok();
}

static hlo_status_t run_philox(const hlo_lib_run_t* run) {
  uint64_t state[3];
  const hlo_lib_array_t* initial = &run->operands[0];
  memcpy(state, initial->data, initial->size_bytes);
  fill_philox(run->parallel, state, initial->element_count, &run->results[1]);
  memcpy(run->results[0].data, state, initial->size_bytes);
  return hlo_ok();
}

hlo_status_t hlo_lib_prepare_rng_bit_generator(hlo_lib_call_t* call,
                                               HLO_UNUSED hlo_arena_t* arena) {
  const hlo_attr_t* algorithm = hlo_node_attr(call->node, HLO_ATTR_rng_algorithm);
  const bool is_threefry = algorithm && algorithm->i == HLO_RNG_ALGORITHM_THREE_FRY;
  const hlo_lib_array_t *initial = &call->operands[0], *out = &call->results[1];
  const bool fits = initial->dtype == HLO_DTYPE_U64 && initial->element_count >= 2 &&
                    initial->element_count <= (is_threefry ? 2 : 3) &&
                    call->results[0].size_bytes == initial->size_bytes &&
                    (hlo_dtype_is_integer(out->dtype) || hlo_dtype_is_float(out->dtype)) &&
                    hlo_dtype_info(out->dtype)->bits % 8 == 0 && out->element_count > 0;
  if (fits) call->run = is_threefry ? run_threefry : run_philox;
  return hlo_ok();
}

// ---- stateful generators ------------------------------------------------------------------------

// Draws two random 64-bit words for each of the next counters of the run: Philox under a fixed key.
static void draw(const hlo_lib_run_t* run, uint64_t words[HLO_RANDOM_BLOCK][2], int64_t count) {
  const uint64_t key = 0x9e3779b97f4a7c15u;
  uint64_t counter[2] = {0}, next;
  uint32_t parts[HLO_RANDOM_BLOCK][4];
  memcpy(counter, run->frame->saved, sizeof *counter);
  hlo_random_philox(key, counter, parts);
  for (int i = 0; i < HLO_RANDOM_BLOCK; ++i) {
    words[i][0] = (uint64_t)parts[i][1] << 32 | parts[i][0];
    words[i][1] = (uint64_t)parts[i][3] << 32 | parts[i][2];
  }
  next = counter[0] + (uint64_t)count;
  memcpy(run->frame->saved, &next, sizeof next);
}

// Converts bits to a uniform number in [0, 1) with 53 bits.
static double unit_interval(uint64_t bits) {
  return (double)(bits >> 11) * 0x1p-53;
}

// from + [0, 1) (to - from); a number that is rounded up to `to` becomes `from`.
static void store_uniform(hlo_dtype_t dtype, char* out, const hlo_lib_array_t* bounds,
                          const uint64_t words[2]) {
  const double from = hlo_dtype_load_double(dtype, bounds[0].data);
  const double to = hlo_dtype_load_double(dtype, bounds[1].data);
  hlo_dtype_store_double(dtype, out, from + unit_interval(words[0]) * (to - from));
  if (hlo_dtype_load_double(dtype, out) >= to) {
    memcpy(out, bounds[0].data, hlo_dtype_size_bytes(dtype));
  }
}

static void store_integer(hlo_dtype_t dtype, char* out, const hlo_lib_array_t* bounds,
                          const uint64_t words[2]) {
  const uint64_t from = (uint64_t)hlo_dtype_load_int64(dtype, bounds[0].data);
  const uint64_t range = (uint64_t)hlo_dtype_load_int64(dtype, bounds[1].data) - from;
  hlo_dtype_store_int64(dtype, out, (int64_t)(from + (range ? words[0] % range : words[0])));
}

// source: Box and Muller; 1 - u keeps the logarithm finite
static void store_normal(hlo_dtype_t dtype, char* out, const hlo_lib_array_t* parameters,
                         const uint64_t words[2]) {
  const double pi = 3.14159265358979323846;
  const double z =
      sqrt(-2 * log(1 - unit_interval(words[0]))) * cos(2 * pi * unit_interval(words[1]));
  const double mean = hlo_dtype_load_double(dtype, parameters[0].data);
  const double deviation = hlo_dtype_load_double(dtype, parameters[1].data);
  hlo_dtype_store_double(dtype, out, mean + deviation * z);
}

static void store_word(hlo_dtype_t dtype, char* out, HLO_UNUSED const hlo_lib_array_t* none,
                       const uint64_t words[2]) {
  memcpy(out, words, hlo_dtype_size_bytes(dtype));
}

typedef struct {
  void (*store)(hlo_dtype_t dtype, char* out, const hlo_lib_array_t* parameters,
                const uint64_t words[2]);
} rng_t;

static hlo_status_t run_rng(const hlo_lib_run_t* run) {
  const rng_t* rng = run->plan;
  const hlo_lib_array_t* out = run->results;
  const size_t width = hlo_lib_element_bytes(out);
  for (int64_t at = 0; at < out->element_count; at += HLO_RANDOM_BLOCK) {
    uint64_t words[HLO_RANDOM_BLOCK][2];
    const int64_t count = hlo_lib_min(out->element_count - at, HLO_RANDOM_BLOCK);
    draw(run, words, count);
    for (int64_t i = 0; i < count; ++i) {
      rng->store(out->dtype, out->data + (size_t)(at + i) * width, run->operands, words[i]);
    }
  }
  return hlo_ok();
}

static hlo_status_t use_rng(hlo_lib_call_t* call, hlo_arena_t* arena, rng_t rng) {
  rng_t* plan = hlo_arena_array(arena, 1, sizeof *plan);
  if (!plan) return hlo_arena_status(arena);
  *plan = rng;
  call->plan = plan;
  call->run = run_rng;
  return hlo_ok();
}

hlo_status_t hlo_lib_prepare_rng(hlo_lib_call_t* call, hlo_arena_t* arena) {
  const hlo_attr_t* distribution = hlo_node_attr(call->node, HLO_ATTR_rng_distribution);
  const bool is_normal = distribution && distribution->i == HLO_RNG_DISTRIBUTION_NORMAL;
  const hlo_lib_array_t *a = call->operands, *b = a + 1;
  const hlo_dtype_t dtype = call->results->dtype;
  const bool is_float = hlo_dtype_is_float(dtype);
  if (a->element_count != 1 || b->element_count != 1 || a->dtype != dtype || b->dtype != dtype ||
      (!is_float && (is_normal || hlo_dtype_is_complex(dtype)))) {
    return hlo_ok();
  }
  return use_rng(call, arena,
                 (rng_t){is_normal  ? store_normal
                         : is_float ? store_uniform
                                    : store_integer});
}

hlo_status_t hlo_lib_prepare_rng_state(hlo_lib_call_t* call, hlo_arena_t* arena) {
  const bool fits = hlo_lib_element_bytes(call->results) <= sizeof(uint64_t);
  return fits ? use_rng(call, arena, (rng_t){store_word}) : hlo_ok();
}
