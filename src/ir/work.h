// SPDX-License-Identifier: Apache-2.0
// The work of ops, counted from their shapes: one place that knows how much a product, a window or
// a sort does. Callers weigh it by costs for each class: those of traits.def or of a machine.
// Unknown shapes count as empty.
#pragma once

#include "ir/module.h"

/// Returns how often a node does what its cost class (traits.def) says: once for each element of
/// the result, for each element that a reduction reads, for each element of each window, for each
/// multiplication of a product or convolution, for each update of a scatter; n log n times to sort
/// or transform n elements.
double hlo_node_work(const hlo_node_t* node);

/// Returns the elements of a tensor; 0 for other types.
double hlo_type_work_elements(const hlo_type_t* type);
/// Returns the bytes of a tensor; 0 for other types.
double hlo_type_work_bytes(const hlo_type_t* type);
/// Returns the bytes of a node's operands and results, as far as it reads and writes them.
double hlo_node_work_bytes(const hlo_node_t* node);

/// The cost of running ops, counted from their shapes, not measured.
typedef struct hlo_cost {
  double flops, transcendentals, bytes_accessed;
} hlo_cost_t;

/// Adds the cost of a node, without those of its regions; control flow and terminators have none.
void hlo_node_cost_add(const hlo_node_t* node, hlo_cost_t* cost);
