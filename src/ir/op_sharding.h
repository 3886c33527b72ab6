// SPDX-License-Identifier: Apache-2.0
// GSPMD's shardings, which describe devices as an array of tiles without names of axes:
// {devices=[2,4]<=[8]}. XLA writes them as text (attribute mhlo.sharding) and as OpSharding protos.
// source : xla/hlo/ir/hlo_sharding.h, tile_assignment.h
#pragma once

#include "base/wire.h"
#include "ir/sharding.h"

// hlo_op_sharding_t and the messages in it.
#define HLO_WIRE_MESSAGES "ir/op_sharding.def"
#define HLO_WIRE_STRUCT(message, suffix) hlo_##message##suffix
#include "base/wire_structs.inl"
#undef HLO_WIRE_MESSAGES
#undef HLO_WIRE_STRUCT

/// The attribute that holds the text of a sharding, of ops, arguments and results.
#define HLO_OP_SHARDING_ATTR "mhlo.sharding"

/// Kinds of shardings, numbered as in protos.
typedef enum hlo_op_sharding_kind {
  HLO_OP_SHARDING_REPLICATED,
  HLO_OP_SHARDING_MAXIMAL,  // on one device
  HLO_OP_SHARDING_TUPLE,
  HLO_OP_SHARDING_TILED,
  HLO_OP_SHARDING_MANUAL,   // each device has a value of its own
  HLO_OP_SHARDING_UNKNOWN,  // to be decided
  HLO_OP_SHARDING_UNREDUCED,
} hlo_op_sharding_kind_t;

/// Reads text such as "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}". Metadata are
/// skipped. The device array of the result has the fewest dimensions possible, as in XLA. errors :
/// INVALID_ARGUMENT, RESOURCE_EXHAUSTED owner  : all that *out refers to is in the arena
hlo_status_t hlo_op_sharding_parse(const char* text, size_t length, hlo_arena_t* arena,
                                   hlo_op_sharding_t* out) HLO_MUST_USE;
/// Writes the text of a valid sharding.
void hlo_op_sharding_print(const hlo_op_sharding_t* sharding, hlo_strbuf_t* out);

/// Reads a serialized OpSharding. One that refers to the axes of a mesh becomes tiles.
/// errors : INVALID_ARGUMENT, RESOURCE_EXHAUSTED
/// owner  : all that *out refers to is in the arena
hlo_status_t hlo_op_sharding_decode(const void* bytes, size_t size_bytes, hlo_arena_t* arena,
                                    hlo_op_sharding_t* out) HLO_MUST_USE;
void hlo_op_sharding_encode(const hlo_op_sharding_t* sharding, hlo_strbuf_t* out);

/// Makes the sharding that `sharding` means to GSPMD, with the devices as a transposed iota where
/// the mesh has no device list. Open dimensions and priorities have no form there. `manual`: axes
/// of a manual computation (NULL: none). errors : INVALID_ARGUMENT (sub-axes that have no common
/// division), RESOURCE_EXHAUSTED
hlo_status_t hlo_op_sharding_from_sharding(const hlo_sharding_t* sharding,
                                           const hlo_axis_refs_t* manual, hlo_arena_t* arena,
                                           hlo_op_sharding_t* out) HLO_MUST_USE;

/// Gives the iota of a tiled sharding the fewest dimensions: merges those that stay neighbours and
/// drops those of one device.
void hlo_op_sharding_merge_iota(hlo_op_sharding_t* sharding);
/// Returns the number of devices of a tiled sharding.
int64_t hlo_op_sharding_device_count(const hlo_op_sharding_t* sharding);
/// Returns the kind of dimension `i` of the tiles of a value with `rank` dimensions: TILED, or that
/// of its subgroup.
hlo_op_sharding_kind_t hlo_op_sharding_dim_kind(const hlo_op_sharding_t* sharding, size_t i);

/// One factor of a dimension of tiles: the devices `stride` positions apart, `size` of them.
typedef struct hlo_tile_factor {
  int64_t size, stride;
  uint32_t dim;  // of tile_dims
} hlo_tile_factor_t;

/// The dimensions of tiles as factors, major to minor.
typedef struct hlo_tile_factors {
  uint32_t count;
  hlo_tile_factor_t items[HLO_RANK_MAX];
} hlo_tile_factors_t;

/// Writes the devices of a tiled sharding as one list.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_op_sharding_devices(const hlo_op_sharding_t* sharding, hlo_arena_t* arena,
                                     const int64_t** out_devices) HLO_MUST_USE;
/// Finds what a device has of an array of `rank` dimensions: in dimension d part at[d] of parts[d].
/// errors : UNIMPLEMENTED (partial sums), INVALID_ARGUMENT (a device without a tile),
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_op_sharding_place(const hlo_op_sharding_t* sharding, int64_t device, uint32_t rank,
                                   int64_t* out_parts, int64_t* out_at) HLO_MUST_USE;
/// Finds the factors of tiles whose devices are at the given positions; false if the positions are
/// no transposed array.
bool hlo_tile_factors_find(const hlo_op_sharding_t* sharding, const int64_t* positions,
                           hlo_tile_factors_t* out);
