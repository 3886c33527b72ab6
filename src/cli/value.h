// SPDX-License-Identifier: Apache-2.0
// Tensors at the boundary of the tool: --input values, NumPy files, printed results.
#pragma once

#include "base/strbuf.h"
#include "interp/eval.h"

/// Parses the value of one --input: "2x3xf32=1,2,3,4,5,6", "4xf32=0" (one value for all),
/// "8xf32=random", "random" or "@file.npy". type: that of the argument. random_state is advanced.
/// errors: INVALID_ARGUMENT for a malformed value or one of another type; those of files
hlo_status_t hlo_cli_value_read(const char* text, const hlo_type_t* type, uint64_t* random_state,
                                hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// Creates random elements: floats in [-1, 1), integers in 0..9, any predicate. A token for a token
/// type.
/// errors: INVALID_ARGUMENT for a type without a static shape
hlo_status_t hlo_cli_value_random(const hlo_type_t* type, uint64_t* random_state,
                                  hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// Appends "dense<[1.0, 2.0]> : tensor<2xf32>", or "token".
hlo_status_t hlo_cli_value_print(const hlo_tensor_t* tensor, hlo_strbuf_t* out) HLO_MUST_USE;
/// Prints a result as a line: "result 0 = dense<...", after "process 1: " if there are several
/// processes. tensor NULL: a token
hlo_status_t hlo_cli_result_print(const hlo_tensor_t* tensor, uint32_t process_count,
                                  uint32_t process, uint32_t number,
                                  hlo_strbuf_t* out) HLO_MUST_USE;

/// Reads NumPy's .npy, versions 1 to 3, row- or column-major, little-endian. A file of void
/// elements (NumPy's form of bfloat16 and similar types) gets the type `wanted` (INVALID: refused).
/// errors: INVALID_ARGUMENT naming the path and the fault; those of files
hlo_status_t hlo_npy_read(const char* path, hlo_dtype_t wanted,
                          hlo_tensor_t** out_tensor) HLO_MUST_USE;
hlo_status_t hlo_npy_write(const char* path, const hlo_tensor_t* tensor) HLO_MUST_USE;
