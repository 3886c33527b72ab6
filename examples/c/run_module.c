// SPDX-License-Identifier: Apache-2.0
// Runs a program of float arguments and results without Python: loads it, fills the arguments with
// 0, 1, 2 ..., runs it and prints the results.
//
//   cc run_module.c $(pkg-config --cflags --libs hlocc) -o run_module
//   ./run_module softmax.mlir
#include <stdio.h>
#include <stdlib.h>

#include "hlocc/hlocc.h"

static int failed(hlocc_error_t* error) {
  if (!error) return 0;
  fprintf(stderr, "%s\n", hlocc_error_message(error));
  hlocc_error_free(error);
  return 1;
}

static void* make_argument(hlocc_shape_t shape) {
  void* data = calloc(1, shape.size_bytes ? shape.size_bytes : 1);
  float* elements = data;
  for (int64_t i = 0; data && shape.type == HLOCC_TYPE_F32 && i < shape.element_count; ++i) {
    elements[i] = (float)i;
  }
  return data;
}

static void print_result(uint32_t number, hlocc_shape_t shape, const void* data) {
  const float* elements = data;
  printf("result %u: %s[", number, hlocc_type_name(shape.type));
  for (uint32_t d = 0; d < shape.rank; ++d)
    printf("%s%lld", d ? "," : "", (long long)shape.dims[d]);
  printf("] =");
  for (int64_t i = 0; shape.type == HLOCC_TYPE_F32 && i < shape.element_count && i < 16; ++i) {
    printf(" %g", (double)elements[i]);
  }
  printf("\n");
}

static int run(hlocc_executable_t* executable) {
  uint32_t argument_count = hlocc_executable_argument_count(executable);
  uint32_t result_count = hlocc_executable_result_count(executable);
  void** arguments = calloc(argument_count + 1, sizeof *arguments);
  void** results = calloc(result_count + 1, sizeof *results);
  int bad = !arguments || !results;
  for (uint32_t i = 0; !bad && i < argument_count; ++i) {
    arguments[i] = make_argument(hlocc_executable_argument(executable, i));
    bad = !arguments[i];
  }
  for (uint32_t i = 0; !bad && i < result_count; ++i) {
    results[i] = malloc(hlocc_executable_result(executable, i).size_bytes + 1);
    bad = !results[i];
  }
  if (!bad) bad = failed(hlocc_executable_run(executable, (const void* const*)arguments, results));
  for (uint32_t i = 0; !bad && i < result_count; ++i) {
    print_result(i, hlocc_executable_result(executable, i), results[i]);
  }
  for (uint32_t i = 0; arguments && i < argument_count; ++i) free(arguments[i]);
  for (uint32_t i = 0; results && i < result_count; ++i) free(results[i]);
  free(arguments);
  free(results);
  return bad;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "examples/c/softmax.mlir";
  hlocc_client_t* client = NULL;
  hlocc_executable_t* executable = NULL;
  int bad = failed(hlocc_client_create(NULL, &client)) ||
            failed(hlocc_executable_load_file(client, path, NULL, &executable)) || run(executable);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
  return bad;
}
