// SPDX-License-Identifier: Apache-2.0
// Fuzzes the protobuf decoder with a table of every kind; a decoded message must encode to a fixed
// point.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"
#include "base/wire_fuzz.inl"

typedef struct node {
  bool flag, has_flag;
  int32_t i32;
  int64_t s64;
  double d;
  hlo_wire_bytes_t text;
  hlo_wire_array_t floats, ints, texts, children;
  struct node* child;
} node_t;

static const hlo_wire_message_t kNodeMessage;
static const hlo_wire_field_info_t kNode[] = {
    HLO_WIRE_OPTIONAL(node_t, 1, BOOL, flag),
    HLO_WIRE_FIELD(node_t, 2, INT32, i32),
    HLO_WIRE_FIELD(node_t, 3, SINT64, s64),
    HLO_WIRE_FIELD(node_t, 4, DOUBLE, d),
    HLO_WIRE_FIELD(node_t, 5, BYTES, text),
    HLO_WIRE_REPEATED(node_t, 6, FLOAT, floats),
    HLO_WIRE_REPEATED(node_t, 7, INT64, ints),
    HLO_WIRE_REPEATED(node_t, 8, BYTES, texts),
    HLO_WIRE_REPEATED_NESTED(node_t, 9, children, &kNodeMessage),
    HLO_WIRE_NESTED(node_t, 10, child, &kNodeMessage)};
static const hlo_wire_message_t kNodeMessage = HLO_WIRE_MESSAGE(node_t, kNode);

static bool recode(const void* data, size_t size, hlo_strbuf_t* out) {
  hlo_arena_t arena;
  hlo_arena_init(&arena, (16u << 20) + 512 * size);
  node_t node;
  hlo_status_t status = hlo_wire_decode(&kNodeMessage, data, size, &arena, &node);
  bool ok = hlo_status_is_ok(status);
  hlo_status_release(status);
  if (ok) hlo_wire_encode(&kNodeMessage, &node, out);
  hlo_arena_deinit(&arena);
  return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hlo_strbuf_t once = {0}, twice = {0};
  if (recode(data, size, &once)) {
    if (!recode(hlo_strbuf_text(&once), once.length, &twice) || once.length != twice.length ||
        (once.length && memcmp(once.data, twice.data, once.length) != 0)) {
      abort();
    }
  }
  hlo_strbuf_deinit(&once);
  hlo_strbuf_deinit(&twice);
  return 0;
}
