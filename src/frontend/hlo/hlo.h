// SPDX-License-Identifier: Apache-2.0
// HLO, XLA's own form of programs: text and protos in.
#ifndef HLO_FRONTEND_HLO_HLO_H_
#define HLO_FRONTEND_HLO_HLO_H_

#include "base/diag.h"
#include "ir/module.h"

/// Reads HLO text into a module (not verified). The first fault goes to `diag` (may be NULL) with
/// its line and column; the status repeats it. Tuples become several values; computations become
/// regions or functions, the entry @main. Memory: at most 16 MiB + 64x the text. errors:
/// INVALID_ARGUMENT, UNIMPLEMENTED (an op or attribute, by name), RESOURCE_EXHAUSTED
hlo_status_t hlo_hlo_text_read(const char* text, size_t length, const char* file, hlo_diag_t* diag,
                               hlo_module_t** out_module) HLO_MUST_USE;
/// The same for a serialized HloModuleProto, or an HloProto around one; errors name the byte or the
/// instruction.
hlo_status_t hlo_hlo_proto_read(const void* bytes, size_t size,
                                hlo_module_t** out_module) HLO_MUST_USE;

#endif  // HLO_FRONTEND_HLO_HLO_H_
