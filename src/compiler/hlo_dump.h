// SPDX-License-Identifier: Apache-2.0
// Optimised programs as HLO in a folder, where tools for XLA look for them.
#pragma once

#include "compiler/compiler.h"

/// Writes the module that the back end received, if the configuration asks for it, as
/// <module>.<fingerprint>.after_optimizations.txt and .hlo.pb. A failure is a warning.
void hlo_write_hlo_dump(const hlo_executable_t* executable);
