// SPDX-License-Identifier: Apache-2.0
// What a function's body becomes before code is made: a sequence of steps, most of them fusions,
// groups of ops computed together by one loop nest, so that values between them never reach memory.
#ifndef HLO_CODEGEN_FUSION_H_
#define HLO_CODEGEN_FUSION_H_

#include "codegen/target/target.h"
#include "codegen/vir/builder.h"
#include "ir/module.h"
#include "tile/memo.h"

/// Kernels that run side by side, as chunks of one parallel loop: neighbours in their sequence, none
/// of which reads or updates what another one makes.
typedef struct hlo_team {
  uint32_t index;  // dense in the schedule
  uint32_t member_count;
  struct hlo_fusion* const* members;  // in the order of their steps
} hlo_team_t;

/// A fused kernel. Cheap nodes (broadcasts, constants, iota ...) may be members of several fusions.
typedef struct hlo_fusion {
  uint32_t index;  // dense in the schedule
  uint32_t node_count, input_count, output_count;
  uint32_t side_count;  // outputs of another size than the first one's: the last ones
  hlo_node_t** nodes;
  hlo_value_t** inputs;   // read from memory
  hlo_value_t** outputs;  // written to memory: members' results that others use
  struct hlo_kernel* kernel;  // once hlo_kernel_create() has made it; that of `model` if any
  const struct hlo_fusion* model;  // the first of several equal fusions (the same computation of
                                   // other values, in the same order); NULL: the only one
  const hlo_team_t* team;          // NULL: it runs by itself
  const struct hlo_kernel_start* start;  // how loops of fewer nodes are cut, where finding those of
                                         // this one begins; NULL: it begins with nothing
} hlo_fusion_t;

typedef enum hlo_step_kind {
  HLO_STEP_FUSION,   // `fusion`
  HLO_STEP_VIEW,     // `node`: the same bytes under another type (reshape), no work if shared
  HLO_STEP_SITE,     // `node`: computed by a leaf kernel or the reference function
  HLO_STEP_CONTROL,  // `node`: while, if, case; each of its regions has its own sequence
} hlo_step_kind_t;

typedef struct hlo_step {
  hlo_step_kind_t kind;
  hlo_node_t* node;  // the last member for a fusion
  hlo_fusion_t* fusion;
} hlo_step_t;

/// Ops that say the same bytes anew, under another type or none: steps of kind VIEW, if not fused.
bool hlo_node_is_view(const hlo_node_t* node);

typedef struct hlo_value_list {
  uint32_t count;
  const hlo_value_t* const* values;
} hlo_value_list_t;
/// What a step reads, with what its regions use of the scope around it: the fusion's own list, or
/// one in `arena`. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_step_list_read(const hlo_step_t* step, hlo_arena_t* arena,
                                hlo_value_list_t* out_read) HLO_MUST_USE;

/// The team that a step is one of; NULL: none.
static inline const hlo_team_t* hlo_step_team(const hlo_step_t* step) {
  return step->fusion ? step->fusion->team : NULL;
}

/// The steps of one region, in an order that respects uses and tokens. Constants and the
/// terminator are no steps.
typedef struct hlo_sequence {
  const hlo_region_t* region;
  uint32_t step_count;
  hlo_step_t* steps;
} hlo_sequence_t;

typedef struct hlo_schedule {
  uint32_t sequence_count, fusion_count, team_count;
  hlo_sequence_t* sequences;  // the function's body first
  uint32_t* sequence_of;      // by index of the region's terminator: its number + 1
  uint64_t walked_count;      // members of all kernels made or tried: what fusing has cost
} hlo_schedule_t;

/// Cuts a function (static shapes, calls inlined) into steps. Everything is allocated in `arena`.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_create(const hlo_func_t* func, const hlo_target_t* target,
                                 hlo_arena_t* arena, hlo_schedule_t** out_schedule) HLO_MUST_USE;
/// What a schedule's maker does last: its sequences can be found then.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_finish(hlo_schedule_t* schedule, const hlo_module_t* module,
                                 hlo_arena_t* arena) HLO_MUST_USE;
const hlo_sequence_t* hlo_schedule_find(const hlo_schedule_t* schedule, const hlo_region_t* region);

/// How one fusion is computed: its loops and how they are cut into chunks that may run in parallel.
typedef struct hlo_kernel hlo_kernel_t;

/// Made once for a fusion; later calls answer the same one. memo: of systems solved before for the
/// same target; NULL: none.
/// errors: UNIMPLEMENTED when loops cannot compute it (never for a fusion of a schedule),
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_create(hlo_fusion_t* fusion, const hlo_target_t* target,
                               hlo_tile_memo_t* memo, hlo_arena_t* arena,
                               hlo_kernel_t** out_kernel) HLO_MUST_USE;
/// Whether the loops visit the elements of an input in one order only, so that what shares them
/// there loads them once.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_visits_once(const hlo_kernel_t* kernel, uint32_t input,
                                    bool* out_does) HLO_MUST_USE;
/// Which systems of constraints decided how it is computed, and their solutions; appended.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_explain(const hlo_kernel_t* kernel, hlo_strbuf_t* out) HLO_MUST_USE;
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

#endif  // HLO_CODEGEN_FUSION_H_
