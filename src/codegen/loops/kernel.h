// SPDX-License-Identifier: Apache-2.0
// Kernels: the loops that compute a fusion, and their vector IR. The interface for other folders;
// kernel_impl.h has the data.
#pragma once

#include "codegen/body/schedule.h"
#include "codegen/body/verdict.h"
#include "codegen/loops/kernel_config.h"
#include "codegen/target/target.h"
#include "codegen/vir/builder.h"
#include "tile/memo.h"

/// The loops of one fusion, and the chunks that may run in parallel.
typedef struct hlo_kernel hlo_kernel_t;

/// The loops of another folder for one kind of node (kernel_form.h).
typedef struct hlo_kernel_form hlo_kernel_form_t;

/// Chooses the loops of a fusion once; later calls return the same kernel. *out_kernel is set
/// unless *out_verdict is a refusal. products: the form of nodes for which loops over elements
/// would be slow, or NULL. memo: solutions of systems for the same target, or NULL.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_try(hlo_fusion_t* fusion, const hlo_target_t* target,
                            const hlo_kernel_form_t* products, hlo_tile_memo_t* memo,
                            hlo_arena_t* arena, hlo_verdict_t* out_verdict,
                            hlo_kernel_t** out_kernel) HLO_MUST_USE;
/// Chooses the loops of a fusion of a schedule, which are known to exist. errors : INTERNAL if they
/// do not, RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_create(hlo_fusion_t* fusion, const hlo_target_t* target,
                               const hlo_kernel_form_t* products, hlo_tile_memo_t* memo,
                               hlo_arena_t* arena, hlo_kernel_t** out_kernel) HLO_MUST_USE;
/// Stores the splits of a kernel's loops, with which the choice for a larger fusion starts
/// (hlo_fusion_t.start). *start is created in `arena` if NULL.
/// errors : RESOURCE_EXHAUSTED
typedef struct hlo_kernel_start hlo_kernel_start_t;
hlo_status_t hlo_kernel_keep_start(const hlo_kernel_t* kernel, hlo_arena_t* arena,
                                   hlo_kernel_start_t** start) HLO_MUST_USE;
/// Returns true if the loops visit the elements of an input in a single order, so that fusions
/// sharing the input there load it once. errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_visits_once(const hlo_kernel_t* kernel, uint32_t input,
                                    bool* out_does) HLO_MUST_USE;
/// Appends the constraint systems of the kernel's decisions, with their solutions.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_explain(const hlo_kernel_t* kernel, hlo_strbuf_t* out) HLO_MUST_USE;
/// Appends a short description of the loops: their kind, their number, the number of chunks.
void hlo_kernel_describe(const hlo_kernel_t* kernel, hlo_strbuf_t* out);
/// Appends the possible tilings: parallel and sequential dimensions, run-time values, the number of
/// tilings; for products in vector registers the candidate tiles, the fastest first, as lines of a
/// machine description. errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_print_tilings(const hlo_kernel_t* kernel, hlo_strbuf_t* out) HLO_MUST_USE;
/// Returns the kind of choices that the kernel can be given.
hlo_kernel_config_kind_t hlo_kernel_config_kind(const hlo_kernel_t* kernel);
/// Lists configurations that may be faster than the choices of the model, the most promising first;
/// is_exhaustive: all, up to the limit of the list. hlo_kernel_try() may still refuse them.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_list_configs(const hlo_kernel_t* kernel, bool is_exhaustive,
                                     hlo_kernel_configs_t* list) HLO_MUST_USE;
/// Returns the number of elements that an output element is the sum of, at most: of its reductions
/// and contractions; 1 without them.
double hlo_kernel_sum_terms(const hlo_kernel_t* kernel);
/// Returns a number that is equal for kernels of one fusion that add up elements in the same order,
/// so that their results are equal in every bit.
uint64_t hlo_kernel_sum_order(const hlo_kernel_t* kernel);
/// Returns the number of phases; each is complete before the next begins.
uint32_t hlo_kernel_phase_count(const hlo_kernel_t* kernel);
/// Returns the number of chunks; above 1 for a function run by parallel_for.
uint64_t hlo_kernel_chunk_count(const hlo_kernel_t* kernel, uint32_t phase);
/// Returns the modelled time of one run on one thread; 0 if unknown.
double hlo_kernel_cost_ns(const hlo_kernel_t* kernel);
/// Returns the approximate number of vector IR instructions, fitted to the programs of
/// tests/programs; within a factor of two for most.
uint64_t hlo_kernel_code_size(const hlo_kernel_t* kernel);
/// Returns true if the code is a function shared by all equal fusions: it runs in chunks, or a call
/// is cheap beside the loops and there are several uses or much code.
bool hlo_kernel_is_called(const hlo_kernel_t* kernel);
/// Returns true if the first phase reads this input and only converts such inputs into scratch
/// memory: while they are unchanged, it need not run again.
bool hlo_kernel_prepares(const hlo_kernel_t* kernel, uint32_t input);
/// Returns the 64-byte aligned memory that all phases and chunks of one run share besides the
/// buffers; usually 0.
size_t hlo_kernel_scratch_bytes(const hlo_kernel_t* kernel);
/// Returns true if an output may occupy the memory of an input: every element of the input is read
/// before, or in the same step as, the same element of the output is written, and by the same
/// chunk.
bool hlo_kernel_may_share(const hlo_kernel_t* kernel, uint32_t output, uint32_t input);
/// Returns the input that an output must be a copy of, or share memory with, before the kernel
/// runs, because the kernel writes only a slice of it (dynamic_update_slice); -1: none.
int32_t hlo_kernel_updates(const hlo_kernel_t* kernel, uint32_t output);
/// Returns true if the kernel is inlined, so that single elements among its inputs may be values of
/// the surrounding program instead of memory.
bool hlo_kernel_reads_values(const hlo_kernel_t* kernel);
/// Returns true if the same holds for an output.
bool hlo_kernel_gives_value(const hlo_kernel_t* kernel, uint32_t output);
/// Returns the lanes of f32 arrays that may be values likewise, held by one vector in row-major
/// order; 0: none.
uint32_t hlo_kernel_value_lanes(const hlo_kernel_t* kernel);
/// Emits the loops of a phase at the builder's insertion point. addresses: INDEX base addresses of
/// the fusion's inputs, outputs, and scratch memory if any; they overlap only as
/// hlo_kernel_may_share() allows. chunk: INDEX, or NULL if there is one chunk. values: by the same
/// numbers, an input's value instead of its address if not NULL, in the form of hlo_scalar_form();
/// outputs without an address are returned there. NULL: everything is in memory. errors : sticky in
/// the module
void hlo_kernel_emit(const hlo_kernel_t* kernel, uint32_t phase, hlo_vir_builder_t* b,
                     hlo_vir_value_t* const* addresses, hlo_vir_value_t** values,
                     hlo_vir_value_t* chunk);

/// Checks that the decisions form a legal combination (listed in kernel_kind.c), and the walks of
/// the segments. errors : INTERNAL naming the broken rule; RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_verify(const hlo_kernel_t* kernel) HLO_MUST_USE;
