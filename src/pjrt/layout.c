// SPDX-License-Identifier: Apache-2.0
// Layouts: arrays are dense in any order of their dimensions, on the device and on the host. The
// Layouts extension represents layouts as text; "{1,0}" is row-major.
#include "pjrt/objects.h"

// --- Shapes --------------------------------------------------------------------------------------

hlo_status_t hlo_pjrt_shape(PJRT_Buffer_Type type, const int64_t* dims, size_t rank,
                            hlo_buffer_shape_t* out_shape) {
  const hlo_dtype_t dtype = hlo_dtype_from_pjrt((int32_t)type);
  if (dtype == HLO_DTYPE_INVALID) {
    return hlo_invalid_argument("element type %d is not supported", (int)type);
  }
  size_t count, bytes;
  HLO_TRY(hlo_shape_measure(dtype, dims, rank, &count, &bytes));
  *out_shape = (hlo_buffer_shape_t){.dtype = dtype, .rank = (uint32_t)rank, .dims = dims};
  return hlo_ok();
}

// --- Layouts of argument blocks ------------------------------------------------------------------

static hlo_status_t order_of_tiled(const PJRT_Buffer_MemoryLayout_Tiled* tiled, size_t rank,
                                   int64_t* out_minor_to_major) {
  if (tiled->minor_to_major_size != rank || !hlo_dim_order_is_valid(rank, tiled->minor_to_major)) {
    return hlo_invalid_argument("minor_to_major is not a permutation of %zu dimensions", rank);
  }
  if (tiled->num_tiles != 0) {
    return hlo_dim_order_refuse_tiles(rank, tiled->minor_to_major, tiled->num_tiles,
                                      tiled->tile_dim_sizes, tiled->tile_dims);
  }
  if (rank != 0) memcpy(out_minor_to_major, tiled->minor_to_major, rank * sizeof(int64_t));
  return hlo_ok();
}

/// Finds the order in which the strides of a dense array ascend. Dimensions of size 1, whose
/// strides are arbitrary, may have any position; arrays without elements are dense in any order.
static hlo_status_t order_of_strides(const PJRT_Buffer_MemoryLayout_Strides* strides,
                                     const hlo_buffer_shape_t* shape, int64_t* out_minor_to_major) {
  if (strides->num_byte_strides != shape->rank) {
    return hlo_invalid_argument("%zu strides for %u dimensions", strides->num_byte_strides,
                                shape->rank);
  }
  bool is_empty = false;
  for (uint32_t i = 0; i < shape->rank; ++i) is_empty |= shape->dims[i] == 0;
  if (is_empty) {
    hlo_dim_order_row_major(shape->rank, out_minor_to_major);
    return hlo_ok();
  }
  bool placed[HLO_SHAPE_RANK_LIMIT] = {false};
  int64_t expected = (int64_t)hlo_dtype_size_bytes(shape->dtype);
  for (uint32_t position = 0; position < shape->rank; ++position) {
    int64_t found = -1;
    for (int64_t dim = (int64_t)shape->rank - 1; dim >= 0 && found < 0; --dim) {
      if (placed[dim]) continue;
      if (shape->dims[dim] == 1 || strides->byte_strides[dim] == expected) found = dim;
    }
    if (found < 0) return hlo_unimplemented("strides of arrays with gaps are not supported");
    placed[found] = true;
    out_minor_to_major[position] = found;
    expected *= shape->dims[found];
  }
  return hlo_ok();
}

hlo_status_t hlo_pjrt_layout_order(const PJRT_Buffer_MemoryLayout* layout,
                                   const hlo_buffer_shape_t* shape, int64_t* out_minor_to_major) {
  if (layout == NULL) {
    if (shape->minor_to_major == NULL) {
      hlo_dim_order_row_major(shape->rank, out_minor_to_major);
    } else if (shape->rank != 0) {
      memcpy(out_minor_to_major, shape->minor_to_major, shape->rank * sizeof(int64_t));
    }
    return hlo_ok();
  }
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Tiled) {
    return order_of_tiled(&layout->tiled, shape->rank, out_minor_to_major);
  }
  return order_of_strides(&layout->strides, shape, out_minor_to_major);
}

hlo_status_t hlo_pjrt_shape_take_layout(const PJRT_Buffer_MemoryLayout* layout,
                                        hlo_buffer_shape_t* shape, int64_t* order) {
  HLO_TRY(hlo_pjrt_layout_order(layout, shape, order));
  shape->minor_to_major = order;
  return hlo_ok();
}

// --- The extension -------------------------------------------------------------------------------

hlo_status_t hlo_pjrt_layout_create(size_t rank, const int64_t* minor_to_major, hlo_arena_t* arena,
                                    PJRT_Layouts_MemoryLayout** out_layout) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_dim_order_print(rank, minor_to_major, &text);
  const size_t size = sizeof(PJRT_Layouts_MemoryLayout) + text.length + 1;
  PJRT_Layouts_MemoryLayout* layout = text.failed     ? NULL
                                      : arena != NULL ? hlo_arena_alloc(arena, size)
                                                      : hlo_mem_alloc(size);
  if (layout != NULL) {
    layout->is_lent = arena != NULL;
    memcpy(layout->text, hlo_strbuf_text(&text), text.length + 1);
  }
  if (layout == NULL) return hlo_status_out_of_memory(size);
  *out_layout = layout;
  return hlo_ok();
}

/// Frameworks also destroy layouts that an executable lends; those are freed with the executable.
hlo_status_t hlo_pjrt_Layouts_MemoryLayout_Destroy(PJRT_Layouts_MemoryLayout_Destroy_Args* args) {
  if (args->layout != NULL && !args->layout->is_lent) hlo_mem_free(args->layout);
  return hlo_ok();
}

/// The text belongs to the layout.
static void keep_serialized_layout(HLO_UNUSED PJRT_Layouts_SerializedLayout* serialized) {}

hlo_status_t hlo_pjrt_Layouts_MemoryLayout_Serialize(
    PJRT_Layouts_MemoryLayout_Serialize_Args* args) {
  hlo_pjrt_lend(args->layout->text, &args->serialized_bytes, &args->serialized_bytes_size);
  args->serialized_layout = (PJRT_Layouts_SerializedLayout*)args->layout;
  args->serialized_layout_deleter = keep_serialized_layout;
  return hlo_ok();
}

static hlo_status_t default_layout(PJRT_Buffer_Type type, const int64_t* dims, size_t rank,
                                   PJRT_Layouts_MemoryLayout** out_layout) {
  hlo_buffer_shape_t shape;
  HLO_TRY(hlo_pjrt_shape(type, dims, rank, &shape));
  return hlo_pjrt_layout_create(rank, NULL, NULL, out_layout);
}

hlo_status_t hlo_pjrt_Layouts_PJRT_Client_GetDefaultLayout(
    PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args* args) {
  return default_layout(args->type, args->dims, args->num_dims, &args->layout);
}

hlo_status_t hlo_pjrt_Layouts_PJRT_Topology_GetDefaultLayout(
    PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args* args) {
  return default_layout(args->type, args->dims, args->num_dims, &args->layout);
}

hlo_status_t hlo_pjrt_Layouts_PJRT_Buffer_MemoryLayout(
    PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args* args) {
  const hlo_buffer_shape_t* shape = hlo_buffer_shape(args->buffer->buffer);
  return hlo_pjrt_layout_create(shape->rank, shape->minor_to_major, NULL, &args->layout);
}
