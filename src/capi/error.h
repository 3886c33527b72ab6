// SPDX-License-Identifier: Apache-2.0
// Errors of the public API: a status and the place that its message begins with.
#ifndef HLO_CAPI_ERROR_H_
#define HLO_CAPI_ERROR_H_

#include "base/status.h"
#include "hlocc/hlocc.h"

/// Takes `status`; NULL for OK. Never NULL for a failure: without memory it is a constant one.
hlocc_error_t* hlocc_error_wrap(hlo_status_t status) HLO_MUST_USE;

#endif  // HLO_CAPI_ERROR_H_
