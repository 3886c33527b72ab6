// SPDX-License-Identifier: Apache-2.0
// Diagnostics: every fault of an input with file:line:col, collected in a sink besides the status.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/strbuf.h"

/// Collects diagnostics as text. The first one becomes the status.
/// owner: whoever declared it; hlo_diag_deinit(). threads: confined.
typedef struct hlo_diag {
  const char* file;    // shown before line:col; NULL: "<input>"
  const char* source;  // text of the input for the caret line, or NULL (binary input)
  size_t source_length;
  uint32_t error_count;
  uint32_t error_limit;  // later errors are counted, not stored; 0: 20
  hlo_strbuf_t text;     // all stored diagnostics, one or more lines each
  char first[512];       // the first error, one line
} hlo_diag_t;

void hlo_diag_init(hlo_diag_t* diag, const char* file, const char* source, size_t source_length);
void hlo_diag_deinit(hlo_diag_t* diag);

/// Adds "file:line:col: error: message" with the source line and a caret. line and col are 1-based;
/// line 0 means that the location is unknown.
void hlo_diag_error(hlo_diag_t* diag, uint32_t line, uint32_t col, const char* format, ...)
    HLO_PRINTF(4, 5) HLO_COLD;
/// Adds an error with a formatted location ("model.py:3:1"); NULL or "": no location.
void hlo_diag_error_at(hlo_diag_t* diag, const char* place, const char* format, ...)
    HLO_PRINTF(3, 4) HLO_COLD;
/// Returns INVALID_ARGUMENT with all stored diagnostics if there are errors, else OK.
hlo_status_t hlo_diag_status(const hlo_diag_t* diag) HLO_MUST_USE;
