// SPDX-License-Identifier: Apache-2.0
// Distributes the iterations of Tile IR over threads (see kernel.h) and lowers it to vector IR of
// one lane.
#include "codegen/ptx/kernel.h"

#include "codegen/ptx/atoms.h"
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

// ---- vectors -----------------------------------------------------------------------------------

// Returns true if adjacent iterations access one element, or adjacent ones at multiples of `lanes`.
static bool is_vector_access(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op, uint32_t iv,
                             int64_t lanes) {
  const hlo_expr_t* offset = op->offset;
  const int64_t count = kernel->buffers[op->buffer].element_count;
  if (hlo_expr_unresolved(offset) || offset->low < 0 || offset->high >= count) return false;
  if (!(offset->loops >> iv & 1)) return op->kind == HLO_TILE_OP_load;
  if (hlo_expr_coefficient(offset, iv) != 1 || offset->constant % lanes) return false;
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    const hlo_expr_term_t* term = &offset->terms[i];
    const bool is_own = term->atom->kind == HLO_EXPR_LOOP && term->atom->number == iv;
    if (!is_own && (term->coefficient % lanes || term->atom->loops >> iv & 1)) return false;
  }
  return true;
}

// Returns true if the body of a loop is the same for a vector of iterations.
static bool is_vector_body(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* loop,
                           int64_t lanes) {
  for (const hlo_tile_op_t* op = loop->body.first; op; op = op->next) {
    switch (op->kind) {
      case HLO_TILE_OP_load:
      case HLO_TILE_OP_store:
        if (!is_vector_access(kernel, op, loop->loops[0].iv, lanes)) return false;
        break;
      case HLO_TILE_OP_constant:
      case HLO_TILE_OP_index:
      case HLO_TILE_OP_map: break;
      default: return false;
    }
  }
  return true;
}

// Returns how many adjacent iterations of the innermost thread loop a thread runs as a vector:
// those whose widest elements are 16 bytes; 1: it runs one.
static int64_t vector_lanes(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* phase,
                            const thread_loops_t* loops) {
  enum { MOST_BYTES = 16, MOST_LANES = 8 };
  const hlo_tile_op_t* loop = phase;
  int64_t widest = 1;
  if (!loops->count) return 1;
  for (uint32_t i = 1; i < loops->count; ++i) loop = loop->body.first;
  for (const hlo_tile_op_t* op = loop->body.first; op; op = op->next) {
    if (op->kind != HLO_TILE_OP_load && op->kind != HLO_TILE_OP_store) continue;
    const int64_t bytes = (int64_t)hlo_dtype_size_bytes(kernel->buffers[op->buffer].dtype);
    if (bytes > widest) widest = bytes;
  }
  int64_t lanes = widest > MOST_BYTES ? 1 : MOST_BYTES / widest;
  if (lanes > MOST_LANES) lanes = MOST_LANES;
  while (lanes > 1 && (loop->loops[0].low || loop->loops[0].end % lanes ||
                       !is_vector_body(kernel, loop, lanes))) {
    lanes /= 2;
  }
  return lanes;
}

// ---- kernels -----------------------------------------------------------------------------------

// Splits the number of the thread, or block, into iterations; the innermost loop's are adjacent.
// lanes: of the innermost one
static int64_t cut_threads(const thread_loops_t* t, hlo_vir_builder_t* b, hlo_vir_value_t* thread,
                           bool is_block, int64_t lanes, hlo_tile_cut_t* cut) {
  int64_t threads = 1;
  cut->count = t->count;
  for (uint32_t i = t->count; i-- > 0;) {
    const bool is_vector = lanes > 1 && i + 1 == t->count;
    const int64_t size = is_block ? t->loops[i]->step : is_vector ? lanes : 1;
    cut->loops[i].lanes = is_vector ? (uint32_t)lanes : 0;
    const int64_t parts = (t->loops[i]->end + size - 1) / size;
    hlo_vir_value_t* end = hlo_vir_iconst(b, parts);
    hlo_vir_value_t* at = i ? hlo_vir_index(b, HLO_VIR_irem, thread, end) : thread;
    if (i) thread = hlo_vir_index(b, HLO_VIR_idiv, thread, end);
    cut->loops[i].iv = t->loops[i]->iv;
    cut->loops[i].chunk = at;
    cut->loops[i].size = size;
    threads *= parts;
  }
  return threads;
}

typedef struct ptx_maker {
  const hlo_tile_kernel_t* kernel;
  const hlo_ptx_options_t* options;
  hlo_target_t target;
  int64_t shared_bytes;  // of a block, at most
  hlo_vir_module_t* vir;
  hlo_arena_t* arena;
  hlo_ptx_launch_t* launches;  // by function
  hlo_strbuf_t* out;
} ptx_maker_t;

// Returns the buffers' addresses, words of the table that is parameter 0.
static hlo_vir_value_t** load_addresses(ptx_maker_t* m, hlo_vir_builder_t* b) {
  enum { WORD_BYTES = 8 };
  const uint32_t buffers = m->kernel->buffer_count;
  hlo_vir_value_t** addresses = hlo_arena_array(m->arena, (size_t)buffers + 1, sizeof(*addresses));
  for (uint32_t i = 0; addresses && i < buffers; ++i) {
    addresses[i] = hlo_vir_iload(b, hlo_vir_param(b, 0), (int64_t)i * WORD_BYTES,
                                 HLO_VIR_INVARIANT | HLO_VIR_FIXED);
  }
  return addresses;
}

// phase: NULL for the whole kernel, which has one thread
static hlo_status_t emit_threads(ptx_maker_t* m, const hlo_tile_op_t* phase) {
  hlo_vir_func_t* func = hlo_vir_func_create(m->vir, m->kernel->name, 2, false);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  hlo_vir_value_t** addresses = load_addresses(m, &b);
  const thread_loops_t loops = phase ? choose_loops(phase) : (thread_loops_t){0};
  hlo_tile_cut_t cut = {0};
  hlo_vir_value_t* thread = hlo_vir_param(&b, 1);
  const int64_t threads =
      cut_threads(&loops, &b, thread, false, vector_lanes(m->kernel, phase, &loops), &cut);
  hlo_vir_begin_if(&b, hlo_vir_icmp(&b, HLO_VIR_LT, thread, hlo_vir_iconst(&b, threads)));
  if (addresses) hlo_tile_emit(m->kernel, &m->target, &cut, phase, &b, addresses);
  hlo_vir_end(&b);
  hlo_vir_return(&b, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
  char name[HLO_PTX_KERNEL_NAME_BYTES];
  hlo_ptx_kernel_name(func, name);
  hlo_strbuf_printf(m->out, "// %s: %lld threads\n", name, (long long)threads);
  return hlo_arena_status(m->arena);
}

static bool has_outer_allocation(const hlo_tile_kernel_t* kernel) {
  for (const hlo_tile_op_t* op = kernel->body.first; op; op = op->next) {
    if (op->kind == HLO_TILE_OP_alloc) return true;
  }
  return false;
}

// Takes the parallel loops that nothing stands between: their iterations, or tiles, are blocks.
static thread_loops_t choose_blocks(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* phase) {
  thread_loops_t chosen = {0};
  if (has_outer_allocation(kernel)) return chosen;
  for (const hlo_tile_op_t* op = phase; op && op->kind == HLO_TILE_OP_parallel;) {
    if (!is_thread_loop(op) || chosen.count == HLO_TILE_MAX_CUT_LOOPS) break;
    chosen.loops[chosen.count++] = &op->loops[0];
    op = op->body.first == op->body.last ? op->body.first : NULL;
  }
  return chosen;
}

// Returns the loops of which a block runs one iteration, one bit each.
static uint64_t single_loops(const thread_loops_t* loops) {
  uint64_t bits = 0;
  for (uint32_t i = 0; i < loops->count; ++i) {
    const hlo_tile_loop_t* loop = loops->loops[i];
    if (loop->step == 1 && loop->low == 0) bits |= UINT64_C(1) << loop->iv;
  }
  return bits;
}

// Says how a block kernel is launched, and which matrices it copies by boxes.
static void print_launch(ptx_maker_t* m, const char* name, const hlo_ptx_launch_t* launch,
                         const hlo_tile_group_plan_t* plan) {
  hlo_strbuf_printf(m->out, "// %s: %lld blocks of %u threads, %lld bytes of shared memory\n", name,
                    (long long)launch->block_count, launch->thread_count,
                    (long long)launch->shared_bytes);
  for (uint32_t i = 0; i < launch->map_count; ++i) {
    const hlo_tile_bulk_copy_t* bulk = &plan->bulk[i];
    hlo_strbuf_printf(
        m->out, "// map %u: buffer %u as %s[%lld, %lld], boxes of %lld x %lld", i, bulk->buffer,
        hlo_dtype_info(m->kernel->buffers[bulk->buffer].dtype)->hlo_name, (long long)bulk->rows,
        (long long)bulk->columns, (long long)bulk->box_rows, (long long)bulk->box_columns);
    hlo_strbuf_printf(m->out, ", swizzle of %u bytes\n", bulk->swizzle_bytes);
  }
}

static hlo_status_t emit_blocks(ptx_maker_t* m, const hlo_tile_op_t* phase) {
  enum { BLOCK = 1, THREAD = 2, NEAR = 3, PARAMS = 4 };
  hlo_tile_group_plan_t plan;
  const thread_loops_t loops = choose_blocks(m->kernel, phase);
  HLO_TRY(hlo_tile_plan_group(m->kernel, phase, &m->target, m->shared_bytes, single_loops(&loops),
                              m->arena, &plan));
  hlo_vir_func_t* func = hlo_vir_func_create(m->vir, m->kernel->name, PARAMS, false);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  hlo_vir_value_t** addresses = load_addresses(m, &b);
  hlo_tile_cut_t cut = {0};
  const int64_t blocks = cut_threads(&loops, &b, hlo_vir_param(&b, BLOCK), true, 1, &cut);
  hlo_tile_group_t group = {.plan = &plan,
                            .thread = hlo_vir_param(&b, THREAD),
                            .near = hlo_vir_param(&b, NEAR),
                            .is_unordered = m->options->is_unordered};
  cut.group = &group;
  hlo_tile_begin_tensor(&b, &group);
  if (addresses) hlo_tile_emit(m->kernel, &m->target, &cut, phase, &b, addresses);
  hlo_tile_end_tensor(&b, &group);
  hlo_vir_return(&b, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
  HLO_TRY(hlo_arena_status(m->arena));
  hlo_ptx_launch_t* launch = &m->launches[func->index];
  *launch = (hlo_ptx_launch_t){.block_count = blocks,
                               .thread_count = plan.thread_count + plan.producer_count,
                               .shared_bytes = plan.near_bytes,
                               .buffer_count = m->kernel->buffer_count,
                               .map_count = plan.bulk_count};
  char name[HLO_PTX_KERNEL_NAME_BYTES];
  hlo_ptx_kernel_name(func, name);
  print_launch(m, name, launch, &plan);
  return hlo_ok();
}

static hlo_status_t emit_phase(ptx_maker_t* m, const hlo_tile_op_t* phase) {
  return hlo_tile_suits_group(m->kernel, phase) ? emit_blocks(m, phase) : emit_threads(m, phase);
}

static hlo_status_t emit_phases(ptx_maker_t* m, const hlo_ptx_target_t* target) {
  const hlo_tile_kernel_t* kernel = m->kernel;
  hlo_tile_plan_t plan;
  m->vir->subnormals = HLO_SUBNORMALS_KEEP;
  m->vir->has_groups = true;
  HLO_TRY(hlo_tile_plan_chunks(kernel, &m->target, m->arena, &plan));
  m->launches = hlo_arena_array(m->arena, (size_t)plan.phase_count + 1, sizeof *m->launches);
  HLO_TRY(hlo_arena_status(m->arena));
  if (plan.is_whole) HLO_TRY(emit_phase(m, NULL));
  for (const hlo_tile_op_t* op = kernel->body.first; op && !plan.is_whole; op = op->next) {
    if (hlo_tile_is_phase(op)) HLO_TRY(emit_phase(m, op));
  }
  HLO_TRY(hlo_vir_module_status(m->vir));
  HLO_TRY(hlo_vir_verify(m->vir, 0));
  return hlo_ptx_emit(m->vir, target, m->launches, m->out);
}

hlo_status_t hlo_ptx_emit_tile(const hlo_tile_kernel_t* kernel, const hlo_ptx_target_t* target,
                               const hlo_ptx_options_t* options, hlo_strbuf_t* out) {
  enum { FIRST_WITH_ASYNC_COPIES = 80, FIRST_WITH_BULK_COPIES = 90 };
  static const hlo_ptx_options_t defaults = {0};
  HLO_SCOPED_ARENA arena = {0};
  ptx_maker_t m = {.kernel = kernel,
                   .options = options ? options : &defaults,
                   .target = thread_target(),
                   .shared_bytes = target->shared_bytes,
                   .arena = &arena,
                   .out = out};
  m.target.has_async_copies = target->capability >= FIRST_WITH_ASYNC_COPIES;
  m.target.has_bulk_copies = target->capability >= FIRST_WITH_BULK_COPIES;
  m.target.tile.atom_count = hlo_ptx_atoms(target, m.options->allows_tf32, m.target.tile.atoms);
  HLO_TRY(hlo_tile_check_lowering(kernel, &m.target));
  HLO_TRY(hlo_tile_pack_elements(kernel, &arena, &m.kernel));
  HLO_TRY(hlo_vir_module_create(&m.vir));
  hlo_status_t status = emit_phases(&m, target);
  hlo_vir_module_release(m.vir);
  return status;
}
