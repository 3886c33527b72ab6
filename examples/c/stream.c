// SPDX-License-Identifier: Apache-2.0
// Filters a stream of audio blocks: while one block is being processed, the next one arrives in the
// other half of a double buffer. Blocks are lent to the library, and results are read where they
// are, so that no sample is copied. The state of the filter stays on the device.
//
//   cc stream.c -lpthread $(pkg-config --cflags --libs hlocc) -o stream
//   ./stream stream.mlir 10000
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "hlocc/hlocc.h"

enum { SAMPLES = 480, STATE_SAMPLES = 3, SLOTS = 2 };

static int failed(hlocc_error_t* error) {
  if (!error) return 0;
  fprintf(stderr, "%s\n", hlocc_error_message(error));
  hlocc_error_free(error);
  return 1;
}

// The sound card: a tone of 480 samples per period, which begins with the block.
static void record(float* samples) {
  for (int i = 0; i < SAMPLES; ++i) samples[i] = sinf((float)i * 6.2831853f / SAMPLES);
}

typedef struct stream stream_t;

// One half of the double buffer.
typedef struct slot {
  stream_t* stream;
  float* samples;
  bool is_lent;  // under the stream's lock
  hlocc_buffer_t* result;
} slot_t;

struct stream {
  hlocc_client_t* client;
  hlocc_executable_t* executable;
  hlocc_buffer_t* state;
  slot_t slots[SLOTS];
  pthread_mutex_t lock;
  pthread_cond_t is_free;
  double energy;  // of all results
};

// Called by the library, which has read the samples.
static void end_loan(void* context) {
  slot_t* slot = context;
  pthread_mutex_lock(&slot->stream->lock);
  slot->is_lent = false;
  pthread_cond_signal(&slot->stream->is_free);
  pthread_mutex_unlock(&slot->stream->lock);
}

static void await_loan(slot_t* slot) {
  pthread_mutex_lock(&slot->stream->lock);
  while (slot->is_lent) pthread_cond_wait(&slot->stream->is_free, &slot->stream->lock);
  pthread_mutex_unlock(&slot->stream->lock);
}

// Plays the result of a slot, where it is in the memory of the device.
static int play(slot_t* slot) {
  if (!slot->result) return 0;
  void* data;
  if (failed(hlocc_buffer_map(slot->result, HLOCC_READ, &data))) return 1;
  const float* samples = data;
  for (int i = 0; i < SAMPLES; ++i) slot->stream->energy += (double)(samples[i] * samples[i]);
  hlocc_buffer_unmap(slot->result);
  hlocc_buffer_free(slot->result);
  slot->result = NULL;
  return 0;
}

// Lends the samples of a slot and starts the filter. The call returns before the filter ends.
static int start(slot_t* slot) {
  stream_t* stream = slot->stream;
  const hlocc_shape_t shape = hlocc_executable_argument(stream->executable, 1);
  hlocc_buffer_t* block;
  slot->is_lent = true;
  if (failed(hlocc_buffer_wrap(stream->client, 0, &shape, slot->samples, HLOCC_READ, end_loan, slot,
                               &block))) {
    slot->is_lent = false;
    return 1;
  }
  hlocc_buffer_t *arguments[] = {stream->state, block}, *results[2];
  const int bad =
      failed(hlocc_executable_launch(stream->executable, arguments, NULL, results, NULL));
  hlocc_buffer_free(block);
  if (bad) return 1;
  hlocc_buffer_free(stream->state);
  stream->state = results[0];
  slot->result = results[1];
  return 0;
}

static int run(stream_t* stream, int block_count) {
  const float silence[STATE_SAMPLES] = {0};
  const hlocc_shape_t shape = hlocc_executable_argument(stream->executable, 0);
  if (failed(hlocc_buffer_create_copy(stream->client, 0, &shape, silence, &stream->state)))
    return 1;
  for (int i = 0; i < block_count; ++i) {
    slot_t* slot = &stream->slots[i % SLOTS];
    await_loan(slot);
    record(slot->samples);  // while the other slot is being processed
    if (play(slot) || start(slot)) return 1;
  }
  for (int i = 0; i < SLOTS; ++i) {
    if (play(&stream->slots[(block_count + i) % SLOTS])) return 1;
  }
  const double mean = stream->energy / block_count / SAMPLES;
  printf("%d blocks, mean energy %.4f\n", block_count, mean);
  return fabs(mean - 0.5) > 0.01;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "examples/c/stream.mlir";
  const int block_count = argc > 2 ? atoi(argv[2]) : 100;
  const uint32_t state = 0;
  const hlocc_compile_options_t options = {
      .struct_size = sizeof options, .donated_count = 1, .donated = &state};
  stream_t stream = {.lock = PTHREAD_MUTEX_INITIALIZER, .is_free = PTHREAD_COND_INITIALIZER};
  int bad = 0;
  for (int i = 0; i < SLOTS; ++i) {
    stream.slots[i] = (slot_t){.stream = &stream, .samples = malloc(SAMPLES * sizeof(float))};
    bad |= !stream.slots[i].samples;
  }
  bad = bad || failed(hlocc_client_create(NULL, &stream.client)) ||
        failed(hlocc_executable_load_file(stream.client, path, &options, &stream.executable)) ||
        run(&stream, block_count);
  for (int i = 0; i < SLOTS; ++i) {
    await_loan(&stream.slots[i]);
    hlocc_buffer_free(stream.slots[i].result);
    free(stream.slots[i].samples);
  }
  hlocc_buffer_free(stream.state);
  hlocc_executable_free(stream.executable);
  hlocc_client_free(stream.client);
  return bad;
}
