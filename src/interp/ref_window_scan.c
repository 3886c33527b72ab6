// SPDX-License-Identifier: Apache-2.0
// Scans written as windows (see ref_window_scan.h): linear instead of quadratic time.
#include "interp/ref_window_scan.h"

#include <string.h>

// A tensor as [outer, length, inner].
typedef struct {
  int64_t outer, length, inner;
} scan_shape_t;

static scan_shape_t shape_of(const hlo_window_scan_t* scan) {
  const hlo_tensor_t* input = scan->operands->inputs[0];
  scan_shape_t shape = {.outer = 1, .inner = 1};
  for (uint32_t d = 0; d < scan->axis; d++) shape.outer *= input->dims[d];
  shape.length = input->dims[scan->axis];
  for (uint32_t d = scan->axis + 1; d < input->rank; d++) shape.inner *= input->dims[d];
  return shape;
}

// Runs the body on `count` elements of each operand: result = body(before, input), in reverse
// body(input, before).
static hlo_status_t step_body(const hlo_window_scan_t* scan, size_t count, int64_t before,
                              int64_t at, hlo_tensor_t** results, const void** args, void** outs) {
  const hlo_fold_operands_t* operands = scan->operands;
  for (uint32_t k = 0; k < operands->count; k++) {
    const hlo_tensor_t* input = operands->inputs[k];
    const int64_t bytes = (int64_t)hlo_tensor_element_bytes(results[k]);
    outs[k] = (char*)results[k]->data + at * bytes;
    const uint32_t first = scan->is_reverse ? operands->count + k : k;
    args[first] = (const char*)results[k]->data + before * bytes;
    args[scan->is_reverse ? k : operands->count + k] =
        (const char*)input->data + at * (int64_t)hlo_tensor_element_bytes(input);
  }
  return hlo_fold_step(operands, count, args, outs);
}

hlo_status_t hlo_window_init_is_fixed(const hlo_fold_operands_t* operands, bool* out_is_fixed) {
  enum { ELEMENT_MAX = 16 };
  const size_t bytes = (size_t)operands->count * (ELEMENT_MAX + 3 * sizeof(void*));
  char* found = hlo_mem_alloc_aligned(bytes, 64);
  if (!found) return hlo_status_out_of_memory(bytes);
  const void** args = (const void**)(found + (size_t)operands->count * ELEMENT_MAX);
  void** outs = (void**)(args + 2 * (size_t)operands->count);
  for (uint32_t k = 0; k < operands->count; k++) {
    args[k] = args[operands->count + k] = operands->inits[k]->data;
    outs[k] = found + k * ELEMENT_MAX;
  }
  hlo_status_t status = hlo_fold_step(operands, 1, args, outs);
  *out_is_fixed = hlo_status_is_ok(status);
  for (uint32_t k = 0; k < operands->count && *out_is_fixed; k++) {
    *out_is_fixed = memcmp(outs[k], operands->inits[k]->data,
                           hlo_tensor_element_bytes(operands->inits[k])) == 0;
  }
  hlo_mem_free(found);
  return status;
}

static hlo_status_t scan_in_order(const hlo_window_scan_t* scan, hlo_tensor_t** results,
                                  const void** args, void** outs) {
  const scan_shape_t shape = shape_of(scan);
  for (int64_t o = 0; o < shape.outer; o++) {
    for (int64_t i = 0; i < shape.length; i++) {
      const int64_t row = scan->is_reverse ? shape.length - 1 - i : i;
      const int64_t at = (o * shape.length + row) * shape.inner;
      const int64_t back = scan->is_reverse ? -shape.inner : shape.inner;
      // The first row combines with the initial values in place.
      HLO_TRY(step_body(scan, (size_t)shape.inner, i ? at - back : at, at, results, args, outs));
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_window_scan(const hlo_window_scan_t* scan, hlo_tensor_t** results,
                             bool* out_is_done) {
  const uint32_t count = scan->operands->count;
  enum { REORDER_MIN = 1 << 18 };  // elements of all windows
  int64_t work = 0;
  if (__builtin_mul_overflow(results[0]->element_count, shape_of(scan).length, &work)) {
    work = INT64_MAX;
  }
  if (scan->is_reverse && work <= REORDER_MIN) return hlo_ok();
  const void** args = hlo_mem_alloc(3 * (size_t)count * sizeof(void*));
  if (!args) return hlo_status_out_of_memory(3 * (size_t)count * sizeof(void*));
  void** outs = (void**)(args + 2 * count);
  bool is_fixed = false;
  hlo_status_t status = hlo_window_init_is_fixed(scan->operands, &is_fixed);
  if (hlo_status_is_ok(status) && is_fixed) {
    status = scan_in_order(scan, results, args, outs);
    *out_is_done = true;
  }
  hlo_mem_free(args);
  return status;
}
