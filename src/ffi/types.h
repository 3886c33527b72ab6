// SPDX-License-Identifier: Apache-2.0
// Types of objects that handlers and frameworks define: their ids, the states of handlers, and the
// user data of executions.
#pragma once

#include "base/status.h"
#include "base/vec.h"
#include "ffi/abi.h"

/// Destroys an object.
typedef void (*hlo_ffi_deleter_t)(void* object);

/// Registers a type in the process. *inout_type_id 0 asks for an id, which does not collide with
/// those of other runtimes; any other value is the id. The same registration again is fine and
/// returns the same id. The library that has the deleter must stay loaded. deleter may be NULL.
/// errors: ALREADY_EXISTS for another id or deleter of the name, or another name of the id
/// threads: safe
hlo_status_t hlo_ffi_type_register(XLA_FFI_ByteSpan name, hlo_ffi_deleter_t deleter,
                                   int64_t* inout_type_id) HLO_MUST_USE;

/// errors: NOT_FOUND
/// threads: safe
hlo_status_t hlo_ffi_type_find(int64_t type_id, hlo_ffi_deleter_t* out_deleter) HLO_MUST_USE;

/// The state of a handler at one stage; zero-initialised it is not set. owner: whoever declared it;
/// hlo_ffi_state_deinit(). threads: set once, immutable afterwards.
typedef struct hlo_ffi_state {
  int64_t type_id;
  void* object;
  hlo_ffi_deleter_t deleter;
} hlo_ffi_state_t;

/// Takes `object` if it succeeds.
/// errors: INVALID_ARGUMENT without an object or a deleter, FAILED_PRECONDITION if there is a state
/// already, NOT_FOUND for an unknown type
hlo_status_t hlo_ffi_state_set(hlo_ffi_state_t* state, int64_t type_id, void* object) HLO_MUST_USE;
/// Lends the object. errors: NOT_FOUND if it is not set, INVALID_ARGUMENT for another type
hlo_status_t hlo_ffi_state_get(const hlo_ffi_state_t* state, int64_t type_id,
                               void** out_object) HLO_MUST_USE;
void hlo_ffi_state_deinit(hlo_ffi_state_t* state);

/// One object of user data.
typedef struct hlo_ffi_user_object {
  int64_t type_id;
  void* object;
  hlo_ffi_deleter_t deleter;  // NULL: the object is lent
} hlo_ffi_user_object_t;

/// Objects of a framework for the handlers of an execution, at most one object of each type.
/// Zero-initialised is empty. owner: whoever declared it; hlo_ffi_user_data_deinit(). threads:
/// external, immutable while executions use it.
typedef HLO_VEC(hlo_ffi_user_object_t) hlo_ffi_user_data_t;

/// Takes `object` if it succeeds and there is a deleter.
/// errors: INVALID_ARGUMENT for type 0, ALREADY_EXISTS
hlo_status_t hlo_ffi_user_data_add(hlo_ffi_user_data_t* data, int64_t type_id, void* object,
                                   hlo_ffi_deleter_t deleter) HLO_MUST_USE;
/// Lends the object. data may be NULL. errors: NOT_FOUND
hlo_status_t hlo_ffi_user_data_get(const hlo_ffi_user_data_t* data, int64_t type_id,
                                   void** out_object) HLO_MUST_USE;
void hlo_ffi_user_data_deinit(hlo_ffi_user_data_t* data);
