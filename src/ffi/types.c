// SPDX-License-Identifier: Apache-2.0
// Type ids, states and user data (see types.h). The table of types belongs to the process because
// neither the FFI nor PJRT's extension for it names a client when it registers a type.
#include "ffi/types.h"

#include <string.h>

#include "base/threads.h"

// Ids from here on are assigned here. XLA's runtimes count from 1, and their ids arrive here too
// when a framework registers its handlers with several runtimes.
static const int64_t kFirstOwnId = INT64_C(1) << 32;

typedef struct type {
  char* name;
  size_t name_length;
  int64_t id;
  hlo_ffi_deleter_t deleter;
} type_t;

static hlo_mutex_t types_mutex = {.level = HLO_LOCK_LEVEL_FFI};
static HLO_VEC(type_t) types;  // under types_mutex

// An unloaded library must not leave its types allocated.
__attribute__((destructor)) static void release_types(void) {
  hlo_mutex_lock(&types_mutex);
  for (size_t i = 0; i < types.count; ++i) hlo_mem_free(types.items[i].name);
  hlo_vec_deinit(&types);
  hlo_mutex_unlock(&types_mutex);
}

static hlo_status_t register_locked(XLA_FFI_ByteSpan name, hlo_ffi_deleter_t deleter,
                                    int64_t* inout_type_id) {
  int64_t id = *inout_type_id ? *inout_type_id : kFirstOwnId;
  for (size_t i = 0; i < types.count; ++i) {
    const type_t* type = &types.items[i];
    bool same_name = type->name_length == name.len && memcmp(type->name, name.ptr, name.len) == 0;
    if (same_name && (!*inout_type_id || *inout_type_id == type->id) && type->deleter == deleter) {
      *inout_type_id = type->id;
      return hlo_ok();
    }
    if (same_name || type->id == *inout_type_id) {
      return hlo_status_create(
          HLO_STATUS_ALREADY_EXISTS,
          "cannot register the type \"%.*s\" with id %lld: \"%s\" is registered"
          " with id %lld%s",
          (int)name.len, name.ptr, (long long)*inout_type_id, type->name, (long long)type->id,
          type->deleter == deleter ? "" : " and another deleter");
    }
    if (!*inout_type_id && type->id >= id) id = type->id + 1;
  }
  char* copy = hlo_mem_strndup(name.ptr, name.len);
  if (!copy || !hlo_vec_push(&types, ((type_t){copy, name.len, id, deleter}))) {
    hlo_mem_free(copy);
    return hlo_status_out_of_memory(name.len);
  }
  *inout_type_id = id;
  return hlo_ok();
}

hlo_status_t hlo_ffi_type_register(XLA_FFI_ByteSpan name, hlo_ffi_deleter_t deleter,
                                   int64_t* inout_type_id) {
  if (name.len == 0 || *inout_type_id < 0) {
    return hlo_invalid_argument(
        "a type needs a name and an id of at least 0, got \"%.*s\" and %lld", (int)name.len,
        name.ptr, (long long)*inout_type_id);
  }
  hlo_mutex_lock(&types_mutex);
  hlo_status_t status = register_locked(name, deleter, inout_type_id);
  hlo_mutex_unlock(&types_mutex);
  return status;
}

hlo_status_t hlo_ffi_type_find(int64_t type_id, hlo_ffi_deleter_t* out_deleter) {
  bool found = false;
  hlo_mutex_lock(&types_mutex);
  for (size_t i = 0; i < types.count && !found; ++i) {
    if (types.items[i].id != type_id) continue;
    found = true;
    *out_deleter = types.items[i].deleter;
  }
  hlo_mutex_unlock(&types_mutex);
  if (found) return hlo_ok();
  return hlo_not_found("no type with id %lld is registered", (long long)type_id);
}

hlo_status_t hlo_ffi_state_set(hlo_ffi_state_t* state, int64_t type_id, void* object) {
  hlo_ffi_deleter_t deleter;
  HLO_TRY_MSG(hlo_ffi_type_find(type_id, &deleter), "cannot set the state of a handler");
  if (!object || !deleter) {
    return hlo_invalid_argument("cannot set the state of a handler: its %s",
                                object ? "type has no deleter" : "address is null");
  }
  if (state->object) {
    return hlo_failed_precondition("the state of the handler is already set, with type id %lld",
                                   (long long)state->type_id);
  }
  *state = (hlo_ffi_state_t){type_id, object, deleter};
  return hlo_ok();
}

hlo_status_t hlo_ffi_state_get(const hlo_ffi_state_t* state, int64_t type_id, void** out_object) {
  if (!state->object) return hlo_not_found("the handler has no state of this stage");
  if (state->type_id != type_id) {
    return hlo_invalid_argument("the state of the handler has type id %lld, not %lld",
                                (long long)state->type_id, (long long)type_id);
  }
  *out_object = state->object;
  return hlo_ok();
}

void hlo_ffi_state_deinit(hlo_ffi_state_t* state) {
  if (state->object) state->deleter(state->object);
  *state = (hlo_ffi_state_t){0};
}

static const hlo_ffi_user_object_t* find_object(const hlo_ffi_user_data_t* data, int64_t type_id) {
  for (size_t i = 0; data && i < data->count; ++i) {
    if (data->items[i].type_id == type_id) return &data->items[i];
  }
  return NULL;
}

hlo_status_t hlo_ffi_user_data_add(hlo_ffi_user_data_t* data, int64_t type_id, void* object,
                                   hlo_ffi_deleter_t deleter) {
  if (type_id == 0) return hlo_invalid_argument("user data needs a registered type, got type id 0");
  if (find_object(data, type_id)) {
    return hlo_status_create(HLO_STATUS_ALREADY_EXISTS,
                             "the execution has user data with type id %lld already",
                             (long long)type_id);
  }
  if (hlo_vec_push(data, ((hlo_ffi_user_object_t){type_id, object, deleter}))) return hlo_ok();
  return hlo_status_out_of_memory(sizeof(hlo_ffi_user_object_t));
}

hlo_status_t hlo_ffi_user_data_get(const hlo_ffi_user_data_t* data, int64_t type_id,
                                   void** out_object) {
  const hlo_ffi_user_object_t* found = find_object(data, type_id);
  if (!found) {
    return hlo_not_found("the execution has no user data with type id %lld", (long long)type_id);
  }
  *out_object = found->object;
  return hlo_ok();
}

void hlo_ffi_user_data_deinit(hlo_ffi_user_data_t* data) {
  for (size_t i = 0; i < data->count; ++i) {
    if (data->items[i].deleter) data->items[i].deleter(data->items[i].object);
  }
  hlo_vec_deinit(data);
}
