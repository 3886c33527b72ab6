// SPDX-License-Identifier: Apache-2.0
// The back end that makes code (see backend_native.h).
#include "compiler/backends.h"

#include <string.h>

#include "base/mem.h"
#include "codegen/image/listing.h"
#include "codegen/image/program.h"
#include "codegen/loops/tile_kernel.h"
#include "codegen/lower/prepare.h"
#include "compiler/cache.h"
#include "compiler/execute.h"
#include "compiler/signature.h"
#include "compiler/tuner.h"
#include "interp/scalar.h"

typedef struct native_data {
  hlo_program_t base;
  hlo_code_program_t* program;
  const char* entry;    // the function's name, in the executable's module
  hlo_target_t target;  // of machine code
  uint64_t temporary_limit;
  uint64_t choices;  // of kernels, that were given
} native_data_t;

static void native_destroy(hlo_program_t* program) {
  native_data_t* data = (native_data_t*)program;
  hlo_code_program_release(data->program);
  hlo_mem_free(program->cause);
  hlo_mem_free(data);
}

static hlo_status_t wrap(const hlo_backend_t* backend, hlo_env_t env, bool is_cheap,
                         hlo_code_program_t* program, hlo_program_t** out_program) {
  native_data_t* data = hlo_mem_alloc_zeroed(sizeof *data);
  if (!data) {
    hlo_code_program_release(program);
    return hlo_status_out_of_memory(sizeof *data);
  }
  data->program = program;
  data->base = (hlo_program_t){.backend = backend,
                               .entry = hlo_code_program_entry(program),
                               .env = env,
                               .data = hlo_code_program_data(program),
                               .destroy = native_destroy,
                               .temporary_bytes = hlo_code_program_temporary_bytes(program),
                               .saved_bytes = hlo_code_program_saved_bytes(program),
                               .code_bytes = hlo_code_program_code_bytes(program),
                               .is_cheap = is_cheap};
  data->base.foreign_count = hlo_code_program_foreign_calls(program, &data->base.foreign_nodes);
  *out_program = &data->base;
  return hlo_ok();
}

static void dump_cause(hlo_dumper_t* dumper, const char* cause) {
  if (!hlo_dump_wants(dumper, HLO_DUMP_STAGE_plan)) return;
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_printf(&text, "interpreted, not compiled: %s\n", cause);
  hlo_dump_text(dumper, HLO_DUMP_STAGE_plan, &text);
}

// A program that cannot be compiled is logged; a machine that forbids machine code is a warning.
static hlo_status_t leave_to_interpreter(hlo_module_t* module, const hlo_compile_config_t* config,
                                         bool is_forbidden, const char* cause,
                                         hlo_program_t** out_program) {
  // The location comes first in a message.
  if (config->listing && config->listing->form != HLO_LISTING_SPMD) {
    return hlo_unimplemented("%s (so there is no code)", cause);
  }
  if (config->observer && is_forbidden) {
    HLO_LOG(&config->observer->log, WARN, "interpreted, not compiled: %s", cause);
  } else if (config->observer) {
    HLO_LOG(&config->observer->log, INFO, "interpreted, not compiled: %s", cause);
  }
  dump_cause(config->dumper, cause);
  HLO_TRY(hlo_backend_interp.compile(&hlo_backend_interp, module, config, out_program));
  (*out_program)->cause = hlo_mem_strndup(cause, strlen(cause));  // NULL: no cause is kept
  return hlo_ok();
}

// ---- cached code -------------------------------------------------------------------------------

// Serialized programs: the key, then the image.
static hlo_status_t native_save(const hlo_program_t* program, hlo_strbuf_t* out) {
  const native_data_t* data = (const native_data_t*)program;
  hlo_digest_t key;
  if (!hlo_cache_key_make(hlo_code_program_module(data->program), data->entry,
                          program->backend->name, &data->target, data->temporary_limit,
                          data->choices, &key)) {
    return hlo_ok();
  }
  size_t start = out->length;
  hlo_strbuf_append(out, (const char*)&key, sizeof key);
  HLO_TRY(hlo_code_program_save(data->program, out));
  if (out->length == start + sizeof key) out->length = start;  // no image follows
  return hlo_ok();
}

static bool load_image(const hlo_code_options_t* options, hlo_module_t* prepared,
                       const hlo_compile_config_t* config, const void* bytes, size_t size_bytes,
                       hlo_code_program_t** out_program) {
  const hlo_func_t* entry = hlo_module_find_func(prepared, options->name);
  hlo_status_t status =
      hlo_code_program_load(prepared, entry, bytes, size_bytes, options, out_program);
  bool is_loaded = hlo_status_is_ok(status);
  if (!is_loaded && config->observer) {
    HLO_LOG(&config->observer->log, INFO, "compiled again: %s", hlo_status_message(status));
  }
  hlo_status_release(status);
  return is_loaded;
}

// Takes over the module if it returns true. Tries the serialized program, then the cache.
static bool load_earlier(const hlo_code_options_t* options, hlo_module_t* prepared,
                         const hlo_compile_config_t* config, const hlo_digest_t* key,
                         hlo_code_program_t** out_program) {
  hlo_digest_t given;
  if (config->code_bytes > sizeof given) {
    memcpy(&given, config->code, sizeof given);
    if (hlo_digest_equal(&given, key) &&
        load_image(options, prepared, config, (const uint8_t*)config->code + sizeof given,
                   config->code_bytes - sizeof given, out_program)) {
      return true;
    }
  }
  hlo_cache_image_t* image = config->cache ? hlo_compile_cache_find(config->cache, key) : NULL;
  bool is_loaded = image && load_image(options, prepared, config, image->bytes,
                                       image->item.size_bytes, out_program);
  hlo_cache_image_release(image);
  return is_loaded;
}

static void keep(hlo_compile_cache_t* cache, const hlo_digest_t* key,
                 const hlo_code_program_t* program) {
  HLO_SCOPED_STRBUF image = {0};
  hlo_status_t status = hlo_code_program_save(program, &image);
  if (hlo_status_is_ok(status) && image.length) {
    hlo_compile_cache_add(cache, key, hlo_strbuf_text(&image), image.length);
  }
  hlo_status_release(status);
}

// Code that is to be printed, checked or profiled is always generated.
static bool wants_making(const hlo_compile_config_t* config) {
  return config->verify_each || config->profile_steps || config->listing ||
         hlo_dump_wants(config->dumper, HLO_DUMP_STAGE_tile) ||
         hlo_dump_wants(config->dumper, HLO_DUMP_STAGE_plan) ||
         hlo_dump_wants(config->dumper, HLO_DUMP_STAGE_vector) ||
         hlo_dump_wants(config->dumper, HLO_DUMP_STAGE_asm);
}

// ---- code generation ---------------------------------------------------------------------------

// Machine code of a module that is taken over: generated, or from the cache.
static hlo_status_t make_program(const hlo_backend_t* backend, hlo_module_t* prepared,
                                 const hlo_compile_config_t* config,
                                 const hlo_code_options_t* options, bool* out_is_reused,
                                 hlo_code_program_t** out_program) {
  hlo_digest_t key;
  bool is_kept = config->cache && hlo_compile_cache_keeps(config->cache);
  bool has_key = options->executor == HLO_EXECUTOR_MACHINE && (is_kept || config->code_bytes) &&
                 !wants_making(config) &&
                 hlo_cache_key_make(prepared, options->name, backend->name, &options->target,
                                    options->temporary_limit,
                                    hlo_config_table_hash(options->configs, 0), &key);
  *out_is_reused = has_key && load_earlier(options, prepared, config, &key, out_program);
  if (*out_is_reused) return hlo_ok();
  const hlo_func_t* entry = hlo_module_find_func(prepared, options->name);
  HLO_TRY(hlo_code_program_create(prepared, entry, options, out_program));
  if (has_key && is_kept) keep(config->cache, &key, *out_program);
  return hlo_ok();
}

static uint64_t size_of_all(uint32_t count, const hlo_type_t* const* types) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count; ++i) bytes += hlo_type_size_bytes(types[i]);
  return bytes;
}

// The remaining memory for temporaries; 0: no limit.
static uint64_t temporary_limit(const hlo_func_t* func, const hlo_compile_config_t* config) {
  uint64_t limit = config->temporary_limit;
  if (!config->device_memory_bytes) return limit;
  uint64_t others = size_of_all(func->type->element_count, func->type->elements);
  uint64_t left = config->device_memory_bytes > others ? config->device_memory_bytes - others : 1;
  return limit && limit < left ? limit : left;
}

static void warn_of_limit(const hlo_compile_config_t* config, const hlo_code_options_t* options,
                          const hlo_code_program_t* program) {
  uint64_t bytes = hlo_code_program_temporary_bytes(program);
  if (!options->temporary_limit || bytes <= options->temporary_limit || !config->observer) return;
  HLO_LOG(&config->observer->log, WARN,
          "temporaries of %s take %llu bytes, more than the limit of %llu", options->name,
          (unsigned long long)bytes, (unsigned long long)options->temporary_limit);
}

static hlo_status_t find_target(const hlo_compile_config_t* config, hlo_target_t* out_target) {
  if (config->target) {
    *out_target = *config->target;
    return hlo_ok();
  }
  const bool may_be_absent = config->may_be_absent || config->listing;
  HLO_TRY(hlo_target_find(config->cpu, may_be_absent, out_target));
  out_target->subnormals = config->subnormals;
  return hlo_ok();
}

// The elements of Tile IR are computed by the reference.
static bool compute_elements(void* context, const hlo_tile_map_t* map, uint32_t operand_count,
                             const hlo_dtype_t* dtypes, const void* const* operands,
                             hlo_dtype_t dtype, void* result, size_t count) {
  (void)context;
  if (map->op == HLO_OP_bitcast_convert) {
    size_t bytes = hlo_dtype_size_bytes(dtype);
    if (operand_count != 1 || hlo_dtype_size_bytes(dtypes[0]) != bytes) return false;
    memcpy(result, operands[0], count * bytes);
    return true;
  }
  hlo_scalar_op_t op = {.op = map->op,
                        .arity = operand_count,
                        .result = dtype,
                        .direction = map->direction,
                        .is_total_order = map->is_total_order};
  if (operand_count > 3) return false;
  for (uint32_t i = 0; i < operand_count; ++i) op.operands[i] = dtypes[i];
  hlo_scalar_step_t step;
  if (!hlo_scalar_op_prepare(&op, &step)) return false;
  hlo_scalar_step_run_many(&step, operands, result, count);
  return true;
}

static const hlo_tile_meaning_t kTileMeaning = {.map = compute_elements};

const struct hlo_tile_meaning* hlo_tile_meaning_of_reference(void) {
  return &kTileMeaning;
}

static hlo_status_t make(const hlo_backend_t* backend, const hlo_func_t* func,
                         hlo_module_t* prepared, const hlo_compile_config_t* config,
                         hlo_program_t** out_program) {
  hlo_target_t target;
  hlo_status_t status = find_target(config, &target);
  if (!hlo_status_is_ok(status)) {
    hlo_module_release(prepared);
    return status;
  }
  target.process_count = (uint32_t)hlo_backend_process_count(config);
  hlo_code_options_t options = {
      .target = target,
      .executor = HLO_EXECUTOR_MACHINE,
      .tile_meaning = &kTileMeaning,
      .lowers_tiles = backend == &hlo_backend_tile_native,
      .check_plan = config->verify_each,
      .is_checked = config->verify_each && !config->listing,
      .is_profiled = config->profile_steps && !config->listing,
      .replica_count = (uint32_t)config->replica_count,
      .partition_count = (uint32_t)config->partition_count,
      .temporary_limit = temporary_limit(func, config),
      .configs = config->configs,
      .name = func->name,
      .parallel = &config->parallel,
      .helper_store = hlo_compile_cache_helper_store(config->cache),
      .jit = {.perf = config->perf, .gdb = config->gdb},
      .kernels = wants_making(config) || backend == &hlo_backend_tile_native
                     ? NULL
                     : hlo_compile_cache_kernels(config->cache),
      .pool = config->cache ? hlo_compile_cache_pool(config->cache) : NULL,
      .compiler = config->cc,
      .dumper = config->dumper,
      .listing = config->listing};
  if (backend == &hlo_backend_tile) {
    options.executor = HLO_EXECUTOR_TILES;
  } else if (backend == &hlo_backend_vir || config->listing) {
    options.executor = HLO_EXECUTOR_INTERPRETER;
  } else if (backend == &hlo_backend_c) {
    options.executor = HLO_EXECUTOR_C;
  } else if (!options.target.has_encoder) {
    hlo_module_release(prepared);
    return hlo_unimplemented("no machine code is made for this processor");
  }
  bool is_machine_code = options.executor == HLO_EXECUTOR_MACHINE, is_reused = false;
  bool is_cheap = hlo_func_is_cheap(hlo_module_find_func(prepared, func->name), is_machine_code,
                                    hlo_backend_process_count(config));
  hlo_code_program_t* program = NULL;
  HLO_SCOPED_ARENA arena = {0};
  hlo_config_table_t configs = {.count = 0};
  hlo_tuner_t* tuner = config->configs ? NULL : hlo_compile_cache_tuner(config->cache);
  if (tuner) {
    status = hlo_tuner_resolve(tuner, prepared, func->name, &options, &arena, &configs);
    if (!hlo_status_is_ok(status)) {
      hlo_module_release(prepared);
      return status;
    }
    options.configs = &configs;
  }
  HLO_TRY(make_program(backend, prepared, config, &options, &is_reused, &program));
  warn_of_limit(config, &options, program);
  HLO_TRY(wrap(backend, hlo_target_env(&options.target), is_cheap, program, out_program));
  native_data_t* data = (native_data_t*)*out_program;
  data->entry = func->name;
  data->target = options.target;
  if (options.executor == HLO_EXECUTOR_MACHINE || options.executor == HLO_EXECUTOR_C) {
    data->base.target = &data->target;
  }
  data->temporary_limit = options.temporary_limit;
  data->choices = hlo_config_table_hash(options.configs, 0);
  data->base.is_reused = is_reused;
  if (options.executor == HLO_EXECUTOR_MACHINE) data->base.save = native_save;
  return hlo_ok();
}

// Machine code cannot be generated or executed here, which is not the program's fault.
static bool is_without_machine_code(hlo_status_code_t code, const hlo_compile_config_t* config) {
  hlo_target_t target;
  if (code == HLO_STATUS_PERMISSION_DENIED) return true;
  return hlo_status_take_ok(find_target(config, &target)) && !target.has_encoder;
}

static hlo_pass_options_t pass_options(const hlo_compile_config_t* config, const hlo_env_t* env) {
  return (hlo_pass_options_t){.env = env,
                              .verify_each = config->verify_each,
                              .check_changed = config->verify_each,
                              .replica_count = (uint32_t)config->replica_count,
                              .partition_count = (uint32_t)config->partition_count,
                              .keeps_attention = config->keeps_attention,
                              .sync_collectives = config->sync_collectives,
                              .collective_memory = config->collective_memory};
}

// The alternative: the system's C compiler, whose code is a file. If that fails too, adds the
// reason to the cause; then there is no program.
static hlo_status_t make_by_c(const hlo_func_t* func, hlo_module_t* module,
                              const hlo_compile_config_t* config, hlo_strbuf_t* cause,
                              hlo_program_t** out_program) {
  hlo_module_t* prepared = NULL;
  hlo_env_t env;
  HLO_TRY(hlo_compile_config_env(config, &env));
  const hlo_pass_options_t options = pass_options(config, &env);
  HLO_TRY(hlo_prepare_module(module, func->name, &options, cause, &prepared));
  hlo_status_t status = make(&hlo_backend_c, func, prepared, config, out_program);
  if (hlo_status_code(status) == HLO_STATUS_RESOURCE_EXHAUSTED) return status;
  if (hlo_status_is_ok(status)) {
    if (config->observer) {
      HLO_LOG(&config->observer->log, INFO, "made by the C compiler: %s", hlo_strbuf_text(cause));
    }
    (*out_program)->cause = hlo_mem_strndup(hlo_strbuf_text(cause), cause->length);
    return status;
  }
  hlo_strbuf_printf(cause, "; %s", hlo_status_message(status));
  hlo_status_release(status);
  return hlo_ok();
}

// Hands programs that this back end cannot compile to the C compiler or the interpreter.
static hlo_status_t make_otherwise(const hlo_backend_t* backend, const hlo_func_t* func,
                                   hlo_module_t* module, const hlo_compile_config_t* config,
                                   hlo_status_t refusal, hlo_program_t** out_program) {
  hlo_status_code_t code = hlo_status_code(refusal);
  if (code != HLO_STATUS_UNIMPLEMENTED && code != HLO_STATUS_PERMISSION_DENIED) return refusal;
  HLO_SCOPED_STRBUF cause = {0};
  hlo_strbuf_puts(&cause, hlo_status_message(refusal));
  hlo_status_release(refusal);
  if (backend == &hlo_backend_native && !config->listing && is_without_machine_code(code, config)) {
    HLO_TRY(make_by_c(func, module, config, &cause, out_program));
  }
  if (*out_program) return hlo_ok();
  return leave_to_interpreter(module, config, code == HLO_STATUS_PERMISSION_DENIED,
                              hlo_strbuf_text(&cause), out_program);
}

static hlo_status_t compile(const hlo_backend_t* backend, hlo_module_t* module,
                            const hlo_compile_config_t* config, hlo_program_t** out_program) {
  const hlo_func_t* func = hlo_backend_entry(module, config);
  HLO_SCOPED_STRBUF cause = {0};
  hlo_module_t* prepared = NULL;
  *out_program = NULL;
  hlo_env_t env;
  HLO_TRY(hlo_compile_config_env(config, &env));
  const hlo_pass_options_t options = pass_options(config, &env);
  hlo_status_t status = hlo_prepare_module(module, func->name, &options, &cause, &prepared);
  if (hlo_status_is_ok(status) && prepared) {
    status = make(backend, func, prepared, config, out_program);
    if (!hlo_status_is_ok(status)) {
      status = make_otherwise(backend, func, module, config, status, out_program);
    }
  } else if (hlo_status_is_ok(status)) {
    status = leave_to_interpreter(module, config, false, hlo_strbuf_text(&cause), out_program);
  }
  return status;
}

const hlo_backend_t hlo_backend_native = {"native", compile};
const hlo_backend_t hlo_backend_vir = {"vir", compile};
const hlo_backend_t hlo_backend_tile = {"tile", compile};
const hlo_backend_t hlo_backend_tile_native = {"tile_native", compile};
const hlo_backend_t hlo_backend_c = {"c", compile};
