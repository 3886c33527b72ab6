// SPDX-License-Identifier: Apache-2.0
// Fuzzes the text of layouts, and copies through whatever layout comes out of it.
#include <stdlib.h>
#include <string.h>

#include "base/fuzz.h"
#include "base/mem.h"
#include "base/shape.h"

enum { SIZE_LIMIT = 1 << 16 };

// Row-major to the layout and back must be the identity.
static void check_round_trip(const hlo_shape_t* shape, const hlo_layout_t* layout) {
  size_t out_size = 0;
  hlo_status_t status = hlo_layout_size_bytes(layout, shape, &out_size);
  bool ok = hlo_status_is_ok(status) && out_size <= SIZE_LIMIT;
  hlo_status_release(status);
  if (!ok) return;
  hlo_copy_plan_t there, back;
  hlo_copy_side_t row_major = {0}, side = {.layout = layout};
  status = hlo_copy_plan_init(&there, shape, row_major, side);
  if (!hlo_status_is_ok(status)) abort();
  status = hlo_copy_plan_init(&back, shape, side, row_major);
  if (!hlo_status_is_ok(status)) abort();
  uint8_t* in = hlo_mem_alloc(shape->size_bytes);
  uint8_t* laid_out = hlo_mem_alloc(out_size);
  uint8_t* out = hlo_mem_alloc_zeroed(shape->size_bytes);
  for (size_t i = 0; i < shape->size_bytes; ++i) in[i] = (uint8_t)(i * 7 & 3);
  hlo_copy_run(&there, in, laid_out);
  hlo_copy_run(&back, laid_out, out);
  if (memcmp(in, out, shape->size_bytes) != 0) abort();
  hlo_mem_free(in);
  hlo_mem_free(laid_out);
  hlo_mem_free(out);
}

// The first two bytes choose type and sizes, the rest is the text of a layout.
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const hlo_dtype_t kTypes[] = {HLO_DTYPE_U4, HLO_DTYPE_U8, HLO_DTYPE_F32, HLO_DTYPE_C128};
  if (size < 2) return 0;
  hlo_layout_t layout, again;
  hlo_status_t status = hlo_layout_parse((const char*)data + 2, size - 2, &layout);
  bool parsed = hlo_status_is_ok(status);
  hlo_status_release(status);
  if (!parsed) return 0;
  hlo_strbuf_t text = {0};
  hlo_layout_print(&layout, &text);
  status = hlo_layout_parse(hlo_strbuf_text(&text), text.length, &again);
  if (!hlo_status_is_ok(status) || !hlo_layout_equal(&layout, &again)) abort();
  hlo_strbuf_deinit(&text);
  int64_t dims[HLO_SHAPE_RANK_LIMIT];
  for (uint32_t i = 0; i < layout.rank; ++i) dims[i] = i < 5 ? (data[1] >> i & 3) + 1 : 1;
  hlo_shape_t shape;
  status = hlo_shape_init(&shape, kTypes[data[0] & 3], dims, layout.rank);
  if (!hlo_status_is_ok(status)) abort();
  status = hlo_layout_verify(&layout, &shape);
  if (hlo_status_is_ok(status)) check_round_trip(&shape, &layout);
  hlo_status_release(status);
  return 0;
}
