// SPDX-License-Identifier: Apache-2.0
// Explanations of waits (see waits.h). The list of runs in flight (flight.h) stays locked while its
// runs are read, so that they exist; what they wait for has locks of higher levels.
#include "runtime/waits.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/monitor.h"
#include "base/os.h"
#include "runtime/flight.h"
#include "runtime/foreign.h"
#include "runtime/group.h"

enum { NS_PER_S = 1000000000 };

// ---- blocked threads

// Threads belong to the process, and events to no client.
static hlo_mutex_t waits_lock = {.level = HLO_LOCK_LEVEL_MEMORY + 1};
static hlo_wait_t *first_wait, *last_wait;

void hlo_wait_begin(hlo_wait_t* wait, const char* what, const hlo_event_t* event) {
  *wait = (hlo_wait_t){
      .what = what, .event = event, .thread_id = hlo_os_thread_id(), .since_ns = hlo_os_now_ns()};
  hlo_mutex_lock(&waits_lock);
  wait->before = last_wait;
  *(last_wait ? &last_wait->after : &first_wait) = wait;
  last_wait = wait;
  hlo_mutex_unlock(&waits_lock);
}

void hlo_wait_end(hlo_wait_t* wait) {
  hlo_mutex_lock(&waits_lock);
  *(wait->before ? &wait->before->after : &first_wait) = wait->after;
  *(wait->after ? &wait->after->before : &last_wait) = wait->before;
  hlo_mutex_unlock(&waits_lock);
}

// ---- runs

typedef struct explanation {
  hlo_flight_t* flight;  // locked
  uint64_t now_ns, age_ns, oldest_ns;
  hlo_strbuf_t* out;
} explanation_t;

// Returns true if something since then is old enough.
static bool counts(explanation_t* e, uint64_t since_ns) {
  const uint64_t age_ns = e->now_ns > since_ns ? e->now_ns - since_ns : 0;
  if (age_ns > e->oldest_ns) e->oldest_ns = age_ns;
  return age_ns >= e->age_ns;
}

static double seconds_since(const explanation_t* e, uint64_t since_ns) {
  return e->now_ns > since_ns ? (double)(e->now_ns - since_ns) / NS_PER_S : 0;
}

static void print_run(const hlo_run_t* run, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "run %" PRIu64 " of %s", (uint64_t)run->frame.run_id,
                    run->loaded->executable->name);
  if (run->group) {
    hlo_strbuf_puts(out, ", ");
    hlo_group_print_member(run->group, run->row, out);
  }
  hlo_strbuf_printf(out, " on device %d", run->device->id);
}

hlo_run_t* hlo_waits_run_of(const hlo_flight_t* flight, const hlo_event_t* event) {
  hlo_run_t* run = flight->first;
  while (run && run->done != event) run = run->listed_after;
  return run;
}

static void print_event(const explanation_t* e, hlo_event_t* event) {
  const hlo_run_t* run = hlo_waits_run_of(e->flight, event);
  if (run) {
    hlo_strbuf_puts(e->out, "the result of ");
    print_run(run, e->out);
  } else if (hlo_event_is_promise(event)) {
    hlo_strbuf_puts(e->out, "a value that the application has yet to provide");
  } else if (hlo_event_awaits_promise(event)) {
    hlo_strbuf_puts(e->out, "a copy or short program that waits for a value of the application");
  } else {
    hlo_strbuf_puts(e->out, "a copy or short program");
  }
}

// Prints the first few inputs that are not ready; each is counted.
static bool print_inputs(const explanation_t* e, const hlo_run_t* run) {
  enum { SHOWN = 3 };
  uint32_t count = 0;
  for (uint32_t i = 0; i < run->use_count; ++i) {
    const hlo_buffer_use_t* use = &run->uses[i];
    const bool is_pending = !hlo_event_is_ready(use->ready);
    const bool is_read = !is_pending && use->is_donated && hlo_storage_has_other_uses(use->storage);
    if (!is_pending && !is_read) continue;
    if (++count > SHOWN) continue;
    hlo_strbuf_puts(e->out, count == 1 ? "waits for " : ", ");
    if (i < run->loaded->executable->argument_count) {
      hlo_strbuf_printf(e->out, "argument %u: ", i);
    } else {
      hlo_strbuf_puts(e->out, "the memory of a result: ");
    }
    if (is_pending) {
      print_event(e, use->ready);
    } else {
      hlo_strbuf_puts(e->out, "donated, until its readers end");
    }
  }
  if (count > SHOWN) hlo_strbuf_printf(e->out, ", and %u more arguments", count - SHOWN);
  return count != 0;
}

static void explain_state(const explanation_t* e, hlo_run_t* run) {
  const size_t length = e->out->length;
  if (!atomic_load(&run->started)) {
    if (!print_inputs(e, run)) hlo_strbuf_puts(e->out, "waits for memory or a worker thread");
  } else if (run->foreign) {
    hlo_foreign_explain(run->foreign, e->out);
  }
  if (e->out->length == length && run->group)
    hlo_comm_explain(hlo_group_comm(run->group), run->row, e->out);
  if (e->out->length == length) hlo_strbuf_puts(e->out, "is running");
}

void hlo_waits_explain_run(hlo_flight_t* flight, hlo_run_t* run, hlo_strbuf_t* out) {
  explain_state(&(explanation_t){.flight = flight, .out = out}, run);
}

static void explain_run(const explanation_t* e, hlo_run_t* run) {
  hlo_strbuf_puts(e->out, "  ");
  print_run(run, e->out);
  hlo_strbuf_printf(e->out, ", for %.1f s", seconds_since(e, run->listed_ns));
  if (run->call_location) hlo_strbuf_printf(e->out, ", launched at %s", run->call_location);
  hlo_strbuf_puts(e->out, ": ");
  explain_state(e, run);
  hlo_strbuf_putc(e->out, '\n');
}

static void explain_thread(const explanation_t* e, const hlo_wait_t* wait) {
  hlo_strbuf_printf(e->out, "  thread %" PRId64 " waits for %.1f s for ", wait->thread_id,
                    seconds_since(e, wait->since_ns));
  const hlo_run_t* run = wait->event ? hlo_waits_run_of(e->flight, wait->event) : NULL;
  if (run) {
    print_run(run, e->out);
  } else {
    hlo_strbuf_puts(e->out, wait->what);
  }
  hlo_strbuf_putc(e->out, '\n');
}

uint64_t hlo_client_explain_waits(hlo_client_t* client, uint64_t age_ns, hlo_strbuf_t* out) {
  explanation_t e = {
      .flight = hlo_client_flight(client), .now_ns = hlo_os_now_ns(), .age_ns = age_ns, .out = out};
  hlo_mutex_lock(&e.flight->lock);
  for (hlo_run_t* run = e.flight->first; run; run = run->listed_after) {
    if (counts(&e, run->listed_ns)) explain_run(&e, run);
  }
  hlo_mutex_lock(&waits_lock);
  for (const hlo_wait_t* wait = first_wait; wait; wait = wait->after) {
    if (counts(&e, wait->since_ns)) explain_thread(&e, wait);
  }
  hlo_mutex_unlock(&waits_lock);
  hlo_mutex_unlock(&e.flight->lock);
  return e.oldest_ns;
}

// ---- logging

struct hlo_explainer {
  hlo_client_t* client;
  hlo_monitor_t* monitor;
  uint64_t limit_ns;   // 0: only at the signal
  uint64_t logged_ns;  // the age of the oldest at the last message, 0 when nothing is so old
};

static void explain(hlo_explainer_t* explainer, uint64_t age_ns) {
  const hlo_observer_t* observer = hlo_client_observer(explainer->client);
  HLO_SCOPED_STRBUF text = {0};
  hlo_client_explain_waits(explainer->client, age_ns, &text);
  if (!observer) return;
  HLO_LOG(&observer->log, WARN, "%s%s", text.length ? "in flight:\n" : "nothing is in flight",
          hlo_strbuf_text(&text));
}

static uint64_t oldest_ns(hlo_client_t* client) {
  HLO_SCOPED_STRBUF text = {0};
  return hlo_client_explain_waits(client, UINT64_MAX, &text);
}

static void look(void* context, bool is_signal) {
  hlo_explainer_t* explainer = context;
  if (is_signal) {
    explain(explainer, 0);
    return;
  }
  const uint64_t age_ns = oldest_ns(explainer->client);
  if (age_ns < explainer->limit_ns || age_ns < explainer->logged_ns) explainer->logged_ns = 0;
  if (age_ns < explainer->limit_ns || age_ns < 2 * explainer->logged_ns) return;
  explainer->logged_ns = age_ns;
  explain(explainer, explainer->limit_ns);
}

hlo_status_t hlo_explainer_create(hlo_client_t* client, uint32_t seconds, const char* signal,
                                  hlo_explainer_t** out_explainer) {
  enum { LOOKS = 4 };  // in the time after which a wait is long
  int number = 0;
  *out_explainer = NULL;
  HLO_TRY(hlo_monitor_signal(signal ? signal : "", &number));
  if (!seconds && !number) return hlo_ok();
  hlo_explainer_t* explainer = hlo_mem_alloc_zeroed(sizeof *explainer);
  if (!explainer) return hlo_status_out_of_memory(sizeof *explainer);
  explainer->client = client;
  explainer->limit_ns = (uint64_t)seconds * NS_PER_S;
  const hlo_monitor_options_t options = {.period_ns = explainer->limit_ns / LOOKS,
                                         .signal = number,
                                         .look = look,
                                         .context = explainer};
  hlo_status_t status = hlo_monitor_create(&options, &explainer->monitor);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(explainer);
    return status;
  }
  *out_explainer = explainer;
  return hlo_ok();
}

void hlo_explainer_release(hlo_explainer_t* explainer, bool has_thread) {
  if (!explainer) return;
  hlo_monitor_release(explainer->monitor, has_thread);
  hlo_mem_free(explainer);
}
