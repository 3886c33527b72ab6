// SPDX-License-Identifier: Apache-2.0
// Runs iterations of parallel loops that wait for each other, all on one thread of the machine:
// each has a stack of the regions that it is in and runs until it must wait; then the next one
// does. The order is always the same. Whatever does not wait runs at once (ir_run.c).
#include <string.h>

#include "tile/ir_run_impl.h"

enum { MAX_THREADS = 4096 };

// A region that a thread is in.
typedef struct frame {
  const hlo_tile_op_t* op;  // whose region it is; NULL: the thread's first
  const hlo_tile_block_t* region;
  const hlo_tile_op_t* at;  // the next operation; NULL: the end
  int64_t base;             // of the loop
  uint32_t depth;           // loops around the operation
  hlo_run_scope_t scope;
} frame_t;

typedef struct thread {
  hlo_tile_run_t run;
  struct thread* parent;
  uint32_t children;  // that have not ended
  bool is_done;
  const hlo_tile_op_t* waits;  // NULL: it can run
  hlo_race_clock_t known;      // what ended children knew
  uint32_t frame_count;
  frame_t frames[HLO_TILE_MAX_DEPTH];
} thread_t;

typedef struct scheduler {
  hlo_arena_t arena;
  uint32_t thread_count, thread_capacity;
  thread_t** threads;
  uint32_t waiting_count;
  const hlo_tile_op_t** waiting;  // operations that may wait, and those around them
} scheduler_t;

// ---- what may wait

// An atomic in a loop that runs until something holds may wait for another thread's.
static bool may_wait(const hlo_tile_op_t* op) {
  if (op->kind == HLO_TILE_OP_copy_wait || op->kind == HLO_TILE_OP_semaphore_wait ||
      op->kind == HLO_TILE_OP_barrier_wait) {
    return true;
  }
  if (op->kind != HLO_TILE_OP_atomic) return false;
  int64_t dims[HLO_TILE_MAX_DEPTH];
  bool loops = false;
  for (const hlo_tile_op_t* at = op->block->parent; at; at = at->block->parent) {
    if (at->kind == HLO_TILE_OP_reduce) return false;
    loops |= at->kind == HLO_TILE_OP_while;
  }
  return loops && hlo_tile_block_tile(op->block, dims, NULL) == 0;
}

static bool is_waiting(const scheduler_t* s, const hlo_tile_op_t* op) {
  for (uint32_t i = 0; i < s->waiting_count; ++i) {
    if (s->waiting[i] == op) return true;
  }
  return false;
}

static hlo_status_t find_waiting(scheduler_t* s, const hlo_tile_kernel_t* kernel) {
  uint32_t capacity = 0;
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (!may_wait(op)) continue;
    for (const hlo_tile_op_t* at = op; at && !is_waiting(s, at); at = at->block->parent) {
      if (!hlo_arena_grow(&s->arena, &s->waiting, s->waiting_count, &capacity,
                          sizeof *s->waiting)) {
        return hlo_arena_status(&s->arena);
      }
      s->waiting[s->waiting_count++] = at;
    }
  }
  return hlo_ok();
}

// ---- threads

static hlo_status_t enter(thread_t* t, const hlo_tile_op_t* op, const hlo_tile_block_t* region) {
  if (t->frame_count == HLO_TILE_MAX_DEPTH) return hlo_resource_exhausted("regions too deep");
  t->frames[t->frame_count++] = (frame_t){.op = op,
                                          .region = region,
                                          .at = region->first,
                                          .depth = t->run.depth,
                                          .scope = hlo_run_enter(&t->run)};
  return hlo_ok();
}

static hlo_status_t add_thread(scheduler_t* s, thread_t* parent, const hlo_tile_run_t* like,
                               const hlo_tile_block_t* block, thread_t** out_thread) {
  if (s->thread_count == MAX_THREADS) {
    return hlo_resource_exhausted("%s: more than %d iterations that wait for each other",
                                  like->kernel->name, MAX_THREADS);
  }
  if (!hlo_arena_grow(&s->arena, &s->threads, s->thread_count, &s->thread_capacity,
                      sizeof *s->threads)) {
    return hlo_arena_status(&s->arena);
  }
  thread_t* t = hlo_arena_alloc_zeroed(&s->arena, sizeof *t);
  HLO_TRY(hlo_arena_status(&s->arena));
  t->run = *like;
  t->parent = parent;
  hlo_arena_init(&t->run.arena, 0);
  hlo_arena_init(&t->run.scratch, 0);
  hlo_arena_init(&t->run.memory, HLO_RUN_MAX_BYTES);
  s->threads[s->thread_count++] = *out_thread = t;
  size_t count = like->kernel->value_count;
  t->run.values = hlo_arena_array(&t->run.arena, count + 1, sizeof *t->run.values);
  HLO_TRY(hlo_arena_status(&t->run.arena));
  memcpy(t->run.values, like->values, count * sizeof *t->run.values);
  HLO_TRY(hlo_run_make_values(&t->run, block));
  t->run.storages = NULL;
  return enter(t, NULL, block);
}

static hlo_status_t fork_loop(scheduler_t* s, thread_t* t, const hlo_tile_op_t* op) {
  const hlo_tile_loop_t* loop = &op->loops[0];
  for (int64_t base = loop->low; base < loop->end; base += loop->step) {
    thread_t* child;
    HLO_TRY(add_thread(s, t, &t->run, &op->body, &child));
    int64_t rest = loop->end - base;
    child->run.active[child->run.depth++] =
        (hlo_run_active_t){loop->iv, base, rest < loop->step ? rest : loop->step};
    child->frames[0].depth = child->run.depth;
    if (t->run.races) child->run.thread = hlo_race_fork(t->run.races, t->run.thread);
    ++t->children;
  }
  return t->run.races ? hlo_arena_status(t->run.races->arena) : hlo_ok();
}

static void end_thread(thread_t* t) {
  t->is_done = true;
  if (!t->parent) return;
  --t->parent->children;
  if (t->run.races) hlo_race_end(t->run.races, t->run.thread, &t->parent->known);
}

static void release_thread(thread_t* t) {
  hlo_arena_deinit(&t->run.arena);
  hlo_arena_deinit(&t->run.scratch);
  hlo_arena_deinit(&t->run.memory);
}

// ---- regions

static void set_loop(thread_t* t, const frame_t* frame) {
  const hlo_tile_loop_t* loop = &frame->op->loops[0];
  int64_t rest = loop->end - frame->base;
  t->run.active[frame->depth] =
      (hlo_run_active_t){loop->iv, frame->base, rest < loop->step ? rest : loop->step};
  t->run.depth = frame->depth + 1;
}

// Enters the regions of an operation that may wait inside them.
static hlo_status_t begin(scheduler_t* s, thread_t* t, const hlo_tile_op_t* op) {
  hlo_tile_run_t* run = &t->run;
  const hlo_tile_block_t* region = &op->body;
  if (op->kind == HLO_TILE_OP_parallel) return fork_loop(s, t, op);
  if (op->kind == HLO_TILE_OP_for || op->kind == HLO_TILE_OP_while) {
    if (hlo_tile_op_has_result(op)) HLO_TRY(hlo_run_put_initial(run, op));
  } else {
    int64_t count = 0, chosen;
    for (const hlo_tile_block_t* at = region; at; at = at->next) ++count;
    const void* number = hlo_run_spread(run, op->operands[0], 1);
    HLO_TRY(hlo_arena_status(&run->scratch));
    for (chosen = hlo_run_chosen(op, number, count); region && chosen > 0; --chosen) {
      region = region->next;
    }
    if (!region) return hlo_ok();
  }
  HLO_TRY(enter(t, op, region));
  frame_t* frame = &t->frames[t->frame_count - 1];
  if (op->kind != HLO_TILE_OP_for) return hlo_ok();
  frame->base = op->loops[0].low;
  set_loop(t, frame);
  return hlo_ok();
}

// Returns the region to go on with after one has ended; NULL: none.
static const hlo_tile_block_t* next_region(thread_t* t, frame_t* frame) {
  const hlo_tile_op_t* op = frame->op;
  if (op->kind == HLO_TILE_OP_for) {
    frame->base += op->loops[0].step;
    if (frame->base >= op->loops[0].end) return NULL;
    set_loop(t, frame);
    return &op->body;
  }
  if (op->kind != HLO_TILE_OP_while) return NULL;
  if (frame->region != &op->body) return &op->body;
  const hlo_tile_op_t* condition = hlo_tile_block_yield(&op->body);
  const uint8_t* holds = t->run.values[condition->operands[0]->number].data;
  return *holds ? op->body.next : NULL;
}

static hlo_status_t end_region(thread_t* t) {
  frame_t* frame = &t->frames[t->frame_count - 1];
  const hlo_tile_op_t* op = frame->op;
  hlo_tile_run_t* run = &t->run;
  HLO_TRY(hlo_run_leave(run, frame->scope));
  if (!op) {
    end_thread(t);
    return hlo_ok();
  }
  bool is_condition = op->kind == HLO_TILE_OP_while && frame->region == &op->body;
  if (hlo_tile_op_has_result(op) && !is_condition) {
    HLO_TRY(hlo_run_keep_yields(run, op, hlo_tile_block_yield(frame->region)));
  }
  frame->region = next_region(t, frame);
  if (frame->region) {
    frame->at = frame->region->first;
    frame->scope = hlo_run_enter(run);
    return hlo_ok();
  }
  run->depth = frame->depth;
  --t->frame_count;
  if (hlo_tile_op_has_result(op)) hlo_run_take_result(run, op, 0, op);
  return hlo_ok();
}

// Runs a thread until it must wait or lets others run; says whether it did anything.
static hlo_status_t step(scheduler_t* s, thread_t* t, bool* out_moved) {
  while (!t->is_done && !t->children) {
    if (t->run.races && t->known.count) {  // a parallel loop has ended
      hlo_race_learn(t->run.races, t->run.thread, &t->known);
      t->known.count = 0;
    }
    frame_t* frame = &t->frames[t->frame_count - 1];
    const hlo_tile_op_t* op = frame->at;
    t->waits = NULL;
    if (op && may_wait(op) && op->kind != HLO_TILE_OP_atomic && hlo_run_must_wait(&t->run, op)) {
      t->waits = op;
      return hlo_ok();
    }
    *out_moved = true;
    hlo_arena_mark_t mark = hlo_arena_mark(&t->run.scratch);
    if (!op) {
      HLO_TRY(end_region(t));
      if (t->is_done) return hlo_ok();
    } else {
      frame->at = op->next;
      bool has_waits = hlo_tile_op_has_regions(op->kind) && is_waiting(s, op);
      HLO_TRY(has_waits ? begin(s, t, op) : hlo_run_op(&t->run, op));
    }
    hlo_arena_reset(&t->run.scratch, mark);
    if (op && op->kind == HLO_TILE_OP_atomic && is_waiting(s, op)) return hlo_ok();
  }
  return hlo_ok();
}

static hlo_status_t stuck(const scheduler_t* s) {
  HLO_SCOPED_STRBUF names = {0};
  uint32_t count = 0;
  for (uint32_t i = 0; i < s->thread_count; ++i) {
    const hlo_tile_op_t* op = s->threads[i]->is_done ? NULL : s->threads[i]->waits;
    if (!op || count++ >= 3) continue;
    if (count > 1) hlo_strbuf_puts(&names, ", ");
    hlo_tile_op_format(op, &names);
  }
  return hlo_failed_precondition("deadlock: %u iterations wait for ever: %s", count,
                                 hlo_strbuf_text(&names));
}

// Threads that have ended make room for others.
static void forget_ended(scheduler_t* s) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < s->thread_count; ++i) {
    thread_t* t = s->threads[i];
    if (t->is_done) {
      release_thread(t);
    } else {
      s->threads[kept++] = t;
    }
  }
  s->thread_count = kept;
}

hlo_status_t hlo_run_threads(hlo_tile_run_t* run) {
  scheduler_t s = {0};
  hlo_arena_init(&s.arena, 0);
  hlo_status_t status = find_waiting(&s, run->kernel);
  if (!s.waiting_count) {
    hlo_arena_deinit(&s.arena);
    return hlo_status_is_ok(status) ? hlo_run_block(run, &run->kernel->body) : status;
  }
  thread_t* first = NULL;
  if (hlo_status_is_ok(status)) {
    status = add_thread(&s, NULL, run, &run->kernel->body, &first);
  }
  while (hlo_status_is_ok(status) && !first->is_done) {
    bool moved = false;
    for (uint32_t i = 0; hlo_status_is_ok(status) && i < s.thread_count; ++i) {
      status = step(&s, s.threads[i], &moved);
    }
    if (hlo_status_is_ok(status) && !moved) status = stuck(&s);
    if (hlo_status_is_ok(status)) forget_ended(&s);
  }
  for (uint32_t i = 0; i < s.thread_count; ++i) release_thread(s.threads[i]);
  hlo_arena_deinit(&s.arena);
  return status;
}
