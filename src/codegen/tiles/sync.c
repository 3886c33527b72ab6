// SPDX-License-Identifier: Apache-2.0
// Iterations that wait for each other: which loops they are of, their functions, and what they call
// (runtime.h).
#include <stddef.h>

#include "codegen/tiles/lower_impl.h"

// ---- which loops have iterations that wait for each other

static const hlo_tile_op_t* semaphore_of(const hlo_tile_op_t* op) {
  return hlo_tile_ref_root(op->operands[op->operand_count - 1]);
}

static bool is_wait(const hlo_tile_op_t* op) {
  return op->kind == HLO_TILE_OP_copy_wait || op->kind == HLO_TILE_OP_semaphore_wait ||
         op->kind == HLO_TILE_OP_barrier_wait;
}

// An atomic in a `while` may poll for what another iteration does.
static bool may_poll(const hlo_tile_op_t* op) {
  if (op->kind != HLO_TILE_OP_atomic) return false;
  bool is_repeated = false;
  for (const hlo_tile_op_t* at = op->block->parent; at; at = at->block->parent) {
    if (at->loop_count && at->loops[0].step > 1) return false;
    is_repeated |= at->kind == HLO_TILE_OP_while;
  }
  return is_repeated;
}

// Returns true if the operation is in the block of `around`, or in regions inside.
static bool is_within(const hlo_tile_op_t* op, const hlo_tile_op_t* around) {
  while (op && op != around) op = op->block->parent;
  return op != NULL;
}

// Waits for what other iterations of the loop `context` may do: its memory is outside of the loop.
static bool waits_for_others(const hlo_tile_op_t* op, void* context) {
  const hlo_tile_op_t* loop = context;
  if (is_wait(op)) return !is_within(semaphore_of(op), loop);
  return may_poll(op) && !is_within(hlo_tile_ref_root(op->operands[0]), loop);
}

bool hlo_tile_runs_threads(const hlo_tile_op_t* op) {
  return op->kind == HLO_TILE_OP_parallel &&
         hlo_tile_any_inside(op, waits_for_others, (void*)(uintptr_t)op);
}

// Returns true if a loop around the operation, inside of `block`, has iterations that wait.
static bool is_in_threads(const hlo_tile_op_t* op, const hlo_tile_block_t* block) {
  for (; op->block != block; op = op->block->parent) {
    if (op->block->parent->kind == HLO_TILE_OP_parallel) return true;
  }
  return false;
}

// Uses a semaphore (`context`) for anything but copies of its own iteration.
static bool shares_semaphore(const hlo_tile_op_t* op, void* context) {
  const hlo_tile_op_t* alloc = context;
  const bool is_copy = op->kind == HLO_TILE_OP_copy_start || op->kind == HLO_TILE_OP_copy_wait;
  const bool is_user =
      is_copy || op->kind == HLO_TILE_OP_semaphore_signal || op->kind == HLO_TILE_OP_semaphore_wait;
  if (!is_user || semaphore_of(op) != alloc) return false;
  return !is_copy || is_in_threads(op, alloc->block);
}

bool hlo_tile_is_counted(const hlo_tile_op_t* alloc) {
  if (alloc->ref.space == HLO_TILE_SPACE_barrier) return true;
  if (alloc->ref.space != HLO_TILE_SPACE_semaphore) return false;
  return hlo_tile_any_in_block(alloc->block, shares_semaphore, (void*)(uintptr_t)alloc);
}

// ---- calls

// Calls a function of the runtime; when it returns ERROR, so does the function here.
static void call_runtime(hlo_tile_emitter_t* e, size_t offset, uint32_t count,
                         hlo_vir_value_t* const* arguments) {
  hlo_vir_value_t* answer = hlo_vir_call(e->b, offset, count, arguments);
  hlo_vir_begin_if(e->b, answer);
  hlo_vir_return(e->b, hlo_vir_iconst(e->b, HLO_PROGRAM_ERROR));
  hlo_vir_end(e->b);
}

static hlo_vir_value_t* site_of(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  return hlo_vir_iconst(e->b, (int64_t)hlo_tile_op_site(e->kernel, op));
}

static hlo_vir_value_t* semaphore_address(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  return e->done[op->operands[op->operand_count - 1]->number];
}

static void emit_wait(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  const bool is_phase = op->kind == HLO_TILE_OP_barrier_wait;
  const int64_t count = op->kind == HLO_TILE_OP_copy_wait ? 1 : op->count;
  hlo_vir_value_t* arguments[] = {
      semaphore_address(e, op),
      is_phase ? hlo_tile_emit_index(e, op->indices[0]) : hlo_vir_iconst(e->b, count),
      site_of(e, op)};
  const size_t offset =
      is_phase ? offsetof(hlo_tile_runtime_t, wait_phase) : offsetof(hlo_tile_runtime_t, wait);
  call_runtime(e, offset, 3, arguments);
}

void hlo_tile_emit_sync(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  const hlo_tile_op_t* root = semaphore_of(op);
  if (!hlo_tile_is_counted(root)) return;  // copies are complete where they start
  if (is_wait(op)) {
    emit_wait(e, op);
    return;
  }
  const bool is_arrival = op->kind == HLO_TILE_OP_barrier_arrive;
  const bool is_signal = op->kind == HLO_TILE_OP_semaphore_signal;
  const int64_t count = is_arrival ? root->count : is_signal ? op->count : 1;
  hlo_vir_value_t* arguments[] = {semaphore_address(e, op), hlo_vir_iconst(e->b, count)};
  const size_t offset =
      is_arrival ? offsetof(hlo_tile_runtime_t, arrive) : offsetof(hlo_tile_runtime_t, signal);
  call_runtime(e, offset, 2, arguments);
}

void hlo_tile_begin_semaphores(hlo_tile_emitter_t* e, const hlo_tile_op_t* alloc) {
  if (!hlo_tile_is_counted(alloc)) return;
  for (int64_t i = 0; i < hlo_tile_ref_count(alloc); ++i) {
    hlo_vir_istore(e->b, hlo_vir_iconst(e->b, 0), e->done[alloc->number],
                   i * HLO_TILE_SEMAPHORE_BYTES, 0);
  }
}

void hlo_tile_end_semaphores(hlo_tile_emitter_t* e, const hlo_tile_block_t* block) {
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) {
    if (op->kind != HLO_TILE_OP_alloc || !hlo_tile_is_counted(op) || !e->done[op->number]) continue;
    hlo_vir_value_t* arguments[] = {e->done[op->number],
                                    hlo_vir_iconst(e->b, hlo_tile_ref_count(op)), site_of(e, op)};
    call_runtime(e, offsetof(hlo_tile_runtime_t, end), 3, arguments);
  }
}

static bool polls(const hlo_tile_op_t* op, HLO_UNUSED void* context) {
  return may_poll(op) && is_in_threads(op, hlo_tile_ref_root(op->operands[0])->block);
}

void hlo_tile_emit_poll(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop) {
  if (e->group || !hlo_tile_any_inside(loop, polls, NULL)) return;
  call_runtime(e, offsetof(hlo_tile_runtime_t, let_others_run), 0, NULL);
}

// ---- the function of an iteration

// Values of the blocks around a loop that its iterations use, in memory that all of them read.
typedef struct captured {
  hlo_tile_emitter_t* e;
  const hlo_tile_op_t* loop;
  bool* is_used;                // by number: a value or reference of a block around
  hlo_vir_value_t** addresses;  // of buffers, in the function of an iteration
} captured_t;

static void use_op(captured_t* c, const hlo_tile_op_t* op) {
  if (!is_within(op, c->loop)) c->is_used[op->number] = true;
}

static void use_expr(captured_t* c, const hlo_expr_t* expr) {
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    const hlo_expr_atom_t* atom = expr->terms[i].atom;
    if (atom->kind == HLO_EXPR_VALUE) use_op(c, c->e->ops[atom->number]);
    if (atom->argument) use_expr(c, atom->argument);
  }
}

static bool note_uses(const hlo_tile_op_t* op, void* context) {
  captured_t* c = context;
  for (uint32_t i = 0; i < op->operand_count; ++i) use_op(c, op->operands[i]);
  if (op->offset) use_expr(c, op->offset);
  for (uint32_t i = 0; i < op->index_count; ++i) use_expr(c, op->indices[i]);
  return false;
}

// The next free word of the memory through which values pass; both functions take the same words in
// the same order.
typedef struct captured_slots {
  hlo_vir_builder_t* b;
  hlo_vir_value_t* memory;
  int64_t bytes;
  bool is_load;
} captured_slots_t;

static void pass_word(captured_slots_t* s, hlo_vir_value_t* from, hlo_vir_value_t** to) {
  if (s->is_load) {
    *to = hlo_vir_iload(s->b, s->memory, s->bytes, 0);
  } else {
    hlo_vir_istore(s->b, from, s->memory, s->bytes, 0);
  }
  s->bytes += 8;
}

static uint32_t log2_bytes(hlo_vir_type_t type) {
  return (uint32_t)__builtin_ctz(hlo_vir_elem_bits((hlo_vir_elem_t)type.elem) / 8);
}

// Values have one lane: threads are outside of tiles.
static void pass_value(captured_slots_t* s, hlo_vir_value_t* from, hlo_vir_value_t** to) {
  const hlo_vir_type_t type = from->type;
  if (type.elem == HLO_VIR_INDEX) {
    pass_word(s, from, to);
    return;
  }
  if (type.elem == HLO_VIR_MASK) {
    hlo_vir_value_t* word = s->is_load ? NULL : hlo_scalar_from_lane(s->b, HLO_DTYPE_PRED, from);
    pass_word(s, word, &word);
    if (s->is_load) *to = hlo_scalar_to_lane(s->b, HLO_DTYPE_PRED, word);
    return;
  }
  if (s->is_load) {
    *to = hlo_vir_emit(s->b, HLO_VIR_load, type, log2_bytes(type), s->bytes, 1, &s->memory);
  } else {
    hlo_vir_value_t* operands[] = {from, s->memory};
    hlo_vir_emit(s->b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), log2_bytes(type), s->bytes, 2,
                 operands);
  }
  s->bytes += 8;
}

// Passes everything from the emitter of the loop to that of an iteration (`to`; NULL: stores it).
static void pass_all(const captured_t* c, captured_slots_t* s, hlo_tile_emitter_t* to) {
  const hlo_tile_emitter_t* e = c->e;
  hlo_vir_value_t* unused;
  for (uint32_t i = 0; i < e->kernel->buffer_count; ++i) {
    pass_word(s, e->addresses[i], to ? &c->addresses[i] : &unused);
  }
  for (uint32_t i = 0; i < HLO_EXPR_MAX_LOOPS; ++i) {
    if (e->ivs[i]) pass_word(s, e->ivs[i], to ? &to->ivs[i] : &unused);
  }
  for (uint32_t i = 0; i < e->kernel->value_count; ++i) {
    if (!c->is_used[i] || !e->done[i]) continue;
    if (e->ops[i]->kind == HLO_TILE_OP_constant) {
      if (to) {
        to->done[i] = hlo_elementwise_constant(to->b, e->ops[i]->dtype, 1, e->ops[i]->element);
      }
      continue;
    }
    pass_value(s, e->done[i], to ? &to->done[i] : &unused);
    for (uint32_t k = 1; e->results[i] && k < HLO_TILE_MAX_OPERANDS && e->results[i][k]; ++k) {
      pass_value(s, e->results[i][k], to ? &to->results[i][k] : &unused);
    }
    if (to && e->results[i]) to->results[i][0] = to->done[i];
  }
}

static int64_t captured_bytes(const captured_t* c) {
  const hlo_tile_kernel_t* kernel = c->e->kernel;
  int64_t words = (int64_t)kernel->buffer_count + HLO_EXPR_MAX_LOOPS + 1;
  for (uint32_t i = 0; i < kernel->value_count; ++i) {
    if (c->is_used[i]) words += HLO_TILE_MAX_OPERANDS;
  }
  return words * 8;
}

// Emits the function of an iteration: a frame, what is captured, the number of the iteration.
static void emit_iteration(const captured_t* c, hlo_vir_func_t* func) {
  const hlo_tile_emitter_t* e = c->e;
  const hlo_tile_loop_t* loop = &c->loop->loops[0];
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  hlo_tile_emitter_t inner = *e;
  inner.b = &b;
  inner.cut = NULL;
  inner.stack = NULL;
  for (uint32_t i = 0; i < HLO_EXPR_MAX_LOOPS; ++i) inner.ivs[i] = NULL;
  inner.addresses = c->addresses;
  if (hlo_tile_make_values(&inner)) {
    captured_slots_t slots = {&b, hlo_vir_param(&b, 1), 0, true};
    pass_all(c, &slots, &inner);
    hlo_tile_place_allocations(&inner, c->loop);
    inner.ivs[loop->iv] = hlo_vir_index(
        &b, HLO_VIR_iadd, hlo_vir_iconst(&b, loop->low),
        hlo_vir_index(&b, HLO_VIR_imul, hlo_vir_param(&b, 2), hlo_vir_iconst(&b, loop->step)));
    hlo_tile_emit_block(&inner, &c->loop->body);
  }
  hlo_vir_return(&b, hlo_vir_iconst(&b, HLO_PROGRAM_DONE));
  hlo_vir_builder_deinit(&b);
}

void hlo_tile_emit_threads(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  const hlo_tile_loop_t* loop = &op->loops[0];
  captured_t c = {.e = e, .loop = op};
  c.is_used = hlo_arena_array(e->scratch, (size_t)e->kernel->value_count + 1, sizeof *c.is_used);
  c.addresses =
      hlo_arena_array(e->scratch, (size_t)e->kernel->buffer_count + 1, sizeof(*c.addresses));
  if (e->scratch->failed) return;
  hlo_vir_func_t* func = hlo_vir_func_create(e->b->module, e->kernel->name, 3, false);
  hlo_tile_any_inside(op, note_uses, &c);
  const hlo_vir_type_t index = hlo_vir_type(HLO_VIR_INDEX, 1);
  captured_slots_t slots = {.b = e->b};
  slots.memory = hlo_vir_emit(e->b, HLO_VIR_stack, index, 0, captured_bytes(&c), 0, NULL);
  pass_all(&c, &slots, NULL);
  emit_iteration(&c, func);
  hlo_vir_value_t* arguments[] = {
      hlo_vir_emit(e->b, HLO_VIR_func_address, index, 0, func->index, 0, NULL), slots.memory,
      hlo_vir_iconst(e->b, (loop->end - loop->low + loop->step - 1) / loop->step)};
  call_runtime(e, offsetof(hlo_tile_runtime_t, run_threads), 3, arguments);
}
