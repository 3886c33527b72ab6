// SPDX-License-Identifier: Apache-2.0
// The back end that makes code (see backend_native.h).
#include "compiler/backend_native.h"

#include "base/mem.h"
#include "codegen/prepare.h"
#include "codegen/program.h"
#include "compiler/backend_interp.h"
#include "compiler/signature.h"

typedef struct native_data {
  hlo_program_t base;
  hlo_code_program_t* program;
} native_data_t;

static void native_destroy(hlo_program_t* program) {
  native_data_t* data = (native_data_t*)program;
  hlo_code_program_release(data->program);
  hlo_mem_free(data);
}

static hlo_status_t wrap(const hlo_backend_t* backend, bool is_cheap, hlo_code_program_t* program,
                         hlo_program_t** out_program) {
  native_data_t* data = hlo_mem_alloc_zeroed(sizeof *data);
  if (!data) {
    hlo_code_program_release(program);
    return hlo_status_out_of_memory(sizeof *data);
  }
  data->program = program;
  data->base = (hlo_program_t){.backend = backend,
                               .entry = hlo_code_program_entry(program),
                               .data = hlo_code_program_data(program),
                               .destroy = native_destroy,
                               .temporary_bytes = hlo_code_program_temporary_bytes(program),
                               .saved_bytes = hlo_code_program_saved_bytes(program),
                               .code_bytes = hlo_code_program_code_bytes(program),
                               .is_cheap = is_cheap};
  *out_program = &data->base;
  return hlo_ok();
}

// A program that cannot be compiled is worth a line; a machine that forbids it, a warning.
static hlo_status_t leave_to_interpreter(hlo_module_t* module, const hlo_compile_config_t* config,
                                         bool is_forbidden, const char* cause,
                                         hlo_program_t** out_program) {
  if (config->listing) return hlo_status_create(HLO_STATUS_UNIMPLEMENTED, "no code: %s", cause);
  if (config->observer && is_forbidden) {
    HLO_LOG(&config->observer->log, WARN, "interpreted, not compiled: %s", cause);
  } else if (config->observer) {
    HLO_LOG(&config->observer->log, INFO, "interpreted, not compiled: %s", cause);
  }
  return hlo_backend_interp.compile(&hlo_backend_interp, module, config, out_program);
}

static hlo_status_t make(const hlo_backend_t* backend, const hlo_func_t* func,
                         hlo_module_t* prepared, const hlo_compile_config_t* config,
                         hlo_program_t** out_program) {
  hlo_cpu_t cpu;
  hlo_status_t status = hlo_cpu_detect(config->cpu, &cpu);
  if (!hlo_status_is_ok(status)) {
    hlo_module_release(prepared);
    return status;
  }
  hlo_code_options_t options = {.executor = HLO_EXECUTOR_MACHINE,
                                .is_plain = backend == &hlo_backend_plain,
                                .check_plan = config->verify_each,
                                .is_checked = config->verify_each && !config->listing,
                                .name = func->name,
                                .jit = {.perf = config->perf, .gdb = config->gdb},
                                .compiler = config->cc,
                                .dumper = config->dumper,
                                .listing = config->listing};
  hlo_target_init(&cpu, &options.target);
  if (backend == &hlo_backend_vir || config->listing) {
    options.executor = HLO_EXECUTOR_INTERPRETER;
  } else if (backend == &hlo_backend_c) {
    options.executor = HLO_EXECUTOR_C;
  } else if (!options.target.has_encoder) {
    hlo_module_release(prepared);
    return hlo_status_create(HLO_STATUS_UNIMPLEMENTED, "machine code for a processor without AVX2");
  }
  hlo_code_program_t* program = NULL;
  const hlo_func_t* entry = hlo_module_find_func(prepared, func->name);
  bool is_cheap = hlo_func_is_cheap(entry);
  HLO_TRY(hlo_code_program_create(prepared, entry, &options, &program));
  return wrap(backend, is_cheap, program, out_program);
}

static hlo_status_t compile(const hlo_backend_t* backend, hlo_module_t* module,
                            const hlo_compile_config_t* config, hlo_program_t** out_program) {
  const hlo_func_t* func = hlo_backend_entry(module, config);
  hlo_strbuf_t cause = {0};
  hlo_module_t* prepared = NULL;
  hlo_status_t status = hlo_prepare_module(module, func->name, &cause, &prepared);
  if (hlo_status_is_ok(status) && prepared) {
    status = make(backend, func, prepared, config, out_program);
    hlo_status_code_t code = hlo_status_code(status);
    if (code == HLO_STATUS_UNIMPLEMENTED || code == HLO_STATUS_PERMISSION_DENIED) {
      hlo_strbuf_puts(&cause, hlo_status_message(status));
      hlo_status_release(status);
      status = leave_to_interpreter(module, config, code == HLO_STATUS_PERMISSION_DENIED,
                                    hlo_strbuf_text(&cause), out_program);
    }
  } else if (hlo_status_is_ok(status)) {
    status = leave_to_interpreter(module, config, false, hlo_strbuf_text(&cause), out_program);
  }
  hlo_strbuf_deinit(&cause);
  return status;
}

const hlo_backend_t hlo_backend_native = {"native", compile};
const hlo_backend_t hlo_backend_vir = {"vir", compile};
const hlo_backend_t hlo_backend_plain = {"plain", compile};
const hlo_backend_t hlo_backend_c = {"c", compile};
