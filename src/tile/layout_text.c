// SPDX-License-Identifier: Apache-2.0
// Layouts as text, printed and parsed (see layout.h).
#include <inttypes.h>
#include <string.h>

#include "tile/layout_impl.h"
#include "tile/text.h"

void hlo_tile_layout_print(const hlo_tile_layout_t* a, hlo_strbuf_t* out) {
  hlo_strbuf_putc(out, '<');
  for (uint32_t i = 0; i < a->rank; ++i) {
    hlo_strbuf_printf(out, "%s%" PRId64, i ? "x" : "", a->dims[i]);
  }
  const char* separator = " | ";
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    const hlo_layout_mode_t* mode = &a->modes[i];
    hlo_strbuf_puts(out, separator);
    if (mode->dim == HLO_LAYOUT_MODE_REPLICATED) {
      hlo_strbuf_printf(out, "*:%" PRId64, mode->extent);
    } else {
      hlo_strbuf_printf(out, "%d:%" PRId64 "/%" PRId64, mode->dim, mode->extent, mode->stride);
    }
    hlo_strbuf_printf(out, " %s %" PRId64, hlo_axis_name(mode->axis), mode->position);
    separator = ", ";
  }
  if (a->swizzle.bits) {
    hlo_strbuf_printf(out, " | xor %u %u %u", a->swizzle.bits, a->swizzle.base, a->swizzle.shift);
  }
  hlo_strbuf_putc(out, '>');
}

static hlo_status_t parse_mode(hlo_tile_text_t* text, hlo_layout_mode_t* out_mode) {
  *out_mode = (hlo_layout_mode_t){.dim = HLO_LAYOUT_MODE_REPLICATED};
  int64_t dim;
  if (!hlo_tile_text_take(text, "*")) {
    if (!hlo_tile_text_number(text, &dim) || dim < 0 || dim >= HLO_TILE_LAYOUT_MAX_RANK) {
      return hlo_tile_text_error(text, "a dimension");
    }
    out_mode->dim = (int32_t)dim;
  }
  if (!hlo_tile_text_take(text, ":") || !hlo_tile_text_number(text, &out_mode->extent)) {
    return hlo_tile_text_error(text, "':' and an extent");
  }
  if (out_mode->dim >= 0 &&
      (!hlo_tile_text_take(text, "/") || !hlo_tile_text_number(text, &out_mode->stride))) {
    return hlo_tile_text_error(text, "'/' and a stride");
  }
  uint32_t axis = 0;
  while (axis < HLO_AXIS_COUNT && !hlo_tile_text_take(text, hlo_axis_name(axis))) ++axis;
  if (axis == HLO_AXIS_COUNT) return hlo_tile_text_error(text, "an axis");
  out_mode->axis = (hlo_axis_t)axis;
  if (!hlo_tile_text_number(text, &out_mode->position))
    return hlo_tile_text_error(text, "a position");
  return hlo_ok();
}

static hlo_status_t parse_swizzle(hlo_tile_text_t* text, hlo_swizzle_t* out_swizzle) {
  int64_t numbers[3];
  for (uint32_t i = 0; i < 3; ++i) {
    if (!hlo_tile_text_number(text, &numbers[i]) || numbers[i] < 0 || numbers[i] > 62) {
      return hlo_tile_text_error(text, "bits, base and shift");
    }
  }
  *out_swizzle = (hlo_swizzle_t){(uint8_t)numbers[0], (uint8_t)numbers[1], (uint8_t)numbers[2]};
  return hlo_ok();
}

static hlo_status_t parse(hlo_tile_layout_space_t* space, hlo_tile_text_t* text,
                          const hlo_tile_layout_t** out_layout) {
  int64_t dims[HLO_TILE_LAYOUT_MAX_RANK];
  uint32_t rank = 0;
  hlo_layout_mode_list_t list = {0};
  hlo_swizzle_t swizzle = {0};
  if (!hlo_tile_text_take(text, "<")) return hlo_tile_text_error(text, "'<'");
  while (!hlo_tile_text_is_next(text, "|") && !hlo_tile_text_is_next(text, ">")) {
    if (rank && *text->at == 'x') ++text->at;
    if (rank == HLO_TILE_LAYOUT_MAX_RANK || !hlo_tile_text_number(text, &dims[rank])) {
      return hlo_tile_text_error(text, "dimensions like 8x64");
    }
    ++rank;
  }
  while (hlo_tile_text_take(text, "|") || hlo_tile_text_take(text, ",")) {
    if (hlo_tile_text_take(text, "xor")) {
      HLO_TRY(parse_swizzle(text, &swizzle));
      continue;
    }
    hlo_layout_mode_t mode;
    HLO_TRY(parse_mode(text, &mode));
    hlo_layout_modes_add(&list, mode);
  }
  if (!hlo_tile_text_take(text, ">")) return hlo_tile_text_error(text, "'>'");
  const hlo_tile_layout_t* layout =
      list.failed ? NULL : hlo_tile_layout_make(space, rank, dims, list.count, list.modes, swizzle);
  HLO_TRY(hlo_arena_status(space->arena));
  if (!layout) return hlo_tile_text_error(text, "digits that cover the dimensions before this");
  *out_layout = layout;
  return hlo_ok();
}

hlo_status_t hlo_tile_layout_parse(hlo_tile_layout_space_t* space, const char** text,
                                   const hlo_tile_layout_t** out_layout) {
  hlo_tile_text_t reader = {.start = *text, .at = *text};
  HLO_TRY(parse(space, &reader, out_layout));
  *text = reader.at;
  return hlo_ok();
}
