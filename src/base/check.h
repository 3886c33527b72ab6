// SPDX-License-Identifier: Apache-2.0
// Assertions in four grades. Debug builds, those of the sanitizers among them, have them on; release
// builds (NDEBUG) evaluate HLO_ALWAYS and HLO_NEVER only. User input never reaches an assertion:
// input that is wrong is a status, and so is memory that runs out.
//
// source: SQLite's assert, ALWAYS, NEVER and testcase, https://sqlite.org/assert.html
#ifndef HLO_BASE_CHECK_H_
#define HLO_BASE_CHECK_H_

#include <assert.h>
#include <stdbool.h>

/// A fact that holds unless this library is wrong; `invariant` is the sentence that states it. The
/// condition has no side effects: a release build does not evaluate it.
#ifdef NDEBUG
#define HLO_ASSERT(condition, invariant) ((void)sizeof((condition) ? 1 : 0), (void)(invariant))
#else
#define HLO_ASSERT(condition, invariant) assert((condition) && (invariant))
#endif

/// The condition of a branch that handles what should not be there: true unless this library is
/// wrong. A debug build stops where it is false, a release build takes the other branch.
#define HLO_ALWAYS(condition) ((condition) || (assert(!"always " #condition), false))

/// Likewise a condition that is false unless this library is wrong.
#define HLO_NEVER(condition) ((condition) && (assert(!"never " #condition), true))

/// Marks a boundary case that tests have to reach: coverage builds (HLOCC_COVERAGE) show whether the
/// branch was taken, other builds have no code for it. The condition has no side effects.
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

#endif  // HLO_BASE_CHECK_H_
