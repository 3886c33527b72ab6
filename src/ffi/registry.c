// SPDX-License-Identifier: Apache-2.0
// Registries (see registry.h): a table from the target's name to a list of its platforms and
// interfaces.
#include "ffi/registry.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/hashmap.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "base/threads.h"
#include "ffi/api.h"

typedef struct entry {
  struct entry* next;  // of the same target
  hlo_ffi_handler_t handler;
  char* target;
  char* platform;
} entry_t;

struct hlo_ffi_registry {
  hlo_mutex_t mutex;
  hlo_map_t targets;  // name -> the first entry_t; under the mutex
};

// Handlers are registered without naming a client: by PJRT's extension, and by libraries as they
// are loaded.
static hlo_ffi_registry_t process_registry = {.mutex = {.level = HLO_LOCK_LEVEL_FFI}};

static void remove_all(hlo_ffi_registry_t* registry) {
  hlo_mutex_lock(&registry->mutex);
  for (uint32_t i = 0; i < registry->targets.entry_count; ++i) {
    for (entry_t *entry = registry->targets.entries[i].value, *next; entry; entry = next) {
      next = entry->next;
      hlo_mem_free(entry->target);
      hlo_mem_free(entry->platform);
      hlo_mem_free(entry);
    }
  }
  hlo_map_deinit(&registry->targets);
  registry->targets = (hlo_map_t){0};
  hlo_mutex_unlock(&registry->mutex);
}

// An unloaded library must not leave its table allocated.
__attribute__((destructor)) static void release_process_registry(void) {
  remove_all(&process_registry);
}

hlo_status_t hlo_ffi_registry_create(hlo_ffi_registry_t** out_registry) {
  hlo_ffi_registry_t* registry = hlo_mem_alloc_zeroed(sizeof *registry);
  if (!registry) return hlo_status_out_of_memory(sizeof *registry);
  hlo_mutex_init(&registry->mutex, HLO_LOCK_LEVEL_FFI);
  *out_registry = registry;
  return hlo_ok();
}

void hlo_ffi_registry_release(hlo_ffi_registry_t* registry) {
  if (!registry) return;
  remove_all(registry);
  hlo_mutex_deinit(&registry->mutex);
  hlo_mem_free(registry);
}

// ---- entries -----------------------------------------------------------------------------------

static XLA_FFI_ByteSpan canonical_platform(XLA_FFI_ByteSpan platform) {
  bool is_host = platform.len == 4 && strncasecmp(platform.ptr, "host", 4) == 0;
  return is_host ? hlo_ffi_span("cpu") : platform;
}

static entry_t* first_entry(const hlo_ffi_registry_t* registry, XLA_FFI_ByteSpan target) {
  return hlo_map_get(&registry->targets, target.ptr, target.len);
}

static entry_t* find_entry(const hlo_ffi_registry_t* registry, XLA_FFI_ByteSpan target,
                           XLA_FFI_ByteSpan platform, bool is_typed) {
  entry_t* entry = first_entry(registry, target);
  for (; entry; entry = entry->next) {
    if (!entry->handler.function == is_typed && strlen(entry->platform) == platform.len &&
        strncasecmp(entry->platform, platform.ptr, platform.len) == 0) {
      break;
    }
  }
  return entry;
}

static bool is_same(const hlo_ffi_handler_t* a, const hlo_ffi_handler_t* b) {
  return a->function == b->function && a->traits == b->traits &&
         a->bundle.instantiate == b->bundle.instantiate && a->bundle.prepare == b->bundle.prepare &&
         a->bundle.initialize == b->bundle.initialize && a->bundle.execute == b->bundle.execute &&
         a->bundle.record == b->bundle.record;
}

static bool insert_locked(hlo_ffi_registry_t* registry, entry_t* entry, size_t target_length) {
  entry_t* first = hlo_map_get(&registry->targets, entry->target, target_length);
  if (!first) return hlo_map_put(&registry->targets, entry->target, target_length, entry);
  entry->next = first->next;
  first->next = entry;
  return true;
}

static hlo_status_t add_locked(hlo_ffi_registry_t* registry, XLA_FFI_ByteSpan target,
                               XLA_FFI_ByteSpan platform, const hlo_ffi_handler_t* handler) {
  const entry_t* old = find_entry(registry, target, platform, !handler->function);
  if (old && is_same(&old->handler, handler)) return hlo_ok();
  if (old) {
    return hlo_status_create(HLO_STATUS_ALREADY_EXISTS,
                             "custom call target \"%s\" is registered for platform %s already, with"
                             " other %s",
                             old->target, old->platform,
                             old->handler.traits == handler->traits ? "functions" : "traits");
  }
  entry_t* entry = hlo_mem_alloc(sizeof *entry);
  char* target_copy = hlo_mem_strndup(target.ptr, target.len);
  char* platform_copy = hlo_mem_strndup(platform.ptr, platform.len);
  if (entry) *entry = (entry_t){NULL, *handler, target_copy, platform_copy};
  if (entry && target_copy && platform_copy && insert_locked(registry, entry, target.len)) {
    return hlo_ok();
  }
  hlo_mem_free(entry);
  hlo_mem_free(target_copy);
  hlo_mem_free(platform_copy);
  return hlo_status_out_of_memory(sizeof *entry + target.len + platform.len);
}

static hlo_status_t add(hlo_ffi_registry_t* registry, XLA_FFI_ByteSpan target,
                        XLA_FFI_ByteSpan platform, const hlo_ffi_handler_t* handler) {
  if (!registry) registry = &process_registry;
  if (target.len == 0 || platform.len == 0 || (!handler->function && !handler->bundle.execute)) {
    const char* missing = target.len == 0     ? "name"
                          : platform.len == 0 ? "platform"
                                              : "execute function";
    return hlo_invalid_argument("custom call target \"%.*s\" has no %s", (int)target.len,
                                target.ptr, missing);
  }
  hlo_mutex_lock(&registry->mutex);
  hlo_status_t status = add_locked(registry, target, canonical_platform(platform), handler);
  hlo_mutex_unlock(&registry->mutex);
  return status;
}

// ---- typed handlers ----------------------------------------------------------------------------

// Calls a handler for its metadata only.
static hlo_status_t query_metadata(XLA_FFI_Handler* handler, XLA_FFI_Metadata* out_metadata) {
  *out_metadata = (XLA_FFI_Metadata){
      .struct_size = sizeof *out_metadata,
      .api_version = {.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE, .major_version = -1},
  };
  XLA_FFI_Metadata_Extension extension = {
      .extension_base = {.struct_size = XLA_FFI_Metadata_Extension_STRUCT_SIZE,
                         .type = XLA_FFI_Extension_Metadata},
      .metadata = out_metadata,
  };
  XLA_FFI_CallFrame frame = {
      .struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
      .extension_start = &extension.extension_base,
      .api = hlo_ffi_api(),
      .stage = XLA_FFI_ExecutionStage_EXECUTE,
      .args.struct_size = XLA_FFI_Args_STRUCT_SIZE,
      .rets.struct_size = XLA_FFI_Rets_STRUCT_SIZE,
      .attrs.struct_size = XLA_FFI_Attrs_STRUCT_SIZE,
  };
  return hlo_ffi_error_take(handler(&frame));
}

static hlo_status_t check_handler(XLA_FFI_Handler* handler, XLA_FFI_Handler_Traits* inout_traits) {
  if (!handler) return hlo_ok();
  XLA_FFI_Metadata metadata;
  HLO_TRY(query_metadata(handler, &metadata));
  int major = metadata.api_version.major_version, minor = metadata.api_version.minor_version;
  if (major == -1) {
    return hlo_invalid_argument(
        "the handler does not say which version of the XLA FFI API it was compiled for; this "
        "runtime has %d.%d",
        XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR);
  }
  if (major != XLA_FFI_API_MAJOR || minor < 1) {  // the layouts of 0.0 are not known
    return hlo_invalid_argument(
        "the handler was compiled for XLA FFI API %d.%d; this runtime has %d.%d and supports "
        "handlers from %d.1 on",
        major, minor, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR, XLA_FFI_API_MAJOR);
  }
  *inout_traits |= metadata.traits;
  return hlo_ok();
}

hlo_status_t hlo_ffi_registry_add_typed(hlo_ffi_registry_t* registry, XLA_FFI_ByteSpan target,
                                        XLA_FFI_ByteSpan platform,
                                        const XLA_FFI_Handler_Bundle* bundle,
                                        XLA_FFI_Handler_Traits traits) {
  hlo_ffi_handler_t handler = {.bundle = *bundle, .traits = traits};
  XLA_FFI_Handler* const functions[] = {bundle->execute, bundle->instantiate, bundle->prepare,
                                        bundle->initialize};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    XLA_FFI_Handler_Traits ignored = 0;  // those of execute count
    HLO_TRY_MSG(check_handler(functions[i], i == 0 ? &handler.traits : &ignored),
                "cannot register custom call target \"%.*s\"", (int)target.len, target.ptr);
  }
  return add(registry, target, platform, &handler);
}

hlo_status_t hlo_ffi_registry_add_untyped(hlo_ffi_registry_t* registry, XLA_FFI_ByteSpan target,
                                          XLA_FFI_ByteSpan platform, hlo_ffi_function_t function) {
  return add(registry, target, platform, &(hlo_ffi_handler_t){.function = function});
}

// ---- lookup ------------------------------------------------------------------------------------

// Hints for a target that was not found; texts are lent by the registries, whose entries stay.
typedef struct misses {
  hlo_suggestion_t near;
  const entry_t* other;  // the target for another platform or interface
  uint32_t target_count;
} misses_t;

static void note_misses_locked(const hlo_ffi_registry_t* registry, XLA_FFI_ByteSpan target,
                               misses_t* misses) {
  misses->target_count += registry->targets.live_count;
  if (!misses->other) misses->other = first_entry(registry, target);
  for (uint32_t i = 0; i < registry->targets.entry_count; ++i) {
    hlo_suggestion_offer(&misses->near, ((entry_t*)registry->targets.entries[i].value)->target);
  }
}

static hlo_status_t not_found(XLA_FFI_ByteSpan target, XLA_FFI_ByteSpan platform, bool is_typed,
                              const misses_t* misses) {
  char hint[200] = "; no targets are registered";
  if (misses->other) {
    snprintf(hint, sizeof hint, "; it is registered for platform %s with the %s interface",
             misses->other->platform, misses->other->handler.function ? "untyped" : "typed FFI");
  } else if (misses->near.best) {
    snprintf(hint, sizeof hint, "; did you mean \"%s\"?", misses->near.best);
  } else if (misses->target_count > 0) {
    snprintf(hint, sizeof hint, "; none of the %u registered targets is spelt alike",
             misses->target_count);
  }
  return hlo_not_found(
      "custom call target \"%.*s\" is not registered for platform %.*s with the %s interface%s",
      (int)target.len, target.ptr, (int)platform.len, platform.ptr,
      is_typed ? "typed FFI" : "untyped", hint);
}

hlo_status_t hlo_ffi_registry_find(hlo_ffi_registry_t* registry, XLA_FFI_ByteSpan target,
                                   XLA_FFI_ByteSpan platform, hlo_ffi_interface_t interface,
                                   hlo_ffi_handler_t* out_handler) {
  platform = canonical_platform(platform);
  bool is_typed = interface == HLO_FFI_INTERFACE_TYPED;
  hlo_ffi_registry_t* const registries[] = {registry, &process_registry};
  for (int i = 0; i < 2; ++i) {
    if (!registries[i]) continue;
    hlo_mutex_lock(&registries[i]->mutex);
    const entry_t* entry = find_entry(registries[i], target, platform, is_typed);
    if (entry) *out_handler = entry->handler;
    hlo_mutex_unlock(&registries[i]->mutex);
    if (entry) return hlo_ok();
  }
  char wanted[65];  // as much as spelling is compared by
  snprintf(wanted, sizeof wanted, "%.*s", (int)target.len, target.ptr);
  misses_t misses = {0};
  hlo_suggestion_init(&misses.near, wanted);
  for (int i = 0; i < 2; ++i) {
    if (!registries[i]) continue;
    hlo_mutex_lock(&registries[i]->mutex);
    note_misses_locked(registries[i], target, &misses);
    hlo_mutex_unlock(&registries[i]->mutex);
  }
  return not_found(target, platform, is_typed, &misses);
}
