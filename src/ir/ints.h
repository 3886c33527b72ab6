// SPDX-License-Identifier: Apache-2.0
// Lists of integers from attributes.
#ifndef HLO_IR_INTS_H_
#define HLO_IR_INTS_H_

#include "ir/module.h"

/// An integer list attribute, lent; empty if the attribute is absent.
typedef struct hlo_ints {
  const int64_t* values;
  uint32_t count;
} hlo_ints_t;

static inline hlo_ints_t hlo_node_ints(const hlo_node_t* node, hlo_attr_id_t id) {
  hlo_ints_t list = {NULL, 0};
  list.values = hlo_node_attr_ints(node, id, &list.count);
  return list;
}

/// Returns item i, or `fallback` past the end (absent window attributes have defaults).
static inline int64_t hlo_ints_at(hlo_ints_t list, uint32_t i, int64_t fallback) {
  return i < list.count ? list.values[i] : fallback;
}

static inline bool hlo_ints_has(hlo_ints_t list, int64_t value) {
  for (uint32_t i = 0; i < list.count; i++) {
    if (list.values[i] == value) return true;
  }
  return false;
}

#endif  // HLO_IR_INTS_H_
