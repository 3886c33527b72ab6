// SPDX-License-Identifier: Apache-2.0
// Tensors from and to the outside of the tool: --input values, NumPy files, printed results.
#ifndef HLO_CLI_VALUE_H_
#define HLO_CLI_VALUE_H_

#include "base/strbuf.h"
#include "interp/eval.h"

/// The value of one --input: "2x3xf32=1,2,3,4,5,6", "4xf32=0" (one value for all),
/// "8xf32=random", "random" or "@file.npy". `type`: the argument's. `random_state` moves on.
/// errors: INVALID_ARGUMENT saying what is wrong with the text, or that it is no value of `type`;
/// errors of files
hlo_status_t hlo_cli_value_read(const char* text, const hlo_type_t* type, uint64_t* random_state,
                                hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// Random elements: floats in [-1, 1), integers in 0..9, any predicate. A token for a token type.
/// errors: INVALID_ARGUMENT for a type without a static shape
hlo_status_t hlo_cli_value_random(const hlo_type_t* type, uint64_t* random_state,
                                  hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// Appends "dense<[1.0, 2.0]> : tensor<2xf32>", or "token".
hlo_status_t hlo_cli_value_print(const hlo_tensor_t* tensor, hlo_strbuf_t* out) HLO_MUST_USE;
/// A result as a line: "result 0 = dense<...", and of several processes "process 1: " before it.
/// tensor: NULL: a token
hlo_status_t hlo_cli_result_print(const hlo_tensor_t* tensor, uint32_t process_count,
                                  uint32_t process, uint32_t number,
                                  hlo_strbuf_t* out) HLO_MUST_USE;

/// NumPy's .npy, versions 1 to 3, row- or column-major, little-endian. A file of void elements (as
/// NumPy writes bfloat16 and its kin) takes the type `wanted` (INVALID: refused).
/// errors: INVALID_ARGUMENT naming the path and the fault; errors of files
hlo_status_t hlo_npy_read(const char* path, hlo_dtype_t wanted,
                          hlo_tensor_t** out_tensor) HLO_MUST_USE;
hlo_status_t hlo_npy_write(const char* path, const hlo_tensor_t* tensor) HLO_MUST_USE;

#endif  // HLO_CLI_VALUE_H_
