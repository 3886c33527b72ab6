// SPDX-License-Identifier: Apache-2.0
// HLO text and protos: both give the same verified module, runs give what XLA gives, faults say
// where.
#include "frontend/hlo/hlo_test_util.h"
#include "interp/program.h"

// Runs @main on one input and compares `count` elements of output `number`.
static void check_run(const char* name, hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                      const void* input, uint32_t number, const void* expected, size_t size) {
  hlo_module_t* module = hlo_test_load(name);
  hlo_interp_program_t* program = NULL;
  hlo_tensor_t *in = NULL, *out[2] = {NULL, NULL};
  hlo_test_check(hlo_tensor_create(dtype, rank, dims, &in));
  memcpy(in->data, input, in->size_bytes);
  hlo_test_check(hlo_interp_program_create(module, &program));
  hlo_test_check(hlo_interp_call(program, hlo_module_entry(module), 1, &in, 2, out, NULL));
  assert_int_equal(out[number]->size_bytes, size);
  assert_memory_equal(out[number]->data, expected, size);
  hlo_tensor_release(out[0]);
  hlo_tensor_release(out[1]);
  hlo_tensor_release(in);
  hlo_interp_program_release(program);
  hlo_module_release(module);
}

static void loops_and_reductions_run(void** state) {
  (void)state;
  const float input[6] = {1, 2, 3, 4, 5, 6};
  const float powers[6] = {1, 16, 81, -4, 0.625f, 6000}, sums[2] = {98, 5996.625f};
  const int64_t dims[2] = {2, 3};
  check_run("loop.hlo", HLO_DTYPE_F32, 2, dims, input, 1, powers, sizeof powers);
  check_run("loop.pb", HLO_DTYPE_F32, 2, dims, input, 0, sums, sizeof sums);
}

static void bitcasts_follow_layouts(void** state) {
  (void)state;
  const int32_t input[4] = {1, 2, 3, 4}, columns[4] = {1, 3, 2, 4}, row[2] = {6, 8};
  const int64_t dims[2] = {2, 2};
  check_run("layouts.hlo", HLO_DTYPE_S32, 2, dims, input, 0, columns, sizeof columns);
  check_run("layouts.pb", HLO_DTYPE_S32, 2, dims, input, 1, row, sizeof row);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_and_reductions_run),
      cmocka_unit_test(bitcasts_follow_layouts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
