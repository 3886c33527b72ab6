// SPDX-License-Identifier: Apache-2.0
// Systems of constraints over tile sizes and layouts, and their best solution: "these two layouts
// are equal", "this is a sum over dimension 1", "everything fits the second cache". Everything
// about the machine comes from its description.
//
// The solver first propagates what is known (equal variables are merged; a constraint with one
// unknown side determines its variable), then searches depth first in a fixed order, pruning
// branches that cannot become cheaper than the best solution found. The same system always has the
// same answer.
#pragma once

#include "tile/target.h"

typedef uint32_t hlo_tile_var_t;

/// The value of a variable; its kind selects the member.
typedef union hlo_tile_value {
  int64_t size;
  const hlo_tile_layout_t* layout;
} hlo_tile_value_t;

/// An expression over layouts. owner: the system's arena. NULL when memory is out.
typedef struct hlo_tile_term hlo_tile_term_t;

typedef struct hlo_tile_system hlo_tile_system_t;

/// coefficient * product of variables.
typedef struct hlo_tile_monomial {
  int64_t coefficient;
  uint32_t var_count;
  hlo_tile_var_t vars[3];
} hlo_tile_monomial_t;

enum { HLO_TILE_MAX_COST_SIZES = 8, HLO_TILE_MAX_SIZES = 64 };

/// A cost in nanoseconds of some size variables, called once all are known. Negative: this
/// combination is not allowed.
typedef double (*hlo_tile_cost_fn_t)(const void* context, const int64_t* sizes);

/// NULL when memory is out (the arena says so); later failures show in hlo_tile_system_solve().
/// owner: the arena; space, target lent. threads: confined.
hlo_tile_system_t* hlo_tile_system_create(hlo_arena_t* arena, hlo_tile_layout_space_t* space,
                                          const hlo_tile_target_t* target);

/// A size variable and its candidates, tried in this order. Names are for messages; lent.
hlo_tile_var_t hlo_tile_system_size(hlo_tile_system_t* system, const char* name, uint32_t count,
                                    const int64_t* candidates);
/// count 0: only what constraints give or suggest.
hlo_tile_var_t hlo_tile_system_layout(hlo_tile_system_t* system, const char* name, uint32_t count,
                                      const hlo_tile_layout_t* const* candidates);

const hlo_tile_term_t* hlo_tile_term_var(hlo_tile_system_t* system, hlo_tile_var_t var);
const hlo_tile_term_t* hlo_tile_term_layout(hlo_tile_system_t* system,
                                            const hlo_tile_layout_t* layout);
const hlo_tile_term_t* hlo_tile_term_reduce(hlo_tile_system_t* system,
                                            const hlo_tile_term_t* operand, uint64_t dims);
/// The layout whose number is the value of a size variable; the list is copied. A NULL in it: that
/// value is not allowed.
const hlo_tile_term_t* hlo_tile_term_choice(hlo_tile_system_t* system, hlo_tile_var_t size,
                                            uint32_t count,
                                            const hlo_tile_layout_t* const* layouts);

// Constraints. origin: the operation that a constraint comes from, for explanations; lent.

void hlo_tile_system_equal(hlo_tile_system_t* system, const char* origin, const hlo_tile_term_t* a,
                           const hlo_tile_term_t* b);
/// `from` is converted to `to`, at the cost of that many registers and by nothing dearer than
/// `worst`.
void hlo_tile_system_relayout(hlo_tile_system_t* system, const char* origin,
                              const hlo_tile_term_t* from, const hlo_tile_term_t* to,
                              double vectors, hlo_relayout_kind_t worst);
/// `registers` are loaded from or stored to `memory`, `weight` times, with at most `most_ops`
/// operations per register.
void hlo_tile_system_transfer(hlo_tile_system_t* system, const char* origin,
                              const hlo_tile_term_t* memory, const hlo_tile_term_t* registers,
                              int64_t element_bytes, double count, double most_ops);
void hlo_tile_system_multiple(hlo_tile_system_t* system, const char* origin, hlo_tile_var_t size,
                              int64_t factor);
/// constant + the sum of the monomials is at most `limit`.
void hlo_tile_system_at_most(hlo_tile_system_t* system, const char* origin, int64_t constant,
                             uint32_t count, const hlo_tile_monomial_t* monomials, int64_t limit);
/// As above, in bytes, with the capacity of a memory of the target as the limit (0: registers).
void hlo_tile_system_fits(hlo_tile_system_t* system, const char* origin, uint32_t memory,
                          int64_t constant, uint32_t count, const hlo_tile_monomial_t* monomials);
/// A cost over at most HLO_TILE_MAX_COST_SIZES sizes.
void hlo_tile_system_cost(hlo_tile_system_t* system, const char* origin, uint32_t count,
                          const hlo_tile_var_t* sizes, hlo_tile_cost_fn_t cost,
                          const void* context);

/// The candidates of a size variable.
typedef struct hlo_tile_candidates {
  const char* name;
  uint32_t count;
  const int64_t* sizes;
} hlo_tile_candidates_t;

/// Solves a system that consists of a cost only, without building it. out_sizes: by variable, at
/// most HLO_TILE_MAX_COST_SIZES. Returns the cost; negative if no combination is allowed.
double hlo_tile_cheapest(uint32_t count, const hlo_tile_candidates_t* vars, hlo_tile_cost_fn_t cost,
                         const void* context, int64_t* out_sizes);

typedef struct hlo_tile_solution {
  const hlo_tile_value_t* values;  // by variable; in the arena
  double cost_ns;
  uint64_t fuel_used;
} hlo_tile_solution_t;

/// Finds the cheapest assignment; of equal ones the first in the order of candidates. fuel: the
/// number of candidates that may be tried. errors: FAILED_PRECONDITION: there is no solution; the
/// message names a minimal set of contradictory constraints. RESOURCE_EXHAUSTED: fuel or memory ran
/// out.
hlo_status_t hlo_tile_system_solve(hlo_tile_system_t* system, uint64_t fuel,
                                   hlo_tile_solution_t* out_solution) HLO_MUST_USE;

/// Receives a solution, lent for the call.
typedef void (*hlo_tile_visit_fn_t)(void* context, const hlo_tile_solution_t* solution);

/// Visits every allowed assignment with its cost, in the order of candidates; no assignment is not
/// an error. errors: RESOURCE_EXHAUSTED as above
hlo_status_t hlo_tile_system_each(hlo_tile_system_t* system, uint64_t fuel,
                                  hlo_tile_visit_fn_t visit, void* context) HLO_MUST_USE;

/// Lists the sizes to try for a tile of one dimension: the powers of two below its extent, and the
/// extent. Where an index splits the dimension into modes, outermost first, a tile is a part of one
/// mode and all of those inside. out_sizes has room for HLO_TILE_MAX_SIZES. Returns the count; 0
/// for an empty dimension.
uint32_t hlo_tile_list_sizes(uint32_t mode_count, const int64_t* extents, int64_t* out_sizes);

/// A solution replaces an earlier one only if it is cheaper by more than this share, so the first
/// of nearly equal solutions is kept. The default is 0.
void hlo_tile_system_tolerance(hlo_tile_system_t* system, double share);

/// Redundant constraints that discard candidates before they are tried. They change no result, only
/// the number of tries.
typedef enum hlo_tile_shortcut {
  HLO_TILE_SHORTCUT_FIT,        // sizes that fit together with the least the others can be
  HLO_TILE_SHORTCUT_MULTIPLE,   // sizes that are multiples of a number
  HLO_TILE_SHORTCUT_STRICT,     // a layout that must not be converted equals the other side
  HLO_TILE_SHORTCUT_NOT_SPLAT,  // a layout not derived from a splat is not a splat
  HLO_TILE_SHORTCUT_COUNT
} hlo_tile_shortcut_t;
void hlo_tile_system_disable(hlo_tile_system_t* system, hlo_tile_shortcut_t shortcut);

/// Prints the constraints, the solution, its cost and the number of tries.
void hlo_tile_solution_print(const hlo_tile_system_t* system, const hlo_tile_solution_t* solution,
                             hlo_strbuf_t* out);
/// Prints one constraint per line.
void hlo_tile_system_print(const hlo_tile_system_t* system, hlo_strbuf_t* out);
