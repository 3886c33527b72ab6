// SPDX-License-Identifier: Apache-2.0
// Clients of the public C API.
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "capi/capi_impl.h"
#include "runtime/waits.h"

const char* hlocc_version(void) {
  return HLOCC_VERSION;
}

hlo_status_t hlo_capi_options(void* to, size_t size_bytes, const void* given) {
  memset(to, 0, size_bytes);
  if (!given) return hlo_ok();
  size_t given_bytes;
  memcpy(&given_bytes, given, sizeof given_bytes);
  if (given_bytes < sizeof given_bytes) {
    return hlo_invalid_argument(
        "struct_size of the options is %zu, expected the size of the struct", given_bytes);
  }
  memcpy(to, given, given_bytes < size_bytes ? given_bytes : size_bytes);
  return hlo_ok();
}

// Sets options given as "name=value".
static hlo_status_t apply_settings(const char* const* settings, hlo_config_t* config) {
  for (; settings && *settings; ++settings) {
    const char* equals = strchr(*settings, '=');
    if (!equals) {
      return hlo_invalid_argument("the setting '%s' is not of the form name=value", *settings);
    }
    HLO_SCOPED_STRBUF name = {0};
    hlo_strbuf_printf(&name, "%.*s", (int)(equals - *settings), *settings);
    HLO_TRY(hlo_config_set(config, hlo_strbuf_text(&name), equals + 1, HLO_CONFIG_SOURCE_OPTION));
  }
  return hlo_ok();
}

// ---- log

const char* hlocc_log_level_name(hlocc_log_level_t level) {
  return hlo_log_level_name((hlo_log_level_t)((int)level - HLOCC_LOG_ERROR));
}

// Passes a message to the user's sink.
static void log_to_user(void* context, const hlo_log_record_t* record) {
  const hlocc_client_t* client = context;
  const hlocc_log_record_t copy = {.struct_size = sizeof copy,
                                   .level = (hlocc_log_level_t)(HLOCC_LOG_ERROR + record->level),
                                   .component = record->component,
                                   .message = record->message,
                                   .message_bytes = record->length,
                                   .file = record->file,
                                   .line = record->line,
                                   .wall_time_ns = record->wall_ns,
                                   .thread_id = record->thread_id};
  client->log_sink(client->log_context, &copy);
}

static void set_log(const hlocc_client_options_t* options, hlocc_client_t* client) {
  if (!options->log_sink) return;
  client->log_sink = options->log_sink;
  client->log_context = options->log_context;
  client->observer.log.sink = log_to_user;
  client->observer.log.context = client;
}

// ---- clients

// Initialises a client; on failure the caller releases what was created.
static hlo_status_t fill_client(const hlocc_client_options_t* given, hlocc_client_t* client) {
  hlocc_client_options_t options;
  HLO_TRY(hlo_capi_options(&options, sizeof options, given));
  HLO_SCOPED_STRBUF warnings = {0};
  HLO_TRY(hlo_config_init(&client->config, NULL, &warnings));
  HLO_TRY(apply_settings(options.settings, &client->config));
  HLO_TRY(hlo_observer_init(&client->config, &client->observer));
  set_log(&options, client);
  if (warnings.length) HLO_LOG(&client->observer.log, WARN, "%s", hlo_strbuf_text(&warnings));
  hlo_observer_start(&client->config, &client->observer);
  hlo_client_options_t client_options;
  hlo_client_options_read(&client->config, &client->observer, &client_options);
  if (options.device_count) client_options.device_count = options.device_count;
  if (options.thread_count) client_options.thread_count = options.thread_count;
  HLO_TRY(hlo_ffi_registry_create(&client->functions));
  client_options.functions = client->functions;
  HLO_TRY(hlo_client_create(&client_options, &client->client));
  return hlo_compile_cache_create(&client->config, &client->observer.log, &client->cache);
}

hlocc_error_t* hlocc_client_create(const hlocc_client_options_t* options,
                                   hlocc_client_t** out_client) {
  hlocc_client_t* client = hlo_mem_alloc_zeroed(sizeof *client);
  if (!client) return hlo_capi_error(hlo_status_out_of_memory(sizeof *client));
  atomic_init(&client->count, 1);
  hlo_status_t status = fill_client(options, client);
  if (!hlo_status_is_ok(status)) {
    hlocc_client_free(client);
    return hlo_capi_error(status);
  }
  *out_client = client;
  return NULL;
}

// Releases what the runtime's client was lent.
static void free_client(void* context) {
  hlocc_client_t* client = context;
  hlo_compile_cache_release(client->cache);
  hlo_ffi_registry_release(client->functions);
  hlo_observer_deinit(&client->observer);
  hlo_config_deinit(&client->config);
  hlo_mem_free(client);
}

hlocc_client_t* hlo_capi_client_retain(hlocc_client_t* client) {
  // relaxed: the caller's object holds a reference
  atomic_fetch_add_explicit(&client->count, 1, memory_order_relaxed);
  return client;
}

void hlocc_client_free(hlocc_client_t* client) {
  if (!client || atomic_fetch_sub_explicit(&client->count, 1, memory_order_acq_rel) != 1) return;
  if (client->client) {
    hlo_client_release_then(client->client, free_client, client);
  } else {
    free_client(client);
  }
}

hlo_status_t hlo_capi_device(const hlocc_client_t* client, uint32_t device,
                             hlo_device_t** out_device) {
  const uint32_t count = hlo_client_device_count(client->client);
  if (device >= count) {
    return hlo_invalid_argument("there is no device %u: the client has %u", device, count);
  }
  *out_device = hlo_client_device(client->client, device);
  return hlo_ok();
}

static_assert(HLOCC_MEMORY_DEVICE == (int)HLO_MEMORY_DEVICE &&
                  HLOCC_MEMORY_PINNED_HOST == (int)HLO_MEMORY_PINNED_HOST &&
                  HLOCC_MEMORY_UNPINNED_HOST == (int)HLO_MEMORY_UNPINNED_HOST,
              "the same numbers");

hlo_status_t hlo_capi_memory(const hlocc_client_t* client, uint32_t index, hlocc_memory_kind_t kind,
                             hlo_memory_t** out_memory) {
  hlo_device_t* device = NULL;
  HLO_TRY(hlo_capi_device(client, index, &device));
  if ((unsigned)kind >= HLO_MEMORY_KIND_COUNT) {
    return hlo_invalid_argument("%d is no kind of memory", (int)kind);
  }
  *out_memory = &device->memories[kind];
  return hlo_ok();
}

static hlo_status_t read_memory(const hlocc_client_t* client, uint32_t index,
                                hlocc_memory_t* memory) {
  hlocc_memory_t filled;
  HLO_TRY(hlo_capi_options(&filled, sizeof filled, memory));
  hlo_memory_t* space = NULL;
  HLO_TRY(hlo_capi_memory(client, index, filled.kind, &space));
  hlo_memory_stats_t stats;
  hlo_memory_get_stats(space, &stats);
  filled.used_bytes = (uint64_t)stats.bytes_in_use;
  filled.peak_used_bytes = (uint64_t)stats.peak_bytes_in_use;
  filled.reserved_bytes = stats.reserved_bytes;
  filled.limit_bytes = stats.limit_bytes;
  memcpy(memory, &filled, filled.struct_size < sizeof filled ? filled.struct_size : sizeof filled);
  return hlo_ok();
}

hlocc_error_t* hlocc_client_memory(hlocc_client_t* client, uint32_t device,
                                   hlocc_memory_t* memory) {
  return hlo_capi_error(read_memory(client, device, memory));
}

size_t hlocc_client_explain_waits(hlocc_client_t* client, char* text, size_t capacity) {
  HLO_SCOPED_STRBUF all = {0};
  hlo_client_explain_waits(client->client, 0, &all);
  if (capacity) {
    const size_t length = all.length < capacity ? all.length : capacity - 1;
    memcpy(text, hlo_strbuf_text(&all), length);
    text[length] = 0;
  }
  return all.length;
}

uint32_t hlocc_client_device_count(const hlocc_client_t* client) {
  return hlo_client_device_count(client->client);
}

void hlocc_client_trim(hlocc_client_t* client) {
  (void)hlo_client_trim(client->client);
  hlo_compile_cache_clear(client->cache);
}
