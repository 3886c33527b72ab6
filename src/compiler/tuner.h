// SPDX-License-Identifier: Apache-2.0
// Chooses configurations of the kernels of a program by timing them, and remembers them: the
// options tune, tune_dir and tune_force. Several processes of a job may share the work.
#pragma once

#include "base/config.h"
#include "base/observer.h"
#include "codegen/image/program.h"
#include "compiler/tune_measure.h"
#include "compiler/tune_store.h"

typedef enum hlo_tune_mode {
  HLO_TUNE_OFF,
  HLO_TUNE_CACHE,   // use what the store has
  HLO_TUNE_ON,      // tune what is missing
  HLO_TUNE_EXPECT,  // fail if something is missing
} hlo_tune_mode_t;

/// How the processes of a job exchange records: the key-value store of the job's launcher. Values
/// are set once. Whoever sets the claim of a kernel first times it, the others wait for its record;
/// they time the kernel themselves if the record does not come, or the store fails.
/// owner: lent, as long as the tuner lives. threads: safe
typedef struct hlo_tune_share {
  void* context;
  uint32_t process_index, process_count;
  uint64_t timeout_ns;  // of a wait for another process
  /// errors : ALREADY_EXISTS if another process was first
  hlo_status_t (*set)(void* context, const char* key, const char* value, size_t size_bytes);
  /// Waits for a value. errors : DEADLINE_EXCEEDED
  hlo_status_t (*get)(void* context, const char* key, uint64_t timeout_ns, hlo_strbuf_t* out_value);
} hlo_tune_share_t;

/// Counts the work of a tuner. threads: a copy
typedef struct hlo_tuner_stats {
  uint64_t hits, misses;  // of kernels in the store
  uint64_t tuned;         // kernels that were timed
  uint64_t timed;         // candidates that were timed
  uint64_t failed;        // kernels that could not be tuned
  uint64_t forced;        // kernels with a configuration of tune_force
} hlo_tuner_stats_t;

/// The texts that a tuner writes for people. owner: lent, as long as the tuner lives
typedef struct hlo_tuner_report {
  bool is_dry_run;      // list the candidates; neither time nor keep anything
  bool is_read_only;    // keep nothing in the directory
  bool is_exhaustive;   // time every configuration that is possible, also of kernels in the store
  hlo_strbuf_t* table;  // a paragraph for each kernel
  hlo_strbuf_t* log;    // a line for each candidate
} hlo_tuner_report_t;

/// threads: safe; one program at a time is tuned
typedef struct hlo_tuner hlo_tuner_t;

/// Creates a tuner by the options tune, tune_dir and tune_force; NULL if tune is off and nothing is
/// forced. errors : those of hlo_tune_forces_read()
hlo_status_t hlo_tuner_create(const hlo_config_t* options, const hlo_log_t* log,
                              hlo_tuner_t** out_tuner) HLO_MUST_USE;
void hlo_tuner_release(hlo_tuner_t* tuner);
/// These are called before the first program.
void hlo_tuner_set_report(hlo_tuner_t* tuner, const hlo_tuner_report_t* report);
void hlo_tuner_set_share(hlo_tuner_t* tuner, const hlo_tune_share_t* share);
/// Replaces the functions that time kernels, for tests: `measure` has the form of
/// hlo_tune_measure().
typedef hlo_status_t hlo_tune_measure_t(const hlo_tune_job_t* job, const hlo_tune_limits_t* limits,
                                        uint32_t count, hlo_tune_candidate_t* candidates,
                                        uint32_t* out_winner, uint32_t* out_timed_count);
void hlo_tuner_set_measure(hlo_tuner_t* tuner, hlo_tune_measure_t* measure);

/// Finds configurations for the kernels of a prepared program's entry. The table is in `arena`.
/// errors : NOT_FOUND with tune=expect, naming a kernel that is missing; INVALID_ARGUMENT for a
/// kernel that cannot have the configuration forced on it; RESOURCE_EXHAUSTED
hlo_status_t hlo_tuner_resolve(hlo_tuner_t* tuner, const hlo_module_t* prepared, const char* entry,
                               const hlo_code_options_t* options, hlo_arena_t* arena,
                               hlo_config_table_t* out_table) HLO_MUST_USE;
hlo_tuner_stats_t hlo_tuner_stats(hlo_tuner_t* tuner);
