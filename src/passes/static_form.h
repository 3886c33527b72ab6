// SPDX-License-Identifier: Apache-2.0
// What ops of computed shapes are when the shapes are known.
#ifndef HLO_PASSES_STATIC_FORM_H_
#define HLO_PASSES_STATIC_FORM_H_

#include "passes/passes.h"
#include "passes/splice.h"

/// The value that the result of `node` can be replaced by, made before it: of the op of the same
/// name that takes its shape or amounts as attributes. NULL: there is none, they are not constant,
/// they do not fit (the node says so when it runs), or memory is out, which the module says.
hlo_value_t* hlo_static_form(hlo_node_t* node);

/// The same for custom calls that stand for such ops, result by result.
hlo_node_t* hlo_static_call(hlo_node_t* node, hlo_splicer_t* splicer);

enum { HLO_INTEGERS_MAX = 2 * HLO_RANK_MAX };
typedef struct hlo_integers {
  uint32_t count;
  int64_t values[HLO_INTEGERS_MAX];
} hlo_integers_t;
/// The elements of a constant of integers, in order; false: it is none, or there are too many.
bool hlo_read_integers(const hlo_value_t* value, hlo_integers_t* out);

/// Whether any value that an op makes has a shape that only running tells.
bool hlo_module_has_dynamic_shapes(hlo_module_t* module);

#endif  // HLO_PASSES_STATIC_FORM_H_
