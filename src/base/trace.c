// SPDX-License-Identifier: Apache-2.0
// Trace events (see trace.h): appended to a buffer under a lock, written in large pieces.
// source: Trace Event Format, complete ("X") events; times in microseconds
#include "base/trace.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/threads.h"

enum { FLUSH_BYTES = 64 * 1024, NS_PER_US = 1000, MAX_WRITERS = 1000 };

struct hlo_trace {
  hlo_mutex_t mutex;
  hlo_strbuf_t text;   // mutex
  hlo_status_t error;  // mutex; the first write error, after which the file's end is unknown
  hlo_os_stream_t* stream;
  uint64_t start_ns;
  int64_t process_id;
};

// Opens the first of path, path.2, path.3 ... that no other trace is writing.
static hlo_status_t open_free(const char* path, hlo_os_stream_t** out_stream) {
  hlo_status_t status = hlo_os_stream_open(path, false, out_stream);
  for (int i = 2; hlo_status_code(status) == HLO_STATUS_ALREADY_EXISTS && i <= MAX_WRITERS; ++i) {
    hlo_strbuf_t text = {0};
    hlo_strbuf_printf(&text, "%s.%d", path, i);
    hlo_status_release(status);
    status = hlo_strbuf_status(&text);
    char* numbered = hlo_strbuf_take(&text);
    if (hlo_status_is_ok(status)) status = hlo_os_stream_open(numbered, false, out_stream);
    hlo_mem_free(numbered);
  }
  return status;
}

hlo_status_t hlo_trace_create(const char* path, hlo_trace_t** out_trace) {
  hlo_trace_t* trace = hlo_mem_alloc_zeroed(sizeof *trace);
  if (!trace) return hlo_status_out_of_memory(sizeof *trace);
  hlo_status_t status = open_free(path, &trace->stream);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(trace);
    return hlo_status_annotate(status, "trace file");
  }
  hlo_mutex_init(&trace->mutex, HLO_LOCK_LEVEL_LOG);
  trace->start_ns = hlo_os_now_ns();
  trace->process_id = hlo_os_process_id();
  hlo_strbuf_puts(&trace->text, "[\n");
  atomic_fetch_add(&hlo_span_user_count, 1);
  *out_trace = trace;
  return hlo_ok();
}

// A full disk loses events but never fails the program.
static void flush_locked(hlo_trace_t* trace) {
  hlo_strbuf_t* text = &trace->text;
  if (hlo_status_is_ok(trace->error)) trace->error = hlo_strbuf_status(text);
  if (hlo_status_is_ok(trace->error) && text->length) {
    trace->error = hlo_os_stream_write(trace->stream, text->data, text->length);
  }
  text->length = 0;
  text->failed = false;
}

// The child of a fork has a copy of the parent's unwritten events.
static bool is_forked(const hlo_trace_t* trace) {
  return hlo_os_process_id() != trace->process_id;
}

void hlo_trace_flush(hlo_trace_t* trace) {
  if (HLO_LIKELY(!trace) || is_forked(trace)) return;
  hlo_mutex_lock(&trace->mutex);
  flush_locked(trace);
  hlo_mutex_unlock(&trace->mutex);
}

hlo_status_t hlo_trace_close(hlo_trace_t* trace) {
  if (!trace) return hlo_ok();
  if (!is_forked(trace)) {
    hlo_mutex_lock(&trace->mutex);
    hlo_strbuf_printf(&trace->text,
                      "{\"ph\":\"M\",\"pid\":%" PRId64
                      ",\"name\":\"process_name\",\"args\":{\"name\":\"hlocc\"}}\n]\n",
                      trace->process_id);
    flush_locked(trace);
    hlo_mutex_unlock(&trace->mutex);
  }
  atomic_fetch_sub(&hlo_span_user_count, 1);
  hlo_status_t error = trace->error;
  hlo_os_stream_close(trace->stream);
  hlo_strbuf_deinit(&trace->text);
  hlo_mutex_deinit(&trace->mutex);
  hlo_mem_free(trace);
  return error;
}

static void append_quoted(hlo_strbuf_t* out, const char* text) {
  hlo_strbuf_putc(out, '"');
  for (; *text; ++text) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      hlo_strbuf_putc(out, '\\');
      hlo_strbuf_putc(out, (char)c);
    } else if (c < 0x20) {
      hlo_strbuf_printf(out, "\\u%04x", c);
    } else {
      hlo_strbuf_putc(out, (char)c);
    }
  }
  hlo_strbuf_putc(out, '"');
}

static void append_us(hlo_strbuf_t* out, const char* key, uint64_t time_ns) {
  hlo_strbuf_printf(out, ",\"%s\":%" PRIu64 ".%03" PRIu64, key, time_ns / NS_PER_US,
                    time_ns % NS_PER_US);
}

static void append_head(hlo_trace_t* trace, const char* name, uint64_t time_ns) {
  hlo_strbuf_t* out = &trace->text;
  hlo_strbuf_printf(out, "{\"ph\":\"X\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"name\":",
                    trace->process_id, hlo_os_thread_id());
  append_quoted(out, name);
  append_us(out, "ts", time_ns > trace->start_ns ? time_ns - trace->start_ns : 0);
}

static void append_arguments(hlo_strbuf_t* out, const hlo_span_t* span) {
  if (!span->detail && !span->fact_count) return;
  hlo_strbuf_puts(out, ",\"args\":{");
  if (span->detail) {
    hlo_strbuf_puts(out, "\"detail\":");
    append_quoted(out, span->detail);
  }
  for (uint32_t i = 0; i < span->fact_count; ++i) {
    hlo_strbuf_printf(out, "%s\"%s\":%" PRId64, i || span->detail ? "," : "", span->facts[i].name,
                      span->facts[i].value);
  }
  hlo_strbuf_putc(out, '}');
}

void hlo_trace_add(hlo_trace_t* trace, const hlo_span_t* span) {
  hlo_recording_add(span);
  if (!trace || is_forked(trace)) return;
  hlo_mutex_lock(&trace->mutex);
  hlo_strbuf_t* out = &trace->text;
  append_head(trace, span->name, span->begin_ns);
  append_us(out, "dur", span->end_ns > span->begin_ns ? span->end_ns - span->begin_ns : 0);
  hlo_strbuf_puts(out, ",\"cat\":");
  append_quoted(out, span->category);
  append_arguments(out, span);
  hlo_strbuf_puts(out, "},\n");
  if (out->length >= FLUSH_BYTES || out->failed) flush_locked(trace);
  hlo_mutex_unlock(&trace->mutex);
}

static _Thread_local hlo_trace_t* t_current;

hlo_trace_t* hlo_trace_enter(hlo_trace_t* trace) {
  hlo_trace_t* before = t_current;
  t_current = trace;
  return before;
}

hlo_trace_t* hlo_trace_current(void) {
  return t_current;
}
