// SPDX-License-Identifier: Apache-2.0
// Shared by building, deciding and solving constraint systems. Private to tile.
#pragma once

#include "tile/system.h"

enum {
  HLO_TILE_NO_VAR = UINT16_MAX + 1,
  HLO_TILE_MAX_VARS = 1 << 16,
  HLO_TILE_MAX_CONSTRAINTS = 1 << 18
};

typedef enum hlo_tile_term_kind {
  HLO_TILE_TERM_VAR,
  HLO_TILE_TERM_LAYOUT,
  HLO_TILE_TERM_REDUCE,
  HLO_TILE_TERM_CHOICE,  // of `choices`, by the value of the size variable `var`
} hlo_tile_term_kind_t;

struct hlo_tile_term {
  hlo_tile_term_kind_t kind;
  hlo_tile_var_t var;
  const hlo_tile_layout_t* layout;
  const hlo_tile_term_t* operand;
  uint64_t reduced;
  uint32_t choice_count;
  const hlo_tile_layout_t* const* choices;
};

typedef enum hlo_tile_constraint_kind {
  HLO_TILE_EQUAL,
  HLO_TILE_RELAYOUT,
  HLO_TILE_TRANSFER,
  HLO_TILE_MULTIPLE,
  HLO_TILE_AT_MOST,
  HLO_TILE_COST,
} hlo_tile_constraint_kind_t;

typedef struct hlo_tile_constraint {
  hlo_tile_constraint_kind_t kind;
  bool is_left_out;  // while a contradiction is minimised
  const char *origin, *memory;
  uint32_t term_count, var_count, item_count;
  const hlo_tile_term_t* terms[2];
  const hlo_tile_var_t* vars;  // every variable that occurs
  double weight, most;         // vectors or transfers; the limit of operations
  int64_t number, limit;       // element bytes, factor, constant
  hlo_relayout_kind_t worst;
  const hlo_tile_monomial_t* monomials;
  hlo_tile_cost_fn_t cost;
  const void* context;
} hlo_tile_constraint_t;

typedef struct hlo_tile_variable {
  const char* name;
  bool is_layout, is_known, is_no_splat;
  hlo_tile_value_t value;
  hlo_tile_var_t leader;      // the first of the equal variables; itself if there are no others
  hlo_tile_var_t next_equal;  // in order, from the leader on; HLO_TILE_NO_VAR: the end
  uint32_t own_count, candidate_count;
  const hlo_tile_value_t *own_candidates, *candidates;  // `candidates` is intersected with those of
                                                        // equal variables
  uint32_t use_count, use_capacity;                     // constraints that mention it
  uint32_t* uses;
} hlo_tile_variable_t;

struct hlo_tile_system {
  hlo_arena_t* arena;
  hlo_tile_layout_space_t* space;
  const hlo_tile_target_t* target;
  double tolerance;
  uint32_t shortcuts_off;  // one bit each
  uint32_t var_count, var_capacity, constraint_count, constraint_capacity;
  hlo_tile_variable_t* vars;
  hlo_tile_constraint_t* constraints;
};

typedef enum hlo_tile_verdict {
  HLO_TILE_OPEN,  // some variable is unknown
  HLO_TILE_HOLDS,
  HLO_TILE_FAILS,
} hlo_tile_verdict_t;

hlo_tile_var_t hlo_tile_leader(const hlo_tile_system_t* system, hlo_tile_var_t var);
const hlo_tile_variable_t* hlo_tile_variable(const hlo_tile_system_t* system, hlo_tile_var_t var);
void hlo_tile_constraint_print(const hlo_tile_system_t* system,
                               const hlo_tile_constraint_t* constraint, hlo_strbuf_t* out);
