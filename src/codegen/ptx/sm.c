// SPDX-License-Identifier: Apache-2.0
// The tables of sm.def (see sm.h).
#include "codegen/ptx/sm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

typedef struct sm_row {
  uint32_t capability, version, arch_version, family_version;
  hlo_ptx_mma_t mma;
  uint32_t shared_kib;
} sm_row_t;

static const sm_row_t kSms[] = {
#define HLO_PTX_SM(capability, version, arch, family, mma, shared) \
  {capability, version, arch, family, HLO_PTX_MMA_##mma, shared},
#include "codegen/ptx/sm.def"
};
enum { SM_COUNT = sizeof kSms / sizeof *kSms };

uint32_t hlo_ptx_version_of_cuda(uint32_t cuda) {
  static const struct {
    uint32_t cuda, version;
  } kToolkits[] = {
#define HLO_PTX_CUDA(cuda, version) {cuda, version},
#include "codegen/ptx/sm.def"
  };
  uint32_t version = 0;
  for (uint32_t i = 0; i < sizeof kToolkits / sizeof *kToolkits; ++i) {
    if (kToolkits[i].cuda <= cuda) version = kToolkits[i].version;
  }
  return version;
}

// Returns the first version that knows a row's target of a suffix; 0: there is no such target.
static uint32_t version_of(const sm_row_t* row, char suffix) {
  return suffix == 'a' ? row->arch_version : suffix == 'f' ? row->family_version : row->version;
}

static hlo_ptx_target_t target_of(const sm_row_t* row, char suffix) {
  // Instructions that only sm_Na has are not for sm_N.
  const bool is_general = !suffix && row->arch_version;
  const hlo_ptx_mma_t mma =
      is_general && row->mma != HLO_PTX_MMA_NONE ? HLO_PTX_MMA_WARP : row->mma;
  return (hlo_ptx_target_t){row->capability, suffix, version_of(row, suffix), mma,
                            (int64_t)row->shared_kib << 10};
}

static hlo_status_t unknown_name(const char* name) {
  HLO_SCOPED_STRBUF names = {0};
  for (uint32_t i = 0; i < SM_COUNT; ++i) {
    hlo_strbuf_printf(&names, "%ssm_%u", i ? ", " : "", kSms[i].capability);
    if (kSms[i].arch_version) hlo_strbuf_printf(&names, ", sm_%ua", kSms[i].capability);
    if (kSms[i].family_version) hlo_strbuf_printf(&names, ", sm_%uf", kSms[i].capability);
  }
  HLO_TRY(hlo_strbuf_status(&names));
  return hlo_invalid_argument("unknown GPU target '%s'; the known ones are %s", name,
                              hlo_strbuf_text(&names));
}

hlo_status_t hlo_ptx_target_parse(const char* name, hlo_ptx_target_t* out_target) {
  if (strncmp(name, "sm_", 3) != 0 || name[3] < '0' || name[3] > '9') return unknown_name(name);
  char* end;
  const unsigned long capability = strtoul(name + 3, &end, 10);
  const char suffix = *end;
  if (suffix && (end[1] || (suffix != 'a' && suffix != 'f'))) return unknown_name(name);
  for (uint32_t i = 0; i < SM_COUNT; ++i) {
    if (kSms[i].capability != capability || !version_of(&kSms[i], suffix)) continue;
    *out_target = target_of(&kSms[i], suffix);
    return hlo_ok();
  }
  return unknown_name(name);
}

hlo_status_t hlo_ptx_target_find(uint32_t capability, hlo_ptx_target_t* out_target) {
  const sm_row_t* row = NULL;
  if (capability < kSms[0].capability) {
    return hlo_unimplemented("GPUs of capability %u.%u; the oldest known one is %u.%u",
                             capability / 10, capability % 10, kSms[0].capability / 10,
                             kSms[0].capability % 10);
  }
  for (uint32_t i = 0; i < SM_COUNT && kSms[i].capability <= capability; ++i) row = &kSms[i];
  char suffix = 0;
  if (row->capability == capability) {
    suffix = row->arch_version ? 'a' : 0;
  } else if (row->capability / 10 == capability / 10) {
    suffix = row->family_version ? 'f' : 0;
  }
  *out_target = target_of(row, suffix);
  return hlo_ok();
}

void hlo_ptx_target_name(const hlo_ptx_target_t* target, char name[HLO_PTX_NAME_BYTES]) {
  snprintf(name, HLO_PTX_NAME_BYTES, "sm_%u%s", target->capability,
           target->suffix == 'a'   ? "a"
           : target->suffix == 'f' ? "f"
                                   : "");
}
