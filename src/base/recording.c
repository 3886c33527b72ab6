// SPDX-License-Identifier: Apache-2.0
// Recordings (see recording.h): a fixed number of tables, each with its lock; the number of a
// thread selects its table. Spans refer to their texts by position until the recording ends.
#include "base/recording.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/strbuf.h"
#include "base/threads.h"

enum {
  TABLE_COUNT = 64,
  TABLE_SPANS_LIMIT = 1 << 20,  // about 150 MiB with the texts
  CACHELINE_BYTES = 64
};

atomic_uint hlo_span_user_count;

typedef struct table {
  _Alignas(CACHELINE_BYTES) hlo_mutex_t mutex;
  bool is_open;               // mutex; a recording is running
  uint64_t start_ns;          // mutex
  uint64_t dropped_count;     // mutex
  HLO_VEC(hlo_span_t) spans;  // mutex; name and detail are positions in `text`, detail 0: none
  hlo_strbuf_t text;          // mutex; strings with their zeros
} table_t;

// Profilers record the process: their interfaces name no client.
static table_t tables[TABLE_COUNT] = {
    [0 ... TABLE_COUNT - 1] = {.mutex = {.level = HLO_LOCK_LEVEL_LOG}}};
static hlo_mutex_t session_mutex = {.level = HLO_LOCK_LEVEL_CLIENT};
static bool is_running;                    // session_mutex
static const uint32_t* _Atomic fork_mark;  // session_mutex to change; 0: in a forked child
static uint64_t start_ns;                  // session_mutex
static uint64_t start_wall_ns;             // session_mutex
static atomic_uint generation;  // of recordings; threads look up their number once in each

static _Thread_local unsigned t_generation;
static _Thread_local int64_t t_thread_id;

static int64_t thread_id(void) {
  // relaxed: the number of a thread changes only by a fork
  const unsigned now = atomic_load_explicit(&generation, memory_order_relaxed);
  if (HLO_UNLIKELY(t_generation != now)) {
    t_thread_id = hlo_os_thread_id();
    t_generation = now;
  }
  return t_thread_id;
}

static void clear(table_t* table) {
  hlo_vec_deinit(&table->spans);
  hlo_strbuf_deinit(&table->text);
  table->text = (hlo_strbuf_t){0};
  table->dropped_count = 0;
}

// An unloaded library must not leave its tables allocated.
__attribute__((destructor)) static void release_tables(void) {
  for (int i = 0; i < TABLE_COUNT; ++i) clear(&tables[i]);
  if (fork_mark) hlo_os_fork_mark_release(fork_mark);
}

// Threads that do not exist in a forked child may have held locks.
static void leave_parent_locked(void) {
  if (fork_mark && *fork_mark) return;
  if (fork_mark) {
    hlo_os_fork_mark_release(fork_mark);
    if (is_running) atomic_fetch_sub(&hlo_span_user_count, 1);
    is_running = false;
    for (int i = 0; i < TABLE_COUNT; ++i) hlo_mutex_init(&tables[i].mutex, HLO_LOCK_LEVEL_LOG);
  }
  fork_mark = hlo_os_fork_mark_create();
}

static void open_tables_locked(void) {
  start_wall_ns = hlo_os_wall_ns();
  start_ns = hlo_os_now_ns();
  for (int i = 0; i < TABLE_COUNT; ++i) {
    table_t* table = &tables[i];
    hlo_mutex_lock(&table->mutex);
    clear(table);
    table->start_ns = start_ns;
    table->is_open = true;
    hlo_mutex_unlock(&table->mutex);
  }
}

hlo_status_t hlo_recording_start(void) {
  hlo_mutex_lock(&session_mutex);
  leave_parent_locked();
  const bool was_running = is_running;
  if (!was_running) {
    is_running = true;
    atomic_fetch_add(&generation, 1);
    open_tables_locked();
    atomic_fetch_add(&hlo_span_user_count, 1);
  }
  hlo_mutex_unlock(&session_mutex);
  if (!was_running) return hlo_ok();
  return hlo_failed_precondition("another profiler is recording: stop it first");
}

static bool put_text(table_t* table, const char* text, const char** out_position) {
  *out_position = (const char*)(uintptr_t)table->text.length;
  hlo_strbuf_append(&table->text, text, strlen(text) + 1);
  return !table->text.failed;
}

static bool put(table_t* table, const hlo_span_t* span, int64_t thread) {
  if (table->spans.count == TABLE_SPANS_LIMIT) return false;
  hlo_span_t own = *span;
  own.thread_id = thread;
  const size_t length = table->text.length;
  if (put_text(table, span->name, &own.name) &&
      (!span->detail || put_text(table, span->detail, &own.detail)) &&
      hlo_vec_push(&table->spans, own)) {
    return true;
  }
  table->text.length = length;
  table->text.failed = false;
  return false;
}

void hlo_recording_add(const hlo_span_t* span) {
  const uint32_t* mark = fork_mark;
  if (mark && !*mark) return;
  const int64_t thread = thread_id();
  table_t* table = &tables[(uint64_t)thread % TABLE_COUNT];
  hlo_mutex_lock(&table->mutex);
  if (table->is_open && span->begin_ns >= table->start_ns) {
    table->dropped_count += !put(table, span, thread);
  }
  hlo_mutex_unlock(&table->mutex);
}

// ---- the end

// Moves the contents of a table to the recording.
static hlo_status_t take(table_t* table, hlo_recording_t* recording) {
  recording->dropped_count += table->dropped_count;
  if (!table->spans.count) return hlo_ok();
  const size_t before = recording->spans.count, count = table->spans.count;
  if (!hlo_vec_reserve(&recording->spans, before + count)) {
    return hlo_status_out_of_memory(count * sizeof(hlo_span_t));
  }
  hlo_span_t* spans = recording->spans.items + before;
  memcpy(spans, table->spans.items, count * sizeof *spans);
  recording->spans.count += count;
  char* text = hlo_strbuf_take(&table->text);
  recording->texts[recording->text_count++] = text;
  for (size_t i = 0; i < count; ++i) {
    spans[i].name = text + (uintptr_t)spans[i].name;
    if (spans[i].detail) spans[i].detail = text + (uintptr_t)spans[i].detail;
  }
  return hlo_ok();
}

static int compare_spans(const void* a, const void* b) {
  const hlo_span_t *x = a, *y = b;
  if (x->thread_id != y->thread_id) return x->thread_id < y->thread_id ? -1 : 1;
  if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
  return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static hlo_status_t create(hlo_recording_t** out_recording) {
  hlo_recording_t* recording = hlo_mem_alloc_zeroed(sizeof *recording);
  if (!recording) return hlo_status_out_of_memory(sizeof *recording);
  recording->texts = hlo_mem_alloc_zeroed(TABLE_COUNT * sizeof *recording->texts);
  if (!recording->texts) {
    hlo_mem_free(recording);
    return hlo_status_out_of_memory(TABLE_COUNT * sizeof *recording->texts);
  }
  recording->start_ns = start_ns;
  recording->start_wall_ns = start_wall_ns;
  recording->stop_ns = hlo_os_now_ns();
  *out_recording = recording;
  return hlo_ok();
}

static hlo_status_t stop_locked(hlo_recording_t** out_recording) {
  hlo_recording_t* recording = NULL;
  hlo_status_t status = create(&recording);
  for (int i = 0; i < TABLE_COUNT; ++i) {
    table_t* table = &tables[i];
    hlo_mutex_lock(&table->mutex);
    table->is_open = false;
    if (hlo_status_is_ok(status)) status = take(table, recording);
    clear(table);
    hlo_mutex_unlock(&table->mutex);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_recording_release(recording);
    return status;
  }
  if (recording->spans.count) {
    qsort(recording->spans.items, recording->spans.count, sizeof(hlo_span_t), compare_spans);
  }
  *out_recording = recording;
  return hlo_ok();
}

hlo_status_t hlo_recording_stop(hlo_recording_t** out_recording) {
  hlo_mutex_lock(&session_mutex);
  hlo_status_t status;
  if (is_running) {
    is_running = false;
    atomic_fetch_sub(&hlo_span_user_count, 1);
    status = stop_locked(out_recording);
  } else {
    status = hlo_failed_precondition("no recording has been started");
  }
  hlo_mutex_unlock(&session_mutex);
  return status;
}

void hlo_recording_release(hlo_recording_t* recording) {
  if (!recording) return;
  for (uint32_t i = 0; i < recording->text_count; ++i) hlo_mem_free(recording->texts[i]);
  hlo_mem_free(recording->texts);
  hlo_vec_deinit(&recording->spans);
  hlo_mem_free(recording);
}
