// SPDX-License-Identifier: Apache-2.0
// Names of memory kinds (see memory_kind.h).
#include "base/memory_kind.h"

#include <string.h>

static const char* const kNames[HLO_MEMORY_KIND_COUNT] = {"device", "pinned_host", "unpinned_host"};

const char* hlo_memory_kind_name(hlo_memory_kind_t kind) {
  return kNames[kind];
}

hlo_memory_kind_t hlo_memory_kind_from_name(const char* name, size_t length) {
  for (int i = 0; i < HLO_MEMORY_KIND_COUNT; ++i) {
    if (strlen(kNames[i]) == length && memcmp(kNames[i], name, length) == 0) {
      return (hlo_memory_kind_t)i;
    }
  }
  return HLO_MEMORY_KIND_COUNT;
}
