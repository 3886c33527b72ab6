// SPDX-License-Identifier: Apache-2.0
// Lists of collectives in options: names of operations without their dialect (all_reduce),
// separated by commas, or all; NULL or empty: none.
#pragma once

#include "base/status.h"
#include "ir/ops.h"

bool hlo_op_list_has(const char* list, hlo_op_t op);
/// errors: INVALID_ARGUMENT (names that are no collectives)
hlo_status_t hlo_op_list_check(const char* option, const char* list) HLO_MUST_USE;
