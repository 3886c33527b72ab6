// SPDX-License-Identifier: Apache-2.0
// The table of passes over programs for several devices (see passes.h).
#include "spmd/passes.h"

static const hlo_pass_info_t kPasses[] = {
#define HLO_PASS(id, kind, argument, purpose) \
  {#id, hlo_pass_##id, HLO_PASS_KIND_##kind, argument, purpose},
#include "spmd/passes.def"
#undef HLO_PASS
};

const hlo_pass_set_t hlo_spmd_pass_set = {kPasses, sizeof kPasses / sizeof kPasses[0],
                                          "Programs over several devices"};
