// SPDX-License-Identifier: Apache-2.0
// Errors of the public API: a status and the location that its message begins with.
#ifndef HLO_CAPI_ERROR_H_
#define HLO_CAPI_ERROR_H_

#include "base/status.h"
#include "hlocc/hlocc.h"

/// Takes `status`; returns NULL for OK only. Without memory a failure is a constant error.
hlocc_error_t* hlocc_error_wrap(hlo_status_t status) HLO_MUST_USE;

#endif  // HLO_CAPI_ERROR_H_
