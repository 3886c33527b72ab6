// SPDX-License-Identifier: Apache-2.0
// HLO, XLA's own form of programs: readers and writers of text and protos.
#pragma once

#include "base/diag.h"
#include "ir/module.h"

/// Zero-initialised, it has the defaults.
typedef struct hlo_hlo_read_options {
  hlo_elided_t elided;  // for constants whose text omits the elements
  bool flat_results;    // refuse a program result with nested tuples
} hlo_hlo_read_options_t;

/// Reads HLO text into a module without verifying it. The first fault goes to `diag` (may be NULL)
/// with its line and column; the status repeats it. Tuples become several values; computations
/// become regions or functions, the entry @main. Uses at most 16 MiB + 64x the text of memory.
/// `options` may be NULL.
/// errors : INVALID_ARGUMENT, UNIMPLEMENTED (an op or attribute, by name), RESOURCE_EXHAUSTED
hlo_status_t hlo_hlo_text_read(const char* text, size_t length, const char* file,
                               const hlo_hlo_read_options_t* options, hlo_diag_t* diag,
                               hlo_module_t** out_module) HLO_MUST_USE;
/// Reads a serialized HloModuleProto, or an HloProto around one, in the same way; errors name the
/// byte or the instruction.
hlo_status_t hlo_hlo_proto_read(const void* bytes, size_t size,
                                const hlo_hlo_read_options_t* options,
                                hlo_module_t** out_module) HLO_MUST_USE;

typedef struct hlo_hlo_print_options {
  bool metadata;                 // metadata={op_name="..." source_file="..." source_line=1}
  int64_t elide_literals_above;  // elements; 0: never (elided text cannot be read back)
} hlo_hlo_print_options_t;

/// Writes a verified module as HLO text, in the style of XLA: regions become computations, several
/// values tuples, values of outer regions operands. The text reads back to a module of the same
/// meaning, which is written as the same text. `options` may be NULL.
/// errors : UNIMPLEMENTED (an op or type without a form in HLO, by name and location),
/// INVALID_ARGUMENT (no entry function), RESOURCE_EXHAUSTED
hlo_status_t hlo_hlo_text_print(const hlo_module_t* module, const hlo_hlo_print_options_t* options,
                                hlo_strbuf_t* out) HLO_MUST_USE;
/// Write a serialized HloModuleProto with metadata, or an HloModuleProtoWithConfig, which also has
/// the numbers of replicas and partitions.
hlo_status_t hlo_hlo_proto_write(const hlo_module_t* module, hlo_strbuf_t* out) HLO_MUST_USE;
hlo_status_t hlo_hlo_proto_write_with_config(const hlo_module_t* module,
                                             hlo_strbuf_t* out) HLO_MUST_USE;
