// SPDX-License-Identifier: Apache-2.0
// Kernels: how a fusion is computed by loops, and the vector IR of these. What other rooms ask of
// them; kernel_impl.h has what they are.
#ifndef HLO_CODEGEN_LOOPS_KERNEL_H_
#define HLO_CODEGEN_LOOPS_KERNEL_H_

#include "codegen/body/schedule.h"
#include "codegen/body/verdict.h"
#include "codegen/target/target.h"
#include "codegen/vir/builder.h"
#include "tile/memo.h"

/// How one fusion is computed: its loops and how they are cut into chunks that may run in parallel.
typedef struct hlo_kernel hlo_kernel_t;

/// Loops that one kind of node has instead of those over elements (kernel_form.h).
typedef struct hlo_kernel_form hlo_kernel_form_t;

/// Chooses how loops compute a fusion, once; later calls return the same kernel. *out_kernel is set
/// only if *out_verdict is not a no. products: the form of nodes that loops over elements would be
/// slow for; NULL: none. memo: of systems solved before for the same target; NULL: none.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_try(hlo_fusion_t* fusion, const hlo_target_t* target,
                            const hlo_kernel_form_t* products, hlo_tile_memo_t* memo,
                            hlo_arena_t* arena, hlo_verdict_t* out_verdict,
                            hlo_kernel_t** out_kernel) HLO_MUST_USE;
/// The same for a fusion of a schedule, which loops compute.
/// errors: INTERNAL if they do not, RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_create(hlo_fusion_t* fusion, const hlo_target_t* target,
                               const hlo_kernel_form_t* products, hlo_tile_memo_t* memo,
                               hlo_arena_t* arena, hlo_kernel_t** out_kernel) HLO_MUST_USE;
/// How the loops of a kernel are cut: those of more nodes are cut there as well, and perhaps
/// further (hlo_fusion_t.start). Written to *start, which is made in `arena` where it is NULL.
/// errors: RESOURCE_EXHAUSTED
typedef struct hlo_kernel_start hlo_kernel_start_t;
hlo_status_t hlo_kernel_keep_start(const hlo_kernel_t* kernel, hlo_arena_t* arena,
                                   hlo_kernel_start_t** start) HLO_MUST_USE;
/// Whether the loops visit the elements of an input in one order only, so that what shares them
/// there loads them once.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_visits_once(const hlo_kernel_t* kernel, uint32_t input,
                                    bool* out_does) HLO_MUST_USE;
/// Which systems of constraints decided how it is computed, and their solutions; appended.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_explain(const hlo_kernel_t* kernel, hlo_strbuf_t* out) HLO_MUST_USE;
/// What its loops are, in a few words: what they compute at a time, over how many loops, in how many
/// chunks. Appended.
void hlo_kernel_describe(const hlo_kernel_t* kernel, hlo_strbuf_t* out);
/// How it could be cut into tiles: parallel and sequential dimensions, values that only running
/// tells, how many tilings there are; of products in vector registers the tiles, those that should
/// take least time first, as lines of machines' descriptions. Appended.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_print_tilings(const hlo_kernel_t* kernel, hlo_strbuf_t* out) HLO_MUST_USE;
/// A kernel is one or more phases, each finished before the next begins.
uint32_t hlo_kernel_phase_count(const hlo_kernel_t* kernel);
/// More than 1: a function run by parallel_for.
uint64_t hlo_kernel_chunk_count(const hlo_kernel_t* kernel, uint32_t phase);
/// What one run takes on one thread, by the description of the machine; 0: not known.
double hlo_kernel_cost_ns(const hlo_kernel_t* kernel);
/// About how many instructions of vector IR it becomes.
uint64_t hlo_kernel_code_size(const hlo_kernel_t* kernel);
/// Whether the code is a function, made once for all equal fusions: it runs in chunks, or a call is
/// nothing beside what the loops take and there are several, or much code.
bool hlo_kernel_is_called(const hlo_kernel_t* kernel);
/// Whether the first phase reads this input, and does nothing but bring such inputs into another
/// form in the scratch memory: as long as they do not change, it need not run again.
bool hlo_kernel_prepares(const hlo_kernel_t* kernel, uint32_t input);
/// Memory beside the buffers that all phases and chunks of one run share, 64-byte
/// aligned; 0 for most.
size_t hlo_kernel_scratch_bytes(const hlo_kernel_t* kernel);
/// Whether an output may be the very memory of an input: every element of the input is read before,
/// or in the same step as, the same element of the output is written, and by the same chunk.
bool hlo_kernel_may_share(const hlo_kernel_t* kernel, uint32_t output, uint32_t input);
/// The input that an output must be a copy of, or the very memory of, before the kernel runs,
/// because it writes only a slice of it (dynamic_update_slice); -1: none.
int32_t hlo_kernel_updates(const hlo_kernel_t* kernel, uint32_t output);
/// Whether it is computed in line, so that single elements among its inputs may be values of the
/// program around it instead of memory.
bool hlo_kernel_reads_values(const hlo_kernel_t* kernel);
/// Whether that goes for an output, too.
bool hlo_kernel_gives_value(const hlo_kernel_t* kernel, uint32_t output);
/// Likewise for arrays of f32 that one vector of so many lanes holds, in row-major order;
/// 0: not at all.
uint32_t hlo_kernel_value_lanes(const hlo_kernel_t* kernel);
/// Emits the loops of a phase at the builder's place. addresses: INDEX base addresses of the
/// fusion's inputs, then outputs, then the scratch memory if there is any, different ones never
/// overlapping but as hlo_kernel_may_share() allowed; chunk: INDEX, NULL when there is one.
/// values: by the same numbers, the input instead of an address where not NULL, in the form of
/// hlo_scalar_form(); outputs without an address are answered there. NULL: all is in memory.
/// errors: sticky in the module
void hlo_kernel_emit(const hlo_kernel_t* kernel, uint32_t phase, hlo_vir_builder_t* b,
                     hlo_vir_value_t* const* addresses, hlo_vir_value_t** values,
                     hlo_vir_value_t* chunk);

/// Checks that what was decided for a kernel is a legal combination (kernel_verify.c lists them), and
/// the walks of its segments.
/// errors: INTERNAL, naming the broken rule; RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_verify(const hlo_kernel_t* kernel) HLO_MUST_USE;

#endif  // HLO_CODEGEN_LOOPS_KERNEL_H_
