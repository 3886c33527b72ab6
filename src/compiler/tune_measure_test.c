// SPDX-License-Identifier: Apache-2.0
// Trials of injected configurations: one that is fast but wrong, one that writes past the end, one
// that never ends, one that crashes. The clock is the job's own, so that times are exact.
#include "compiler/tune_measure.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/test_util.h"

enum { ELEMENTS = 100, BYTES = ELEMENTS * sizeof(float) };

/// The behaviour of a configuration, by its number of rows; 0 is the model's choice.
enum {
  MODEL,
  FASTER,
  FAST_BUT_WRONG,
  PAST_THE_END,
  ENDLESS,
  CRASHING,
  WRITING_INPUT,
  REFUSED,
  SMALLER,
  LITTLE_FASTER,
  OTHER_ORDER,
  LATER_ENDLESS,
  BEFORE_THE_START,
  SPILLING,
  SAME_CODE,
  LAZY,
};

static uint64_t clock_ns;
static uint32_t run_count;

static uint64_t read_clock(void) {
  return clock_ns;
}

static hlo_status_t prepare(void* context, const hlo_kernel_config_t* config, void** out_state,
                            hlo_tune_needs_t* out_needs) {
  (void)context;
  const int64_t kind = config->values[HLO_CHOICE_rows];
  if (kind == REFUSED) return hlo_invalid_argument("it cannot be");
  *out_state = (void*)(intptr_t)kind;
  out_needs->scratch_bytes = kind == SMALLER ? 0 : 1000;
  out_needs->spilled_vectors = kind == SPILLING ? 3 : 1;
  out_needs->code_hash = kind == LAZY ? 0 : kind == SAME_CODE ? FASTER + 1 : (uint64_t)kind + 1;
  return hlo_ok();
}

static void sleep_for_ever(void) {
  for (;;) pause();
}

static hlo_status_t run(void* context, void* state, void* const* addresses) {
  static const uint64_t times[] = {
      [MODEL] = 1000,        [FASTER] = 600,          [FAST_BUT_WRONG] = 10, [PAST_THE_END] = 20,
      [WRITING_INPUT] = 30,  [SMALLER] = 605,         [LITTLE_FASTER] = 990, [OTHER_ORDER] = 800,
      [LATER_ENDLESS] = 100, [BEFORE_THE_START] = 40, [SPILLING] = 500};
  const intptr_t kind = (intptr_t)state;
  float *in = addresses[0], *out = addresses[1];
  (void)context;
  ++run_count;
  if (kind == ENDLESS || (kind == LATER_ENDLESS && run_count > 1)) sleep_for_ever();
  if (kind == CRASHING) raise(SIGSEGV);
  if (kind == LAZY) return hlo_ok();
  for (int i = 0; i < ELEMENTS; ++i) out[i] = in[i] * 2;
  if (kind == FAST_BUT_WRONG) out[ELEMENTS - 1] += 0.5f;
  if (kind == OTHER_ORDER) out[0] *= 1 + 1e-7f;
  if (kind == PAST_THE_END) ((uint8_t*)out)[BYTES] = 1;
  if (kind == BEFORE_THE_START) ((uint8_t*)out)[-1] = 1;
  if (kind == WRITING_INPUT) in[3] = 0;
  clock_ns += times[kind];
  return hlo_ok();
}

static const hlo_tune_buffer_t kBuffers[] = {{HLO_DTYPE_F32, BYTES, false},
                                             {HLO_DTYPE_F32, BYTES, true}};
static const hlo_tune_job_t kJob = {.buffer_count = 2,
                                    .buffers = kBuffers,
                                    .sum_terms = 10,
                                    .prepare = prepare,
                                    .run = run,
                                    .now_ns = read_clock};
static const hlo_tune_limits_t kLimits = {
    .timeout_ns = 100000000, .round_count = 4, .round_ns = 1, .seed = 1};

// Measures configurations of these kinds; the first is the model's choice.
static uint32_t measure(uint32_t count, const int* kinds, hlo_tune_candidate_t* candidates) {
  uint32_t winner = 99, timed = 0;
  for (uint32_t i = 0; i < count; ++i) {
    candidates[i] = (hlo_tune_candidate_t){.is_exact = kinds[i] != OTHER_ORDER};
    candidates[i].config.values[HLO_CHOICE_rows] = kinds[i];
  }
  hlo_test_check(hlo_tune_measure(&kJob, &kLimits, count, candidates, &winner, &timed));
  return winner;
}

static void test_faults(void** unused) {
  (void)unused;
  enum { COUNT = 9 };
  static const int kinds[COUNT] = {MODEL,   FAST_BUT_WRONG, PAST_THE_END,
                                   ENDLESS, CRASHING,       WRITING_INPUT,
                                   REFUSED, LATER_ENDLESS,  BEFORE_THE_START};
  static const hlo_tune_outcome_t outcomes[COUNT] = {
      HLO_TUNE_MEASURED, HLO_TUNE_WRONG,   HLO_TUNE_GUARD,     HLO_TUNE_TIMED_OUT, HLO_TUNE_CRASHED,
      HLO_TUNE_GUARD,    HLO_TUNE_REFUSED, HLO_TUNE_TIMED_OUT, HLO_TUNE_GUARD};
  hlo_tune_candidate_t candidates[COUNT];
  assert_int_equal(measure(COUNT, kinds, candidates), 0);
  for (uint32_t i = 0; i < COUNT; ++i) {
    if (candidates[i].outcome != outcomes[i]) {
      fail_msg("candidate %u: %s (%s)", i, hlo_tune_outcome_name(candidates[i].outcome),
               candidates[i].reason);
    }
  }
  assert_string_equal(candidates[2].reason, "wrote beside array 1");
  assert_string_equal(candidates[4].reason, "signal 11");
  assert_string_equal(candidates[5].reason, "wrote to an input");
  assert_string_equal(candidates[6].reason, "it cannot be");
  assert_int_equal(candidates[1].cluster, 1);
}

static void test_winner(void** unused) {
  (void)unused;
  hlo_tune_candidate_t c[4];
  static const int faster[] = {MODEL, OTHER_ORDER, FASTER, FAST_BUT_WRONG};
  assert_int_equal(measure(4, faster, c), 2);
  assert_true(c[0].ns == 1000 && c[1].ns == 800 && c[2].ns == 600);
  assert_int_equal(c[1].outcome, HLO_TUNE_MEASURED);  // within the bound of sums
  static const int smaller[] = {MODEL, FASTER, SMALLER};
  assert_int_equal(measure(3, smaller, c), 2);  // as fast but for a percent, with less memory
  static const int same[] = {MODEL, FASTER, SAME_CODE};
  assert_int_equal(measure(3, same, c), 1);
  assert_int_equal(c[2].outcome, HLO_TUNE_REFUSED);
  assert_string_equal(c[2].reason, "has the code of candidate 1");
  static const int little[] = {MODEL, LITTLE_FASTER};
  assert_int_equal(measure(2, little, c), 0);  // less than the margin
}

// A candidate that writes nothing does not pass for what the one before it wrote. Wrong results
// that are equal are one cluster.
static void test_clusters(void** unused) {
  (void)unused;
  enum { COUNT = 6 };
  hlo_tune_candidate_t c[COUNT];
  static const int kinds[COUNT] = {MODEL, FASTER, LAZY, FAST_BUT_WRONG, LAZY, OTHER_ORDER};
  static const uint32_t clusters[COUNT] = {0, 0, 1, 2, 1, 0};
  assert_int_equal(measure(COUNT, kinds, c), 1);
  for (uint32_t i = 0; i < COUNT; ++i) {
    assert_int_equal(c[i].cluster, clusters[i]);
    assert_int_equal(c[i].outcome, clusters[i] ? HLO_TUNE_WRONG : HLO_TUNE_MEASURED);
  }
}

// Results of configurations that promise the same order of sums are equal in every bit.
static void test_exact(void** unused) {
  (void)unused;
  hlo_tune_candidate_t c[2] = {{.is_exact = true}, {.is_exact = true}};
  c[1].config.values[HLO_CHOICE_rows] = OTHER_ORDER;
  uint32_t winner, timed;
  hlo_test_check(hlo_tune_measure(&kJob, &kLimits, 2, c, &winner, &timed));
  assert_int_equal(c[1].outcome, HLO_TUNE_WRONG);
}

// Products refuse what spills more vectors than the model's choice; loops do not.
static void test_spills(void** unused) {
  (void)unused;
  hlo_tune_candidate_t c[2] = {{.is_exact = true}, {.is_exact = true}};
  c[1].config.values[HLO_CHOICE_rows] = SPILLING;
  uint32_t winner, timed;
  hlo_test_check(hlo_tune_measure(&kJob, &kLimits, 2, c, &winner, &timed));
  assert_int_equal(winner, 1);
  assert_true(c[0].needs.spilled_vectors == 1 && c[1].needs.spilled_vectors == 3);
  hlo_tune_job_t product = kJob;
  product.refuses_spills = true;
  hlo_test_check(hlo_tune_measure(&product, &kLimits, 2, c, &winner, &timed));
  assert_int_equal(winner, 0);
  assert_int_equal(c[1].outcome, HLO_TUNE_REFUSED);
  assert_string_equal(c[1].reason, "spills 3 vectors, the model's choice 1");
}

static void test_model_fails(void** unused) {
  (void)unused;
  hlo_tune_candidate_t c[2] = {{.is_exact = true}, {.is_exact = true}};
  c[0].config.values[HLO_CHOICE_rows] = CRASHING;
  uint32_t winner, timed;
  const hlo_status_t status = hlo_tune_measure(&kJob, &kLimits, 2, c, &winner, &timed);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_FAILED_PRECONDITION);
  assert_non_null(strstr(hlo_status_message(status), "crashed: signal 11"));
  hlo_status_release(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_faults),   cmocka_unit_test(test_winner),
      cmocka_unit_test(test_clusters), cmocka_unit_test(test_exact),
      cmocka_unit_test(test_spills),   cmocka_unit_test(test_model_fails)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
