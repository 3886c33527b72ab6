// SPDX-License-Identifier: Apache-2.0
// Measures the configurations of one kernel, each in a child process: a crash, an endless loop, a
// wrong result or a write outside of the buffers excludes a configuration, whose kind of fault is
// kept. Results are compared with those of the first one, the model's choice, which stays unless
// another one is faster by a margin.
#pragma once

#include "base/dtype.h"
#include "base/status.h"
#include "codegen/loops/kernel_config.h"

/// How the trial of a configuration ended.
typedef enum hlo_tune_outcome {
  HLO_TUNE_UNTRIED,
  HLO_TUNE_MEASURED,
  HLO_TUNE_REFUSED,    // impossible, not compiled, or the code of another candidate
  HLO_TUNE_CRASHED,    // by a signal
  HLO_TUNE_TIMED_OUT,  // no answer within the limit
  HLO_TUNE_WRONG,      // another result than the model's choice
  HLO_TUNE_GUARD,      // wrote outside of its outputs
  HLO_TUNE_OUTCOMES,
} hlo_tune_outcome_t;

/// Returns "measured", "refused", "crashed", "timed out", "wrong result", "guard violation".
const char* hlo_tune_outcome_name(hlo_tune_outcome_t outcome);

enum { HLO_TUNE_REASON_BYTES = 160 };

/// The memory that compiled code needs besides its buffers.
typedef struct hlo_tune_needs {
  uint64_t scratch_bytes;
  uint32_t spilled_vectors, spilled_words;  // values that had no register
  uint64_t code_hash;                       // equal for equal code; 0: unknown
} hlo_tune_needs_t;

typedef struct hlo_tune_candidate {
  hlo_kernel_config_t config;
  double expected_ns;  // by the model; 0: unknown
  bool is_exact;       // adds up in the order of the first candidate: equal in every bit
  hlo_tune_outcome_t outcome;
  double ns;  // of a run, if it was measured
  hlo_tune_needs_t needs;
  uint32_t cluster;  // of equal results; 0: those of the first candidate
  char reason[HLO_TUNE_REASON_BYTES];
} hlo_tune_candidate_t;

/// An array that the kernel reads or writes.
typedef struct hlo_tune_buffer {
  hlo_dtype_t dtype;
  size_t size_bytes;
  bool is_output;
} hlo_tune_buffer_t;

/// The functions run in a child process.
typedef struct hlo_tune_job {
  void* context;
  uint32_t buffer_count;  // inputs, then outputs, as the kernel gets them
  const hlo_tune_buffer_t* buffers;
  double sum_terms;     // that an output element is the sum of, at most
  bool refuses_spills;  // of more vectors than the first candidate spills
  /// Compiles. errors : those of compilation
  hlo_status_t (*prepare)(void* context, const hlo_kernel_config_t* config, void** out_state,
                          hlo_tune_needs_t* out_needs);
  /// Runs once. addresses: of the buffers. errors : those of the program; OUT_OF_RANGE for writes
  /// outside of memory that the job has of its own
  hlo_status_t (*run)(void* context, void* state, void* const* addresses);
  uint64_t (*now_ns)(void);  // the clock; NULL: CPU time of the thread
} hlo_tune_job_t;

typedef struct hlo_tune_limits {
  uint64_t timeout_ns;  // of compiling and the first run, and of a round
  uint32_t round_count;
  uint64_t round_ns;  // that runs of a round take together at least
  uint64_t seed;      // of the inputs
} hlo_tune_limits_t;

/// Returns the limits of src/base/tuning.def.
hlo_tune_limits_t hlo_tune_default_limits(void);

/// Tries the candidates but for those that are refused already, and sets all but their
/// configurations. The first one is the model's choice, empty. *out_winner is 0 unless another one
/// is faster by the margin; *out_timed_count counts the candidates that were timed.
/// errors : FAILED_PRECONDITION if the first candidate fails, with its reason; RESOURCE_EXHAUSTED
hlo_status_t hlo_tune_measure(const hlo_tune_job_t* job, const hlo_tune_limits_t* limits,
                              uint32_t count, hlo_tune_candidate_t* candidates,
                              uint32_t* out_winner, uint32_t* out_timed_count) HLO_MUST_USE;
