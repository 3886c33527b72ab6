// SPDX-License-Identifier: Apache-2.0
// Steps a simulation whose state stays on the device: every launch donates its arguments, so that
// each step is computed in the memory of the step before. Prints the steps per second and a
// checksum.
//
//   cc simulate.c $(pkg-config --cflags --libs hlocc) -o simulate
//   ./simulate simulate.mlir 100000
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "hlocc/hlocc.h"

enum { STATE_COUNT = 2 };  // the heights of the wave before, and now

static int failed(hlocc_error_t* error) {
  if (!error) return 0;
  fprintf(stderr, "%s\n", hlocc_error_message(error));
  hlocc_error_free(error);
  return 1;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// A single hump, at rest. It is written in the memory of the device.
static int make_state(hlocc_client_t* client, hlocc_shape_t shape, hlocc_buffer_t** out_buffer) {
  void* data;
  if (failed(hlocc_buffer_create(client, 0, &shape, out_buffer)) ||
      failed(hlocc_buffer_map(*out_buffer, HLOCC_READ_WRITE, &data))) {
    return 1;
  }
  for (int64_t i = 0; i < shape.element_count; ++i) {
    const double x = (double)(i - shape.element_count / 2) / 64;
    ((float*)data)[i] = (float)exp(-x * x);
  }
  hlocc_buffer_unmap(*out_buffer);
  return 0;
}

static int step(hlocc_executable_t* executable, hlocc_buffer_t** state) {
  hlocc_buffer_t* next[STATE_COUNT];
  if (failed(hlocc_executable_launch(executable, state, NULL, next, NULL))) return 1;
  for (int i = 0; i < STATE_COUNT; ++i) {
    hlocc_buffer_free(state[i]);  // donated: only the handle is left
    state[i] = next[i];
  }
  return 0;
}

// The sum of the heights, which the equation preserves.
static int checksum(hlocc_buffer_t* buffer, double* out_sum) {
  void* data;
  if (failed(hlocc_buffer_map(buffer, HLOCC_READ, &data))) return 1;  // waits for all steps
  *out_sum = 0;
  for (int64_t i = 0; i < hlocc_buffer_shape(buffer).element_count; ++i) {
    *out_sum += ((const float*)data)[i];
  }
  hlocc_buffer_unmap(buffer);
  return 0;
}

static int simulate(hlocc_client_t* client, hlocc_executable_t* executable, int step_count,
                    hlocc_buffer_t** state) {
  double before = 0, after = 0;
  for (int i = 0; i < STATE_COUNT; ++i) {
    if (make_state(client, hlocc_executable_argument(executable, (uint32_t)i), &state[i])) return 1;
  }
  if (checksum(state[1], &before)) return 1;
  const double begin = seconds();
  for (int i = 0; i < step_count; ++i) {
    if (step(executable, state)) return 1;
  }
  if (checksum(state[1], &after)) return 1;
  printf("%d steps, %.0f per second, checksum %.3f\n", step_count, step_count / (seconds() - begin),
         after);
  return fabs(after - before) > 1e-3 * before;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "examples/c/simulate.mlir";
  const int step_count = argc > 2 ? atoi(argv[2]) : 1000;
  const uint32_t all[STATE_COUNT] = {0, 1};
  const hlocc_compile_options_t options = {
      .struct_size = sizeof options, .donated_count = STATE_COUNT, .donated = all};
  hlocc_client_t* client = NULL;
  hlocc_executable_t* executable = NULL;
  hlocc_buffer_t* state[STATE_COUNT] = {NULL, NULL};
  const int bad = failed(hlocc_client_create(NULL, &client)) ||
                  failed(hlocc_executable_load_file(client, path, &options, &executable)) ||
                  simulate(client, executable, step_count, state);
  for (int i = 0; i < STATE_COUNT; ++i) hlocc_buffer_free(state[i]);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
  return bad;
}
