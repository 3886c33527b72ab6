// SPDX-License-Identifier: Apache-2.0
// A machine as data: axes and their extents, memories from the registers outwards, atoms (single
// instructions and the layouts of their operands), the cost of starting parallel chunks; and the
// roofline, the time that work takes on it. Nothing here knows which machine it is: back ends fill
// in the description.
#pragma once

#include "base/dtype.h"
#include "tile/layout.h"

enum {
  HLO_TILE_MAX_MEMORIES = 6,
  HLO_TILE_MAX_ATOMS = 20,
  HLO_TILE_MAX_TUNED = 16,
  HLO_TILE_KIND_BYTES = 16,
  HLO_TILE_GATHER_BYTES = 4,  // narrower elements cannot be gathered
};

/// threads: immutable
typedef struct hlo_tile_memory {
  const char* name;
  int64_t capacity_bytes;  // per core; INT64_MAX: unlimited
  int64_t line_bytes;      // the unit of transfers
  double bytes_per_ns;     // per core, sequential
  int64_t way_bytes;       // addresses this far apart compete for the same set of the cache; 0:
                           // never
} hlo_tile_memory_t;

typedef enum hlo_tile_atom_op {
  HLO_TILE_ATOM_VECTOR,     // an elementwise operation on a register
  HLO_TILE_ATOM_LOAD,       // a register of adjacent elements
  HLO_TILE_ATOM_SPLAT,      // a register of one element
  HLO_TILE_ATOM_GATHER,     // a register of elements at any addresses
  HLO_TILE_ATOM_STEP,       // a register of strided elements, for each offset below the stride
  HLO_TILE_ATOM_WINDOW,     // a register made from a few adjacent elements, repeated over lanes
  HLO_TILE_ATOM_TRANSPOSE,  // a register of a transposed block, loaded across its rows
  HLO_TILE_ATOM_SHUFFLE,    // permutes the lanes of two registers
  HLO_TILE_ATOM_PRODUCT,    // result += a * b, summed over depth
} hlo_tile_atom_op_t;

/// threads: immutable
typedef struct hlo_tile_atom {
  const char* name;
  hlo_tile_atom_op_t op;
  hlo_dtype_t operand, result;   // of a product
  hlo_dtype_t right, scale;      // the right operand's type, that of scales; INVALID (0): as the
                                 // left one's, none
  int64_t block;                 // elements of the contraction that share a scale
  int64_t rows, columns, depth;  // of a product: [rows, depth] x [depth, columns]
  const char *a, *b, *sum;       // of a product: layouts of the operands, as text (layout.h)
  double per_ns, latency_ns;
} hlo_tile_atom_t;

/// How work is split into parallel chunks.
typedef struct hlo_tile_grain {
  double serial_ns;  // shorter work is not split
  double chunk_ns;   // the duration of a chunk that makes its start cheap
} hlo_tile_grain_t;

/// A matrix product and the tile that measured fastest for it.
typedef struct hlo_tile_tuned {
  char kind[HLO_TILE_KIND_BYTES];  // operand type and form, as named by the maker of products
  int64_t rows, columns, steps;    // of the whole product
  int64_t height, width;           // of a tile, in rows and registers
} hlo_tile_tuned_t;

/// threads: immutable
typedef struct hlo_tile_target {
  int64_t vector_bytes, vector_count;  // of registers
  uint32_t memory_count, atom_count;
  hlo_tile_memory_t memories[HLO_TILE_MAX_MEMORIES];  // nearest first; 0: the registers
  hlo_tile_atom_t atoms[HLO_TILE_MAX_ATOMS];
  double pass_ns;  // the fixed cost of another pass over memory
  double exposed;  // the share of the shorter parts of work that is not hidden by the longest
  hlo_tile_grain_t moving, multiplying;
  int64_t max_chunks;
  uint32_t tuned_count;
  hlo_tile_tuned_t tuned[HLO_TILE_MAX_TUNED];
} hlo_tile_target_t;

/// Returns the first atom of a kind, for products of those types; NULL if the target has none.
const hlo_tile_atom_t* hlo_tile_atom_find(const hlo_tile_target_t* target, hlo_tile_atom_op_t op,
                                          hlo_dtype_t operand, hlo_dtype_t result);
/// Returns the nearest memory beyond the registers that holds `bytes`.
const hlo_tile_memory_t* hlo_tile_home(const hlo_tile_target_t* target, double bytes);

/// Returns how many lines `stride` bytes apart it holds at the same time.
int64_t hlo_tile_lines_held(const hlo_tile_memory_t* memory, int64_t stride);

/// Work, of one core if only one does it.
typedef struct hlo_tile_work {
  double vector_ops;
  double products;              // of `atom`
  const hlo_tile_atom_t* atom;  // NULL without products
  double accessed_bytes;        // loaded and stored, counted each time
  double distinct_bytes;        // of memory: bytes that come from where they live
  double chain_ops;             // of vector operations in one dependency chain
} hlo_tile_work_t;

/// Returns the roofline time: the longest of computing, waiting, and each memory's traffic.
double hlo_tile_work_ns(const hlo_tile_target_t* target, const hlo_tile_work_t* work);
/// Returns the time to store a value and load it again in loops that exist anyway: `vectors`
/// registers that take `bytes` of memory.
double hlo_tile_store_ns(const hlo_tile_target_t* target, double vectors, double bytes);
/// Returns true if work is worth splitting. is_product: cores do not share the limiting resource;
/// otherwise the work counts as memory traffic.
bool hlo_tile_is_worth_cutting(const hlo_tile_target_t* target, double work_ns, bool is_product);
/// Returns the number of chunks: a function of the work alone, never of the number of threads; 1 if
/// splitting does not pay.
int64_t hlo_tile_chunk_count(const hlo_tile_target_t* target, double work_ns, bool is_product);
/// Returns products of whole registers per nanosecond, accumulated in `dtype`.
double hlo_tile_product_rate(const hlo_tile_target_t* target, hlo_dtype_t dtype);
/// Returns the cost of a register loaded or stored by that kind of access, in loads of adjacent
/// elements; negative if the machine lacks it.
double hlo_tile_access_loads(const hlo_tile_target_t* target, hlo_tile_atom_op_t op);
/// Returns the cost of gathering a register, in loads of adjacent elements; negative if elements of
/// that size cannot be gathered.
double hlo_tile_gather_loads(const hlo_tile_target_t* target, int64_t element_bytes);

/// Returns the vector operations that move one register between memory and registers: the lanes of
/// `registers` at the addresses of `memory`, both layouts of one tile. Negative if impossible.
double hlo_tile_transfer_ops(const hlo_tile_target_t* target, const hlo_tile_layout_t* memory,
                             const hlo_tile_layout_t* registers, int64_t element_bytes);
/// Returns the nanoseconds to convert `vectors` registers from one layout to another; negative if
/// impossible.
double hlo_tile_relayout_ns(const hlo_tile_target_t* target, hlo_relayout_t relayout,
                            double vectors);

/// Returns the tuned tile for a product of that kind and size; NULL if it was not tuned.
const hlo_tile_tuned_t* hlo_tile_tuned_find(const hlo_tile_target_t* target,
                                            const hlo_tile_tuned_t* product);
/// Prints "tile f32.nn 512x1000x64: 6 rows of 4 vectors", without a line end.
void hlo_tile_tuned_print(const hlo_tile_tuned_t* tuned, hlo_strbuf_t* out);

/// Prints the description, one part per line. precision: of numbers, in decimal places; with 17,
/// hlo_tile_target_read() reads equal numbers.
void hlo_tile_target_print(const hlo_tile_target_t* target, int precision, hlo_strbuf_t* out);
/// Reads sizes and rates of the target's memories and atoms, and tiles of products, from lines of
/// that form anywhere in the text; of equal products the last one counts. Values that are not
/// positive, and memories of less than a line, are ignored.
void hlo_tile_target_read(const char* text, hlo_tile_target_t* target);
