// SPDX-License-Identifier: Apache-2.0
// Random numbers: rng_bit_generator (ThreeFry and Philox with the bits of XLA:CPU, whose default is
// Philox), and the stateful rng ops on the counter of the evaluation.
// source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
#include <math.h>
#include <string.h>

#include "interp/eval.h"
#include "ir/random.h"

// ---- generators -------------------------------------------------------------------------------

static uint32_t low(uint64_t x) {
  return (uint32_t)x;
}
static uint32_t high(uint64_t x) {
  return (uint32_t)(x >> 32);
}
// Threefry-2x32 with 20 rounds: two words of a 64-bit key and counter.
static void threefry_block(uint64_t key, uint64_t counter, uint32_t* words) {
  static const uint8_t rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
  const uint32_t keys[] = {low(key), high(key), low(key) ^ high(key) ^ 0x1bd11bda};
  uint32_t x = low(counter) + keys[0], y = high(counter) + keys[1];
  for (unsigned round = 0; round < 20; ++round) {
    x += y;
    y = (y << rotations[round % 8] | y >> (32 - rotations[round % 8])) ^ x;
    if (round % 4 != 3) continue;
    x += keys[(round / 4 + 1) % 3];
    y += keys[(round / 4 + 2) % 3] + round / 4 + 1;
  }
  words[0] = x;
  words[1] = y;
}

// Philox-4x32 with 10 rounds: four words of a 64-bit key and a 128-bit counter.
static void philox_block(uint64_t key, const uint64_t counter[2], uint32_t* words) {
  uint32_t x[4] = {low(counter[0]), high(counter[0]), low(counter[1]), high(counter[1])};
  uint32_t key_0 = low(key), key_1 = high(key);
  for (unsigned round = 0; round < 10; ++round) {
    const uint64_t a = (uint64_t)x[0] * 0xd2511f53u, b = (uint64_t)x[2] * 0xcd9e8d57u;
    const uint32_t next[4] = {high(b) ^ x[1] ^ key_0, low(b), high(a) ^ x[3] ^ key_1, low(a)};
    memcpy(x, next, sizeof x);
    key_0 += 0x9e3779b9u;
    key_1 += 0xbb67ae85u;
  }
  memcpy(words, x, sizeof x);
}

// ---- rng_bit_generator ------------------------------------------------------------------------

// Stores the low bits of `bits` as element `i`.
static void store_bits(hlo_tensor_t* tensor, int64_t i, uint64_t bits) {
  size_t width = hlo_dtype_size_bytes(tensor->dtype);
  memcpy((uint8_t*)tensor->data + (size_t)i * width, &bits, width);
}

// Stores both words of each counter; the last of an odd number of elements takes one.
static void fill_threefry(uint64_t* state, hlo_tensor_t* out) {
  const uint64_t key = state[0];
  uint32_t words[2];
  if (hlo_dtype_size_bytes(out->dtype) == 8) {
    for (int64_t i = 0; i < out->element_count; ++i) {
      threefry_block(key, state[1]++, words);
      store_bits(out, i, words[0] | (uint64_t)words[1] << 32);
    }
    return;
  }
  const uint32_t split = hlo_threefry_dimension(out->rank, out->dims);
  const int64_t size = out->rank ? out->dims[split] : 1;
  int64_t inner = 1;
  for (uint32_t d = split + 1; d < out->rank; ++d) inner *= out->dims[d];
  for (int64_t first = 0; first < out->element_count; first += size * inner) {
    for (int64_t s = 0; s < size; s += 2) {
      for (int64_t i = 0; i < inner; ++i) {
        threefry_block(key, state[1]++, words);
        store_bits(out, first + s * inner + i, words[0]);
        if (s + 1 < size) store_bits(out, first + (s + 1) * inner + i, words[1]);
      }
    }
  }
}

// Stores four words of each counter, which is state[1] with state[2] or else the key above it.
static void fill_philox(uint64_t* state, int64_t state_count, hlo_tensor_t* out) {
  uint64_t own = state[0], *above = state_count > 2 ? &state[2] : &own;
  const int64_t each = hlo_dtype_size_bytes(out->dtype) == 8 ? 2 : 1;  // words of an element
  uint32_t words[4];
  for (int64_t i = 0; i < out->element_count; i += 4 / each) {
    philox_block(state[0], (const uint64_t[]){state[1], *above}, words);
    *above += ++state[1] == 0;
    for (int64_t k = 0; k < 4 / each && i + k < out->element_count; ++k) {
      const uint64_t wide = words[each * k] | (uint64_t)words[each * k + each - 1] << 32;
      store_bits(out, i + k, wide);
    }
  }
}

hlo_status_t hlo_ref_rng_bit_generator(HLO_REF_ARGUMENTS) {
  const hlo_attr_t* algorithm = hlo_node_attr(node, HLO_ATTR_rng_algorithm);
  const bool is_threefry = algorithm && algorithm->i == HLO_RNG_ALGORITHM_THREE_FRY;
  const hlo_tensor_t* initial = operands[0];
  const hlo_dtype_t dtype = node->results[1].type->dtype;
  if (initial->dtype != HLO_DTYPE_U64 || initial->element_count < 2 ||
      initial->element_count > (is_threefry ? 2 : 3)) {
    return hlo_node_invalid(node, "initial_state must be ui64, of 2 elements (PHILOX: 2 or 3)");
  }
  if ((!hlo_dtype_is_integer(dtype) && !hlo_dtype_is_float(dtype)) ||
      hlo_dtype_info(dtype)->bits % 8 != 0) {
    return hlo_node_unimplemented(node, "no random bits of type %s",
                                  hlo_dtype_info(dtype)->hlo_name);
  }
  hlo_tensor_t *state, *out;
  HLO_TRY(hlo_eval_result(eval, node, 0, &state));
  hlo_status_t status = hlo_eval_result(eval, node, 1, &out);
  if (!hlo_status_is_ok(status) || state->size_bytes != initial->size_bytes) {
    hlo_tensor_release(state);
    if (!hlo_status_is_ok(status)) return status;
    hlo_tensor_release(out);
    return hlo_node_invalid(node, "the states must be of the same type");
  }
  memcpy(state->data, initial->data, initial->size_bytes);
  if (is_threefry) {
    fill_threefry(state->data, out);
  } else {
    fill_philox(state->data, state->element_count, out);
  }
  results[0] = state;
  results[1] = out;
  return hlo_ok();
}

// ---- stateful generators ----------------------------------------------------------------------

// Draws two random 64-bit words: Philox under a fixed key, on the counter of the evaluation (whose
// seed is an option), so that a program gives the same numbers on every run.
static void draw_words(hlo_eval_t* eval, uint64_t words[2]) {
  const uint64_t key = 0x9e3779b97f4a7c15u;
  uint64_t* state = hlo_eval_rng_state(eval);
  uint64_t counter[2] = {(*state)++, 0};
  uint32_t parts[4];
  philox_block(key, counter, parts);
  words[0] = (uint64_t)parts[1] << 32 | parts[0];
  words[1] = (uint64_t)parts[3] << 32 | parts[2];
}

// Converts bits to a uniform number in [0, 1) with 53 bits.
static double unit_interval(uint64_t bits) {
  return (double)(bits >> 11) * 0x1p-53;
}

static void store_uniform(hlo_tensor_t* out, int64_t i, const hlo_tensor_t* a,
                          const hlo_tensor_t* b, uint64_t bits) {
  const hlo_dtype_t dtype = out->dtype;
  void* element = (uint8_t*)out->data + (size_t)i * hlo_dtype_size_bytes(dtype);
  if (hlo_dtype_is_float(dtype)) {
    double from = hlo_dtype_load_double(dtype, a->data), to = hlo_dtype_load_double(dtype, b->data);
    hlo_dtype_store_double(dtype, element, from + unit_interval(bits) * (to - from));
    if (hlo_dtype_load_double(dtype, element) >= to) {  // rounded up to the excluded bound
      memcpy(element, a->data, hlo_dtype_size_bytes(dtype));
    }
    return;
  }
  int64_t from = hlo_tensor_int(a, 0);
  uint64_t range = (uint64_t)hlo_tensor_int(b, 0) - (uint64_t)from;
  hlo_dtype_store_int64(dtype, element, (int64_t)((uint64_t)from + (range ? bits % range : bits)));
}

hlo_status_t hlo_ref_rng(HLO_REF_ARGUMENTS) {
  const hlo_attr_t* distribution = hlo_node_attr(node, HLO_ATTR_rng_distribution);
  const bool is_normal = distribution && distribution->i == HLO_RNG_DISTRIBUTION_NORMAL;
  const hlo_tensor_t *a = operands[0], *b = operands[1], *shape = operands[2];
  const hlo_dtype_t dtype = node->results[0].type->dtype;
  const bool is_float = hlo_dtype_is_float(dtype);
  if (a->element_count != 1 || b->element_count != 1 || a->dtype != dtype || b->dtype != dtype ||
      shape->element_count > HLO_RANK_MAX || !hlo_dtype_is_integer(shape->dtype) ||
      (!is_float && (is_normal || hlo_dtype_is_complex(dtype)))) {
    return hlo_node_invalid(node, "a and b must be scalars of the result's type (NORMAL: a float)");
  }
  int64_t dims[HLO_RANK_MAX];
  for (int64_t d = 0; d < shape->element_count; ++d) dims[d] = hlo_tensor_int(shape, d);
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, (uint32_t)shape->element_count, dims, &results[0]));
  hlo_tensor_t* out = results[0];
  for (int64_t i = 0; i < out->element_count; ++i) {
    uint64_t words[2];
    draw_words(eval, words);
    if (is_normal) {  // source: Box and Muller; 1 - u keeps the logarithm finite
      const double pi = 3.14159265358979323846;
      double z =
          sqrt(-2 * log(1 - unit_interval(words[0]))) * cos(2 * pi * unit_interval(words[1]));
      double mean = hlo_dtype_load_double(dtype, a->data);
      double deviation = hlo_dtype_load_double(dtype, b->data);
      hlo_dtype_store_double(dtype, (uint8_t*)out->data + (size_t)i * hlo_dtype_size_bytes(dtype),
                             mean + deviation * z);
    } else {
      store_uniform(out, i, a, b, words[0]);
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_ref_hlo_rng_get_and_update_state(HLO_REF_ARGUMENTS) {
  HLO_TRY(hlo_eval_result(eval, node, 0, &results[0]));
  for (int64_t i = 0; i < results[0]->element_count; ++i) {
    uint64_t words[2];
    draw_words(eval, words);
    store_bits(results[0], i, words[0]);
  }
  return hlo_ok();
}
