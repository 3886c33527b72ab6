// SPDX-License-Identifier: Apache-2.0
// Assertions in four grades. Debug builds, which include those of the sanitizers, check all of
// them; release builds (NDEBUG) evaluate HLO_ALWAYS and HLO_NEVER only. User input never reaches an
// assertion: wrong input and exhausted memory are statuses.
//
// source: SQLite's assert, ALWAYS, NEVER and testcase, https://sqlite.org/assert.html
#pragma once

#include <assert.h>
#include <stdbool.h>

/// Asserts a fact that holds unless this library is wrong; `invariant` is the sentence that states
/// it. The condition must have no side effects, because release builds do not evaluate it.
#ifdef NDEBUG
#define HLO_ASSERT(condition, invariant) ((void)sizeof((condition) ? 1 : 0), (void)(invariant))
#else
#define HLO_ASSERT(condition, invariant) assert((condition) && (invariant))
#endif

/// Tests a condition that holds unless this library is wrong. If it is false, a debug build stops
/// and a release build takes the branch that handles the case.
#define HLO_ALWAYS(condition) ((condition) || (assert(!"always " #condition), false))

/// Likewise for a condition that is false unless this library is wrong.
#define HLO_NEVER(condition) ((condition) && (assert(!"never " #condition), true))

/// Marks a boundary case that tests must reach: coverage builds (HLOCC_COVERAGE) record that the
/// branch was taken, other builds have no code for it. The condition must have no side effects.
#ifdef HLO_COVERAGE
#define HLO_REACHED(condition)          \
  do {                                  \
    if (condition) {                    \
      static volatile unsigned reached; \
      reached = 1;                      \
    }                                   \
  } while (0)
#else
#define HLO_REACHED(condition) ((void)sizeof((condition) ? 1 : 0))
#endif
