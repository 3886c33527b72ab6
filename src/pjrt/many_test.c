// SPDX-License-Identifier: Apache-2.0
// Tests of many buffers, and of many threads at one buffer, through the PJRT C API.
#include <dirent.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "pjrt/test_util.h"

enum { MANY = 10000, THREADS = 16, WATCHDOG_SECONDS = 30 };

static int set_up(void** state) {
  alarm(WATCHDOG_SECONDS);
  *state = hlo_test_create_client(1);
  return 0;
}

static int tear_down(void** state) {
  hlo_test_destroy_client(*state);
  alarm(0);
  return 0;
}

static int count_threads(void) {
  DIR* directory = opendir("/proc/self/task");
  if (directory == NULL) return 0;
  int count = 0;
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count;
}

static int64_t bytes_in_use(PJRT_Client* client) {
  PJRT_Device_MemoryStats_Args args =
      ARGS(Device_MemoryStats, .device = hlo_test_device_of(client, 0));
  OK(Device_MemoryStats, &args);
  return args.bytes_in_use;
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// --- Buffers that are deleted before they are filled ---------------------------------------------

static PJRT_AsyncHostToDeviceTransferManager* create_pending(PJRT_Client* client, size_t count,
                                                             const int64_t* dims) {
  PJRT_ShapeSpec* specs = calloc(count, sizeof *specs);
  for (size_t i = 0; i < count; ++i) {
    specs[i] = (PJRT_ShapeSpec){.struct_size = PJRT_ShapeSpec_STRUCT_SIZE,
                                .dims = dims,
                                .num_dims = 1,
                                .element_type = PJRT_Buffer_Type_U8};
  }
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args args =
      ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = specs,
           .num_shape_specs = count, .memory = hlo_test_memory_of(hlo_test_device_of(client, 0)));
  OK(Client_CreateBuffersForAsyncHostToDevice, &args);
  free(specs);
  return args.transfer_manager;
}

static PJRT_Buffer* retrieve(PJRT_AsyncHostToDeviceTransferManager* manager, int index) {
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args args =
      ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, .transfer_manager = manager,
           .buffer_index = index);
  OK(AsyncHostToDeviceTransferManager_RetrieveBuffer, &args);
  return args.buffer_out;
}

static void test_filling_deleted_buffers(void** state) {
  enum { SIZE = 9, CHUNK = 3 };
  PJRT_Client* client = *state;
  const int64_t before = bytes_in_use(client);
  PJRT_AsyncHostToDeviceTransferManager* manager = create_pending(client, MANY, (int64_t[]){SIZE});
  const int threads = count_threads();
  for (int i = 0; i < MANY; ++i) {
    PJRT_Buffer* buffer = retrieve(manager, i);
    OK(Buffer_Delete, &ARGS(Buffer_Delete, .buffer = buffer));
    assert_true(hlo_test_is_deleted(buffer));
    hlo_test_destroy_buffer(buffer);
  }
  for (int offset = 0; offset < SIZE; offset += CHUNK) {
    for (int i = 0; i < MANY; ++i) {
      PJRT_AsyncHostToDeviceTransferManager_TransferData_Args args =
          ARGS(AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = manager,
               .buffer_index = i, .data = "abc", .offset = offset, .transfer_size = CHUNK,
               .is_last_transfer = offset + CHUNK == SIZE);
      OK(AsyncHostToDeviceTransferManager_TransferData, &args);
      hlo_test_await(args.done_with_h2d_transfer);
    }
  }
  assert_int_equal(count_threads(), threads);
  OK(AsyncHostToDeviceTransferManager_Destroy,
     &ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = manager));
  assert_int_equal(bytes_in_use(client), before);
}

// --- Copies --------------------------------------------------------------------------------------

static void* address_of(PJRT_Buffer* buffer) {
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args args =
      ARGS(Buffer_OpaqueDeviceMemoryDataPointer, .buffer = buffer);
  OK(Buffer_OpaqueDeviceMemoryDataPointer, &args);
  return args.device_memory_ptr;
}

/// A copy has its own memory, also on the device of its source.
static void test_copies_have_their_own_memory(void** state) {
  static const uint8_t data[4096] = {1, 2, 3};
  PJRT_Buffer* buffer =
      hlo_test_upload(*state, PJRT_Buffer_Type_U8, data, (int64_t[]){sizeof data}, 1);
  PJRT_Buffer_CopyToDevice_Args to_device =
      ARGS(Buffer_CopyToDevice, .buffer = buffer, .dst_device = hlo_test_device_of(*state, 0));
  PJRT_Buffer_CopyToMemory_Args to_memory =
      ARGS(Buffer_CopyToMemory, .buffer = buffer,
           .dst_memory = hlo_test_memory_of(hlo_test_device_of(*state, 0)));
  OK(Buffer_CopyToDevice, &to_device);
  OK(Buffer_CopyToMemory, &to_memory);
  PJRT_Buffer* all[] = {buffer, to_device.dst_buffer, to_memory.dst_buffer};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < i; ++j) assert_ptr_not_equal(address_of(all[i]), address_of(all[j]));
  }
  hlo_test_destroy_buffer(all[0]);
  for (int i = 1; i < 3; ++i) {
    assert_memory_equal(address_of(all[i]), data, sizeof data);
    hlo_test_destroy_buffer(all[i]);
  }
}

// --- Ready events --------------------------------------------------------------------------------

typedef struct asker {
  pthread_t thread;
  pthread_barrier_t* barrier;
  PJRT_Buffer* buffer;
  PJRT_Event* event;
} asker_t;

static void* ask(void* context) {
  asker_t* asker = context;
  pthread_barrier_wait(asker->barrier);
  asker->event = hlo_test_ready_event(asker->buffer);
  OK(Event_Await, &ARGS(Event_Await, .event = asker->event));
  return NULL;
}

/// All threads get the same event, and all wake.
static void test_threads_share_the_ready_event(void** state) {
  PJRT_AsyncHostToDeviceTransferManager* manager = create_pending(*state, 1, (int64_t[]){3});
  PJRT_Buffer* buffer = retrieve(manager, 0);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, THREADS + 1);
  asker_t askers[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    askers[i] = (asker_t){.barrier = &barrier, .buffer = buffer};
    assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
  }
  pthread_barrier_wait(&barrier);
  PJRT_AsyncHostToDeviceTransferManager_TransferData_Args args =
      ARGS(AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = manager,
           .buffer_index = 0, .data = "abc", .transfer_size = 3, .is_last_transfer = true);
  OK(AsyncHostToDeviceTransferManager_TransferData, &args);
  hlo_test_await(args.done_with_h2d_transfer);
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(askers[i].thread, NULL);
    assert_ptr_equal(askers[i].event, askers[0].event);
  }
  for (int i = 0; i < THREADS; ++i) {
    OK(Event_Destroy, &ARGS(Event_Destroy, .event = askers[i].event));
  }
  pthread_barrier_destroy(&barrier);
  hlo_test_destroy_buffer(buffer);
  OK(AsyncHostToDeviceTransferManager_Destroy,
     &ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = manager));
}

// --- Throughput ----------------------------------------------------------------------------------

/// 10,000 uploads of a number take less than a second.
static void test_tiny_uploads(void** state) {
  static PJRT_Buffer* buffers[MANY];
  const uint64_t begin = now_ns();
  for (int i = 0; i < MANY; ++i) {
    buffers[i] = hlo_test_upload(*state, PJRT_Buffer_Type_S32, &i, NULL, 0);
  }
  const uint64_t end = now_ns();
  assert_true(end - begin < 1000000000u);
  for (int i = 0; i < MANY; ++i) {
    int32_t got = -1;
    hlo_test_download(buffers[i], &got, sizeof got);
    assert_int_equal(got, i);
    hlo_test_destroy_buffer(buffers[i]);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_filling_deleted_buffers),
      TEST(test_copies_have_their_own_memory),
      TEST(test_threads_share_the_ready_event),
      TEST(test_tiny_uploads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
