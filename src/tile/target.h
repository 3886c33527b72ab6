// SPDX-License-Identifier: Apache-2.0
// A machine as data: axes and how far they go, memories from registers outwards, atoms (what one
// instruction does, with its operands' layouts), what it costs to start parallel chunks. And the
// roofline: the time of some work on it. Nothing here knows which machine it is; descriptions are
// filled in by back ends.
#ifndef HLO_TILE_TARGET_H_
#define HLO_TILE_TARGET_H_

#include "base/dtype.h"
#include "tile/layout.h"

enum {
  HLO_TILE_MAX_MEMORIES = 6,
  HLO_TILE_MAX_ATOMS = 20,
  HLO_TILE_MAX_TUNED = 16,
  HLO_TILE_KIND_BYTES = 16
};

/// threads: immutable
typedef struct hlo_tile_memory {
  const char* name;
  int64_t capacity_bytes;  // for one core; INT64_MAX: without end
  int64_t line_bytes;      // what comes in at once
  double bytes_per_ns;     // of one core, one after another
  int64_t way_bytes;       // lines so far apart share a place in each way; 0: nowhere
} hlo_tile_memory_t;

typedef enum hlo_tile_atom_op {
  HLO_TILE_ATOM_VECTOR,   // an elementwise operation on a register
  HLO_TILE_ATOM_LOAD,     // a register of neighbouring elements
  HLO_TILE_ATOM_SPLAT,    // a register of one element
  HLO_TILE_ATOM_GATHER,   // a register of elements anywhere
  HLO_TILE_ATOM_STEP,     // a register of elements a step apart, for each place of the step
  HLO_TILE_ATOM_WINDOW,   // a register of a few neighbours, several lanes the same
  HLO_TILE_ATOM_TURN,     // a register of a square of elements, loaded across its lines
  HLO_TILE_ATOM_SHUFFLE,  // lanes of two registers
  HLO_TILE_ATOM_PRODUCT,  // result += a * b, summed over depth
} hlo_tile_atom_op_t;

/// threads: immutable
typedef struct hlo_tile_atom {
  const char* name;
  hlo_tile_atom_op_t op;
  hlo_dtype_t operand, result;   // of a product
  int64_t rows, columns, depth;  // of a product: [rows, depth] x [depth, columns]
  const char *a, *b, *sum;       // of a product: the operands' layouts, as text (layout.h)
  double per_ns, latency_ns;
} hlo_tile_atom_t;

/// What work is cut into to be shared out.
typedef struct hlo_tile_grain {
  double serial_ns;  // shorter work is not cut
  double chunk_ns;   // how long a chunk should be, for its start to cost nothing
} hlo_tile_grain_t;

/// A product of matrices and the tile it is to be computed in, which measuring found to be best.
typedef struct hlo_tile_tuned {
  char kind[HLO_TILE_KIND_BYTES];  // type and form of the operands, by whoever makes products
  int64_t rows, columns, steps;    // of all of it
  int64_t height, width;           // rows and registers of a tile
} hlo_tile_tuned_t;

/// threads: immutable
typedef struct hlo_tile_target {
  int64_t vector_bytes, vector_count;  // of registers
  uint32_t memory_count, atom_count;
  hlo_tile_memory_t memories[HLO_TILE_MAX_MEMORIES];  // nearest first; 0: registers
  hlo_tile_atom_t atoms[HLO_TILE_MAX_ATOMS];
  double pass_ns;  // what another pass over memory takes besides what it moves
  double exposed;  // of what is not the longest part of some work, the share that takes time
  hlo_tile_grain_t moving, multiplying;
  int64_t max_chunks;
  uint32_t tuned_count;
  hlo_tile_tuned_t tuned[HLO_TILE_MAX_TUNED];
} hlo_tile_target_t;

/// The first atom of that kind; of products that of those types. NULL: there is none.
const hlo_tile_atom_t* hlo_tile_atom_find(const hlo_tile_target_t* target, hlo_tile_atom_op_t op,
                                          hlo_dtype_t operand, hlo_dtype_t result);
/// The nearest memory beyond the registers that holds so many bytes.
const hlo_tile_memory_t* hlo_tile_home(const hlo_tile_target_t* target, double bytes);

/// How many lines so many bytes apart it holds at a time.
int64_t hlo_tile_lines_held(const hlo_tile_memory_t* memory, int64_t stride);

/// Work, of one core if it is done by one.
typedef struct hlo_tile_work {
  double vector_ops;
  double products;              // of `atom`
  const hlo_tile_atom_t* atom;  // NULL without products
  double accessed_bytes;        // loaded and stored, as often as that happens
  double distinct_bytes;        // of memory: what has to come from where it lives
  double chain_ops;             // of vector operations that wait for each other
} hlo_tile_work_t;

/// The roofline: the longest of computing, waiting, and each memory's traffic.
double hlo_tile_work_ns(const hlo_tile_target_t* target, const hlo_tile_work_t* work);
/// What a value takes that is stored and loaded again by loops that are there anyway: so many
/// registers, which are so many bytes in memory.
double hlo_tile_kept_ns(const hlo_tile_target_t* target, double vectors, double bytes);
/// Whether work is worth being cut. As a product, where cores do not share what limits them; else
/// it counts as moving memory.
bool hlo_tile_is_worth_cutting(const hlo_tile_target_t* target, double work_ns, bool is_product);
/// Into how many chunks it should be; a function of the work alone, never of how many threads there
/// are. 1 where it is not worth it.
int64_t hlo_tile_chunk_count(const hlo_tile_target_t* target, double work_ns, bool is_product);
/// Products of whole registers a nanosecond, summed in `dtype`.
double hlo_tile_product_rate(const hlo_tile_target_t* target, hlo_dtype_t dtype);
/// What a register costs that is loaded or stored otherwise, in loads of neighbours; negative: the
/// machine has no such access.
double hlo_tile_access_loads(const hlo_tile_target_t* target, hlo_tile_atom_op_t op);
/// What loading a register of elements from anywhere costs, in loads of neighbours; negative: such
/// elements have no gathers.
double hlo_tile_gather_loads(const hlo_tile_target_t* target, int64_t element_bytes);

/// Vector operations to move one register between memory and registers: the lanes of `registers` at
/// the addresses of `memory`, both of one tile. Negative: it cannot be done.
double hlo_tile_transfer_ops(const hlo_tile_target_t* target, const hlo_tile_layout_t* memory,
                             const hlo_tile_layout_t* registers, int64_t element_bytes);
/// Nanoseconds to bring `vectors` registers from one layout to another; negative: it cannot be
/// done.
double hlo_tile_relayout_ns(const hlo_tile_target_t* target, hlo_relayout_t relayout,
                            double vectors);

/// The tile that was found for a product of that kind and size; NULL: none.
const hlo_tile_tuned_t* hlo_tile_tuned_find(const hlo_tile_target_t* target,
                                            const hlo_tile_tuned_t* product);
/// "tile f32.nn 512x1000x64: 6 rows of 4 vectors", without an end of line.
void hlo_tile_tuned_print(const hlo_tile_tuned_t* tuned, hlo_strbuf_t* out);

/// The description, a line for each part.
void hlo_tile_target_print(const hlo_tile_target_t* target, hlo_strbuf_t* out);
/// Takes sizes and rates of memories and atoms that the target has from such lines, wherever they
/// stand in the text, and tiles of products, of which the later of two counts; what is not above 0,
/// or a memory of less than a line, is left alone.
void hlo_tile_target_read(const char* text, hlo_tile_target_t* target);

#endif  // HLO_TILE_TARGET_H_
