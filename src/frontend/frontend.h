// SPDX-License-Identifier: Apache-2.0
// Readers of programs in all serialized forms: detects the format by the first bytes and calls its
// reader.
#pragma once

#include "base/diag.h"
#include "ir/module.h"

typedef enum hlo_format {
  HLO_FORMAT_UNKNOWN,
  HLO_FORMAT_MLIR_BYTECODE,
  HLO_FORMAT_MLIR_TEXT,
  HLO_FORMAT_HLO_TEXT,
  HLO_FORMAT_HLO_PROTO,
} hlo_format_t;

/// Zero-initialised, it has the defaults.
typedef struct hlo_frontend_options {
  hlo_format_t format;           // UNKNOWN: detected
  hlo_elided_t elided;           // for constants whose text omits the elements; their memory is not
                                 // bounded by the size of the text
  bool flat_results;             // refuse HLO whose result has nested tuples; otherwise the
                                 // elements of all tuples become consecutive results
  hlo_literal_keeper_t* keeper;  // keeps `bytes` alive for constants that point into them; NULL:
                                 // constants are copied
} hlo_frontend_options_t;

hlo_format_t hlo_frontend_sniff(const void* bytes, size_t size);
/// Returns "MLIR bytecode" and so on.
const char* hlo_format_name(hlo_format_t format);

/// Loads a module without verifying it. Faults go to `diag` (may be NULL) with their location; the
/// status reports the first one. `file_name` (may be NULL) is for messages. Uses at most 16 MiB +
/// 64x `size` of memory.
/// errors : INVALID_ARGUMENT (malformed input), UNIMPLEMENTED (op, version or format, by name),
/// RESOURCE_EXHAUSTED
/// owner  : the caller owns the module; `bytes` are borrowed, after the call only through
/// `options->keeper`
hlo_status_t hlo_frontend_load(const void* bytes, size_t size, const char* file_name,
                               const hlo_frontend_options_t* options, hlo_diag_t* diag,
                               hlo_module_t** out_module) HLO_MUST_USE;
