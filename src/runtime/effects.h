// SPDX-License-Identifier: Apache-2.0
// The ends of launches with side effects, in the order of the launches: frameworks keep the end of
// a device's last such launch, and wait for that alone when all effects must have happened.
#pragma once

#include "base/status.h"
#include "base/threads.h"
#include "runtime/event.h"

/// The launches of a device. threads: safe
typedef struct hlo_effects {
  hlo_mutex_t lock;
  hlo_event_t* last;  // the end of the last launch; guarded by the lock; NULL: none yet
} hlo_effects_t;

/// The end of a launch that waits for those before it. threads: confined
typedef struct hlo_effects_end hlo_effects_end_t;

void hlo_effects_init(hlo_effects_t* effects);
void hlo_effects_deinit(hlo_effects_t* effects);
/// Drops the reference to the last end: nobody will launch after it.
void hlo_effects_forget(hlo_effects_t* effects);

/// Allocates what hlo_effects_append() needs for another launch; *out_end is NULL if that is
/// nothing, because the launches before it have ended.
/// errors : RESOURCE_EXHAUSTED. owner: caller, hlo_effects_append() or hlo_effects_end_free().
hlo_status_t hlo_effects_prepare(hlo_effects_t* effects, hlo_effects_end_t** out_end) HLO_MUST_USE;
void hlo_effects_end_free(hlo_effects_end_t* end);

/// Returns the end of another launch, whose run sets `done`: an event that is ready with the status
/// of `done` when the launches before it have ended, too; `done` itself if they have. Takes `end`.
/// A launch of another thread that began since hlo_effects_prepare() is one before it if there is
/// memory for that.
/// owner: caller
hlo_event_t* hlo_effects_append(hlo_effects_t* effects, hlo_effects_end_t* end, hlo_event_t* done);
