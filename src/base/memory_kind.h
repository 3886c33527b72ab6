// SPDX-License-Identifier: Apache-2.0
// Kinds of memory spaces, by the names that PJRT and programs use.
// threads: safe (pure)
#pragma once

#include <stddef.h>

typedef enum hlo_memory_kind {
  HLO_MEMORY_DEVICE,
  HLO_MEMORY_PINNED_HOST,
  HLO_MEMORY_UNPINNED_HOST,
  HLO_MEMORY_KIND_COUNT
} hlo_memory_kind_t;

/// Lists the names of all kinds in messages.
#define HLO_MEMORY_KIND_NAMES "device, pinned_host or unpinned_host"

/// Returns "device", "pinned_host" or "unpinned_host"; the reverse returns HLO_MEMORY_KIND_COUNT
/// for an unknown name.
const char* hlo_memory_kind_name(hlo_memory_kind_t kind);
hlo_memory_kind_t hlo_memory_kind_from_name(const char* name, size_t length);
