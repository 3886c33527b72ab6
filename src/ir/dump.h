// SPDX-License-Identifier: Apache-2.0
// Dumps of one module on its way through the compiler: which files, and what they are called.
//
//   <module>.<fingerprint>.00.input.mlir, .01.<pass>.mlir ... .final.mlir
//
// The fingerprint of what is compiled keeps modules of one name apart, and makes names stable: the
// same program gives the same files again.
#ifndef HLO_IR_DUMP_H_
#define HLO_IR_DUMP_H_

#include "base/observer.h"
#include "ir/module.h"

/// Zero-initialised: writes nothing. threads: confined.
typedef struct hlo_dumper {
  const hlo_observer_t* observer;
  uint32_t position;  // of the next pass, from 1
  bool failed;        // said so once, and writes no more
  char prefix[128];   // "<module>.<fingerprint>"
} hlo_dumper_t;

/// observer NULL: writes nothing. name: of the module; NULL or odd letters are fine.
void hlo_dumper_init(hlo_dumper_t* dumper, const hlo_observer_t* observer, const char* name,
                     uint64_t fingerprint);
/// Writes the module if the stage is wanted. dumper NULL: nothing.
void hlo_dump_module(hlo_dumper_t* dumper, hlo_dump_stage_t stage, const hlo_module_t* module);
/// Whether text for the stage is wanted; and writes it as <prefix>.<stage>.txt.
bool hlo_dump_wants(const hlo_dumper_t* dumper, hlo_dump_stage_t stage);
void hlo_dump_text(hlo_dumper_t* dumper, hlo_dump_stage_t stage, const hlo_strbuf_t* text);
/// After each pass, also when stage `passes` is not wanted: they are counted.
void hlo_dump_pass(hlo_dumper_t* dumper, const char* pass, const hlo_module_t* module);

#endif  // HLO_IR_DUMP_H_
