// SPDX-License-Identifier: Apache-2.0
// Layouts: where the elements of a tile are. Every dimension is factored, mixed radix, into digits;
// a digit is bound to a step on one axis of the machine (lanes, registers, loop steps, cores,
// memory addresses ...). One algebra serves registers, memory and devices. Equal layouts are the
// same pointer. Knows the axes' order, not their extents or costs: those are a target's (target.h).
//
//   position on axis a = sum over digits on a of  (index[dim] / stride % extent) * position
#ifndef HLO_TILE_LAYOUT_H_
#define HLO_TILE_LAYOUT_H_

#include "base/mem.h"
#include "base/strbuf.h"

enum { HLO_TILE_LAYOUT_MAX_DIGITS = 40, HLO_TILE_LAYOUT_MAX_RANK = 32 };
/// Element counts of tensors end there.
#define HLO_TILE_LAYOUT_MAX_POSITION ((int64_t)1 << 46)

/// Where a digit may live, the nearest first.
typedef enum hlo_axis {
  HLO_AXIS_TIME,   // steps of a loop
  HLO_AXIS_SLOT,   // registers side by side
  HLO_AXIS_LANE,   // of a register
  HLO_AXIS_GROUP,  // lanes that run together beyond one register file
  HLO_AXIS_CORE,
  HLO_AXIS_DEVICE,
  HLO_AXIS_ADDRESS,  // elements of a memory
  HLO_AXIS_COUNT
} hlo_axis_t;

const char* hlo_axis_name(hlo_axis_t axis);

enum { HLO_DIGIT_REPLICATED = -1 };

typedef struct hlo_digit {
  int32_t dim;  // HLO_DIGIT_REPLICATED: the same elements at every step
  hlo_axis_t axis;
  int64_t extent;    // > 1
  int64_t stride;    // within the dimension; 0 for replicated ones
  int64_t position;  // step on the axis; 0: every element at the same place (they are equal)
} hlo_digit_t;

/// Address bits [base, base + bits) are XORed with those `shift` higher; bits 0: none.
typedef struct hlo_swizzle {
  uint8_t bits, base, shift;
} hlo_swizzle_t;

/// Digits by dimension, outer before inner, then replicated ones; neighbours that make one are one.
/// threads: immutable
typedef struct hlo_tile_layout {
  uint32_t number;  // dense in the space
  uint32_t rank, digit_count;
  int64_t dims[HLO_TILE_LAYOUT_MAX_RANK];
  hlo_swizzle_t swizzle;
  hlo_digit_t digits[];
} hlo_tile_layout_t;

/// owner: everything is in the arena, lent. threads: confined.
typedef struct hlo_tile_layout_space {
  hlo_arena_t* arena;
  uint32_t count, capacity;
  const hlo_tile_layout_t** table;  // open hash table
} hlo_tile_layout_space_t;

void hlo_tile_layout_space_init(hlo_tile_layout_space_t* space, hlo_arena_t* arena);

// Everything below that answers a layout answers NULL where there is none, or no memory (the arena
// says so).

/// Digits in any order that cover every dimension exactly; a swizzle moves bits that do not
/// overlap.
const hlo_tile_layout_t* hlo_tile_layout_make(hlo_tile_layout_space_t* space, uint32_t rank,
                                              const int64_t* dims, uint32_t digit_count,
                                              const hlo_digit_t* digits, hlo_swizzle_t swizzle);
/// Addresses in row-major order.
const hlo_tile_layout_t* hlo_tile_layout_row_major(hlo_tile_layout_space_t* space, uint32_t rank,
                                                   const int64_t* dims);
/// What becomes of a dimension that is no multiple of its tile's.
typedef enum hlo_tile_edge {
  HLO_TILE_EDGE_REFUSE,
  HLO_TILE_EDGE_PAD,  // it is made as large as the next multiple
} hlo_tile_edge_t;
/// Tiles one after another, row-major inside and among them ("packed panels").
/// errors: INVALID_ARGUMENT naming dimension, size and tile; RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_layout_packed(hlo_tile_layout_space_t* space, uint32_t rank,
                                    const int64_t* dims, const int64_t* tile, hlo_tile_edge_t edge,
                                    const hlo_tile_layout_t** out_layout) HLO_MUST_USE;
/// One element for all indices, in one place.
const hlo_tile_layout_t* hlo_tile_layout_splat(hlo_tile_layout_space_t* space, uint32_t rank,
                                               const int64_t* dims);

/// Without the dimensions of `dims` (bit each): digits that lay across lanes, cores and such are
/// replicated afterwards, for everyone gets the sum; those in time, registers and memory are gone.
const hlo_tile_layout_t* hlo_tile_layout_reduce(hlo_tile_layout_space_t* space,
                                                const hlo_tile_layout_t* a, uint64_t dims);
/// dimension i of `a` becomes mapping[i] of `rank` dims; the others are equal elements at one
/// place.
const hlo_tile_layout_t* hlo_tile_layout_broadcast(hlo_tile_layout_space_t* space,
                                                   const hlo_tile_layout_t* a, uint32_t rank,
                                                   const int64_t* dims, const int64_t* mapping);
/// dimension i of the result is permutation[i] of `a`.
const hlo_tile_layout_t* hlo_tile_layout_transpose(hlo_tile_layout_space_t* space,
                                                   const hlo_tile_layout_t* a,
                                                   const int64_t* permutation);
/// The same elements in row-major order as other dimensions; NULL where a digit would be torn.
const hlo_tile_layout_t* hlo_tile_layout_reshape(hlo_tile_layout_space_t* space,
                                                 const hlo_tile_layout_t* a, uint32_t rank,
                                                 const int64_t* dims);
/// A box; out_base: the position of its first element on every axis.
/// errors: INVALID_ARGUMENT naming dimension, size and tile where the box does not consist of whole
/// digits, or of a range of one; RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_layout_slice(hlo_tile_layout_space_t* space, const hlo_tile_layout_t* a,
                                   const int64_t* starts, const int64_t* sizes,
                                   int64_t out_base[HLO_AXIS_COUNT],
                                   const hlo_tile_layout_t** out_layout) HLO_MUST_USE;
/// The same bits as elements of another width, as bitcast_convert has it: a last dimension of the
/// ratio comes (narrower) or goes (wider). In memory, else in lanes.
const hlo_tile_layout_t* hlo_tile_layout_bitcast(hlo_tile_layout_space_t* space,
                                                 const hlo_tile_layout_t* a, uint32_t from_bits,
                                                 uint32_t to_bits);

/// Where an element is; of replicated ones the first owner.
void hlo_tile_layout_locate(const hlo_tile_layout_t* a, const int64_t* index,
                            int64_t out_position[HLO_AXIS_COUNT]);
/// Which element is at a position (the first of several equal ones); false: none. Positions of an
/// axis must not overlap.
bool hlo_tile_layout_index(const hlo_tile_layout_t* a, const int64_t position[HLO_AXIS_COUNT],
                           int64_t* out_index);
/// How many places hold each element.
int64_t hlo_tile_layout_owner_count(const hlo_tile_layout_t* a);
/// How many positions digits take on an axis, replicated ones too (1: none).
int64_t hlo_tile_layout_extent(const hlo_tile_layout_t* a, hlo_axis_t axis);

typedef enum hlo_tile_layout_kind {
  HLO_TILE_LAYOUT_SPLAT,    // no digit moves
  HLO_TILE_LAYOUT_STRIDED,  // every dimension is at most one digit
  HLO_TILE_LAYOUT_TILED,
} hlo_tile_layout_kind_t;
hlo_tile_layout_kind_t hlo_tile_layout_kind(const hlo_tile_layout_t* a);

/// What it takes to bring a tile from one layout to another, cheapest first.
typedef enum hlo_relayout_kind {
  HLO_RELAYOUT_NONE,
  HLO_RELAYOUT_RENAME,      // other registers or loop steps hold the same vectors
  HLO_RELAYOUT_BROADCAST,   // one element to many places
  HLO_RELAYOUT_SHUFFLE,     // lanes change places with lanes or registers
  HLO_RELAYOUT_MEMORY,      // through memory that both sides reach
  HLO_RELAYOUT_EXCHANGE,    // between devices
  HLO_RELAYOUT_IMPOSSIBLE,  // different elements to one place; other shapes
} hlo_relayout_kind_t;

typedef struct hlo_relayout {
  hlo_relayout_kind_t kind;  // the dearest of all digits
  int64_t moved;             // product of the extents of lane digits that move: log2 shuffle stages
} hlo_relayout_t;

hlo_relayout_t hlo_tile_layout_relayout(const hlo_tile_layout_t* from, const hlo_tile_layout_t* to);
const char* hlo_relayout_name(hlo_relayout_kind_t kind);

/// "<8x64 | 0:8/1 time 1, 1:4/16 slot 1, 1:16/1 lane 1, *:2 core 1 | xor 3 3 3>".
void hlo_tile_layout_print(const hlo_tile_layout_t* a, hlo_strbuf_t* out);
/// Reads what print writes. errors: INVALID_ARGUMENT with the place, RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_layout_parse(hlo_tile_layout_space_t* space, const char** text,
                                   const hlo_tile_layout_t** out_layout) HLO_MUST_USE;

#endif  // HLO_TILE_LAYOUT_H_
