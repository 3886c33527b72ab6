// SPDX-License-Identifier: Apache-2.0
// Runs one program over several devices: divides the arguments among the devices as the program's
// shardings say, launches it on all of them, joins the parts of the results, and compares them with
// a run on one device.
//
//   cc partitions.c $(pkg-config --cflags --libs hlocc) -o partitions
//   ./partitions partitions.mlir 8
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlocc/hlocc.h"

enum { MAX_RANK = 8 };

static int failed(hlocc_error_t* error) {
  if (!error) return 0;
  fprintf(stderr, "%s\n", hlocc_error_message(error));
  hlocc_error_free(error);
  return 1;
}

// Copies the elements of a part from the whole array, or to it.
static void copy_part(float* whole, float* part, hlocc_shape_t shape, const int64_t* offsets,
                      const int64_t* dims, int to_whole) {
  int64_t index[MAX_RANK] = {0};
  for (int64_t i = 0; i < shape.element_count; ++i) {
    int64_t at = 0;
    for (uint32_t d = 0; d < shape.rank; ++d) at = at * dims[d] + offsets[d] + index[d];
    if (to_whole) {
      whole[at] = part[i];
    } else {
      part[i] = whole[at];
    }
    for (uint32_t d = shape.rank; d-- > 0;) {
      if (++index[d] < shape.dims[d]) break;
      index[d] = 0;
    }
  }
}

// Creates the buffer of an argument on a device, and writes its part of the whole there.
static int divide(hlocc_client_t* client, const hlocc_executable_t* executable, uint32_t argument,
                  uint32_t device, float* whole, hlocc_buffer_t** out_buffer) {
  const hlocc_shape_t shape = hlocc_executable_argument(executable, argument);
  int64_t offsets[MAX_RANK], dims[MAX_RANK];
  void* data;
  if (failed(hlocc_executable_argument_part(executable, argument, device, offsets, dims)) ||
      failed(hlocc_buffer_create(client, device, &shape, out_buffer)) ||
      failed(hlocc_buffer_map(*out_buffer, HLOCC_READ_WRITE, &data))) {
    return 1;
  }
  copy_part(whole, data, shape, offsets, dims, 0);
  hlocc_buffer_unmap(*out_buffer);
  return 0;
}

// Writes what a device has of a result to the whole.
static int join(const hlocc_executable_t* executable, uint32_t result, uint32_t device,
                hlocc_buffer_t* buffer, float* whole) {
  int64_t offsets[MAX_RANK], dims[MAX_RANK];
  void* data;
  if (failed(hlocc_executable_result_part(executable, result, device, offsets, dims)) ||
      failed(hlocc_buffer_map(buffer, HLOCC_READ, &data))) {
    return 1;
  }
  copy_part(whole, data, hlocc_buffer_shape(buffer), offsets, dims, 1);
  hlocc_buffer_unmap(buffer);
  return 0;
}

static int run_divided(hlocc_client_t* client, hlocc_executable_t* executable, float** arguments,
                       float** results) {
  const uint32_t devices = hlocc_executable_device_count(executable);
  const uint32_t argument_count = hlocc_executable_argument_count(executable);
  const uint32_t result_count = hlocc_executable_result_count(executable);
  hlocc_buffer_t** in = calloc((size_t)devices * argument_count + 1, sizeof(hlocc_buffer_t*));
  hlocc_buffer_t** out = calloc((size_t)devices * result_count + 1, sizeof(hlocc_buffer_t*));
  int bad = !in || !out;
  for (uint32_t i = 0; !bad && i < devices * argument_count; ++i) {
    const uint32_t argument = i % argument_count;
    bad = divide(client, executable, argument, i / argument_count, arguments[argument], &in[i]);
  }
  if (!bad) bad = failed(hlocc_executable_launch(executable, in, NULL, out, NULL));
  for (uint32_t i = 0; !bad && i < devices * result_count; ++i) {
    bad = join(executable, i % result_count, i / result_count, out[i], results[i % result_count]);
  }
  for (uint32_t i = 0; in && i < devices * argument_count; ++i) hlocc_buffer_free(in[i]);
  for (uint32_t i = 0; out && i < devices * result_count; ++i) hlocc_buffer_free(out[i]);
  free(in);
  free(out);
  return bad;
}

// Makes arrays of the dimensions that arguments or results have on one device.
static float** make_arrays(const hlocc_executable_t* executable, uint32_t count,
                           hlocc_shape_t (*shape_of)(const hlocc_executable_t*, uint32_t)) {
  float** arrays = calloc(count + 1, sizeof(float*));
  for (uint32_t i = 0; arrays && i < count; ++i) {
    const hlocc_shape_t shape = shape_of(executable, i);
    arrays[i] = calloc((size_t)shape.element_count + 1, sizeof(float));
    if (!arrays[i] || shape.type != HLOCC_TYPE_F32 || shape.rank > MAX_RANK) {
      fprintf(stderr, "array %u is not of at most %d dimensions of f32\n", i, MAX_RANK);
      exit(1);
    }
    for (int64_t e = 0; e < shape.element_count; ++e) arrays[i][e] = (float)(e * 7 % 31 - 15) / 31;
  }
  return arrays;
}

static void free_arrays(float** arrays, uint32_t count) {
  for (uint32_t i = 0; arrays && i < count; ++i) free(arrays[i]);
  free(arrays);
}

static int compare(hlocc_client_t* client, hlocc_executable_t* one, hlocc_executable_t* many) {
  const uint32_t argument_count = hlocc_executable_argument_count(one);
  const uint32_t result_count = hlocc_executable_result_count(one);
  float** arguments = make_arrays(one, argument_count, hlocc_executable_argument);
  float** expected = make_arrays(one, result_count, hlocc_executable_result);
  float** results = make_arrays(one, result_count, hlocc_executable_result);
  int bad =
      failed(hlocc_executable_run(one, (const void* const*)arguments, (void* const*)expected)) ||
      run_divided(client, many, arguments, results);
  for (uint32_t i = 0; !bad && i < result_count; ++i) {
    const hlocc_shape_t part = hlocc_executable_result(many, i);
    const int64_t count = hlocc_executable_result(one, i).element_count;
    double largest = 0, difference = 0;
    for (int64_t e = 0; e < count; ++e) {
      largest = fmax(largest, fabs((double)expected[i][e]));
      difference = fmax(difference, fabs((double)expected[i][e] - (double)results[i][e]));
    }
    printf("result %u: %lld of %lld elements on each of %u devices, ", i,
           (long long)part.element_count, (long long)count, hlocc_executable_device_count(many));
    printf("at most %g from one device\n", difference);
    bad = !(difference <= 1e-5 * largest);
  }
  free_arrays(arguments, argument_count);
  free_arrays(expected, result_count);
  free_arrays(results, result_count);
  return bad;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "examples/c/partitions.mlir";
  const uint32_t devices = argc > 2 ? (uint32_t)atoi(argv[2]) : 8;
  const hlocc_client_options_t client_options = {.struct_size = sizeof client_options,
                                                 .device_count = devices};
  const hlocc_compile_options_t divided = {.struct_size = sizeof divided,
                                           .partition_count = devices};
  hlocc_client_t* client = NULL;
  hlocc_executable_t *one = NULL, *many = NULL;
  int bad = failed(hlocc_client_create(&client_options, &client)) ||
            failed(hlocc_executable_load_file(client, path, NULL, &one)) ||
            failed(hlocc_executable_load_file(client, path, &divided, &many)) ||
            compare(client, one, many);
  hlocc_executable_free(one);
  hlocc_executable_free(many);
  hlocc_client_free(client);
  return bad;
}
