// SPDX-License-Identifier: Apache-2.0
// The FFI extension: types, user data of executions, and handlers of custom calls. All of them
// belong to the process.
#include "ffi/registry.h"
#include "pjrt/objects.h"
#include "pjrt/python_callback.h"

hlo_status_t hlo_pjrt_FFI_Type_Register(PJRT_FFI_Type_Register_Args* args) {
  const XLA_FFI_ByteSpan name = {args->type_name, args->type_name_size};
  return hlo_ffi_type_register(name, args->type_info != NULL ? args->type_info->deleter : NULL,
                               &args->type_id);
}

// The framework keeps the objects until the executions have ended.
hlo_status_t hlo_pjrt_FFI_UserData_Add(PJRT_FFI_UserData_Add_Args* args) {
  return hlo_ffi_user_data_add(&args->context->user_data, args->user_data.type_id,
                               args->user_data.data, NULL);
}

hlo_status_t hlo_pjrt_FFI_Register_Handler(PJRT_FFI_Register_Handler_Args* args) {
  const XLA_FFI_Handler_Bundle bundle = {.execute = (XLA_FFI_Handler*)(uintptr_t)args->handler};
  return hlo_ffi_registry_add_typed(
      NULL, (XLA_FFI_ByteSpan){args->target_name, args->target_name_size},
      (XLA_FFI_ByteSpan){args->platform_name, args->platform_name_size}, &bundle,
      (XLA_FFI_Handler_Traits)args->traits);
}

// --- Functions for hosts without a C++ client: the Python package calls them ---------------------

HLO_PJRT_EXPORT const XLA_FFI_Api* hlocc_ffi_api(void) {
  return hlo_ffi_api();
}

HLO_PJRT_EXPORT XLA_FFI_Error* hlocc_ffi_register_untyped(const char* target, const char* platform,
                                                          hlo_ffi_function_t function) {
  return hlo_ffi_error_of(
      hlo_ffi_registry_add_untyped(NULL, hlo_ffi_span(target), hlo_ffi_span(platform), function));
}
