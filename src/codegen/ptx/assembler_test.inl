// SPDX-License-Identifier: Apache-2.0
// Runs NVIDIA's assembler, which the environment variable HLOCC_PTXAS names, in tests.
#include <stdlib.h>
#include <unistd.h>

#include "base/strbuf.h"

static inline void ptx_skip_without_assembler(void) {
  const char* assembler = getenv("HLOCC_PTXAS");
  if (!assembler || !*assembler) skip();
}

/// Fails the test unless the text is assembled without a warning; its file is kept then.
static inline void ptx_assemble(const hlo_strbuf_t* text, const char* target_name) {
  char path[] = "/tmp/hlocc_ptx_XXXXXX", command[512];
  const int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, hlo_strbuf_text(text), text->length), text->length);
  close(file);
  snprintf(command, sizeof command, "%s -O1 --warning-as-error -arch=%s -o /dev/null %s",
           getenv("HLOCC_PTXAS"), target_name, path);
  assert_int_equal(system(command), 0);
  remove(path);
}
