// SPDX-License-Identifier: Apache-2.0
// Compilation in phases (see phases.h). A phase that runs twice changes nothing, so the last one
// compiles as hlo_compile() does.
#include "compiler/phases.h"

#include <assert.h>

#include "base/mem.h"
#include "compiler/compiler_impl.h"
#include "frontend/frontend.h"
#include "ir/infer.h"
#include "ir/print.h"

static_assert((int)HLO_PHASE_COUNT == (int)HLO_STAGE_COUNT, "phases are stages");

const char* hlo_phase_name(hlo_phase_t phase) {
  return hlo_stage_info((hlo_stage_t)phase)->name;
}

hlo_status_t hlo_phase_from_name(const char* name, hlo_phase_t* out_phase) {
  hlo_stage_t stage;
  HLO_TRY(hlo_stage_from_name(name, &stage));
  *out_phase = (hlo_phase_t)stage;
  return hlo_ok();
}

static hlo_status_t transform(hlo_phase_t phase, hlo_module_t* module,
                              const hlo_compile_config_t* config, hlo_strbuf_t* out) {
  HLO_TRY(hlo_module_verify(module, NULL));
  hlo_func_t* entry;
  HLO_TRY(hlo_compile_prepare_entry(module, config, &entry));
  HLO_TRY(hlo_compile_run_stages(module, (hlo_stage_t)phase, (hlo_stage_t)phase, config, NULL));
  hlo_print_module(module, &(hlo_print_options_t){.locations = true}, out);
  return hlo_strbuf_status(out);
}

static hlo_status_t generate(const void* bytes, size_t size_bytes,
                             const hlo_compile_config_t* config, const void* options,
                             size_t options_bytes, hlo_strbuf_t* out) {
  hlo_executable_t* executable;
  HLO_TRY(hlo_compile(bytes, size_bytes, NULL, config, options, options_bytes, NULL, &executable));
  uint8_t* serialized;
  size_t serialized_bytes;
  hlo_status_t status = hlo_executable_serialize(executable, &serialized, &serialized_bytes);
  hlo_executable_release(executable);
  HLO_TRY(status);
  hlo_strbuf_append(out, (const char*)serialized, serialized_bytes);
  hlo_mem_free(serialized);
  return hlo_strbuf_status(out);
}

hlo_status_t hlo_phase_run(hlo_phase_t phase, const void* bytes, size_t size_bytes,
                           const hlo_compile_config_t* config, const void* options,
                           size_t options_bytes, hlo_strbuf_t* out) {
  if (phase == HLO_PHASE_NATIVE) {
    return generate(bytes, size_bytes, config, options, options_bytes, out);
  }
  const hlo_frontend_options_t read = {.elided = config->elided, .flat_results = true};
  hlo_module_t* module;
  HLO_TRY(hlo_frontend_load(bytes, size_bytes, NULL, &read, NULL, &module));
  hlo_status_t status = transform(phase, module, config, out);
  hlo_module_release(module);
  return status;
}
