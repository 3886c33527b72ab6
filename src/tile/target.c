// SPDX-License-Identifier: Apache-2.0
// Machines as data, and the time that work takes on them (see target.h).
#include "tile/target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tile/layout_impl.h"

static double largest(double a, double b) {
  return a > b ? a : b;
}

const hlo_tile_atom_t* hlo_tile_atom_find(const hlo_tile_target_t* target, hlo_tile_atom_op_t op,
                                          hlo_dtype_t operand, hlo_dtype_t result) {
  for (uint32_t i = 0; i < target->atom_count; ++i) {
    const hlo_tile_atom_t* atom = &target->atoms[i];
    if (atom->op != op) continue;
    if (op != HLO_TILE_ATOM_PRODUCT || (atom->operand == operand && atom->result == result)) {
      return atom;
    }
  }
  return NULL;
}

const hlo_tile_memory_t* hlo_tile_home(const hlo_tile_target_t* target, double bytes) {
  uint32_t i = 1;
  while (i + 1 < target->memory_count && (double)target->memories[i].capacity_bytes < bytes) ++i;
  return &target->memories[i];
}

static int64_t common_factor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

int64_t hlo_tile_lines_held(const hlo_tile_memory_t* memory, int64_t stride) {
  int64_t lines = memory->capacity_bytes / memory->line_bytes;
  if (!memory->way_bytes || stride <= memory->line_bytes) return lines;
  int64_t places = memory->way_bytes / common_factor(memory->way_bytes, stride);
  int64_t held = memory->capacity_bytes / memory->way_bytes * places;
  return held < lines ? held : lines;
}

static double atom_rate(const hlo_tile_target_t* target, hlo_tile_atom_op_t op) {
  const hlo_tile_atom_t* atom = hlo_tile_atom_find(target, op, 0, 0);
  return atom ? atom->per_ns : 1;
}

double hlo_tile_work_ns(const hlo_tile_target_t* target, const hlo_tile_work_t* work) {
  const hlo_tile_atom_t* vector = hlo_tile_atom_find(target, HLO_TILE_ATOM_VECTOR, 0, 0);
  double ns = work->vector_ops / vector->per_ns;
  if (work->products > 0) ns += work->products / work->atom->per_ns;
  ns = largest(ns, work->chain_ops * vector->latency_ns);
  ns = largest(ns, work->accessed_bytes / target->memories[1].bytes_per_ns);
  return largest(ns,
                 work->distinct_bytes / hlo_tile_home(target, work->distinct_bytes)->bytes_per_ns);
}

double hlo_tile_store_ns(const hlo_tile_target_t* target, double vectors, double bytes) {
  return largest(2 * vectors / atom_rate(target, HLO_TILE_ATOM_LOAD),
                 bytes / hlo_tile_home(target, bytes)->bytes_per_ns);
}

static const hlo_tile_grain_t* grain_of(const hlo_tile_target_t* target, bool is_product) {
  return is_product ? &target->multiplying : &target->moving;
}

bool hlo_tile_is_worth_cutting(const hlo_tile_target_t* target, double work_ns, bool is_product) {
  return work_ns >= grain_of(target, is_product)->serial_ns;
}

int64_t hlo_tile_chunk_count(const hlo_tile_target_t* target, double work_ns, bool is_product) {
  if (!hlo_tile_is_worth_cutting(target, work_ns, is_product)) return 1;
  double wanted = work_ns / grain_of(target, is_product)->chunk_ns;
  return wanted > (double)target->max_chunks ? target->max_chunks : (int64_t)wanted;
}

// Returns the distance of adjacent lanes in memory, in units of the lanes' own stride: 0 if all
// lanes read one element, 1 if they read adjacent ones, else another step or none (-1).
static int64_t lane_step(const hlo_tile_layout_t* memory, const hlo_tile_layout_t* registers) {
  int64_t step = 0;
  bool is_first = true;
  hlo_layout_mode_list_t from, to;
  hlo_layout_modes_of(memory, &from);
  hlo_layout_modes_of(registers, &to);
  if (!hlo_layout_modes_refine(&from, &to)) return -1;
  for (uint32_t i = 0; i < to.count && to.modes[i].dim != HLO_LAYOUT_MODE_REPLICATED; ++i) {
    if (to.modes[i].axis != HLO_AXIS_LANE) continue;
    int64_t here = from.modes[i].position == to.modes[i].position ? 1
                   : from.modes[i].position == 0                  ? 0
                                                                  : -1;
    if (!is_first && here != step) return -1;
    step = here;
    is_first = false;
  }
  return step;
}

double hlo_tile_product_rate(const hlo_tile_target_t* target, hlo_dtype_t dtype) {
  const hlo_tile_atom_t* atom = hlo_tile_atom_find(target, HLO_TILE_ATOM_PRODUCT, dtype, dtype);
  for (uint32_t i = 0; !atom && i < target->atom_count; ++i) {
    if (target->atoms[i].op == HLO_TILE_ATOM_PRODUCT) atom = &target->atoms[i];
  }
  return atom ? atom->per_ns : atom_rate(target, HLO_TILE_ATOM_VECTOR) / 2;
}

double hlo_tile_access_loads(const hlo_tile_target_t* target, hlo_tile_atom_op_t op) {
  const hlo_tile_atom_t* atom = hlo_tile_atom_find(target, op, 0, 0);
  return atom ? atom_rate(target, HLO_TILE_ATOM_LOAD) / atom->per_ns : -1;
}

double hlo_tile_gather_loads(const hlo_tile_target_t* target, int64_t element_bytes) {
  return element_bytes < HLO_TILE_GATHER_BYTES
             ? -1
             : hlo_tile_access_loads(target, HLO_TILE_ATOM_GATHER);
}

double hlo_tile_transfer_ops(const hlo_tile_target_t* target, const hlo_tile_layout_t* memory,
                             const hlo_tile_layout_t* registers, int64_t element_bytes) {
  return lane_step(memory, registers) >= 0 ? 1 : hlo_tile_gather_loads(target, element_bytes);
}

double hlo_tile_relayout_ns(const hlo_tile_target_t* target, hlo_relayout_t relayout,
                            double vectors) {
  double stages = 1;
  switch (relayout.kind) {
    case HLO_RELAYOUT_NONE:
    case HLO_RELAYOUT_RENAME: return 0;
    case HLO_RELAYOUT_BROADCAST: return vectors / atom_rate(target, HLO_TILE_ATOM_SHUFFLE);
    case HLO_RELAYOUT_SHUFFLE:
      // n x n lanes and registers exchange in log2(n) stages of n shuffles.
      for (int64_t moved = relayout.moved; moved > 4; moved /= 4) ++stages;
      return vectors * stages / atom_rate(target, HLO_TILE_ATOM_SHUFFLE);
    case HLO_RELAYOUT_MEMORY:
      return vectors * 2 * (double)target->vector_bytes / target->memories[1].bytes_per_ns +
             1 / atom_rate(target, HLO_TILE_ATOM_LOAD);
    default: return -1;
  }
}

static bool is_same_product(const hlo_tile_tuned_t* a, const hlo_tile_tuned_t* b) {
  return strcmp(a->kind, b->kind) == 0 && a->rows == b->rows && a->columns == b->columns &&
         a->steps == b->steps;
}

const hlo_tile_tuned_t* hlo_tile_tuned_find(const hlo_tile_target_t* target,
                                            const hlo_tile_tuned_t* product) {
  for (uint32_t i = 0; i < target->tuned_count; ++i) {
    if (is_same_product(&target->tuned[i], product)) return &target->tuned[i];
  }
  return NULL;
}

void hlo_tile_tuned_print(const hlo_tile_tuned_t* tuned, hlo_strbuf_t* out) {
  hlo_strbuf_printf(
      out, "tile %s %" PRId64 "x%" PRId64 "x%" PRId64 ": %" PRId64 " rows of %" PRId64 " vectors",
      tuned->kind, tuned->rows, tuned->columns, tuned->steps, tuned->height, tuned->width);
}

static const char* const ATOM_NAMES[] = {"vector", "load", "splat",   "gather", "step",
                                         "window", "turn", "shuffle", "product"};

void hlo_tile_target_print(const hlo_tile_target_t* target, int precision, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "registers: %" PRId64 " of %" PRId64 " bytes\n", target->vector_count,
                    target->vector_bytes);
  for (uint32_t i = 1; i < target->memory_count; ++i) {
    const hlo_tile_memory_t* memory = &target->memories[i];
    hlo_strbuf_printf(out, "memory %s: ", memory->name);
    if (memory->capacity_bytes < INT64_MAX) {
      hlo_strbuf_printf(out, "%" PRId64 " KiB, ", memory->capacity_bytes >> 10);
    }
    hlo_strbuf_printf(out, "%.*g bytes/ns\n", precision, memory->bytes_per_ns);
  }
  for (uint32_t i = 0; i < target->atom_count; ++i) {
    const hlo_tile_atom_t* atom = &target->atoms[i];
    hlo_strbuf_printf(out, "atom %s (%s): %.*g/ns, %.*g ns", atom->name, ATOM_NAMES[atom->op],
                      precision, atom->per_ns, precision, atom->latency_ns);
    if (atom->op == HLO_TILE_ATOM_PRODUCT) {
      hlo_strbuf_printf(out, ", %s %" PRId64 "x%" PRId64 "x%" PRId64 " to %s, a %s b %s sum %s",
                        hlo_dtype_info(atom->operand)->hlo_name, atom->rows, atom->columns,
                        atom->depth, hlo_dtype_info(atom->result)->hlo_name, atom->a, atom->b,
                        atom->sum);
    }
    hlo_strbuf_putc(out, '\n');
  }
  hlo_strbuf_printf(out,
                    "chunks: from %g us on, of %g us; of products from %g us on, of %g us; at most "
                    "%" PRId64 "\n",
                    target->moving.serial_ns / 1000, target->moving.chunk_ns / 1000,
                    target->multiplying.serial_ns / 1000, target->multiplying.chunk_ns / 1000,
                    target->max_chunks);
  for (uint32_t i = 0; i < target->tuned_count; ++i) {
    hlo_tile_tuned_print(&target->tuned[i], out);
    hlo_strbuf_putc(out, '\n');
  }
}

// ---- parsing

// Takes a number that is valid as a rate or size.
static void take(double number, double* out) {
  if (number > 0 && number < 1e12) *out = number;
}

static void read_memory(const char* line, hlo_tile_target_t* target) {
  char name[16];
  int length = 0;
  double kib = 0, rate = 0;
  if (sscanf(line, "memory %15[^:\n]: %n", name, &length) != 1 || !length) return;
  if (sscanf(line + length, "%lf KiB, %lf bytes/ns", &kib, &rate) != 2 &&
      sscanf(line + length, "%lf bytes/ns", &rate) != 1) {
    return;
  }
  for (uint32_t i = 1; i < target->memory_count; ++i) {
    hlo_tile_memory_t* memory = &target->memories[i];
    if (strcmp(memory->name, name) != 0) continue;
    double bytes = 0;
    take(kib * 1024, &bytes);
    bool is_capacity = bytes >= (double)memory->line_bytes && memory->capacity_bytes < INT64_MAX;
    if (is_capacity) memory->capacity_bytes = (int64_t)bytes;
    take(rate, &memory->bytes_per_ns);
  }
}

static void read_atom(const char* line, hlo_tile_target_t* target) {
  char name[32];
  double rate, latency;
  if (sscanf(line, "atom %31s (%*[^)\n]): %lf/ns, %lf ns", name, &rate, &latency) != 3) return;
  for (uint32_t i = 0; i < target->atom_count; ++i) {
    if (strcmp(target->atoms[i].name, name) != 0) continue;
    take(rate, &target->atoms[i].per_ns);
    take(latency, &target->atoms[i].latency_ns);
  }
}

static void read_tuned(const char* line, hlo_tile_target_t* target) {
  hlo_tile_tuned_t read;
  _Static_assert(HLO_TILE_KIND_BYTES == 16, "what the format says");
  if (sscanf(line,
             "tile %15[^ \n] %" SCNd64 "x%" SCNd64 "x%" SCNd64 ": %" SCNd64 " rows of %" SCNd64
             " vectors",
             read.kind, &read.rows, &read.columns, &read.steps, &read.height, &read.width) != 6) {
    return;
  }
  if (read.height <= 0 || read.width <= 0) return;
  uint32_t i = 0;
  while (i < target->tuned_count && !is_same_product(&target->tuned[i], &read)) ++i;
  if (i == HLO_TILE_MAX_TUNED) return;
  target->tuned[i] = read;
  if (i == target->tuned_count) ++target->tuned_count;
}

void hlo_tile_target_read(const char* text, hlo_tile_target_t* target) {
  for (const char* line = text; line; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    read_memory(line, target);
    read_atom(line, target);
    read_tuned(line, target);
  }
}
