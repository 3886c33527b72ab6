// SPDX-License-Identifier: Apache-2.0
// Loaded executables: binding to devices, and the checks of a launch on all its devices.
#include "runtime/executable.h"

#include <string.h>

#include "base/mem.h"
#include "base/shape.h"
#include "ir/clone.h"
#include "runtime/foreign.h"
#include "runtime/group.h"
#include "runtime/run.h"

static hlo_status_t read_kinds(const hlo_executable_t* executable, bool is_result,
                               hlo_memory_kind_t* out_kinds) {
  const uint32_t count = is_result ? executable->result_count : executable->argument_count;
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_signature_entry_t* entry =
        is_result ? &executable->results[i] : &executable->arguments[i];
    out_kinds[i] = hlo_memory_kind_from_name(entry->memory_kind, strlen(entry->memory_kind));
    if (out_kinds[i] == HLO_MEMORY_KIND_COUNT) {
      return hlo_invalid_argument(
          "%s %u of %s has memory kind \"%s\", expected " HLO_MEMORY_KIND_NAMES,
          is_result ? "result" : "argument", i, executable->name, entry->memory_kind);
    }
  }
  return hlo_ok();
}

static hlo_status_t bind_devices(hlo_client_t* client, const int32_t* device_ids, uint32_t count,
                                 hlo_loaded_t* loaded) {
  for (uint32_t i = 0; i < count; ++i) {
    int32_t id = device_ids ? device_ids[i] : (int32_t)i;
    loaded->devices[i] = hlo_client_find_device(client, id);
    if (!loaded->devices[i]) {
      return hlo_invalid_argument("the program needs device %d, but the client has %u devices", id,
                                  hlo_client_device_count(client));
    }
  }
  return hlo_ok();
}

static hlo_status_t open_accounts(hlo_client_t* client, const char* name, hlo_loaded_t* loaded) {
  hlo_account_list_t* list = hlo_client_accounts(client);
  HLO_TRY(hlo_account_create(list, "results of", name, &loaded->result_account));
  return hlo_account_create(list, "temporaries of", name, &loaded->temporary_account);
}

// Warns of collectives whose transport is not available: the default one does them.
static hlo_status_t check_transport(void* context, hlo_node_t* node) {
  const hlo_observer_t* observer = context;
  const hlo_attr_t* name = hlo_attr_dict_get(node->extra, "hlocc.collective_backend");
  if (!name || name->kind != HLO_ATTR_KIND_STRING || !hlo_op_has(node->op, HLO_TRAIT_COLLECTIVE) ||
      hlo_comm_has_transport(name->text, name->text_length)) {
    return hlo_ok();
  }
  HLO_SCOPED_STRBUF place = {0};
  hlo_node_print_location(node, &place);
  HLO_LOG(&observer->log, WARN, "%s: transport '%.*s' is not available, 'local' is used",
          hlo_strbuf_text(&place), (int)name->text_length, name->text);
  return hlo_ok();
}

static void check_transports(const hlo_client_t* client, const hlo_executable_t* executable) {
  const hlo_observer_t* observer = hlo_client_observer(client);
  if (!observer || !executable->module) return;
  hlo_status_release(hlo_module_walk(executable->module, true, check_transport, (void*)observer));
}

static void close_accounts(hlo_loaded_t* loaded) {
  hlo_account_release(loaded->result_account);
  hlo_account_release(loaded->temporary_account);
}

hlo_status_t hlo_loaded_create(hlo_client_t* client, hlo_executable_t* executable,
                               uint32_t device_id_count, const int32_t* device_ids,
                               hlo_loaded_t** out_loaded) {
  uint32_t want = (uint32_t)(executable->config.replica_count * executable->config.partition_count);
  if (device_ids && device_id_count != want) {
    return hlo_invalid_argument(
        "the device assignment has %u devices, but the program has %d replicas of %d partitions",
        device_id_count, executable->config.replica_count, executable->config.partition_count);
  }
  size_t bytes =
      sizeof(hlo_loaded_t) + want * sizeof(hlo_device_t*) +
      ((size_t)executable->argument_count + executable->result_count) * sizeof(hlo_memory_kind_t);
  hlo_loaded_t* loaded = hlo_mem_alloc_zeroed(bytes);
  if (!loaded) return hlo_status_out_of_memory(bytes);
  loaded->argument_kinds = (hlo_memory_kind_t*)&loaded->devices[want];
  loaded->result_kinds = loaded->argument_kinds + executable->argument_count;
  hlo_status_t status = bind_devices(client, device_ids, want, loaded);
  if (hlo_status_is_ok(status)) status = read_kinds(executable, false, loaded->argument_kinds);
  if (hlo_status_is_ok(status)) status = read_kinds(executable, true, loaded->result_kinds);
  if (hlo_status_is_ok(status)) status = open_accounts(client, executable->name, loaded);
  if (hlo_status_is_ok(status)) {
    status = hlo_foreign_calls_create(executable->program, hlo_client_functions(client),
                                      &loaded->foreign);
  }
  if (!hlo_status_is_ok(status)) {
    close_accounts(loaded);
    hlo_mem_free(loaded);
    return status;
  }
  atomic_init(&loaded->count, 1);
  loaded->client = client;
  loaded->executable = hlo_executable_retain(executable);
  loaded->device_count = want;
  if (want > 1) check_transports(client, executable);
  *out_loaded = loaded;
  return hlo_ok();
}

hlo_loaded_t* hlo_loaded_retain(hlo_loaded_t* loaded) {
  atomic_fetch_add_explicit(&loaded->count, 1, memory_order_relaxed);
  return loaded;
}

void hlo_loaded_release(hlo_loaded_t* loaded) {
  if (!loaded || atomic_fetch_sub_explicit(&loaded->count, 1, memory_order_acq_rel) != 1) return;
  hlo_foreign_calls_release(loaded->foreign);
  close_accounts(loaded);
  hlo_executable_release(loaded->executable);
  hlo_mem_free(loaded);
}

void hlo_loaded_delete(hlo_loaded_t* loaded) {
  atomic_store(&loaded->is_deleted, true);
}
bool hlo_loaded_is_deleted(hlo_loaded_t* loaded) {
  return atomic_load(&loaded->is_deleted);
}
hlo_executable_t* hlo_loaded_executable(const hlo_loaded_t* loaded) {
  return loaded->executable;
}
uint32_t hlo_loaded_device_count(const hlo_loaded_t* loaded) {
  return loaded->device_count;
}
hlo_device_t* hlo_loaded_device(const hlo_loaded_t* loaded, uint32_t index) {
  return loaded->devices[index];
}
hlo_memory_t* hlo_loaded_argument_memory(const hlo_loaded_t* loaded, uint32_t index,
                                         uint32_t argument) {
  return &loaded->devices[index]->memories[loaded->argument_kinds[argument]];
}

// ---- checks of one argument

static void describe_dims(uint32_t rank, const int64_t* dims, hlo_strbuf_t* out) {
  hlo_strbuf_putc(out, '[');
  for (uint32_t i = 0; i < rank; ++i) {
    hlo_strbuf_printf(out, i ? ",%lld" : "%lld", (long long)dims[i]);
  }
  hlo_strbuf_putc(out, ']');
}

// Layouts are named if only they differ.
static hlo_status_t type_error(const hlo_signature_entry_t* want, const hlo_buffer_shape_t* found,
                               bool is_layout, uint32_t argument) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_printf(&text, "argument %u is %s", argument, hlo_dtype_info(found->dtype)->hlo_name);
  describe_dims(found->rank, found->dims, &text);
  if (is_layout) hlo_dim_order_print(found->rank, found->minor_to_major, &text);
  hlo_strbuf_printf(&text, ", the program expects %s", hlo_dtype_info(want->dtype)->hlo_name);
  describe_dims(want->rank, want->dims, &text);
  if (is_layout) hlo_dim_order_print(want->rank, want->minor_to_major, &text);
  return hlo_invalid_argument("%s", hlo_strbuf_text(&text));
}

static hlo_status_t memory_error(const hlo_memory_t* found, const hlo_memory_t* want,
                                 uint32_t argument) {
  const hlo_device_t *found_device = found->device, *device = want->device;
  if (found_device != device) {
    return hlo_invalid_argument("argument %u is on device %d%s, but the program runs on device %d",
                                argument, found_device->id,
                                found_device->client == device->client ? "" : " of another client",
                                device->id);
  }
  return hlo_invalid_argument("argument %u has memory kind %s, expected %s", argument,
                              hlo_memory_kind_name(found->kind), hlo_memory_kind_name(want->kind));
}

// memory: the required memory space.
static hlo_status_t check_argument(const hlo_signature_entry_t* want, hlo_buffer_t* buffer,
                                   const hlo_memory_t* memory, uint32_t argument) {
  if (!buffer) return hlo_invalid_argument("argument %u is null", argument);
  const hlo_buffer_shape_t* shape = hlo_buffer_shape(buffer);
  if (want->is_token) return hlo_ok();  // any buffer can order effects
  bool same =
      shape->dtype == want->dtype && shape->rank == want->rank &&
      (want->rank == 0 || memcmp(shape->dims, want->dims, want->rank * sizeof *want->dims) == 0);
  if (!same) return type_error(want, shape, false, argument);
  if (!hlo_dim_order_is_same(want->rank, want->dims, want->minor_to_major, shape->minor_to_major)) {
    return type_error(want, shape, true, argument);
  }
  const hlo_memory_t* found = hlo_buffer_memory(buffer);
  return found == memory ? hlo_ok() : memory_error(found, memory, argument);
}

static bool is_denied(const hlo_launch_t* launch, uint32_t argument) {
  for (uint32_t i = 0; i < launch->non_donatable_count; ++i) {
    if (launch->non_donatable[i] == (int64_t)argument) return true;
  }
  return false;
}

static bool wants_donation(const hlo_launch_t* launch, const hlo_signature_entry_t* entry,
                           uint32_t argument) {
  return (entry->alias >= 0 || entry->is_donor) && !is_denied(launch, argument);
}

// The same buffer may not be donated and used twice in one call.
static hlo_status_t check_clash(const hlo_loaded_t* loaded, const hlo_launch_t* launch,
                                hlo_buffer_t* const* arguments, uint32_t argument) {
  const hlo_signature_entry_t* entries = loaded->executable->arguments;
  bool is_donor = wants_donation(launch, &entries[argument], argument);
  for (uint32_t i = 0; i < launch->argument_count; ++i) {
    if (i == argument || arguments[i] != arguments[argument]) continue;
    bool is_other_donor = wants_donation(launch, &entries[i], i);
    if (is_donor && is_other_donor) {
      return hlo_invalid_argument(
          "attempt to donate the same buffer twice in one call (arguments %u and %u)",
          i < argument ? i : argument, i < argument ? argument : i);
    }
    if (is_donor || is_other_donor) {
      return hlo_invalid_argument(
          "buffer donated as argument %u is also used as argument %u of the same call",
          is_donor ? argument : i, is_donor ? i : argument);
    }
  }
  return hlo_ok();
}

// Returns true if this argument delays the run.
static bool is_pending(const hlo_buffer_use_t* use) {
  return !hlo_event_is_ready(use->ready) ||
         (use->is_donated && hlo_storage_has_other_uses(use->storage));
}

// Searches for clashes only if they are possible: a donated buffer cannot be used any more, and a
// buffer being donated has another use. Launches take thousands of arguments.
static hlo_status_t prepare_arguments(const hlo_launch_t* launch, hlo_run_t* run,
                                      hlo_buffer_t* const* arguments) {
  const hlo_executable_t* executable = run->loaded->executable;
  for (uint32_t i = 0; i < launch->argument_count; ++i) {
    const hlo_signature_entry_t* entry = &executable->arguments[i];
    hlo_memory_t* memory = &run->device->memories[run->loaded->argument_kinds[i]];
    HLO_TRY(check_argument(entry, arguments[i], memory, i));
    hlo_buffer_use_t* use = &run->uses[i];
    run->taken[i] = wants_donation(launch, entry, i);
    hlo_status_t status = run->taken[i] ? hlo_buffer_donate(arguments[i], use)
                                        : hlo_buffer_use_begin(arguments[i], use);
    bool is_suspect =
        !hlo_status_is_ok(status) || (run->taken[i] && hlo_storage_has_other_uses(use->storage));
    if (hlo_status_is_ok(status)) {
      ++run->use_count;
      run->is_pending |= is_pending(use);
    }
    hlo_status_t clash = is_suspect ? check_clash(run->loaded, launch, arguments, i) : hlo_ok();
    if (!hlo_status_is_ok(clash)) {
      hlo_status_release(status);
      return clash;
    }
    HLO_TRY_MSG(status, "argument %u", i);
  }
  return hlo_ok();
}

static uint32_t count_replaced(hlo_buffer_t* const* replaced, uint32_t result_count) {
  uint32_t count = 0;
  for (uint32_t r = 0; replaced && r < result_count; ++r) count += replaced[r] != NULL;
  return count;
}

// Donates the buffer whose memory result `r` takes. The run waits for its readers.
static hlo_status_t donate_replaced(const hlo_launch_t* launch, hlo_run_t* run,
                                    hlo_buffer_t* const* arguments, hlo_buffer_t* buffer,
                                    uint32_t r) {
  const hlo_signature_entry_t* entry = &run->loaded->executable->results[r];
  const hlo_memory_t* memory = &run->device->memories[run->loaded->result_kinds[r]];
  for (uint32_t i = 0; i < launch->argument_count; ++i) {
    if (arguments[i] != buffer) continue;
    return hlo_invalid_argument("argument %u cannot be the memory of a result as well", i);
  }
  if (hlo_buffer_memory(buffer) != memory) {
    return hlo_invalid_argument("the buffer is in another memory than the result");
  }
  if (hlo_buffer_size_bytes(buffer) != entry->size_bytes) {
    return hlo_invalid_argument("the buffer has %zu bytes, expected %zu",
                                hlo_buffer_size_bytes(buffer), entry->size_bytes);
  }
  hlo_buffer_use_t* use = &run->uses[run->use_count];
  HLO_TRY(hlo_buffer_donate(buffer, use));
  if (!use->is_donated) {
    hlo_buffer_donate_abort(buffer, use);
    return hlo_failed_precondition("the memory of the buffer must not be overwritten");
  }
  ++run->use_count;
  run->is_pending |= is_pending(use);
  return hlo_ok();
}

static hlo_status_t prepare_replaced(const hlo_launch_t* launch, hlo_run_t* run,
                                     hlo_buffer_t* const* arguments,
                                     hlo_buffer_t* const* replaced) {
  for (uint32_t r = 0; replaced && r < run->loaded->executable->result_count; ++r) {
    if (!replaced[r]) continue;
    HLO_TRY_MSG(donate_replaced(launch, run, arguments, replaced[r], r), "memory for result %u", r);
  }
  return hlo_ok();
}

static void abort_replaced(hlo_run_t* run, hlo_buffer_t* const* replaced) {
  uint32_t at = run->loaded->executable->argument_count;
  const uint32_t end = run->use_count;
  for (uint32_t r = 0; at < end; ++r) {
    if (replaced[r]) hlo_buffer_donate_abort(replaced[r], &run->uses[at++]);
  }
  if (end > run->loaded->executable->argument_count) {
    run->use_count = run->loaded->executable->argument_count;
  }
}

static void abort_arguments(hlo_run_t* run, hlo_buffer_t* const* arguments) {
  for (uint32_t i = run->use_count; i-- > 0;) {
    if (run->taken[i]) {
      hlo_buffer_donate_abort(arguments[i], &run->uses[i]);
    } else {
      hlo_buffer_use_end(&run->uses[i]);
    }
  }
  run->use_count = 0;
}

// Returns the storage of the argument that may become result `r`, if it was donated and is in the
// result's memory space.
static hlo_storage_t* reusable_storage(const hlo_run_t* run, uint32_t r,
                                       const hlo_memory_t* memory) {
  const hlo_signature_entry_t* result = &run->loaded->executable->results[r];
  if (result->alias < 0 || result->size_bytes == 0) return NULL;
  const hlo_buffer_use_t* use = &run->uses[result->alias];
  return use->is_donated && use->storage->memory == memory ? hlo_storage_create_heir(use->storage)
                                                           : NULL;
}

// Creates the storage of result `r`; use: of the buffer whose memory it takes, or NULL.
static hlo_status_t create_output(hlo_run_t* run, uint32_t r, hlo_memory_t* memory,
                                  const hlo_buffer_use_t* use, hlo_storage_t** out_storage) {
  const size_t size_bytes = run->loaded->executable->results[r].size_bytes;
  if (use && size_bytes) {
    *out_storage = hlo_storage_create_heir(use->storage);
    return *out_storage ? hlo_ok() : hlo_status_out_of_memory(sizeof(hlo_storage_t));
  }
  *out_storage = use ? NULL : reusable_storage(run, r, memory);
  if (*out_storage) return hlo_ok();
  HLO_TRY(hlo_storage_create_deferred(memory, size_bytes, out_storage));
  (*out_storage)->account = run->loaded->result_account;
  return hlo_ok();
}

static hlo_status_t prepare_results(hlo_run_t* run, hlo_buffer_t* const* replaced,
                                    hlo_buffer_t** results) {
  const hlo_executable_t* executable = run->loaded->executable;
  const hlo_buffer_use_t* next = run->uses + executable->argument_count;
  for (uint32_t r = 0; r < executable->result_count; ++r) {
    const hlo_signature_entry_t* entry = &executable->results[r];
    hlo_memory_t* memory = &run->device->memories[run->loaded->result_kinds[r]];
    const bool is_replacing = replaced && replaced[r];
    hlo_storage_t* storage = NULL;
    HLO_TRY(create_output(run, r, memory, is_replacing ? next++ : NULL, &storage));
    run->progress.size_bytes += hlo_storage_missing_bytes(storage);
    run->outputs[r] = storage;
    ++run->output_count;
    hlo_buffer_shape_t shape = {.dtype = entry->dtype,
                                .rank = entry->rank,
                                .dims = entry->dims,
                                .minor_to_major = entry->minor_to_major};
    HLO_TRY(hlo_buffer_create_over(memory, &shape, storage, run->done, &results[r]));
    ++run->result_count;
  }
  run->progress.size_bytes += executable->program->temporary_bytes;
  run->request.has_memory = run->progress.size_bytes == 0;
  return hlo_ok();
}

static hlo_status_t check_launch(hlo_loaded_t* loaded, const hlo_launch_t* launch) {
  HLO_TRY(hlo_client_check_usable(loaded->client));
  if (hlo_loaded_is_deleted(loaded)) {
    return hlo_failed_precondition("executable %s has been deleted", loaded->executable->name);
  }
  uint32_t want = launch->device ? 1 : loaded->device_count;
  if (launch->device_count != want) {
    return hlo_invalid_argument("launch of %s on %u devices, expected %u", loaded->executable->name,
                                launch->device_count, want);
  }
  if (launch->device && loaded->device_count != 1) {
    return hlo_invalid_argument("%s is compiled for %u devices and cannot run on a single one",
                                loaded->executable->name, loaded->device_count);
  }
  if (launch->device && launch->device->client != loaded->client) {
    return hlo_invalid_argument("%s cannot run on device %d of another client",
                                loaded->executable->name, launch->device->id);
  }
  if (launch->argument_count != loaded->executable->argument_count) {
    return hlo_invalid_argument("launch of %s with %u arguments, expected %u",
                                loaded->executable->name, launch->argument_count,
                                loaded->executable->argument_count);
  }
  for (uint32_t i = 0; i < launch->non_donatable_count; ++i) {
    const int64_t argument = launch->non_donatable[i];
    if (argument >= 0 && argument < (int64_t)launch->argument_count) continue;
    return hlo_invalid_argument("launch of %s denies the donation of argument %lld of %u",
                                loaded->executable->name, (long long)argument,
                                launch->argument_count);
  }
  return hlo_ok();
}

static hlo_status_t prepare_device(hlo_loaded_t* loaded, const hlo_launch_t* launch, uint32_t row,
                                   hlo_run_t** out_run) {
  hlo_device_t* device = launch->device ? launch->device : loaded->devices[row];
  hlo_buffer_t* const* arguments = launch->argument_count ? launch->arguments[row] : NULL;
  hlo_buffer_t* const* replaced = launch->replaced ? launch->replaced[row] : NULL;
  const uint32_t replaced_count = count_replaced(replaced, loaded->executable->result_count);
  HLO_TRY(hlo_run_create(loaded, device, row, replaced_count, out_run));
  if (launch->call_location) {  // without memory for it, the location is not known
    const char* at = launch->call_location;
    (*out_run)->call_location = hlo_mem_strndup(at, strlen(at));
  }
  if (loaded->foreign) {
    HLO_TRY(
        hlo_foreign_run_create(loaded->foreign, launch->user_data, *out_run, &(*out_run)->foreign));
    HLO_TRY(hlo_effects_prepare(&device->effects, &(*out_run)->effects_end));
  }
  HLO_TRY(prepare_arguments(launch, *out_run, arguments));
  HLO_TRY(prepare_replaced(launch, *out_run, arguments, replaced));
  return prepare_results(*out_run, replaced,
                         loaded->executable->result_count ? launch->out_results[row] : NULL);
}

static void abort_device(const hlo_launch_t* launch, uint32_t row, hlo_run_t* run) {
  if (!run) return;
  for (uint32_t r = 0; r < run->result_count; ++r) {
    hlo_buffer_release(launch->out_results[row][r]);
    launch->out_results[row][r] = NULL;
  }
  abort_replaced(run, launch->replaced ? launch->replaced[row] : NULL);
  abort_arguments(run, launch->argument_count ? launch->arguments[row] : NULL);
  hlo_run_release(run);
}

// The runs of a launch in preparation.
typedef struct prepared {
  hlo_loaded_t* loaded;
  uint32_t count;
  hlo_run_t** runs;
  bool is_pending;      // an input is not ready, or still in use though donated
  bool is_immediate;    // the launch ends before the call returns
  bool is_synchronous;  // so does its caller expect, who learns of errors from the call
} prepared_t;

// Frameworks pass user data for callbacks into the language of the caller, whose lock the caller
// gives up for the call: on its own thread they need no switch of threads. An exception of a
// callback is the error of the call, as in XLA's cpu client, and no result exists that carries it.
static bool is_synchronous(const hlo_launch_t* launch, const hlo_loaded_t* loaded) {
  return loaded->foreign && launch->user_data && launch->user_data->count;
}

// Adds the place in the launch to the error of one of several devices.
static hlo_status_t name_device(const prepared_t* p, uint32_t row, hlo_status_t status) {
  if (HLO_LIKELY(hlo_status_is_ok(status) || p->count == 1)) return status;
  const uint32_t partitions = (uint32_t)p->loaded->executable->config.partition_count;
  HLO_TRY_MSG(status, "%s, replica %u, partition %u (device %d)", p->loaded->executable->name,
              row / partitions, row % partitions, p->loaded->devices[row]->id);
  return hlo_ok();
}

static hlo_status_t prepare_devices(const hlo_launch_t* launch, prepared_t* p) {
  for (uint32_t d = 0; d < p->count; ++d) {
    HLO_TRY(name_device(p, d, prepare_device(p->loaded, launch, d, &p->runs[d])));
    p->is_pending |= p->runs[d]->is_pending;
  }
  const bool is_inline = p->runs[0]->device->backend->launches_inline;
  const bool is_alone = p->count == 1 && !p->is_pending && is_inline;
  p->is_synchronous = is_alone && is_synchronous(launch, p->loaded);
  p->is_immediate = p->is_synchronous || (is_alone && p->loaded->executable->program->is_cheap);
  p->runs[0]->is_immediate = p->is_immediate;
  return hlo_run_group_bind(p->loaded, p->count, p->runs);
}

// A launch that begins at once gets its memory now, so that its caller learns of exhaustion. All
// others get their memory when they begin: waiting launches hold no memory.
static hlo_status_t allocate_for_start(const prepared_t* p) {
  bool begins = !p->is_pending;
  for (uint32_t d = 0; d < p->count && begins && !p->is_immediate; ++d) {
    begins = hlo_launch_limit_count(&p->runs[d]->device->launches) == 0;
  }
  if (!begins) return hlo_ok();
  hlo_status_t status =
      p->count > 1 ? hlo_group_allocate(p->runs[0]->group) : hlo_run_allocate(p->runs[0]);
  if (hlo_status_is_ok(status)) return status;
  if (!hlo_memory_queue_is_running(hlo_client_memory_queue(p->loaded->client))) {
    return hlo_run_explain_exhaustion(p->runs[0], status);
  }
  hlo_status_release(status);  // running launches may free enough until this one begins
  return hlo_ok();
}

// Returns true if the run waits, through an input or a reader of a donated input, for a promise.
static bool awaits_promise(const hlo_run_t* run) {
  for (uint32_t i = 0; i < run->use_count; ++i) {
    const hlo_buffer_use_t* use = &run->uses[i];
    if (hlo_event_awaits_promise(use->ready)) return true;
    if (use->is_donated && hlo_storage_awaits_promise(use->storage)) return true;
  }
  return false;
}

static void note_promise(hlo_run_t* run) {
  hlo_event_note_promise(run->done, true);
  for (uint32_t i = 0; i < run->use_count; ++i) hlo_buffer_use_note_promise(&run->uses[i]);
}

// Counts the runs as in flight unless one of them waits for a promise.
static void count_in_flight(const prepared_t* p) {
  bool awaits = false;
  for (uint32_t d = 0; d < p->count && p->is_pending && !awaits; ++d) {
    awaits = awaits_promise(p->runs[d]);
  }
  for (uint32_t d = 0; d < p->count; ++d) {
    hlo_run_t* run = p->runs[d];
    run->is_counted = !awaits;
    if (awaits) {
      note_promise(run);
    } else {
      hlo_launch_limit_begin(&run->device->launches);
    }
  }
}

// Returns the event of the end of a run, after those of earlier launches if it calls foreign
// functions.
static hlo_event_t* end_of(hlo_run_t* run) {
  if (!run->loaded->foreign) return hlo_event_retain(run->done);
  hlo_effects_end_t* prepared = run->effects_end;
  run->effects_end = NULL;
  hlo_event_t* end = hlo_effects_append(&run->device->effects, prepared, run->done);
  if (end != run->done) run->end = hlo_event_retain(end);
  return end;
}

static void start_runs(const hlo_launch_t* launch, const prepared_t* p) {
  const uint64_t run_id = hlo_client_next_run_id(p->loaded->client);
  if (p->runs[0]->group) hlo_group_comm(p->runs[0]->group)->run_id = run_id;
  if (!p->is_immediate) count_in_flight(p);
  for (uint32_t d = 0; d < p->count; ++d) {
    hlo_event_t* end = end_of(p->runs[d]);
    if (launch->out_events) {
      launch->out_events[d] = end;
    } else {
      hlo_event_release(end);
    }
    p->runs[d]->frame.run_id = run_id;
    p->runs[d]->launch_id = launch->launch_id;
  }
  for (uint32_t d = 0; d < p->count; ++d) hlo_run_start(p->runs[d]);
}

// Returns the error of a synchronous launch, whose results then do not exist.
static hlo_status_t take_error(const hlo_launch_t* launch, const prepared_t* p, hlo_event_t* done) {
  hlo_status_t status = hlo_status_clone(hlo_event_error(done));
  if (hlo_status_is_ok(status)) return status;
  for (uint32_t r = 0; r < p->loaded->executable->result_count; ++r) {
    hlo_buffer_release(launch->out_results[0][r]);
    launch->out_results[0][r] = NULL;
  }
  if (launch->out_events) {
    hlo_event_release(launch->out_events[0]);
    launch->out_events[0] = NULL;
  }
  return status;
}

// Waits while too many launches are in flight. The caller holds no resources that they could need.
static void await_limits(const hlo_launch_t* launch, const prepared_t* p) {
  for (uint32_t d = 0; d < p->count; ++d) {
    hlo_device_t* device = launch->device ? launch->device : p->loaded->devices[d];
    hlo_launch_limit_await(&device->launches);
  }
}

hlo_status_t hlo_loaded_execute(hlo_loaded_t* loaded, const hlo_launch_t* launch) {
  enum { FEW_DEVICES = 8 };  // launches on up to this number of devices allocate no list of runs
  HLO_TRY(check_launch(loaded, launch));
  hlo_run_t* few[FEW_DEVICES] = {0};
  prepared_t p = {.loaded = loaded, .count = launch->device_count, .runs = few};
  if (p.count > FEW_DEVICES) {
    p.runs = hlo_mem_alloc_zeroed(p.count * sizeof *p.runs);
    if (!p.runs) return hlo_status_out_of_memory(p.count * sizeof *p.runs);
  }
  hlo_status_t status = prepare_devices(launch, &p);
  if (hlo_status_is_ok(status)) status = allocate_for_start(&p);
  if (hlo_status_is_ok(status)) {
    hlo_event_t* done = p.is_synchronous ? hlo_event_retain(p.runs[0]->done) : NULL;
    start_runs(launch, &p);
    if (!p.is_immediate) await_limits(launch, &p);
    if (done) status = take_error(launch, &p, done);
    hlo_event_release(done);
  } else {
    for (uint32_t d = 0; d < p.count; ++d) abort_device(launch, d, p.runs[d]);
  }
  if (p.runs != few) hlo_mem_free(p.runs);
  return status;
}
