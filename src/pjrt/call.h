// SPDX-License-Identifier: Apache-2.0
// The argument blocks of PJRT calls, from callers of any age, and statuses as PJRT errors.
//
// A caller may be older or newer than this library, so its argument block may be shorter or longer
// than the library's. Each entry therefore works on its own block: it copies the fields that the
// caller knows, sets the rest to zero, and copies the fields back on success. The functions that
// entries call get full blocks and return hlo_status_t.
#pragma once

#include "base/status.h"
#include "hlocc/pjrt.h"
#include "hlocc/pjrt_extensions.h"

/// The table's description of a function.
typedef struct hlo_pjrt_entry {
  const char* function;
  size_t required_bytes;  // of the argument block
  bool has_object;        // the first argument is a pointer that must not be null
} hlo_pjrt_entry_t;

/// Fills `own` from the caller's block.
/// errors : INVALID_ARGUMENT if there is no block, its struct_size is below what the entry
/// requires,
///          or the object is missing
hlo_status_t hlo_pjrt_open(const hlo_pjrt_entry_t* entry, const void* caller, void* own,
                           size_t own_bytes) HLO_MUST_USE;

/// Copies `own` to the caller's block if `status` is OK, and converts `status` to an error.
/// owner  : takes `status`
PJRT_Error* hlo_pjrt_close(void* caller, const void* own, size_t own_bytes, hlo_status_t status);

/// Creates the error object for `status`, null for OK.
/// owner  : takes `status`; the result belongs to the framework
PJRT_Error* hlo_pjrt_error_create(hlo_status_t status);

/// Returns the status that a framework describes by code and message; OK for code OK.
hlo_status_t hlo_pjrt_foreign_status(PJRT_Error_Code code, const char* message,
                                     size_t message_size) HLO_MUST_USE;

void hlo_pjrt_Error_Destroy(PJRT_Error_Destroy_Args* args);
void hlo_pjrt_Error_Message(PJRT_Error_Message_Args* args);

/// One function per served row of the tables; a missing one is a link error.
#define CALL(name, last) hlo_status_t hlo_pjrt_##name(PJRT_##name##_Args* args) HLO_MUST_USE;
#define METHOD(name, last) CALL(name, last)
#define GET(name, last, value)
#define GET2(name, field, field_value, last, value)
#define GET3(name, ...)
#define LEND(name, text, value)
#define SERVE(name, last, status)
#define REFUSE(name, last, why)
#define SLOT(name)
#include "pjrt/api.def"
#include "pjrt/extensions.def"

/// Defines entry_<name>(), the entry of hlo_pjrt_<name>(), once per function; the work is in
/// hlo_pjrt_open() and hlo_pjrt_close().
#define HLO_PJRT_ENTRY(name, last, has_object, serve)                           \
  static PJRT_Error* entry_##name(PJRT_##name##_Args* args) {                   \
    static const hlo_pjrt_entry_t entry = {                                     \
        "PJRT_" #name, PJRT_STRUCT_SIZE(PJRT_##name##_Args, last), has_object}; \
    PJRT_##name##_Args own;                                                     \
    hlo_status_t status = hlo_pjrt_open(&entry, args, &own, sizeof own);        \
    if (hlo_status_is_ok(status)) status = serve;                               \
    return hlo_pjrt_close(args, &own, sizeof own, status);                      \
  }
