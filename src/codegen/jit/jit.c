// SPDX-License-Identifier: Apache-2.0
// Loads code (see jit.h): into memory, then into the tables of unwinders, perf and debuggers.
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "codegen/jit/jit_impl.h"

// ---- libgcc's registry of unwind tables, found at run time

// The functions are NULL if libgcc is not available.
typedef struct unwinder {
  void (*register_frame)(void* eh_frame);
  void (*deregister_frame)(void* eh_frame);
} unwinder_t;

static unwinder_t unwinder;

static void look_up_unwinder(void) {
  void* library;
  if (!hlo_status_take_ok(hlo_os_library_open("libgcc_s.so.1", &library)))
    return;  // backtraces end at generated code in that case
  void* enter = hlo_os_library_symbol(library, "__register_frame");
  void* leave = hlo_os_library_symbol(library, "__deregister_frame");
  if (!enter || !leave) return;
  memcpy(&unwinder.register_frame, &enter, sizeof enter);
  memcpy(&unwinder.deregister_frame, &leave, sizeof leave);
}

// Returns the process's unwinder, which is looked up once. libgcc is never closed: loading
// it again can take longer than compiling a program.
// threads: safe
static const unwinder_t* find_unwinder(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look_up_unwinder);
  return &unwinder;
}

struct hlo_jit {
  hlo_jit_pool_t* pool;
  hlo_jit_memory_t memory;
  hlo_eh_frame_t eh_frame;
  hlo_jit_gdb_entry_t* gdb_entry;  // NULL: none
  bool is_unwindable;              // registered with the unwinder
  hlo_code_t code;                 // as loaded; the tables are in the object's block
};

// ---- pool

// Opens the map of this process. If another pool writes it as well, both append whole lines.
static hlo_status_t open_perf_map(hlo_os_stream_t** out_stream) {
  HLO_SCOPED_STRBUF path = {0};
  hlo_strbuf_printf(&path, "/tmp/perf-%" PRId64 ".map", hlo_os_process_id());
  HLO_TRY(hlo_strbuf_status(&path));
  hlo_status_t status = hlo_os_stream_open(hlo_strbuf_text(&path), false, out_stream);
  if (hlo_status_code(status) != HLO_STATUS_ALREADY_EXISTS) return status;
  hlo_status_release(status);
  return hlo_os_stream_open(hlo_strbuf_text(&path), true, out_stream);
}

static hlo_status_t create_pool(const hlo_jit_options_t* options, bool has_slabs,
                                hlo_jit_pool_t** out_pool) {
  hlo_jit_pool_t* pool = hlo_mem_alloc_zeroed(sizeof *pool);
  if (!pool) return hlo_status_out_of_memory(sizeof *pool);
  if (options && options->perf) {
    hlo_status_t status = open_perf_map(&pool->perf_map);
    if (!hlo_status_is_ok(status)) {
      hlo_mem_free(pool);
      return hlo_status_annotate(status, "map for perf");
    }
  }
  pool->gdb = options && options->gdb;
  pool->has_slabs = has_slabs;
  pool->process_id = hlo_os_process_id();
  atomic_init(&pool->reference_count, 1);
  hlo_mutex_init(&pool->mutex, HLO_LOCK_LEVEL_MEMORY + 1);
  *out_pool = pool;
  return hlo_ok();
}

hlo_status_t hlo_jit_pool_create(const hlo_jit_options_t* options, hlo_jit_pool_t** out_pool) {
  bool has_slabs = !(options && options->perf);  // perf looks up names in anonymous memory only
  return create_pool(options, has_slabs, out_pool);
}

void hlo_jit_pool_release(hlo_jit_pool_t* pool) {
  // release: publishes this owner's accesses; acquire: the last owner sees all of them
  if (!pool || atomic_fetch_sub_explicit(&pool->reference_count, 1, memory_order_acq_rel) != 1) {
    return;
  }
  hlo_jit_memory_deinit(pool);
  hlo_os_stream_close(pool->perf_map);
  hlo_mutex_deinit(&pool->mutex);
  hlo_mem_free(pool);
}

// ---- loading

static hlo_status_t check_code(const hlo_code_t* code) {
  for (uint32_t i = 0; i < code->func_count; i++) {
    uint64_t end = (uint64_t)code->funcs[i].offset_bytes + code->funcs[i].size_bytes;
    if (end > code->size_bytes) {
      return hlo_internal_error("machine code: function %s ends at byte %" PRIu64 " of %zu",
                                code->funcs[i].name, end, code->size_bytes);
    }
  }
  return hlo_ok();
}

// Copies names, functions and debug ids to the end of the object's block.
static void copy_tables(hlo_jit_t* jit, const hlo_code_t* code) {
  hlo_code_func_t* funcs = (hlo_code_func_t*)(jit + 1);
  hlo_code_debug_id_t* debug_ids = (hlo_code_debug_id_t*)(funcs + code->func_count);
  char* names = (char*)(debug_ids + code->debug_id_count);
  if (code->debug_id_count)
    memcpy(debug_ids, code->debug_ids, code->debug_id_count * sizeof *debug_ids);
  for (uint32_t i = 0; i < code->func_count; i++) {
    size_t length = strlen(code->funcs[i].name) + 1;
    funcs[i] = code->funcs[i];
    funcs[i].name = memcpy(names, code->funcs[i].name, length);
    names += length;
  }
  jit->code = (hlo_code_t){.isa = code->isa,
                           .size_bytes = code->size_bytes,
                           .func_count = code->func_count,
                           .debug_id_count = code->debug_id_count,
                           .funcs = funcs,
                           .debug_ids = debug_ids};
}

// Creates the object with copies of the tables; no code is placed yet.
static hlo_status_t create_jit(hlo_jit_pool_t* pool, const hlo_code_t* code, hlo_jit_t** out_jit) {
  size_t funcs_bytes, debug_ids_bytes, size_bytes = sizeof(hlo_jit_t);
  for (uint32_t i = 0; i < code->func_count; i++) size_bytes += strlen(code->funcs[i].name) + 1;
  if (!hlo_size_mul(code->func_count, sizeof *code->funcs, &funcs_bytes) ||
      !hlo_size_mul(code->debug_id_count, sizeof *code->debug_ids, &debug_ids_bytes) ||
      !hlo_size_add(size_bytes, funcs_bytes, &size_bytes) ||
      !hlo_size_add(size_bytes, debug_ids_bytes, &size_bytes)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  hlo_jit_t* jit = hlo_mem_alloc_zeroed(size_bytes);
  if (!jit) return hlo_status_out_of_memory(size_bytes);
  copy_tables(jit, code);
  // relaxed: the caller holds a reference, so the count cannot become 0 concurrently
  atomic_fetch_add_explicit(&pool->reference_count, 1, memory_order_relaxed);
  jit->pool = pool;
  *out_jit = jit;
  return hlo_ok();
}

// Writes one line per function: address, size, name without line breaks. An error loses names,
// never the program.
static void write_perf_map(const hlo_jit_t* jit, const hlo_code_t* code, const char* name) {
  HLO_SCOPED_STRBUF lines = {0};
  for (uint32_t i = 0; i < code->func_count; i++) {
    const hlo_code_func_t* func = &code->funcs[i];
    hlo_strbuf_printf(&lines, "%" PRIxPTR " %x ", (uintptr_t)jit->memory.code + func->offset_bytes,
                      func->size_bytes);
    size_t start = lines.length;
    hlo_strbuf_printf(&lines, "%s::%s", name, func->name);
    for (size_t at = start; at < lines.length; at++) {
      if ((unsigned char)lines.data[at] < ' ') lines.data[at] = '_';
    }
    hlo_strbuf_putc(&lines, '\n');
  }
  if (!lines.failed) {
    hlo_status_release(hlo_os_stream_write(jit->pool->perf_map, lines.data, lines.length));
  }
}

static hlo_status_t announce(hlo_jit_t* jit, const hlo_code_t* code, const char* name) {
  hlo_jit_pool_t* pool = jit->pool;
  HLO_TRY(hlo_eh_frame_create(code, jit->memory.code, NULL, &jit->eh_frame));
  if (pool->gdb) {
    HLO_TRY(hlo_jit_gdb_register(code, jit->memory.code, name, &jit->eh_frame, &jit->gdb_entry));
  }
  // The unwinder could not find a table without functions to deregister it.
  jit->is_unwindable = find_unwinder()->register_frame && code->func_count;
  if (jit->is_unwindable) find_unwinder()->register_frame(jit->eh_frame.bytes);
  if (pool->perf_map) write_perf_map(jit, code, name);
  return hlo_ok();
}

hlo_status_t hlo_jit_pool_load(hlo_jit_pool_t* pool, const hlo_code_t* code, const char* name,
                               hlo_jit_t** out_jit) {
  HLO_TRY(check_code(code));
  hlo_jit_t* jit = NULL;
  HLO_TRY(create_jit(pool, code, &jit));
  hlo_status_t status = hlo_jit_memory_place(pool, code->bytes, code->size_bytes, &jit->memory);
  jit->code.bytes = jit->memory.code;
  if (hlo_status_is_ok(status)) status = announce(jit, &jit->code, name);
  if (!hlo_status_is_ok(status)) {
    if (jit->memory.code) hlo_jit_memory_release(pool, &jit->memory);
    hlo_mem_free(jit->eh_frame.bytes);
    hlo_mem_free(jit);
    hlo_jit_pool_release(pool);
    return status;
  }
  *out_jit = jit;
  return hlo_ok();
}

hlo_status_t hlo_jit_load(const hlo_code_t* code, const char* name,
                          const hlo_jit_options_t* options, hlo_jit_t** out_jit) {
  hlo_jit_pool_t* pool = NULL;
  HLO_TRY(create_pool(options, false, &pool));
  hlo_status_t status = hlo_jit_pool_load(pool, code, name, out_jit);
  hlo_jit_pool_release(pool);
  return status;
}

void hlo_jit_release(hlo_jit_t* jit) {
  if (!jit) return;
  hlo_jit_pool_t* pool = jit->pool;
  if (jit->is_unwindable) find_unwinder()->deregister_frame(jit->eh_frame.bytes);
  hlo_jit_gdb_unregister(jit->gdb_entry);
  hlo_jit_memory_release(pool, &jit->memory);
  hlo_mem_free(jit->eh_frame.bytes);
  hlo_mem_free(jit);
  hlo_jit_pool_release(pool);
}

const hlo_code_t* hlo_jit_code(const hlo_jit_t* jit) {
  return &jit->code;
}

void* hlo_jit_address(const hlo_jit_t* jit, uint32_t func_index) {
  if (func_index >= jit->code.func_count) return NULL;
  return jit->memory.code + jit->code.funcs[func_index].offset_bytes;
}
