// SPDX-License-Identifier: Apache-2.0
// Tests of the OS layer: files and their failures, pages, cores, libraries.
#define _GNU_SOURCE
#include "base/os.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

static char g_directory[64];

static int setup(void** state) {
  (void)state;
  strcpy(g_directory, "/tmp/hlocc_os_test.XXXXXX");
  return mkdtemp(g_directory) ? 0 : -1;
}

static int teardown(void** state) {
  (void)state;
  return rmdir(g_directory);
}

static const char* path_of(const char* name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", g_directory, name);
  return path;
}

static void expect(hlo_status_t status, hlo_status_code_t code, const char* part) {
  assert_int_equal(hlo_status_code(status), code);
  if (part) assert_non_null(strstr(hlo_status_message(status), part));
  hlo_status_release(status);
}

static void test_write_and_read(void** state) {
  (void)state;
  const char* path = path_of("file");
  expect(hlo_os_file_write(path, "first", 5), HLO_STATUS_OK, NULL);
  expect(hlo_os_file_write(path, "second\0one", 10), HLO_STATUS_OK, NULL);
  uint8_t* data = NULL;
  size_t size = 0;
  expect(hlo_os_file_read(path, 0, &data, &size), HLO_STATUS_OK, NULL);
  assert_int_equal(size, 10);
  assert_memory_equal(data, "second\0one", 11);
  hlo_mem_free(data);
  expect(hlo_os_file_read(path, 9, &data, &size), HLO_STATUS_RESOURCE_EXHAUSTED, "limit of 9");
  const uint8_t* mapped = NULL;
  expect(hlo_os_file_map(path, &mapped, &size), HLO_STATUS_OK, NULL);
  assert_memory_equal(mapped, "second", 6);
  hlo_os_pages_unmap((void*)mapped, size);
  expect(hlo_os_file_write(path, "", 0), HLO_STATUS_OK, NULL);
  expect(hlo_os_file_map(path, &mapped, &size), HLO_STATUS_OK, NULL);
  assert_null(mapped);
  unlink(path);
  expect(hlo_os_file_read(path, 0, &data, &size), HLO_STATUS_NOT_FOUND, path);
  expect(hlo_os_file_read(g_directory, 0, &data, &size), HLO_STATUS_INVALID_ARGUMENT, "directory");
  expect(hlo_os_file_map("/dev/null", &mapped, &size), HLO_STATUS_INVALID_ARGUMENT, "regular");
  expect(hlo_os_file_read("/proc/self/status", 0, &data, &size), HLO_STATUS_OK, NULL);
  assert_true(size > 100);  // a file whose size is not known beforehand
  hlo_mem_free(data);
}

// A pipe remains a pipe, and a device a device.
static void test_special_files(void** state) {
  (void)state;
  const char* path = path_of("pipe");
  assert_int_equal(mkfifo(path, 0600), 0);
  int fd = open(path, O_RDWR | O_NONBLOCK);
  assert_true(fd >= 0);
  expect(hlo_os_file_write(path, "text", 4), HLO_STATUS_OK, NULL);
  struct stat info;
  assert_int_equal(lstat(path, &info), 0);
  assert_true(S_ISFIFO(info.st_mode));
  char data[8];
  assert_int_equal(read(fd, data, sizeof data), 4);
  assert_memory_equal(data, "text", 4);
  close(fd);
  unlink(path);
}

// Every operation fails once: the old content remains, and no other file.
static void test_injected_faults(void** state) {
  (void)state;
  const char* path = path_of("kept");
  expect(hlo_os_file_write(path, "old", 3), HLO_STATUS_OK, NULL);
  for (uint64_t n = 1;; ++n) {
    hlo_os_io_fail_nth(n);
    hlo_status_t status = hlo_os_file_write(path, "new", 3);
    bool failed = hlo_os_io_failed();
    hlo_os_io_fail_nth(0);
    assert_int_equal(hlo_status_is_ok(status), !failed);
    hlo_status_release(status);
    uint8_t* data = NULL;
    size_t size = 0;
    hlo_os_io_fail_nth(failed ? 1 : 0);
    expect(hlo_os_file_read(path, 0, &data, &size), failed ? HLO_STATUS_DATA_LOSS : HLO_STATUS_OK,
           NULL);
    hlo_os_io_fail_nth(0);
    hlo_mem_free(data);
    expect(hlo_os_file_read(path, 0, &data, &size), HLO_STATUS_OK, NULL);
    assert_memory_equal(data, failed ? "old" : "new", 3);
    hlo_mem_free(data);
    if (!failed) break;
  }
  unlink(path);
}

static void test_directories_and_streams(void** state) {
  (void)state;
  char deep[256];
  snprintf(deep, sizeof deep, "%s/a/b", g_directory);
  expect(hlo_os_directory_create(deep), HLO_STATUS_OK, NULL);
  expect(hlo_os_directory_create(deep), HLO_STATUS_OK, NULL);
  expect(hlo_os_directory_create("/dev/null/x"), HLO_STATUS_NOT_FOUND, "/dev/null");
  hlo_os_stream_t* stream = NULL;
  const char* path = path_of("a/b/log");
  expect(hlo_os_stream_open(path, false, &stream), HLO_STATUS_OK, NULL);
  expect(hlo_os_stream_write(stream, "one", 3), HLO_STATUS_OK, NULL);
  expect(hlo_os_stream_write(stream, "two", 3), HLO_STATUS_OK, NULL);
  hlo_os_stream_close(stream);
  expect(hlo_os_stream_open(path, true, &stream), HLO_STATUS_OK, NULL);
  expect(hlo_os_stream_write(stream, "three", 5), HLO_STATUS_OK, NULL);
  hlo_os_stream_close(stream);
  uint8_t* data = NULL;
  size_t size = 0;
  expect(hlo_os_file_read(path, 0, &data, &size), HLO_STATUS_OK, NULL);
  assert_string_equal((char*)data, "onetwothree");
  hlo_mem_free(data);
  unlink(path);
  rmdir(path_of("a/b"));
  rmdir(path_of("a"));
}

static void test_temporary_directories(void** state) {
  (void)state;
  char first[256], second[256], path[300];
  assert_true(hlo_status_is_ok(hlo_os_directory_create_temporary(NULL, first, sizeof first)));
  assert_true(hlo_status_is_ok(hlo_os_directory_create_temporary(first, second, sizeof second)));
  assert_string_not_equal(first, second);
  snprintf(path, sizeof path, "%s/file", second);
  assert_true(hlo_status_is_ok(hlo_os_file_write(path, "x", 1)));
  hlo_os_file_remove(second);  // not empty: stays
  uint8_t* data;
  size_t size;
  assert_true(hlo_status_is_ok(hlo_os_file_read(path, 0, &data, &size)));
  hlo_mem_free(data);
  hlo_os_file_remove(path);
  hlo_os_file_remove(second);
  hlo_os_file_remove(first);
  hlo_status_t status = hlo_os_directory_create_temporary(first, second, sizeof second);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_NOT_FOUND);
  hlo_status_release(status);
}

static void test_pages(void** state) {
  (void)state;
  for (int huge = 0; huge < 2; ++huge) {
    void* pages = NULL;
    size_t size = 5 * 1024 * 1024 + 1;
    expect(hlo_os_pages_map(size, huge, &pages), HLO_STATUS_OK, NULL);
    uint8_t* bytes = pages;
    if (huge) assert_int_equal((uintptr_t)bytes % (2 * 1024 * 1024), 0);
    bytes[0] = bytes[size - 1] = 1;
    hlo_os_pages_unmap(pages, size);
  }
  void* pages = NULL;
  expect(hlo_os_pages_map(SIZE_MAX, false, &pages), HLO_STATUS_RESOURCE_EXHAUSTED, NULL);
  void* executable = NULL;
  expect(hlo_os_pages_map_twice(64, &pages, &executable), HLO_STATUS_OK, NULL);
  memcpy(pages, "seen", 4);
  assert_memory_equal(executable, "seen", 4);
  hlo_os_pages_unmap(pages, 64);
  hlo_os_pages_unmap(executable, 64);
  hlo_os_io_fail_nth(1);
  expect(hlo_os_pages_map_twice(64, &pages, &executable), HLO_STATUS_DATA_LOSS, "anonymous");
  hlo_os_io_fail_nth(0);
}

static void test_machine(void** state) {
  (void)state;
  uint32_t cores = hlo_os_usable_cpu_count();
  assert_true(cores >= 1 && cores <= (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
  assert_true(hlo_os_memory_bytes() > 1 << 20);
  uint64_t start = hlo_os_now_ns();
  assert_true(hlo_os_now_ns() >= start);
  assert_int_equal(hlo_os_process_id(), getpid());
  assert_int_equal(hlo_os_permit_tiles(), hlo_os_permit_tiles());  // the same result when repeated
  atomic_uint word = 1;
  hlo_os_futex_wait(&word, 0, UINT64_MAX);  // differs: returns at once
  hlo_os_futex_wait(&word, 1, 1000000);
  assert_true(hlo_os_now_ns() - start >= 900000);
  uint64_t own = hlo_os_thread_ns();
  assert_true(hlo_os_thread_ns() >= own);
}

static int core_count(int64_t thread_id) {
  cpu_set_t cpus;
  assert_int_equal(sched_getaffinity((pid_t)thread_id, sizeof cpus, &cpus), 0);
  return CPU_COUNT(&cpus);
}

static void* take_detours(void* argument) {
  (void)argument;
  int64_t self = hlo_os_thread_id();
  const int cores = core_count(self);
  hlo_os_detour_t detour = {0};
  hlo_os_thread_return(&detour);  // nothing to return from
  uint32_t avoided = hlo_os_current_cpu();
  hlo_os_thread_detour(self, avoided, &detour);
  if (cores > 1) {
    assert_int_not_equal(hlo_os_current_cpu(), avoided);
    assert_int_equal(core_count(self), cores - 1);
  }
  hlo_os_thread_return(&detour);
  assert_int_equal(core_count(self), cores);

  // A change of affinity by the user remains; a thread with only one core has no detour.
  hlo_os_thread_detour(self, hlo_os_current_cpu(), &detour);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(avoided, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  if (cores > 2) {
    hlo_os_thread_return(&detour);
    assert_int_equal(core_count(self), 1);
  }
  detour = (hlo_os_detour_t){0};
  hlo_os_thread_detour(self, avoided, &detour);
  assert_false(detour.is_taken);
  assert_int_equal(hlo_os_current_cpu(), avoided);
  return NULL;
}

static void test_detours(void** state) {
  (void)state;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, take_detours, NULL), 0);
  pthread_join(thread, NULL);
}

static void test_libraries(void** state) {
  (void)state;
  void* library = NULL;
  expect(hlo_os_library_open("libc.so.6", &library), HLO_STATUS_OK, NULL);
  assert_non_null(hlo_os_library_symbol(library, "strlen"));
  assert_null(hlo_os_library_symbol(library, "no_such_symbol_here"));
  hlo_os_library_close(library);
  expect(hlo_os_library_open("libno_such_library.so", &library), HLO_STATUS_NOT_FOUND,
         "libno_such_library.so");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_detours),
      cmocka_unit_test(test_write_and_read),
      cmocka_unit_test(test_special_files),
      cmocka_unit_test(test_injected_faults),
      cmocka_unit_test(test_directories_and_streams),
      cmocka_unit_test(test_temporary_directories),
      cmocka_unit_test(test_pages),
      cmocka_unit_test(test_machine),
      cmocka_unit_test(test_libraries),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
