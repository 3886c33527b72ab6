// SPDX-License-Identifier: Apache-2.0
// XSpace (see xspace.h). Events refer to a table of names, which follows the lines; so the tables
// grow while the lines are written.
// source: xplane.proto of TSL's profiler
#include "pjrt/xspace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/wire.h"

enum { PS_PER_NS = 1000, DETAIL_STAT = 1, CATEGORY_STAT = 2, FIRST_FACT_STAT = 3 };

// Field numbers.
enum { SPACE_PLANES = 1, SPACE_WARNINGS = 3 };
enum { PLANE_NAME = 2, PLANE_LINES = 3, PLANE_EVENT_METADATA = 4, PLANE_STAT_METADATA = 5 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_TIMESTAMP_NS = 3, LINE_EVENTS = 4, LINE_DURATION_PS = 9 };
enum { EVENT_METADATA_ID = 1, EVENT_OFFSET_PS = 2, EVENT_DURATION_PS = 3, EVENT_STATS = 4 };
enum { STAT_METADATA_ID = 1, STAT_INT64 = 4, STAT_STRING = 5 };
enum { MAP_KEY = 1, MAP_VALUE = 2 };
enum { METADATA_ID = 1, METADATA_NAME = 2, EVENT_METADATA_STATS = 5 };

typedef struct writer {
  const hlo_recording_t* recording;
  hlo_strbuf_t* out;
  hlo_map_t events;  // name -> its first span; the id is the position, from 1
  hlo_map_t stats;   // name of a fact -> its id
  HLO_VEC(const hlo_span_t*) kinds;
  bool failed;
} writer_t;

static uint64_t event_id(writer_t* writer, const hlo_span_t* span) {
  const size_t length = strlen(span->name);
  uint64_t id = (uintptr_t)hlo_map_get(&writer->events, span->name, length);
  if (id) return id;
  id = writer->kinds.count + 1;
  if (!hlo_vec_push(&writer->kinds, span) ||
      !hlo_map_put(&writer->events, span->name, length, (void*)(uintptr_t)id)) {
    writer->failed = true;
  }
  return id;
}

static uint64_t fact_id(writer_t* writer, const char* name) {
  const size_t length = strlen(name);
  uint64_t id = (uintptr_t)hlo_map_get(&writer->stats, name, length);
  if (id) return id;
  id = FIRST_FACT_STAT + writer->stats.entry_count;
  if (!hlo_map_put(&writer->stats, name, length, (void*)(uintptr_t)id)) writer->failed = true;
  return id;
}

static void write_text_stat(hlo_strbuf_t* out, uint32_t field, uint64_t id, const char* text) {
  const size_t stat = hlo_wire_begin(out, field);
  hlo_wire_put_uint(out, STAT_METADATA_ID, id);
  hlo_wire_put_string(out, STAT_STRING, text);
  hlo_wire_end(out, stat);
}

static void write_event(writer_t* writer, const hlo_span_t* span) {
  hlo_strbuf_t* out = writer->out;
  const uint64_t start_ns = writer->recording->start_ns;
  const uint64_t duration_ns = span->end_ns > span->begin_ns ? span->end_ns - span->begin_ns : 0;
  const size_t event = hlo_wire_begin(out, LINE_EVENTS);
  hlo_wire_put_uint(out, EVENT_METADATA_ID, event_id(writer, span));
  hlo_wire_put_uint(out, EVENT_OFFSET_PS, (span->begin_ns - start_ns) * PS_PER_NS);
  hlo_wire_put_uint(out, EVENT_DURATION_PS, duration_ns * PS_PER_NS);
  if (span->detail) write_text_stat(out, EVENT_STATS, DETAIL_STAT, span->detail);
  for (uint32_t i = 0; i < span->fact_count; ++i) {
    const size_t stat = hlo_wire_begin(out, EVENT_STATS);
    hlo_wire_put_uint(out, STAT_METADATA_ID, fact_id(writer, span->facts[i].name));
    hlo_wire_put_int(out, STAT_INT64, span->facts[i].value);
    hlo_wire_end(out, stat);
  }
  hlo_wire_end(out, event);
}

// Writes the spans of one thread; returns the position after them.
static size_t write_line(writer_t* writer, size_t first) {
  const hlo_recording_t* recording = writer->recording;
  hlo_strbuf_t* out = writer->out;
  const int64_t thread = recording->spans.items[first].thread_id;
  const size_t line = hlo_wire_begin(out, PLANE_LINES);
  char name[32];
  snprintf(name, sizeof name, "hlocc/%" PRId64, thread);
  hlo_wire_put_int(out, LINE_ID, thread);
  hlo_wire_put_string(out, LINE_NAME, name);
  hlo_wire_put_uint(out, LINE_TIMESTAMP_NS, recording->start_wall_ns);
  size_t at = first;
  for (; at < recording->spans.count && recording->spans.items[at].thread_id == thread; ++at) {
    write_event(writer, &recording->spans.items[at]);
  }
  hlo_wire_put_uint(out, LINE_DURATION_PS, (recording->stop_ns - recording->start_ns) * PS_PER_NS);
  hlo_wire_end(out, line);
  return at;
}

static void write_metadata(hlo_strbuf_t* out, uint32_t map, uint64_t id, const char* name,
                           const char* category) {
  const size_t entry = hlo_wire_begin(out, map);
  hlo_wire_put_uint(out, MAP_KEY, id);
  const size_t value = hlo_wire_begin(out, MAP_VALUE);
  hlo_wire_put_uint(out, METADATA_ID, id);
  hlo_wire_put_string(out, METADATA_NAME, name);
  if (category) write_text_stat(out, EVENT_METADATA_STATS, CATEGORY_STAT, category);
  hlo_wire_end(out, value);
  hlo_wire_end(out, entry);
}

static void write_tables(const writer_t* writer) {
  for (size_t i = 0; i < writer->kinds.count; ++i) {
    const hlo_span_t* kind = writer->kinds.items[i];
    write_metadata(writer->out, PLANE_EVENT_METADATA, i + 1, kind->name, kind->category);
  }
  write_metadata(writer->out, PLANE_STAT_METADATA, DETAIL_STAT, "detail", NULL);
  write_metadata(writer->out, PLANE_STAT_METADATA, CATEGORY_STAT, "category", NULL);
  for (uint32_t i = 0; i < writer->stats.entry_count; ++i) {
    const hlo_map_entry_t* entry = &writer->stats.entries[i];
    write_metadata(writer->out, PLANE_STAT_METADATA, (uintptr_t)entry->value, entry->key, NULL);
  }
}

void hlo_xspace_write(const hlo_recording_t* recording, hlo_strbuf_t* out) {
  writer_t writer = {.recording = recording, .out = out};
  if (recording->spans.count) {
    const size_t plane = hlo_wire_begin(out, SPACE_PLANES);
    hlo_wire_put_string(out, PLANE_NAME, "/host:CPU");
    for (size_t at = 0; at < recording->spans.count;) at = write_line(&writer, at);
    write_tables(&writer);
    hlo_wire_end(out, plane);
  }
  if (recording->dropped_count) {
    char warning[96];
    snprintf(warning, sizeof warning, "hlocc: no room for %" PRIu64 " spans",
             recording->dropped_count);
    hlo_wire_put_string(out, SPACE_WARNINGS, warning);
  }
  out->failed |= writer.failed;
  hlo_map_deinit(&writer.events);
  hlo_map_deinit(&writer.stats);
  hlo_vec_deinit(&writer.kinds);
}
