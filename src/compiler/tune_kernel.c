// SPDX-License-Identifier: Apache-2.0
// One kernel as a program (see tune_kernel.h): a function whose arguments are the inputs of a
// fusion and whose results are its outputs.
#include "compiler/tune_kernel.h"

#include <string.h>

#include "base/mem.h"
#include "base/tuning.h"
#include "codegen/fuse/fusion.h"
#include "compiler/execute.h"
#include "ir/clone.h"
#include "ir/parse.h"
#include "ir/print.h"

enum { GUARD_BYTES = 4096, GUARD = 0xa5 };

static const char kName[] = "kernel";

struct hlo_tune_kernel {
  hlo_module_t* module;
  hlo_arena_t arena;
  hlo_digest_t key;
  hlo_code_options_t options;
  hlo_tune_job_t job;
};

// ---- the module

// Appends the return of the values.
static hlo_status_t add_return(hlo_region_t* body, hlo_value_t* const* values, uint32_t count) {
  const hlo_node_spec_t spec = {
      .op = HLO_OP_func_return, .operand_count = count, .operands = values};
  hlo_node_t* node = hlo_node_create(body->module, &spec);
  if (hlo_node_is_poison(node)) return hlo_module_status(body->module);
  hlo_region_append(body, node);
  return hlo_ok();
}

static hlo_status_t list_types(hlo_value_t* const* values, uint32_t count, hlo_arena_t* arena,
                               const hlo_type_t*** out_types) {
  const hlo_type_t** types = hlo_arena_array(arena, count + 1, sizeof(*types));
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 0; i < count; ++i) types[i] = values[i]->type;
  *out_types = types;
  return hlo_ok();
}

static bool is_member(const hlo_fusion_t* fusion, const hlo_node_t* node) {
  uint32_t i = 0;
  while (i < fusion->node_count && fusion->nodes[i] != node) ++i;
  return i < fusion->node_count;
}

// Copies the members of a fusion that are in a region, after those in regions around it, in the
// order of the program.
static uint32_t copy_nodes(const hlo_fusion_t* fusion, const hlo_region_t* region,
                           hlo_region_t* body, hlo_value_map_t* map) {
  uint32_t copied = 0;
  if (region->parent) copied = copy_nodes(fusion, region->parent->parent, body, map);
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (!is_member(fusion, node)) continue;
    hlo_node_clone(body, node, map);
    ++copied;
  }
  return copied;
}

// Adds a function with copies of the fusion's nodes to the fusion's module.
static hlo_status_t copy_fusion(hlo_module_t* module, const hlo_fusion_t* fusion,
                                hlo_arena_t* arena, hlo_func_t** out_func) {
  const hlo_type_t **inputs, **outputs;
  HLO_TRY(list_types(fusion->inputs, fusion->input_count, arena, &inputs));
  HLO_TRY(list_types(fusion->outputs, fusion->output_count, arena, &outputs));
  const hlo_type_t* type =
      hlo_type_function(module, fusion->input_count, inputs, fusion->output_count, outputs);
  hlo_func_t* func = type ? hlo_func_create(module, kName, type, HLO_PRIVATE, true, 0) : NULL;
  if (!func) return hlo_module_status(module);
  hlo_value_map_t map = {.count = module->value_count};
  map.values = hlo_arena_array(arena, map.count, sizeof(hlo_value_t*));
  hlo_value_t** results = hlo_arena_array(arena, fusion->output_count + 1, sizeof(*results));
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    map.values[fusion->inputs[i]->index] = func->body->args[i];
  }
  const hlo_region_t* region = fusion->outputs[0]->def->parent;
  const uint32_t copied = copy_nodes(fusion, region, func->body, &map);
  HLO_TRY(hlo_module_status(module));
  if (copied != fusion->node_count) return hlo_internal_error("a member of a fusion has no copy");
  for (uint32_t i = 0; i < fusion->output_count; ++i) {
    results[i] = map.values[fusion->outputs[i]->index];
  }
  *out_func = func;
  return add_return(func->body, results, fusion->output_count);
}

// Makes a module with a copy of that function alone.
static hlo_status_t import_func(const hlo_func_t* func, hlo_arena_t* arena, hlo_module_t* module) {
  HLO_SCOPED_STRBUF text = {0};
  const hlo_type_t* type = NULL;
  hlo_print_type(func->type, &text);
  HLO_TRY(hlo_strbuf_status(&text));
  HLO_TRY(hlo_parse_type(module, hlo_strbuf_text(&text), text.length, &type));
  hlo_func_t* copy = hlo_func_create(module, kName, type, HLO_PUBLIC, true, 0);
  if (!copy) return hlo_module_status(module);
  const uint32_t count = type->element_count - type->input_count;
  hlo_value_t** results = hlo_arena_array(arena, count + 1, sizeof(*results));
  HLO_TRY(hlo_arena_status(arena));
  HLO_TRY(add_return(copy->body, NULL, 0));
  hlo_node_t* place = copy->body->last;
  HLO_TRY(hlo_region_import(func->body, copy->body->args, place, results));
  hlo_node_erase(place);
  HLO_TRY(add_return(copy->body, results, count));
  return hlo_module_status(module);
}

// The program must be the kernel and nothing else: the same ops in the same loops. Takes the key
// that the kernel has there, which counts ops and inputs in their order.
static hlo_status_t find_key(const hlo_fusion_t* fusion, hlo_tune_kernel_t* kernel) {
  HLO_SCOPED_ARENA arena = {0};
  HLO_SCOPED_STRBUF before = {0}, after = {0};
  hlo_schedule_t* schedule;
  hlo_tunable_t* tunables;
  uint32_t count;
  HLO_TRY(hlo_schedule_create(hlo_module_entry(kernel->module), &kernel->options.target, &arena,
                              &schedule));
  HLO_TRY(hlo_schedule_list_tunable(schedule, kernel->module, &arena, &count, &tunables));
  hlo_kernel_describe(fusion->kernel, &before);
  if (count == 1) hlo_kernel_describe(tunables[0].fusion->kernel, &after);
  if (count == 1 && tunables[0].fusion->node_count == fusion->node_count &&
      strcmp(hlo_strbuf_text(&before), hlo_strbuf_text(&after)) == 0) {
    kernel->key = tunables[0].key;
    return hlo_ok();
  }
  return hlo_failed_precondition("its ops alone are compiled in another way: %u kernels; %s", count,
                                 hlo_strbuf_text(&after));
}

static hlo_status_t list_buffers(hlo_tune_kernel_t* kernel) {
  const hlo_type_t* type = hlo_module_entry(kernel->module)->type;
  hlo_tune_buffer_t* buffers =
      hlo_arena_array(&kernel->arena, type->element_count + 1, sizeof *buffers);
  HLO_TRY(hlo_arena_status(&kernel->arena));
  size_t total = 0;
  for (uint32_t i = 0; i < type->element_count; ++i) {
    const hlo_type_t* each = type->elements[i];
    buffers[i] =
        (hlo_tune_buffer_t){each->dtype, hlo_type_size_bytes(each), i >= type->input_count};
    total += buffers[i].size_bytes;
  }
  kernel->job.buffers = buffers;
  kernel->job.buffer_count = type->element_count;
  return total <= HLO_TUNING_TUNE_MAX_BYTES
             ? hlo_ok()
             : hlo_failed_precondition("it reads and writes %zu bytes (limit %d)", total,
                                       HLO_TUNING_TUNE_MAX_BYTES);
}

// ---- the job, in a child process

typedef struct run_state {
  hlo_code_program_t* program;
  hlo_env_t env;
  uint8_t *temporaries, *saved;
  size_t temporary_bytes;
} run_state_t;

static hlo_status_t prepare(void* context, const hlo_kernel_config_t* config, void** out_state,
                            hlo_tune_needs_t* out_needs) {
  const hlo_tune_kernel_t* kernel = context;
  const hlo_config_entry_t entry = {kernel->key, *config};
  const hlo_config_table_t table = {1, &entry};
  hlo_code_options_t options = kernel->options;
  options.configs = &table;
  hlo_module_t* module;
  run_state_t* state = hlo_mem_alloc_zeroed(sizeof *state);
  if (!state) return hlo_status_out_of_memory(sizeof *state);
  *out_state = state;
  HLO_TRY(hlo_module_clone(kernel->module, &module));
  HLO_TRY(hlo_code_program_create(module, hlo_module_entry(module), &options, &state->program));
  state->env = hlo_target_env(&options.target);
  state->temporary_bytes = hlo_code_program_temporary_bytes(state->program);
  state->temporaries = hlo_mem_alloc_aligned(state->temporary_bytes + GUARD_BYTES, 64);
  state->saved = hlo_mem_alloc_zeroed(hlo_code_program_saved_bytes(state->program) + 1);
  if (!state->temporaries || !state->saved) {
    return hlo_status_out_of_memory(state->temporary_bytes);
  }
  memset(state->temporaries, 0, state->temporary_bytes);
  memset(state->temporaries + state->temporary_bytes, GUARD, GUARD_BYTES);
  out_needs->scratch_bytes = state->temporary_bytes;
  out_needs->code_hash = hlo_code_program_code_hash(state->program);
  hlo_code_program_count_spills(state->program, &out_needs->spilled_words,
                                &out_needs->spilled_vectors);
  return hlo_ok();
}

static hlo_status_t check_temporaries(const run_state_t* state) {
  const uint8_t* guard = state->temporaries + state->temporary_bytes;
  for (size_t i = 0; i < GUARD_BYTES; ++i) {
    if (guard[i] == GUARD) continue;
    return hlo_status_create(HLO_STATUS_OUT_OF_RANGE, "wrote %zu bytes past its scratch memory",
                             i + 1);
  }
  return hlo_ok();
}

static hlo_status_t run(void* context, void* opaque, void* const* addresses) {
  run_state_t* state = opaque;
  (void)context;
  hlo_frame_t frame = {.abi_version = HLO_PROGRAM_ABI_VERSION,
                       .buffers = (void**)(uintptr_t)addresses,
                       .temporaries = state->temporaries,
                       .saved = state->saved,
                       .runtime = &hlo_execute_table,
                       .saved_bytes = (uint32_t)hlo_code_program_saved_bytes(state->program),
                       .program = hlo_code_program_data(state->program)};
  const hlo_env_state_t host = hlo_env_enter(&state->env);
  const int32_t answer = hlo_code_program_entry(state->program)(&frame);
  hlo_env_leave(host);
  if (answer == HLO_PROGRAM_DONE) return check_temporaries(state);
  if (!hlo_status_is_ok(frame.error.status)) return frame.error.status;
  return hlo_internal_error("the kernel failed at call site %u", frame.error.call_site_index);
}

// ---- creation

static hlo_status_t fill(hlo_module_t* module, const hlo_tunable_t* tunable,
                         hlo_tune_kernel_t* kernel) {
  hlo_func_t* func = NULL;
  hlo_status_t status = copy_fusion(module, tunable->fusion, &kernel->arena, &func);
  if (hlo_status_is_ok(status)) status = hlo_module_create(0, &kernel->module);
  if (hlo_status_is_ok(status)) status = import_func(func, &kernel->arena, kernel->module);
  if (func) hlo_func_remove(func);
  if (hlo_status_is_ok(status)) status = find_key(tunable->fusion, kernel);
  if (hlo_status_is_ok(status)) status = list_buffers(kernel);
  return status;
}

hlo_status_t hlo_tune_kernel_create(hlo_module_t* module, const hlo_tunable_t* tunable,
                                    const hlo_code_options_t* options,
                                    hlo_tune_kernel_t** out_kernel) {
  hlo_tune_kernel_t* kernel = hlo_mem_alloc_zeroed(sizeof *kernel);
  if (!kernel) return hlo_status_out_of_memory(sizeof *kernel);
  hlo_arena_init(&kernel->arena, 0);
  kernel->options = (hlo_code_options_t){.target = options->target,
                                         .executor = HLO_EXECUTOR_MACHINE,
                                         .replica_count = 1,
                                         .partition_count = 1,
                                         .name = kName};
  const hlo_kernel_t* made = tunable->fusion->kernel;
  kernel->job =
      (hlo_tune_job_t){.context = kernel,
                       .sum_terms = hlo_kernel_sum_terms(made),
                       .refuses_spills = hlo_kernel_config_kind(made) == HLO_KERNEL_CONFIG_PRODUCT,
                       .prepare = prepare,
                       .run = run};
  const hlo_status_t status = fill(module, tunable, kernel);
  if (!hlo_status_is_ok(status)) {
    hlo_tune_kernel_release(kernel);
    return status;
  }
  *out_kernel = kernel;
  return hlo_ok();
}

void hlo_tune_kernel_release(hlo_tune_kernel_t* kernel) {
  if (!kernel) return;
  hlo_module_release(kernel->module);
  hlo_arena_deinit(&kernel->arena);
  hlo_mem_free(kernel);
}

const hlo_tune_job_t* hlo_tune_kernel_job(const hlo_tune_kernel_t* kernel) {
  return &kernel->job;
}

void hlo_tune_kernel_print(const hlo_tune_kernel_t* kernel, hlo_strbuf_t* out) {
  const hlo_print_options_t options = {0};
  hlo_print_module(kernel->module, &options, out);
}
