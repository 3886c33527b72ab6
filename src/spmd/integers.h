// SPDX-License-Identifier: Apache-2.0
// Values of integers that depend on constants, the number of the process and a loop's counter.
#pragma once

#include "ir/module.h"

/// The known facts.
typedef struct hlo_integer_env {
  const hlo_value_t* known;  // has known_value; may be NULL
  int64_t known_value;
  bool has_process;
  uint32_t replica, partition;
} hlo_integer_env_t;

/// Computes an integer, a tensor of one element. False if it depends on more than is known.
bool hlo_integer_evaluate(const hlo_integer_env_t* env, const hlo_value_t* value, int64_t* out);
/// Computes a comparison of such integers, or a tensor whose elements all are one. False if it
/// depends on more than is known.
bool hlo_integer_compare(const hlo_integer_env_t* env, const hlo_value_t* value, bool* out);
