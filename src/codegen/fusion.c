// SPDX-License-Identifier: Apache-2.0
// Cutting functions into steps (see fusion.h): no fusions are formed here.
#include "codegen/fusion.h"

#include "codegen/schedule_plain.h"

hlo_status_t hlo_schedule_create(const hlo_func_t* func, const hlo_target_t* target,
                                 hlo_arena_t* arena, hlo_schedule_t** out_schedule) {
  (void)target;
  return hlo_schedule_create_plain(func, arena, out_schedule);
}

const hlo_sequence_t* hlo_schedule_find(const hlo_schedule_t* schedule,
                                        const hlo_region_t* region) {
  for (uint32_t i = 0; i < schedule->sequence_count; ++i) {
    if (schedule->sequences[i].region == region) return &schedule->sequences[i];
  }
  return NULL;
}

hlo_status_t hlo_kernel_create(const hlo_fusion_t* fusion, const hlo_target_t* target,
                               hlo_arena_t* arena, hlo_kernel_t** out_kernel) {
  (void)fusion, (void)target, (void)arena, (void)out_kernel;
  return hlo_status_create(HLO_STATUS_UNIMPLEMENTED, "fused kernels");
}

uint64_t hlo_kernel_chunk_count(const hlo_kernel_t* kernel) {
  (void)kernel;
  return 1;
}

bool hlo_kernel_may_share(const hlo_kernel_t* kernel, uint32_t output, uint32_t input) {
  (void)kernel, (void)output, (void)input;
  return false;
}

void hlo_kernel_emit(const hlo_kernel_t* kernel, hlo_vir_builder_t* b,
                     hlo_vir_value_t* const* addresses, hlo_vir_value_t* chunk,
                     uint32_t (*site_of)(void* context, const hlo_node_t* node), void* context) {
  (void)kernel, (void)b, (void)addresses, (void)chunk, (void)site_of, (void)context;
}
