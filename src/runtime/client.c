// SPDX-License-Identifier: Apache-2.0
// Clients: virtual devices with their memory spaces over one pool of worker threads.
#include "runtime/client.h"

#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/tuning.h"
#include "runtime/device_cpu.h"
#include "runtime/flight.h"
#include "runtime/stall.h"
#include "runtime/waits.h"

enum { MAX_DEVICES = 4096, MAX_THREADS = 1024, BYTES_PER_MIB = 1 << 20 };
enum { LAUNCH_LIMIT = 32 };  // the limit of XLA's CPU client

struct hlo_client {
  hlo_pool_t* pool;
  hlo_heap_t* heaps[HLO_MEMORY_KIND_COUNT];
  uint64_t limit_bytes[HLO_MEMORY_KIND_COUNT];  // of all devices; 0: unknown
  hlo_account_list_t accounts;
  hlo_account_t* array_account;
  hlo_device_backend_t* backend;
  hlo_memory_queue_t memory_queue;
  hlo_dma_table_t dma_table;
  const hlo_observer_t* observer;
  const struct hlo_comm_faults* comm_faults;  // NULL: none
  struct hlo_ffi_registry* functions;
  hlo_trace_t* trace;
  atomic_ullong run_id;
  atomic_ullong work_count;      // launches and copies in flight, and one until the release begins
  hlo_gate_t idle;               // opened when the count becomes zero
  atomic_uint hold_count;        // objects that may outlive the release, and one until it has ended
  atomic_bool is_released;       // no thread of the client runs any more
  bool is_retired;               // no thread waits in the release: the client's threads free it
  bool is_orphaned;              // released in a forked process, which has none of its threads
  void (*after)(void* context);  // NULL: nothing
  void* after_context;
  hlo_flight_t flight;
  hlo_explainer_t* explainer;          // NULL: none
  hlo_stall_monitor_t* stall_monitor;  // likewise
  uint32_t device_count;
  hlo_device_t devices[];
};

static hlo_status_t create_queues(hlo_client_t* client) {
  for (uint32_t i = 0; i < client->device_count; ++i) {
    hlo_device_t* device = &client->devices[i];
    HLO_TRY(client->backend->ops->create_queue(client->backend, (int32_t)i, &device->queue));
  }
  return hlo_ok();
}

static void destroy_backend(hlo_client_t* client) {
  hlo_device_backend_t* backend = client->backend;
  if (!backend) return;
  for (uint32_t i = 0; i < client->device_count; ++i) {
    if (client->devices[i].queue) backend->ops->destroy_queue(backend, client->devices[i].queue);
  }
  backend->ops->destroy(backend);
}

static void init_memory(hlo_device_t* device, int kind) {
  hlo_device_backend_t* backend = device->client->backend;
  hlo_memory_t* memory = &device->memories[kind];
  memory->id = device->id * HLO_MEMORY_KIND_COUNT + kind;
  memory->kind = (hlo_memory_kind_t)kind;
  memory->device = device;
  memory->backend = backend;
  backend->ops->get_properties(backend, memory, &memory->properties);
}

static void init_devices(hlo_client_t* client, uint32_t launch_limit) {
  for (uint32_t i = 0; i < client->device_count; ++i) {
    hlo_device_t* device = &client->devices[i];
    device->client = client;
    device->backend = client->backend;
    device->id = (int32_t)i;
    device->local_id = (int32_t)i;
    hlo_launch_limit_init(&device->launches, launch_limit ? launch_limit : LAUNCH_LIMIT);
    hlo_effects_init(&device->effects);
    for (int k = 0; k < HLO_MEMORY_KIND_COUNT; ++k) init_memory(device, k);
  }
}

// Returns the number of bytes that an option asks for; `fallback` for 0, none if negative.
static uint64_t option_bytes(int64_t mib, uint64_t fallback) {
  if (mib == 0) return fallback;
  return mib < 0 ? 0 : (uint64_t)mib * BYTES_PER_MIB;
}

static void release_memory(hlo_client_t* client) {
  for (int k = 0; k < HLO_MEMORY_KIND_COUNT; ++k) hlo_heap_release(client->heaps[k]);
  hlo_account_release(client->array_account);
  hlo_account_list_deinit(&client->accounts);
}

static hlo_status_t create_memory(const hlo_client_options_t* options, hlo_client_t* client) {
  hlo_account_list_init(&client->accounts);
  HLO_TRY(hlo_account_create(&client->accounts, "arrays from the host and copies", "",
                             &client->array_account));
  const uint64_t machine_bytes = hlo_os_memory_bytes();
  for (int k = 0; k < HLO_MEMORY_KIND_COUNT; ++k) {
    const int64_t mib = k == HLO_MEMORY_DEVICE ? options->memory_mib : options->host_memory_mib;
    const uint64_t limit_bytes = option_bytes(mib, machine_bytes);
    const uint64_t kept_bytes = limit_bytes / HLO_TUNING_HEAP_KEPT_SHARE;
    hlo_heap_options_t heap_options = {option_bytes(options->kept_mib, kept_bytes), limit_bytes};
    HLO_TRY(hlo_heap_create(&heap_options, &client->heaps[k]));
    client->limit_bytes[k] = limit_bytes;
  }
  const uint64_t device_bytes = client->limit_bytes[HLO_MEMORY_DEVICE];
  const uint64_t running_bytes =
      device_bytes ? device_bytes / HLO_TUNING_HEAP_RUNNING_SHARE : UINT64_MAX;
  hlo_memory_queue_init(&client->memory_queue, option_bytes(options->running_mib, running_bytes));
  return hlo_ok();
}

static uint64_t seconds_ns(int64_t seconds) {
  enum { NS_PER_S = 1000000000 };
  return (uint64_t)seconds * NS_PER_S;
}

void hlo_client_options_read(const hlo_config_t* config, const hlo_observer_t* observer,
                             hlo_client_options_t* out_options) {
  *out_options =
      (hlo_client_options_t){.device_count = (uint32_t)config->num_devices,
                             .thread_count = (uint32_t)config->num_threads,
                             .observer = observer,
                             .memory_mib = config->memory_limit,
                             .host_memory_mib = config->host_memory_limit,
                             .kept_mib = config->memory_retain,
                             .running_mib = config->inflight_memory,
                             .explain_seconds = (uint32_t)config->explain_waits,
                             .explain_signal = config->explain_signal,
                             .stall_warn_ns = seconds_ns(config->collective_warn),
                             .stall_fail_ns = seconds_ns(config->collective_timeout),
                             .launch_limit = (uint32_t)config->inflight_launches,
                             .is_slow = config->device_backend == 1,
                             .slow = {.seed = (uint64_t)config->device_seed,
                                      .delay = (uint32_t)config->device_delay,
                                      .faults_per_million = (uint32_t)config->device_faults}};
}

static hlo_status_t create_backend(const hlo_client_options_t* options, hlo_client_t* client) {
  if (options->is_slow) {
    return hlo_device_slow_create(&options->slow, client->pool, client->trace, &client->backend);
  }
  return hlo_device_cpu_create(client->pool, client->trace, &client->backend);
}

hlo_status_t hlo_client_create(const hlo_client_options_t* options, hlo_client_t** out_client) {
  uint32_t device_count = options->device_count ? options->device_count : 1;
  if (device_count > MAX_DEVICES || options->thread_count > MAX_THREADS) {
    return hlo_invalid_argument("%u devices and %u threads requested, expected at most %d and %d",
                                device_count, options->thread_count, MAX_DEVICES, MAX_THREADS);
  }
  size_t bytes = sizeof(hlo_client_t) + device_count * sizeof(hlo_device_t);
  hlo_client_t* client = hlo_mem_alloc_zeroed(bytes);
  if (!client) return hlo_status_out_of_memory(bytes);
  client->observer = options->observer;
  client->comm_faults = options->comm_faults;
  client->functions = options->functions;
  client->trace = hlo_observer_trace(options->observer);
  hlo_status_t status = create_memory(options, client);
  if (hlo_status_is_ok(status)) {
    status = hlo_pool_create(options->thread_count, &client->pool);
  }
  client->device_count = device_count;
  if (hlo_status_is_ok(status)) {
    status = create_backend(options, client);
  }
  if (hlo_status_is_ok(status)) status = create_queues(client);
  if (!hlo_status_is_ok(status)) {
    destroy_backend(client);
    if (client->pool) hlo_pool_release(client->pool);
    release_memory(client);
    hlo_mem_free(client);
    return status;
  }
  atomic_init(&client->work_count, 1);
  atomic_init(&client->hold_count, 1);
  hlo_mutex_init(&client->flight.lock, HLO_LOCK_LEVEL_FLIGHT);
  hlo_dma_table_init(&client->dma_table);
  init_devices(client, options->launch_limit);
  status = hlo_explainer_create(client, options->explain_seconds, options->explain_signal,
                                &client->explainer);
  if (hlo_status_is_ok(status) && device_count > 1) {
    const hlo_stall_options_t stall = {options->stall_warn_ns, options->stall_fail_ns};
    status = hlo_stall_monitor_create(client, &stall, &client->stall_monitor);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_client_release(client);
    return status;
  }
  *out_client = client;
  return hlo_ok();
}

// Frees the rest when the threads have ended and no object holds the client.
static void free_client(hlo_client_t* client) {
  void (*after)(void* context) = client->after;
  void* after_context = client->after_context;
  for (uint32_t i = 0; i < client->device_count; ++i) {
    hlo_launch_limit_deinit(&client->devices[i].launches);
    hlo_effects_deinit(&client->devices[i].effects);
  }
  hlo_memory_queue_deinit(&client->memory_queue);
  destroy_backend(client);
  release_memory(client);
  hlo_dma_table_deinit(&client->dma_table);
  hlo_mutex_deinit(&client->flight.lock);
  hlo_mem_free(client);
  if (after) after(after_context);
}

void hlo_client_hold_begin(hlo_client_t* client) {
  // relaxed: the release has not ended, or another object has a hold
  atomic_fetch_add_explicit(&client->hold_count, 1, memory_order_relaxed);
}

void hlo_client_hold_end(hlo_client_t* client) {
  // acq_rel: the last owner sees the other owners' accesses
  if (atomic_fetch_sub_explicit(&client->hold_count, 1, memory_order_acq_rel) == 1) {
    free_client(client);
  }
}

static void end_release(void* context) {
  hlo_client_t* client = context;
  hlo_explainer_release(client->explainer, !client->is_orphaned);
  client->explainer = NULL;
  hlo_stall_monitor_release(client->stall_monitor, !client->is_orphaned);
  client->stall_monitor = NULL;
  atomic_store(&client->is_released, true);
  hlo_client_hold_end(client);
}

void hlo_client_release_then(hlo_client_t* client, void (*after)(void* context), void* context) {
  const bool has_threads = !hlo_pool_is_orphaned(client->pool);
  client->after = after;
  client->after_context = context;
  client->is_orphaned = !has_threads;
  client->is_retired = has_threads && !hlo_thread_may_wait();
  for (uint32_t i = 0; i < client->device_count; ++i) {
    hlo_effects_forget(&client->devices[i].effects);
  }
  if (has_threads) hlo_flight_stop_unseen(client);
  if (client->is_retired) {
    hlo_client_work_end(client);
    return;
  }
  if (has_threads) {
    hlo_client_work_end(client);
    hlo_gate_await(&client->idle, UINT64_MAX);
  }
  hlo_pool_release(client->pool);
  end_release(client);
}

void hlo_client_release(hlo_client_t* client) {
  if (client) hlo_client_release_then(client, NULL, NULL);
}

uint32_t hlo_client_device_count(const hlo_client_t* client) {
  return client->device_count;
}

hlo_device_t* hlo_client_device(const hlo_client_t* client, uint32_t index) {
  return (hlo_device_t*)&client->devices[index];
}

hlo_device_t* hlo_client_find_device(const hlo_client_t* client, int32_t id) {
  if (id < 0 || (uint32_t)id >= client->device_count) return NULL;
  return hlo_client_device(client, (uint32_t)id);
}

hlo_pool_t* hlo_client_pool(const hlo_client_t* client) {
  return client->pool;
}
hlo_parallel_t hlo_client_parallel(const hlo_client_t* client) {
  bool is_alone = hlo_pool_worker_count(client->pool) == 1 || hlo_pool_is_orphaned(client->pool);
  return is_alone ? (hlo_parallel_t){0} : hlo_parallel_on_pool(client->pool);
}
hlo_device_backend_t* hlo_client_backend(const hlo_client_t* client) {
  return client->backend;
}
hlo_heap_t* hlo_client_heap(const hlo_client_t* client, hlo_memory_kind_t kind) {
  return client->heaps[kind];
}

bool hlo_client_trim(const hlo_client_t* client) {
  bool has_freed = false;
  for (int k = 0; k < HLO_MEMORY_KIND_COUNT; ++k) has_freed |= hlo_heap_trim(client->heaps[k]);
  return has_freed;
}

hlo_status_t hlo_client_block_acquire(const hlo_client_t* client, hlo_memory_kind_t kind,
                                      size_t size_bytes, hlo_block_t* out_block) {
  hlo_status_t status = hlo_block_acquire(client->heaps[kind], size_bytes, out_block);
  if (HLO_LIKELY(hlo_status_is_ok(status)) || !hlo_client_trim(client)) return status;
  hlo_status_release(status);
  return hlo_block_acquire(client->heaps[kind], size_bytes, out_block);
}

hlo_account_list_t* hlo_client_accounts(hlo_client_t* client) {
  return &client->accounts;
}
hlo_account_t* hlo_client_array_account(hlo_client_t* client) {
  return client->array_account;
}

hlo_status_t hlo_client_explain_exhaustion(hlo_client_t* client, hlo_status_t status) {
  if (hlo_status_code(status) != HLO_STATUS_RESOURCE_EXHAUSTED) return status;
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_printf(&text, "%s\nmemory in use:", hlo_status_message(status));
  hlo_account_list_print(&client->accounts, &text);
  if (text.failed) return status;
  hlo_status_release(status);
  if (client->observer) HLO_LOG(&client->observer->log, INFO, "%s", hlo_strbuf_text(&text));
  return hlo_resource_exhausted("%s", hlo_strbuf_text(&text));
}

hlo_flight_t* hlo_client_flight(hlo_client_t* client) {
  return &client->flight;
}
bool hlo_client_explains(const hlo_client_t* client) {
  return client->explainer != NULL;
}
hlo_memory_queue_t* hlo_client_memory_queue(hlo_client_t* client) {
  return &client->memory_queue;
}
hlo_dma_table_t* hlo_client_dma_table(hlo_client_t* client) {
  return &client->dma_table;
}
const struct hlo_comm_faults* hlo_client_comm_faults(const hlo_client_t* client) {
  return client->comm_faults;
}

const hlo_observer_t* hlo_client_observer(const hlo_client_t* client) {
  return client->observer;
}

struct hlo_ffi_registry* hlo_client_functions(const hlo_client_t* client) {
  return client->functions;
}

hlo_trace_t* hlo_client_trace(const hlo_client_t* client) {
  return client->trace;
}

hlo_status_t hlo_client_check_usable(const hlo_client_t* client) {
  // relaxed: a call at the time of the release is a fault of the caller
  if (atomic_load_explicit(&client->is_released, memory_order_relaxed)) {
    return hlo_failed_precondition("the client has been destroyed");
  }
  if (HLO_LIKELY(!hlo_pool_is_orphaned(client->pool))) return hlo_ok();
  return hlo_failed_precondition(
      "the process was forked after the client was created: the client's threads do not exist in "
      "the child; create a new client there");
}

uint64_t hlo_client_next_run_id(hlo_client_t* client) {
  return atomic_fetch_add_explicit(&client->run_id, 1, memory_order_relaxed) + 1;
}

void hlo_client_work_begin(hlo_client_t* client) {
  // relaxed: the release has not begun, so the count is not zero
  atomic_fetch_add_explicit(&client->work_count, 1, memory_order_relaxed);
}

void hlo_client_work_end(hlo_client_t* client) {
  hlo_trace_flush(client->trace);  // frameworks may leave without releasing the client
  // acq_rel: the release sees all writes of the work
  if (atomic_fetch_sub_explicit(&client->work_count, 1, memory_order_acq_rel) != 1) return;
  if (client->is_retired) {
    hlo_pool_retire(client->pool, end_release, client);
  } else {
    hlo_gate_open(&client->idle);
  }
}

hlo_client_t* hlo_memory_client(const hlo_memory_t* memory) {
  return memory->device->client;
}

void hlo_memory_get_stats(const hlo_memory_t* memory, hlo_memory_stats_t* out_stats) {
  hlo_heap_stats_t heap;
  const hlo_client_t* client = hlo_memory_client(memory);
  hlo_heap_get_stats(client->heaps[memory->kind], &heap);
  *out_stats = (hlo_memory_stats_t){
      .bytes_in_use = atomic_load(&memory->bytes_in_use),
      .peak_bytes_in_use = atomic_load(&memory->peak_bytes),
      .allocation_count = atomic_load(&memory->allocation_count),
      .largest_allocation_bytes = atomic_load(&memory->largest_bytes),
      .reserved_bytes = heap.reserved_bytes,
      .peak_reserved_bytes = heap.peak_reserved_bytes,
      .limit_bytes = client->limit_bytes[memory->kind],
  };
}

void hlo_memory_clear_stats(hlo_memory_t* memory) {
  hlo_heap_clear_peak(hlo_memory_client(memory)->heaps[memory->kind]);
  atomic_store(&memory->peak_bytes, atomic_load(&memory->bytes_in_use));
  atomic_store(&memory->allocation_count, 0);
  atomic_store(&memory->largest_bytes, 0);
}
