// SPDX-License-Identifier: Apache-2.0
// The interface between object files made ahead of time (codegen/aot/object.h) and libhlocc_rt.a:
// the description of a program, and the function that runs it.
#pragma once

#include "base/program_abi.h"

enum { HLO_RT_ABI_VERSION = 4, HLO_RT_ELEMENT_BYTES = 16 };

/// The source or target of a copy or call; tokens have none.
typedef enum hlo_rt_allocation_kind {
  HLO_RT_BUFFER,     // at offset_bytes of argument or result `index`; results follow the arguments
  HLO_RT_CONSTANT,   // constant `index`
  HLO_RT_TEMPORARY,  // at offset_bytes of the temporaries
  HLO_RT_NOWHERE,
} hlo_rt_allocation_kind_t;

typedef struct hlo_rt_allocation {
  uint32_t kind, index;
  uint64_t offset_bytes;
} hlo_rt_allocation_t;

/// A copy too large to be inlined; element_bytes not 0: `to` is filled with `element`.
typedef struct hlo_rt_copy {
  hlo_rt_allocation_t to, from;
  uint64_t size_bytes;
  uint64_t element_bytes;
  uint8_t element[HLO_RT_ELEMENT_BYTES];
} hlo_rt_copy_t;

/// An operation that the library computes.
typedef struct hlo_rt_call {
  const hlo_rt_allocation_t* allocations;  // operands, results
  uint32_t call_site, allocation_count;    // call_site: its number
} hlo_rt_call_t;

/// The calls of a program besides copies. `run` is hlo_rt_call(): only programs with calls refer to
/// it, so only they are linked with its dependencies.
typedef struct hlo_rt_calls {
  int32_t (*run)(hlo_frame_t* frame, uint32_t call_site, void* const* buffers);
  const hlo_rt_call_t* calls;
  const char* text;  // a module with one function whose nodes are the calls, in order
  uint64_t text_bytes;
  void** state;                     // owned by the library, NULL at first
  uint32_t count, call_site_limit;  // call site numbers are below call_site_limit
} hlo_rt_calls_t;

/// One program, constant. frame->program points at it; the constants are first, where generated
/// code expects them (codegen/lower/call_sites.h).
typedef struct hlo_rt_program {
  const void* const* constants;
  hlo_program_entry_t entry;
  const hlo_rt_copy_t* copies;
  const hlo_rt_calls_t* calls;  // NULL: none
  uint64_t features;            // of hlo_cpu_t, used by the code
  uint64_t temporary_bytes, saved_bytes;
  uint32_t abi_version;  // HLO_RT_ABI_VERSION
  uint32_t argument_count, result_count;
  uint32_t copy_count, first_copy;  // the call site number of the first copy
  uint32_t subnormals;              // hlo_subnormals_t
  uint32_t level;                   // hlo_cpu_level_t, the highest that calls use
  uint32_t reserved;
} hlo_rt_program_t;

typedef enum hlo_rt_answer {
  HLO_RT_DONE = 0,
  HLO_RT_OUT_OF_MEMORY = -1,
  HLO_RT_OTHER_PROCESSOR = -2,  // it lacks instructions of the code
  HLO_RT_OTHER_VERSION = -3,    // of this library
  HLO_RT_FAILED = 2,            // a check of the program
} hlo_rt_answer_t;

/// Runs a program: dense arguments and results, results in memory of their own. The first loop that
/// is worth threads starts HLOCC_NUM_THREADS of them, by default one per core. Returns an
/// hlo_rt_answer_t. threads: safe
int hlo_rt_run(const void* const* arguments, void* const* results, const hlo_rt_program_t* program);

/// Runs a call of frame->program; buffers NULL: its planned allocations. DONE or ERROR. threads:
/// safe
int32_t hlo_rt_call(hlo_frame_t* frame, uint32_t call_site, void* const* buffers);

static inline void* hlo_rt_address(const hlo_frame_t* frame,
                                   const hlo_rt_allocation_t* allocation) {
  const hlo_rt_program_t* program = (const hlo_rt_program_t*)frame->program;
  switch ((hlo_rt_allocation_kind_t)allocation->kind) {
    case HLO_RT_BUFFER:
      return (uint8_t*)frame->buffers[allocation->index] + allocation->offset_bytes;
    case HLO_RT_CONSTANT: return (void*)(uintptr_t)program->constants[allocation->index];
    case HLO_RT_TEMPORARY: return frame->temporaries + allocation->offset_bytes;
    case HLO_RT_NOWHERE: break;
  }
  return NULL;
}
