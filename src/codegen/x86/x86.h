// SPDX-License-Identifier: Apache-2.0
// x86-64 machine code from vector IR: instruction selection, linear-scan registers, encoding.
#pragma once

#include "codegen/object/isa.h"

/// The instruction set, for isa/isa.h.
extern const hlo_code_isa_t hlo_x86_isa;
