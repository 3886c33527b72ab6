// SPDX-License-Identifier: Apache-2.0
// Static forms of ops with computed shapes, for shapes that have become known.
#pragma once

#include "passes/passes.h"
#include "passes/splice.h"

/// Builds the static form of `node` before it, an op with its shape or amounts as attributes, and
/// returns its value. NULL: the op has no static form, its shape is not constant or does not fit
/// (the node reports that at run time), or memory is exhausted, which the module records.
hlo_value_t* hlo_static_form(hlo_node_t* node);

/// Does the same for custom calls that represent such ops, result by result.
hlo_node_t* hlo_static_call(hlo_node_t* node, hlo_splicer_t* splicer);

enum { HLO_INTEGERS_MAX = 2 * HLO_RANK_MAX };
typedef struct hlo_integers {
  uint32_t count;
  int64_t values[HLO_INTEGERS_MAX];
} hlo_integers_t;
/// Reads the elements of an integer constant, in order; false: not such a constant, or too many
/// elements.
bool hlo_read_integers(const hlo_value_t* value, hlo_integers_t* out);

/// Returns true if any value in the module has a dynamic shape.
bool hlo_module_has_dynamic_shapes(hlo_module_t* module);
