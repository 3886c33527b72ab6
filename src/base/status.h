// SPDX-License-Identifier: Apache-2.0
// One-word status values: zero is OK, otherwise a code (numerically PJRT's) with an owned message.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HLO_MUST_USE __attribute__((warn_unused_result))
/// Marks a parameter that the form of a function has, but this one does not need.
#define HLO_UNUSED __attribute__((unused))
#define HLO_PRINTF(format_index, first_index) \
  __attribute__((format(printf, format_index, first_index)))
/// Of functions that only failures call: compilers move the code that leads to a call away from the
/// code of other runs, which then needs less of the instruction cache.
#define HLO_COLD __attribute__((cold))
#define HLO_LIKELY(x) __builtin_expect(!!(x), 1)
#define HLO_UNLIKELY(x) __builtin_expect(!!(x), 0)

/// Codes equal PJRT_Error_Code (and absl's canonical codes).
typedef enum hlo_status_code {
  HLO_STATUS_OK = 0,
  HLO_STATUS_CANCELLED = 1,
  HLO_STATUS_UNKNOWN = 2,
  HLO_STATUS_INVALID_ARGUMENT = 3,
  HLO_STATUS_DEADLINE_EXCEEDED = 4,
  HLO_STATUS_NOT_FOUND = 5,
  HLO_STATUS_ALREADY_EXISTS = 6,
  HLO_STATUS_PERMISSION_DENIED = 7,
  HLO_STATUS_RESOURCE_EXHAUSTED = 8,
  HLO_STATUS_FAILED_PRECONDITION = 9,
  HLO_STATUS_ABORTED = 10,
  HLO_STATUS_OUT_OF_RANGE = 11,
  HLO_STATUS_UNIMPLEMENTED = 12,
  HLO_STATUS_INTERNAL = 13,
  HLO_STATUS_UNAVAILABLE = 14,
  HLO_STATUS_DATA_LOSS = 15,
  HLO_STATUS_UNAUTHENTICATED = 16,
} hlo_status_code_t;

struct hlo_status_payload;

/// NULL is OK. Otherwise a tagged word: the low 5 bits hold the code, the rest points at an owned
/// payload (message), or is zero when even the payload could not be allocated.
/// owner  : whoever holds the value; pass it on or hlo_status_release() it, exactly once.
/// threads: immutable after creation but for hlo_status_annotate() by the owner.
typedef struct hlo_status_payload* hlo_status_t;

/// The OK value.
static inline hlo_status_t hlo_ok(void) {
  return NULL;
}

static inline bool hlo_status_is_ok(hlo_status_t status) {
  return HLO_LIKELY(status == NULL);
}

static inline hlo_status_code_t hlo_status_code(hlo_status_t status) {
  return (hlo_status_code_t)((uintptr_t)status & 31u);
}

/// Creates a failed status; the message says what was found, what was expected, and where.
hlo_status_t hlo_status_create(hlo_status_code_t code, const char* format, ...)
    HLO_PRINTF(2, 3) HLO_MUST_USE HLO_COLD;
hlo_status_t hlo_status_createv(hlo_status_code_t code, const char* format,
                                va_list args) HLO_MUST_USE HLO_COLD;
/// The same for the codes that are created most, named after them as in absl.
#define hlo_invalid_argument(...) hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, __VA_ARGS__)
#define hlo_not_found(...) hlo_status_create(HLO_STATUS_NOT_FOUND, __VA_ARGS__)
#define hlo_resource_exhausted(...) hlo_status_create(HLO_STATUS_RESOURCE_EXHAUSTED, __VA_ARGS__)
#define hlo_failed_precondition(...) hlo_status_create(HLO_STATUS_FAILED_PRECONDITION, __VA_ARGS__)
#define hlo_unimplemented(...) hlo_status_create(HLO_STATUS_UNIMPLEMENTED, __VA_ARGS__)
#define hlo_internal_error(...) hlo_status_create(HLO_STATUS_INTERNAL, __VA_ARGS__)

/// Prepends one line of context to the message of a failed status (OK is returned unchanged).
hlo_status_t hlo_status_annotate(hlo_status_t status, const char* format, ...)
    HLO_PRINTF(2, 3) HLO_MUST_USE HLO_COLD;

/// Returns the message, lent until the status is released; "" for OK, the code's name without a
/// payload.
const char* hlo_status_message(hlo_status_t status);

/// Returns a second, independent owner of the same error (shares the payload by reference count).
hlo_status_t hlo_status_clone(hlo_status_t status) HLO_MUST_USE;

/// Keeps the first failed status: moves `next` to `*first` if that is OK, else releases `next`.
void hlo_status_keep_first(hlo_status_t* first, hlo_status_t next);

/// Releases the value; OK is fine.
void hlo_status_release(hlo_status_t status);

/// Releases the value and returns true if it was OK: for a failure whose reason nobody needs.
HLO_MUST_USE static inline bool hlo_status_take_ok(hlo_status_t status) {
  const bool is_ok = hlo_status_is_ok(status);
  hlo_status_release(status);
  return is_ok;
}

/// Returns "INVALID_ARGUMENT" and so on.
const char* hlo_status_code_name(hlo_status_code_t code);

/// Returns RESOURCE_EXHAUSTED for a failed host allocation of `size_bytes`.
hlo_status_t hlo_status_out_of_memory(size_t size_bytes) HLO_MUST_USE HLO_COLD;

/// Returns early with the failed status of `expr`.
#define HLO_TRY(expr)                                               \
  do {                                                              \
    hlo_status_t hlo_try_status_ = (expr);                          \
    if (!hlo_status_is_ok(hlo_try_status_)) return hlo_try_status_; \
  } while (0)

/// Like HLO_TRY, with a line of context.
#define HLO_TRY_MSG(expr, ...)                                  \
  do {                                                          \
    hlo_status_t hlo_try_status_ = (expr);                      \
    if (!hlo_status_is_ok(hlo_try_status_))                     \
      return hlo_status_annotate(hlo_try_status_, __VA_ARGS__); \
  } while (0)
