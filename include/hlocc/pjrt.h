// SPDX-License-Identifier: Apache-2.0
// The PJRT C API, version 0.114: the interface that frameworks such as JAX use through
// GetPjrtApi(), declared independently. Names, layouts and numbers are those of the public
// interface; src/pjrt/abi_test.c checks all of them.
//
// General rules:
// - The caller sets `struct_size` to the size of the argument block in its version of the
// interface;
//   an implementation neither reads nor writes beyond that size.
// - A call returns null on success, or an error object that the caller destroys.
// - Fields marked "out" are written by the implementation, and only on success.

#ifndef HLOCC_PJRT_H_
#define HLOCC_PJRT_H_

#include "hlocc/pjrt_core.h"
#include "hlocc/pjrt_program.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- The table of functions ----------------------------------------------------------------------

/// The table of functions, none of which is null. New slots are only appended.
typedef struct PJRT_Api {
  PJRT_HEAD;
  PJRT_Api_Version pjrt_api_version;
  PJRT_Error_Destroy* PJRT_Error_Destroy;
  PJRT_Error_Message* PJRT_Error_Message;
  PJRT_Error_GetCode* PJRT_Error_GetCode;
  PJRT_Plugin_Initialize* PJRT_Plugin_Initialize;
  PJRT_Plugin_Attributes* PJRT_Plugin_Attributes;
  PJRT_Event_Destroy* PJRT_Event_Destroy;
  PJRT_Event_IsReady* PJRT_Event_IsReady;
  PJRT_Event_Error* PJRT_Event_Error;
  PJRT_Event_Await* PJRT_Event_Await;
  PJRT_Event_OnReady* PJRT_Event_OnReady;
  PJRT_Client_Create* PJRT_Client_Create;
  PJRT_Client_Destroy* PJRT_Client_Destroy;
  PJRT_Client_PlatformName* PJRT_Client_PlatformName;
  PJRT_Client_ProcessIndex* PJRT_Client_ProcessIndex;
  PJRT_Client_PlatformVersion* PJRT_Client_PlatformVersion;
  PJRT_Client_Devices* PJRT_Client_Devices;
  PJRT_Client_AddressableDevices* PJRT_Client_AddressableDevices;
  PJRT_Client_LookupDevice* PJRT_Client_LookupDevice;
  PJRT_Client_LookupAddressableDevice* PJRT_Client_LookupAddressableDevice;
  PJRT_Client_AddressableMemories* PJRT_Client_AddressableMemories;
  PJRT_Client_Compile* PJRT_Client_Compile;
  PJRT_Client_DefaultDeviceAssignment* PJRT_Client_DefaultDeviceAssignment;
  PJRT_Client_BufferFromHostBuffer* PJRT_Client_BufferFromHostBuffer;
  PJRT_DeviceDescription_Id* PJRT_DeviceDescription_Id;
  PJRT_DeviceDescription_ProcessIndex* PJRT_DeviceDescription_ProcessIndex;
  PJRT_DeviceDescription_Attributes* PJRT_DeviceDescription_Attributes;
  PJRT_DeviceDescription_Kind* PJRT_DeviceDescription_Kind;
  PJRT_DeviceDescription_DebugString* PJRT_DeviceDescription_DebugString;
  PJRT_DeviceDescription_ToString* PJRT_DeviceDescription_ToString;
  PJRT_Device_GetDescription* PJRT_Device_GetDescription;
  PJRT_Device_IsAddressable* PJRT_Device_IsAddressable;
  PJRT_Device_LocalHardwareId* PJRT_Device_LocalHardwareId;
  PJRT_Device_AddressableMemories* PJRT_Device_AddressableMemories;
  PJRT_Device_DefaultMemory* PJRT_Device_DefaultMemory;
  PJRT_Device_MemoryStats* PJRT_Device_MemoryStats;
  PJRT_Memory_Id* PJRT_Memory_Id;
  PJRT_Memory_Kind* PJRT_Memory_Kind;
  PJRT_Memory_DebugString* PJRT_Memory_DebugString;
  PJRT_Memory_ToString* PJRT_Memory_ToString;
  PJRT_Memory_AddressableByDevices* PJRT_Memory_AddressableByDevices;
  PJRT_Executable_Destroy* PJRT_Executable_Destroy;
  PJRT_Executable_Name* PJRT_Executable_Name;
  PJRT_Executable_NumReplicas* PJRT_Executable_NumReplicas;
  PJRT_Executable_NumPartitions* PJRT_Executable_NumPartitions;
  PJRT_Executable_NumOutputs* PJRT_Executable_NumOutputs;
  PJRT_Executable_SizeOfGeneratedCodeInBytes* PJRT_Executable_SizeOfGeneratedCodeInBytes;
  PJRT_Executable_GetCostAnalysis* PJRT_Executable_GetCostAnalysis;
  PJRT_Executable_OutputMemoryKinds* PJRT_Executable_OutputMemoryKinds;
  PJRT_Executable_OptimizedProgram* PJRT_Executable_OptimizedProgram;
  PJRT_Executable_Serialize* PJRT_Executable_Serialize;
  PJRT_LoadedExecutable_Destroy* PJRT_LoadedExecutable_Destroy;
  PJRT_LoadedExecutable_GetExecutable* PJRT_LoadedExecutable_GetExecutable;
  PJRT_LoadedExecutable_AddressableDevices* PJRT_LoadedExecutable_AddressableDevices;
  PJRT_LoadedExecutable_Delete* PJRT_LoadedExecutable_Delete;
  PJRT_LoadedExecutable_IsDeleted* PJRT_LoadedExecutable_IsDeleted;
  PJRT_LoadedExecutable_Execute* PJRT_LoadedExecutable_Execute;
  PJRT_Executable_DeserializeAndLoad* PJRT_Executable_DeserializeAndLoad;
  PJRT_LoadedExecutable_Fingerprint* PJRT_LoadedExecutable_Fingerprint;
  PJRT_Buffer_Destroy* PJRT_Buffer_Destroy;
  PJRT_Buffer_ElementType* PJRT_Buffer_ElementType;
  PJRT_Buffer_Dimensions* PJRT_Buffer_Dimensions;
  PJRT_Buffer_UnpaddedDimensions* PJRT_Buffer_UnpaddedDimensions;
  PJRT_Buffer_DynamicDimensionIndices* PJRT_Buffer_DynamicDimensionIndices;
  PJRT_Buffer_GetMemoryLayout* PJRT_Buffer_GetMemoryLayout;
  PJRT_Buffer_OnDeviceSizeInBytes* PJRT_Buffer_OnDeviceSizeInBytes;
  PJRT_Buffer_Device* PJRT_Buffer_Device;
  PJRT_Buffer_Memory* PJRT_Buffer_Memory;
  PJRT_Buffer_Delete* PJRT_Buffer_Delete;
  PJRT_Buffer_IsDeleted* PJRT_Buffer_IsDeleted;
  PJRT_Buffer_CopyToDevice* PJRT_Buffer_CopyToDevice;
  PJRT_Buffer_ToHostBuffer* PJRT_Buffer_ToHostBuffer;
  PJRT_Buffer_IsOnCpu* PJRT_Buffer_IsOnCpu;
  PJRT_Buffer_ReadyEvent* PJRT_Buffer_ReadyEvent;
  PJRT_Buffer_UnsafePointer* PJRT_Buffer_UnsafePointer;
  PJRT_Buffer_IncreaseExternalReferenceCount* PJRT_Buffer_IncreaseExternalReferenceCount;
  PJRT_Buffer_DecreaseExternalReferenceCount* PJRT_Buffer_DecreaseExternalReferenceCount;
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer* PJRT_Buffer_OpaqueDeviceMemoryDataPointer;
  PJRT_CopyToDeviceStream_Destroy* PJRT_CopyToDeviceStream_Destroy;
  PJRT_CopyToDeviceStream_AddChunk* PJRT_CopyToDeviceStream_AddChunk;
  PJRT_CopyToDeviceStream_TotalBytes* PJRT_CopyToDeviceStream_TotalBytes;
  PJRT_CopyToDeviceStream_GranuleSize* PJRT_CopyToDeviceStream_GranuleSize;
  PJRT_CopyToDeviceStream_CurrentBytes* PJRT_CopyToDeviceStream_CurrentBytes;
  PJRT_TopologyDescription_Create* PJRT_TopologyDescription_Create;
  PJRT_TopologyDescription_Destroy* PJRT_TopologyDescription_Destroy;
  PJRT_TopologyDescription_PlatformName* PJRT_TopologyDescription_PlatformName;
  PJRT_TopologyDescription_PlatformVersion* PJRT_TopologyDescription_PlatformVersion;
  PJRT_TopologyDescription_GetDeviceDescriptions* PJRT_TopologyDescription_GetDeviceDescriptions;
  PJRT_TopologyDescription_Serialize* PJRT_TopologyDescription_Serialize;
  PJRT_TopologyDescription_Attributes* PJRT_TopologyDescription_Attributes;
  PJRT_Compile* PJRT_Compile;
  PJRT_Executable_OutputElementTypes* PJRT_Executable_OutputElementTypes;
  PJRT_Executable_OutputDimensions* PJRT_Executable_OutputDimensions;
  PJRT_Buffer_CopyToMemory* PJRT_Buffer_CopyToMemory;
  PJRT_Client_CreateViewOfDeviceBuffer* PJRT_Client_CreateViewOfDeviceBuffer;
  PJRT_Executable_Fingerprint* PJRT_Executable_Fingerprint;
  PJRT_Client_TopologyDescription* PJRT_Client_TopologyDescription;
  PJRT_Executable_GetCompiledMemoryStats* PJRT_Executable_GetCompiledMemoryStats;
  PJRT_Memory_Kind_Id* PJRT_Memory_Kind_Id;
  PJRT_ExecuteContext_Create* PJRT_ExecuteContext_Create;
  PJRT_ExecuteContext_Destroy* PJRT_ExecuteContext_Destroy;
  PJRT_Buffer_CopyRawToHost* PJRT_Buffer_CopyRawToHost;
  PJRT_AsyncHostToDeviceTransferManager_Destroy* PJRT_AsyncHostToDeviceTransferManager_Destroy;
  PJRT_AsyncHostToDeviceTransferManager_TransferData*
      PJRT_AsyncHostToDeviceTransferManager_TransferData;
  PJRT_Client_CreateBuffersForAsyncHostToDevice* PJRT_Client_CreateBuffersForAsyncHostToDevice;
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer*
      PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer;
  PJRT_AsyncHostToDeviceTransferManager_Device* PJRT_AsyncHostToDeviceTransferManager_Device;
  PJRT_AsyncHostToDeviceTransferManager_BufferCount*
      PJRT_AsyncHostToDeviceTransferManager_BufferCount;
  PJRT_AsyncHostToDeviceTransferManager_BufferSize*
      PJRT_AsyncHostToDeviceTransferManager_BufferSize;
  PJRT_AsyncHostToDeviceTransferManager_SetBufferError*
      PJRT_AsyncHostToDeviceTransferManager_SetBufferError;
  PJRT_AsyncHostToDeviceTransferManager_AddMetadata*
      PJRT_AsyncHostToDeviceTransferManager_AddMetadata;
  PJRT_Client_DmaMap* PJRT_Client_DmaMap;
  PJRT_Client_DmaUnmap* PJRT_Client_DmaUnmap;
  PJRT_Client_CreateUninitializedBuffer* PJRT_Client_CreateUninitializedBuffer;
  PJRT_Client_UpdateGlobalProcessInfo* PJRT_Client_UpdateGlobalProcessInfo;
  PJRT_TopologyDescription_Deserialize* PJRT_TopologyDescription_Deserialize;
  PJRT_Client_CreateAliasBuffer* PJRT_Client_CreateAliasBuffer;
  PJRT_Client_FulfillAliasBuffer* PJRT_Client_FulfillAliasBuffer;
  PJRT_LoadedExecutable_GetDeviceAssignment* PJRT_LoadedExecutable_GetDeviceAssignment;
  PJRT_Client_CreateErrorBuffer* PJRT_Client_CreateErrorBuffer;
  PJRT_AsyncHostToDeviceTransferManager_TransferLiteral*
      PJRT_AsyncHostToDeviceTransferManager_TransferLiteral;
  PJRT_Buffer_CopyRawToHostFuture* PJRT_Buffer_CopyRawToHostFuture;
  PJRT_Device_PoisonExecution* PJRT_Device_PoisonExecution;
  PJRT_Device_CreateAsyncTrackingEvent* PJRT_Device_CreateAsyncTrackingEvent;
  PJRT_AsyncTrackingEvent_Destroy* PJRT_AsyncTrackingEvent_Destroy;
  PJRT_Executable_GetCompileOptions* PJRT_Executable_GetCompileOptions;
  PJRT_Buffer_DonateWithControlDependency* PJRT_Buffer_DonateWithControlDependency;
  PJRT_Event_Create* PJRT_Event_Create;
  PJRT_Event_Set* PJRT_Event_Set;
  PJRT_Device_GetAttributes* PJRT_Device_GetAttributes;
  PJRT_Client_Load* PJRT_Client_Load;
  PJRT_LoadedExecutable_AddressableDeviceLogicalIds*
      PJRT_LoadedExecutable_AddressableDeviceLogicalIds;
  PJRT_Buffer_Bitcast* PJRT_Buffer_Bitcast;
  PJRT_Error_ForEachPayload* PJRT_Error_ForEachPayload;
  PJRT_TopologyDescription_Fingerprint* PJRT_TopologyDescription_Fingerprint;
  PJRT_Executable_ParameterMemoryKinds* PJRT_Executable_ParameterMemoryKinds;
  PJRT_Device_ClearMemoryStats* PJRT_Device_ClearMemoryStats;
  PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace*
      PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace;
  PJRT_TopologyDescription_GetMemorySpaceKindIds* PJRT_TopologyDescription_GetMemorySpaceKindIds;
} PJRT_Api;
enum {
  PJRT_Api_STRUCT_SIZE = PJRT_STRUCT_SIZE(PJRT_Api, PJRT_TopologyDescription_GetMemorySpaceKindIds)
};

/// The one exported function. The table lives as long as the library is loaded.
/// threads: safe
const PJRT_Api* GetPjrtApi(void);

#ifdef __cplusplus
}
#endif

#endif  // HLOCC_PJRT_H_
