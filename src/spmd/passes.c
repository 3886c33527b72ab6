// SPDX-License-Identifier: Apache-2.0
// The table of passes over programs for several devices (see passes.h).
#include "spmd/passes.h"

#include <stdlib.h>

const hlo_pass_info_t hlo_spmd_pass_table[HLO_SPMD_PASS_ID_COUNT] = {
#define ANY NULL
#define HLO_PASS(id, kind, argument, ops, purpose) \
  {#id, hlo_pass_##id, HLO_PASS_KIND_##kind, argument, ops, purpose},
#include "spmd/passes.def"
#undef HLO_PASS
#undef ANY
};

const hlo_pass_set_t hlo_spmd_pass_set = {hlo_spmd_pass_table, HLO_SPMD_PASS_ID_COUNT,
                                          "Programs over several devices"};

#define PASS(id) &hlo_spmd_pass_table[HLO_SPMD_PASS_ID_##id]

static const hlo_pass_step_t kPartition[] = {
    {PASS(partition), NULL},
    {&hlo_pass_table[HLO_PASS_ID_cse], NULL},
    {&hlo_pass_table[HLO_PASS_ID_dce], NULL},
    {PASS(simplify_collectives), NULL},
    {PASS(create_reduce_scatter), NULL},
    {PASS(sink_all_reduces), NULL},
    {PASS(combine_collectives), NULL},
};

const hlo_pass_list_t hlo_spmd_partition_list = {kPartition,
                                                 sizeof kPartition / sizeof *kPartition};

hlo_status_t hlo_bytes_argument(const hlo_pass_ctx_t* ctx, uint64_t fallback, uint64_t* out_bytes) {
  char* end = NULL;
  *out_bytes = fallback;
  if (!ctx->argument) return hlo_ok();
  *out_bytes = strtoull(ctx->argument, &end, 10);
  if (*ctx->argument >= '0' && *ctx->argument <= '9' && !*end) return hlo_ok();
  return hlo_invalid_argument("'%s' is not a number of bytes", ctx->argument);
}
