// SPDX-License-Identifier: Apache-2.0
// Counting loops, for passes that replace an op with a loop.
#pragma once

#include "ir/module.h"

enum { HLO_LOOP_VALUES_MAX = 64 };

/// A `while` under construction that counts from 0 and carries values.
typedef struct hlo_loop {
  hlo_node_t* end;                           // terminator of the body: the body is built before it
  hlo_value_t* number;                       // of the iteration
  hlo_value_t* values[HLO_LOOP_VALUES_MAX];  // as an iteration finds them
  uint32_t value_count;
  hlo_node_t* node;
} hlo_loop_t;

/// Builds a loop of `count` iterations before `insertion_point`, with numbers of the integer type
/// `number`. False if an initial value is NULL, or memory is exhausted, which the module records.
bool hlo_loop_begin(hlo_node_t* insertion_point, const hlo_type_t* number, int64_t count,
                    uint32_t value_count, hlo_value_t* const* initial, hlo_loop_t* out_loop);
/// Makes the loop end before iteration `limit`, a number computed before it.
bool hlo_loop_set_limit(hlo_loop_t* loop, hlo_value_t* limit);
/// Sets the values that an iteration leaves to the next; results[i] is what the last one leaves.
/// False if a value is NULL.
bool hlo_loop_finish(hlo_loop_t* loop, hlo_value_t* const* next, hlo_value_t** results);

/// Returns the scalar integer type that numbers `count` things.
const hlo_type_t* hlo_loop_number(hlo_module_t* module, int64_t count);
/// Returns row `at` of `rows` without the dimension of rows, or puts it there; NULL as for the
/// functions of build.h.
hlo_value_t* hlo_loop_row(hlo_node_t* insertion_point, hlo_value_t* rows, hlo_value_t* at);
hlo_value_t* hlo_loop_set_row(hlo_node_t* insertion_point, hlo_value_t* rows, hlo_value_t* row,
                              hlo_value_t* at);
