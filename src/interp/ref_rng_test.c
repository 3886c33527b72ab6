// SPDX-License-Identifier: Apache-2.0
// rng_bit_generator: the same bits and states as XLA:CPU (values taken from jaxlib).
#include "interp/ref_test_util.h"

typedef struct rng_case {
  int64_t algorithm;
  uint64_t state[3];
  int64_t state_count;
  hlo_dtype_t dtype;
  uint32_t rank;
  int64_t dims[2];
  uint64_t want_counter;
  uint64_t want[6];
} rng_case_t;

#define KEY 0x200000001u      // the words 1, 2
#define COUNTER 0x400000003u  // the words 3, 4

static const rng_case_t cases[] = {
    {HLO_RNG_ALGORITHM_DEFAULT,
     {KEY, COUNTER},
     2,
     HLO_DTYPE_U32,
     1,
     {5},
     COUNTER + 2,
     {0x1e8fe864, 0x4d5e0bd7, 0x4b87c9be, 0x2d689201, 0x5273487b}},
    {HLO_RNG_ALGORITHM_PHILOX,
     {KEY, COUNTER},
     2,
     HLO_DTYPE_U64,
     1,
     {3},
     COUNTER + 2,
     {0x4d5e0bd71e8fe864, 0x2d6892014b87c9be, 0x61c056965273487b}},
    {HLO_RNG_ALGORITHM_PHILOX,
     {KEY, COUNTER},
     2,
     HLO_DTYPE_U8,
     1,
     {6},
     COUNTER + 2,
     {0x64, 0xd7, 0xbe, 0x1, 0x7b, 0x96}},
    {HLO_RNG_ALGORITHM_THREE_FRY,
     {KEY, COUNTER},
     2,
     HLO_DTYPE_U32,
     1,
     {5},
     COUNTER + 3,
     {0x5df433ec, 0x8617198e, 0x2c24a8a8, 0x9094fa5e, 0x91386643}},
    {HLO_RNG_ALGORITHM_THREE_FRY,
     {KEY, COUNTER},
     2,
     HLO_DTYPE_U32,
     2,
     {2, 3},
     COUNTER + 3,
     {0x5df433ec, 0x2c24a8a8, 0x91386643, 0x8617198e, 0x9094fa5e, 0x59491919}},
    {HLO_RNG_ALGORITHM_THREE_FRY,
     {KEY, COUNTER},
     2,
     HLO_DTYPE_U64,
     1,
     {3},
     COUNTER + 3,
     {0x8617198e5df433ec, 0x9094fa5e2c24a8a8, 0x5949191991386643}},
    {HLO_RNG_ALGORITHM_THREE_FRY,
     {KEY, COUNTER},
     2,
     HLO_DTYPE_U16,
     1,
     {5},
     COUNTER + 3,
     {0x33ec, 0x198e, 0xa8a8, 0xfa5e, 0x6643}},
    {HLO_RNG_ALGORITHM_THREE_FRY,
     {KEY, COUNTER},
     2,
     HLO_DTYPE_U32,
     0,
     {0},
     COUNTER + 1,
     {0x5df433ec}},
};

static void bits_equal_those_of_xla(void** state) {
  hlo_test_fixture_t* f = *state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const rng_case_t* c = &cases[i];
    hlo_tensor_t* initial = hlo_test_tensor_of(HLO_DTYPE_U64, c->state_count, c->state);
    hlo_named_attr_t attr = {HLO_ATTR_rng_algorithm,
                             hlo_attr_enum(f->module, HLO_ENUM_RNG_ALGORITHM, c->algorithm)};
    const hlo_type_t* types[] = {hlo_type_tensor(f->module, HLO_DTYPE_U64, 1, &c->state_count),
                                 hlo_type_tensor(f->module, c->dtype, c->rank, c->dims)};
    hlo_tensor_t* results[2];
    hlo_status_t status = hlo_test_run_op_types(f, HLO_OP_rng_bit_generator, 1, &attr, 1, &initial,
                                                2, types, results);
    assert_true(hlo_status_is_ok(status));
    assert_true(((uint64_t*)results[0]->data)[0] == c->state[0]);
    assert_true(((uint64_t*)results[0]->data)[1] == c->want_counter);
    for (int64_t k = 0; k < results[1]->element_count; ++k) {
      if ((uint64_t)hlo_tensor_int(results[1], k) != c->want[k]) fail_msg("case %zu", i);
    }
    hlo_tensor_release(results[0]);
    hlo_tensor_release(results[1]);
    hlo_tensor_release(initial);
  }
}

static void philox_counts_with_128_bits(void** state) {
  hlo_test_fixture_t* f = *state;
  hlo_tensor_t* initial = hlo_test_tensor_of(HLO_DTYPE_U64, 2, (uint64_t[]){1, UINT64_MAX});
  const hlo_type_t* types[] = {hlo_type_tensor(f->module, HLO_DTYPE_U64, 1, (int64_t[]){2}),
                               hlo_type_tensor(f->module, HLO_DTYPE_U32, 1, (int64_t[]){9})};
  hlo_named_attr_t attr = {HLO_ATTR_rng_algorithm, hlo_attr_enum(f->module, HLO_ENUM_RNG_ALGORITHM,
                                                                 HLO_RNG_ALGORITHM_PHILOX)};
  hlo_tensor_t* results[2];
  hlo_status_t status =
      hlo_test_run_op_types(f, HLO_OP_rng_bit_generator, 1, &attr, 1, &initial, 2, types, results);
  assert_true(hlo_status_is_ok(status));
  const uint32_t want[] = {0x586e44b1, 0x26dab12a, 0xd8b888d9, 0xd93830cc, 0xe73404cf,
                           0x8cedc5d3, 0x3f071736, 0x0a0afddd, 0xb7b4c173};
  assert_memory_equal(results[1]->data, want, sizeof want);
  assert_true(((uint64_t*)results[0]->data)[1] == 2);
  hlo_tensor_release(results[0]);
  hlo_tensor_release(results[1]);
  hlo_tensor_release(initial);
}

// Generates the state and bits of one call. owner: caller (two tensors).
static void generate_bits(hlo_test_fixture_t* f, int64_t algorithm, uint64_t counter,
                          hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                          hlo_tensor_t** results) {
  const int64_t two = 2;
  hlo_tensor_t* initial = hlo_test_tensor_of(HLO_DTYPE_U64, 2, (uint64_t[]){KEY, counter});
  hlo_named_attr_t attr = {HLO_ATTR_rng_algorithm,
                           hlo_attr_enum(f->module, HLO_ENUM_RNG_ALGORITHM, algorithm)};
  const hlo_type_t* types[] = {hlo_type_tensor(f->module, HLO_DTYPE_U64, 1, &two),
                               hlo_type_tensor(f->module, dtype, rank, dims)};
  hlo_status_t status =
      hlo_test_run_op_types(f, HLO_OP_rng_bit_generator, 1, &attr, 1, &initial, 2, types, results);
  assert_true(hlo_status_is_ok(status));
  hlo_tensor_release(initial);
}

// A long run equals short runs that continue from the previous state, for all block and chunk
// sizes.
static void long_runs_are_short_ones(void** state) {
  hlo_test_fixture_t* f = *state;
  static const hlo_dtype_t dtypes[] = {HLO_DTYPE_U8, HLO_DTYPE_U16, HLO_DTYPE_U32, HLO_DTYPE_U64};
  for (int i = 0; i < 8; ++i) {
    const int64_t algorithm = i < 4 ? HLO_RNG_ALGORITHM_THREE_FRY : HLO_RNG_ALGORITHM_PHILOX;
    hlo_tensor_t *whole[2], *part[2];
    generate_bits(f, algorithm, COUNTER, dtypes[i % 4], 1, (int64_t[]){80016}, whole);
    uint64_t counter = COUNTER;
    for (int64_t done = 0; done < 80016; done += 6668) {
      generate_bits(f, algorithm, counter, dtypes[i % 4], 1, (int64_t[]){6668}, part);
      const char* bits =
          (const char*)whole[1]->data + (size_t)done * hlo_dtype_size_bytes(dtypes[i % 4]);
      assert_memory_equal(bits, part[1]->data, part[1]->size_bytes);
      counter = ((uint64_t*)part[0]->data)[1];
      hlo_tensor_release(part[0]);
      hlo_tensor_release(part[1]);
    }
    assert_true(counter == ((uint64_t*)whole[0]->data)[1]);
    hlo_tensor_release(whole[0]);
    hlo_tensor_release(whole[1]);
  }
}

// [3, 4, 57] of threefry: neighbours along the middle dimension are the words of one counter, like
// neighbours in a row of that many counters.
static void pairs_lie_along_a_dimension(void** state) {
  hlo_test_fixture_t* f = *state;
  hlo_tensor_t *block[2], *row[2];
  generate_bits(f, HLO_RNG_ALGORITHM_THREE_FRY, COUNTER, HLO_DTYPE_U32, 3, (int64_t[]){3, 4, 57},
                block);
  generate_bits(f, HLO_RNG_ALGORITHM_THREE_FRY, COUNTER, HLO_DTYPE_U32, 1, (int64_t[]){684}, row);
  const uint32_t *bits = block[1]->data, *words = row[1]->data;
  for (int64_t pair = 0; pair < 6; ++pair) {
    for (int64_t i = 0; i < 57; ++i) {
      assert_int_equal(bits[2 * pair * 57 + i], words[2 * (pair * 57 + i)]);
      assert_int_equal(bits[(2 * pair + 1) * 57 + i], words[2 * (pair * 57 + i) + 1]);
    }
  }
  for (int i = 0; i < 2; ++i) {
    hlo_tensor_release(block[i]);
    hlo_tensor_release(row[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(bits_equal_those_of_xla, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(long_runs_are_short_ones, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(pairs_lie_along_a_dimension, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(philox_counts_with_128_bits, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
