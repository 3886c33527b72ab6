// SPDX-License-Identifier: Apache-2.0
// Clients, virtual devices and memory spaces.
#pragma once

#include "base/config.h"
#include "base/heap.h"
#include "base/memory_kind.h"
#include "base/observer.h"
#include "base/parallel.h"
#include "base/status.h"
#include "base/threads.h"
#include "runtime/account.h"
#include "runtime/device_slow.h"
#include "runtime/dma.h"
#include "runtime/effects.h"
#include "runtime/limits.h"

typedef struct hlo_client hlo_client_t;
typedef struct hlo_device hlo_device_t;
typedef struct hlo_memory hlo_memory_t;

typedef struct hlo_memory_stats {
  int64_t bytes_in_use, peak_bytes_in_use, allocation_count, largest_allocation_bytes;
  // of the heap of this kind, which all devices of the client share; limit 0: unknown
  uint64_t reserved_bytes, peak_reserved_bytes, limit_bytes;
} hlo_memory_stats_t;

/// A memory space of one device. threads: immutable except for atomic statistics.
struct hlo_memory {
  int32_t id;  // unique in the client
  hlo_memory_kind_t kind;
  hlo_device_t* device;
  hlo_device_backend_t* backend;  // the device's
  hlo_device_properties_t properties;
  _Atomic int64_t bytes_in_use, peak_bytes, allocation_count, largest_bytes;
};

/// A virtual device: a name for placement, without a thread. threads: immutable except `launches`
/// and `effects`.
struct hlo_device {
  hlo_client_t* client;
  int32_t id;                     // global
  int32_t local_id;               // hardware id on this process
  hlo_device_backend_t* backend;  // the client's
  hlo_device_queue_t* queue;      // may be NULL
  hlo_memory_t memories[HLO_MEMORY_KIND_COUNT];
  hlo_launch_limit_t launches;  // in flight
  hlo_effects_t effects;        // of launches that call foreign functions
};

typedef struct hlo_client_options {
  uint32_t device_count;               // 0: one
  uint32_t thread_count;               // 0: the number of cores that the process may use
  const hlo_observer_t* observer;      // lent, outlives the client; may be NULL
  struct hlo_ffi_registry* functions;  // foreign functions that programs of this client may call
                                       // besides those of the process; lent likewise; may be NULL
  int64_t memory_mib;                  // limit on memory of kind device; 0: the machine's memory
  int64_t host_memory_mib;             // limit on each kind of host memory; 0: the machine's memory
  int64_t kept_mib;     // limit on freed memory of each kind kept for reuse; 0: a quarter of the
                        // kind's limit, negative: none
  int64_t running_mib;  // limit on memory for results and temporaries of concurrent programs,
                        // which a single program may exceed; 0: a quarter of the device memory
  uint32_t explain_seconds;    // explain launches and waits that take longer; 0: never
  const char* explain_signal;  // the name of the signal that asks for explanations; NULL: none
  uint64_t stall_warn_ns;      // log collectives that wait longer for members; 0: never
  uint64_t stall_fail_ns;      // fail those that wait longer for members that do not come; 0: never
  uint32_t launch_limit;  // limit on a device's launches in flight, at which callers wait; 0: 32
  bool is_slow;           // the devices' back end is that of device_slow.h, with these options
  hlo_device_slow_options_t slow;
  const struct hlo_comm_faults* comm_faults;  // injected into collectives (comm/comm.h), for tests;
                                              // lent, NULL: none
} hlo_client_options_t;

/// Fills the options from the configuration of a process. `observer` is lent, as above.
void hlo_client_options_read(const hlo_config_t* config, const hlo_observer_t* observer,
                             hlo_client_options_t* out_options);
/// Creates a client and starts its threads. errors: INVALID_ARGUMENT (counts, an unknown signal),
/// FAILED_PRECONDITION (a signal with a handler), RESOURCE_EXHAUSTED.
/// owner: caller, hlo_client_release() after everything created from the client is released.
hlo_status_t hlo_client_create(const hlo_client_options_t* options,
                               hlo_client_t** out_client) HLO_MUST_USE;
/// Stops programs whose results are unobservable, waits for all other work, joins the threads and
/// frees the client. On a thread that must not wait, such as one in a callback, returns at once;
/// the client's last thread then frees the client when its work has ended.
void hlo_client_release(hlo_client_t* client);
/// Like hlo_client_release(), but while objects hold the client, its memory remains, and calls that
/// begin work fail (hlo_client_check_usable()). At the end calls `after`, which frees data lent to
/// the client. On any thread.
void hlo_client_release_then(hlo_client_t* client, void (*after)(void* context), void* context);

/// A hold keeps the memory of a client, without its threads, for an object that may outlive the
/// release. threads: safe, also while the client is released
void hlo_client_hold_begin(hlo_client_t* client);
void hlo_client_hold_end(hlo_client_t* client);

uint32_t hlo_client_device_count(const hlo_client_t* client);
hlo_device_t* hlo_client_device(const hlo_client_t* client, uint32_t index);
/// Returns NULL for an unknown id.
hlo_device_t* hlo_client_find_device(const hlo_client_t* client, int32_t id);
hlo_pool_t* hlo_client_pool(const hlo_client_t* client);
/// Returns loops on the pool, or on the caller if the pool has one thread or the process was
/// forked.
hlo_parallel_t hlo_client_parallel(const hlo_client_t* client);
/// Returns the back end that performs all operations on device memory.
hlo_device_backend_t* hlo_client_backend(const hlo_client_t* client);
/// Returns the heap for memory of a kind, for the back end; temporaries of programs are of kind
/// device.
hlo_heap_t* hlo_client_heap(const hlo_client_t* client, hlo_memory_kind_t kind);
/// Allocates a block of a kind. If the system refuses although the limit is not reached, frees the
/// kept blocks of all kinds and tries once more.
/// errors: RESOURCE_EXHAUSTED. owner: caller, hlo_block_release() with hlo_client_heap().
hlo_status_t hlo_client_block_acquire(const hlo_client_t* client, hlo_memory_kind_t kind,
                                      size_t size_bytes, hlo_block_t* out_block) HLO_MUST_USE;
/// Frees the kept blocks of all kinds. Returns true if memory was returned to the system.
bool hlo_client_trim(const hlo_client_t* client);
/// Returns the owners of memory, and the one of arrays that are no results of programs.
hlo_account_list_t* hlo_client_accounts(hlo_client_t* client);
hlo_account_t* hlo_client_array_account(hlo_client_t* client);
/// Adds to RESOURCE_EXHAUSTED (`status`, taken; others stay unchanged) which owners have how much
/// memory, and logs it. For requests that are not repeated. No lock is held.
hlo_status_t hlo_client_explain_exhaustion(hlo_client_t* client,
                                           hlo_status_t status) HLO_MUST_USE HLO_COLD;
/// Returns the queue of requests that wait for device memory.
hlo_memory_queue_t* hlo_client_memory_queue(hlo_client_t* client);
/// Returns the host memory mapped for direct memory access.
hlo_dma_table_t* hlo_client_dma_table(hlo_client_t* client);
/// Returns the client's own foreign functions; may be NULL.
struct hlo_ffi_registry* hlo_client_functions(const hlo_client_t* client);
/// Returns the faults that tests inject into collectives; may be NULL.
const struct hlo_comm_faults* hlo_client_comm_faults(const hlo_client_t* client);
/// Returns the observer of launches; may be NULL.
const hlo_observer_t* hlo_client_observer(const hlo_client_t* client);
/// Returns the trace, which gets a span for every run and copy; NULL if disabled.
hlo_trace_t* hlo_client_trace(const hlo_client_t* client);
/// Returns FAILED_PRECONDITION in a process forked after the client was created, and once the
/// client is released.
hlo_status_t hlo_client_check_usable(const hlo_client_t* client) HLO_MUST_USE;
uint64_t hlo_client_next_run_id(hlo_client_t* client);
/// The list of stoppable runs in flight (see flight.h).
typedef struct hlo_flight {
  hlo_mutex_t lock;
  struct hlo_run *first, *last;
} hlo_flight_t;
hlo_flight_t* hlo_client_flight(hlo_client_t* client);
/// Returns true if the options ask for explanations of waits.
bool hlo_client_explains(const hlo_client_t* client);
/// Counts work that must end before the client can: launches and copies in flight.
void hlo_client_work_begin(hlo_client_t* client);
void hlo_client_work_end(hlo_client_t* client);

hlo_client_t* hlo_memory_client(const hlo_memory_t* memory);
void hlo_memory_get_stats(const hlo_memory_t* memory, hlo_memory_stats_t* out_stats);
/// Resets peak, count and maximum to the current use.
void hlo_memory_clear_stats(hlo_memory_t* memory);
