// SPDX-License-Identifier: Apache-2.0
// Monitors (see monitor.h). Signals belong to the process, so their state is global: one counter
// for each signal, and one word on which all monitors sleep. A handler only increments and wakes,
// which is all that it may do.
#include "base/monitor.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/threads.h"

enum { SIGNAL_LIMIT = 64 };

typedef struct handled {
  uint32_t monitor_count;  // signals_lock
  struct sigaction before;
  atomic_uint count;  // relaxed: the word below orders it
} handled_t;

static hlo_mutex_t signals_lock = {.level = HLO_LOCK_LEVEL_CLIENT + 1};
static handled_t signals[SIGNAL_LIMIT + 1];
static atomic_uint wake_word;  // changes with each signal and each end of a monitor

struct hlo_monitor {
  hlo_monitor_options_t options;
  pthread_t thread;
  atomic_bool is_ending;
  unsigned seen_signals;
};

static void wake_all(void) {
  atomic_fetch_add(&wake_word, 1);
  hlo_os_futex_wake(&wake_word, UINT32_MAX);
}

static void handle(int signal) {
  const int error = errno;
  atomic_fetch_add_explicit(&signals[signal].count, 1, memory_order_relaxed);
  wake_all();
  errno = error;
}

// ---- signals

static hlo_status_t install_locked(int signal) {
  handled_t* handled = &signals[signal];
  if (handled->monitor_count == 0) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(signal, &action, &handled->before) != 0) {
      return hlo_invalid_argument("signal %d cannot be handled", signal);
    }
    const bool is_free =
        !(handled->before.sa_flags & SA_SIGINFO) &&
        (handled->before.sa_handler == SIG_DFL || handled->before.sa_handler == SIG_IGN);
    if (!is_free) {
      sigaction(signal, &handled->before, NULL);
      return hlo_failed_precondition("signal %d already has a handler", signal);
    }
  }
  ++handled->monitor_count;
  return hlo_ok();
}

static hlo_status_t install(int signal) {
  if (!signal) return hlo_ok();
  hlo_mutex_lock(&signals_lock);
  hlo_status_t status = install_locked(signal);
  hlo_mutex_unlock(&signals_lock);
  return status;
}

static void uninstall(int signal) {
  if (!signal) return;
  hlo_mutex_lock(&signals_lock);
  handled_t* handled = &signals[signal];
  if (--handled->monitor_count == 0) sigaction(signal, &handled->before, NULL);
  hlo_mutex_unlock(&signals_lock);
}

hlo_status_t hlo_monitor_signal(const char* name, int* out_signal) {
  static const struct {
    const char* name;
    int number;
  } known[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2},   {"QUIT", SIGQUIT},
               {"HUP", SIGHUP},   {"WINCH", SIGWINCH}, {"", 0}};
  if (strncmp(name, "SIG", 3) == 0) name += 3;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    if (strcmp(known[i].name, name) != 0) continue;
    *out_signal = known[i].number;
    return hlo_ok();
  }
  const long number = isdigit((unsigned char)*name) ? strtol(name, NULL, 10) : 0;
  const bool is_realtime = number >= SIGRTMIN && number <= SIGRTMAX && number <= SIGNAL_LIMIT;
  bool is_known = is_realtime;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    is_known |= number > 0 && known[i].number == number;
  }
  if (!is_known) {
    return hlo_invalid_argument(
        "\"%.20s\" is no signal for a monitor, expected USR1, USR2, QUIT, HUP, WINCH or a number "
        "of "
        "those and of real-time signals",
        name);
  }
  *out_signal = (int)number;
  return hlo_ok();
}

// ---- the thread

static unsigned signal_count(const hlo_monitor_t* monitor) {
  return monitor->options.signal ? atomic_load(&signals[monitor->options.signal].count) : 0;
}

// Calls the function if the signal came or the period is over; returns the time of the next call.
static uint64_t look(hlo_monitor_t* monitor, uint64_t next_ns) {
  const unsigned count = signal_count(monitor);
  const bool is_signal = count != monitor->seen_signals;
  const bool is_due = monitor->options.period_ns && hlo_os_now_ns() >= next_ns;
  monitor->seen_signals = count;
  if (is_signal || is_due) monitor->options.look(monitor->options.context, is_signal);
  return is_due ? hlo_os_now_ns() + monitor->options.period_ns : next_ns;
}

static void* run(void* argument) {
  hlo_monitor_t* monitor = argument;
  uint64_t next_ns = hlo_os_now_ns() + monitor->options.period_ns;
  for (;;) {
    const unsigned word = atomic_load(&wake_word);  // before the conditions that it announces
    if (atomic_load(&monitor->is_ending)) return NULL;
    next_ns = look(monitor, next_ns);
    const uint64_t now_ns = hlo_os_now_ns();
    const uint64_t left_ns = next_ns > now_ns ? next_ns - now_ns : 0;
    if (signal_count(monitor) != monitor->seen_signals) continue;
    hlo_os_futex_wait(&wake_word, word, monitor->options.period_ns ? left_ns : UINT64_MAX);
  }
}

// The thread blocks all signals, as those of pools do.
static int start_thread(hlo_monitor_t* monitor) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&monitor->thread, NULL, run, monitor);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

hlo_status_t hlo_monitor_create(const hlo_monitor_options_t* options, hlo_monitor_t** out_monitor) {
  hlo_monitor_t* monitor = hlo_mem_alloc_zeroed(sizeof *monitor);
  if (!monitor) return hlo_status_out_of_memory(sizeof *monitor);
  monitor->options = *options;
  hlo_status_t status = install(options->signal);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(monitor);
    return status;
  }
  monitor->seen_signals = signal_count(monitor);
  if (start_thread(monitor) != 0) {
    uninstall(options->signal);
    hlo_mem_free(monitor);
    return hlo_status_create(HLO_STATUS_RESOURCE_EXHAUSTED, "cannot start the thread of a monitor");
  }
  *out_monitor = monitor;
  return hlo_ok();
}

void hlo_monitor_release(hlo_monitor_t* monitor, bool has_thread) {
  if (!monitor) return;
  atomic_store(&monitor->is_ending, true);
  wake_all();
  if (has_thread) pthread_join(monitor->thread, NULL);
  uninstall(monitor->options.signal);
  hlo_mem_free(monitor);
}
