// SPDX-License-Identifier: Apache-2.0
// Linking (see link.h).
#include "cli/link.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "codegen/c/compiler.h"

enum { PATH_BYTES = 1024 };

typedef struct scratch {
  char folder[PATH_BYTES], object[PATH_BYTES], shared[PATH_BYTES];
} scratch_t;

static bool join_path(char out[PATH_BYTES], const char* folder, const char* name) {
  int length = snprintf(out, PATH_BYTES, "%s/%s", folder, name);
  return length >= 0 && length < PATH_BYTES;
}

static bool is_file(const char* path) {
  const uint8_t* bytes = NULL;
  size_t size_bytes = 0;
  hlo_status_t status = hlo_os_file_map(path, &bytes, &size_bytes);
  bool is_there = hlo_status_is_ok(status) && size_bytes;
  hlo_status_release(status);
  if (is_there) hlo_os_pages_unmap((void*)(uintptr_t)bytes, size_bytes);
  return is_there;
}

// Finds the library beside the tool, as built (bin and lib) or as installed.
static hlo_status_t find_library(char out_path[PATH_BYTES]) {
  static const char* const places[] = {"../lib/libhlocc_rt.a", "../" HLOCC_LIBDIR "/libhlocc_rt.a"};
  char folder[PATH_BYTES];
  HLO_TRY(hlo_os_program_path(folder, sizeof folder));
  *strrchr(folder, '/') = 0;
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    if (join_path(out_path, folder, places[i]) && is_file(out_path)) return hlo_ok();
  }
  return hlo_status_create(HLO_STATUS_NOT_FOUND, "cannot find libhlocc_rt.a in %.900s/../lib",
                           folder);
}

static hlo_status_t link_in(const scratch_t* scratch, const char* compiler, hlo_strbuf_t* bytes) {
  char library[PATH_BYTES];
  HLO_TRY(find_library(library));
  HLO_TRY(hlo_os_file_write(scratch->object, hlo_strbuf_text(bytes), bytes->length));
  const char* const arguments[] = {
      "-shared", "-o",        scratch->shared, scratch->object, library, "-Wl,--gc-sections",
      "-Wl,-s",  "-lpthread", "-ldl",          "-lm",           NULL};
  HLO_TRY(hlo_c_compiler_run(compiler, arguments));
  uint8_t* data = NULL;
  size_t size_bytes = 0;
  HLO_TRY(hlo_os_file_read(scratch->shared, 0, &data, &size_bytes));
  hlo_strbuf_deinit(bytes);
  hlo_strbuf_append(bytes, (const char*)data, size_bytes);
  hlo_mem_free(data);
  return hlo_strbuf_status(bytes);
}

hlo_status_t hlo_link_shared(const char* compiler, hlo_strbuf_t* bytes) {
  scratch_t scratch;
  HLO_TRY(hlo_os_directory_create_temporary(NULL, scratch.folder, sizeof scratch.folder));
  hlo_status_t status = join_path(scratch.object, scratch.folder, "code.o") &&
                                join_path(scratch.shared, scratch.folder, "code.so")
                            ? link_in(&scratch, compiler, bytes)
                            : hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                                                "the path of temporary files is too long");
  hlo_os_file_remove(scratch.object);
  hlo_os_file_remove(scratch.shared);
  hlo_os_file_remove(scratch.folder);
  return status;
}
