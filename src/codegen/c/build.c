// SPDX-License-Identifier: Apache-2.0
// Compiles C source and loads it (see build.h).
//
// A file of the cache is the shared object with a trailer of its size and hash; its name is the
// hash of everything it was made from. A build opens a copy with a unique name and removes it at
// once: two programs of the same source are two libraries with separate variables, and no process
// can change a file between the check of its hash and its use.
#include "codegen/c/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/os.h"
#include "codegen/c/compiler.h"
#include "codegen/c/emit.h"

enum { MAX_FLAGS = 40, PATH_BYTES = 1024 };

static const char trailer_magic[8] = "hloccso1";

typedef struct trailer {
  char magic[8];
  uint64_t size_bytes, hash;
} trailer_t;

struct hlo_c_program {
  void* library;
  void* const* functions;
  const uint32_t* saved_bytes;
  bool was_cached;
};

typedef struct build {
  const hlo_c_build_options_t* options;
  hlo_strbuf_t source;
  const char* flags[MAX_FLAGS];  // NULL-terminated
  char cached[PATH_BYTES];       // file of the cache, "" for none
  char scratch[PATH_BYTES];      // private scratch folder
  char source_path[PATH_BYTES], object_path[PATH_BYTES];
} build_t;

// ---- commands -----------------------------------------------------------------------------------

static const char* environment_value(const char* name) {
  size_t length = strlen(name);
  for (const char* const* at = hlo_os_environment(); *at; ++at) {
    if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') return *at + length + 1;
  }
  return "";
}

static void add_flags(build_t* build, const char* const* flags) {
  size_t count = 0;
  while (build->flags[count]) ++count;
  for (; *flags && count + 1 < MAX_FLAGS; ++flags) build->flags[count++] = *flags;
}

static void choose_flags(build_t* build) {
  static const char* const always[] = {"-x", "c", "-O2", "-w", "-shared", "-fPIC", NULL};
  static const char* const avx2[] = {"-mavx2", "-mfma",    "-mf16c", "-mbmi",
                                     "-mbmi2", "-mpopcnt", NULL};
  static const char* const avx512[] = {"-mavx512f",  "-mavx512dq", "-mavx512cd",
                                       "-mavx512bw", "-mavx512vl", "-mprefer-vector-width=512",
                                       NULL};
  const hlo_target_t* target = build->options->target;
  add_flags(build, always);
  add_flags(build, hlo_c_flags);
  if (target && target->cpu.level >= HLO_CPU_LEVEL_AVX2) add_flags(build, avx2);
  if (target && target->cpu.level >= HLO_CPU_LEVEL_AVX512) add_flags(build, avx512);
}

static bool join_path(char out[PATH_BYTES], const char* folder, const char* name) {
  int length = snprintf(out, PATH_BYTES, "%s/%s", folder, name);
  if (length >= 0 && length < PATH_BYTES) return true;
  out[0] = 0;
  return false;
}

static uint64_t source_hash(const build_t* build, uint64_t seed) {
  const char* compiler = build->options->compiler ? build->options->compiler : "";
  uint64_t hash = hlo_hash_bytes(hlo_strbuf_text(&build->source), build->source.length, seed);
  hash = hlo_hash_bytes(compiler, strlen(compiler), hash);
  for (const char* const* flag = build->flags; *flag; ++flag) {
    hash = hlo_hash_bytes(*flag, strlen(*flag), hash);
  }
  return hash;
}

// Creates the cache folder if it does not exist, and chooses the file in it; no file if that fails.
static void choose_cached(build_t* build) {
  char folder[PATH_BYTES], name[64];
  const char* wanted = build->options->cache_directory;
  if (wanted && *wanted) {
    if (snprintf(folder, sizeof folder, "%s", wanted) >= PATH_BYTES) return;
  } else if (*environment_value("XDG_CACHE_HOME") == '/') {
    if (!join_path(folder, environment_value("XDG_CACHE_HOME"), "hlocc")) return;
  } else if (*environment_value("HOME") == '/') {
    if (!join_path(folder, environment_value("HOME"), ".cache/hlocc")) return;
  } else {
    return;
  }
  if (!hlo_status_take_ok(hlo_os_directory_create(folder))) return;
  snprintf(name, sizeof name, "%016" PRIx64 "%016" PRIx64 ".so", source_hash(build, 1),
           source_hash(build, 2));
  join_path(build->cached, folder, name);
}

// Creates a folder for this build: in the cache folder, or else in the system's temporary folder.
static hlo_status_t make_scratch(build_t* build) {
  char folder[PATH_BYTES];
  hlo_status_t status = hlo_not_found("no cache");
  if (*build->cached) {
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(build->cached, '/') - build->cached),
             build->cached);
    hlo_status_release(status);
    status = hlo_os_directory_create_temporary(folder, build->scratch, sizeof build->scratch);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_status_release(status);
    HLO_TRY(hlo_os_directory_create_temporary(NULL, build->scratch, sizeof build->scratch));
  }
  if (!join_path(build->source_path, build->scratch, "code.c") ||
      !join_path(build->object_path, build->scratch, "code.so")) {
    return hlo_invalid_argument("the cache's path is too long: %.100s...", build->scratch);
  }
  return hlo_ok();
}

static void remove_scratch(const build_t* build) {
  if (!*build->scratch) return;
  hlo_os_file_remove(build->source_path);
  hlo_os_file_remove(build->object_path);
  hlo_os_file_remove(build->scratch);
}

// ---- compiler ----------------------------------------------------------------------------------

static hlo_status_t compile(build_t* build) {
  HLO_TRY(
      hlo_os_file_write(build->source_path, hlo_strbuf_text(&build->source), build->source.length));
  add_flags(build,
            (const char* const[]){"-o", build->object_path, build->source_path, "-lm", NULL});
  return hlo_c_compiler_run(build->options->compiler, build->flags);
}

// ---- cache -------------------------------------------------------------------------------------

// Copies the cached file to the scratch folder; false if the cache has no undamaged file.
static bool take_cached(const build_t* build) {
  uint8_t* data = NULL;
  size_t size = 0;
  trailer_t trailer;
  if (!*build->cached) return false;
  bool is_whole =
      hlo_status_take_ok(hlo_os_file_read(build->cached, 0, &data, &size)) && size > sizeof trailer;
  if (is_whole) {
    size -= sizeof trailer;
    memcpy(&trailer, data + size, sizeof trailer);
    is_whole = memcmp(trailer.magic, trailer_magic, sizeof trailer_magic) == 0 &&
               trailer.size_bytes == size && trailer.hash == hlo_hash_bytes(data, size, 0);
  }
  is_whole = is_whole && hlo_status_take_ok(hlo_os_file_write(build->object_path, data, size));
  hlo_mem_free(data);
  return is_whole;
}

// Stores the compiled file in the cache. A cache that cannot be written does not fail the build.
static void put_cached(const build_t* build) {
  uint8_t* data = NULL;
  size_t size = 0;
  trailer_t trailer;
  if (!*build->cached) return;
  hlo_status_t status = hlo_os_file_read(build->object_path, 0, &data, &size);
  uint8_t* whole = hlo_status_is_ok(status) ? hlo_mem_realloc(data, size + sizeof trailer) : NULL;
  if (whole) {
    memcpy(trailer.magic, trailer_magic, sizeof trailer_magic);
    trailer.size_bytes = size;
    trailer.hash = hlo_hash_bytes(whole, size, 0);
    memcpy(whole + size, &trailer, sizeof trailer);
    data = whole;
    status = hlo_os_file_write(build->cached, whole, size + sizeof trailer);
  }
  hlo_status_release(status);
  hlo_mem_free(data);
}

// ---- loading -----------------------------------------------------------------------------------

static hlo_status_t load_library(const build_t* build, const hlo_vir_module_t* module,
                                 hlo_c_program_t* program) {
  HLO_TRY(hlo_os_library_open(build->object_path, &program->library));
  program->functions = hlo_os_library_symbol(program->library, "hlo_functions");
  program->saved_bytes = hlo_os_library_symbol(program->library, "hlo_saved_bytes");
  const void** blobs = hlo_os_library_symbol(program->library, "hlo_blobs");
  if (!program->functions || !program->saved_bytes || (module->blob_count && !blobs)) {
    return hlo_internal_error("compiled code has not the symbols it should");
  }
  for (uint32_t i = 0; i < module->blob_count; ++i) blobs[i] = module->blobs[i].bytes;
  return hlo_ok();
}

static hlo_status_t make_program(build_t* build, const hlo_vir_module_t* module,
                                 hlo_c_program_t* program) {
  HLO_TRY(hlo_c_emit(module, HLO_C_BLOBS_EXTERNAL, &build->source));
  choose_flags(build);
  choose_cached(build);
  HLO_TRY(make_scratch(build));
  program->was_cached = take_cached(build);
  if (!program->was_cached) {
    HLO_TRY(compile(build));
    put_cached(build);
  }
  return load_library(build, module, program);
}

hlo_status_t hlo_c_build(const hlo_vir_module_t* module, const hlo_c_build_options_t* options,
                         hlo_c_program_t** out_program) {
  hlo_c_program_t* program = hlo_mem_alloc_zeroed(sizeof *program);
  build_t* build = hlo_mem_alloc_zeroed(sizeof *build);
  hlo_status_t status = program && build ? hlo_ok() : hlo_status_out_of_memory(sizeof *build);
  if (hlo_status_is_ok(status)) {
    build->options = options;
    status = make_program(build, module, program);
    remove_scratch(build);
    hlo_strbuf_deinit(&build->source);
  }
  hlo_mem_free(build);
  if (hlo_status_is_ok(status)) {
    *out_program = program;
  } else {
    hlo_c_program_release(program);
  }
  return status;
}

void hlo_c_program_release(hlo_c_program_t* program) {
  if (!program) return;
  hlo_os_library_close(program->library);
  hlo_mem_free(program);
}

void* hlo_c_program_address(const hlo_c_program_t* program, uint32_t func_index) {
  return program->functions[func_index];
}

uint32_t hlo_c_program_saved_bytes(const hlo_c_program_t* program, uint32_t func_index) {
  return program->saved_bytes[func_index];
}

bool hlo_c_program_was_cached(const hlo_c_program_t* program) {
  return program->was_cached;
}
