// SPDX-License-Identifier: Apache-2.0
// Calls of foreign functions (see foreign.h).
#include "runtime/foreign.h"

#include <stdalign.h>
#include <string.h>

#include "base/env.h"
#include "base/mem.h"
#include "compiler/execute.h"
#include "ffi/call.h"
#include "ffi/future.h"
#include "ir/custom_call.h"
#include "runtime/foreign_attributes.h"

// A value of a call. The FFI packs elements of less than a byte, which occupy a byte in buffers.
typedef struct value {
  size_t element_count;
  size_t size_bytes;     // in buffers
  size_t packed_at;      // offset of its packed form in the call's part of a run
  uint32_t packed_bits;  // 0: not packed
  bool is_signed;
} value_t;

typedef struct foreign_call {
  const hlo_node_t* node;
  hlo_ffi_call_t* call;
  value_t* values;   // operands, results
  int64_t* aliased;  // by result: the operand in whose memory it is expected; -1: none
  bool has_packed;
  size_t offset;                   // of call_run_t in the memory of a run
  size_t launch_at, addresses_at;  // relative to it
} foreign_call_t;

struct hlo_foreign_calls {
  hlo_arena_t arena;  // has the object itself
  size_t run_bytes;
  uint32_t count;
  foreign_call_t calls[];
};

enum { FUTURE_NONE, FUTURE_PENDING, FUTURE_AWAITED, FUTURE_READY };

// One call in one run; the FFI's launch, addresses and packed values follow.
typedef struct call_run {
  hlo_run_t* run;
  atomic_uint future;  // FUTURE_*; the last to change it resumes the run
  bool is_prepared;
  hlo_status_t status;  // with FUTURE_READY
} call_run_t;

struct hlo_foreign_run {
  const hlo_foreign_calls_t* calls;
  hlo_ffi_context_t context;
  hlo_ffi_user_data_t user_data;
  _Atomic(const foreign_call_t*) running;  // relaxed: only explanations read it
  atomic_uint call_count;                  // so far; likewise
  alignas(64) uint8_t memory[];            // of all calls
};

// ---- call sites

static hlo_status_t describe_value(const hlo_node_t* node, const hlo_type_t* type,
                                   hlo_ffi_buffer_t* out_buffer, value_t* out_value) {
  if (type->kind == HLO_TYPE_TOKEN) {
    *out_buffer = (hlo_ffi_buffer_t){.dtype = HLO_DTYPE_TOKEN};
    return hlo_ok();
  }
  if (type->kind != HLO_TYPE_TENSOR || !hlo_type_is_static(type)) {
    return hlo_node_unimplemented(node, "a foreign function needs arrays of static shape");
  }
  *out_buffer = (hlo_ffi_buffer_t){type->dtype, type->rank, type->dims};
  const uint32_t bits = hlo_dtype_info(type->dtype)->bits;
  out_value->element_count = (size_t)hlo_type_element_count(type);
  out_value->size_bytes = hlo_type_size_bytes(type);
  if (bits < 8 && type->dtype != HLO_DTYPE_PRED) {
    out_value->packed_bits = bits;
    out_value->is_signed = hlo_dtype_is_signed(type->dtype);
  }
  return hlo_ok();
}

static size_t align_up(size_t bytes) {
  return (bytes + 63) & ~(size_t)63;
}

// Lays out the memory of the call in a run.
static void lay_out(hlo_foreign_calls_t* calls, foreign_call_t* call, uint32_t value_count) {
  call->offset = calls->run_bytes;
  call->launch_at = align_up(sizeof(call_run_t));
  call->addresses_at = call->launch_at + align_up(hlo_ffi_call_launch_bytes(call->call));
  size_t end = call->addresses_at + align_up(2 * value_count * sizeof(void*));
  for (uint32_t i = 0; i < value_count; ++i) {
    value_t* value = &call->values[i];
    if (!value->packed_bits) continue;
    call->has_packed = true;
    const int64_t operand =
        i < call->node->operand_count ? -1 : call->aliased[i - call->node->operand_count];
    if (operand >= 0) {
      value->packed_at = call->values[operand].packed_at;
      continue;
    }
    value->packed_at = end;
    // Handlers may assume a byte for each element.
    end += align_up(value->element_count);
  }
  calls->run_bytes += end;
}

static hlo_ffi_interface_t interface_of(const hlo_node_t* node) {
  const hlo_attr_t* config = hlo_node_attr(node, HLO_ATTR_backend_config);
  const bool is_typed =
      hlo_custom_call_config(node) != NULL && (!config || config->kind == HLO_ATTR_KIND_DICT);
  return (hlo_ffi_interface_t)hlo_node_attr_int(
      node, HLO_ATTR_api_version, is_typed ? HLO_FFI_INTERFACE_TYPED : HLO_FFI_INTERFACE_ORIGINAL);
}

static XLA_FFI_ByteSpan opaque_of(const hlo_node_t* node) {
  const hlo_attr_t* config = hlo_node_attr(node, HLO_ATTR_backend_config);
  if (!config || config->kind != HLO_ATTR_KIND_STRING) return hlo_ffi_span("");
  return (XLA_FFI_ByteSpan){config->text, config->text_length};
}

static hlo_status_t create_call(hlo_foreign_calls_t* calls, const hlo_node_t* node,
                                hlo_ffi_registry_t* registry, foreign_call_t* call) {
  hlo_arena_t* arena = &calls->arena;
  const uint32_t operands = node->operand_count, results = node->result_count;
  call->node = node;
  call->values = hlo_arena_array(arena, operands + results, sizeof *call->values);
  call->aliased = hlo_arena_array(arena, results, sizeof *call->aliased);
  hlo_ffi_buffer_t* buffers = hlo_arena_array(arena, operands + results, sizeof *buffers);
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 0; i < operands; ++i) {
    HLO_TRY(describe_value(node, hlo_node_operand_type(node, i), &buffers[i], &call->values[i]));
  }
  for (uint32_t i = 0; i < results; ++i) {
    HLO_TRY(describe_value(node, node->results[i].type, &buffers[operands + i],
                           &call->values[operands + i]));
    call->aliased[i] = hlo_custom_call_aliased_operand(node, i);
    const int64_t operand = call->aliased[i];
    if (operand >= 0 && call->values[operand].size_bytes != call->values[operands + i].size_bytes) {
      return hlo_node_invalid(node, "result %u cannot be in the memory of operand %lld", i,
                              (long long)operand);
    }
  }
  hlo_ffi_call_desc_t desc = {
      .target = hlo_ffi_span(hlo_custom_call_target(node)),
      .platform = hlo_ffi_span("cpu"),
      .interface = interface_of(node),
      .arguments = buffers,
      .argument_count = operands,
      .results = buffers + operands,
      .result_count = results,
      .opaque = opaque_of(node),
      .returns_tuple = results != 1,
  };
  hlo_ffi_attribute_t* attributes = NULL;
  HLO_TRY(hlo_foreign_attributes_read(node, arena, &attributes, &desc.attribute_count));
  desc.attributes = attributes;
  HLO_TRY(hlo_ffi_call_create(registry, &desc, &call->call));
  lay_out(calls, call, operands + results);
  return hlo_ok();
}

hlo_status_t hlo_foreign_calls_create(const hlo_program_t* program, hlo_ffi_registry_t* registry,
                                      hlo_foreign_calls_t** out_calls) {
  *out_calls = NULL;
  if (program->foreign_count == 0) return hlo_ok();
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  const size_t bytes =
      sizeof(hlo_foreign_calls_t) + program->foreign_count * sizeof(foreign_call_t);
  hlo_foreign_calls_t* calls = hlo_arena_alloc_zeroed(&arena, bytes);
  if (!calls) {
    hlo_arena_deinit(&arena);
    return hlo_status_out_of_memory(bytes);
  }
  calls->arena = arena;
  calls->count = program->foreign_count;
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < calls->count && hlo_status_is_ok(status); ++i) {
    const hlo_node_t* node = program->foreign_nodes[i];
    status = create_call(calls, node, registry, &calls->calls[i]);
    if (!hlo_status_is_ok(status)) status = hlo_node_annotate(node, status);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_foreign_calls_release(calls);
    return status;
  }
  *out_calls = calls;
  return hlo_ok();
}

void hlo_foreign_calls_release(hlo_foreign_calls_t* calls) {
  if (!calls) return;
  for (uint32_t i = 0; i < calls->count; ++i) hlo_ffi_call_release(calls->calls[i].call);
  hlo_arena_t arena = calls->arena;
  hlo_arena_deinit(&arena);
}

// ---- runs

static call_run_t* call_run_of(hlo_foreign_run_t* foreign, const foreign_call_t* call) {
  return (call_run_t*)(foreign->memory + call->offset);
}

static hlo_ffi_launch_t* launch_of(call_run_t* state, const foreign_call_t* call) {
  return (hlo_ffi_launch_t*)((uint8_t*)state + call->launch_at);
}

// Returns the addresses of operands and results, followed by those that are passed to the function.
static void** addresses_of(call_run_t* state, const foreign_call_t* call) {
  return (void**)((uint8_t*)state + call->addresses_at);
}

hlo_status_t hlo_foreign_run_create(const hlo_foreign_calls_t* calls,
                                    const hlo_ffi_user_data_t* user_data, hlo_run_t* run,
                                    hlo_foreign_run_t** out_foreign) {
  const size_t bytes = sizeof(hlo_foreign_run_t) + calls->run_bytes;
  hlo_foreign_run_t* foreign = hlo_mem_alloc_aligned(bytes, 64);
  if (!foreign) return hlo_status_out_of_memory(bytes);
  memset(foreign, 0, bytes);
  foreign->calls = calls;
  for (uint32_t i = 0; i < calls->count; ++i) {
    call_run_t* state = call_run_of(foreign, &calls->calls[i]);
    state->run = run;
    (void)hlo_ffi_launch_init(launch_of(state, &calls->calls[i]), calls->calls[i].call);
  }
  foreign->context = (hlo_ffi_context_t){
      .device_ordinal = run->device->id,
      .pool = hlo_client_pool(run->loaded->client),
      .user_data = &foreign->user_data,
  };
  for (size_t i = 0; user_data && i < user_data->count; ++i) {
    const hlo_ffi_user_object_t* object = &user_data->items[i];
    hlo_status_t status =
        hlo_ffi_user_data_add(&foreign->user_data, object->type_id, object->object, NULL);
    if (hlo_status_is_ok(status)) continue;
    hlo_foreign_run_release(foreign);
    return status;
  }
  *out_foreign = foreign;
  return hlo_ok();
}

void hlo_foreign_run_release(hlo_foreign_run_t* foreign) {
  if (!foreign) return;
  for (uint32_t i = 0; i < foreign->calls->count; ++i) {
    const foreign_call_t* call = &foreign->calls->calls[i];
    hlo_ffi_launch_deinit(launch_of(call_run_of(foreign, call), call));
  }
  hlo_ffi_user_data_deinit(&foreign->user_data);
  hlo_mem_free(foreign);
}

static void print_call(const char* what, const foreign_call_t* call, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%s foreign function %s of ", what, hlo_custom_call_target(call->node));
  hlo_node_print_location(call->node, out);
}

bool hlo_foreign_is_waiting(const hlo_foreign_run_t* foreign, uint64_t* out_mark) {
  *out_mark = atomic_load_explicit(&foreign->call_count, memory_order_relaxed);
  if (atomic_load_explicit(&foreign->running, memory_order_relaxed)) return true;
  for (uint32_t i = 0; i < foreign->calls->count; ++i) {
    call_run_t* state = call_run_of((hlo_foreign_run_t*)foreign, &foreign->calls->calls[i]);
    if (atomic_load(&state->future) == FUTURE_AWAITED) return true;
  }
  return false;
}

void hlo_foreign_explain(const hlo_foreign_run_t* foreign, hlo_strbuf_t* out) {
  const foreign_call_t* running = atomic_load_explicit(&foreign->running, memory_order_relaxed);
  if (running) {
    print_call("is in", running, out);
    return;
  }
  for (uint32_t i = 0; i < foreign->calls->count; ++i) {
    const foreign_call_t* call = &foreign->calls->calls[i];
    call_run_t* state = call_run_of((hlo_foreign_run_t*)foreign, call);
    if (atomic_load(&state->future) != FUTURE_AWAITED) continue;
    print_call("waits for the future of", call, out);
    return;
  }
}

// ---- elements of less than a byte

static void pack(const value_t* value, const uint8_t* from, uint8_t* to) {
  const uint32_t bits = value->packed_bits, mask = (1u << bits) - 1;
  memset(to, 0, (value->element_count * bits + 7) / 8);
  for (size_t i = 0; i < value->element_count; ++i) {
    const size_t at = i * bits;
    to[at / 8] |= (uint8_t)((from[i] & mask) << at % 8);
  }
}

static void unpack(const value_t* value, const uint8_t* from, uint8_t* to) {
  const uint32_t bits = value->packed_bits, mask = (1u << bits) - 1, sign = 1u << (bits - 1);
  for (size_t i = 0; i < value->element_count; ++i) {
    const size_t at = i * bits;
    const uint32_t element = (uint32_t)from[at / 8] >> at % 8 & mask;
    to[i] = (uint8_t)(value->is_signed && element & sign ? element | ~mask : element);
  }
}

// Replaces addresses of packed values by those of their packed forms.
static void pack_values(const foreign_call_t* call, call_run_t* state, void** addresses) {
  for (uint32_t i = 0; call->has_packed && i < call->node->operand_count + call->node->result_count;
       ++i) {
    const value_t* value = &call->values[i];
    if (!value->packed_bits) continue;
    uint8_t* packed = (uint8_t*)state + value->packed_at;
    if (i < call->node->operand_count) pack(value, addresses[i], packed);
    addresses[i] = packed;
  }
}

static void unpack_results(const foreign_call_t* call, call_run_t* state, void* const* addresses) {
  for (uint32_t i = 0; call->has_packed && i < call->node->result_count; ++i) {
    const uint32_t v = call->node->operand_count + i;
    const value_t* value = &call->values[v];
    if (value->packed_bits) unpack(value, (uint8_t*)state + value->packed_at, addresses[v]);
  }
}

// ---- calls

// Copies operands to the results that are expected in their memory, and lets both have it.
static void share_memory(const foreign_call_t* call, void** addresses) {
  const uint32_t operands = call->node->operand_count;
  for (uint32_t i = 0; i < call->node->result_count; ++i) {
    const int64_t operand = call->aliased[i];
    if (operand < 0) continue;
    void* result = addresses[operands + i];
    const size_t bytes = call->values[operands + i].size_bytes;
    if (result != addresses[operand] && bytes) memcpy(result, addresses[operand], bytes);
    addresses[operand] = result;
  }
}

// The handler's future is complete. A run that awaits it cannot end before this resumes it.
static void future_ready(void* context, hlo_status_t status) {
  call_run_t* state = context;
  hlo_run_t* run = state->run;
  state->status = status;
  if (atomic_exchange(&state->future, FUTURE_READY) == FUTURE_AWAITED) hlo_run_resume(run);
}

static hlo_status_t call_handler(hlo_foreign_run_t* foreign, const foreign_call_t* call,
                                 call_run_t* state, void* const* addresses) {
  hlo_ffi_launch_t* launch = launch_of(state, call);
  if (!state->is_prepared) {
    state->is_prepared = true;
    if (hlo_ffi_call_has_prepare(call->call)) {
      HLO_TRY(hlo_ffi_launch_prepare(launch, &foreign->context, addresses));
    }
  }
  XLA_FFI_Future* future;
  HLO_TRY(hlo_ffi_launch_execute(launch, &foreign->context, addresses, &future));
  if (!future) return hlo_ok();
  atomic_store(&state->future, FUTURE_PENDING);
  hlo_ffi_future_on_ready(future, future_ready, state);
  return hlo_ok();
}

// The span ends when the handler returns; its future may end later.
static void trace_call(const hlo_run_t* run, const foreign_call_t* call, uint64_t begin_ns) {
  if (HLO_LIKELY(!begin_ns)) return;
  const hlo_span_fact_t facts[] = {{"device", run->device->id},
                                   {"run_id", (int64_t)run->frame.run_id}};
  hlo_trace_end_with(hlo_client_trace(run->loaded->client), begin_ns, "foreign",
                     hlo_custom_call_target(call->node), NULL, facts, 2);
}

// Calls the function; `addresses`, of the call's part of the run, has been filled.
static void start(hlo_run_t* run, const foreign_call_t* call, call_run_t* state) {
  hlo_foreign_run_t* foreign = run->foreign;
  const uint32_t count = call->node->operand_count + call->node->result_count;
  void* const* addresses = addresses_of(state, call);
  void** passed = addresses_of(state, call) + count;
  if (count) memcpy(passed, addresses, count * sizeof *passed);
  share_memory(call, passed);
  pack_values(call, state, passed);
  foreign->context.run_id = (int64_t)run->frame.run_id;
  atomic_store_explicit(&state->future, FUTURE_NONE, memory_order_relaxed);
  const hlo_env_state_t program = hlo_env_adopt(run->host_env);
  hlo_pool_blocking_begin(foreign->context.pool);
  const uint64_t begin_ns = hlo_trace_begin();
  atomic_store_explicit(&foreign->running, call, memory_order_relaxed);
  atomic_fetch_add_explicit(&foreign->call_count, 1, memory_order_relaxed);
  hlo_status_t status = call_handler(foreign, call, state, passed);
  atomic_store_explicit(&foreign->running, NULL, memory_order_relaxed);
  trace_call(run, call, begin_ns);
  hlo_pool_blocking_end(foreign->context.pool);
  hlo_env_leave(program);
  if (hlo_status_is_ok(status)) return;
  state->status = status;
  atomic_store_explicit(&state->future, FUTURE_READY, memory_order_relaxed);
}

// Returns the outcome of the call, or sets *out_pending: the run is resumed when there is one.
static hlo_status_t finish(const foreign_call_t* call, call_run_t* state, bool* out_pending) {
  *out_pending = false;
  unsigned future = atomic_load(&state->future);
  if (future == FUTURE_PENDING &&
      atomic_compare_exchange_strong(&state->future, &future, FUTURE_AWAITED)) {
    future = FUTURE_AWAITED;
  }
  *out_pending = future == FUTURE_AWAITED;
  if (*out_pending) return hlo_ok();
  if (future == FUTURE_READY) {
    hlo_status_t status = state->status;
    state->status = hlo_ok();
    if (!hlo_status_is_ok(status)) return hlo_node_annotate(call->node, status);
  }
  unpack_results(call, state, addresses_of(state, call));
  return hlo_ok();
}

// ---- functions of runtime tables

int32_t hlo_foreign_start(hlo_frame_t* frame, uint32_t call_site_number, uint32_t index) {
  hlo_run_t* run = frame->owner;
  const foreign_call_t* call = &run->foreign->calls->calls[index];
  call_run_t* state = call_run_of(run->foreign, call);
  hlo_execute_addresses(frame, call_site_number, addresses_of(state, call));
  start(run, call, state);
  return HLO_PROGRAM_DONE;
}

int32_t hlo_foreign_done(hlo_frame_t* frame, uint32_t call_site_number, uint32_t index) {
  hlo_run_t* run = frame->owner;
  const foreign_call_t* call = &run->foreign->calls->calls[index];
  bool is_pending = false;
  hlo_status_t status = finish(call, call_run_of(run->foreign, call), &is_pending);
  if (!hlo_status_is_ok(status)) return hlo_execute_fail(frame, call_site_number, status);
  return is_pending ? HLO_PROGRAM_SUSPENDED : HLO_PROGRAM_DONE;
}

hlo_status_t hlo_foreign_call(hlo_frame_t* frame, uint32_t index, bool is_begun,
                              void* const* addresses, bool* out_pending) {
  hlo_run_t* run = frame->owner;
  const foreign_call_t* call = &run->foreign->calls->calls[index];
  call_run_t* state = call_run_of(run->foreign, call);
  if (!is_begun) {
    const uint32_t count = call->node->operand_count + call->node->result_count;
    if (count) memcpy(addresses_of(state, call), addresses, count * sizeof *addresses);
    start(run, call, state);
  }
  return finish(call, state, out_pending);
}
