// SPDX-License-Identifier: Apache-2.0
// What an object file made ahead of time (codegen/object.h) asks of the static library
// libhlocc_rt.a: the description of its program, and the function that runs it.
#ifndef HLO_RT_RT_H_
#define HLO_RT_RT_H_

#include "base/kernel_abi.h"

enum { HLO_RT_ABI_VERSION = 1, HLO_RT_ELEMENT_BYTES = 16 };

/// Where a copy reads or writes.
typedef enum hlo_rt_place_kind {
  HLO_RT_BUFFER,     // argument or result `index`, results behind the arguments
  HLO_RT_CONSTANT,   // constant `index`
  HLO_RT_TEMPORARY,  // at offset_bytes of the temporaries
} hlo_rt_place_kind_t;

typedef struct hlo_rt_place {
  uint32_t kind, index;
  uint64_t offset_bytes;
} hlo_rt_place_t;

/// A copy that is too large to be done in line; element_bytes not 0: `to` is filled with `element`.
typedef struct hlo_rt_copy {
  hlo_rt_place_t to, from;
  uint64_t size_bytes;
  uint64_t element_bytes;
  uint8_t element[HLO_RT_ELEMENT_BYTES];
} hlo_rt_copy_t;

/// One program, constant. frame->program points at it, so the constants are first, where the code
/// looks for them (codegen/sites.h).
typedef struct hlo_rt_program {
  const void* const* constants;
  hlo_kernel_entry_t entry;
  const hlo_rt_copy_t* copies;
  uint64_t features;  // of hlo_cpu_t, that the code may use
  uint64_t temporary_bytes, saved_bytes;
  uint32_t abi_version;  // HLO_RT_ABI_VERSION
  uint32_t argument_count, result_count;
  uint32_t copy_count, first_copy;  // the site number of the first one
  uint32_t reserved;
} hlo_rt_program_t;

typedef enum hlo_rt_answer {
  HLO_RT_DONE = 0,
  HLO_RT_OUT_OF_MEMORY = -1,
  HLO_RT_OTHER_PROCESSOR = -2,  // it lacks what the code needs
  HLO_RT_OTHER_VERSION = -3,    // of this library
  HLO_RT_FAILED = 2,            // a check of the program
} hlo_rt_answer_t;

/// Runs a program: dense arguments and results, results in memory of their own. The first loop that
/// is worth threads starts as many as HLOCC_NUM_THREADS says, else one for each core.
/// Returns an hlo_rt_answer_t. threads: safe
int hlo_rt_run(const void* const* arguments, void* const* results, const hlo_rt_program_t* program);

#endif  // HLO_RT_RT_H_
