// SPDX-License-Identifier: Apache-2.0
// Distributes the iterations of Tile IR over threads (see kernel.h) and lowers it to vector IR of
// one lane.
#include "codegen/ptx/kernel.h"

#include "codegen/ptx/emit.h"
#include "codegen/tiles/lower.h"

// A loop whose iterations are threads, outermost first.
typedef struct thread_loops {
  uint32_t count;
  const hlo_tile_loop_t* loops[HLO_TILE_MAX_CUT_LOOPS];
} thread_loops_t;

// A target on which every loop has one lane. Subnormals are kept: PTX never flushes those of f64.
static hlo_target_t thread_target(void) {
  return (hlo_target_t){.vector_bytes = 1,
                        .vector_registers = 64,
                        .mask_registers = 7,
                        .has_fma = true,
                        .unroll = 1,
                        .subnormals = HLO_SUBNORMALS_KEEP};
}

// ---- independent iterations --------------------------------------------------------------------

// Returns true if different iterations have different offsets: sorted by their size, each step is
// longer than what all smaller ones reach, the other loops inside included.
static bool is_injective(const thread_loops_t* t, const hlo_expr_t* offset) {
  bool is_used[HLO_TILE_MAX_CUT_LOOPS] = {false};
  if (hlo_expr_unresolved(offset)) return false;
  int64_t reach = offset->high - offset->low;  // of the loops that are not threads
  for (uint32_t i = 0; i < t->count; ++i) {
    const int64_t step = hlo_expr_coefficient(offset, t->loops[i]->iv);
    const int64_t count = t->loops[i]->end - t->loops[i]->low;
    if (count > 1 && step == 0) return false;
    reach -= (step < 0 ? -step : step) * (count - 1);
  }
  for (uint32_t n = 0; n < t->count; ++n) {
    uint32_t least = t->count;
    int64_t least_step = INT64_MAX;
    for (uint32_t i = 0; i < t->count; ++i) {
      const int64_t signed_step = hlo_expr_coefficient(offset, t->loops[i]->iv);
      const int64_t step = signed_step < 0 ? -signed_step : signed_step;
      if (is_used[i] || step >= least_step) continue;
      least = i;
      least_step = step;
    }
    const int64_t count = t->loops[least]->end - t->loops[least]->low;
    if (count > 1 && least_step <= reach) return false;
    reach += least_step * (count - 1);
    is_used[least] = true;
  }
  return true;
}

static const hlo_tile_op_t* first_inside(const hlo_tile_op_t* op) {
  const hlo_tile_op_t* first = op;
  while (first && first->body.first) first = first->body.first;
  return first;
}

// Returns true if no iteration reads or writes what another one writes.
static bool is_independent(const thread_loops_t* t, const hlo_tile_op_t* phase) {
  for (const hlo_tile_op_t* op = first_inside(phase); op != phase; op = hlo_tile_next_op(op)) {
    if (op->kind != HLO_TILE_OP_store) continue;
    if (!is_injective(t, op->offset)) return false;
    for (const hlo_tile_op_t* other = first_inside(phase); other != phase;
         other = hlo_tile_next_op(other)) {
      const bool is_access = other->kind == HLO_TILE_OP_load || other->kind == HLO_TILE_OP_store;
      if (is_access && other->buffer == op->buffer && other->offset != op->offset) return false;
    }
  }
  return true;
}

static bool is_thread_loop(const hlo_tile_op_t* op) {
  return (op->kind == HLO_TILE_OP_for || op->kind == HLO_TILE_OP_parallel) && !op->operand_count &&
         op->loops[0].low >= 0;
}

// Takes the loops that nothing stands between, as far as their iterations are independent.
static thread_loops_t choose_loops(const hlo_tile_op_t* phase) {
  thread_loops_t chosen = {0}, tried = {0};
  const hlo_tile_op_t* op = phase;
  while (op && is_thread_loop(op) && tried.count < HLO_TILE_MAX_CUT_LOOPS) {
    tried.loops[tried.count++] = &op->loops[0];
    const bool is_declared = op->kind == HLO_TILE_OP_parallel && chosen.count + 1 == tried.count;
    if (is_declared || is_independent(&tried, phase)) chosen = tried;
    op = op->body.first == op->body.last ? op->body.first : NULL;
  }
  return chosen;
}

// ---- kernels -----------------------------------------------------------------------------------

// Splits the number of the thread into iterations; the innermost loop's are adjacent.
static int64_t cut_threads(const thread_loops_t* t, hlo_vir_builder_t* b, hlo_vir_value_t* thread,
                           hlo_tile_cut_t* cut) {
  int64_t threads = 1;
  cut->count = t->count;
  for (uint32_t i = t->count; i-- > 0;) {
    hlo_vir_value_t* end = hlo_vir_iconst(b, t->loops[i]->end);
    hlo_vir_value_t* at = i ? hlo_vir_index(b, HLO_VIR_irem, thread, end) : thread;
    if (i) thread = hlo_vir_index(b, HLO_VIR_idiv, thread, end);
    cut->loops[i].iv = t->loops[i]->iv;
    cut->loops[i].chunk = at;
    cut->loops[i].size = 1;
    threads *= t->loops[i]->end;
  }
  return threads;
}

// phase: NULL for the whole kernel, which has one thread
static void emit_phase(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* phase,
                       hlo_vir_module_t* vir, hlo_strbuf_t* out) {
  enum { WORD_BYTES = 8 };
  const hlo_target_t target = thread_target();
  const uint32_t buffers = kernel->buffer_count;
  HLO_SCOPED_ARENA arena = {0};
  hlo_vir_value_t** addresses = hlo_arena_array(&arena, (size_t)buffers + 1, sizeof(*addresses));
  if (!addresses) {
    hlo_vir_module_fail(vir, hlo_arena_status(&arena));
    return;
  }
  hlo_vir_func_t* func = hlo_vir_func_create(vir, kernel->name, 2, false);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  for (uint32_t i = 0; i < buffers; ++i) {
    addresses[i] = hlo_vir_iload(&b, hlo_vir_param(&b, 0), (int64_t)i * WORD_BYTES,
                                 HLO_VIR_INVARIANT | HLO_VIR_FIXED);
  }
  const thread_loops_t loops = phase ? choose_loops(phase) : (thread_loops_t){0};
  hlo_tile_cut_t cut;
  hlo_vir_value_t* thread = hlo_vir_param(&b, 1);
  const int64_t threads = cut_threads(&loops, &b, thread, &cut);
  hlo_vir_begin_if(&b, hlo_vir_icmp(&b, HLO_VIR_LT, thread, hlo_vir_iconst(&b, threads)));
  hlo_tile_emit(kernel, &target, &cut, phase, &b, addresses);
  hlo_vir_end(&b);
  hlo_vir_return(&b, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
  char name[HLO_PTX_KERNEL_NAME_BYTES];
  hlo_ptx_kernel_name(func, name);
  hlo_strbuf_printf(out, "// %s: %lld threads\n", name, (long long)threads);
}

static hlo_status_t emit_phases(const hlo_tile_kernel_t* kernel, const hlo_ptx_target_t* target,
                                hlo_vir_module_t* vir, hlo_strbuf_t* out) {
  const hlo_target_t threads = thread_target();
  HLO_SCOPED_ARENA arena = {0};
  hlo_tile_plan_t plan;
  vir->subnormals = HLO_SUBNORMALS_KEEP;
  HLO_TRY(hlo_tile_plan_chunks(kernel, &threads, &arena, &plan));
  if (plan.is_whole) emit_phase(kernel, NULL, vir, out);
  for (const hlo_tile_op_t* op = kernel->body.first; op && !plan.is_whole; op = op->next) {
    if (hlo_tile_is_phase(op)) emit_phase(kernel, op, vir, out);
  }
  HLO_TRY(hlo_vir_module_status(vir));
  HLO_TRY(hlo_vir_verify(vir, 0));
  return hlo_ptx_emit(vir, target, out);
}

hlo_status_t hlo_ptx_emit_tile(const hlo_tile_kernel_t* kernel, const hlo_ptx_target_t* target,
                               hlo_strbuf_t* out) {
  const hlo_target_t threads = thread_target();
  hlo_vir_module_t* vir = NULL;
  HLO_TRY(hlo_tile_check_lowering(kernel, &threads));
  HLO_TRY(hlo_vir_module_create(&vir));
  hlo_status_t status = emit_phases(kernel, target, vir, out);
  hlo_vir_module_release(vir);
  return status;
}
