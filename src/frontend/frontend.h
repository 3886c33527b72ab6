// SPDX-License-Identifier: Apache-2.0
// Programs in any serialized form to modules: looks at the first bytes and calls the right reader.
#ifndef HLO_FRONTEND_FRONTEND_H_
#define HLO_FRONTEND_FRONTEND_H_

#include "base/diag.h"
#include "ir/module.h"

typedef enum hlo_format {
  HLO_FORMAT_UNKNOWN,
  HLO_FORMAT_MLIR_BYTECODE,
  HLO_FORMAT_MLIR_TEXT,
  HLO_FORMAT_HLO_TEXT,
  HLO_FORMAT_HLO_PROTO,
} hlo_format_t;

/// Zero-initialised is the default.
typedef struct hlo_frontend_options {
  hlo_format_t format;           // UNKNOWN: found by looking
  hlo_elided_t elided;           // of constants whose text leaves the elements out; these
                                 // are not bounded by the size of the text
  bool flat_results;             // refuse HLO whose result is a tuple within a tuple; else the
                                 // elements of all tuples are results one after the other
  hlo_literal_keeper_t* keeper;  // keeps `bytes` alive for constants that point into them; NULL:
                                 // constants are copied
} hlo_frontend_options_t;

hlo_format_t hlo_frontend_sniff(const void* bytes, size_t size);
/// "MLIR bytecode" and so on.
const char* hlo_format_name(hlo_format_t format);

/// Loads a module (not verified). Faults go to `diag` (may be NULL) with their place; the status
/// says the first one. `file_name` (may be NULL) is for messages. Memory: at most 16 MiB + 64x
/// `size`. errors : INVALID_ARGUMENT (malformed input), UNIMPLEMENTED (op, version or format, by
/// name),
///          RESOURCE_EXHAUSTED
/// owner  : caller owns the module; `bytes` are lent, for longer only through `options->keeper`
/// threads: safe (pure)
hlo_status_t hlo_frontend_load(const void* bytes, size_t size, const char* file_name,
                               const hlo_frontend_options_t* options, hlo_diag_t* diag,
                               hlo_module_t** out_module) HLO_MUST_USE;

#endif  // HLO_FRONTEND_FRONTEND_H_
