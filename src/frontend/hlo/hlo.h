// SPDX-License-Identifier: Apache-2.0
// HLO, XLA's own form of programs: text and protos, read and written.
#ifndef HLO_FRONTEND_HLO_HLO_H_
#define HLO_FRONTEND_HLO_HLO_H_

#include "base/diag.h"
#include "ir/module.h"

/// Zero-initialised is the default.
typedef struct hlo_hlo_read_options {
  hlo_elided_t elided;  // of constants whose text leaves the elements out
  bool flat_results;    // refuse a result of the program that is a tuple within a tuple
} hlo_hlo_read_options_t;

/// Reads HLO text into a module (not verified). The first fault goes to `diag` (may be NULL) with
/// its line and column; the status repeats it. Tuples become several values; computations become
/// regions or functions, the entry @main. Memory: at most 16 MiB + 64x the text. `options` may be
/// NULL.
/// errors: INVALID_ARGUMENT, UNIMPLEMENTED (an op or attribute, by name), RESOURCE_EXHAUSTED
hlo_status_t hlo_hlo_text_read(const char* text, size_t length, const char* file,
                               const hlo_hlo_read_options_t* options, hlo_diag_t* diag,
                               hlo_module_t** out_module) HLO_MUST_USE;
/// The same for a serialized HloModuleProto, or an HloProto around one; errors name the byte or the
/// instruction.
hlo_status_t hlo_hlo_proto_read(const void* bytes, size_t size,
                                const hlo_hlo_read_options_t* options,
                                hlo_module_t** out_module) HLO_MUST_USE;

typedef struct hlo_hlo_print_options {
  bool metadata;                 // metadata={op_name="..." source_file="..." source_line=1}
  int64_t elide_literals_above;  // elements; 0: never (what is left out cannot be read back)
} hlo_hlo_print_options_t;

/// Writes a verified module as HLO text, in the style of XLA: regions become computations, several
/// values tuples, values of outer regions operands. Reads back to a module of the same meaning, and
/// that one is written as the same text. `options` may be NULL.
/// errors: UNIMPLEMENTED (an op or type without a form in HLO, by name and place), INVALID_ARGUMENT
/// (no entry function), RESOURCE_EXHAUSTED
hlo_status_t hlo_hlo_text_print(const hlo_module_t* module, const hlo_hlo_print_options_t* options,
                                hlo_strbuf_t* out) HLO_MUST_USE;
/// The same as a serialized HloModuleProto, with metadata; and as an HloModuleProtoWithConfig,
/// which says the numbers of replicas and partitions too.
hlo_status_t hlo_hlo_proto_write(const hlo_module_t* module, hlo_strbuf_t* out) HLO_MUST_USE;
hlo_status_t hlo_hlo_proto_write_with_config(const hlo_module_t* module,
                                             hlo_strbuf_t* out) HLO_MUST_USE;

#endif  // HLO_FRONTEND_HLO_HLO_H_
