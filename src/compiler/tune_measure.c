// SPDX-License-Identifier: Apache-2.0
// Trials of configurations in child processes (see tune_measure.h). All children live at the same
// time and take turns, so that every candidate is timed under the same conditions. Inputs are pages
// that children share until one of them writes. All children write the same outputs, one after the
// other, which the parent reads, too; it keeps a copy for each cluster of equal results. Bytes of a
// pattern lie before and after every array.
#include "compiler/tune_measure.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/tuning.h"

enum {
  GUARD_BYTES = 4096,  // of the pattern between arrays
  GUARD = 0xa5,
  ALIGNMENT = 64,
  MAX_ROUNDS = 32,
  FIRST_ROUNDS = 3,  // that every candidate takes part in
  MAX_BUFFERS = 64,
  CONFIRMATIONS = 2,  // of the best candidate
};

const char* hlo_tune_outcome_name(hlo_tune_outcome_t outcome) {
  static const char* const kNames[HLO_TUNE_OUTCOMES] = {
      "untried", "measured", "refused", "crashed", "timed out", "wrong result", "guard violation"};
  return kNames[outcome];
}

hlo_tune_limits_t hlo_tune_default_limits(void) {
  return (hlo_tune_limits_t){.timeout_ns = HLO_TUNING_TUNE_TIMEOUT_NS,
                             .round_count = HLO_TUNING_TUNE_ROUNDS,
                             .round_ns = HLO_TUNING_TUNE_ROUND_NS,
                             .seed = 1};
}

/// All inputs, or all outputs: arrays in a row, with guards.
typedef struct area {
  bool is_output;
  size_t size_bytes;
  size_t offsets[MAX_BUFFERS];
} area_t;

/// A candidate's child.
typedef struct trial {
  hlo_child_t child;
  uint32_t round_count;
  double rounds_ns[MAX_ROUNDS];
} trial_t;

/// Equal results.
typedef struct cluster {
  uint32_t first;    // candidate
  uint8_t* outputs;  // a copy of its pages
} cluster_t;

typedef struct measure {
  const hlo_tune_job_t* job;
  const hlo_tune_limits_t* limits;
  uint32_t count;
  hlo_tune_candidate_t* candidates;
  trial_t* trials;
  uint32_t cluster_count;
  cluster_t* clusters;  // the first one: of the model's choice
  area_t inputs, outputs;
  uint8_t *input_pages, *output_pages;
  uint64_t input_hash;
} measure_t;

/// The message of a child after its first run.
typedef struct answer {
  hlo_tune_outcome_t outcome;
  hlo_tune_needs_t needs;
  char reason[HLO_TUNE_REASON_BYTES];
} answer_t;

// ---- memory

static void lay_out(const hlo_tune_job_t* job, bool is_output, area_t* area) {
  area->is_output = is_output;
  area->size_bytes = GUARD_BYTES;
  for (uint32_t i = 0; i < job->buffer_count; ++i) {
    if (job->buffers[i].is_output != is_output) continue;
    area->offsets[i] = area->size_bytes;
    const size_t end = area->size_bytes + job->buffers[i].size_bytes + GUARD_BYTES;
    area->size_bytes = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
}

static void fill_guards(const hlo_tune_job_t* job, const area_t* area, uint8_t* pages) {
  memset(pages, GUARD, GUARD_BYTES);
  for (uint32_t i = 0; i < job->buffer_count; ++i) {
    if (job->buffers[i].is_output != area->is_output) continue;
    const size_t end = area->offsets[i] + job->buffers[i].size_bytes;
    memset(pages + end, GUARD, GUARD_BYTES);
  }
}

static bool is_intact(const uint8_t* guard) {
  for (size_t i = 0; i < GUARD_BYTES; ++i) {
    if (guard[i] != GUARD) return false;
  }
  return true;
}

// Returns the array beside which a guard was overwritten, plus 1; 0: none.
static uint32_t find_damage(const hlo_tune_job_t* job, const area_t* area, const uint8_t* pages) {
  for (uint32_t i = 0; i < job->buffer_count; ++i) {
    if (job->buffers[i].is_output != area->is_output) continue;
    const uint8_t* data = pages + area->offsets[i];
    const bool is_first = area->offsets[i] == GUARD_BYTES;
    if (!is_intact(data + job->buffers[i].size_bytes) || (is_first && !is_intact(pages))) {
      return i + 1;
    }
  }
  return 0;
}

// Random numbers: floats between -1 and 1, small integers that are valid as most indices.
static void fill_input(const hlo_tune_buffer_t* buffer, uint64_t seed, uint8_t* data) {
  const size_t bytes = hlo_dtype_size_bytes(buffer->dtype);
  const hlo_dtype_t part = buffer->dtype == HLO_DTYPE_C64    ? HLO_DTYPE_F32
                           : buffer->dtype == HLO_DTYPE_C128 ? HLO_DTYPE_F64
                                                             : buffer->dtype;
  const size_t part_bytes = part == buffer->dtype ? bytes : bytes / 2;
  for (size_t at = 0; part_bytes && at + part_bytes <= buffer->size_bytes; at += part_bytes) {
    const uint64_t word = hlo_hash_word(seed, at);
    if (hlo_dtype_is_float(part)) {
      hlo_dtype_store_double(part, data + at, (double)(int64_t)word / 9223372036854775808.0);
    } else {
      hlo_dtype_store_int64(part, data + at,
                            (int64_t)(word >> 32 & (part == HLO_DTYPE_PRED ? 1 : 7)));
    }
  }
}

static void unmap_outputs(measure_t* m) {
  if (m->output_pages) hlo_os_pages_unmap(m->output_pages, m->outputs.size_bytes);
  m->output_pages = NULL;
}

// Maps the outputs of children that start from now on.
static hlo_status_t map_outputs(measure_t* m) {
  void* pages = NULL;
  unmap_outputs(m);
  HLO_TRY(hlo_child_pages_map(m->outputs.size_bytes, &pages));
  m->output_pages = pages;
  return hlo_ok();
}

static hlo_status_t make_memory(measure_t* m) {
  lay_out(m->job, false, &m->inputs);
  lay_out(m->job, true, &m->outputs);
  HLO_TRY(map_outputs(m));
  void* pages = NULL;
  HLO_TRY(hlo_os_pages_map(m->inputs.size_bytes, false, &pages));
  m->input_pages = pages;
  fill_guards(m->job, &m->inputs, m->input_pages);
  for (uint32_t i = 0; i < m->job->buffer_count; ++i) {
    if (m->job->buffers[i].is_output) continue;
    fill_input(&m->job->buffers[i], hlo_hash_word(m->limits->seed, i),
               m->input_pages + m->inputs.offsets[i]);
  }
  m->input_hash = hlo_hash_bytes(m->input_pages, m->inputs.size_bytes, 0);
  return hlo_ok();
}

// ---- the child

typedef struct body {
  const measure_t* m;
  uint32_t number;  // of the candidate
  void* addresses[MAX_BUFFERS];
  void* state;
} body_t;

static uint64_t now_ns(const hlo_tune_job_t* job) {
  return job->now_ns ? job->now_ns() : hlo_os_thread_ns();
}

static bool take_status(hlo_status_t status, hlo_tune_outcome_t outcome, answer_t* answer) {
  if (hlo_status_is_ok(status)) return true;
  answer->outcome = outcome;
  snprintf(answer->reason, sizeof answer->reason, "%s", hlo_status_message(status));
  hlo_status_release(status);
  return false;
}

static bool check_guards(const body_t* body, answer_t* answer) {
  const measure_t* m = body->m;
  const uint32_t output = find_damage(m->job, &m->outputs, m->output_pages);
  const uint32_t input = find_damage(m->job, &m->inputs, m->input_pages);
  const bool is_changed = hlo_hash_bytes(m->input_pages, m->inputs.size_bytes, 0) != m->input_hash;
  if (!output && !input && !is_changed) return true;
  answer->outcome = HLO_TUNE_GUARD;
  if (output || input) {
    snprintf(answer->reason, sizeof answer->reason, "wrote beside array %u",
             (output ? output : input) - 1);
  } else {
    snprintf(answer->reason, sizeof answer->reason, "wrote to an input");
  }
  return false;
}

// The same code is timed once: its times differ by luck alone.
static bool check_code(const body_t* body, answer_t* answer) {
  const measure_t* m = body->m;
  for (uint32_t i = 0; i < body->number && answer->needs.code_hash; ++i) {
    if (m->candidates[i].needs.code_hash != answer->needs.code_hash) continue;
    answer->outcome = HLO_TUNE_REFUSED;
    snprintf(answer->reason, sizeof answer->reason, "has the code of candidate %" PRIu32, i);
    return false;
  }
  return true;
}

// Spilled accumulators cost a product more than a better tile gains.
static bool check_spills(const body_t* body, answer_t* answer) {
  const measure_t* m = body->m;
  const uint32_t most = m->candidates[0].needs.spilled_vectors;
  if (!m->job->refuses_spills || !body->number || answer->needs.spilled_vectors <= most) {
    return true;
  }
  answer->outcome = HLO_TUNE_REFUSED;
  snprintf(answer->reason, sizeof answer->reason,
           "spills %" PRIu32 " vectors, the model's choice %" PRIu32, answer->needs.spilled_vectors,
           most);
  return false;
}

static void first_run(body_t* body, answer_t* answer) {
  const measure_t* m = body->m;
  const hlo_tune_job_t* job = m->job;
  for (uint32_t i = 0; i < job->buffer_count; ++i) {
    body->addresses[i] = job->buffers[i].is_output ? m->output_pages + m->outputs.offsets[i]
                                                   : m->input_pages + m->inputs.offsets[i];
  }
  answer->outcome = HLO_TUNE_MEASURED;
  const hlo_kernel_config_t* config = &m->candidates[body->number].config;
  if (!take_status(job->prepare(job->context, config, &body->state, &answer->needs),
                   HLO_TUNE_REFUSED, answer) ||
      !check_code(body, answer) || !check_spills(body, answer)) {
    return;
  }
  const hlo_status_t status = job->run(job->context, body->state, body->addresses);
  const bool is_damage = hlo_status_code(status) == HLO_STATUS_OUT_OF_RANGE;
  if (take_status(status, is_damage ? HLO_TUNE_GUARD : HLO_TUNE_REFUSED, answer)) {
    check_guards(body, answer);
  }
}

// Returns the shortest time of a run in a round; 0 if one fails.
static double time_round(const body_t* body) {
  const hlo_tune_job_t* job = body->m->job;
  double best = DBL_MAX;
  uint64_t all = 0, batch = 1;
  do {
    const uint64_t begin = now_ns(job);
    for (uint64_t i = 0; i < batch; ++i) {
      if (!hlo_status_take_ok(job->run(job->context, body->state, body->addresses))) return 0;
    }
    const uint64_t ns = now_ns(job) - begin;
    const double each = (double)ns / (double)batch;
    if (each < best) best = each;
    all += ns ? ns : 1;
    while ((double)batch * each < HLO_TUNING_TUNE_BATCH_NS && batch < HLO_TUNING_TUNE_BATCH_NS)
      batch *= 2;
  } while (all < body->m->limits->round_ns);
  return best > 0 ? best : DBL_MIN;
}

static void run_child(void* context, int socket) {
  body_t* body = context;
  answer_t answer = {0};
  char request;
  first_run(body, &answer);
  if (!hlo_child_send(socket, &answer, sizeof answer)) return;
  while (answer.outcome == HLO_TUNE_MEASURED &&
         hlo_child_receive(socket, &request, 1, UINT64_MAX) == HLO_CHILD_ANSWERED) {
    const double ns = time_round(body);
    if (!hlo_child_send(socket, &ns, sizeof ns)) return;
  }
}

// ---- the parent

// Ends a candidate whose child gave no answer.
static void take_failure(measure_t* m, uint32_t number, hlo_child_answer_t answer) {
  hlo_tune_candidate_t* candidate = &m->candidates[number];
  const bool is_late = answer == HLO_CHILD_TIMED_OUT;
  const int by_signal = hlo_child_stop(&m->trials[number].child);
  candidate->outcome = is_late ? HLO_TUNE_TIMED_OUT : HLO_TUNE_CRASHED;
  if (is_late) {
    snprintf(candidate->reason, sizeof candidate->reason, "no answer within %.1f s",
             (double)m->limits->timeout_ns / 1e9);
  } else if (by_signal) {
    snprintf(candidate->reason, sizeof candidate->reason, "signal %d", by_signal);
  } else {
    snprintf(candidate->reason, sizeof candidate->reason, "its process ended");
  }
}

// Starts a child and waits for its first run.
static hlo_status_t begin_trial(measure_t* m, uint32_t number) {
  trial_t* trial = &m->trials[number];
  memset(m->output_pages, 0, m->outputs.size_bytes);
  fill_guards(m->job, &m->outputs, m->output_pages);
  body_t body = {.m = m, .number = number};
  HLO_TRY(hlo_child_start(run_child, &body, &trial->child));
  answer_t answer;
  const hlo_child_answer_t kind =
      hlo_child_receive(trial->child.socket, &answer, sizeof answer, m->limits->timeout_ns);
  if (kind != HLO_CHILD_ANSWERED) {
    take_failure(m, number, kind);
    return hlo_ok();
  }
  hlo_tune_candidate_t* candidate = &m->candidates[number];
  candidate->outcome = answer.outcome;
  candidate->needs = answer.needs;
  memcpy(candidate->reason, answer.reason, sizeof candidate->reason);
  return hlo_ok();
}

// ---- comparison of results

static double unit_of(hlo_dtype_t dtype) {
  switch (dtype) {
    case HLO_DTYPE_F64: return DBL_EPSILON / 2;
    case HLO_DTYPE_F32: return FLT_EPSILON / 2;
    case HLO_DTYPE_F16: return 1.0 / 2048;
    case HLO_DTYPE_BF16: return 1.0 / 256;
    default: return 0;  // equal in every bit
  }
}

// Returns true if the elements differ by no more than sums in another order may, relative to the
// largest element.
static bool are_close(const hlo_tune_buffer_t* buffer, double terms, const uint8_t* a,
                      const uint8_t* b) {
  const double unit = unit_of(buffer->dtype);
  const size_t bytes = hlo_dtype_size_bytes(buffer->dtype);
  const double sums = unit_of(buffer->dtype == HLO_DTYPE_F64 ? HLO_DTYPE_F64 : HLO_DTYPE_F32);
  if (!(unit > 0)) return false;
  double largest = 0, difference = 0;
  for (size_t at = 0; at < buffer->size_bytes; at += bytes) {
    const double x = hlo_dtype_load_double(buffer->dtype, a + at),
                 y = hlo_dtype_load_double(buffer->dtype, b + at);
    if (isnan(x) && isnan(y)) continue;
    if (isinf(x) && x == y) continue;
    if (!isfinite(x) || !isfinite(y)) return false;
    largest = fmax(largest, fabs(x));
    difference = fmax(difference, fabs(x - y));
  }
  return difference <=
         largest * (HLO_TUNING_TUNE_TOLERANCE * sqrt(terms) * sums + (unit > sums ? 2 * unit : 0));
}

// Compares the outputs with those of a cluster.
static bool is_in_cluster(const measure_t* m, uint32_t number, const cluster_t* cluster) {
  const bool is_exact = m->candidates[cluster->first].is_exact && m->candidates[number].is_exact;
  for (uint32_t i = 0; i < m->job->buffer_count; ++i) {
    const hlo_tune_buffer_t* buffer = &m->job->buffers[i];
    if (!buffer->is_output) continue;
    const uint8_t* x = cluster->outputs + m->outputs.offsets[i];
    const uint8_t* y = m->output_pages + m->outputs.offsets[i];
    if (memcmp(x, y, buffer->size_bytes) == 0) continue;
    if (is_exact || !are_close(buffer, m->job->sum_terms, x, y)) return false;
  }
  return true;
}

static hlo_status_t add_cluster(measure_t* m, uint32_t first) {
  uint8_t* copy = hlo_mem_alloc(m->outputs.size_bytes);
  if (!copy) return hlo_status_out_of_memory(m->outputs.size_bytes);
  memcpy(copy, m->output_pages, m->outputs.size_bytes);
  m->clusters[m->cluster_count++] = (cluster_t){first, copy};
  return hlo_ok();
}

// Puts a candidate into the first cluster whose first member has its result. Only the cluster of
// the model's choice is right.
static hlo_status_t compare_results(measure_t* m, uint32_t number) {
  hlo_tune_candidate_t* candidate = &m->candidates[number];
  uint32_t k = 0;
  while (k < m->cluster_count && !is_in_cluster(m, number, &m->clusters[k])) ++k;
  if (k == m->cluster_count) HLO_TRY(add_cluster(m, number));
  candidate->cluster = k;
  if (k == 0) return hlo_ok();
  candidate->outcome = HLO_TUNE_WRONG;
  snprintf(candidate->reason, sizeof candidate->reason, "another result than the model's choice");
  return hlo_ok();
}

static hlo_status_t try_all(measure_t* m) {
  for (uint32_t i = 0; i < m->count; ++i) {
    hlo_tune_candidate_t* candidate = &m->candidates[i];
    if (candidate->outcome == HLO_TUNE_REFUSED) continue;
    HLO_TRY(begin_trial(m, i));
    if (candidate->outcome == HLO_TUNE_MEASURED) HLO_TRY(compare_results(m, i));
    if (candidate->outcome != HLO_TUNE_MEASURED) hlo_child_stop(&m->trials[i].child);
    if (i == 0 && candidate->outcome != HLO_TUNE_MEASURED) break;
  }
  return hlo_ok();
}

// ---- time

static int compare_times(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// Times one round of a candidate. A quarter of its rounds were faster than its time: neither
// disturbances of some rounds nor a high clock rate for a while count.
static void take_round(measure_t* m, uint32_t number) {
  trial_t* trial = &m->trials[number];
  hlo_tune_candidate_t* candidate = &m->candidates[number];
  const char request = 1;
  double ns = 0;
  hlo_child_answer_t answer = HLO_CHILD_ENDED;
  if (hlo_child_send(trial->child.socket, &request, 1)) {
    answer = hlo_child_receive(trial->child.socket, &ns, sizeof ns, m->limits->timeout_ns);
  }
  if (answer != HLO_CHILD_ANSWERED || !(ns > 0)) {
    take_failure(m, number, answer);
    return;
  }
  trial->rounds_ns[trial->round_count++] = ns;
  qsort(trial->rounds_ns, trial->round_count, sizeof *trial->rounds_ns, compare_times);
  candidate->ns = trial->rounds_ns[trial->round_count / 4];
}

static double best_time(const measure_t* m) {
  double best = DBL_MAX;
  for (uint32_t i = 0; i < m->count; ++i) {
    const hlo_tune_candidate_t* candidate = &m->candidates[i];
    if (candidate->outcome == HLO_TUNE_MEASURED && candidate->ns < best) best = candidate->ns;
  }
  return best;
}

// After the first rounds only the model's choice and candidates that may be the best are timed.
static void time_all(measure_t* m) {
  for (uint32_t round = 0; round < m->limits->round_count; ++round) {
    const double best = round < FIRST_ROUNDS ? DBL_MAX : best_time(m);
    for (uint32_t i = 0; i < m->count; ++i) {
      const uint32_t number = round % 2 ? m->count - 1 - i : i;
      const hlo_tune_candidate_t* candidate = &m->candidates[number];
      if (candidate->outcome != HLO_TUNE_MEASURED) continue;
      if (number && candidate->ns > best * HLO_TUNING_TUNE_FAR) continue;
      take_round(m, number);
    }
  }
}

// Returns the candidate with the least scratch memory among those that are about as fast as the
// best one; 0 if none is faster than the model's choice by the margin.
static uint32_t choose(const measure_t* m) {
  const double limit = m->candidates[0].ns * (1 - HLO_TUNING_TUNE_MARGIN), best = best_time(m);
  uint32_t chosen = 0;
  for (uint32_t i = 1; i < m->count; ++i) {
    const hlo_tune_candidate_t *c = &m->candidates[i], *other = &m->candidates[chosen];
    if (c->outcome != HLO_TUNE_MEASURED || c->ns > limit) continue;
    if (c->ns > best * (1 + HLO_TUNING_TUNE_WINDOW)) continue;
    const uint64_t bytes = c->needs.scratch_bytes, other_bytes = other->needs.scratch_bytes;
    const bool is_smaller = bytes < other_bytes;
    const bool is_equal = bytes == other_bytes && c->ns < other->ns;
    if (!chosen || is_smaller || is_equal) chosen = i;
  }
  return chosen;
}

static void end_trial(measure_t* m, uint32_t number) {
  trial_t* trial = &m->trials[number];
  hlo_child_stop(&trial->child);
  trial->round_count = 0;
}

// Times two candidates in turns, in new processes. The other ones have ended.
static hlo_status_t time_pair(measure_t* m, const uint32_t pair[2]) {
  for (uint32_t i = 0; i < 2; ++i) end_trial(m, pair[i]);
  HLO_TRY(map_outputs(m));
  for (uint32_t i = 0; i < 2; ++i) HLO_TRY(begin_trial(m, pair[i]));
  for (uint32_t round = 0; round < m->limits->round_count; ++round) {
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t number = pair[(i + round) % 2];
      if (m->candidates[number].outcome == HLO_TUNE_MEASURED) take_round(m, number);
    }
  }
  return hlo_ok();
}

// Compares the chosen candidate with the model's choice again, since the best of many measurements
// was lucky, in new processes, whose pages lie elsewhere. *winner: the candidate, or 0.
static hlo_status_t confirm(measure_t* m, uint32_t* winner) {
  const uint32_t pair[2] = {0, *winner};
  hlo_tune_candidate_t *model = &m->candidates[0], *best = &m->candidates[*winner];
  double slowest = best->ns;
  for (uint32_t i = 0; i < m->count; ++i) end_trial(m, i);
  for (uint32_t i = 0; i < CONFIRMATIONS && *winner; ++i) {
    HLO_TRY(time_pair(m, pair));
    const bool is_measured =
        model->outcome == HLO_TUNE_MEASURED && best->outcome == HLO_TUNE_MEASURED;
    slowest = fmax(slowest, best->ns);
    if (!is_measured || best->ns > model->ns * (1 - HLO_TUNING_TUNE_MARGIN)) *winner = 0;
  }
  best->ns = slowest;
  return hlo_ok();
}

static void end_trials(measure_t* m) {
  for (uint32_t i = 0; m->trials && i < m->count; ++i) end_trial(m, i);
  for (uint32_t i = 0; i < m->cluster_count; ++i) hlo_mem_free(m->clusters[i].outputs);
  hlo_mem_free(m->clusters);
  unmap_outputs(m);
  if (m->input_pages) hlo_os_pages_unmap(m->input_pages, m->inputs.size_bytes);
  hlo_mem_free(m->trials);
}

static hlo_status_t measure(measure_t* m, uint32_t* out_winner, uint32_t* out_timed_count) {
  HLO_TRY(make_memory(m));
  m->candidates[0].is_exact = true;
  HLO_TRY(try_all(m));
  const hlo_tune_candidate_t* model = &m->candidates[0];
  if (model->outcome != HLO_TUNE_MEASURED) {
    return hlo_failed_precondition("the model's choice of a kernel alone %s: %s",
                                   hlo_tune_outcome_name(model->outcome), model->reason);
  }
  time_all(m);
  for (uint32_t i = 0; i < m->count; ++i) *out_timed_count += m->trials[i].round_count > 0;
  if (model->outcome != HLO_TUNE_MEASURED) {
    return hlo_failed_precondition("the model's choice %s: %s",
                                   hlo_tune_outcome_name(model->outcome), model->reason);
  }
  uint32_t winner = choose(m);
  if (winner) HLO_TRY(confirm(m, &winner));
  *out_winner = winner;
  return hlo_ok();
}

hlo_status_t hlo_tune_measure(const hlo_tune_job_t* job, const hlo_tune_limits_t* limits,
                              uint32_t count, hlo_tune_candidate_t* candidates,
                              uint32_t* out_winner, uint32_t* out_timed_count) {
  *out_winner = *out_timed_count = 0;
  if (job->buffer_count > MAX_BUFFERS || limits->round_count > MAX_ROUNDS) {
    return hlo_invalid_argument("%u arrays of a kernel (limit %d), %u rounds (limit %d)",
                                job->buffer_count, MAX_BUFFERS, limits->round_count, MAX_ROUNDS);
  }
  measure_t m = {.job = job, .limits = limits, .count = count, .candidates = candidates};
  m.trials = hlo_mem_alloc_zeroed(count * sizeof *m.trials);
  m.clusters = hlo_mem_alloc_zeroed(count * sizeof *m.clusters);
  hlo_status_t status = m.trials && m.clusters ? measure(&m, out_winner, out_timed_count)
                                               : hlo_status_out_of_memory(count * sizeof *m.trials);
  end_trials(&m);
  return status;
}
