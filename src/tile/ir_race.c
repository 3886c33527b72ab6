// SPDX-License-Identifier: Apache-2.0
// Vector clocks of threads, semaphores and elements (see ir_race.h).
#include "tile/ir_race.h"

#include <string.h>

typedef struct hlo_race_signal {
  int64_t count;
  hlo_race_clock_t clock;
} signal_t;

// ---- clocks

static uint32_t tick_of(const hlo_race_clock_t* clock, uint32_t thread) {
  return thread < clock->count ? clock->ticks[thread] : 0;
}

static bool extend(hlo_races_t* races, hlo_race_clock_t* clock, uint32_t count) {
  while (clock->capacity < count) {
    if (!hlo_arena_grow(races->arena, &clock->ticks, clock->capacity, &clock->capacity,
                        sizeof *clock->ticks)) {
      return false;
    }
  }
  if (clock->count < count) {
    memset(clock->ticks + clock->count, 0, (count - clock->count) * sizeof *clock->ticks);
    clock->count = count;
  }
  return true;
}

static void merge(hlo_races_t* races, hlo_race_clock_t* into, const hlo_race_clock_t* from) {
  if (!extend(races, into, from->count)) return;
  for (uint32_t i = 0; i < from->count; ++i) {
    if (from->ticks[i] > into->ticks[i]) into->ticks[i] = from->ticks[i];
  }
}

static void tick(hlo_race_thread_t* thread) {
  ++thread->clock.ticks[thread->id];
}

// ---- threads

// Takes the number of a thread that ended before all that `parent` does from now on.
static hlo_race_epoch_t take_id(hlo_races_t* races, const hlo_race_thread_t* parent) {
  for (uint32_t i = races->free_count; parent && i-- > 0 && i + 8 > races->free_count;) {
    hlo_race_epoch_t ended = races->free_ids[i];
    if (tick_of(&parent->clock, ended.thread) < ended.tick) continue;
    races->free_ids[i] = races->free_ids[--races->free_count];
    return ended;
  }
  return (hlo_race_epoch_t){.thread = races->thread_count++};
}

hlo_race_thread_t* hlo_race_fork(hlo_races_t* races, hlo_race_thread_t* parent) {
  hlo_race_thread_t* thread = races->spare;
  if (thread) {
    races->spare = thread->next;
    thread->clock.count = 0;
  } else {
    thread = hlo_arena_alloc_zeroed(races->arena, sizeof *thread);
    if (!thread) return NULL;
  }
  hlo_race_epoch_t id = take_id(races, parent);
  thread->id = id.thread;
  if (parent) merge(races, &thread->clock, &parent->clock);
  if (!extend(races, &thread->clock, thread->id + 1)) return NULL;
  thread->clock.ticks[thread->id] = id.tick + 1;
  if (parent) tick(parent);
  return thread;
}

void hlo_race_end(hlo_races_t* races, hlo_race_thread_t* thread, hlo_race_clock_t* out_known) {
  if (out_known) merge(races, out_known, &thread->clock);
  if (hlo_arena_grow(races->arena, &races->free_ids, races->free_count, &races->free_capacity,
                     sizeof *races->free_ids)) {
    races->free_ids[races->free_count++] =
        (hlo_race_epoch_t){.thread = thread->id, .tick = thread->clock.ticks[thread->id]};
  }
  thread->next = races->spare;
  races->spare = thread;
}

void hlo_race_learn(hlo_races_t* races, hlo_race_thread_t* thread, const hlo_race_clock_t* known) {
  merge(races, &thread->clock, known);
}

// ---- semaphores and barriers

void hlo_race_signal(hlo_races_t* races, hlo_race_thread_t* thread, hlo_race_signals_t* signals,
                     int64_t count) {
  uint32_t old = signals->capacity;
  if (!hlo_arena_grow(races->arena, &signals->list, signals->count, &signals->capacity,
                      sizeof *signals->list)) {
    return;
  }
  memset(signals->list + old, 0, (signals->capacity - old) * sizeof *signals->list);
  signal_t* signal = &signals->list[signals->count++];
  signal->count = count;
  signal->clock.count = 0;
  merge(races, &signal->clock, &thread->clock);
  tick(thread);
}

// The tick of a thread that any `wanted` of the signals tell: with the signals in the order of what
// they tell, that of the one with which as many are reached.
static uint32_t least_told(const hlo_race_signals_t* signals, uint32_t thread, int64_t wanted) {
  uint32_t told = 0;
  for (uint32_t i = 0; i < signals->count; ++i) {
    uint32_t candidate = tick_of(&signals->list[i].clock, thread);
    int64_t below = 0;
    for (uint32_t k = 0; k < signals->count; ++k) {
      if (tick_of(&signals->list[k].clock, thread) < candidate) below += signals->list[k].count;
    }
    if (below < wanted && candidate > told) told = candidate;
  }
  return told;
}

void hlo_race_wait(hlo_races_t* races, hlo_race_thread_t* thread, hlo_race_signals_t* signals,
                   int64_t count) {
  int64_t total = 0;
  uint32_t threads = 0;
  for (uint32_t i = 0; i < signals->count; ++i) {
    total += signals->list[i].count;
    if (signals->list[i].clock.count > threads) threads = signals->list[i].clock.count;
  }
  signals->waited += count;
  if (!extend(races, &thread->clock, threads)) return;
  for (uint32_t i = 0; i < threads; ++i) {
    uint32_t told = least_told(signals, i, signals->waited);
    if (told > thread->clock.ticks[i]) thread->clock.ticks[i] = told;
  }
  if (signals->waited >= total) signals->waited = signals->count = 0;
}

void hlo_race_complete(hlo_races_t* races, hlo_race_signals_t* signals) {
  for (uint32_t i = 0; i < signals->count; ++i) {
    merge(races, &signals->phases, &signals->list[i].clock);
  }
  signals->count = 0;
}

// ---- elements

static bool is_seen(const hlo_race_thread_t* thread, const hlo_race_epoch_t* epoch) {
  return tick_of(&thread->clock, epoch->thread) >= epoch->tick;
}

// Adds a read in place of those that are ordered before it.
static void add_read(hlo_races_t* races, const hlo_race_thread_t* thread, hlo_race_cell_t* cell,
                     hlo_race_epoch_t now) {
  uint32_t kept = 0;
  if (!cell->reads) {
    cell->reads = &cell->only_read;
    cell->read_capacity = 1;
  }
  for (uint32_t i = 0; i < cell->read_count; ++i) {
    if (!is_seen(thread, &cell->reads[i])) cell->reads[kept++] = cell->reads[i];
  }
  cell->read_count = kept;
  if (hlo_arena_grow(races->arena, &cell->reads, kept, &cell->read_capacity, sizeof *cell->reads)) {
    cell->reads[cell->read_count++] = now;
  }
}

const hlo_tile_op_t* hlo_race_access(hlo_races_t* races, hlo_race_thread_t* thread,
                                     hlo_race_cell_t* cell, hlo_race_access_t access,
                                     const hlo_tile_op_t* op) {
  if (access == HLO_RACE_ATOMIC && cell->atomics) merge(races, &thread->clock, cell->atomics);
  hlo_race_epoch_t now = {thread->id, tick_of(&thread->clock, thread->id), op};
  if (cell->write.tick && !is_seen(thread, &cell->write)) return cell->write.op;
  if (access == HLO_RACE_READ) {
    add_read(races, thread, cell, now);
    return NULL;
  }
  for (uint32_t i = 0; i < cell->read_count; ++i) {
    if (!is_seen(thread, &cell->reads[i])) return cell->reads[i].op;
  }
  cell->read_count = 0;
  cell->write = now;
  if (access == HLO_RACE_WRITE) return NULL;
  if (!cell->atomics) {
    cell->atomics = hlo_arena_alloc_zeroed(races->arena, sizeof *cell->atomics);
    if (!cell->atomics) return NULL;
  }
  merge(races, cell->atomics, &thread->clock);
  tick(thread);
  return NULL;
}
