// SPDX-License-Identifier: Apache-2.0
// Loops of the sorts for any machine.
#define LOOPS hlo_sort_loops_generic
#include "lib/sort_loops.inl"
