// SPDX-License-Identifier: Apache-2.0
// Kernels of Tile IR as machine code: a function per phase, called for every chunk.
#include "codegen/image/tile_program.h"

#include <string.h>

#include "base/env.h"
#include "codegen/isa/isa.h"
#include "codegen/jit/jit.h"
#include "codegen/tiles/lower.h"

struct hlo_tile_program {
  hlo_arena_t arena;
  hlo_jit_t* jit;
  hlo_env_t env;
  hlo_tile_plan_t plan;
};

// Emits, compiles and loads the phases.
static hlo_status_t load_phases(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                                hlo_vir_module_t* module, hlo_tile_program_t* program) {
  module->has_half = target->has_half;
  module->has_scale = target->has_scale;
  module->subnormals = target->subnormals;
  hlo_tile_emit_phases(kernel, target, &program->plan, module);
  HLO_TRY(hlo_vir_module_status(module));
  HLO_TRY(hlo_vir_verify(module, target->vector_bytes));
  hlo_code_t code = {0};
  HLO_TRY(hlo_code_compile(module, target, &code));
  hlo_status_t status = hlo_jit_load(&code, kernel->name, NULL, &program->jit);
  hlo_code_deinit(&code);
  return status;
}

hlo_status_t hlo_tile_program_create(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                                     hlo_tile_program_t** out_program) {
  HLO_TRY(hlo_tile_check_lowering(kernel, target));
  hlo_tile_program_t* program = hlo_mem_alloc_zeroed(sizeof *program);
  if (!program) return hlo_resource_exhausted("memory for the program of a kernel");
  hlo_arena_init(&program->arena, 0);
  program->env = hlo_target_env(target);
  hlo_vir_module_t* module = NULL;
  hlo_status_t status = hlo_tile_plan_chunks(kernel, target, &program->arena, &program->plan);
  if (hlo_status_is_ok(status)) status = hlo_vir_module_create(&module);
  if (hlo_status_is_ok(status)) status = load_phases(kernel, target, module, program);
  hlo_vir_module_release(module);
  if (!hlo_status_is_ok(status)) {
    hlo_tile_program_release(program);
    return status;
  }
  *out_program = program;
  return hlo_ok();
}

void hlo_tile_program_release(hlo_tile_program_t* program) {
  if (!program) return;
  hlo_jit_release(program->jit);
  hlo_arena_deinit(&program->arena);
  hlo_mem_free(program);
}

uint32_t hlo_tile_program_phase_count(const hlo_tile_program_t* program) {
  return program->plan.phase_count;
}

typedef struct phase_run {
  void* const* buffers;
  hlo_program_chunk_t func;
} phase_run_t;

static void run_chunk(void* arg, uint64_t index) {
  const phase_run_t* run = arg;
  hlo_frame_t frame = {.abi_version = HLO_PROGRAM_ABI_VERSION};
  run->func(&frame, (void*)(uintptr_t)run->buffers, index);
}

void hlo_tile_program_run(const hlo_tile_program_t* program, void* const* buffers,
                          const hlo_parallel_t* parallel) {
  const hlo_env_state_t before = hlo_env_enter(&program->env);
  for (uint32_t i = 0; i < program->plan.phase_count; ++i) {
    void* address = hlo_jit_address(program->jit, i);
    phase_run_t run = {.buffers = buffers};
    memcpy(&run.func, &address, sizeof address);
    hlo_parallel_for(parallel, program->plan.chunk_counts[i], run_chunk, &run);
  }
  hlo_env_leave(before);
}
