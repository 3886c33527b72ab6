// SPDX-License-Identifier: Apache-2.0
// The compilation pipeline from bytes to an executable (see compiler.h).
#include "compiler/compiler.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "codegen/target/target.h"
#include "compiler/backends.h"
#include "compiler/cache.h"
#include "compiler/compiler_impl.h"
#include "compiler/hlo_dump.h"
#include "compiler/signature.h"
#include "compiler/spmd_listing.h"
#include "compiler/transforms.h"
#include "frontend/frontend.h"
#include "ir/clone.h"
#include "ir/custom_call.h"
#include "ir/custom_partitioner.h"
#include "ir/entry.h"
#include "ir/infer.h"
#include "ir/print.h"
#include "spmd/collective.h"
#include "spmd/passes.h"

void hlo_compile_config_init(hlo_compile_config_t* config) {
  *config = (hlo_compile_config_t){
      .replica_count = 1, .partition_count = 1, .subnormals = hlo_env_default()->subnormals};
}

bool hlo_compile_config_set(hlo_compile_config_t* config, hlo_config_index_t option, int64_t number,
                            const char* text) {
  switch (option) {
    case HLO_CONFIG_BACKEND: config->backend = *text ? text : NULL; return true;
    case HLO_CONFIG_SUBNORMALS: config->subnormals = (hlo_subnormals_t)number; return true;
    case HLO_CONFIG_CC: config->cc = text; return true;
    case HLO_CONFIG_CHECK: config->verify_each = number != 0; return true;
    case HLO_CONFIG_TEMPORARY_LIMIT: config->temporary_limit = (uint64_t)number << 10; return true;
    case HLO_CONFIG_FUSE_ATTENTION: config->keeps_attention = number == 0; return true;
    case HLO_CONFIG_SYNC_COLLECTIVES: config->sync_collectives = text; return true;
    case HLO_CONFIG_COLLECTIVE_MEMORY: config->collective_memory = text; return true;
    case HLO_CONFIG_PERF: config->perf = number != 0; return true;
    case HLO_CONFIG_GDB: config->gdb = number != 0; return true;
    default: return false;
  }
}

void hlo_compile_config_read(const hlo_config_t* options, const hlo_observer_t* observer,
                             hlo_compile_config_t* config) {
  hlo_compile_config_init(config);
  for (hlo_config_index_t i = 0; i < HLO_CONFIG_COUNT; ++i) {
    const bool is_text = hlo_config_info(i)->kind == HLO_CONFIG_KIND_STRING;
    hlo_compile_config_set(config, i, is_text ? 0 : hlo_config_number(options, i),
                           is_text ? hlo_config_text(options, i) : NULL);
  }
  config->cpu = options->cpu;
  config->profile_steps = options->profile_steps;
  config->observer = observer;
}

hlo_status_t hlo_compile_config_env(const hlo_compile_config_t* config, hlo_env_t* out_env) {
  if (config->target) {
    *out_env = hlo_target_env(config->target);
    return hlo_ok();
  }
  hlo_cpu_t cpu;  // possibly another machine, if the code is not to run here
  const bool may_be_absent = config->may_be_absent || config->listing;
  HLO_TRY(may_be_absent ? hlo_cpu_find(config->cpu, &cpu) : hlo_cpu_detect(config->cpu, &cpu));
  *out_env = hlo_env_of_cpu(config->subnormals, &cpu);
  return hlo_ok();
}

hlo_status_t hlo_compile_describe_machine(const char* cpu, hlo_strbuf_t* out) {
  hlo_target_t target;
  HLO_TRY(hlo_target_find(cpu, true, &target));
  hlo_target_print(&target, out);
  return hlo_strbuf_status(out);
}

hlo_cpu_t hlo_program_cpu(const hlo_program_t* program) {
  return program->target ? program->target->cpu : (hlo_cpu_t){0};
}

static const hlo_backend_t* const kBackends[] = {&hlo_backend_native,      &hlo_backend_interp,
                                                 &hlo_backend_vir,         &hlo_backend_tile,
                                                 &hlo_backend_tile_native, &hlo_backend_c};
enum { BACKEND_COUNT = sizeof kBackends / sizeof *kBackends };

const hlo_backend_t* hlo_backend_find(const char* name) {
  if (!name) return kBackends[0];
  for (size_t i = 0; i < BACKEND_COUNT; ++i) {
    if (strcmp(kBackends[i]->name, name) == 0) return kBackends[i];
  }
  return NULL;
}

hlo_status_t hlo_backend_choose(const char* name, const hlo_backend_t** out_backend) {
  *out_backend = hlo_backend_find(name);
  if (*out_backend) return hlo_ok();
  HLO_SCOPED_STRBUF names = {0};
  for (size_t i = 0; i < BACKEND_COUNT; ++i) {
    hlo_strbuf_printf(&names, "%s%s", i ? ", " : "", kBackends[i]->name);
  }
  return hlo_not_found("no back end is called %s (the back ends are %s)", name,
                       hlo_strbuf_text(&names));
}

const hlo_func_t* hlo_backend_entry(const hlo_module_t* module,
                                    const hlo_compile_config_t* config) {
  return config->entry ? hlo_module_find_func(module, config->entry) : hlo_module_entry(module);
}

static hlo_status_t check_config(const hlo_compile_config_t* config) {
  enum { MAX_DEVICES = 1 << 16 };
  if (config->replica_count < 1 || config->partition_count < 1 ||
      config->replica_count > MAX_DEVICES || config->partition_count > MAX_DEVICES ||
      (int64_t)config->replica_count * config->partition_count > MAX_DEVICES) {
    return hlo_invalid_argument("cannot compile for %d replicas of %d partitions",
                                config->replica_count, config->partition_count);
  }
  return hlo_ok();
}

// Replaces counts that are not given by those of the program.
static hlo_status_t choose_processors(hlo_executable_t* executable) {
  const hlo_process_counts_t counts = hlo_module_process_counts(executable->module);
  hlo_compile_config_t* config = &executable->config;
  if (!config->replica_count && counts.replicas <= INT32_MAX) {
    config->replica_count = (int32_t)counts.replicas;
  }
  if (!config->partition_count && counts.partitions <= INT32_MAX) {
    config->partition_count = (int32_t)counts.partitions;
  }
  return check_config(config);
}

static hlo_status_t copy_bytes(const void* bytes, size_t size_bytes, uint8_t** out_copy) {
  *out_copy = NULL;
  if (!bytes) return hlo_ok();
  *out_copy = (uint8_t*)hlo_mem_strndup(bytes, size_bytes);
  return *out_copy ? hlo_ok() : hlo_status_out_of_memory(size_bytes);
}

static hlo_status_t load(hlo_executable_t* executable, const void* bytes, size_t size_bytes,
                         const char* file_name, hlo_diag_t* diag) {
  hlo_trace_t* trace = hlo_observer_trace(executable->config.observer);
  uint64_t begin = hlo_trace_begin();
  hlo_frontend_options_t options = {.elided = executable->config.elided, .flat_results = true};
  hlo_status_t status =
      hlo_frontend_load(bytes, size_bytes, file_name, &options, diag, &executable->module);
  hlo_trace_end(trace, begin, "compile", "frontend",
                begin ? hlo_format_name(hlo_frontend_sniff(bytes, size_bytes)) : NULL);
  HLO_TRY(status);
  begin = hlo_trace_begin();
  status = hlo_module_verify(executable->module, diag);
  hlo_trace_end(trace, begin, "compile", "verify", NULL);
  return status;
}

hlo_status_t hlo_compile_prepare_entry(hlo_module_t* module, const hlo_compile_config_t* config,
                                       hlo_func_t** out_entry) {
  *out_entry = hlo_module_entry(module);
  if (!*out_entry) {
    return hlo_invalid_argument("the program has no function @main, nor a single public one");
  }
  const bool is_prepared = hlo_attr_dict_get(module->extra, HLO_PARTITIONED_ATTR) != NULL;
  return config->layouts && !is_prepared ? hlo_layouts_apply(*out_entry, config->layouts)
                                         : hlo_ok();
}

// The compile options are right where the module says otherwise.
static hlo_status_t state_processors(hlo_module_t* module, const hlo_compile_config_t* config) {
  const struct {
    const char* key;
    int32_t count;
  } rows[] = {{"mhlo.num_partitions", config->partition_count},
              {"mhlo.num_replicas", config->replica_count}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (rows[i].count == 1 && !hlo_attr_dict_get(module->extra, rows[i].key)) continue;
    module->extra = hlo_attr_dict_with(module, module->extra, rows[i].key,
                                       hlo_attr_int(module, HLO_DTYPE_S32, rows[i].count));
  }
  return hlo_module_status(module);
}

hlo_status_t hlo_compile_run_stages(hlo_module_t* module, hlo_stage_t first, hlo_stage_t last,
                                    const hlo_compile_config_t* config, hlo_dumper_t* dumper) {
  hlo_env_t env;
  HLO_TRY(hlo_compile_config_env(config, &env));
  const hlo_stage_options_t options = {.partition_count = config->partition_count,
                                       .partition = hlo_spmd_partition_list,
                                       .has_layouts = config->layouts != NULL,
                                       .passes = {.env = &env,
                                                  .verify_each = config->verify_each,
                                                  .check_changed = config->verify_each,
                                                  .custom_partitioner = config->custom_partitioner,
                                                  .dumper = dumper,
                                                  .trace = hlo_observer_trace(config->observer)}};
  if (first == HLO_STAGE_IMPORT) HLO_TRY(state_processors(module, config));
  return hlo_stages_run(module, first, last, &options);
}

hlo_status_t hlo_compile_keep_source(hlo_executable_t* executable) {
  hlo_module_t* module = executable->module;
  HLO_SCOPED_STRBUF text = {0};
  module->extra =
      hlo_attr_dict_with(module, module->extra, HLO_PARTITIONED_ATTR, hlo_attr_unit(module));
  HLO_TRY(hlo_module_status(module));
  hlo_print_module(module, &(hlo_print_options_t){.locations = true}, &text);
  HLO_TRY(hlo_strbuf_status(&text));
  hlo_mem_free(executable->source);
  executable->source_bytes = text.length;
  executable->source = (uint8_t*)hlo_strbuf_take(&text);
  return hlo_ok();
}

typedef struct custom_calls {
  const hlo_custom_partitioner_t* partitioner;
  bool is_any;  // partitioned by the application
} custom_calls_t;

static hlo_status_t find_custom_call(void* context, hlo_node_t* node) {
  custom_calls_t* calls = context;
  const hlo_custom_partitioner_t* partitioner = calls->partitioner;
  if (node->op == HLO_OP_custom_call &&
      partitioner->knows(partitioner->context, hlo_custom_call_target(node))) {
    calls->is_any = true;
  }
  return hlo_ok();
}

// Partitions a program of which the application partitions calls, and keeps the result as source:
// where the executable is loaded, nobody may know those calls.
static hlo_status_t partition_source(hlo_executable_t* executable, hlo_dumper_t* dumper,
                                     hlo_stage_t* out_next) {
  hlo_module_t* module = executable->module;
  const hlo_compile_config_t* config = &executable->config;
  custom_calls_t calls = {.partitioner = config->custom_partitioner};
  *out_next = HLO_STAGE_IMPORT;
  if (!calls.partitioner || config->partition_count <= 1) return hlo_ok();
  HLO_TRY(hlo_module_walk(module, false, find_custom_call, &calls));
  if (!calls.is_any) return hlo_ok();
  HLO_TRY(hlo_compile_run_stages(module, HLO_STAGE_IMPORT, HLO_STAGE_IMPORT, config, dumper));
  *out_next = HLO_STAGE_OPTIMISE;
  return hlo_compile_keep_source(executable);
}

static hlo_status_t optimise(hlo_executable_t* executable, hlo_dumper_t* dumper) {
  hlo_module_t* module = executable->module;
  hlo_stage_t first;
  hlo_dump_module(dumper, HLO_DUMP_STAGE_input, module);
  HLO_TRY(partition_source(executable, dumper, &first));
  HLO_TRY(hlo_compile_run_stages(module, first, HLO_STAGE_OPTIMISE, &executable->config, dumper));
  HLO_TRY(hlo_transforms_run(executable, dumper));
  hlo_dump_module(dumper, HLO_DUMP_STAGE_final, executable->module);
  return hlo_ok();
}

static hlo_status_t generate(hlo_executable_t* executable, hlo_dumper_t* dumper) {
  hlo_compile_config_t config = executable->config;
  config.dumper = dumper;
  const hlo_backend_t* backend = NULL;
  HLO_TRY(hlo_backend_choose(config.backend, &backend));
  hlo_trace_t* trace = hlo_observer_trace(config.observer);
  uint64_t begin = hlo_trace_begin();
  hlo_status_t status =
      backend->compile(backend, executable->module, &config, &executable->program);
  const char* cause = executable->program ? executable->program->cause : NULL;
  bool is_interpreted = cause && executable->program->backend == &hlo_backend_interp;
  const char* word = is_interpreted ? "interpreted, not compiled" : "made by the C compiler";
  hlo_trace_end(trace, begin, "compile", cause ? word : "back end", cause ? cause : backend->name);
  return status;
}

// Returns the result that is the argument itself, unless another argument is tied to it; -1: none.
static int64_t returned_as(const hlo_func_t* entry, uint32_t argument) {
  const hlo_node_t* end = hlo_region_terminator(entry->body);
  const uint32_t result_count = entry->type->element_count - entry->type->input_count;
  if (!end || end->operand_count != result_count) return -1;
  for (uint32_t r = 0; r < result_count; ++r) {
    if (end->operands[r].value != entry->body->args[argument]) continue;
    bool is_taken = false;
    for (uint32_t a = 0; a < entry->type->input_count; ++a) {
      const hlo_attr_t* alias = hlo_func_argument_alias(entry, a);
      is_taken |= alias && alias->kind == HLO_ATTR_KIND_INT && alias->i == r;
    }
    if (!is_taken) return r;
  }
  return -1;
}

// Marks the donated arguments that the program does not name. One that is returned stays where it
// is; others go to any result of their size.
static hlo_status_t mark_donated(hlo_func_t* entry, const hlo_compile_config_t* config) {
  for (uint32_t i = 0; i < config->donated_count; ++i) {
    const uint32_t argument = config->donated[i];
    if (argument >= entry->type->input_count) {
      return hlo_invalid_argument("there is no argument %u to donate: the program has %u", argument,
                                  entry->type->input_count);
    }
    if (hlo_func_argument_alias(entry, argument)) continue;
    const int64_t result = returned_as(entry, argument);
    if (result >= 0) {
      hlo_func_set_argument_attr(entry, argument, "tf.aliasing_output",
                                 hlo_attr_int(entry->module, HLO_DTYPE_S32, result));
    } else {
      hlo_func_set_argument_attr(entry, argument, "jax.buffer_donor",
                                 hlo_attr_bool(entry->module, true));
    }
  }
  return hlo_module_status(entry->module);
}

// Completes an executable whose module is set and verified.
static hlo_status_t complete_unlisted(hlo_executable_t* executable, const void* bytes,
                                      size_t size_bytes, const void* options,
                                      size_t options_bytes) {
  hlo_module_t* module = executable->module;
  hlo_func_t* entry;
  HLO_TRY(hlo_compile_prepare_entry(module, &executable->config, &entry));
  executable->name = module->name ? module->name : entry->name;
  HLO_TRY(mark_donated(entry, &executable->config));
  executable->fingerprint = hlo_module_hash(module) ^
                            ((uint64_t)executable->config.subnormals << 63) ^
                            ((uint64_t)executable->config.replica_count << 32) ^
                            (uint64_t)executable->config.partition_count;
  hlo_dumper_t dumper;
  hlo_dumper_init(&dumper, executable->config.observer, executable->name, executable->fingerprint);
  HLO_TRY(optimise(executable, &dumper));
  module = executable->module;
  entry = hlo_module_entry(module);
  HLO_TRY(hlo_func_settle_donations(entry));
  HLO_TRY(hlo_signature_read(executable, entry));
  hlo_write_hlo_dump(executable);
  HLO_TRY(generate(executable, &dumper));
  if (!executable->source) {
    HLO_TRY(copy_bytes(bytes, size_bytes, &executable->source));
    executable->source_bytes = size_bytes;
  }
  HLO_TRY(copy_bytes(options, options_bytes, &executable->options));
  executable->options_bytes = options ? options_bytes : 0;
  hlo_cost_count(module, &executable->cost);
  return hlo_module_status(module);
}

static hlo_status_t complete(hlo_executable_t* executable, const void* bytes, size_t size_bytes,
                             const void* options, size_t options_bytes) {
  if (!hlo_spmd_listing_is_wanted(&executable->config)) {
    return complete_unlisted(executable, bytes, size_bytes, options, options_bytes);
  }
  hlo_spmd_listing_t listing = {0};
  hlo_status_t status = hlo_spmd_listing_init(&listing, executable->module, &executable->config);
  if (hlo_status_is_ok(status)) {
    status = complete_unlisted(executable, bytes, size_bytes, options, options_bytes);
  }
  if (hlo_status_is_ok(status)) status = hlo_spmd_listing_print(&listing, executable);
  hlo_spmd_listing_deinit(&listing);
  return status;
}

// Compiles `module` (taken), or the program's bytes, which `load` then reads.
typedef struct request {
  hlo_module_t* module;
  const void* bytes;
  size_t size_bytes;
  const char* file_name;
  const void* options;
  size_t options_bytes;
  hlo_diag_t* diag;
} request_t;

static hlo_status_t compile_request(hlo_executable_t* executable, const request_t* request) {
  if (request->module) {
    executable->module = request->module;
  } else {
    HLO_TRY(
        load(executable, request->bytes, request->size_bytes, request->file_name, request->diag));
  }
  HLO_TRY(choose_processors(executable));
  return complete(executable, request->bytes, request->size_bytes, request->options,
                  request->options_bytes);
}

// Forgets what the configuration lends for the call only.
static void drop_lent(hlo_compile_config_t* config) {
  config->observer = NULL;
  config->target = NULL;
  config->cpu = NULL;
  config->layouts = NULL;
  config->donated = NULL;
  config->custom_partitioner = NULL;
  config->transforms = NULL;
  config->listing = NULL;
  config->hlo_dump.directory = NULL;
  config->cache = NULL;
  config->parallel = (hlo_parallel_t){0};
  config->code = NULL;
}

static hlo_status_t compile(const request_t* request, const hlo_compile_config_t* config,
                            hlo_executable_t** out_executable) {
  hlo_executable_t* executable = hlo_mem_alloc_zeroed(sizeof *executable);
  if (!executable) {
    hlo_module_release(request->module);
    return hlo_status_out_of_memory(sizeof *executable);
  }
  atomic_init(&executable->count, 1);
  executable->config = *config;
  hlo_arena_store_t* store = hlo_compile_cache_store(config->cache);
  bool is_stored = hlo_arena_store_enter(store);
  hlo_trace_t* trace = hlo_observer_trace(config->observer);
  uint64_t begin = hlo_trace_begin();
  hlo_status_t status = compile_request(executable, request);
  hlo_trace_end(trace, begin, "compile", "compile", executable->name);
  hlo_trace_flush(trace);
  drop_lent(&executable->config);
  if (hlo_status_is_ok(status)) {
    *out_executable = executable;
  } else {
    hlo_executable_release(executable);
  }
  if (is_stored) hlo_arena_store_leave(store);
  return status;
}

hlo_status_t hlo_compile(const void* bytes, size_t size_bytes, const char* file_name,
                         const hlo_compile_config_t* config, const void* options,
                         size_t options_bytes, hlo_diag_t* diag,
                         hlo_executable_t** out_executable) {
  const request_t request = {.bytes = bytes,
                             .size_bytes = size_bytes,
                             .file_name = file_name,
                             .options = options,
                             .options_bytes = options_bytes,
                             .diag = diag};
  return compile(&request, config, out_executable);
}

hlo_status_t hlo_compile_module(hlo_module_t* module, const hlo_compile_config_t* config,
                                hlo_executable_t** out_executable) {
  return compile(&(request_t){.module = module}, config, out_executable);
}

uint64_t hlo_executable_fingerprint(const hlo_executable_t* executable) {
  const hlo_target_t* target = executable->program->target;
  const uint64_t hash =
      hlo_hash_bytes(HLOCC_VERSION, strlen(HLOCC_VERSION), executable->fingerprint);
  return target ? hlo_target_hash(target, hash) : hash;
}

hlo_executable_t* hlo_executable_retain(hlo_executable_t* executable) {
  atomic_fetch_add_explicit(&executable->count, 1, memory_order_relaxed);
  return executable;
}

void hlo_executable_release(hlo_executable_t* executable) {
  if (!executable || atomic_fetch_sub_explicit(&executable->count, 1, memory_order_acq_rel) != 1) {
    return;
  }
  if (executable->program) executable->program->destroy(executable->program);
  hlo_module_release(executable->module);
  hlo_mem_free(executable->arguments);
  hlo_mem_free(executable->results);
  hlo_mem_free(executable->source);
  hlo_mem_free(executable->options);
  hlo_mem_free(executable);
}

// ---- serialization: header, program, options, description of the machine, code

static const char kMagic[8] = {'h', 'l', 'o', 'c', 'c', 'e', 'x', 'e'};
enum { FORMAT_VERSION = 4 };

typedef struct header {
  char magic[8];
  uint32_t version;
  uint32_t subnormals;  // hlo_subnormals_t
  uint64_t source_bytes, options_bytes, target_bytes, code_bytes, checksum;
} header_t;

static void append(hlo_strbuf_t* out, const void* bytes, size_t size_bytes) {
  if (size_bytes) hlo_strbuf_append(out, bytes, size_bytes);
}

// Only code needs a machine; a program without code is compiled when it is loaded.
static hlo_status_t append_code(const hlo_program_t* program, header_t* header, hlo_strbuf_t* out) {
  HLO_SCOPED_STRBUF code = {0};
  if (program->save) HLO_TRY(program->save(program, &code));
  const size_t start = out->length;
  if (code.length) hlo_target_print(program->target, out);
  hlo_strbuf_putc(out, 0);
  header->target_bytes = out->length - start;
  append(out, code.data, code.length);
  header->code_bytes = code.length;
  HLO_TRY(hlo_strbuf_status(&code));
  return hlo_strbuf_status(out);
}

static hlo_status_t serialize(const hlo_executable_t* executable, hlo_strbuf_t* out) {
  header_t header = {.version = FORMAT_VERSION,
                     .subnormals = executable->program->env.subnormals,
                     .source_bytes = executable->source_bytes,
                     .options_bytes = executable->options_bytes};
  memcpy(header.magic, kMagic, sizeof kMagic);
  append(out, &header, sizeof header);
  append(out, executable->source, executable->source_bytes);
  append(out, executable->options, executable->options_bytes);
  HLO_TRY(append_code(executable->program, &header, out));
  header.checksum =
      hlo_hash_bytes(out->data + sizeof header, out->length - sizeof header, FORMAT_VERSION);
  memcpy(out->data, &header, sizeof header);
  return hlo_ok();
}

hlo_status_t hlo_executable_serialize(const hlo_executable_t* executable, uint8_t** out_bytes,
                                      size_t* out_size_bytes) {
  if (!executable->source) {
    return hlo_failed_precondition("executable %s has no source to serialize", executable->name);
  }
  hlo_strbuf_t out = {0};
  hlo_status_t status = serialize(executable, &out);
  if (!hlo_status_is_ok(status)) {
    hlo_strbuf_deinit(&out);
    return status;
  }
  *out_size_bytes = out.length;
  *out_bytes = (uint8_t*)hlo_strbuf_take(&out);
  return hlo_ok();
}

// Returns true if the parts have `left` bytes and the description ends with its zero.
static bool are_parts_valid(const header_t* header, const uint8_t* parts, size_t left) {
  const uint64_t sizes[] = {header->source_bytes, header->options_bytes, header->target_bytes};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    if (sizes[i] > left) return false;
    left -= sizes[i], parts += sizes[i];
  }
  return header->code_bytes == left && header->target_bytes && !parts[-1] &&
         !memchr(parts - header->target_bytes, 0, header->target_bytes - 1);
}

hlo_status_t hlo_executable_parse(const void* bytes, size_t size_bytes, hlo_serialized_t* out) {
  header_t header;
  if (size_bytes < sizeof header || memcmp(bytes, kMagic, sizeof kMagic) != 0) {
    return hlo_invalid_argument("these %zu bytes are no serialized hlocc executable", size_bytes);
  }
  memcpy(&header, bytes, sizeof header);
  if (header.version != FORMAT_VERSION) {
    return hlo_failed_precondition("serialized executable of format %u, this hlocc reads format %d",
                                   header.version, FORMAT_VERSION);
  }
  const uint8_t* at = (const uint8_t*)bytes + sizeof header;
  size_t left = size_bytes - sizeof header;
  if (hlo_hash_bytes(at, left, FORMAT_VERSION) != header.checksum ||
      header.subnormals > HLO_SUBNORMALS_KEEP || !are_parts_valid(&header, at, left)) {
    return hlo_status_create(HLO_STATUS_DATA_LOSS, "serialized executable is damaged");
  }
  const uint8_t* options = at + header.source_bytes;
  *out = (hlo_serialized_t){.is_executable = true,
                            .subnormals = (hlo_subnormals_t)header.subnormals,
                            .source = at,
                            .source_bytes = header.source_bytes,
                            .options = header.options_bytes ? options : NULL,
                            .options_bytes = header.options_bytes,
                            .target = (const char*)options + header.options_bytes,
                            .code = options + header.options_bytes + header.target_bytes,
                            .code_bytes = header.code_bytes};
  return hlo_ok();
}
