// SPDX-License-Identifier: Apache-2.0
// Argument blocks and errors (see call.h).
#include "pjrt/call.h"

#include <string.h>

/// The beginning of every argument block; methods have the object next.
typedef struct block_head {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const void* object;
} block_head_t;

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

hlo_status_t hlo_pjrt_open(const hlo_pjrt_entry_t* entry, const void* caller, void* own,
                           size_t own_bytes) {
  memset(own, 0, own_bytes);
  if (caller == NULL) return hlo_invalid_argument("%s: no argument block", entry->function);
  const size_t known_bytes = ((const block_head_t*)caller)->struct_size;
  if (known_bytes < entry->required_bytes) {
    return hlo_invalid_argument("%s: struct_size is %zu, expected at least %zu", entry->function,
                                known_bytes, entry->required_bytes);
  }
  memcpy(own, caller, smaller(known_bytes, own_bytes));
  if (entry->has_object && ((const block_head_t*)own)->object == NULL) {
    return hlo_invalid_argument("%s: the object is null", entry->function);
  }
  return hlo_ok();
}

PJRT_Error* hlo_pjrt_close(void* caller, const void* own, size_t own_bytes, hlo_status_t status) {
  if (!hlo_status_is_ok(status)) return hlo_pjrt_error_create(status);
  memcpy(caller, own, smaller(((const block_head_t*)own)->struct_size, own_bytes));
  return NULL;
}
