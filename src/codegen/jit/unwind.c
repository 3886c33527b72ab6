// SPDX-License-Identifier: Apache-2.0
// libgcc's registry of unwind tables, found at run time.
#include <pthread.h>
#include <string.h>

#include "codegen/jit/jit_impl.h"

static hlo_jit_unwinder_t unwinder;

static void find_unwinder(void) {
  void* library;
  hlo_status_t status = hlo_os_library_open("libgcc_s.so.1", &library);
  if (!hlo_status_is_ok(status)) {  // backtraces end at generated code in that case
    hlo_status_release(status);
    return;
  }
  void* enter = hlo_os_library_symbol(library, "__register_frame");
  void* leave = hlo_os_library_symbol(library, "__deregister_frame");
  if (!enter || !leave) return;
  memcpy(&unwinder.register_frame, &enter, sizeof enter);
  memcpy(&unwinder.deregister_frame, &leave, sizeof leave);
}

const hlo_jit_unwinder_t* hlo_jit_unwinder(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_unwinder);
  return &unwinder;
}
