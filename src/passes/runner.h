// SPDX-License-Identifier: Apache-2.0
// Runs passes by name, in any order, with the checks that every pass must pass.
#pragma once

#include "base/env.h"
#include "ir/dump.h"
#include "ir/module.h"

typedef struct hlo_pass_ctx hlo_pass_ctx_t;
typedef hlo_status_t (*hlo_pass_fn_t)(hlo_pass_ctx_t* ctx, hlo_module_t* module);

typedef enum hlo_pass_kind {
  HLO_PASS_KIND_OPT,
  HLO_PASS_KIND_LOWER,
} hlo_pass_kind_t;

/// A row of a table of passes.
typedef struct hlo_pass_info {
  const char* name;
  hlo_pass_fn_t function;
  hlo_pass_kind_t kind;
  const char* argument;  // allowed after "name=", "" for none
  const hlo_op_t* ops;   // changes only modules with one of them (ended by HLO_OP_COUNT); NULL: any
  const char* purpose;
} hlo_pass_info_t;

/// A table of passes, sorted by name. This layer has one; layers above have their own.
typedef struct hlo_pass_set {
  const hlo_pass_info_t* passes;
  uint32_t count;
  const char* subject;  // heads the table on a page; NULL for the passes of this layer
} hlo_pass_set_t;

/// The rows of passes.def, which index hlo_pass_table.
typedef enum hlo_pass_id {
#define HLO_PASS(id, ...) HLO_PASS_ID_##id,
#include "passes/passes.def"
#undef HLO_PASS
  HLO_PASS_ID_COUNT,
} hlo_pass_id_t;

extern const hlo_pass_info_t hlo_pass_table[HLO_PASS_ID_COUNT];
extern const hlo_pass_set_t hlo_pass_set;

/// Returns "opt" or "lower".
const char* hlo_pass_kind_name(hlo_pass_kind_t kind);
/// Writes how to run passes as the head of a Markdown page.
void hlo_passes_markdown(hlo_strbuf_t* out);
/// Writes the rows of a set as a Markdown table.
void hlo_pass_set_markdown(const hlo_pass_set_t* set, hlo_strbuf_t* out);

/// The outcome of one pass.
typedef struct hlo_pass_stats {
  const hlo_pass_info_t* pass;
  uint32_t position;    // in the list, from 0
  uint32_t step_count;  // rewrites; 0: the pass changed nothing
} hlo_pass_stats_t;

/// Zero-initialised: no checks, the whole list.
typedef struct hlo_pass_options {
  const hlo_env_t* env;        // to evaluate constants in; NULL: hlo_env_default()
  bool verify_each;            // verify the module after every pass that changed it
  bool run_twice;              // an opt pass must report no change when run again
  bool keeps_attention;        // products with a softmax between them stay as they are
  bool check_changed;          // a pass that reports no change must not change the module's hash
  uint32_t stop_after;         // number of passes to run (bisection); 0: all
  int64_t fold_element_limit;  // largest constant that folding makes; 0: 4096
  uint32_t replica_count, partition_count;  // processes that run the program; 0: unknown
  /// Collectives that are never asynchronous, and those with memory of their own (op_list.h in
  /// codegen/lower); NULL or "": none.
  const char *sync_collectives, *collective_memory;
  hlo_diag_t* diag;  // faults found by verify_each; may be NULL
  /// Called after every pass (printing); may be NULL. The module is lent.
  void (*after)(void* context, const hlo_pass_stats_t* stats, const hlo_module_t* module);
  void* after_context;
  const hlo_pass_set_t* more;  // passes of another layer that lists may name; may be NULL
  /// Partitions custom calls (ir/custom_partitioner.h); lent, NULL: nobody does.
  const struct hlo_custom_partitioner* custom_partitioner;
  hlo_dumper_t* dumper;  // writes the module after every pass; may be NULL
  hlo_trace_t* trace;    // gets a span per pass; may be NULL
} hlo_pass_options_t;

/// One entry of a list of passes.
typedef struct hlo_pass_step {
  const hlo_pass_info_t* pass;
  const char* argument;  // NULL: none
} hlo_pass_step_t;

typedef struct hlo_pass_list {
  const hlo_pass_step_t* steps;
  uint32_t count;
} hlo_pass_list_t;

/// Writes "name,name=argument,..." with `separator` for the commas.
void hlo_pass_list_print(hlo_pass_list_t list, const char* separator, hlo_strbuf_t* out);
/// Like hlo_passes_run() for a list that is not text.
hlo_status_t hlo_pass_list_run(hlo_module_t* module, hlo_pass_list_t list,
                               const hlo_pass_options_t* options) HLO_MUST_USE;

/// Runs "name,name=argument,..." over a verified module, which remains verified. options may be
/// NULL. An empty list does nothing. Names are checked before any pass runs; they are those of
/// this layer and of options->more.
/// errors : INVALID_ARGUMENT (unknown pass, with the closest name; a bad argument), INTERNAL (a
/// check failed, named after the pass), those of the passes, RESOURCE_EXHAUSTED
hlo_status_t hlo_passes_run(hlo_module_t* module, const char* comma_list,
                            const hlo_pass_options_t* options) HLO_MUST_USE;
