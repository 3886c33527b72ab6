// SPDX-License-Identifier: Apache-2.0
// Call sites of compiled programs in the library (see call_sites.h).
#include "codegen/lower/call_sites.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/trace.h"
#include "base/tuning.h"
#include "codegen/loops/tile_kernel.h"
#include "ir/clone.h"
#include "ir/custom_call.h"
#include "ir/process_groups.h"

enum {
  CONSTANT_ALIGNMENT = 64,
};

// ---- constants

static void fill(void* to, const void* element, size_t width, size_t size_bytes) {
  if (size_bytes == 0) return;
  memcpy(to, element, width);
  for (size_t done = width; done < size_bytes;) {
    size_t more = done <= size_bytes - done ? done : size_bytes - done;
    memcpy((uint8_t*)to + done, to, more);
    done += more;
  }
}

const hlo_literal_t* hlo_call_site_literal(const hlo_value_t* value) {
  const hlo_attr_t* attr = hlo_node_attr(value->def, HLO_ATTR_value);
  return attr && attr->kind == HLO_ATTR_KIND_LITERAL ? attr->literal : NULL;
}

static bool is_broadcast(const hlo_literal_t* literal) {
  return literal->is_splat && literal->element_count != 1;
}

static bool is_usable_in_place(const hlo_literal_t* literal) {
  size_t width = hlo_dtype_size_bytes(literal->dtype);
  size_t alignment =
      literal->data_bytes >= HLO_TUNING_CONSTANT_IN_PLACE_BYTES ? width : CONSTANT_ALIGNMENT;
  return !is_broadcast(literal) && (uintptr_t)literal->data % alignment == 0;
}

static hlo_status_t make_constant(hlo_call_site_table_t* table, const hlo_plan_constant_t* constant,
                                  uint32_t i, void** out_address) {
  const hlo_literal_t* literal = hlo_call_site_literal(constant->value);
  if (!literal) return hlo_internal_error("a constant without a value");
  if (is_usable_in_place(literal)) {
    *out_address = (void*)(uintptr_t)literal->data;
    return hlo_ok();
  }
  size_t bytes = hlo_type_size_bytes(constant->value->type);
  if (is_broadcast(literal) && bytes > HLO_TUNING_SPLAT_STORED_BYTES && !constant->is_read)
    return hlo_ok();
  void* memory = hlo_mem_alloc_aligned(bytes, CONSTANT_ALIGNMENT);
  if (!memory) return hlo_status_out_of_memory(bytes);
  table->owned_constants[i] = memory;
  *out_address = memory;
  if (is_broadcast(literal)) {
    fill(memory, literal->data, hlo_dtype_size_bytes(literal->dtype), bytes);
  } else if (bytes) {
    memcpy(memory, literal->data, bytes);
  }
  return hlo_ok();
}

static hlo_status_t make_constants(hlo_call_site_table_t* table,
                                   const hlo_plan_constant_t* constants, hlo_arena_t* arena) {
  uint32_t count = table->constant_count;
  void** addresses = hlo_arena_array(arena, count, sizeof *addresses);
  hlo_plan_constant_t* values = hlo_arena_array(arena, count, sizeof *values);
  table->owned_constants = hlo_arena_array(arena, count, sizeof(void*));
  HLO_TRY(hlo_arena_status(arena));
  table->constants = addresses;
  table->constant_values = values;
  for (uint32_t i = 0; i < count; ++i) {
    values[i] = constants[i];
    HLO_TRY(make_constant(table, &constants[i], i, &addresses[i]));
  }
  return hlo_ok();
}

hlo_status_t hlo_call_site_table_begin(const hlo_func_t* func, uint32_t node_count,
                                       uint32_t constant_count,
                                       const hlo_plan_constant_t* constants, hlo_arena_t* arena,
                                       hlo_call_site_table_t* out_table) {
  *out_table = (hlo_call_site_table_t){.module = func->module,
                                       .func = func,
                                       .argument_count = func->type->input_count,
                                       .constant_count = constant_count,
                                       .node_count = node_count};
  out_table->call_sites = hlo_arena_array(arena, node_count, sizeof(hlo_call_site_t));
  HLO_TRY(hlo_arena_status(arena));
  return make_constants(out_table, constants, arena);
}

// ---- call sites

hlo_status_t hlo_call_site_table_add(hlo_call_site_table_t* table, uint32_t number,
                                     const hlo_node_t* node, hlo_arena_t* arena,
                                     hlo_allocation_t** out_allocations) {
  hlo_call_site_t* call_site = &table->call_sites[number - 1];
  hlo_allocation_t* allocations =
      hlo_arena_array(arena, hlo_call_site_value_count(node), sizeof *allocations);
  HLO_TRY(hlo_arena_status(arena));
  call_site->node = node;
  call_site->allocations = allocations;
  HLO_TRY(hlo_lib_call_prepare(node, arena, &call_site->library));
  *out_allocations = allocations;
  return hlo_ok();
}

static hlo_status_t make_call_site(hlo_call_site_table_t* table, const hlo_plan_t* plan,
                                   const hlo_node_t* node, hlo_arena_t* arena) {
  hlo_allocation_t* allocations = NULL;
  HLO_TRY(hlo_call_site_table_add(table, hlo_call_site_number(node), node, arena, &allocations));
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    *allocations++ = hlo_plan_operand_allocation(plan, node, i);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    *allocations++ = hlo_plan_allocation(plan, &node->results[i]);
  }
  return hlo_ok();
}

static hlo_status_t make_tile_call_sites(hlo_call_site_table_t* table, const hlo_plan_t* plan,
                                         hlo_arena_t* arena) {
  uint32_t count = plan->schedule->fusion_count;
  table->tiles = hlo_arena_array(arena, count, sizeof *table->tiles);
  HLO_TRY(hlo_arena_status(arena));
  table->tile_count = count;
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(plan->schedule, &cursor));) {
    const hlo_fusion_t* fusion = step->fusion;
    if (step->kind != HLO_STEP_FUSION) continue;
    uint32_t inputs = fusion->input_count, outputs = fusion->output_count;
    hlo_allocation_t* allocations = hlo_arena_array(arena, inputs + outputs, sizeof *allocations);
    HLO_TRY(hlo_arena_status(arena));
    table->tiles[fusion->index] =
        (hlo_tile_call_site_t){hlo_kernel_tile(plan->kernels[fusion->index]), allocations};
    for (uint32_t k = 0; k < inputs + outputs; ++k) {
      allocations[k] =
          hlo_plan_allocation(plan, k < inputs ? fusion->inputs[k] : fusion->outputs[k - inputs]);
    }
  }
  return hlo_ok();
}

uint32_t hlo_call_site_tile_number(const hlo_call_site_table_t* table, uint32_t fusion) {
  return fusion < table->tile_count && table->tiles[fusion].kernel ? HLO_CALL_SITE_TILE + fusion
                                                                   : 0;
}

hlo_status_t hlo_call_site_table_init(const hlo_plan_t* plan, hlo_arena_t* arena,
                                      hlo_call_site_table_t* out_table) {
  HLO_TRY(hlo_call_site_table_begin(plan->func, plan->func->module->node_count,
                                    plan->constant_count, plan->constants, arena, out_table));
  if (plan->memory_check)
    out_table->memory_check = hlo_memory_check_clone(plan->memory_check, arena);
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(plan->schedule, &cursor));) {
    if (step->kind != HLO_STEP_CALL) continue;
    HLO_TRY(make_call_site(out_table, plan, step->node, arena));
  }
  for (uint32_t i = 0; plan->kernels && i < plan->schedule->fusion_count; ++i) {
    if (plan->kernels[i] && hlo_kernel_tile(plan->kernels[i])) {
      return make_tile_call_sites(out_table, plan, arena);
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_call_site_table_prepare(hlo_call_site_table_t* table, uint32_t replica_count,
                                         uint32_t partition_count, hlo_arena_t* arena) {
  uint32_t capacity = 0;
  for (uint32_t i = 0; i < table->node_count; ++i) {
    hlo_call_site_t* call_site = &table->call_sites[i];
    const hlo_node_t* node = call_site->node;
    if (!node || call_site->library) continue;
    if (hlo_custom_call_is_foreign(node)) {
      if (!HLO_ARENA_GROW(arena, table->foreign_nodes, table->foreign_count, capacity)) {
        return hlo_arena_status(arena);
      }
      table->foreign_nodes[table->foreign_count++] = node;
      call_site->foreign_number = table->foreign_count;
      continue;
    }
    const bool is_transfer = node->op == HLO_OP_send || node->op == HLO_OP_recv;
    if (is_transfer && hlo_transfer_has_pairs(node)) continue;  // the runtime's
    hlo_status_t status =
        hlo_exchange_create(node, replica_count ? replica_count : 1,
                            partition_count ? partition_count : 1, arena, &call_site->exchange);
    if (hlo_status_code(status) == HLO_STATUS_RESOURCE_EXHAUSTED) return status;
    hlo_status_release(status);  // the interpreter reports it when the program runs
    if (!call_site->exchange) {
      return hlo_node_unimplemented(node, "the library has no function for it");
    }
  }
  return hlo_ok();
}

uint32_t hlo_call_site_table_add_copy(hlo_call_site_table_t* table, const hlo_copy_t* copy,
                                      hlo_arena_t* arena) {
  if (!HLO_ARENA_GROW(arena, table->copies, table->copy_count, table->copy_capacity)) return 0;
  hlo_copy_call_site_t* call_site = &table->copies[table->copy_count++];
  *call_site = (hlo_copy_call_site_t){.copy = *copy};
  if (copy->from.kind == HLO_ALLOCATION_CONSTANT && !table->constants[copy->from.index]) {
    call_site->splat = hlo_call_site_literal(table->constant_values[copy->from.index].value);
  }
  return table->node_count + table->copy_count;
}

uint32_t hlo_call_site_table_add_memory_check(hlo_call_site_table_t* table,
                                              const hlo_memory_check_call_site_t* memory_check,
                                              hlo_arena_t* arena) {
  if (!HLO_ARENA_GROW(arena, table->memory_checks, table->memory_check_count,
                      table->memory_check_capacity))
    return 0;
  table->memory_checks[table->memory_check_count] = *memory_check;
  return HLO_CALL_SITE_MEMORY_CHECK + table->memory_check_count++;
}

uint32_t hlo_call_site_table_add_step_span(hlo_call_site_table_t* table,
                                           const hlo_step_span_t* span, hlo_arena_t* arena) {
  if (!HLO_ARENA_GROW(arena, table->step_spans, table->step_span_count, table->step_span_capacity))
    return 0;
  table->step_spans[table->step_span_count] = *span;
  return HLO_CALL_SITE_STEP_SPAN + 2 * table->step_span_count++;
}

void hlo_call_site_table_deinit(hlo_call_site_table_t* table) {
  for (uint32_t i = 0; table->call_sites && i < table->node_count; ++i) {
    hlo_lib_call_deinit(table->call_sites[i].library);
  }
  for (uint32_t i = 0; table->owned_constants && i < table->constant_count; ++i) {
    hlo_mem_free(table->owned_constants[i]);
  }
}

// ---- calls

static void* address_of(const hlo_frame_t* frame, const hlo_call_site_table_t* table,
                        const hlo_allocation_t* allocation) {
  switch (allocation->kind) {
    case HLO_ALLOCATION_NONE:
    case HLO_ALLOCATION_REGISTER: break;
    case HLO_ALLOCATION_ARGUMENT: return frame->buffers[allocation->index];
    case HLO_ALLOCATION_RESULT:
      return (uint8_t*)frame->buffers[table->argument_count + allocation->index] +
             allocation->offset_bytes;
    case HLO_ALLOCATION_CONSTANT: return table->constants[allocation->index];
    case HLO_ALLOCATION_TEMPORARY: return frame->temporaries + allocation->offset_bytes;
  }
  return NULL;
}

const hlo_call_site_t* hlo_call_site_of(const hlo_frame_t* frame, uint32_t call_site_number) {
  const hlo_call_site_table_t* table = frame->program;
  return &table->call_sites[call_site_number - 1];
}

void hlo_call_site_addresses(const hlo_frame_t* frame, const hlo_call_site_t* call_site,
                             void** out_addresses) {
  uint32_t count = call_site->node->operand_count + call_site->node->result_count;
  for (uint32_t i = 0; i < count; ++i) {
    out_addresses[i] = address_of(frame, frame->program, &call_site->allocations[i]);
  }
}

int32_t hlo_call_site_fail(hlo_frame_t* frame, uint32_t call_site_number, hlo_status_t status) {
  int none = 0;
  if (atomic_compare_exchange_strong(&frame->error.code, &none, (int)hlo_status_code(status))) {
    frame->error.call_site_index = call_site_number;
    frame->error.status = status;
  } else {
    hlo_status_release(status);
  }
  return HLO_PROGRAM_ERROR;
}

typedef struct copy_job {
  uint8_t* to;
  const uint8_t* from;
  size_t size_bytes;
} copy_job_t;

static void copy_chunk(void* arg, uint64_t chunk) {
  const copy_job_t* job = arg;
  const size_t at = chunk * HLO_TUNING_COPY_CHUNK_BYTES, left = job->size_bytes - at;
  memcpy(job->to + at, job->from + at,
         left < HLO_TUNING_COPY_CHUNK_BYTES ? left : HLO_TUNING_COPY_CHUNK_BYTES);
}

static void run_copy(hlo_frame_t* frame, const hlo_call_site_table_t* table,
                     const hlo_copy_call_site_t* call_site) {
  void* to = address_of(frame, table, &call_site->copy.to);
  if (call_site->splat) {
    fill(to, call_site->splat->data, hlo_dtype_size_bytes(call_site->splat->dtype),
         call_site->copy.size_bytes);
    return;
  }
  const void* from = address_of(frame, table, &call_site->copy.from);
  if (from == to) return;
  copy_job_t job = {to, from, call_site->copy.size_bytes};
  const hlo_parallel_t parallel = hlo_frame_parallel(frame);
  const size_t chunks =
      (job.size_bytes + HLO_TUNING_COPY_CHUNK_BYTES - 1) / HLO_TUNING_COPY_CHUNK_BYTES;
  hlo_parallel_for(&parallel, chunks, copy_chunk, &job);
}

static hlo_status_t run_memory_check(const hlo_frame_t* frame, const hlo_call_site_table_t* table,
                                     const hlo_memory_check_call_site_t* call_site) {
  const hlo_memory_check_block_t* block =
      hlo_memory_check_run(table->memory_check, &call_site->event, frame->temporaries);
  if (!block) return hlo_ok();
  return hlo_node_error(call_site->node, HLO_STATUS_INTERNAL,
                        "it writes past the end of a temporary of %" PRIu64 " bytes (at %" PRIu64
                        " of the arena)",
                        block->size_bytes, block->offset_bytes);
}

static hlo_status_t run_call_site(hlo_frame_t* frame, const hlo_call_site_t* call_site,
                                  void* const* buffers) {
  void* addresses[HLO_LIB_CALL_VALUES_MAX];
  if (!buffers) hlo_call_site_addresses(frame, call_site, addresses);
  return hlo_lib_call_run(call_site->library, frame, buffers ? buffers : addresses);
}

// The process's group has no other members.
static hlo_status_t run_exchange(hlo_frame_t* frame, const hlo_call_site_t* call_site) {
  uint32_t me = 0;
  if (call_site->foreign_number) return hlo_custom_call_unknown(call_site->node);
  if (!call_site->exchange) {
    return hlo_node_unimplemented(call_site->node,
                                  "the transfer has no peer: this is the only process");
  }
  const hlo_exchange_group_t* group = hlo_exchange_group(call_site->exchange, 0, &me);
  if (group->member_count > 1) {
    return hlo_node_unimplemented(
        call_site->node, "the op has to wait for other processes, but this is the only one");
  }
  const size_t bytes = hlo_call_site_value_count(call_site->node) * sizeof(void*);
  void** addresses = hlo_mem_alloc(bytes);
  if (!addresses) return hlo_status_out_of_memory(bytes);
  hlo_call_site_addresses(frame, call_site, addresses);
  const hlo_parallel_t parallel = hlo_frame_parallel(frame);
  hlo_status_t status = hlo_exchange_run(call_site->exchange, group, addresses, &parallel, NULL);
  hlo_mem_free(addresses);
  return hlo_node_annotate(call_site->node, status);
}

static hlo_status_t run_tile(const hlo_frame_t* frame, const hlo_call_site_table_t* table,
                             const hlo_tile_call_site_t* call_site) {
  const hlo_tile_kernel_t* kernel = call_site->kernel;
  void** buffers = hlo_mem_alloc(kernel->buffer_count * sizeof *buffers);
  if (!buffers) return hlo_status_out_of_memory(kernel->buffer_count * sizeof *buffers);
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    buffers[i] = address_of(frame, table, &call_site->allocations[i]);
  }
  hlo_status_t status = hlo_tile_kernel_run(kernel, table->tile_meaning, buffers);
  hlo_mem_free(buffers);
  return status;
}

// A step may end on another thread than it began on, so the frame keeps when it began.
static void mark_step(const hlo_frame_t* frame, const hlo_call_site_table_t* table, uint32_t mark) {
  const hlo_step_span_t* span = &table->step_spans[mark / 2];
  uint8_t* time = frame->saved + table->step_times_offset + mark / 2 * sizeof(uint64_t);
  uint64_t begin_ns = hlo_trace_begin();
  if (mark % 2 == 0) {
    memcpy(time, &begin_ns, sizeof begin_ns);
    return;
  }
  memcpy(&begin_ns, time, sizeof begin_ns);
  const hlo_span_fact_t facts[] = {
      {"flops", span->flops}, {"bytes_accessed", span->bytes}, {"roofline_ps", span->roofline_ps}};
  hlo_trace_end_with(hlo_trace_current(), begin_ns, "step", span->name, span->place, facts,
                     sizeof facts / sizeof *facts);
}

int32_t hlo_call_site_call(hlo_frame_t* frame, uint32_t call_site_number, void* const* buffers) {
  hlo_call_site_table_t* table = (hlo_call_site_table_t*)(uintptr_t)frame->program;
  if (call_site_number >= HLO_CALL_SITE_STEP_SPAN) {
    mark_step(frame, table, call_site_number - HLO_CALL_SITE_STEP_SPAN);
    return HLO_PROGRAM_DONE;
  }
  if (call_site_number >= HLO_CALL_SITE_TILE && call_site_number < HLO_CALL_SITE_MEMORY_CHECK) {
    hlo_status_t status =
        run_tile(frame, table, &table->tiles[call_site_number - HLO_CALL_SITE_TILE]);
    return hlo_status_is_ok(status) ? HLO_PROGRAM_DONE : hlo_call_site_fail(frame, 0, status);
  }
  if (call_site_number > table->node_count && call_site_number < HLO_CALL_SITE_MEMORY_CHECK) {
    run_copy(frame, table, &table->copies[call_site_number - table->node_count - 1]);
    return HLO_PROGRAM_DONE;
  }
  hlo_status_t status =
      call_site_number >= HLO_CALL_SITE_MEMORY_CHECK
          ? run_memory_check(frame, table,
                             &table->memory_checks[call_site_number - HLO_CALL_SITE_MEMORY_CHECK])
          : run_call_site(frame, &table->call_sites[call_site_number - 1], buffers);
  return hlo_status_is_ok(status) ? HLO_PROGRAM_DONE
                                  : hlo_call_site_fail(frame, call_site_number, status);
}

int32_t hlo_call_site_exchange(hlo_frame_t* frame, uint32_t call_site_number) {
  hlo_status_t status = run_exchange(frame, hlo_call_site_of(frame, call_site_number));
  return hlo_status_is_ok(status) ? HLO_PROGRAM_DONE
                                  : hlo_call_site_fail(frame, call_site_number, status);
}

typedef struct search {
  uint32_t index;
  const hlo_node_t* found;
} search_t;

static hlo_status_t visit_searched(void* context, hlo_node_t* node) {
  search_t* search = context;
  if (node->index == search->index) search->found = node;
  return hlo_ok();
}

// Returns the node of a call site or debug id, also for nodes of kernels; NULL: none.
static const hlo_node_t* find_node(const hlo_call_site_table_t* table, uint32_t call_site_number) {
  search_t search = {.index = call_site_number - 1};
  if (call_site_number == 0 || call_site_number > table->node_count) return NULL;
  hlo_status_release(hlo_region_walk(table->func->body, false, visit_searched, &search));
  return search.found;
}

int32_t hlo_call_site_check_failed(hlo_frame_t* frame, uint32_t call_site_number, int64_t found,
                                   int64_t limit) {
  const hlo_call_site_table_t* table = frame->program;
  if (call_site_number == HLO_CALL_SITE_CANCELLED) {
    return hlo_call_site_fail(
        frame, 0, hlo_status_create(HLO_STATUS_CANCELLED, "the execution was cancelled"));
  }
  const hlo_node_t* node = find_node(table, call_site_number);
  const char* format = "an access to byte %lld of a buffer of %lld bytes";
  hlo_status_t status =
      node ? hlo_node_error(node, HLO_STATUS_INTERNAL, format, (long long)found, (long long)limit)
           : hlo_internal_error(format, (long long)found, (long long)limit);
  return hlo_call_site_fail(frame, call_site_number, status);
}
