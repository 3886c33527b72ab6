// SPDX-License-Identifier: Apache-2.0
//
// Compile options as frameworks send them: a serialized CompileOptionsProto. Every field of the
// message is either honoured, refused by name where ignoring it would change results, or known to
// be a hint without meaning here.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/mem.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "compiler/compiler.h"

/// Layout asked for one argument or result.
typedef struct hlo_array_layout {
  hlo_dtype_t dtype;
  const int64_t* dimensions;
  const int64_t* minor_to_major;  // NULL: no layout is requested
  size_t rank;
} hlo_array_layout_t;

/// An option of the library for one program: hlocc_<name> in env_option_overrides.
typedef struct hlo_option_override {
  hlo_config_index_t index;
  int64_t number;    // of an INT, BOOL or CHOICE
  const char* text;  // of a STRING
} hlo_option_override_t;

/// owner  : the arena that it was parsed into
/// threads: immutable
typedef struct hlo_compile_options {
  int32_t replica_count;    // at least 1
  int32_t partition_count;  // at least 1
  int32_t device_ordinal;   // -1: any
  bool portable;            // compiled for one device, to run on any
  bool use_spmd_partitioning;
  bool use_shardy_partitioner;
  bool alias_passthrough_params;
  int32_t optimization_level;    // 0 to 3
  uint64_t device_memory_bytes;  // limit for a program; 0: no limit

  /// Device of (replica, partition) at [replica * partition_count + partition]; NULL: the default.
  const int32_t* device_assignment;

  /// One per argument and result, or none: requested instead of the program's layouts.
  const hlo_array_layout_t* argument_layouts;
  size_t argument_layout_count;
  const hlo_array_layout_t* result_layouts;
  size_t result_layout_count;

  /// May the partitioner choose shardings of parameters and results that the program leaves open?
  /// One flag for all, or one for each.
  const bool* propagate_to_parameters;
  size_t propagate_to_parameter_count;
  const bool* propagate_to_results;
  size_t propagate_to_result_count;

  hlo_option_override_t* overrides;
  size_t override_count;

  hlo_hlo_dump_t hlo_dump;  // xla_dump_to and its forms in env_option_overrides

  uint32_t unknown_debug_option_count;  // from a newer XLA; ignored

  const uint8_t* serialized;  // the message as received
  size_t serialized_bytes;
} hlo_compile_options_t;

/// Parses a serialized CompileOptionsProto; an empty one gives the default.
/// errors : INVALID_ARGUMENT for malformed bytes, impossible counts, unknown option names or values
///          in env_option_overrides; UNIMPLEMENTED naming a field that asks for what hlocc lacks;
///          RESOURCE_EXHAUSTED
/// owner  : `arena` owns all that *out refers to; the input may go away
hlo_status_t hlo_compile_options_parse(const void* data, size_t size_bytes, hlo_arena_t* arena,
                                       hlo_compile_options_t* out) HLO_MUST_USE;

/// Makes `config` compile as the options say; they are lent to it.
void hlo_compile_options_apply(const hlo_compile_options_t* options, hlo_compile_config_t* config);

/// Takes the layouts of `from` where the options have none, also in their serialized form.
/// owner  : `arena` owns all that *options refers to afterwards
hlo_status_t hlo_compile_options_take_layouts(const hlo_compile_options_t* from, hlo_arena_t* arena,
                                              hlo_compile_options_t* options) HLO_MUST_USE;

/// Writes a DeviceAssignmentProto: ids as in hlo_compile_options_t.device_assignment.
void hlo_device_assignment_write(const int32_t* ids, int32_t replica_count, int32_t partition_count,
                                 hlo_strbuf_t* out);
