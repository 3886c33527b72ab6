// SPDX-License-Identifier: Apache-2.0
// Dumps of a module during its compilation: which files are written, and their names.
//
//   <module>.<fingerprint>.00.input.mlir, .01.<pass>.mlir ... .final.mlir
//
// The fingerprint of the input keeps modules of the same name apart and makes names stable: the
// same program always gives the same files.
#pragma once

#include "base/observer.h"
#include "ir/module.h"

/// Zero-initialised, it writes nothing.
/// threads: confined
typedef struct hlo_dumper {
  const hlo_observer_t* observer;
  uint32_t position;  // of the next pass, from 1
  bool failed;        // a failure was reported; writes no more
  char prefix[128];   // "<module>.<fingerprint>"
} hlo_dumper_t;

/// Prepares to write dumps. With a NULL observer it writes nothing. `name` is the module's; it may
/// be NULL or have characters that file names cannot have.
void hlo_dumper_init(hlo_dumper_t* dumper, const hlo_observer_t* observer, const char* name,
                     uint64_t fingerprint);
/// Writes the module if the stage is enabled. `dumper` may be NULL.
void hlo_dump_module(hlo_dumper_t* dumper, hlo_dump_stage_t stage, const hlo_module_t* module);
/// Returns true if the stage is enabled; hlo_dump_text() writes text for it as
/// <prefix>.<stage>.txt.
bool hlo_dump_wants(const hlo_dumper_t* dumper, hlo_dump_stage_t stage);
void hlo_dump_text(hlo_dumper_t* dumper, hlo_dump_stage_t stage, const hlo_strbuf_t* text);
/// Call it after each pass, even when stage `passes` is not enabled: it counts the passes.
void hlo_dump_pass(hlo_dumper_t* dumper, const char* pass, const hlo_module_t* module);
