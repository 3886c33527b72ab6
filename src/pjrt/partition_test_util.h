// SPDX-License-Identifier: Apache-2.0
// Helpers of tests of programs for several partitions.
#pragma once

#include "base/wire.h"
#include "pjrt/test_util.h"

/// Returns a CompileOptionsProto for one replica of `partitions` partitions, on the given devices
/// or (NULL) the first ones. owner: caller
static inline hlo_strbuf_t hlo_test_partition_options_on(int partitions, const int* devices) {
  hlo_strbuf_t out = {0};
  const size_t options = hlo_wire_begin(&out, 3);
  hlo_wire_put_int(&out, 4, 1);
  hlo_wire_put_int(&out, 5, partitions);
  hlo_wire_put_int(&out, 6, 1);
  const size_t assignment = hlo_wire_begin(&out, 9);
  hlo_wire_put_int(&out, 1, 1);
  hlo_wire_put_int(&out, 2, partitions);
  for (int i = 0; i < partitions; ++i) {
    const size_t computation = hlo_wire_begin(&out, 3);
    const size_t ids = hlo_wire_begin(&out, 1);
    hlo_wire_put_varint(&out, (uint64_t)(devices != NULL ? devices[i] : i));
    hlo_wire_end(&out, ids);
    hlo_wire_end(&out, computation);
  }
  hlo_wire_end(&out, assignment);
  hlo_wire_end(&out, options);
  return out;
}

static inline hlo_strbuf_t hlo_test_partition_options(int partitions) {
  return hlo_test_partition_options_on(partitions, NULL);
}

/// Uploads a vector of f32 to a device.
static inline PJRT_Buffer* hlo_test_upload_to(PJRT_Client* client, int device, const float* data,
                                              int64_t count) {
  PJRT_Client_BufferFromHostBuffer_Args args = ARGS(
      Client_BufferFromHostBuffer, .client = client, .data = data, .type = PJRT_Buffer_Type_F32,
      .dims = &count, .num_dims = 1, .device = hlo_test_device_of(client, (size_t)device),
      .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  OK(Client_BufferFromHostBuffer, &args);
  hlo_test_await(args.done_with_host_buffer);
  return args.buffer;
}
