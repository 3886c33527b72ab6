// SPDX-License-Identifier: Apache-2.0
// Runs the system's C compiler (see compiler.h).
#include "codegen/c/compiler.h"

#include "base/os.h"
#include "base/strbuf.h"

enum { MAX_ARGUMENTS = 64 };
#define TIMEOUT_NS UINT64_C(300000000000)  // per run

// errors: NOT_FOUND if no compiler has that name
static hlo_status_t run_one(const char* compiler, const char* const* arguments) {
  const char* all[MAX_ARGUMENTS + 2] = {compiler};
  size_t count = 1;
  int exit_code = 0;
  while (count <= MAX_ARGUMENTS && arguments[count - 1]) {
    all[count] = arguments[count - 1];
    ++count;
  }
  HLO_SCOPED_STRBUF output = {0};
  HLO_TRY(hlo_os_process_run(all, TIMEOUT_NS, &output, &exit_code));
  if (exit_code == 0) return hlo_ok();
  return hlo_internal_error("%s ended with %d: %.2000s", compiler, exit_code,
                            hlo_strbuf_text(&output));
}

hlo_status_t hlo_c_compiler_run(const char* compiler, const char* const* arguments) {
  static const char* const names[] = {"cc", "gcc", "clang"};
  if (compiler && *compiler) return run_one(compiler, arguments);
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    hlo_status_t status = run_one(names[i], arguments);
    if (hlo_status_code(status) != HLO_STATUS_NOT_FOUND) return status;
    hlo_status_release(status);
  }
  return hlo_not_found("no C compiler: neither cc nor gcc nor clang is in PATH");
}
