// SPDX-License-Identifier: Apache-2.0
// The CustomPartitioner extension: functions of the application that partition custom calls. All of
// them belong to the process.
#pragma once

#include "ir/custom_partitioner.h"

/// The registered partitioners, for compilations.
/// threads: safe
const hlo_custom_partitioner_t* hlo_pjrt_custom_partitioners(void);
