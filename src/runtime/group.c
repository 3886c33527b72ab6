// SPDX-License-Identifier: Apache-2.0
// Rendezvous of the runs of one launch (see group.h): the last to arrive wakes the others.
#include "runtime/group.h"

#include <string.h>

#include "base/mem.h"
#include "compiler/execute.h"
#include "runtime/foreign.h"

typedef enum member_state { ABSENT, ARRIVED, LEFT } member_state_t;

// Interpreted members arrive with tensors, and leave with all members' tensors. Compiled ones
// arrive with the addresses of operands and results; the last to arrive exchanges the data for all.
typedef struct rendezvous {
  struct rendezvous* next;
  uint64_t number;         // in the group, in the order of the first arrivals
  uint32_t site;           // the number of the call site, unless there is a channel
  const hlo_node_t* node;  // of the first arrival, for messages
  int64_t channel_id;
  uint64_t seen_ns;  // when a monitor first saw that members are missing; 0: not yet
  bool is_exchange, is_done, has_failed;
  uint32_t member_count, part_count;
  uint32_t arrived_count, left_count;
  void** parts;            // [member][part]: hlo_tensor_t*, or addresses; NULL of absent members
  member_state_t* states;  // by member
  const hlo_node_t** call_sites;  // by member: the call site that began the exchange
  uint32_t members[];
} rendezvous_t;

// A sent value that was not received yet.
typedef struct message {
  struct message* next;
  uint32_t source, target;
  int64_t channel_id;
  uint32_t tensor_count;
  hlo_tensor_t* tensors[];
} message_t;

typedef struct recv_wait {
  bool is_waiting;
  uint32_t source;
  int64_t channel_id;
  uint64_t seen_ns;  // as above
} recv_wait_t;

// The runs are on virtual devices of this process; their messages outlive them.
typedef struct process {
  int32_t device_id;
  bool is_waiting;  // suspended in a rendezvous or recv
  bool has_ended;
  recv_wait_t recv;  // the last recv that found nothing
} process_t;

struct hlo_run_group {
  atomic_int count;
  hlo_mutex_t lock;  // guards all below
  rendezvous_t* rendezvous_list;
  message_t* messages;
  hlo_run_t *first_woken, *last_woken;
  hlo_status_t error;
  uint64_t rendezvous_count;  // so far
  uint32_t process_count, waiting_count, ended_count;
  process_t* processes;
  hlo_interp_runtime_t runtime;
  hlo_process_grid_t grid;
  hlo_launch_progress_t progress;  // see limits.h
  hlo_run_t* runs[];
};

// Returns a tensor that may be read after its owner has continued: lent memory is copied.
static hlo_status_t keep_tensor(hlo_tensor_t* tensor, hlo_tensor_t** out_kept) {
  if (!tensor->is_read_only || tensor->kind != HLO_TYPE_TENSOR) {
    *out_kept = hlo_tensor_retain(tensor);
    return hlo_ok();
  }
  HLO_TRY(hlo_tensor_create(tensor->dtype, tensor->rank, tensor->dims, out_kept));
  (*out_kept)->quant = tensor->quant;
  if (tensor->size_bytes) memcpy((*out_kept)->data, tensor->data, tensor->size_bytes);
  return hlo_ok();
}

static hlo_status_t keep_tensors(uint32_t count, hlo_tensor_t* const* tensors,
                                 hlo_tensor_t** out_kept) {
  for (uint32_t i = 0; i < count; ++i) HLO_TRY(keep_tensor(tensors[i], &out_kept[i]));
  return hlo_ok();
}

static void rendezvous_release(rendezvous_t* rendezvous) {
  uint32_t count = rendezvous->member_count * rendezvous->part_count;
  for (uint32_t i = 0; !rendezvous->is_exchange && i < count; ++i) {
    hlo_tensor_release(rendezvous->parts[i]);
  }
  hlo_mem_free(rendezvous);
}

// The identity of a rendezvous, to find or to create it.
static hlo_status_t rendezvous_create(const rendezvous_t* like, const uint32_t* members,
                                      rendezvous_t** out_rendezvous) {
  size_t count = like->member_count, parts = count * like->part_count;
  size_t head = (sizeof(rendezvous_t) + count * sizeof(uint32_t) + 7) & ~(size_t)7;
  size_t bytes = head + (parts + count) * sizeof(void*) + count * sizeof(member_state_t);
  rendezvous_t* rendezvous = hlo_mem_alloc_zeroed(bytes);
  if (!rendezvous) return hlo_status_out_of_memory(bytes);
  *rendezvous = *like;
  rendezvous->parts = (void**)((uint8_t*)rendezvous + head);
  rendezvous->call_sites = (const hlo_node_t**)(rendezvous->parts + parts);
  rendezvous->states = (member_state_t*)(rendezvous->call_sites + count);
  memcpy(rendezvous->members, members, count * sizeof *members);
  *out_rendezvous = rendezvous;
  return hlo_ok();
}

static uint32_t member_number(const hlo_rendezvous_t* m) {
  for (uint32_t i = 0; i < m->member_count; ++i) {
    if (m->members[i] == m->process) return i;
  }
  return 0;
}

// Returns the oldest rendezvous of the same identity at which the caller has not arrived yet.
static hlo_status_t find_rendezvous(hlo_run_group_t* group, const rendezvous_t* like,
                                    const uint32_t* members, uint32_t me,
                                    rendezvous_t** out_rendezvous) {
  rendezvous_t** link = &group->rendezvous_list;
  for (; *link; link = &(*link)->next) {
    rendezvous_t* have = *link;
    bool same_call_site = like->channel_id > 0 ? have->channel_id == like->channel_id
                                               : have->channel_id <= 0 && have->site == like->site;
    if (same_call_site && have->is_exchange == like->is_exchange &&
        have->member_count == like->member_count && have->part_count == like->part_count &&
        have->states[me] == ABSENT &&
        memcmp(have->members, members, like->member_count * sizeof *members) == 0) {
      *out_rendezvous = have;
      return hlo_ok();
    }
  }
  HLO_TRY(rendezvous_create(like, members, out_rendezvous));
  (*out_rendezvous)->number = ++group->rendezvous_count;
  *link = *out_rendezvous;
  return hlo_ok();
}

// The last member to leave frees the rendezvous.
static void leave(hlo_run_group_t* group, rendezvous_t* rendezvous, uint32_t me) {
  rendezvous->states[me] = LEFT;
  if (++rendezvous->left_count < rendezvous->member_count) return;
  rendezvous_t** link = &group->rendezvous_list;
  while (*link != rendezvous) link = &(*link)->next;
  *link = rendezvous->next;
  rendezvous_release(rendezvous);
}

static void begin_wait(hlo_run_group_t* group, uint32_t process) {
  group->waiting_count += !group->processes[process].is_waiting;
  group->processes[process].is_waiting = true;
}

static void wake(hlo_run_group_t* group, uint32_t process) {
  if (!group->processes[process].is_waiting) return;
  group->processes[process].is_waiting = false;
  --group->waiting_count;
  hlo_run_resume(group->runs[process]);
}

static void wake_members(hlo_run_group_t* group, const rendezvous_t* rendezvous) {
  for (uint32_t i = 0; i < rendezvous->member_count; ++i) wake(group, rendezvous->members[i]);
}

static void fail_locked(hlo_run_group_t* group, hlo_status_t error) {
  if (hlo_status_is_ok(group->error)) group->error = hlo_status_clone(error);
  for (uint32_t i = 0; i < group->process_count; ++i) wake(group, i);
}

static void explain_locked(const hlo_run_group_t* group, uint32_t row, hlo_strbuf_t* out);

static void print_device(const hlo_run_group_t* group, uint32_t row, hlo_strbuf_t* out) {
  hlo_group_print_member(group, row, out);
  hlo_strbuf_printf(out, " on device %d", group->processes[row].device_id);
}

// ---- waits that cannot end

// Fails the group: `reason`, then who waits for whom.
static void fail_stalled(hlo_run_group_t* group, const hlo_run_t* run, const char* reason) {
  enum { SHOWN = 8 };
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_printf(&text, "run %llu of %s: %s", (unsigned long long)run->frame.run_id,
                    run->loaded->executable->name, reason);
  uint32_t count = 0;
  for (uint32_t row = 0; row < group->process_count; ++row) {
    if (!group->processes[row].is_waiting || ++count > SHOWN) continue;
    hlo_strbuf_puts(&text, count == 1 ? ": " : "; ");
    print_device(group, row, &text);
    hlo_strbuf_putc(&text, ' ');
    explain_locked(group, row, &text);
  }
  if (count > SHOWN) hlo_strbuf_printf(&text, "; and %u more", count - SHOWN);
  hlo_status_t error =
      hlo_status_create(HLO_STATUS_FAILED_PRECONDITION, "%s", hlo_strbuf_text(&text));
  fail_locked(group, error);
  hlo_status_release(error);
}

static bool is_complete(const rendezvous_t* rendezvous) {
  return rendezvous->arrived_count == rendezvous->member_count;
}

// Returns true if a member that has not arrived never will.
static bool misses_ended(const hlo_run_group_t* group, const rendezvous_t* rendezvous) {
  for (uint32_t i = 0; i < rendezvous->member_count; ++i) {
    const process_t* process = &group->processes[rendezvous->members[i]];
    if (rendezvous->states[i] == ABSENT && process->has_ended) return true;
  }
  return false;
}

// Called when a process begins to wait or ends: without another one that goes on, or with a member
// that has ended, a wait never ends.
static void check_waits(hlo_run_group_t* group, const hlo_run_t* run) {
  if (!hlo_status_is_ok(group->error) || group->waiting_count == 0) return;
  if (HLO_UNLIKELY(group->waiting_count + group->ended_count == group->process_count)) {
    fail_stalled(group, run, "every device waits or has ended");
    return;
  }
  const rendezvous_t* r = group->ended_count ? group->rendezvous_list : NULL;
  for (; r; r = r->next) {
    if (is_complete(r) || !misses_ended(group, r)) continue;
    fail_stalled(group, run, "a device has ended for which others wait");
    return;
  }
}

static void suspend(hlo_run_group_t* group, uint32_t row) {
  begin_wait(group, row);
  check_waits(group, group->runs[row]);
}

// ---- collectives of interpreted programs

static hlo_status_t meet_locked(hlo_run_group_t* group, const hlo_rendezvous_t* m, void** ticket,
                                hlo_tensor_t** out_parts, bool* out_pending) {
  if (!hlo_status_is_ok(group->error)) return hlo_status_clone(group->error);
  uint32_t me = member_number(m);
  rendezvous_t* rendezvous = *ticket;
  if (!rendezvous) {
    const rendezvous_t like = {.site = m->node->index + 1,
                               .node = m->node,
                               .channel_id = m->channel_id,
                               .member_count = m->member_count,
                               .part_count = m->tensor_count};
    HLO_TRY(find_rendezvous(group, &like, m->members, me, &rendezvous));
    *ticket = rendezvous;
    rendezvous->states[me] = ARRIVED;
    HLO_TRY(keep_tensors(m->tensor_count, m->tensors,
                         (hlo_tensor_t**)&rendezvous->parts[me * m->tensor_count]));
    if (++rendezvous->arrived_count == rendezvous->member_count) wake_members(group, rendezvous);
  }
  if (rendezvous->arrived_count < rendezvous->member_count) {
    *out_pending = true;
    suspend(group, m->process);
    return hlo_ok();
  }
  uint32_t count = m->member_count * m->tensor_count;
  for (uint32_t i = 0; i < count; ++i) out_parts[i] = hlo_tensor_retain(rendezvous->parts[i]);
  leave(group, rendezvous, me);
  return hlo_ok();
}

static hlo_status_t grid_meet(void* context, const hlo_rendezvous_t* m, void** ticket,
                              hlo_tensor_t** out_parts, bool* out_pending) {
  hlo_run_group_t* group = context;
  *out_pending = false;
  hlo_mutex_lock(&group->lock);
  hlo_status_t status = meet_locked(group, m, ticket, out_parts, out_pending);
  hlo_mutex_unlock(&group->lock);
  return status;
}

static void message_release(message_t* message) {
  for (uint32_t i = 0; i < message->tensor_count; ++i) hlo_tensor_release(message->tensors[i]);
  hlo_mem_free(message);
}

static hlo_status_t grid_send(void* context, uint32_t source, uint32_t target, int64_t channel_id,
                              uint32_t tensor_count, hlo_tensor_t* const* tensors) {
  hlo_run_group_t* group = context;
  size_t bytes = sizeof(message_t) + tensor_count * sizeof(hlo_tensor_t*);
  message_t* message = hlo_mem_alloc_zeroed(bytes);
  if (!message) return hlo_status_out_of_memory(bytes);
  *message = (message_t){NULL, source, target, channel_id, tensor_count};
  hlo_status_t status = keep_tensors(tensor_count, tensors, message->tensors);
  if (!hlo_status_is_ok(status)) {
    message_release(message);
    return status;
  }
  hlo_mutex_lock(&group->lock);
  message_t** link = &group->messages;
  while (*link) link = &(*link)->next;
  *link = message;
  if (target < group->process_count) wake(group, target);
  hlo_mutex_unlock(&group->lock);
  return hlo_ok();
}

static hlo_status_t recv_locked(hlo_run_group_t* group, uint32_t source, uint32_t target,
                                int64_t channel_id, uint32_t tensor_count,
                                hlo_tensor_t** out_tensors, bool* out_pending) {
  for (message_t** link = &group->messages; *link; link = &(*link)->next) {
    message_t* message = *link;
    if (message->source != source || message->target != target ||
        message->channel_id != channel_id) {
      continue;
    }
    if (message->tensor_count != tensor_count) {
      return hlo_invalid_argument("channel %lld: %u tensors were sent, but %u are received",
                                  (long long)channel_id, message->tensor_count, tensor_count);
    }
    *link = message->next;
    group->processes[target].recv.is_waiting = false;
    memcpy(out_tensors, message->tensors, tensor_count * sizeof(hlo_tensor_t*));
    hlo_mem_free(message);
    return hlo_ok();
  }
  if (!hlo_status_is_ok(group->error)) return hlo_status_clone(group->error);
  recv_wait_t* wait = &group->processes[target].recv;
  const bool is_same = wait->is_waiting && wait->source == source && wait->channel_id == channel_id;
  if (!is_same) *wait = (recv_wait_t){true, source, channel_id, 0};
  *out_pending = true;
  suspend(group, target);
  return hlo_ok();
}

static hlo_status_t grid_recv(void* context, uint32_t source, uint32_t target, int64_t channel_id,
                              uint32_t tensor_count, hlo_tensor_t** out_tensors,
                              bool* out_pending) {
  hlo_run_group_t* group = context;
  *out_pending = false;
  hlo_mutex_lock(&group->lock);
  hlo_status_t status =
      recv_locked(group, source, target, channel_id, tensor_count, out_tensors, out_pending);
  hlo_mutex_unlock(&group->lock);
  return status;
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

// ---- collectives of compiled programs

static bool is_cancelled(hlo_frame_t* frame) {
  return atomic_load_explicit(&frame->cancelled, memory_order_relaxed);
}

// Members may be at different call sites of one channel, which must be of one kind.
static hlo_status_t check_alike(const rendezvous_t* rendezvous) {
  for (uint32_t m = 0; m < rendezvous->member_count; ++m) {
    const hlo_node_t *node = rendezvous->call_sites[m], *first = rendezvous->call_sites[0];
    bool is_alike = node->op == first->op && node->operand_count == first->operand_count &&
                    node->result_count == first->result_count;
    for (uint32_t i = 0; is_alike && i < node->operand_count; ++i) {
      is_alike = hlo_node_operand_type(node, i) == hlo_node_operand_type(first, i);
    }
    for (uint32_t i = 0; is_alike && i < node->result_count; ++i) {
      is_alike = node->results[i].type == first->results[i].type;
    }
    if (!is_alike) {
      return hlo_node_invalid(node, "the members of the group have different types or shapes");
    }
  }
  return hlo_ok();
}

// Adds the part of this run; sets *out_rendezvous if it is the last one.
static hlo_status_t arrive(hlo_frame_t* frame, uint32_t call_site_number,
                           rendezvous_t** out_rendezvous) {
  hlo_run_t* run = frame->owner;
  hlo_run_group_t* group = run->group;
  const hlo_execute_collective_t call_site = hlo_execute_find_collective(frame, call_site_number);
  uint32_t me = 0;
  const hlo_exchange_group_t* members = hlo_exchange_group(call_site.exchange, run->row, &me);
  const rendezvous_t like = {
      .site = call_site_number,
      .node = call_site.node,
      .channel_id = hlo_node_attr_int(call_site.node, HLO_ATTR_channel_id, 0),
      .is_exchange = true,
      .member_count = members->member_count,
      .part_count = hlo_exchange_buffer_count(call_site.exchange)};
  if (!hlo_status_is_ok(group->error)) return hlo_status_clone(group->error);
  rendezvous_t* rendezvous = NULL;
  HLO_TRY(find_rendezvous(group, &like, members->members, me, &rendezvous));
  rendezvous->states[me] = ARRIVED;
  rendezvous->call_sites[me] = call_site.node;
  hlo_execute_addresses(frame, call_site_number, &rendezvous->parts[me * rendezvous->part_count]);
  if (rendezvous->arrived_count + 1 == rendezvous->member_count) HLO_TRY(check_alike(rendezvous));
  if (++rendezvous->arrived_count == rendezvous->member_count) *out_rendezvous = rendezvous;
  return hlo_ok();
}

// The span is that of the member that arrives last and exchanges the data for all.
static void trace_exchange(const hlo_run_t* run, const rendezvous_t* rendezvous,
                           uint64_t begin_ns, uint64_t moved_bytes) {
  if (HLO_LIKELY(!begin_ns)) return;
  const hlo_span_fact_t facts[] = {{"members", rendezvous->member_count},
                                   {"run_id", (int64_t)run->frame.run_id},
                                   {"bytes", (int64_t)moved_bytes}};
  const hlo_node_t* node = rendezvous->call_sites[0];
  hlo_trace_end_with(hlo_client_trace(run->loaded->client), begin_ns, "collective",
                     hlo_op_info(node->op)->name, NULL, facts, sizeof facts / sizeof *facts);
}

static int32_t exchange_start(hlo_frame_t* frame, uint32_t call_site_number) {
  hlo_run_t* run = frame->owner;
  hlo_run_group_t* group = run->group;
  const hlo_execute_collective_t call_site = hlo_execute_find_collective(frame, call_site_number);
  rendezvous_t* rendezvous = NULL;
  hlo_mutex_lock(&group->lock);
  hlo_status_t status = arrive(frame, call_site_number, &rendezvous);
  hlo_mutex_unlock(&group->lock);
  if (!hlo_status_is_ok(status)) return hlo_execute_fail(frame, call_site_number, status);
  if (!rendezvous) return HLO_PROGRAM_DONE;
  uint32_t me = 0;
  const hlo_exchange_group_t* members = hlo_exchange_group(call_site.exchange, run->row, &me);
  const hlo_parallel_t parallel = hlo_frame_parallel(frame);
  const uint64_t begin_ns = hlo_trace_begin();
  uint64_t moved_bytes = 0;
  status = hlo_exchange_run(call_site.exchange, members, rendezvous->parts, &parallel,
                            begin_ns ? &moved_bytes : NULL);
  status = hlo_node_annotate(call_site.node, status);
  trace_exchange(run, rendezvous, begin_ns, moved_bytes);
  hlo_mutex_lock(&group->lock);
  rendezvous->is_done = true;
  rendezvous->has_failed = !hlo_status_is_ok(status);
  if (rendezvous->has_failed) fail_locked(group, status);
  wake_members(group, rendezvous);
  hlo_mutex_unlock(&group->lock);
  return hlo_status_is_ok(status) ? HLO_PROGRAM_DONE
                                  : hlo_execute_fail(frame, call_site_number, status);
}

// The last member exchanges the data of all members.
static bool is_under_way(const rendezvous_t* rendezvous) {
  return rendezvous->is_exchange && !rendezvous->is_done &&
         rendezvous->arrived_count == rendezvous->member_count;
}

// Returns the oldest rendezvous that a run began at a call site.
static rendezvous_t* find_begun(const hlo_run_t* run, const hlo_node_t* call_site, uint32_t me) {
  for (rendezvous_t* rendezvous = run->group->rendezvous_list; rendezvous;
       rendezvous = rendezvous->next) {
    if (rendezvous->is_exchange && me < rendezvous->member_count &&
        rendezvous->members[me] == run->row && rendezvous->call_sites[me] == call_site &&
        rendezvous->states[me] == ARRIVED) {
      return rendezvous;
    }
  }
  return NULL;
}

static int32_t exchange_done(hlo_frame_t* frame, uint32_t call_site_number) {
  hlo_run_t* run = frame->owner;
  hlo_run_group_t* group = run->group;
  const hlo_execute_collective_t call_site = hlo_execute_find_collective(frame, call_site_number);
  int32_t answer = HLO_PROGRAM_DONE;
  hlo_status_t status = hlo_ok();
  uint32_t me = 0;
  hlo_exchange_group(call_site.exchange, run->row, &me);
  hlo_mutex_lock(&group->lock);
  rendezvous_t* rendezvous = find_begun(run, call_site.node, me);
  if (rendezvous && rendezvous->is_done && !rendezvous->has_failed) {
    leave(group, rendezvous, me);
  } else if (!(rendezvous && is_under_way(rendezvous)) && !hlo_status_is_ok(group->error)) {
    status = hlo_status_clone(group->error);
  } else if (!(rendezvous && is_under_way(rendezvous)) && is_cancelled(frame)) {
    answer = hlo_execute_fail_cancelled(frame);
  } else {
    answer = HLO_PROGRAM_SUSPENDED;
    suspend(group, run->row);
  }
  hlo_mutex_unlock(&group->lock);
  return hlo_status_is_ok(status) ? answer : hlo_execute_fail(frame, call_site_number, status);
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
  uint32_t count = replica_count * partition_count;
  size_t bytes = sizeof(hlo_run_group_t) + count * (sizeof(hlo_run_t*) + sizeof(process_t));
  hlo_run_group_t* group = hlo_mem_alloc_zeroed(bytes);
  if (!group) return hlo_status_out_of_memory(bytes);
  atomic_init(&group->count, 1);
  hlo_mutex_init(&group->lock, HLO_LOCK_LEVEL_COLLECTIVE);
  group->process_count = count;
  group->progress.run_count = count;
  memcpy(group->runs, runs, count * sizeof(hlo_run_t*));
  group->processes = (process_t*)(group->runs + count);
  for (uint32_t i = 0; i < count; ++i) group->processes[i].device_id = runs[i]->device->id;
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
  while (group->rendezvous_list) {
    rendezvous_t* next = group->rendezvous_list->next;
    rendezvous_release(group->rendezvous_list);
    group->rendezvous_list = next;
  }
  while (group->messages) {
    message_t* message = group->messages;
    group->messages = message->next;
    message_release(message);
  }
  hlo_status_release(group->error);
  hlo_mutex_deinit(&group->lock);
  hlo_mem_free(group);
}

void hlo_group_fail(hlo_run_group_t* group, hlo_status_t error) {
  hlo_mutex_lock(&group->lock);
  fail_locked(group, error);
  hlo_mutex_unlock(&group->lock);
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

bool hlo_group_end(hlo_run_group_t* group, const hlo_run_t* run) {
  bool is_detained = false;
  hlo_mutex_lock(&group->lock);
  for (const rendezvous_t* rendezvous = group->rendezvous_list; rendezvous;
       rendezvous = rendezvous->next) {
    for (uint32_t i = 0; is_under_way(rendezvous) && i < rendezvous->member_count; ++i) {
      is_detained |= rendezvous->members[i] == run->row;
    }
  }
  if (is_detained) {
    begin_wait(group, run->row);
  } else if (!group->processes[run->row].has_ended) {
    group->processes[run->row].has_ended = true;
    ++group->ended_count;
    check_waits(group, run);
  }
  hlo_mutex_unlock(&group->lock);
  return !is_detained;
}

void hlo_group_keep_woken(hlo_run_group_t* group, hlo_run_t* run) {
  hlo_mutex_assert_held(&group->lock);
  run->next_woken = NULL;
  if (group->last_woken) {
    group->last_woken->next_woken = run;
  } else {
    group->first_woken = run;
  }
  group->last_woken = run;
}

hlo_run_t* hlo_group_take_woken(hlo_run_group_t* group) {
  hlo_mutex_lock(&group->lock);
  hlo_run_t* run = group->first_woken;
  if (run) group->first_woken = run->next_woken;
  if (!group->first_woken) group->last_woken = NULL;
  hlo_mutex_unlock(&group->lock);
  return run;
}

const hlo_runtime_table_t* hlo_group_runtime(hlo_run_group_t* group) {
  return group ? &group->runtime.table : &kAlone.table;
}

// ---- explanations

void hlo_group_print_member(const hlo_run_group_t* group, uint32_t row, hlo_strbuf_t* out) {
  const uint32_t replicas = group->grid.replica_count, partitions = group->grid.partition_count;
  if (replicas > 1 || partitions == 1) hlo_strbuf_printf(out, "replica %u", row / partitions);
  if (replicas > 1 && partitions > 1) hlo_strbuf_puts(out, ", ");
  if (partitions > 1) hlo_strbuf_printf(out, "partition %u", row % partitions);
}

static void print_missing(const hlo_run_group_t* group, const rendezvous_t* rendezvous,
                          hlo_strbuf_t* out) {
  enum { SHOWN = 8 };
  uint32_t count = 0;
  for (uint32_t i = 0; i < rendezvous->member_count; ++i) {
    if (rendezvous->states[i] != ABSENT || ++count > SHOWN) continue;
    hlo_strbuf_puts(out, count == 1 ? " for " : "; ");
    hlo_group_print_member(group, rendezvous->members[i], out);
  }
  if (count > SHOWN) hlo_strbuf_printf(out, " and %u more", count - SHOWN);
  hlo_strbuf_printf(out, " (%u of %u have arrived)", rendezvous->arrived_count,
                    rendezvous->member_count);
}

static void explain_rendezvous(const hlo_run_group_t* group, const rendezvous_t* rendezvous,
                               uint32_t me, hlo_strbuf_t* out) {
  const hlo_node_t* node =
      rendezvous->call_sites[me] ? rendezvous->call_sites[me] : rendezvous->node;
  hlo_strbuf_puts(out, "waits in ");
  hlo_node_print_location(node, out);
  if (rendezvous->channel_id > 0) {
    hlo_strbuf_printf(out, ", channel %lld,", (long long)rendezvous->channel_id);
  }
  if (rendezvous->arrived_count == rendezvous->member_count) {
    hlo_strbuf_puts(out, " for the member that exchanges the data");
  } else {
    print_missing(group, rendezvous, out);
  }
}

static void explain_locked(const hlo_run_group_t* group, uint32_t row, hlo_strbuf_t* out) {
  if (!group->processes[row].is_waiting) return;
  for (const rendezvous_t* r = group->rendezvous_list; r; r = r->next) {
    for (uint32_t i = 0; i < r->member_count; ++i) {
      if (r->members[i] != row || r->states[i] != ARRIVED || r->is_done) continue;
      explain_rendezvous(group, r, i, out);
      return;
    }
  }
  const recv_wait_t* wait = &group->processes[row].recv;
  if (!wait->is_waiting) return;
  hlo_strbuf_printf(out, "waits in recv, channel %lld, for ", (long long)wait->channel_id);
  if (wait->source < group->process_count) {
    hlo_group_print_member(group, wait->source, out);
  } else {
    hlo_strbuf_puts(out, "any replica");
  }
}

void hlo_group_explain(hlo_run_group_t* group, uint32_t row, hlo_strbuf_t* out) {
  hlo_mutex_lock(&group->lock);
  explain_locked(group, row, out);
  hlo_mutex_unlock(&group->lock);
}

// ---- for monitors of waits

uint32_t hlo_group_process_count(const hlo_run_group_t* group) {
  return group->process_count;
}

static bool has_waiting_member(const hlo_run_group_t* group, const rendezvous_t* rendezvous) {
  for (uint32_t i = 0; i < rendezvous->member_count; ++i) {
    if (rendezvous->states[i] == ARRIVED && group->processes[rendezvous->members[i]].is_waiting) {
      return true;
    }
  }
  return false;
}

static void describe_wait(rendezvous_t* rendezvous, uint64_t now_ns, hlo_group_wait_t* out_wait) {
  if (!rendezvous->seen_ns) rendezvous->seen_ns = now_ns;
  out_wait->since_ns = rendezvous->seen_ns;
  out_wait->number = rendezvous->number;
  out_wait->node = rendezvous->node;
  out_wait->channel_id = rendezvous->channel_id;
  out_wait->missing_count = out_wait->arrived_count = 0;
  for (uint32_t i = 0; i < rendezvous->member_count; ++i) {
    const bool is_missing = rendezvous->states[i] == ABSENT;
    if (is_missing) {
      out_wait->missing[out_wait->missing_count++] = rendezvous->members[i];
    } else {
      out_wait->arrived[out_wait->arrived_count++] = rendezvous->members[i];
    }
  }
}

static bool find_wait_locked(hlo_run_group_t* group, uint64_t after, uint64_t now_ns,
                             hlo_group_wait_t* out_wait) {
  rendezvous_t* r = group->rendezvous_list;
  while (r && (r->number <= after || is_complete(r) || !has_waiting_member(group, r))) r = r->next;
  if (r) {
    describe_wait(r, now_ns, out_wait);
    return true;
  }
  uint32_t row = after > HLO_GROUP_RECV ? (uint32_t)(after - HLO_GROUP_RECV) : 0;
  for (; row < group->process_count; ++row) {
    process_t* process = &group->processes[row];
    if (!process->is_waiting || !process->recv.is_waiting) continue;
    if (!process->recv.seen_ns) process->recv.seen_ns = now_ns;
    out_wait->since_ns = process->recv.seen_ns;
    out_wait->number = HLO_GROUP_RECV + row + 1;
    out_wait->node = NULL;
    out_wait->channel_id = process->recv.channel_id;
    out_wait->arrived[0] = row;
    out_wait->arrived_count = 1;
    out_wait->missing[0] = process->recv.source;
    out_wait->missing_count = process->recv.source < group->process_count;
    return true;
  }
  return false;
}

bool hlo_group_is_waiting(hlo_run_group_t* group, uint32_t row) {
  hlo_mutex_lock(&group->lock);
  const bool is_waiting = group->processes[row].is_waiting;
  hlo_mutex_unlock(&group->lock);
  return is_waiting;
}

bool hlo_group_find_wait(hlo_run_group_t* group, uint64_t after, uint64_t now_ns,
                         hlo_group_wait_t* out_wait) {
  hlo_mutex_lock(&group->lock);
  const bool is_found =
      hlo_status_is_ok(group->error) && find_wait_locked(group, after, now_ns, out_wait);
  hlo_mutex_unlock(&group->lock);
  return is_found;
}

static bool still_waits(const hlo_run_group_t* group, uint64_t number) {
  if (number > HLO_GROUP_RECV) {
    const process_t* process = &group->processes[number - HLO_GROUP_RECV - 1];
    return process->is_waiting && process->recv.is_waiting;
  }
  const rendezvous_t* r = group->rendezvous_list;
  while (r && r->number != number) r = r->next;
  return r && !is_complete(r);
}

bool hlo_group_fail_wait(hlo_run_group_t* group, uint64_t number, hlo_status_t error) {
  hlo_mutex_lock(&group->lock);
  const bool fails = hlo_status_is_ok(group->error) && still_waits(group, number);
  if (fails) fail_locked(group, error);
  hlo_mutex_unlock(&group->lock);
  if (fails) submit_woken(group);
  return fails;
}

hlo_launch_progress_t* hlo_group_progress(hlo_run_group_t* group) {
  return &group->progress;
}

hlo_status_t hlo_group_allocate(hlo_run_group_t* group) {
  hlo_status_t status = hlo_ok();
  uint32_t count = 0;
  while (count < group->process_count && hlo_status_is_ok(status)) {
    status = hlo_run_allocate(group->runs[count]);
    count += hlo_status_is_ok(status);
  }
  while (!hlo_status_is_ok(status) && count-- > 0) hlo_run_deallocate(group->runs[count]);
  return status;
}
