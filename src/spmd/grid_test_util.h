// SPDX-License-Identifier: Apache-2.0
// For tests: runs the entry of a module on a simulated grid, with small integers as arguments.
#pragma once

#include "interp/simgrid.h"
#include "ir/test_util.h"
#include "spmd/collective.h"
#include "spmd/processes.h"

enum { HLO_TEST_VALUES_MAX = 512 };

static inline hlo_tensor_t* hlo_test_grid_argument(const hlo_type_t* type, uint32_t process,
                                                   uint32_t number) {
  hlo_tensor_t* tensor = NULL;
  hlo_test_check(hlo_tensor_create(type->dtype, type->rank, type->dims, &tensor));
  const size_t width = hlo_dtype_size_bytes(type->dtype);
  for (int64_t i = 0; i < tensor->element_count; ++i) {
    const int64_t value = (process * 5 + number * 3 + i * 7) % 11;
    char* element = (char*)tensor->data + (size_t)i * width;
    if (hlo_dtype_is_integer(type->dtype)) {
      hlo_dtype_store_int64(type->dtype, element, value);
    } else {
      hlo_dtype_store_double(type->dtype, element, (double)value);
    }
  }
  return tensor;
}

/// The results of all processes of a program.
typedef struct hlo_test_outcome {
  uint32_t count;  // results of all processes
  hlo_tensor_t* tensors[HLO_TEST_VALUES_MAX];
} hlo_test_outcome_t;

static inline void hlo_test_run_on_grid(const hlo_module_t* module, const char* path,
                                        hlo_test_outcome_t* out) {
  const hlo_process_counts_t counts = hlo_module_process_counts(module);
  const uint32_t processes = counts.replicas * counts.partitions;
  const hlo_func_t* entry = hlo_module_entry(module);
  const hlo_type_t* type = entry->type;
  const hlo_func_t* funcs[64];
  hlo_tensor_t* inputs[HLO_TEST_VALUES_MAX];
  uint32_t input_count = 0;
  *out = (hlo_test_outcome_t){.count = processes * (type->element_count - type->input_count)};
  assert_true(processes <= 64 && processes * type->element_count <= HLO_TEST_VALUES_MAX);
  for (uint32_t p = 0; p < processes; ++p) {
    funcs[p] = entry;
    for (uint32_t i = 0; i < type->input_count; ++i) {
      const uint32_t owner = hlo_argument_is_replicated(entry, i) ? p % counts.partitions : p;
      inputs[input_count++] = hlo_test_grid_argument(type->elements[i], owner, i);
    }
  }
  hlo_interp_program_t* program = NULL;
  hlo_test_check(hlo_interp_program_create(module, &program));
  const hlo_simgrid_run_t run = {.replica_count = counts.replicas,
                                 .partition_count = counts.partitions,
                                 .funcs = funcs,
                                 .input_count = input_count,
                                 .output_count = out->count,
                                 .inputs = inputs};
  hlo_status_t status = hlo_simgrid_run(program, &run, out->tensors);
  if (!hlo_status_is_ok(status)) fail_msg("%s: %s", path, hlo_status_message(status));
  for (uint32_t i = 0; i < input_count; ++i) hlo_tensor_release(inputs[i]);
  hlo_interp_program_release(program);
}

static inline void hlo_test_expect_equal(const char* path, const hlo_test_outcome_t* a,
                                         const hlo_test_outcome_t* b) {
  assert_int_equal(a->count, b->count);
  for (uint32_t i = 0; i < a->count; ++i) {
    const hlo_tensor_t *x = a->tensors[i], *y = b->tensors[i];
    if (x->size_bytes != y->size_bytes || memcmp(x->data, y->data, x->size_bytes) != 0) {
      fail_msg("%s: result %u differs", path, i);
    }
  }
}

static inline void hlo_test_release(hlo_test_outcome_t* outcome) {
  for (uint32_t i = 0; i < outcome->count; ++i) hlo_tensor_release(outcome->tensors[i]);
}
