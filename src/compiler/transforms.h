// SPDX-License-Identifier: Apache-2.0
// Functions of the application that rewrite programs, which they read and return as HLO protos.
#pragma once

#include "compiler/compiler.h"

/// The functions of whoever knows the application. threads: safe
typedef struct hlo_transforms {
  void* context;
  /// Returns true if the application rewrites programs.
  bool (*is_any)(void* context);
  /// Appends the rewritten program to `out`, nothing if it stays as it is; `proto` is a serialized
  /// HloModuleProto. errors : those of the application
  hlo_status_t (*apply)(void* context, const hlo_strbuf_t* proto, hlo_strbuf_t* out);
} hlo_transforms_t;

/// Lets config->transforms rewrite the optimised module of an executable. A program that they
/// change replaces the module, optimised again, and is kept as source: where the executable is
/// loaded, nobody may know them.
/// errors : those of the application, UNIMPLEMENTED (the program has no form in HLO),
/// INVALID_ARGUMENT (the new program is malformed, or has other arguments or results)
hlo_status_t hlo_transforms_run(hlo_executable_t* executable, hlo_dumper_t* dumper) HLO_MUST_USE;
