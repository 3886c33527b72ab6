// SPDX-License-Identifier: Apache-2.0
// GetPjrtApi(): the table of functions and the chain of extensions, all constant data.
#include "pjrt/objects.h"
#include "pjrt/phase_compile.h"
#include "pjrt/profiler.h"
#include "pjrt/transform.h"

static hlo_status_t refuse(const char* function, const char* why) {
  return hlo_unimplemented("%s is not supported by hlocc: %s", function, why);
}

// An empty list has an address, too: languages make slices of it that must not be null.
static const size_t no_indices[1];

#define CALL(name, last) HLO_PJRT_ENTRY(name, last, false, hlo_pjrt_##name(&own))
#define METHOD(name, last) HLO_PJRT_ENTRY(name, last, true, hlo_pjrt_##name(&own))
#define GET(name, last, value) HLO_PJRT_ENTRY(name, last, true, (own.last = (value), hlo_ok()))
#define GET2(name, field, field_value, last, value) \
  HLO_PJRT_ENTRY(name, last, true, (own.field = (field_value), own.last = (value), hlo_ok()))
#define GET3(name, a, a_value, b, b_value, last, value) \
  HLO_PJRT_ENTRY(name, last, true,                      \
                 (own.a = (a_value), own.b = (b_value), own.last = (value), hlo_ok()))
#define LEND(name, text, value)           \
  HLO_PJRT_ENTRY(name, text##_size, true, \
                 (hlo_pjrt_lend(value, &own.text, &own.text##_size), hlo_ok()))
#define SERVE(name, last, status) HLO_PJRT_ENTRY(name, last, true, status)
#define REFUSE(name, last, why) HLO_PJRT_ENTRY(name, last, false, refuse("PJRT_" #name, why))
#define SLOT(name)
#include "pjrt/api.def"
#include "pjrt/extensions.def"

static const PJRT_MemoryDescriptions_Extension memory_descriptions = {
    .base = {.struct_size = sizeof(PJRT_MemoryDescriptions_Extension),
             .type = PJRT_Extension_Type_MemoryDescriptions},
    .PJRT_DeviceDescription_MemoryDescriptions = entry_DeviceDescription_MemoryDescriptions,
    .PJRT_MemoryDescription_Kind = entry_MemoryDescription_Kind,
};

static const PJRT_Shardings_Extension shardings = {
    .base = {.struct_size = sizeof(PJRT_Shardings_Extension),
             .type = PJRT_Extension_Type_Shardings,
             .next = (PJRT_Extension_Base*)&memory_descriptions.base},
    .PJRT_Shardings_PJRT_Executable_ParameterShardings =
        entry_Shardings_PJRT_Executable_ParameterShardings,
    .PJRT_Shardings_PJRT_Executable_OutputShardings =
        entry_Shardings_PJRT_Executable_OutputShardings,
};

static const PJRT_Xla_Transform_Extension transforms = {
    .base = {.struct_size = sizeof(PJRT_Xla_Transform_Extension),
             .type = PJRT_Extension_Type_XlaTransform,
             .next = (PJRT_Extension_Base*)&shardings.base},
    .register_xla_transform = entry_Register_Xla_Transform,
    .clear_xla_transform = entry_Clear_Xla_Transform,
    .get_hlo_pass_pipeline_trace = entry_Xla_Transform_Get_Hlo_Pass_Pipeline_Trace,
    .destroy_hlo_pass_pipeline_trace = hlo_pjrt_destroy_pass_trace,
};

static const PJRT_Custom_Partitioner_Extension custom_partitioners = {
    .base = {.struct_size = sizeof(PJRT_Custom_Partitioner_Extension),
             .type = PJRT_Extension_Type_Custom_Partitioner,
             .next = (PJRT_Extension_Base*)&transforms.base},
    .register_custom_partitioner = entry_Register_Custom_Partitioner,
    .register_batch_partitionable = entry_Register_Batch_Partitionable,
};

static const PJRT_FFI_Extension ffi = {
    .base = {.struct_size = sizeof(PJRT_FFI_Extension),
             .type = PJRT_Extension_Type_FFI,
             .next = (PJRT_Extension_Base*)&custom_partitioners.base},
    .type_register = entry_FFI_Type_Register,
    .user_data_add = entry_FFI_UserData_Add,
    .register_handler = entry_FFI_Register_Handler,
};

static const PJRT_PhaseCompile_Extension phase_compile = {
    .base = {.struct_size = sizeof(PJRT_PhaseCompile_Extension),
             .type = PJRT_Extension_Type_PhaseCompile,
             .next = (PJRT_Extension_Base*)&ffi.base},
    .phase_compile_get_compiler = entry_PhaseCompile_Get_Compiler,
    .phase_compile_destroy_compiler = hlo_pjrt_PhaseCompile_Destroy_Compiler,
    .phase_compile_run_phases = entry_PhaseCompile_Run_Phase,
    .phase_compile_get_phase_names = entry_PhaseCompile_Get_PhaseNames,
    .phase_compile_c_buffers_destroy = hlo_pjrt_PhaseCompile_C_Buffers_Destroy,
};

static const PJRT_RawBuffer_Extension raw_buffers = {
    .base = {.struct_size = sizeof(PJRT_RawBuffer_Extension),
             .type = PJRT_Extension_Type_RawBuffer,
             .next = (PJRT_Extension_Base*)&phase_compile.base},
    .PJRT_RawBuffer_CreateRawAliasOfBuffer = entry_RawBuffer_CreateRawAliasOfBuffer,
    .PJRT_RawBuffer_Destroy = entry_RawBuffer_Destroy,
    .PJRT_RawBuffer_GetOnDeviceSizeInBytes = entry_RawBuffer_GetOnDeviceSizeInBytes,
    .PJRT_RawBuffer_GetMemorySpace = entry_RawBuffer_GetMemorySpace,
    .PJRT_RawBuffer_CopyRawHostToDevice = entry_RawBuffer_CopyRawHostToDevice,
    .PJRT_RawBuffer_CopyRawDeviceToHost = entry_RawBuffer_CopyRawDeviceToHost,
    .PJRT_RawBuffer_GetHostPointer = entry_RawBuffer_GetHostPointer,
};

static const PJRT_Layouts_Extension layouts = {
    .base = {.struct_size = sizeof(PJRT_Layouts_Extension),
             .type = PJRT_Extension_Type_Layouts,
             .next = (PJRT_Extension_Base*)&raw_buffers.base},
    .PJRT_Layouts_MemoryLayout_Destroy = entry_Layouts_MemoryLayout_Destroy,
    .PJRT_Layouts_MemoryLayout_Serialize = entry_Layouts_MemoryLayout_Serialize,
    .PJRT_Layouts_PJRT_Client_GetDefaultLayout = entry_Layouts_PJRT_Client_GetDefaultLayout,
    .PJRT_Layouts_PJRT_Buffer_MemoryLayout = entry_Layouts_PJRT_Buffer_MemoryLayout,
    .PJRT_Layouts_PJRT_Topology_GetDefaultLayout = entry_Layouts_PJRT_Topology_GetDefaultLayout,
    .PJRT_Layouts_PJRT_Executable_GetOutputLayouts = entry_Layouts_PJRT_Executable_GetOutputLayouts,
    .PJRT_Layouts_PJRT_Executable_GetParameterLayouts =
        entry_Layouts_PJRT_Executable_GetParameterLayouts,
};

static const PJRT_Profiler_Extension profiler = {
    .base = {.struct_size = sizeof(PJRT_Profiler_Extension),
             .type = PJRT_Extension_Type_Profiler,
             .next = (PJRT_Extension_Base*)&layouts.base},
    .profiler_api = (PLUGIN_Profiler_Api*)&hlo_pjrt_profiler_api,
};

static const PJRT_Api api = {
    .struct_size = PJRT_Api_STRUCT_SIZE,
    .extension_start = (PJRT_Extension_Base*)&profiler.base,
    .pjrt_api_version = {.struct_size = PJRT_Api_Version_STRUCT_SIZE,
                         .major_version = PJRT_API_MAJOR,
                         .minor_version = PJRT_API_MINOR},
#define CALL(name, last) .PJRT_##name = entry_##name,
#define METHOD(name, last) .PJRT_##name = entry_##name,
#define GET(name, ...) .PJRT_##name = entry_##name,
#define GET2(name, ...) .PJRT_##name = entry_##name,
#define GET3(name, ...) .PJRT_##name = entry_##name,
#define LEND(name, ...) .PJRT_##name = entry_##name,
#define SERVE(name, ...) .PJRT_##name = entry_##name,
#define REFUSE(name, last, why) .PJRT_##name = entry_##name,
#define SLOT(name) .PJRT_##name = hlo_pjrt_##name,
#include "pjrt/api.def"
};

__attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi(void) {
  return &api;
}
