// SPDX-License-Identifier: Apache-2.0
// The runs of one launch as processes of a communicator (see group.h): collectives, send and recv
// of compiled and of interpreted programs.
#include "runtime/group.h"

#include <string.h>

#include "base/mem.h"
#include "compiler/execute.h"
#include "ir/process_groups.h"
#include "runtime/foreign.h"

enum { PARTS_ON_STACK = 16 };

struct hlo_run_group {
  atomic_int count;
  hlo_comm_t* comm;
  hlo_run_t *first_woken, *last_woken;  // guarded by the lock of `comm`
  hlo_interp_runtime_t runtime;
  hlo_process_grid_t grid;
  hlo_launch_progress_t progress;  // see limits.h
  hlo_run_t* runs[];
};

// ---- what the communicator asks

static void wake_run(void* context, uint32_t process) {
  const hlo_run_group_t* group = context;
  hlo_run_resume(group->runs[process]);
}

static void retain_part(void* part) {
  hlo_tensor_retain(part);
}

static void release_part(void* part) {
  hlo_tensor_release(part);
}

static void print_launch(void* context, uint32_t process, hlo_strbuf_t* out) {
  const hlo_run_group_t* group = context;
  const hlo_run_t* run = group->runs[process];
  hlo_strbuf_printf(out, "run %llu of %s", (unsigned long long)run->frame.run_id,
                    run->loaded->executable->name);
}

static void print_process(void* context, uint32_t process, hlo_strbuf_t* out) {
  const hlo_run_group_t* group = context;
  hlo_group_print_member(group, process, out);
  hlo_strbuf_printf(out, " on device %d", group->runs[process]->device->id);
}

static void print_label(void* context, const void* label, hlo_strbuf_t* out) {
  (void)context;
  hlo_node_print_location(label, out);
}

static void print_missing(const hlo_run_group_t* group, const hlo_comm_wait_t* wait,
                          hlo_strbuf_t* out) {
  const uint32_t count = wait->missing_count;
  for (uint32_t i = 0; i < count && i < wait->capacity; ++i) {
    hlo_strbuf_puts(out, i == 0 ? " for " : "; ");
    hlo_group_print_member(group, wait->missing[i], out);
  }
  if (count > wait->capacity) hlo_strbuf_printf(out, " and %u more", count - wait->capacity);
  if (count == 0 && wait->is_recv) hlo_strbuf_puts(out, " for any replica");
  if (wait->is_recv) return;
  hlo_strbuf_printf(out, " (%u of %u have arrived)", wait->arrived_count,
                    wait->arrived_count + count);
}

void hlo_group_print_wait(const hlo_comm_wait_t* wait, hlo_strbuf_t* out) {
  hlo_node_print_location(wait->label, out);
  if (wait->channel_id > 0) hlo_strbuf_printf(out, ", channel %lld", (long long)wait->channel_id);
}

static void print_wait(void* context, uint32_t process, const hlo_comm_wait_t* wait,
                       hlo_strbuf_t* out) {
  (void)process;
  hlo_strbuf_puts(out, "waits in ");
  hlo_group_print_wait(wait, out);
  if (wait->channel_id > 0) hlo_strbuf_putc(out, ',');
  if (wait->missing_count == 0 && !wait->is_recv) {
    hlo_strbuf_puts(out, " for the member that exchanges the data");
  } else {
    print_missing(context, wait, out);
  }
}

// ---- collectives, send and recv of interpreted programs

// Returns memory for `count` pointers; `on_stack` if they are few. *out_status: RESOURCE_EXHAUSTED
static void** begin_list(uint32_t count, void** on_stack, hlo_status_t* out_status) {
  if (count <= PARTS_ON_STACK) return on_stack;
  void** list = hlo_mem_alloc(count * sizeof *list);
  if (!list) *out_status = hlo_status_out_of_memory(count * sizeof *list);
  return list;
}

// Returns a tensor that may be read after its owner has continued: lent memory is copied.
static hlo_status_t keep_tensor(hlo_tensor_t* tensor, void** out_kept) {
  if (!tensor->is_read_only || tensor->kind != HLO_TYPE_TENSOR) {
    *out_kept = hlo_tensor_retain(tensor);
    return hlo_ok();
  }
  hlo_tensor_t* copy = NULL;
  HLO_TRY(hlo_tensor_create(tensor->dtype, tensor->rank, tensor->dims, &copy));
  copy->quant = tensor->quant;
  if (tensor->size_bytes) memcpy(copy->data, tensor->data, tensor->size_bytes);
  *out_kept = copy;
  return hlo_ok();
}

static hlo_status_t keep_tensors(uint32_t count, hlo_tensor_t* const* tensors, void** out_kept) {
  for (uint32_t i = 0; i < count; ++i) {
    hlo_status_t status = keep_tensor(tensors[i], &out_kept[i]);
    while (!hlo_status_is_ok(status) && i-- > 0) hlo_tensor_release(out_kept[i]);
    HLO_TRY(status);
  }
  return hlo_ok();
}

static uint32_t member_position(const hlo_rendezvous_t* m) {
  uint32_t i = 0;
  while (i + 1 < m->member_count && m->members[i] != m->process) ++i;
  return i;
}

static hlo_status_t begin_gather(hlo_comm_t* comm, const hlo_comm_op_t* op,
                                 hlo_tensor_t* const* tensors) {
  hlo_status_t status = hlo_ok();
  void *on_stack[PARTS_ON_STACK], **parts = begin_list(op->part_count, on_stack, &status);
  HLO_TRY(status);
  status = keep_tensors(op->part_count, tensors, parts);
  if (hlo_status_is_ok(status)) status = hlo_comm_begin(comm, op, parts, NULL);
  if (parts != on_stack) hlo_mem_free(parts);
  return status;
}

static hlo_status_t grid_meet(void* context, const hlo_rendezvous_t* m, void** ticket,
                              hlo_tensor_t** out_parts, bool* out_pending) {
  static char has_begun;
  hlo_run_group_t* group = context;
  const hlo_comm_op_t op = {.call = {.kind = HLO_COMM_GATHER,
                                     .process = m->process,
                                     .position = member_position(m),
                                     .site = m->node->index + 1},
                            .channel_id = m->channel_id,
                            .part_count = m->tensor_count,
                            .group = {.id = hlo_comm_group_id(m->member_count, m->members),
                                      .member_count = m->member_count,
                                      .members = m->members},
                            .label = m->node};
  hlo_comm_state_t state = HLO_COMM_PENDING;
  *out_pending = false;
  if (!*ticket) {
    HLO_TRY(begin_gather(group->comm, &op, m->tensors));
    *ticket = &has_begun;
  }
  HLO_TRY(hlo_comm_done(group->comm, &op.call, false, (void**)out_parts, &state));
  *out_pending = state == HLO_COMM_PENDING;
  return hlo_ok();
}

static hlo_comm_message_t message_of(const hlo_node_t* node, uint32_t source, uint32_t target,
                                     uint32_t part_count) {
  return (hlo_comm_message_t){.source = source,
                              .target = target,
                              .channel_id = hlo_node_attr_int(node, HLO_ATTR_channel_id, 0),
                              .part_count = part_count,
                              .label = node};
}

static hlo_status_t grid_send(void* context, const hlo_node_t* node, uint32_t source,
                              uint32_t target, uint32_t tensor_count,
                              hlo_tensor_t* const* tensors) {
  const hlo_run_group_t* group = context;
  const hlo_comm_message_t message = message_of(node, source, target, tensor_count);
  hlo_status_t status = hlo_ok();
  void *on_stack[PARTS_ON_STACK], **parts = begin_list(tensor_count, on_stack, &status);
  HLO_TRY(status);
  status = keep_tensors(tensor_count, tensors, parts);
  if (hlo_status_is_ok(status)) status = hlo_comm_send(group->comm, &message, parts);
  if (parts != on_stack) hlo_mem_free(parts);
  return status;
}

static hlo_status_t grid_recv(void* context, const hlo_node_t* node, uint32_t source,
                              uint32_t target, uint32_t tensor_count, hlo_tensor_t** out_tensors,
                              bool* out_pending) {
  const hlo_run_group_t* group = context;
  const hlo_comm_message_t message = message_of(node, source, target, tensor_count);
  hlo_comm_state_t state = HLO_COMM_PENDING;
  *out_pending = false;
  HLO_TRY(hlo_comm_recv(group->comm, &message, (void**)out_tensors, &state));
  *out_pending = state == HLO_COMM_PENDING;
  return hlo_ok();
}

static int32_t parallel_for(hlo_frame_t* frame, uint64_t chunk_count, hlo_program_chunk_t chunk,
                            void* context) {
  const hlo_run_t* run = frame->owner;
  return hlo_execute_parallel_for(hlo_client_pool(run->loaded->client), frame, chunk_count, chunk,
                                  context);
}

static void library_for(hlo_frame_t* frame, uint64_t chunk_count, hlo_parallel_chunk_t chunk,
                        void* argument) {
  const hlo_run_t* run = frame->owner;
  hlo_execute_library_for(hlo_client_pool(run->loaded->client), chunk_count, chunk, argument);
}

// ---- send and recv of compiled programs: messages are copies

static bool is_cancelled(hlo_frame_t* frame) {
  return atomic_load_explicit(&frame->cancelled, memory_order_relaxed);
}

static bool is_token(const hlo_type_t* type) {
  return type->kind == HLO_TYPE_TOKEN;
}

static hlo_status_t copy_values(const hlo_node_t* node, uint32_t count, void* const* addresses,
                                void** out_parts) {
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    hlo_tensor_t* copy = NULL;
    hlo_status_t status = hlo_tensor_create(type->dtype, type->rank, type->dims, &copy);
    while (!hlo_status_is_ok(status) && i-- > 0) hlo_tensor_release(out_parts[i]);
    HLO_TRY(status);
    if (copy->size_bytes) memcpy(copy->data, addresses[i], copy->size_bytes);
    out_parts[i] = copy;
  }
  return hlo_ok();
}

static hlo_status_t send_values(const hlo_run_t* run, const hlo_node_t* node,
                                void* const* addresses) {
  const hlo_run_group_t* group = run->group;
  const uint32_t last = node->operand_count - 1;
  const uint32_t count = last + !is_token(hlo_node_operand_type(node, last));
  uint32_t peer = 0;
  if (!hlo_transfer_peer(node, group->grid.partition_count, run->row, true, &peer)) return hlo_ok();
  const hlo_comm_message_t message = message_of(node, run->row, peer, count);
  hlo_status_t status = hlo_ok();
  void *on_stack[PARTS_ON_STACK], **parts = begin_list(count, on_stack, &status);
  HLO_TRY(status);
  status = copy_values(node, count, addresses, parts);
  if (hlo_status_is_ok(status)) status = hlo_comm_send(group->comm, &message, parts);
  if (parts != on_stack) hlo_mem_free(parts);
  return status;
}

// Copies received tensors, which are released, to the results.
static hlo_status_t take_values(const hlo_node_t* node, uint32_t count, void* const* parts,
                                void* const* results) {
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < count; ++i) {
    hlo_tensor_t* tensor = parts[i];
    if (hlo_status_is_ok(status) && !hlo_tensor_fits(tensor, node->results[i].type)) {
      status = hlo_node_invalid(node, "received value %u does not have the result's type", i);
    }
    if (hlo_status_is_ok(status) && tensor->size_bytes) {
      memcpy(results[i], tensor->data, tensor->size_bytes);
    }
    hlo_tensor_release(tensor);
  }
  return status;
}

static hlo_status_t recv_values(const hlo_run_t* run, const hlo_node_t* node, void* const* results,
                                hlo_comm_state_t* out_state) {
  const hlo_run_group_t* group = run->group;
  const uint32_t last = node->result_count - 1;
  const uint32_t count = last + !is_token(node->results[last].type);
  uint32_t peer = 0;
  *out_state = HLO_COMM_DONE;
  if (!hlo_transfer_peer(node, group->grid.partition_count, run->row, false, &peer)) {
    for (uint32_t i = 0; i < count; ++i) {
      memset(results[i], 0, hlo_type_size_bytes(node->results[i].type));
    }
    return hlo_ok();
  }
  const hlo_comm_message_t message = message_of(node, peer, run->row, count);
  hlo_status_t status = hlo_ok();
  void *on_stack[PARTS_ON_STACK], **parts = begin_list(count, on_stack, &status);
  HLO_TRY(status);
  status = hlo_comm_recv(group->comm, &message, parts, out_state);
  if (hlo_status_is_ok(status) && *out_state == HLO_COMM_DONE) {
    status = take_values(node, count, parts, results);
  }
  if (parts != on_stack) hlo_mem_free(parts);
  return status;
}

// The start of a send is all of it, and a recv is all in its end.
static int32_t transfer(hlo_frame_t* frame, uint32_t call_site_number, const hlo_node_t* node,
                        bool is_start) {
  const hlo_run_t* run = frame->owner;
  hlo_comm_state_t state = HLO_COMM_DONE;
  if (is_start != (node->op == HLO_OP_send)) return HLO_PROGRAM_DONE;
  if (!is_start && is_cancelled(frame)) return hlo_execute_fail_cancelled(frame);
  hlo_status_t status = hlo_ok();
  void* on_stack[PARTS_ON_STACK];
  void** addresses = begin_list(node->operand_count + node->result_count, on_stack, &status);
  if (hlo_status_is_ok(status)) {
    hlo_execute_addresses(frame, call_site_number, addresses);
    status = is_start ? send_values(run, node, addresses)
                      : recv_values(run, node, addresses + node->operand_count, &state);
  }
  if (addresses != on_stack) hlo_mem_free(addresses);
  if (!hlo_status_is_ok(status)) return hlo_execute_fail(frame, call_site_number, status);
  return state == HLO_COMM_DONE ? HLO_PROGRAM_DONE : HLO_PROGRAM_SUSPENDED;
}

// ---- collectives of compiled programs

// The span is that of the member that arrives last and exchanges the data for all.
static void trace_exchange(const hlo_run_t* run, const hlo_node_t* node, uint32_t member_count,
                           uint64_t begin_ns, uint64_t moved_bytes) {
  if (HLO_LIKELY(!begin_ns)) return;
  const hlo_span_fact_t facts[] = {{"members", member_count},
                                   {"run_id", (int64_t)run->frame.run_id},
                                   {"bytes", (int64_t)moved_bytes}};
  hlo_trace_end_with(hlo_client_trace(run->loaded->client), begin_ns, "collective",
                     hlo_op_info(node->op)->name, NULL, facts, sizeof facts / sizeof *facts);
}

// Begins a collective; `group` is that of the run, in which it is number `position`.
static hlo_status_t arrive(hlo_frame_t* frame, uint32_t call_site_number,
                           const hlo_execute_collective_t* call_site,
                           const hlo_exchange_group_t* group, uint32_t position,
                           hlo_comm_work_t** out_work) {
  const hlo_run_t* run = frame->owner;
  const hlo_exchange_identity_t* identity = hlo_exchange_identity(call_site->exchange);
  hlo_status_t status = hlo_ok();
  void *on_stack[PARTS_ON_STACK], **parts = begin_list(identity->buffer_count, on_stack, &status);
  HLO_TRY(status);
  hlo_execute_addresses(frame, call_site_number, parts);
  const hlo_comm_op_t op = {.call = {HLO_COMM_EXCHANGE, run->row, position, call_site_number},
                            .channel_id = identity->channel_id,
                            .signature = identity->signature,
                            .part_count = identity->buffer_count,
                            .group = {group->id, group->member_count, group->members},
                            .label = call_site->node};
  status = hlo_comm_begin(run->group->comm, &op, parts, out_work);
  if (parts != on_stack) hlo_mem_free(parts);
  return status;
}

// Moves the data of all members.
static hlo_status_t exchange(hlo_frame_t* frame, const hlo_execute_collective_t* call_site,
                             const hlo_exchange_group_t* group, hlo_comm_work_t* work) {
  const hlo_run_t* run = frame->owner;
  const hlo_parallel_t parallel = hlo_frame_parallel(frame);
  const uint64_t begin_ns = hlo_trace_begin();
  uint64_t moved_bytes = 0;
  hlo_status_t status = hlo_exchange_run(call_site->exchange, group, work->parts, &parallel,
                                         begin_ns ? &moved_bytes : NULL);
  status = hlo_node_annotate(call_site->node, status);
  trace_exchange(run, call_site->node, group->member_count, begin_ns, moved_bytes);
  hlo_comm_finish(run->group->comm, work, status);
  return status;
}

static int32_t exchange_start(hlo_frame_t* frame, uint32_t call_site_number) {
  const hlo_run_t* run = frame->owner;
  const hlo_execute_collective_t call_site = hlo_execute_find_collective(frame, call_site_number);
  if (!call_site.exchange) return transfer(frame, call_site_number, call_site.node, true);
  uint32_t position = 0;
  const hlo_exchange_group_t* group = hlo_exchange_group(call_site.exchange, run->row, &position);
  hlo_comm_work_t* work = NULL;
  hlo_status_t status = arrive(frame, call_site_number, &call_site, group, position, &work);
  if (work) {
    status = exchange(frame, &call_site, group, work);
  } else if (hlo_status_code(status) == HLO_STATUS_INVALID_ARGUMENT) {
    status = hlo_node_annotate(call_site.node, status);
  }
  return hlo_status_is_ok(status) ? HLO_PROGRAM_DONE
                                  : hlo_execute_fail(frame, call_site_number, status);
}

static int32_t exchange_done(hlo_frame_t* frame, uint32_t call_site_number) {
  const hlo_run_t* run = frame->owner;
  const hlo_execute_collective_t call_site = hlo_execute_find_collective(frame, call_site_number);
  if (!call_site.exchange) return transfer(frame, call_site_number, call_site.node, false);
  hlo_comm_call_t call = {.kind = HLO_COMM_EXCHANGE, .process = run->row, .site = call_site_number};
  hlo_exchange_group(call_site.exchange, run->row, &call.position);
  hlo_comm_state_t state = HLO_COMM_PENDING;
  hlo_status_t status = hlo_comm_done(run->group->comm, &call, is_cancelled(frame), NULL, &state);
  if (!hlo_status_is_ok(status)) return hlo_execute_fail(frame, call_site_number, status);
  switch (state) {
    case HLO_COMM_DONE: return HLO_PROGRAM_DONE;
    case HLO_COMM_CANCELLED: return hlo_execute_fail_cancelled(frame);
    case HLO_COMM_PENDING: break;
  }
  return HLO_PROGRAM_SUSPENDED;
}

// ---- runtime tables

static int32_t async_start(hlo_frame_t* frame, uint32_t call_site_number) {
  const uint32_t foreign = hlo_execute_find_foreign(frame, call_site_number);
  if (foreign) return hlo_foreign_start(frame, call_site_number, foreign - 1);
  const hlo_run_t* run = frame->owner;
  return run->group ? exchange_start(frame, call_site_number)
                    : hlo_execute_async_start(frame, call_site_number);
}

static int32_t async_done(hlo_frame_t* frame, uint32_t call_site_number) {
  const uint32_t foreign = hlo_execute_find_foreign(frame, call_site_number);
  if (foreign) return hlo_foreign_done(frame, call_site_number, foreign - 1);
  const hlo_run_t* run = frame->owner;
  return run->group ? exchange_done(frame, call_site_number)
                    : hlo_execute_async_done(frame, call_site_number);
}

static const hlo_interp_runtime_t kAlone = {.table = {.abi_version = HLO_PROGRAM_ABI_VERSION,
                                                      .size_bytes = sizeof(hlo_interp_runtime_t),
                                                      .parallel_for = parallel_for,
                                                      .async_start = async_start,
                                                      .async_done = async_done,
                                                      .call_library = hlo_execute_call_library,
                                                      .check_failed = hlo_execute_check_failed,
                                                      .library_for = library_for},
                                            .call_foreign = hlo_foreign_call};

hlo_status_t hlo_group_create(uint32_t replica_count, uint32_t partition_count,
                              hlo_run_t* const* runs, hlo_run_group_t** out_group) {
  const uint32_t count = replica_count * partition_count;
  const size_t bytes = sizeof(hlo_run_group_t) + count * sizeof(hlo_run_t*);
  hlo_run_group_t* group = hlo_mem_alloc_zeroed(bytes);
  if (!group) return hlo_status_out_of_memory(bytes);
  const hlo_comm_owner_t owner = {.wake = wake_run,
                                  .print_launch = print_launch,
                                  .print_process = print_process,
                                  .print_label = print_label,
                                  .print_wait = print_wait,
                                  .retain = retain_part,
                                  .release = release_part,
                                  .faults = hlo_client_comm_faults(runs[0]->loaded->client),
                                  .context = group};
  hlo_status_t status = hlo_comm_create_local(count, &owner, &group->comm);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(group);
    return status;
  }
  atomic_init(&group->count, 1);
  group->progress.run_count = count;
  memcpy(group->runs, runs, count * sizeof(hlo_run_t*));
  group->grid = (hlo_process_grid_t){.context = group,
                                     .replica_count = replica_count,
                                     .partition_count = partition_count,
                                     .meet = grid_meet,
                                     .send = grid_send,
                                     .recv = grid_recv};
  group->runtime = kAlone;
  group->runtime.grid = &group->grid;
  *out_group = group;
  return hlo_ok();
}

hlo_run_group_t* hlo_group_retain(hlo_run_group_t* group) {
  atomic_fetch_add_explicit(&group->count, 1, memory_order_relaxed);
  return group;
}

void hlo_group_release(hlo_run_group_t* group) {
  if (!group || atomic_fetch_sub_explicit(&group->count, 1, memory_order_acq_rel) != 1) return;
  hlo_comm_release(group->comm);
  hlo_mem_free(group);
}

void hlo_group_fail(hlo_run_group_t* group, hlo_status_t error) {
  hlo_comm_fail(group->comm, error);
}

// For threads that are in no run of the group.
static void submit_woken(hlo_run_group_t* group) {
  for (hlo_run_t* run; (run = hlo_group_take_woken(group));) {
    hlo_pool_submit(hlo_client_pool(run->loaded->client), &run->job);
  }
}

void hlo_group_stop(hlo_run_group_t* group, hlo_status_t error) {
  hlo_group_fail(group, error);
  submit_woken(group);
}

bool hlo_group_fail_wait(hlo_run_group_t* group, uint64_t number, hlo_status_t error) {
  const bool fails = hlo_comm_fail_wait(group->comm, number, error);
  if (fails) submit_woken(group);
  return fails;
}

bool hlo_group_end(hlo_run_group_t* group, const hlo_run_t* run) {
  return hlo_comm_end(group->comm, run->row);
}

void hlo_group_keep_woken(hlo_run_group_t* group, hlo_run_t* run) {
  hlo_mutex_assert_held(&group->comm->lock);
  run->next_woken = NULL;
  if (group->last_woken) {
    group->last_woken->next_woken = run;
  } else {
    group->first_woken = run;
  }
  group->last_woken = run;
}

hlo_run_t* hlo_group_take_woken(hlo_run_group_t* group) {
  hlo_mutex_lock(&group->comm->lock);
  hlo_run_t* run = group->first_woken;
  if (run) group->first_woken = run->next_woken;
  if (!group->first_woken) group->last_woken = NULL;
  hlo_mutex_unlock(&group->comm->lock);
  return run;
}

const hlo_runtime_table_t* hlo_group_runtime(hlo_run_group_t* group) {
  return group ? &group->runtime.table : &kAlone.table;
}

void hlo_group_print_member(const hlo_run_group_t* group, uint32_t row, hlo_strbuf_t* out) {
  const uint32_t replicas = group->grid.replica_count, partitions = group->grid.partition_count;
  if (replicas > 1 || partitions == 1) hlo_strbuf_printf(out, "replica %u", row / partitions);
  if (replicas > 1 && partitions > 1) hlo_strbuf_puts(out, ", ");
  if (partitions > 1) hlo_strbuf_printf(out, "partition %u", row % partitions);
}

hlo_comm_t* hlo_group_comm(const hlo_run_group_t* group) {
  return group->comm;
}

hlo_launch_progress_t* hlo_group_progress(hlo_run_group_t* group) {
  return &group->progress;
}

hlo_status_t hlo_group_allocate(hlo_run_group_t* group) {
  hlo_status_t status = hlo_ok();
  uint32_t count = 0;
  while (count < group->comm->process_count && hlo_status_is_ok(status)) {
    status = hlo_run_allocate(group->runs[count]);
    count += hlo_status_is_ok(status);
  }
  while (!hlo_status_is_ok(status) && count-- > 0) hlo_run_deallocate(group->runs[count]);
  return status;
}
