// SPDX-License-Identifier: Apache-2.0
// The tuner of a client (see tuner.h): looks kernels up in the store, times the candidates of those
// that are missing, and exchanges records with the other processes of a job.
#include "compiler/tuner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "base/tuning.h"
#include "codegen/fuse/fusion.h"
#include "compiler/tune_force.h"
#include "compiler/tune_kernel.h"
#include "ir/clone.h"

enum { MAX_CANDIDATES = HLO_KERNEL_MAX_CANDIDATES + 1, KEY_BYTES = 80 };

struct hlo_tuner {
  hlo_tune_mode_t mode;
  hlo_log_t log;
  hlo_arena_t arena;  // of the forces
  hlo_tune_forces_t forces;
  hlo_tune_store_t* store;
  hlo_tuner_report_t report;
  hlo_tune_share_t share;  // process_count 0: none
  bool is_alone;           // mutex; the share failed
  hlo_tune_measure_t* measure;
  hlo_mutex_t mutex;        // of tuning: one kernel at a time
  hlo_mutex_t stats_mutex;  // a leaf
  hlo_tuner_stats_t stats;  // stats_mutex
};

/// A kernel of the program.
typedef struct tuned_kernel {
  const hlo_tunable_t* tunable;
  hlo_digest_t key;
  bool is_known, is_forced, is_awaited;  // is_awaited: from another process
  hlo_tune_record_t record;
} tuned_kernel_t;

/// One program.
typedef struct tuning {
  hlo_tuner_t* tuner;
  const hlo_code_options_t* options;
  hlo_module_t* module;  // a copy
  uint32_t count;
  tuned_kernel_t* kernels;
} tuning_t;

// ---- the tuner

hlo_status_t hlo_tuner_create(const hlo_config_t* options, const hlo_log_t* log,
                              hlo_tuner_t** out_tuner) {
  *out_tuner = NULL;
  if (options->tune == HLO_TUNE_OFF && !*options->tune_force) return hlo_ok();
  hlo_tuner_t* tuner = hlo_mem_alloc_zeroed(sizeof *tuner);
  if (!tuner) return hlo_status_out_of_memory(sizeof *tuner);
  tuner->mode = (hlo_tune_mode_t)options->tune;
  tuner->measure = hlo_tune_measure;
  if (log) tuner->log = *log;
  const bool is_writing = tuner->mode == HLO_TUNE_ON;
  hlo_arena_init(&tuner->arena, 0);
  hlo_status_t status = hlo_tune_forces_read(options->tune_force, &tuner->arena, &tuner->forces);
  if (hlo_status_is_ok(status)) {
    status = hlo_tune_store_create(options->tune_dir, !is_writing, log, &tuner->store);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_arena_deinit(&tuner->arena);
    hlo_mem_free(tuner);
    return status;
  }
  hlo_mutex_init(&tuner->mutex, HLO_LOCK_LEVEL_CLIENT + 4);
  hlo_mutex_init(&tuner->stats_mutex, HLO_LOCK_LEVEL_MEMORY + 2);
  *out_tuner = tuner;
  return hlo_ok();
}

static void add_stats(hlo_tuner_t* tuner, const hlo_tuner_stats_t* more) {
  hlo_mutex_lock(&tuner->stats_mutex);
  tuner->stats.hits += more->hits;
  tuner->stats.misses += more->misses;
  tuner->stats.tuned += more->tuned;
  tuner->stats.timed += more->timed;
  tuner->stats.failed += more->failed;
  tuner->stats.forced += more->forced;
  hlo_mutex_unlock(&tuner->stats_mutex);
}

hlo_tuner_stats_t hlo_tuner_stats(hlo_tuner_t* tuner) {
  hlo_mutex_lock(&tuner->stats_mutex);
  const hlo_tuner_stats_t stats = tuner->stats;
  hlo_mutex_unlock(&tuner->stats_mutex);
  return stats;
}

void hlo_tuner_release(hlo_tuner_t* tuner) {
  if (!tuner) return;
  hlo_tune_store_release(tuner->store);
  hlo_arena_deinit(&tuner->arena);
  hlo_mutex_deinit(&tuner->stats_mutex);
  hlo_mutex_deinit(&tuner->mutex);
  hlo_mem_free(tuner);
}

void hlo_tuner_set_report(hlo_tuner_t* tuner, const hlo_tuner_report_t* report) {
  tuner->report = *report;
  if (report->is_read_only) hlo_tune_store_forbid_writing(tuner->store);
}

void hlo_tuner_set_share(hlo_tuner_t* tuner, const hlo_tune_share_t* share) {
  tuner->share = *share;
}

void hlo_tuner_set_measure(hlo_tuner_t* tuner, hlo_tune_measure_t* measure) {
  tuner->measure = measure;
}

// ---- text

// Appends the last op of a kernel, its source line and its loops.
static void describe(const tuning_t* t, const hlo_fusion_t* fusion, hlo_strbuf_t* out) {
  const hlo_node_t* last = fusion->outputs[0]->def;
  hlo_strbuf_printf(out, "fusion %u (%s", fusion->index, hlo_op_info(last->op)->name);
  if (last->loc) {
    hlo_strbuf_puts(out, ", ");
    hlo_loc_format(t->module, last->loc, out);
  }
  hlo_strbuf_puts(out, "): ");
  hlo_kernel_describe(fusion->kernel, out);
}

static void print_candidate(const hlo_tune_candidate_t* c, bool is_winner, hlo_strbuf_t* out) {
  HLO_SCOPED_STRBUF config = {0};
  char expected[32] = "", measured[32] = "";
  hlo_kernel_config_print(&c->config, &config);
  if (c->expected_ns > 0) snprintf(expected, sizeof expected, "%.1f us", c->expected_ns / 1000);
  if (c->ns > 0) snprintf(measured, sizeof measured, "%.1f us", c->ns / 1000);
  const bool is_measured = c->outcome == HLO_TUNE_MEASURED;
  const char* result = !is_measured  ? hlo_tune_outcome_name(c->outcome)
                       : c->is_exact ? "equal in every bit"
                                     : "within the bound of sums";
  char scratch[32] = "", spills[16] = "";
  if (is_measured) {
    snprintf(scratch, sizeof scratch, "%" PRIu64, c->needs.scratch_bytes);
    snprintf(spills, sizeof spills, "%u", c->needs.spilled_vectors);
  }
  hlo_strbuf_printf(out, "%c %-36s %12s %12s %10s %6s  %s%s%s\n", is_winner ? '*' : ' ',
                    hlo_strbuf_text(&config), expected, measured, scratch, spills, result,
                    *c->reason ? ": " : "", c->reason);
}

static void print_line(const hlo_digest_t* key, uint32_t number, const hlo_tune_candidate_t* c,
                       hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "kernel %016" PRIx64 "%016" PRIx64 " candidate %u config \"",
                    key->words[0], key->words[1], number);
  hlo_kernel_config_print(&c->config, out);
  hlo_strbuf_printf(out,
                    "\" outcome \"%s\" ns %.1f expected_ns %.1f scratch_bytes %" PRIu64
                    " spilled_vectors %u spilled_words %u cluster %u reason \"%s\"\n",
                    hlo_tune_outcome_name(c->outcome), c->ns, c->expected_ns,
                    c->needs.scratch_bytes, c->needs.spilled_vectors, c->needs.spilled_words,
                    c->cluster, c->reason);
}

static void report_candidates(const tuning_t* t, const tuned_kernel_t* kernel,
                              const hlo_tune_candidate_t* candidates, uint32_t count,
                              uint32_t winner) {
  const hlo_tuner_t* tuner = t->tuner;
  HLO_SCOPED_STRBUF lines = {0};
  for (uint32_t i = 0; i < count; ++i) print_line(&kernel->key, i, &candidates[i], &lines);
  if (hlo_log_is_on(&tuner->log, HLO_LOG_LEVEL_DEBUG)) {
    HLO_LOG(&tuner->log, DEBUG, "tuned:\n%s", hlo_strbuf_text(&lines));
  }
  if (tuner->report.log) hlo_strbuf_puts(tuner->report.log, hlo_strbuf_text(&lines));
  hlo_strbuf_t* table = tuner->report.table;
  if (!table) return;
  hlo_strbuf_printf(table, "  %-36s %12s %12s %10s %6s  %s\n", "configuration", "predicted",
                    "measured", "scratch", "spills", "result");
  for (uint32_t i = 0; i < count; ++i) {
    print_candidate(&candidates[i], i == winner && !tuner->report.is_dry_run, table);
  }
}

// ---- one kernel

static uint64_t most_chunks(const hlo_kernel_t* kernel) {
  uint64_t most = 1;
  for (uint32_t i = 0; i < hlo_kernel_phase_count(kernel); ++i) {
    const uint64_t count = hlo_kernel_chunk_count(kernel, i);
    if (count > most) most = count;
  }
  return most;
}

// Refuses a candidate that leaves threads without work: one thread measures.
static void check_chunks(const hlo_kernel_t* model, const hlo_kernel_t* kernel,
                         hlo_tune_candidate_t* candidate) {
  const uint64_t before = most_chunks(model), after = most_chunks(kernel);
  if (2 * after >= before) return;
  candidate->outcome = HLO_TUNE_REFUSED;
  snprintf(candidate->reason, sizeof candidate->reason,
           "%" PRIu64 " chunks, less than half of the model's %" PRIu64, after, before);
}

// Refuses a candidate that hlo_kernel_try() refuses. Returns false if it only repeats the model's
// choices. *out_kernel: its kernel; NULL: refused
static bool check_candidate(const tuning_t* t, const hlo_fusion_t* fusion, hlo_arena_t* arena,
                            hlo_tune_candidate_t* candidate, const hlo_kernel_t** out_kernel) {
  hlo_verdict_t verdict = hlo_verdict_yes();
  hlo_kernel_t* kernel = NULL;
  HLO_SCOPED_STRBUF reason = {0};
  hlo_status_t status = hlo_fusion_try_config(fusion, &t->options->target, &candidate->config,
                                              arena, &verdict, &kernel);
  if (!hlo_status_is_ok(status)) {
    hlo_strbuf_puts(&reason, hlo_status_message(status));
  } else if (hlo_verdict_is_no(&verdict)) {
    hlo_verdict_print(&verdict, &reason);
  }
  const bool is_ok = hlo_status_is_ok(status) && !hlo_verdict_is_no(&verdict);
  hlo_status_release(status);
  *out_kernel = is_ok ? kernel : NULL;
  if (!is_ok) {
    candidate->outcome = HLO_TUNE_REFUSED;
    snprintf(candidate->reason, sizeof candidate->reason, "%s", hlo_strbuf_text(&reason));
    return true;
  }
  candidate->is_exact = hlo_kernel_sum_order(kernel) == hlo_kernel_sum_order(fusion->kernel);
  HLO_SCOPED_STRBUF before = {0}, after = {0};
  hlo_kernel_describe(fusion->kernel, &before);
  hlo_kernel_describe(kernel, &after);
  const bool is_hidden = candidate->config.values[HLO_CHOICE_unroll] ||
                         candidate->config.values[HLO_CHOICE_block] ||
                         candidate->config.values[HLO_CHOICE_pack_b] ||
                         candidate->config.values[HLO_CHOICE_row_block] ||
                         candidate->config.values[HLO_CHOICE_row_cache];
  return is_hidden || strcmp(hlo_strbuf_text(&before), hlo_strbuf_text(&after)) != 0 ||
         hlo_kernel_scratch_bytes(kernel) != hlo_kernel_scratch_bytes(fusion->kernel);
}

// Lists the model's choice and the best candidates that are possible, besides those that are not.
static hlo_status_t list_candidates(const tuning_t* t, const hlo_fusion_t* fusion,
                                    hlo_tune_candidate_t* candidates, uint32_t* out_count) {
  HLO_SCOPED_ARENA arena = {0};
  hlo_kernel_configs_t* list = hlo_arena_alloc_zeroed(&arena, sizeof *list);
  if (!list) return hlo_arena_status(&arena);
  const bool is_exhaustive = t->tuner->report.is_exhaustive;
  const uint32_t most = is_exhaustive ? HLO_KERNEL_MAX_CANDIDATES : HLO_TUNING_TUNE_CANDIDATES;
  HLO_TRY(hlo_kernel_list_configs(fusion->kernel, is_exhaustive, list));
  uint32_t count = 1, possible = 0;
  candidates[0] =
      (hlo_tune_candidate_t){.expected_ns = hlo_kernel_cost_ns(fusion->kernel), .is_exact = true};
  for (uint32_t i = 0; i < list->count && possible < most; ++i) {
    hlo_tune_candidate_t* candidate = &candidates[count];
    *candidate = (hlo_tune_candidate_t){.config = list->items[i].config,
                                        .expected_ns = list->items[i].expected_ns};
    const hlo_kernel_t* kernel;
    if (!check_candidate(t, fusion, &arena, candidate, &kernel)) continue;
    if (kernel) check_chunks(fusion->kernel, kernel, candidate);
    possible += candidate->outcome != HLO_TUNE_REFUSED;
    ++count;
  }
  *out_count = count;
  return hlo_arena_status(&arena);
}

// Warns if several candidates agree with each other but not with the model's choice.
static void warn_of_clusters(const tuning_t* t, const tuned_kernel_t* kernel,
                             const hlo_tune_candidate_t* candidates, uint32_t count) {
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < count; ++i) wrong += candidates[i].outcome == HLO_TUNE_WRONG;
  if (!wrong) return;
  HLO_LOG(&t->tuner->log, WARN,
          "kernel %016" PRIx64 ": %u of %u configurations have another result than the model's",
          kernel->key.words[0], wrong, count);
}

// Times the candidates. Without a result, the record says that the model's choices stay.
static hlo_status_t time_kernel(tuning_t* t, tuned_kernel_t* kernel,
                                hlo_tune_candidate_t* candidates, uint32_t count) {
  hlo_tuner_t* tuner = t->tuner;
  hlo_tune_kernel_t* alone = NULL;
  hlo_tuner_stats_t stats = {0};
  uint32_t winner = 0, timed = 0;
  hlo_status_t status = hlo_tune_kernel_create(t->module, kernel->tunable, t->options, &alone);
  if (hlo_status_is_ok(status)) {
    const hlo_tune_limits_t limits = hlo_tune_default_limits();
    status =
        tuner->measure(hlo_tune_kernel_job(alone), &limits, count, candidates, &winner, &timed);
  }
  hlo_tune_kernel_release(alone);
  kernel->is_known = true;
  kernel->record = (hlo_tune_record_t){.candidate_count = hlo_status_is_ok(status) ? count : 0};
  if (hlo_status_is_ok(status)) {
    kernel->record.config = candidates[winner].config;
    kernel->record.model_ns = candidates[0].ns;
    kernel->record.ns = candidates[winner].ns;
    warn_of_clusters(t, kernel, candidates, count);
  }
  stats.tuned = hlo_status_is_ok(status);
  stats.failed = !hlo_status_is_ok(status);
  stats.timed = timed;
  add_stats(tuner, &stats);
  report_candidates(t, kernel, candidates, count, winner);
  return status;
}

// Tunes a kernel and stores the record. A kernel that cannot be timed alone keeps the model's
// choices.
static hlo_status_t tune_kernel(tuning_t* t, tuned_kernel_t* kernel) {
  hlo_tuner_t* tuner = t->tuner;
  if (!tuner->report.is_exhaustive &&
      hlo_tune_store_find(tuner->store, &kernel->key, &kernel->record)) {  // by another thread
    kernel->is_known = true;
    return hlo_ok();
  }
  hlo_tune_candidate_t* candidates = hlo_mem_alloc_zeroed(MAX_CANDIDATES * sizeof *candidates);
  if (!candidates) return hlo_status_out_of_memory(MAX_CANDIDATES * sizeof *candidates);
  uint32_t count = 0;
  hlo_status_t status = list_candidates(t, kernel->tunable->fusion, candidates, &count);
  if (hlo_status_is_ok(status) && tuner->report.is_dry_run) {
    report_candidates(t, kernel, candidates, count, 0);
  } else if (hlo_status_is_ok(status)) {
    status = time_kernel(t, kernel, candidates, count);
  }
  hlo_mem_free(candidates);
  if (hlo_status_code(status) == HLO_STATUS_RESOURCE_EXHAUSTED) return status;
  hlo_strbuf_t* table = tuner->report.table;
  if (!hlo_status_is_ok(status)) {
    HLO_LOG(&tuner->log, INFO, "kernel %016" PRIx64 " is not tuned: %s", kernel->key.words[0],
            hlo_status_message(status));
    if (table) hlo_strbuf_printf(table, "  not tuned: %s\n", hlo_status_message(status));
    hlo_status_release(status);
  } else if (table && kernel->is_known && hlo_kernel_config_is_empty(&kernel->record.config)) {
    hlo_strbuf_puts(table, "  the model's choices stay\n");
  } else if (table && kernel->is_known) {
    hlo_strbuf_printf(table, "  %.2f times as fast\n", kernel->record.model_ns / kernel->record.ns);
  }
  if (kernel->is_known) hlo_tune_store_add(tuner->store, &kernel->key, &kernel->record);
  return hlo_ok();
}

// ---- one program

// Checks that the store's choices are possible for the kernel, whatever wrote them.
static bool is_possible(const tuning_t* t, const tuned_kernel_t* kernel) {
  HLO_SCOPED_ARENA arena = {0};
  hlo_tune_candidate_t candidate = {.config = kernel->record.config};
  if (hlo_kernel_config_is_empty(&candidate.config)) return true;
  const hlo_kernel_t* made;
  check_candidate(t, kernel->tunable->fusion, &arena, &candidate, &made);
  if (candidate.outcome != HLO_TUNE_REFUSED) return true;
  HLO_LOG(&t->tuner->log, WARN, "a stored configuration of kernel %016" PRIx64 " is ignored: %s",
          kernel->key.words[0], candidate.reason);
  return false;
}

// Gives a kernel the configuration that is forced on it, if any. errors : INVALID_ARGUMENT if it
// cannot have that
static hlo_status_t force(const tuning_t* t, tuned_kernel_t* kernel) {
  const hlo_fusion_t* fusion = kernel->tunable->fusion;
  const hlo_tune_force_t* found = hlo_tune_forces_find(&t->tuner->forces, &kernel->key, fusion);
  if (!found) return hlo_ok();
  HLO_SCOPED_ARENA arena = {0};
  hlo_tune_candidate_t candidate = {.config = found->config};
  const hlo_kernel_t* made;
  check_candidate(t, fusion, &arena, &candidate, &made);
  if (candidate.outcome == HLO_TUNE_REFUSED) {
    HLO_SCOPED_STRBUF text = {0};
    hlo_kernel_config_print(&found->config, &text);
    hlo_strbuf_puts(&text, " of ");
    describe(t, fusion, &text);
    return hlo_invalid_argument("tune_force: %s:%s is refused: %s", found->kernels,
                                hlo_strbuf_text(&text), candidate.reason);
  }
  kernel->is_known = kernel->is_forced = true;
  kernel->record.config = found->config;
  return hlo_ok();
}

// Finds a kernel in the store, unless it is forced. *out_is_tuned: whether it has a configuration,
// or is worth timing.
static hlo_status_t find_kernel(const tuning_t* t, tuned_kernel_t* kernel, bool* out_is_tuned) {
  const hlo_tuner_t* tuner = t->tuner;
  *out_is_tuned = false;
  if (!hlo_tune_key_make(&kernel->tunable->key, &t->options->target, &kernel->key)) return hlo_ok();
  HLO_TRY(force(t, kernel));
  const double ns = hlo_kernel_cost_ns(kernel->tunable->fusion->kernel);
  *out_is_tuned =
      kernel->is_forced || (tuner->mode != HLO_TUNE_OFF && ns >= HLO_TUNING_TUNE_MIN_NS);
  if (kernel->is_forced || !*out_is_tuned || tuner->report.is_exhaustive) return hlo_ok();
  kernel->is_known =
      hlo_tune_store_find(tuner->store, &kernel->key, &kernel->record) && is_possible(t, kernel);
  return hlo_ok();
}

// Lists the kernels that are forced or worth timing, and finds them in the store.
static hlo_status_t list_kernels(tuning_t* t, const char* entry, hlo_arena_t* arena) {
  hlo_schedule_t* schedule;
  hlo_tunable_t* tunables;
  uint32_t count;
  const hlo_func_t* func = hlo_module_find_func(t->module, entry);
  HLO_TRY(hlo_schedule_create(func, &t->options->target, arena, &schedule));
  HLO_TRY(hlo_schedule_list_tunable(schedule, t->module, arena, &count, &tunables));
  t->kernels = hlo_arena_array(arena, count + 1, sizeof *t->kernels);
  HLO_TRY(hlo_arena_status(arena));
  hlo_tuner_stats_t stats = {0};
  for (uint32_t i = 0; i < count; ++i) {
    tuned_kernel_t kernel = {.tunable = &tunables[i]};
    bool is_tuned;
    HLO_TRY(find_kernel(t, &kernel, &is_tuned));
    if (!is_tuned) continue;
    stats.forced += kernel.is_forced;
    stats.hits += kernel.is_known && !kernel.is_forced;
    stats.misses += !kernel.is_known;
    t->kernels[t->count++] = kernel;
  }
  add_stats(t->tuner, &stats);
  return hlo_ok();
}

// Fails if a kernel is missing.
static hlo_status_t expect_all(const tuning_t* t) {
  uint32_t missing = 0;
  const tuned_kernel_t* first = NULL;
  for (uint32_t i = 0; i < t->count; ++i) {
    if (t->kernels[i].is_known) continue;
    if (!missing++) first = &t->kernels[i];
  }
  if (!missing) return hlo_ok();
  HLO_SCOPED_STRBUF text = {0};
  describe(t, first->tunable->fusion, &text);
  const char* directory = hlo_tune_store_directory(t->tuner->store);
  return hlo_not_found(
      "no tuned configuration for %u of %u kernels (tune=expect). The first: %s. %s%s has no valid "
      "record of key %016" PRIx64 "%016" PRIx64 " for this machine and build",
      missing, t->count, hlo_strbuf_text(&text),
      *directory ? "tune_dir " : "The memory of the client", directory, first->key.words[0],
      first->key.words[1]);
}

// ---- several processes

static bool is_shared(const hlo_tuner_t* tuner) {
  return tuner->share.process_count > 1 && !tuner->is_alone && !tuner->report.is_dry_run;
}

static void print_share_key(const char* kind, const hlo_digest_t* key, char out[KEY_BYTES]) {
  snprintf(out, KEY_BYTES, "hlocc/tune/%s/%016" PRIx64 "%016" PRIx64, kind, key->words[0],
           key->words[1]);
}

// Sets a value. *out_is_first: nobody did before. After a failure of the store the process works
// alone.
static void set_value(hlo_tuner_t* tuner, const char* key, const hlo_strbuf_t* value,
                      bool* out_is_first) {
  hlo_status_t status =
      tuner->share.set(tuner->share.context, key, hlo_strbuf_text(value), value->length);
  *out_is_first = hlo_status_code(status) != HLO_STATUS_ALREADY_EXISTS;
  if (*out_is_first && !hlo_status_is_ok(status)) {
    HLO_LOG(&tuner->log, WARN, "tuned kernels are not shared with the other processes: %s",
            hlo_status_message(status));
    tuner->is_alone = true;
  }
  hlo_status_release(status);
}

// Returns true if this process is to time the kernel.
static bool claim(hlo_tuner_t* tuner, const tuned_kernel_t* kernel) {
  char name[KEY_BYTES];
  bool is_first;
  HLO_SCOPED_STRBUF text = {0};
  print_share_key("claim", &kernel->key, name);
  hlo_strbuf_printf(&text, "%u", tuner->share.process_index);
  set_value(tuner, name, &text, &is_first);
  return is_first;
}

// Takes the record of a kernel that another process times. Returns false, with a warning, if it
// does not come or is not possible here.
static bool receive(const tuning_t* t, tuned_kernel_t* kernel, uint64_t timeout_ns) {
  const hlo_tune_share_t* share = &t->tuner->share;
  char name[KEY_BYTES], claim_name[KEY_BYTES];
  HLO_SCOPED_STRBUF text = {0}, owner = {0};
  print_share_key("record", &kernel->key, name);
  const hlo_status_t status = share->get(share->context, name, timeout_ns, &text);
  const bool is_here = hlo_status_is_ok(status);
  if (is_here &&
      hlo_tune_record_parse(hlo_strbuf_text(&text), text.length, &kernel->key, &kernel->record)) {
    kernel->is_known = is_possible(t, kernel);
  }
  if (!kernel->is_known) {
    print_share_key("claim", &kernel->key, claim_name);
    hlo_status_release(share->get(share->context, claim_name, 1, &owner));
    HLO_LOG(&t->tuner->log, WARN, "process %s of %u has not shared the tuned kernel %s: %s",
            hlo_strbuf_text(&owner), share->process_count, name,
            is_here ? "its record is damaged or impossible here" : hlo_status_message(status));
  }
  hlo_status_release(status);
  kernel->record.is_shared = kernel->is_known;
  return kernel->is_known;
}

// Gives the other processes the record of a kernel, or takes theirs if one was first: all have the
// same in the end.
static void publish(const tuning_t* t, tuned_kernel_t* kernel) {
  hlo_tuner_t* tuner = t->tuner;
  char name[KEY_BYTES];
  bool is_first;
  HLO_SCOPED_STRBUF text = {0};
  const hlo_tune_record_t own = kernel->record;
  print_share_key("record", &kernel->key, name);
  hlo_tune_record_print(&kernel->key, &kernel->record, &text);
  set_value(tuner, name, &text, &is_first);
  if (!is_first && !receive(t, kernel, HLO_TUNING_TUNE_SHARE_AGAIN_NS)) {
    kernel->record = own;
    kernel->is_known = true;
  }
  kernel->record.is_shared = true;
  hlo_tune_store_add(tuner->store, &kernel->key, &kernel->record);
}

// ---- missing kernels

static void print_kernel(const tuning_t* t, uint32_t number) {
  hlo_strbuf_t* table = t->tuner->report.table;
  const tuned_kernel_t* kernel = &t->kernels[number];
  if (!table) return;
  hlo_strbuf_printf(table, "%s%u of %u: ", number ? "\n" : "", number + 1, t->count);
  describe(t, kernel->tunable->fusion, table);
  hlo_strbuf_printf(table, "%s\n",
                    kernel->is_forced  ? ": forced"
                    : kernel->is_known ? ": in the store"
                                       : "");
  if (!kernel->is_known) return;
  hlo_strbuf_puts(table, "  ");
  hlo_kernel_config_print(&kernel->record.config, table);
  hlo_strbuf_putc(table, '\n');
}

// Times a kernel if it is missing, and shares it.
static hlo_status_t settle(tuning_t* t, tuned_kernel_t* kernel) {
  if (!kernel->is_known) HLO_TRY(tune_kernel(t, kernel));
  const bool is_to_share = kernel->is_known && !kernel->is_forced && !kernel->record.is_shared;
  if (is_to_share && is_shared(t->tuner)) publish(t, kernel);
  return hlo_ok();
}

// Tunes the missing kernels; of several processes each tunes some, and waits for the others only
// after its own. Their first claims are of different kernels.
static hlo_status_t tune_missing(tuning_t* t) {
  hlo_tuner_t* tuner = t->tuner;
  const hlo_tune_share_t* share = &tuner->share;
  const uint32_t first =
      is_shared(tuner)
          ? (uint32_t)((uint64_t)t->count * share->process_index / share->process_count)
          : 0;
  for (uint32_t i = 0; i < t->count; ++i) {
    const uint32_t number = (first + i) % t->count;
    tuned_kernel_t* kernel = &t->kernels[number];
    print_kernel(t, number);
    kernel->is_awaited = !kernel->is_known && is_shared(tuner) && !claim(tuner, kernel);
    if (!kernel->is_awaited) HLO_TRY(settle(t, kernel));
  }
  uint64_t timeout_ns = share->timeout_ns;
  for (uint32_t i = 0; i < t->count; ++i) {
    tuned_kernel_t* kernel = &t->kernels[i];
    if (!kernel->is_awaited) continue;
    if (receive(t, kernel, timeout_ns)) {
      hlo_tune_store_add(tuner->store, &kernel->key, &kernel->record);
    } else {
      timeout_ns = HLO_TUNING_TUNE_SHARE_AGAIN_NS;
      HLO_TRY(settle(t, kernel));
    }
  }
  return hlo_ok();
}

static hlo_status_t make_table(const tuning_t* t, hlo_arena_t* arena,
                               hlo_config_table_t* out_table) {
  hlo_config_entry_t* entries = hlo_arena_array(arena, t->count + 1, sizeof *entries);
  HLO_TRY(hlo_arena_status(arena));
  uint32_t count = 0;
  for (uint32_t i = 0; i < t->count; ++i) {
    const tuned_kernel_t* kernel = &t->kernels[i];
    if (!kernel->is_known || hlo_kernel_config_is_empty(&kernel->record.config)) continue;
    entries[count++] = (hlo_config_entry_t){kernel->tunable->key, kernel->record.config};
  }
  *out_table = (hlo_config_table_t){count, entries};
  return hlo_ok();
}

static hlo_status_t resolve(tuning_t* t, const char* entry, hlo_arena_t* scratch,
                            hlo_arena_t* arena, hlo_config_table_t* out_table) {
  HLO_TRY(list_kernels(t, entry, scratch));
  const bool is_machine = t->options->executor == HLO_EXECUTOR_MACHINE;
  if (t->tuner->mode == HLO_TUNE_EXPECT) HLO_TRY(expect_all(t));
  if (t->tuner->mode == HLO_TUNE_ON && is_machine) {
    hlo_mutex_lock(&t->tuner->mutex);
    const hlo_status_t status = tune_missing(t);
    hlo_mutex_unlock(&t->tuner->mutex);
    HLO_TRY(status);
  }
  HLO_TRY(make_table(t, arena, out_table));
  const hlo_tuner_stats_t stats = hlo_tuner_stats(t->tuner);
  HLO_LOG(&t->tuner->log, INFO,
          "tuner: %" PRIu64 " kernels found, %" PRIu64 " missing, %" PRIu64 " tuned, %" PRIu64
          " failed, %" PRIu64 " candidates timed, %" PRIu64 " kernels forced",
          stats.hits, stats.misses, stats.tuned, stats.failed, stats.timed, stats.forced);
  return hlo_ok();
}

hlo_status_t hlo_tuner_resolve(hlo_tuner_t* tuner, const hlo_module_t* prepared, const char* entry,
                               const hlo_code_options_t* options, hlo_arena_t* arena,
                               hlo_config_table_t* out_table) {
  HLO_SCOPED_ARENA scratch = {0};
  tuning_t t = {.tuner = tuner, .options = options};
  HLO_TRY(hlo_module_clone(prepared, &t.module));
  const hlo_status_t status = resolve(&t, entry, &scratch, arena, out_table);
  hlo_module_release(t.module);
  return status;
}
