// SPDX-License-Identifier: Apache-2.0
// Finds accesses that nothing orders, by vector clocks: every thread (an iteration of a parallel
// loop, an asynchronous copy) counts its steps and knows how far it has seen others; a thread that
// waits learns what the signalling one knew. Two accesses to one element, of which one writes, are
// a race if the later thread has not seen the earlier access. The verdict does not depend on the
// order in which threads happened to run. Private to tile.
#pragma once

#include "tile/ir.h"

typedef struct hlo_race_clock {
  uint32_t count, capacity;
  uint32_t* ticks;  // by thread; threads beyond `count`: 0
} hlo_race_clock_t;

/// threads: confined
typedef struct hlo_race_thread hlo_race_thread_t;
struct hlo_race_thread {
  uint32_t id;
  hlo_race_clock_t clock;
  hlo_race_thread_t* next;  // among those to be used again
};

typedef enum hlo_race_access {
  HLO_RACE_READ,
  HLO_RACE_WRITE,
  HLO_RACE_ATOMIC,  // a write that is ordered after earlier atomics of the element
} hlo_race_access_t;

typedef struct hlo_race_epoch {
  uint32_t thread, tick;    // tick 0: none
  const hlo_tile_op_t* op;  // what accessed the element
} hlo_race_epoch_t;

/// The accesses to one element that are not known to be over: the last write, and reads since then
/// that are not ordered among each other.
typedef struct hlo_race_cell {
  hlo_race_epoch_t write;
  uint32_t read_count, read_capacity;
  hlo_race_epoch_t* reads;
  hlo_race_epoch_t only_read;  // the first room for reads
  hlo_race_clock_t* atomics;   // what earlier atomics knew; NULL: there were none
} hlo_race_cell_t;

/// Signals that may not have been waited for.
typedef struct hlo_race_signals {
  uint32_t count, capacity;
  struct hlo_race_signal* list;
  int64_t waited;           // of the listed signals
  hlo_race_clock_t phases;  // of a barrier: what all arrivals of completed phases knew
} hlo_race_signals_t;

/// owner: everything is in the arena. threads: confined.
typedef struct hlo_races {
  hlo_arena_t* arena;
  uint32_t thread_count;
  uint32_t free_count, free_capacity;
  struct hlo_race_epoch* free_ids;  // of ended threads, with their last ticks
  hlo_race_thread_t* spare;
} hlo_races_t;

// When memory is exhausted, the arena says so.

/// Begins a thread that knows what `parent` knows (NULL: the first one). NULL when memory is
/// exhausted.
hlo_race_thread_t* hlo_race_fork(hlo_races_t* races, hlo_race_thread_t* parent);
/// Ends a thread; what it knew is added to `out_known` (NULL: dropped).
void hlo_race_end(hlo_races_t* races, hlo_race_thread_t* thread, hlo_race_clock_t* out_known);
/// A thread learns what a clock tells.
void hlo_race_learn(hlo_races_t* races, hlo_race_thread_t* thread, const hlo_race_clock_t* known);
/// A thread adds `count` to a semaphore.
void hlo_race_signal(hlo_races_t* races, hlo_race_thread_t* thread, hlo_race_signals_t* signals,
                     int64_t count);
/// A thread has waited for `count`: it learns what any such part of the signals would tell it.
void hlo_race_wait(hlo_races_t* races, hlo_race_thread_t* thread, hlo_race_signals_t* signals,
                   int64_t count);
/// The arrivals that were signalled complete a phase of a barrier.
void hlo_race_complete(hlo_races_t* races, hlo_race_signals_t* signals);
/// Records an access; returns an earlier one that nothing orders before it, or NULL.
const hlo_tile_op_t* hlo_race_access(hlo_races_t* races, hlo_race_thread_t* thread,
                                     hlo_race_cell_t* cell, hlo_race_access_t access,
                                     const hlo_tile_op_t* op);
