// SPDX-License-Identifier: Apache-2.0
// Systems of constraints over tile sizes and layouts, and their best solution: "these two layouts
// are equal", "that is a sum over dimension 1", "all of it fits the second cache", "operands as one
// of the machine's atoms wants them". Everything about the machine comes from its description.
//
// Solving first spreads what is known (equal variables are one; a constraint whose other side is
// known gives its variable), then searches depth first in a fixed order, cutting what cannot become
// cheaper than the best found. The same system always has the same answer.
#ifndef HLO_TILE_SYSTEM_H_
#define HLO_TILE_SYSTEM_H_

#include "tile/target.h"

typedef uint32_t hlo_tile_var_t;

/// What a variable stands for; which of the two the variable's kind says.
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

/// A cost in nanoseconds of some size variables, called once all are known. Negative: they cannot
/// be these together.
typedef double (*hlo_tile_cost_fn_t)(const void* context, const int64_t* sizes);

/// NULL when memory is out (the arena says so); later failures show in hlo_tile_system_solve().
/// owner: the arena; space, target lent. threads: confined.
hlo_tile_system_t* hlo_tile_system_create(hlo_arena_t* arena, hlo_tile_layout_space_t* space,
                                          const hlo_tile_target_t* target);

/// A variable with the values it may have, tried in this order. Names are for messages; lent.
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
const hlo_tile_term_t* hlo_tile_term_transpose(hlo_tile_system_t* system,
                                               const hlo_tile_term_t* operand, uint32_t rank,
                                               const int64_t* permutation);
const hlo_tile_term_t* hlo_tile_term_reshape(hlo_tile_system_t* system,
                                             const hlo_tile_term_t* operand, uint32_t from_rank,
                                             const int64_t* from, uint32_t rank,
                                             const int64_t* dims);

// Constraints. origin: what they come from (an operation's name), for explanations; lent.

void hlo_tile_system_equal(hlo_tile_system_t* system, const char* origin, const hlo_tile_term_t* a,
                           const hlo_tile_term_t* b);
/// `from` is brought to `to`, at a cost for so many registers; not beyond `worst`.
void hlo_tile_system_relayout(hlo_tile_system_t* system, const char* origin,
                              const hlo_tile_term_t* from, const hlo_tile_term_t* to,
                              double vectors, hlo_relayout_kind_t worst);
/// `registers` are loaded from or stored to `memory`, so often; at most `most_ops` operations each.
void hlo_tile_system_transfer(hlo_tile_system_t* system, const char* origin,
                              const hlo_tile_term_t* memory, const hlo_tile_term_t* registers,
                              int64_t element_bytes, double count, double most_ops);
/// `narrow` is `wide` without the dimensions of `dims`, or one element for all of it.
void hlo_tile_system_broadcastable(hlo_tile_system_t* system, const char* origin,
                                   const hlo_tile_term_t* narrow, const hlo_tile_term_t* wide,
                                   uint64_t dims);
void hlo_tile_system_not_kind(hlo_tile_system_t* system, const char* origin,
                              const hlo_tile_term_t* term, hlo_tile_layout_kind_t kind);
void hlo_tile_system_one_of(hlo_tile_system_t* system, const char* origin,
                            const hlo_tile_term_t* term, uint32_t count,
                            const hlo_tile_layout_t* const* layouts);
/// a, b and sum together are an atom of the target for these types.
void hlo_tile_system_atom(hlo_tile_system_t* system, const char* origin, hlo_dtype_t operand,
                          hlo_dtype_t result, const hlo_tile_term_t* a, const hlo_tile_term_t* b,
                          const hlo_tile_term_t* sum);
/// Two sizes that are equal.
void hlo_tile_system_same(hlo_tile_system_t* system, const char* origin, hlo_tile_var_t a,
                          hlo_tile_var_t b);
/// size `divisor` divides size `dividend`.
void hlo_tile_system_divides(hlo_tile_system_t* system, const char* origin, hlo_tile_var_t divisor,
                             hlo_tile_var_t dividend);
void hlo_tile_system_multiple(hlo_tile_system_t* system, const char* origin, hlo_tile_var_t size,
                              int64_t factor);
/// constant + the sum of the monomials is at most `limit`.
void hlo_tile_system_at_most(hlo_tile_system_t* system, const char* origin, int64_t constant,
                             uint32_t count, const hlo_tile_monomial_t* monomials, int64_t limit);
/// The same, in bytes, with the capacity of a memory of the target (0: registers).
void hlo_tile_system_fits(hlo_tile_system_t* system, const char* origin, uint32_t memory,
                          int64_t constant, uint32_t count, const hlo_tile_monomial_t* monomials);
/// At most HLO_TILE_MAX_COST_SIZES sizes.
void hlo_tile_system_cost(hlo_tile_system_t* system, const char* origin, uint32_t count,
                          const hlo_tile_var_t* sizes, hlo_tile_cost_fn_t cost,
                          const void* context);

/// A size variable's candidates.
typedef struct hlo_tile_candidates {
  const char* name;
  uint32_t count;
  const int64_t* sizes;
} hlo_tile_candidates_t;

/// What solving a system of nothing but a cost finds, without building one. out_sizes: by variable,
/// of which there are at most HLO_TILE_MAX_COST_SIZES. The cost; negative: nothing can be.
double hlo_tile_cheapest(uint32_t count, const hlo_tile_candidates_t* vars, hlo_tile_cost_fn_t cost,
                         const void* context, int64_t* out_sizes);

typedef struct hlo_tile_solution {
  const hlo_tile_value_t* values;  // by variable; in the arena
  double cost_ns;
  uint64_t fuel_used;
} hlo_tile_solution_t;

/// The cheapest assignment; of equal ones the first in the order of candidates. Fuel: how many
/// candidates may be tried.
/// errors: FAILED_PRECONDITION: there is none; the message names a set of constraints that
/// contradict each other of which none can be left out. RESOURCE_EXHAUSTED: fuel or memory ran out.
hlo_status_t hlo_tile_system_solve(hlo_tile_system_t* system, uint64_t fuel,
                                   hlo_tile_solution_t* out_solution) HLO_MUST_USE;

/// Told of a solution, which is lent for the call.
typedef void (*hlo_tile_visit_fn_t)(void* context, const hlo_tile_solution_t* solution);

/// Every assignment that the constraints allow, with its cost, in the order of candidates. None is
/// no error. errors: RESOURCE_EXHAUSTED: as above
hlo_status_t hlo_tile_system_each(hlo_tile_system_t* system, uint64_t fuel,
                                  hlo_tile_visit_fn_t visit, void* context) HLO_MUST_USE;

/// The sizes that a tile of one dimension is tried with: powers of two below its extent, and all of
/// it. Where an index has made digits of the dimension, outermost first, tiles are parts of one of
/// them and whole of those inside. out_sizes: HLO_TILE_MAX_SIZES. How many; 0: of an empty one.
uint32_t hlo_tile_list_sizes(uint32_t digit_count, const int64_t* extents, int64_t* out_sizes);

/// A solution only takes the place of one found before it if it is cheaper by more than this share,
/// so that of those that are as good as equal the first in the order of candidates stays. 0 without
/// it.
void hlo_tile_system_tolerance(hlo_tile_system_t* system, double share);

/// Constraints that follow from others, by which candidates are left out before they are tried.
/// None changes what is found, only how many tries that takes.
typedef enum hlo_tile_shortcut {
  HLO_TILE_SHORTCUT_FIT,        // sizes that fit with the least that others can be
  HLO_TILE_SHORTCUT_DIVIDE,     // sizes that divide what is known, also of those equal to them
  HLO_TILE_SHORTCUT_STRICT,     // a layout to which nothing may be moved is the same
  HLO_TILE_SHORTCUT_NOT_SPLAT,  // what comes from no splat is none
  HLO_TILE_SHORTCUT_COUNT
} hlo_tile_shortcut_t;
void hlo_tile_system_turn_off(hlo_tile_system_t* system, hlo_tile_shortcut_t shortcut);

/// The constraints, what was found, its cost and the tries it took.
void hlo_tile_solution_print(const hlo_tile_system_t* system, const hlo_tile_solution_t* solution,
                             hlo_strbuf_t* out);
/// One constraint a line.
void hlo_tile_system_print(const hlo_tile_system_t* system, hlo_strbuf_t* out);

#endif  // HLO_TILE_SYSTEM_H_
