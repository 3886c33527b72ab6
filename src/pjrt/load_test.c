// SPDX-License-Identifier: Apache-2.0
// The plugin as a library: tools that list plugins load and unload every candidate, so loading must
// be cheap, start no threads and leak nothing. The path is in HLOCC_LIBRARY_PATH.
#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hlocc/pjrt.h"

typedef const PJRT_Api* get_api_t(void);

static void* load(const PJRT_Api** out_api) {
  const char* path = getenv("HLOCC_LIBRARY_PATH");
  assert_non_null(path);
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) fail_msg("%s", dlerror());
  get_api_t* get_api = (get_api_t*)dlsym(library, "GetPjrtApi");
  assert_non_null(get_api);
  *out_api = get_api();
  return library;
}

static void unload(void* library) {
  assert_int_equal(dlclose(library), 0);
  assert_null(dlopen(getenv("HLOCC_LIBRARY_PATH"), RTLD_LAZY | RTLD_NOLOAD));
}

static int count_entries(const char* folder) {
  DIR* dir = opendir(folder);
  assert_non_null(dir);
  int count = 0;
  for (const struct dirent* entry; (entry = readdir(dir)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

static long resident_pages(void) {
  FILE* file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  long total = 0, resident = 0;
  assert_int_equal(fscanf(file, "%ld %ld", &total, &resident), 2);
  fclose(file);
  return resident;
}

// A sanitizer keeps its marks of every library that was ever loaded, which take an eighth of the
// library's data: only the growth of a plain build is checked.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 100, GROWTH_LIMIT_BYTES = 1 << 30 };
#else
enum { ROUNDS = 1000, GROWTH_LIMIT_BYTES = 2 << 20 };
#endif

static void test_loading_a_thousand_times(void** state) {
  (void)state;
  enum { WARM_UP = 50 };
  const int files = count_entries("/proc/self/fd");
  long pages = 0;
  for (int i = 0; i < WARM_UP + ROUNDS; ++i) {
    const PJRT_Api* api;
    void* library = load(&api);
    PJRT_Plugin_Attributes_Args attributes = {.struct_size =
                                                  PJRT_Plugin_Attributes_Args_STRUCT_SIZE};
    assert_null(api->PJRT_Plugin_Attributes(&attributes));
    if (i == WARM_UP) {
      assert_int_equal(count_entries("/proc/self/task"), 1);
      pages = resident_pages();
    }
    unload(library);
  }
  assert_int_equal(count_entries("/proc/self/fd"), files);
  assert_true((resident_pages() - pages) * sysconf(_SC_PAGESIZE) < GROWTH_LIMIT_BYTES);
}

static void test_threads_go_with_the_last_client(void** state) {
  (void)state;
  const PJRT_Api* api;
  void* library = load(&api);
  for (int i = 0; i < 20; ++i) {
    PJRT_Client_Create_Args create = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE};
    assert_null(api->PJRT_Client_Create(&create));
    assert_true(count_entries("/proc/self/task") > 1);
    PJRT_Client_Destroy_Args destroy = {.struct_size = PJRT_Client_Destroy_Args_STRUCT_SIZE,
                                        .client = create.client};
    assert_null(api->PJRT_Client_Destroy(&destroy));
    // A joined thread leaves the list a moment later.
    for (int n = 0; n < 1000000 && count_entries("/proc/self/task") > 1; ++n) sched_yield();
    assert_int_equal(count_entries("/proc/self/task"), 1);
  }
  unload(library);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_loading_a_thousand_times),
      cmocka_unit_test(test_threads_go_with_the_last_client),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
