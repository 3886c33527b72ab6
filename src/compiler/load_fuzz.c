// SPDX-License-Identifier: Apache-2.0
// Fuzzes the path of a program from bytes to results: the interpreter must survive what the
// verifier accepts. Only small programs run, each function on zeros and on ones, for a bounded
// time.
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/wire_mutator.inl"
#include "frontend/bytecode/bytecode_mutator.inl"
#include "frontend/frontend.h"
#include "interp/program.h"
#include "ir/infer.h"
#include "ir/text_mutator.inl"

enum { USED_INPUT_MAX = 1 << 16, ELEMENTS_MAX = 4096, VALUES_MAX = 64, RUN_MILLISECONDS = 100 };

const char* __asan_default_options(void);

// A program may ask for any amount of memory; not getting it is an ordinary error.
const char* __asan_default_options(void) {
  return "allocator_may_return_null=1:max_allocation_size_mb=64";
}

// ---- a time limit: loops and calls of a program may not end

static atomic_uint out_of_time;

static void on_timer(int signal_number) {
  (void)signal_number;
  atomic_store(&out_of_time, 1);
}

static void set_timer(long milliseconds) {
  static timer_t timer;
  static bool is_made = false;
  if (!is_made) {
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    if (sigaction(SIGRTMIN, &action, NULL) != 0) abort();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) abort();
    is_made = true;
  }
  atomic_store(&out_of_time, 0);
  struct itimerspec when = {.it_value.tv_nsec = milliseconds * 1000000};
  timer_settime(timer, 0, &when, NULL);
}

// ---- running

static int64_t region_elements(const hlo_region_t* region);

// One above the limit of a program, so that sums of a few stay small.
static int64_t value_elements(const hlo_type_t* type) {
  if (!hlo_type_is_static(type)) return 1;
  int64_t count = hlo_type_element_count(type);
  return count > ELEMENTS_MAX ? ELEMENTS_MAX + 1 : count;
}

static int64_t node_elements(const hlo_node_t* node) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < node->result_count; ++i) sum += value_elements(node->results[i].type);
  for (uint32_t i = 0; i < node->region_count; ++i) sum += region_elements(node->regions[i]);
  return sum;
}

// Returns the elements of all values in a region.
static int64_t region_elements(const hlo_region_t* region) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < region->arg_count; ++i) sum += value_elements(region->args[i]->type);
  for (const hlo_node_t* node = region->first; node; node = node->next) sum += node_elements(node);
  return sum;
}

static hlo_tensor_t* make_input(const hlo_type_t* type, bool is_one) {
  hlo_tensor_t* tensor = NULL;
  hlo_status_t status = hlo_ok();
  if (type->kind == HLO_TYPE_TOKEN) {
    status = hlo_tensor_create_token(&tensor);
  } else if (hlo_type_is_static(type)) {
    status = hlo_tensor_create(type->dtype, type->rank, type->dims, &tensor);
    if (tensor) {
      tensor->quant = type->quant;
      memset(tensor->data, 0, tensor->size_bytes);
      size_t width = hlo_dtype_size_bytes(type->dtype);
      uint8_t* bytes = tensor->data;
      for (size_t i = 0; is_one && i < tensor->size_bytes; i += width) bytes[i] = 1;
    }
  }
  hlo_status_release(status);
  return tensor;
}

static void run(const hlo_interp_program_t* program, const hlo_func_t* func, bool is_one) {
  hlo_tensor_t *inputs[VALUES_MAX], *outputs[VALUES_MAX] = {0};
  uint32_t input_count = 0, wanted = func->type->input_count;
  uint32_t output_count = func->type->element_count - wanted;
  if (wanted > VALUES_MAX || output_count > VALUES_MAX) return;
  while (input_count < wanted) {
    inputs[input_count] = make_input(func->type->elements[input_count], is_one);
    if (!inputs[input_count]) break;
    ++input_count;
  }
  if (input_count == wanted) {
    hlo_interp_options_t options = {.cancelled = &out_of_time};
    set_timer(RUN_MILLISECONDS);
    hlo_status_release(
        hlo_interp_call(program, func, input_count, inputs, output_count, outputs, &options));
    set_timer(0);
  }
  for (uint32_t i = 0; i < output_count; ++i) hlo_tensor_release(outputs[i]);
  for (uint32_t i = 0; i < input_count; ++i) hlo_tensor_release(inputs[i]);
}

static void run_module(const hlo_module_t* module) {
  int64_t sum = 0;
  for (const hlo_func_t* func = module->first_func; func; func = func->next) {
    if (func->body) sum += region_elements(func->body);
    if (sum > ELEMENTS_MAX) return;
  }
  hlo_interp_program_t* program = NULL;
  hlo_status_release(hlo_interp_program_create(module, &program));
  if (!program) return;
  for (const hlo_func_t* func = module->first_func; func; func = func->next) {
    if (!func->body) continue;
    run(program, func, false);
    run(program, func, true);
  }
  hlo_interp_program_release(program);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hlo_module_t* module = NULL;
  hlo_diag_t diag;
  hlo_diag_init(&diag, NULL, NULL, 0);
  hlo_status_t status = hlo_frontend_load(data, size, "fuzz", NULL, &diag, &module);
  if (hlo_status_is_ok(status) && size <= USED_INPUT_MAX) {
    status = hlo_module_verify(module, &diag);
    if (hlo_status_is_ok(status)) run_module(module);
  }
  hlo_status_release(status);
  hlo_diag_deinit(&diag);
  hlo_module_release(module);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  switch (hlo_frontend_sniff(data, size)) {
    case HLO_FORMAT_MLIR_BYTECODE: return mutate_bytecode(data, size, max_size, seed);
    case HLO_FORMAT_HLO_PROTO: return mutate_wire(data, size, max_size, seed);
    default: return mutate_text(data, size, max_size, seed);
  }
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second,
                                 size_t second_size, uint8_t* out, size_t max_size, unsigned seed) {
  return splice_bytecode(first, first_size, second, second_size, out, max_size, seed);
}
