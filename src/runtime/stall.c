// SPDX-License-Identifier: Apache-2.0
// Collectives whose members do not come (see stall.h). The monitor samples what each run waits for:
// runs pay nothing for it. The list of runs in flight stays locked while a look lasts, so that the
// runs exist.
#include "runtime/stall.h"

#include "base/mem.h"
#include "base/monitor.h"
#include "base/os.h"
#include "runtime/flight.h"
#include "runtime/foreign.h"
#include "runtime/group.h"
#include "runtime/waits.h"

enum {
  LOOKS = 4,              // in the shorter of the two times
  COMPUTING_FACTOR = 10,  // a member that computes has this many times as long
  CHAIN_LIMIT = 64,       // launches that wait for each other's results
  SHOWN = 8,              // members in a message
  NS_PER_S = 1000000000,
};

struct hlo_stall_monitor {
  hlo_client_t* client;
  hlo_stall_options_t options;
  hlo_monitor_t* monitor;
  uint64_t looked_ns;  // the time of the last look
};

// The activity of a run, as far as those are concerned who wait for it.
typedef enum activity { COMPUTES, WAITS_OUTSIDE, WAITS_IN_GROUP } activity_t;

typedef struct state {
  activity_t activity;
  const void* mark;  // with `count` identifies the wait
  uint64_t count;
} state_t;

// One look at one client.
typedef struct look {
  const hlo_stall_monitor_t* monitor;
  hlo_flight_t* flight;  // locked
  uint64_t now_ns;
  hlo_event_t** failed;  // retained: results of the members of a wait that failed
  uint32_t failed_count;
  hlo_status_t error;
  hlo_strbuf_t warnings;
} look_t;

static state_t state_of(const look_t* look, hlo_run_t* run, uint32_t depth);

// The state of the first input that is not ready, unless a later one waits outside.
static state_t state_of_inputs(const look_t* look, hlo_run_t* run, uint32_t depth) {
  state_t state = {COMPUTES, run, 0};
  for (uint32_t i = 0; i < run->use_count; ++i) {
    hlo_event_t* ready = run->uses[i].ready;
    if (hlo_event_is_ready(ready)) continue;
    hlo_run_t* maker = hlo_waits_run_of(look->flight, ready);
    if (maker && depth) {
      state = state_of(look, maker, depth - 1);
    } else if (!maker && hlo_event_awaits_promise(ready)) {
      state = (state_t){WAITS_OUTSIDE, ready, 0};
    }
    if (state.activity == WAITS_OUTSIDE) return state;
  }
  return state;
}

static state_t state_of(const look_t* look, hlo_run_t* run, uint32_t depth) {
  state_t state = {COMPUTES, run, 1};
  if (!atomic_load(&run->started)) return state_of_inputs(look, run, depth);
  if (run->foreign && hlo_foreign_is_waiting(run->foreign, &state.count)) {
    state.activity = WAITS_OUTSIDE;
    state.mark = run->foreign;
  } else if (run->group && hlo_comm_is_waiting(hlo_group_comm(run->group), run->row)) {
    state.activity = WAITS_IN_GROUP;
  } else if (run->group && hlo_comm_is_lost(hlo_group_comm(run->group), run->row)) {
    state.activity = WAITS_OUTSIDE;
  }
  return state;
}

// Returns how long a run has been in its state.
static uint64_t time_in_state(const look_t* look, hlo_run_t* run, const state_t* state) {
  if (run->stall_mark != state->mark || run->stall_count != state->count || !run->stall_ns) {
    run->stall_mark = state->mark;
    run->stall_count = state->count;
    run->stall_ns = look->now_ns;
  }
  return look->now_ns - run->stall_ns;
}

// Returns true if the run is not to be waited for any longer. One that waits in another collective
// of its launch is judged there.
static bool is_stalled(const look_t* look, hlo_run_t* run) {
  const state_t state = state_of(look, run, CHAIN_LIMIT);
  const uint64_t time_ns = time_in_state(look, run, &state);
  const uint64_t fail_ns = look->monitor->options.fail_ns;
  if (state.activity == WAITS_IN_GROUP || !fail_ns) return false;
  return time_ns / (state.activity == COMPUTES ? COMPUTING_FACTOR : 1) >= fail_ns;
}

// Returns the run of a row; NULL if it is not in flight.
static hlo_run_t* find_run(const look_t* look, const hlo_run_group_t* group, uint32_t row) {
  hlo_run_t* run = look->flight->first;
  while (run && (run->group != group || run->row != row)) run = run->listed_after;
  return run;
}

// ---- messages

static void print_members(const look_t* look, const hlo_run_group_t* group, uint32_t count,
                          const uint32_t* rows, bool explains, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < count && i < SHOWN; ++i) {
    hlo_run_t* run = find_run(look, group, rows[i]);
    hlo_strbuf_puts(out, i ? "; " : "");
    hlo_group_print_member(group, rows[i], out);
    if (run) hlo_strbuf_printf(out, " on device %d", run->device->id);
    if (!explains) continue;
    hlo_strbuf_putc(out, ' ');
    if (run) hlo_waits_explain_run(look->flight, run, out);
    if (!run) hlo_strbuf_puts(out, "is not in flight");
  }
  if (count > SHOWN) hlo_strbuf_printf(out, "; and %u more", count - SHOWN);
}

static void print_wait(const look_t* look, const hlo_run_t* run, const hlo_comm_wait_t* wait,
                       uint64_t time_ns, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "run %llu of %s waits for %.1f s in ",
                    (unsigned long long)run->frame.run_id, run->loaded->executable->name,
                    (double)time_ns / NS_PER_S);
  hlo_group_print_wait(wait, out);
  const uint32_t arrived = wait->arrived_count;
  hlo_strbuf_printf(out, ": %u of %u members have arrived (", arrived,
                    arrived + wait->missing_count);
  print_members(look, run->group, arrived, wait->arrived, false, out);
  hlo_strbuf_puts(out, "), missing: ");
  print_members(look, run->group, wait->missing_count, wait->missing, true, out);
}

// ---- looks

// Cancels the programs of members, and keeps the events of their results.
static void cancel_members(look_t* look, const hlo_run_group_t* group, uint32_t count,
                           const uint32_t* rows) {
  for (uint32_t i = 0; i < count; ++i) {
    hlo_run_t* run = find_run(look, group, rows[i]);
    if (!run) continue;
    if (hlo_status_is_ok(run->poison)) run->poison = hlo_status_clone(look->error);
    // relaxed: the program only polls it
    atomic_store_explicit(&run->frame.cancelled, 1, memory_order_relaxed);
    look->failed[look->failed_count++] = hlo_event_retain(run->done);
  }
}

// The results of all members get the error now, whenever their programs end.
static bool fail_wait(look_t* look, const hlo_run_t* run, const hlo_comm_wait_t* wait,
                      const char* text) {
  const uint32_t count = wait->arrived_count + wait->missing_count;
  hlo_event_t** failed = hlo_mem_alloc(count * sizeof *failed);
  if (!failed) return false;  // tried again at the next look
  hlo_status_t error = hlo_status_create(HLO_STATUS_DEADLINE_EXCEEDED, "%s", text);
  if (!hlo_group_fail_wait(run->group, wait->number, error)) {
    hlo_mem_free(failed);
    hlo_status_release(error);
    return false;
  }
  look->failed = failed;
  look->error = error;
  cancel_members(look, run->group, wait->arrived_count, wait->arrived);
  cancel_members(look, run->group, wait->missing_count, wait->missing);
  return true;
}

// Returns true at the first look after the time and each of its doublings.
static bool is_time_to_warn(const look_t* look, uint64_t since_ns) {
  uint64_t warn_ns = look->monitor->options.warn_ns;
  const uint64_t looked_ns = look->monitor->looked_ns;
  const uint64_t before_ns = looked_ns > since_ns ? looked_ns - since_ns : 0;
  if (!warn_ns) return false;
  while (warn_ns <= before_ns) warn_ns *= 2;
  return look->now_ns - since_ns >= warn_ns;
}

// Handles one wait of a group; returns true if it has failed. `run` is one of the group's.
static bool judge_wait(look_t* look, const hlo_run_t* run, const hlo_comm_wait_t* wait) {
  const uint64_t time_ns = look->now_ns - wait->since_ns, fail_ns = look->monitor->options.fail_ns;
  bool fails = false;
  for (uint32_t i = 0; i < wait->missing_count; ++i) {
    hlo_run_t* missing = find_run(look, run->group, wait->missing[i]);
    fails |= missing && is_stalled(look, missing);
  }
  fails &= fail_ns && time_ns >= fail_ns;
  const bool warns = is_time_to_warn(look, wait->since_ns);
  if (!fails && !warns) return false;
  HLO_SCOPED_STRBUF text = {0};
  print_wait(look, run, wait, time_ns, &text);
  if (fails) return fail_wait(look, run, wait, hlo_strbuf_text(&text));
  hlo_strbuf_printf(&look->warnings, "%s%s", look->warnings.length ? "\n" : "",
                    hlo_strbuf_text(&text));
  return false;
}

// Returns true if a wait of the run's group has failed.
static bool judge_group(look_t* look, const hlo_run_t* run) {
  hlo_comm_t* comm = hlo_group_comm(run->group);
  const uint32_t count = comm->process_count;
  uint32_t* rows = hlo_mem_alloc(2 * count * sizeof *rows);
  if (!rows) return false;
  hlo_comm_wait_t wait = {.capacity = count, .arrived = rows, .missing = rows + count};
  bool has_failed = false;
  while (!has_failed && hlo_comm_find_wait(comm, wait.number, look->now_ns, &wait)) {
    has_failed = judge_wait(look, run, &wait);
  }
  hlo_mem_free(rows);
  return has_failed;
}

// Logs and calls callbacks, without locks.
static void publish(look_t* look) {
  const hlo_observer_t* observer = hlo_client_observer(look->monitor->client);
  if (look->warnings.length && observer) {
    HLO_LOG(&observer->log, WARN, "%s", hlo_strbuf_text(&look->warnings));
  }
  hlo_strbuf_deinit(&look->warnings);
  for (uint32_t i = 0; i < look->failed_count; ++i) {
    hlo_event_set(look->failed[i], hlo_status_clone(look->error));
    hlo_event_release(look->failed[i]);
  }
  hlo_mem_free(look->failed);
  hlo_status_release(look->error);
}

// Looks at each group once, at its first run in the list; stops at a failure.
static bool look_once(const hlo_stall_monitor_t* monitor, uint64_t now_ns) {
  look_t look = {
      .monitor = monitor, .flight = hlo_client_flight(monitor->client), .now_ns = now_ns};
  bool has_failed = false;
  hlo_mutex_lock(&look.flight->lock);
  const hlo_run_group_t* last = NULL;  // the runs of a launch are listed one after the other
  for (hlo_run_t* run = look.flight->first; run && !has_failed; run = run->listed_after) {
    if (run->group && run->group != last) has_failed = judge_group(&look, run);
    last = run->group;
  }
  hlo_mutex_unlock(&look.flight->lock);
  publish(&look);
  return has_failed;
}

static void look_at_all(void* context, HLO_UNUSED bool is_signal) {
  hlo_stall_monitor_t* monitor = context;
  const uint64_t now_ns = hlo_os_now_ns();
  while (look_once(monitor, now_ns)) {
  }
  monitor->looked_ns = now_ns;
}

hlo_status_t hlo_stall_monitor_create(hlo_client_t* client, const hlo_stall_options_t* options,
                                      hlo_stall_monitor_t** out_monitor) {
  *out_monitor = NULL;
  const uint64_t warn_ns = options->warn_ns, fail_ns = options->fail_ns;
  if (!warn_ns && !fail_ns) return hlo_ok();
  hlo_stall_monitor_t* monitor = hlo_mem_alloc_zeroed(sizeof *monitor);
  if (!monitor) return hlo_status_out_of_memory(sizeof *monitor);
  monitor->client = client;
  monitor->options = *options;
  const uint64_t shorter_ns = warn_ns && (!fail_ns || warn_ns < fail_ns) ? warn_ns : fail_ns;
  const hlo_monitor_options_t monitor_options = {
      .period_ns = shorter_ns / LOOKS + 1, .look = look_at_all, .context = monitor};
  hlo_status_t status = hlo_monitor_create(&monitor_options, &monitor->monitor);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(monitor);
    return status;
  }
  *out_monitor = monitor;
  return hlo_ok();
}

void hlo_stall_monitor_release(hlo_stall_monitor_t* monitor, bool has_thread) {
  if (!monitor) return;
  hlo_monitor_release(monitor->monitor, has_thread);
  hlo_mem_free(monitor);
}
