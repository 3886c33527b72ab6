// SPDX-License-Identifier: Apache-2.0
// Cumulative operations (see scan.h). Lines of adjacent elements are split into segments: first
// their totals, then the prefix before each segment, then the scans of all segments, a few at a
// time. Other lines are scanned in blocks of columns, row after row. source: Blelloch, "Prefix sums
// and their applications", 1990
#include "lib/scan.h"

#include <string.h>

enum {
  SEGMENT = 1 << 13,         // elements of a line scanned at a time
  CHUNK_ELEMENTS = 1 << 16,  // of a parallel loop
  COLUMNS = 256,             // of a block of columns
  ACC_BYTES_MAX = 8,
};

typedef struct {
  const hlo_scan_t* scan;
  const hlo_fold_t* fold;
  const char* in;
  char* out;
  const char* init;
  size_t bytes, acc_bytes;
  uint64_t line_segments, segment_count, segments_per_chunk;
  char* carries;  // by segment: its total, then the prefix before it
} job_t;

static uint64_t line_segments(int64_t length) {
  const uint64_t count = (uint64_t)length / SEGMENT;
  return count < 2 ? 1 : count;
}

size_t hlo_scan_scratch_bytes(const hlo_scan_t* scan) {
  return scan->inner == 1 ? (size_t)scan->outer * line_segments(scan->length) * ACC_BYTES_MAX : 0;
}

// Segments of a line, and chunks of segments, are numbered in the order of the scan.
static void segment_of(const job_t* job, uint64_t segment, size_t* out_at, int64_t* out_count) {
  const hlo_scan_t* scan = job->scan;
  const uint64_t line = segment / job->line_segments, s = segment % job->line_segments;
  size_t begin, end;
  hlo_chunk_range((size_t)scan->length, job->line_segments,
                  scan->is_reverse ? job->line_segments - 1 - s : s, &begin, &end);
  *out_at = line * (size_t)scan->length + begin;
  *out_count = (int64_t)(end - begin);
}

static void total_chunk(void* arg, uint64_t index) {
  const job_t* job = arg;
  const uint64_t first = index * job->segments_per_chunk;
  for (uint64_t s = first; s < first + job->segments_per_chunk && s < job->segment_count; s++) {
    size_t at;
    int64_t count;
    char* total = job->carries + s * job->acc_bytes;
    segment_of(job, s, &at, &count);
    memcpy(total, job->init, job->acc_bytes);
    job->fold->row(count, job->in + at * job->bytes, total);
  }
}

// Replaces totals by prefixes, using the loops of the accumulator's own type.
static void scan_totals(const job_t* job) {
  const hlo_fold_t* acc_fold = hlo_fold_find(job->scan->op, job->fold->acc);
  for (uint64_t s = 0; s < job->segment_count; s += job->line_segments) {
    char before[ACC_BYTES_MAX], total[ACC_BYTES_MAX];
    memcpy(before, job->init, job->acc_bytes);
    for (uint64_t i = s; i < s + job->line_segments; i++) {
      char* carry = job->carries + i * job->acc_bytes;
      memcpy(total, carry, job->acc_bytes);
      memcpy(carry, before, job->acc_bytes);
      acc_fold->rows(1, total, before);
    }
  }
}

// Scans up to HLO_FOLD_LINES segments together, repeating the last one if there are fewer.
static void scan_group(const job_t* job, uint64_t first, uint64_t count) {
  const bool is_reverse = job->scan->is_reverse;
  const int64_t step = is_reverse ? -1 : 1, step_bytes = step * (int64_t)job->bytes;
  _Alignas(8) char acc[HLO_FOLD_LINES * ACC_BYTES_MAX];
  const void* in[HLO_FOLD_LINES];
  void* out[HLO_FOLD_LINES];
  int64_t counts[HLO_FOLD_LINES], common = INT64_MAX;
  for (uint64_t l = 0; l < HLO_FOLD_LINES; l++) {
    const uint64_t segment = first + (l < count ? l : count - 1);
    size_t at;
    segment_of(job, segment, &at, &counts[l]);
    if (is_reverse) at += (size_t)counts[l] - 1;
    in[l] = job->in + at * job->bytes;
    out[l] = job->out + at * job->bytes;
    memcpy(acc + l * job->acc_bytes, job->carries + segment * job->acc_bytes, job->acc_bytes);
    if (counts[l] < common) common = counts[l];
  }
  job->fold->scan(common, step, in, out, acc);
  for (uint64_t l = 0; l < count; l++) {  // segments of a line differ by one element
    if (counts[l] == common) continue;
    job->fold->scan_rows(1, (const char*)in[l] + common * step_bytes, acc + l * job->acc_bytes,
                         (char*)out[l] + common * step_bytes);
  }
}

static void scan_chunk(void* arg, uint64_t index) {
  const job_t* job = arg;
  const uint64_t first = index * job->segments_per_chunk;
  uint64_t end = first + job->segments_per_chunk;
  if (end > job->segment_count) end = job->segment_count;
  for (uint64_t s = first; s < end; s += HLO_FOLD_LINES) {
    scan_group(job, s, end - s < HLO_FOLD_LINES ? end - s : HLO_FOLD_LINES);
  }
}

static void scan_lines(const hlo_parallel_t* parallel, job_t* job) {
  const hlo_scan_t* scan = job->scan;
  job->line_segments = line_segments(scan->length);
  job->segment_count = (uint64_t)scan->outer * job->line_segments;
  const int64_t size = scan->length / (int64_t)job->line_segments;
  job->segments_per_chunk = size < CHUNK_ELEMENTS ? (uint64_t)(CHUNK_ELEMENTS / size) : 1;
  const uint64_t chunks = hlo_chunk_count(job->segment_count, job->segments_per_chunk);
  if (job->line_segments > 1) {
    hlo_parallel_for(parallel, chunks, total_chunk, job);
    scan_totals(job);
  } else {
    for (uint64_t s = 0; s < job->segment_count; s++) {
      memcpy(job->carries + s * job->acc_bytes, job->init, job->acc_bytes);
    }
  }
  hlo_parallel_for(parallel, chunks, scan_chunk, job);
}

static uint64_t column_blocks(const hlo_scan_t* scan) {
  return hlo_chunk_count((size_t)scan->inner, COLUMNS);
}

static void scan_columns(void* arg, uint64_t index) {
  const job_t* job = arg;
  const hlo_scan_t* scan = job->scan;
  const int64_t outer = (int64_t)(index / column_blocks(scan));
  const int64_t column = (int64_t)(index % column_blocks(scan)) * COLUMNS;
  const int64_t count = scan->inner - column < COLUMNS ? scan->inner - column : COLUMNS;
  _Alignas(64) char acc[COLUMNS * ACC_BYTES_MAX];
  for (int64_t k = 0; k < count; k++) {
    memcpy(acc + (size_t)k * job->acc_bytes, job->init, job->acc_bytes);
  }
  for (int64_t i = 0; i < scan->length; i++) {
    const int64_t row = scan->is_reverse ? scan->length - 1 - i : i;
    const size_t at = (size_t)((outer * scan->length + row) * scan->inner + column) * job->bytes;
    job->fold->scan_rows(count, job->in + at, acc, job->out + at);
  }
}

void hlo_scan_run(const hlo_parallel_t* parallel, const hlo_scan_t* scan, const void* init,
                  const void* in, void* out, void* scratch) {
  const hlo_fold_t* fold = hlo_fold_find(scan->op, scan->dtype);
  job_t job = {.scan = scan,
               .fold = fold,
               .in = in,
               .out = out,
               .init = init,
               .bytes = hlo_dtype_size_bytes(fold->in),
               .acc_bytes = hlo_dtype_size_bytes(fold->acc),
               .carries = scratch};
  if (scan->outer == 0 || scan->length == 0 || scan->inner == 0) return;
  if (scan->inner == 1) {
    scan_lines(parallel, &job);
  } else {
    hlo_parallel_for(parallel, (uint64_t)scan->outer * column_blocks(scan), scan_columns, &job);
  }
}
