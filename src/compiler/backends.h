// SPDX-License-Identifier: Apache-2.0
// The back ends: compiled code, whose programs that it cannot run go to the interpreter with one
// log line, and the interpreter as an entry of program_abi.h.
#pragma once

#include "compiler/compiler.h"

/// Machine code; where this machine has no encoder, as hlo_backend_vir.
extern const hlo_backend_t hlo_backend_native;
/// The same code, interpreted: for tests.
extern const hlo_backend_t hlo_backend_vir;
/// The same with kernels run as Tile IR instead of vector IR: for tests.
extern const hlo_backend_t hlo_backend_tile;
extern const hlo_backend_t hlo_backend_tile_native;
/// The same code as C source, compiled into a shared object by the system's compiler: for
/// processors without an encoder, and for comparison. A compilation fails without a compiler
/// (NOT_FOUND).
extern const hlo_backend_t hlo_backend_c;
/// The interpreter: the back end that runs everything.
extern const hlo_backend_t hlo_backend_interp;
