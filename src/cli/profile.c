// SPDX-License-Identifier: Apache-2.0
// The table of hlocc run --profile: spans are sorted by category and name, then summed.
#include "cli/profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NS_PER_US = 1000, PS_PER_NS = 1000 };

typedef struct row {
  const hlo_span_t* span;  // one of them
  uint64_t count, total_ns;
} row_t;

static int compare_names(const row_t* a, const row_t* b) {
  const int categories = strcmp(a->span->category, b->span->category);
  return categories ? categories : strcmp(a->span->name, b->span->name);
}

static int by_name(const void* a, const void* b) {
  return compare_names(a, b);
}

static int by_total(const void* a, const void* b) {
  const row_t *x = a, *y = b;
  if (x->total_ns != y->total_ns) return x->total_ns < y->total_ns ? 1 : -1;
  return compare_names(x, y);
}

// Adds up rows of equal names; returns how many are left.
static size_t sum_rows(row_t* rows, size_t count) {
  size_t left = 0;
  qsort(rows, count, sizeof *rows, by_name);
  for (size_t i = 0; i < count; ++i) {
    if (left && compare_names(&rows[left - 1], &rows[i]) == 0) {
      rows[left - 1].count += rows[i].count;
      rows[left - 1].total_ns += rows[i].total_ns;
    } else {
      rows[left++] = rows[i];
    }
  }
  qsort(rows, left, sizeof *rows, by_total);
  return left;
}

static bool is_step(const hlo_span_t* span) {
  return strcmp(span->category, "step") == 0;
}

static int64_t fact_of(const hlo_span_t* span, const char* name) {
  for (uint32_t i = 0; i < span->fact_count; ++i) {
    if (strcmp(span->facts[i].name, name) == 0) return span->facts[i].value;
  }
  return 0;
}

// Rates of steps, whose facts are those of one execution; other spans have none.
static void print_rates(const row_t* row, hlo_strbuf_t* out) {
  const double ns = (double)row->total_ns / (double)row->count + 1e-3;
  if (!is_step(row->span)) {
    hlo_strbuf_printf(out, " %9s %9s %9s", "", "", "");
    return;
  }
  hlo_strbuf_printf(out, " %9.2f %9.2f %8.1f%%", (double)fact_of(row->span, "flops") / ns,
                    (double)fact_of(row->span, "bytes_accessed") / ns,
                    100 * (double)fact_of(row->span, "roofline_ps") / PS_PER_NS / ns);
}

hlo_status_t hlo_cli_print_profile(const hlo_recording_t* recording, hlo_strbuf_t* out) {
  const double whole_ns = (double)(recording->stop_ns - recording->start_ns) + 1;
  HLO_VEC(row_t) rows = {0};
  if (!hlo_vec_reserve(&rows, recording->spans.count + 1)) {
    return hlo_status_out_of_memory(recording->spans.count * sizeof(row_t));
  }
  for (size_t i = 0; i < recording->spans.count; ++i) {
    const hlo_span_t* span = &recording->spans.items[i];
    rows.items[rows.count++] = (row_t){span, 1, span->end_ns - span->begin_ns};
  }
  rows.count = sum_rows(rows.items, rows.count);
  hlo_strbuf_printf(out, "%10s %12s %7s %9s %9s %9s  %s\n", "count", "total us", "share", "GFLOP/s",
                    "GB/s", "roofline", "span");
  for (size_t i = 0; i < rows.count; ++i) {
    const row_t* row = &rows.items[i];
    hlo_strbuf_printf(out, "%10" PRIu64 " %12.1f %6.1f%%", row->count,
                      (double)row->total_ns / NS_PER_US, 100 * (double)row->total_ns / whole_ns);
    print_rates(row, out);
    hlo_strbuf_printf(out, "  %s: %s", row->span->category, row->span->name);
    if (is_step(row->span) && row->span->detail) hlo_strbuf_printf(out, "  %s", row->span->detail);
    hlo_strbuf_putc(out, '\n');
  }
  if (recording->dropped_count) {
    hlo_strbuf_printf(out, "no room for %" PRIu64 " spans\n", recording->dropped_count);
  }
  hlo_vec_deinit(&rows);
  return hlo_ok();
}
