// SPDX-License-Identifier: Apache-2.0
// Kernels of Tile IR as machine code: a function per phase, called for every chunk.
#include "codegen/image/tile_program.h"

#include <string.h>

#include "base/env.h"
#include "codegen/isa/isa.h"
#include "codegen/jit/jit.h"
#include "codegen/tiles/lower.h"
#include "codegen/tiles/runtime.h"

struct hlo_tile_program {
  const hlo_tile_kernel_t* kernel;
  hlo_arena_t arena;
  hlo_jit_t* jit;
  hlo_env_t env;
  hlo_tile_plan_t plan;
  bool has_threads;  // iterations wait for each other
};

// Emits, compiles and loads the phases.
static hlo_status_t load_phases(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                                hlo_vir_module_t* module, hlo_tile_program_t* program) {
  module->has_half = target->has_half;
  module->has_scale = target->has_scale;
  module->subnormals = target->subnormals;
  hlo_tile_emit_phases(kernel, target, &program->plan, module);
  program->has_threads = module->func_count > program->plan.phase_count;
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
  program->kernel = kernel;
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
  hlo_tile_session_t* session;
  void* const* buffers;
  hlo_program_chunk_t func;
} phase_run_t;

static int32_t run_chunk(void* context, size_t index) {
  const phase_run_t* run = context;
  hlo_frame_t frame = hlo_tile_session_frame(run->session);
  hlo_tile_session_begin_chunk(run->session);
  const int32_t answer = run->func(&frame, (void*)(uintptr_t)run->buffers, index);
  hlo_tile_session_end_chunk(run->session);
  return answer;
}

static int32_t call_iteration(HLO_UNUSED void* context, uint64_t func, hlo_frame_t* frame,
                              uint64_t argument, uint64_t number) {
  hlo_program_chunk_t chunk;
  const void* address = (const void*)(uintptr_t)func;
  memcpy(&chunk, &address, sizeof address);
  return chunk(frame, (void*)(uintptr_t)argument, number);
}

static void run_phases(const hlo_tile_program_t* program, void* const* buffers,
                       hlo_tile_session_t* session) {
  const hlo_env_state_t before = hlo_env_enter(&program->env);
  int32_t answer = HLO_PROGRAM_DONE;
  for (uint32_t i = 0; i < program->plan.phase_count && answer == HLO_PROGRAM_DONE; ++i) {
    void* address = hlo_jit_address(program->jit, i);
    phase_run_t run = {.session = session, .buffers = buffers};
    memcpy(&run.func, &address, sizeof address);
    answer = hlo_pool_parallel_for(session->pool, program->plan.chunk_counts[i], run_chunk, &run);
  }
  hlo_env_leave(before);
}

hlo_status_t hlo_tile_program_run(const hlo_tile_program_t* program, void* const* buffers,
                                  hlo_pool_t* pool, const hlo_tile_meaning_t* meaning) {
  hlo_pool_t* own = NULL;
  if (!pool && program->has_threads) HLO_TRY(hlo_pool_create(0, &own));
  hlo_tile_session_t session;
  hlo_tile_session_init(&session, program->kernel, pool ? pool : own, call_iteration, NULL);
  session.meaning = meaning;
  session.env = &program->env;
  run_phases(program, buffers, &session);
  hlo_pool_release(own);
  return hlo_tile_session_deinit(&session);
}
