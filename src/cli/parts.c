// SPDX-License-Identifier: Apache-2.0
// Division of arrays among partitions (see parts.h).
#include "cli/parts.h"

#include <string.h>

#include "ir/op_sharding.h"

/// Which part of an array a partition holds: per dimension, part `at` of `parts`.
typedef struct place {
  int64_t parts[HLO_RANK_MAX], at[HLO_RANK_MAX];
} place_t;

static hlo_status_t find_place(const hlo_attr_t* attr, uint32_t partition, uint32_t rank,
                               place_t* place) {
  HLO_SCOPED_ARENA arena = {0};
  hlo_op_sharding_t sharding = {.kind = HLO_OP_SHARDING_REPLICATED};
  if (attr) {
    HLO_TRY(hlo_op_sharding_parse(attr->text, attr->text_length, &arena, &sharding));
  }
  return hlo_op_sharding_place(&sharding, partition, rank, place->parts, place->at);
}

// Copies the elements of a part from the whole, or to it.
static void copy_part(hlo_tensor_t* whole, hlo_tensor_t* part, const place_t* place,
                      bool to_whole) {
  const size_t width = hlo_dtype_size_bytes(whole->dtype);
  int64_t index[HLO_RANK_MAX] = {0};
  for (int64_t i = 0; i < part->element_count; ++i) {
    int64_t at = 0;
    for (uint32_t d = 0; d < whole->rank; ++d) {
      at = at * whole->dims[d] + place->at[d] * part->dims[d] + index[d];
    }
    char* outer = (char*)whole->data + (size_t)at * width;
    char* inner = (char*)part->data + (size_t)i * width;
    memcpy(to_whole ? outer : inner, to_whole ? inner : outer, width);
    for (uint32_t d = whole->rank; d-- > 0;) {
      if (++index[d] < part->dims[d]) break;
      index[d] = 0;
    }
  }
}

hlo_status_t hlo_cli_divide(const hlo_tensor_t* whole, const hlo_attr_t* sharding,
                            uint32_t partition, hlo_tensor_t** out_part) {
  if (whole->dtype == HLO_DTYPE_TOKEN) return hlo_tensor_create_token(out_part);
  place_t place;
  int64_t dims[HLO_RANK_MAX];
  HLO_TRY(find_place(sharding, partition, whole->rank, &place));
  for (uint32_t d = 0; d < whole->rank; ++d) {
    if (whole->dims[d] % place.parts[d]) return hlo_unimplemented("parts of unequal size");
    dims[d] = whole->dims[d] / place.parts[d];
  }
  hlo_tensor_t* part;
  HLO_TRY(hlo_tensor_create(whole->dtype, whole->rank, dims, &part));
  copy_part((hlo_tensor_t*)whole, part, &place, false);
  *out_part = part;
  return hlo_ok();
}

hlo_status_t hlo_cli_join(const hlo_type_t* type, const hlo_attr_t* sharding, uint32_t count,
                          hlo_tensor_t* const* parts, hlo_tensor_t** out_whole) {
  if (!hlo_type_is_tensor(type)) {
    *out_whole = hlo_tensor_retain(parts[0]);
    return hlo_ok();
  }
  hlo_tensor_t* whole;
  HLO_TRY(hlo_tensor_create(type->dtype, type->rank, type->dims, &whole));
  for (uint32_t p = 0; p < count; ++p) {
    place_t place;
    hlo_status_t status = find_place(sharding, p, type->rank, &place);
    if (!hlo_status_is_ok(status)) {
      hlo_tensor_release(whole);
      return status;
    }
    copy_part(whole, parts[p], &place, true);
  }
  *out_whole = whole;
  return hlo_ok();
}
