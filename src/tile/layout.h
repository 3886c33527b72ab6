// SPDX-License-Identifier: Apache-2.0
// Layouts: where the elements of a tile are. Every dimension is factored, mixed radix, into modes;
// a mode is bound to a step on one axis of the machine (lanes, registers, loop steps, cores, memory
// addresses ...). One algebra serves registers, memory and devices. Equal layouts are the same
// pointer. Knows the order of the axes, not their extents or costs: those belong to a target
// (target.h).
//
//   position on axis a = sum over modes on a of  (index[dim] / stride % extent) * position
#pragma once

#include "base/mem.h"
#include "base/strbuf.h"

enum { HLO_TILE_LAYOUT_MAX_MODES = 40, HLO_TILE_LAYOUT_MAX_RANK = 32 };
/// The largest element count of a tensor.
#define HLO_TILE_LAYOUT_MAX_POSITION ((int64_t)1 << 46)

/// The machine axes a mode may be bound to, nearest first.
typedef enum hlo_axis {
  HLO_AXIS_TIME,   // steps of a loop
  HLO_AXIS_SLOT,   // registers side by side
  HLO_AXIS_LANE,   // lanes of a register
  HLO_AXIS_GROUP,  // lanes that run together across register files
  HLO_AXIS_CORE,
  HLO_AXIS_DEVICE,
  HLO_AXIS_ADDRESS,  // elements of a memory
  HLO_AXIS_COUNT
} hlo_axis_t;

const char* hlo_axis_name(hlo_axis_t axis);

enum { HLO_LAYOUT_MODE_REPLICATED = -1 };

typedef struct hlo_layout_mode {
  int32_t dim;  // HLO_LAYOUT_MODE_REPLICATED: the same elements at every step
  hlo_axis_t axis;
  int64_t extent;    // > 1
  int64_t stride;    // within the dimension; 0 if replicated
  int64_t position;  // step on the axis; 0: all elements, being equal, share one position
} hlo_layout_mode_t;

/// Address bits [base, base + bits) are XORed with the bits `shift` higher; bits 0: none.
typedef struct hlo_swizzle {
  uint8_t bits, base, shift;
} hlo_swizzle_t;

/// Modes by dimension, outer before inner, then replicated ones; adjacent modes that form one are
/// merged. threads: immutable
typedef struct hlo_tile_layout {
  uint32_t number;  // dense in the space
  uint32_t rank, mode_count;
  int64_t dims[HLO_TILE_LAYOUT_MAX_RANK];
  hlo_swizzle_t swizzle;
  hlo_layout_mode_t modes[];
} hlo_tile_layout_t;

/// owner: everything is in the arena, lent. threads: confined.
typedef struct hlo_tile_layout_space {
  hlo_arena_t* arena;
  uint32_t count, capacity;
  const hlo_tile_layout_t** table;  // open-addressing hash table
} hlo_tile_layout_space_t;

void hlo_tile_layout_space_init(hlo_tile_layout_space_t* space, hlo_arena_t* arena);

// Functions below that return a layout return NULL if no such layout exists, or when memory is
// exhausted (the arena says so).

/// Modes in any order that cover every dimension exactly; a swizzle moves disjoint bits.
const hlo_tile_layout_t* hlo_tile_layout_make(hlo_tile_layout_space_t* space, uint32_t rank,
                                              const int64_t* dims, uint32_t mode_count,
                                              const hlo_layout_mode_t* modes,
                                              hlo_swizzle_t swizzle);

/// Drops the dimensions of `dims` (one bit each). Modes across lanes, groups, cores and devices
/// become replicated, since each of them receives the sum; modes in time, registers and memory
/// disappear.
const hlo_tile_layout_t* hlo_tile_layout_reduce(hlo_tile_layout_space_t* space,
                                                const hlo_tile_layout_t* a, uint64_t dims);

/// Returns true if all elements are equal: no mode moves.
bool hlo_tile_layout_is_splat(const hlo_tile_layout_t* a);

/// How a tile gets from one layout to another, cheapest first.
typedef enum hlo_relayout_kind {
  HLO_RELAYOUT_NONE,
  HLO_RELAYOUT_RENAME,      // other registers or loop steps hold the same vectors
  HLO_RELAYOUT_BROADCAST,   // one element to many positions
  HLO_RELAYOUT_SHUFFLE,     // lanes move to other lanes or registers
  HLO_RELAYOUT_MEMORY,      // through memory that both sides can access
  HLO_RELAYOUT_EXCHANGE,    // between devices
  HLO_RELAYOUT_IMPOSSIBLE,  // different elements in one position, or different shapes
} hlo_relayout_kind_t;

typedef struct hlo_relayout {
  hlo_relayout_kind_t kind;  // the most expensive of all modes
  int64_t moved;             // product of the extents of lane modes that move: log2 shuffle stages
} hlo_relayout_t;

hlo_relayout_t hlo_tile_layout_relayout(const hlo_tile_layout_t* from, const hlo_tile_layout_t* to);

/// "<8x64 | 0:8/1 time 1, 1:4/16 slot 1, 1:16/1 lane 1, *:2 core 1 | xor 3 3 3>".
void hlo_tile_layout_print(const hlo_tile_layout_t* a, hlo_strbuf_t* out);
/// Reads what print writes. errors: INVALID_ARGUMENT with the place, RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_layout_parse(hlo_tile_layout_space_t* space, const char** text,
                                   const hlo_tile_layout_t** out_layout) HLO_MUST_USE;
