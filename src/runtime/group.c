// SPDX-License-Identifier: Apache-2.0
// Meetings of the runs of one launch (see group.h): the last to arrive wakes the others.
#include "runtime/group.h"

#include <string.h>

#include "base/mem.h"
#include "compiler/execute.h"
#include "ir/node_error.h"

typedef enum presence { AWAY, HERE, GONE } presence_t;

// Interpreted members arrive with tensors, and leave with everybody's. Compiled ones arrive with
// the addresses of operands and results: the last to arrive does the work for all.
typedef struct meeting {
  struct meeting* next;
  const hlo_node_t* node;
  int64_t channel_id;
  bool is_exchange, is_done;
  uint32_t member_count, part_count;
  uint32_t arrived_count, left_count;
  void** parts;              // [member][part]: hlo_tensor_t*, or addresses; NULL of those away
  presence_t* presence;      // by member
  const hlo_node_t** sites;  // by member: where an exchange was begun
  uint32_t members[];
} meeting_t;

// A sent value on its way.
typedef struct parcel {
  struct parcel* next;
  uint32_t source, target;
  int64_t channel_id;
  uint32_t tensor_count;
  hlo_tensor_t* tensors[];
} parcel_t;

struct hlo_run_group {
  atomic_int count;
  hlo_mutex_t lock;  // guards all below
  meeting_t* meetings;
  parcel_t* parcels;
  hlo_run_t *first_woken, *last_woken;
  hlo_status_t error;
  uint32_t process_count;
  bool* is_waiting;  // per process: suspended in a meeting or recv
  hlo_interp_runtime_t runtime;
  hlo_process_grid_t grid;
  hlo_run_t* runs[];
};

// What others read when its owner may have gone on: memory that is lent is copied.
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

static void meeting_release(meeting_t* meeting) {
  uint32_t count = meeting->member_count * meeting->part_count;
  for (uint32_t i = 0; !meeting->is_exchange && i < count; ++i) {
    hlo_tensor_release(meeting->parts[i]);
  }
  hlo_mem_free(meeting);
}

// What is looked for, or made: as much of it as tells meetings apart.
static hlo_status_t meeting_create(const meeting_t* like, const uint32_t* members,
                                   meeting_t** out_meeting) {
  size_t count = like->member_count, parts = count * like->part_count;
  size_t head = (sizeof(meeting_t) + count * sizeof(uint32_t) + 7) & ~(size_t)7;
  size_t bytes = head + (parts + count) * sizeof(void*) + count * sizeof(presence_t);
  meeting_t* meeting = hlo_mem_alloc_zeroed(bytes);
  if (!meeting) return hlo_status_out_of_memory(bytes);
  *meeting = *like;
  meeting->parts = (void**)((uint8_t*)meeting + head);
  meeting->sites = (const hlo_node_t**)(meeting->parts + parts);
  meeting->presence = (presence_t*)(meeting->sites + count);
  memcpy(meeting->members, members, count * sizeof *members);
  *out_meeting = meeting;
  return hlo_ok();
}

static uint32_t member_number(const hlo_meeting_t* m) {
  for (uint32_t i = 0; i < m->member_count; ++i) {
    if (m->members[i] == m->process) return i;
  }
  return 0;
}

// The oldest meeting of the same kind at which the caller has not been.
static hlo_status_t find_meeting(hlo_run_group_t* group, const meeting_t* like,
                                 const uint32_t* members, uint32_t me, meeting_t** out_meeting) {
  meeting_t** link = &group->meetings;
  for (; *link; link = &(*link)->next) {
    meeting_t* have = *link;
    bool same_site = like->channel_id > 0 ? have->channel_id == like->channel_id
                                          : have->channel_id <= 0 && have->node == like->node;
    if (same_site && have->is_exchange == like->is_exchange &&
        have->member_count == like->member_count && have->part_count == like->part_count &&
        have->presence[me] == AWAY &&
        memcmp(have->members, members, like->member_count * sizeof *members) == 0) {
      *out_meeting = have;
      return hlo_ok();
    }
  }
  HLO_TRY(meeting_create(like, members, out_meeting));
  *link = *out_meeting;
  return hlo_ok();
}

// The last to leave takes the meeting down.
static void leave(hlo_run_group_t* group, meeting_t* meeting, uint32_t me) {
  meeting->presence[me] = GONE;
  if (++meeting->left_count < meeting->member_count) return;
  meeting_t** link = &group->meetings;
  while (*link != meeting) link = &(*link)->next;
  *link = meeting->next;
  meeting_release(meeting);
}

static void wake(hlo_run_group_t* group, uint32_t process) {
  if (!group->is_waiting[process]) return;
  group->is_waiting[process] = false;
  hlo_run_resume(group->runs[process]);
}

static void wake_members(hlo_run_group_t* group, const meeting_t* meeting) {
  for (uint32_t i = 0; i < meeting->member_count; ++i) wake(group, meeting->members[i]);
}

static hlo_status_t meet_locked(hlo_run_group_t* group, const hlo_meeting_t* m, void** ticket,
                                hlo_tensor_t** out_parts, bool* out_pending) {
  if (!hlo_status_is_ok(group->error)) return hlo_status_clone(group->error);
  uint32_t me = member_number(m);
  meeting_t* meeting = *ticket;
  if (!meeting) {
    const meeting_t like = {.node = m->node,
                            .channel_id = m->channel_id,
                            .member_count = m->member_count,
                            .part_count = m->tensor_count};
    HLO_TRY(find_meeting(group, &like, m->members, me, &meeting));
    *ticket = meeting;
    meeting->presence[me] = HERE;
    HLO_TRY(keep_tensors(m->tensor_count, m->tensors,
                         (hlo_tensor_t**)&meeting->parts[me * m->tensor_count]));
    if (++meeting->arrived_count == meeting->member_count) wake_members(group, meeting);
  }
  if (meeting->arrived_count < meeting->member_count) {
    group->is_waiting[m->process] = true;
    *out_pending = true;
    return hlo_ok();
  }
  uint32_t count = m->member_count * m->tensor_count;
  for (uint32_t i = 0; i < count; ++i) out_parts[i] = hlo_tensor_retain(meeting->parts[i]);
  leave(group, meeting, me);
  return hlo_ok();
}

static hlo_status_t grid_meet(void* context, const hlo_meeting_t* m, void** ticket,
                              hlo_tensor_t** out_parts, bool* out_pending) {
  hlo_run_group_t* group = context;
  *out_pending = false;
  hlo_mutex_lock(&group->lock);
  hlo_status_t status = meet_locked(group, m, ticket, out_parts, out_pending);
  hlo_mutex_unlock(&group->lock);
  return status;
}

static void parcel_release(parcel_t* parcel) {
  for (uint32_t i = 0; i < parcel->tensor_count; ++i) hlo_tensor_release(parcel->tensors[i]);
  hlo_mem_free(parcel);
}

static hlo_status_t grid_send(void* context, uint32_t source, uint32_t target, int64_t channel_id,
                              uint32_t tensor_count, hlo_tensor_t* const* tensors) {
  hlo_run_group_t* group = context;
  size_t bytes = sizeof(parcel_t) + tensor_count * sizeof(hlo_tensor_t*);
  parcel_t* parcel = hlo_mem_alloc_zeroed(bytes);
  if (!parcel) return hlo_status_out_of_memory(bytes);
  *parcel = (parcel_t){NULL, source, target, channel_id, tensor_count};
  hlo_status_t status = keep_tensors(tensor_count, tensors, parcel->tensors);
  if (!hlo_status_is_ok(status)) {
    parcel_release(parcel);
    return status;
  }
  hlo_mutex_lock(&group->lock);
  parcel_t** link = &group->parcels;
  while (*link) link = &(*link)->next;
  *link = parcel;
  if (target < group->process_count) wake(group, target);
  hlo_mutex_unlock(&group->lock);
  return hlo_ok();
}

static hlo_status_t recv_locked(hlo_run_group_t* group, uint32_t source, uint32_t target,
                                int64_t channel_id, uint32_t tensor_count,
                                hlo_tensor_t** out_tensors, bool* out_pending) {
  for (parcel_t** link = &group->parcels; *link; link = &(*link)->next) {
    parcel_t* parcel = *link;
    if (parcel->source != source || parcel->target != target || parcel->channel_id != channel_id) {
      continue;
    }
    if (parcel->tensor_count != tensor_count) {
      return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                               "channel %lld: %u tensors were sent, %u are to be received",
                               (long long)channel_id, parcel->tensor_count, tensor_count);
    }
    *link = parcel->next;
    memcpy(out_tensors, parcel->tensors, tensor_count * sizeof(hlo_tensor_t*));
    hlo_mem_free(parcel);
    return hlo_ok();
  }
  if (!hlo_status_is_ok(group->error)) return hlo_status_clone(group->error);
  group->is_waiting[target] = true;
  *out_pending = true;
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

static int32_t parallel_for(hlo_frame_t* frame, uint64_t chunk_count, hlo_kernel_chunk_t chunk,
                            void* context) {
  const hlo_run_t* run = frame->owner;
  return hlo_execute_parallel_for(hlo_client_pool(run->loaded->client), frame, chunk_count, chunk,
                                  context);
}

static void kernel_for(hlo_frame_t* frame, uint64_t chunk_count, hlo_parallel_chunk_t chunk,
                       void* argument) {
  const hlo_run_t* run = frame->owner;
  hlo_execute_kernel_for(hlo_client_pool(run->loaded->client), chunk_count, chunk, argument);
}

// ---- collectives of compiled programs

static bool is_cancelled(hlo_frame_t* frame) {
  return atomic_load_explicit(&frame->cancelled, memory_order_relaxed);
}

// Members may be at different sites of one channel: they have to be of one kind.
static hlo_status_t check_alike(const meeting_t* meeting) {
  for (uint32_t m = 0; m < meeting->member_count; ++m) {
    const hlo_node_t *node = meeting->sites[m], *first = meeting->sites[0];
    bool is_alike = node->op == first->op;
    for (uint32_t i = 0; is_alike && i < node->operand_count; ++i) {
      is_alike = hlo_node_operand_type(node, i) == hlo_node_operand_type(first, i) &&
                 node->results[i].type == first->results[i].type;
    }
    if (!is_alike) {
      return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT,
                            "the members of its group bring different types or shapes");
    }
  }
  return hlo_ok();
}

// Adds the part of this run; *out_meeting is set if it is the last one.
static hlo_status_t arrive(hlo_frame_t* frame, uint32_t site_number, meeting_t** out_meeting) {
  hlo_run_t* run = frame->owner;
  hlo_run_group_t* group = run->group;
  const hlo_execute_collective_t site = hlo_execute_find_collective(frame, site_number);
  uint32_t me = 0, tensors = hlo_exchange_tensor_count(site.exchange);
  const hlo_exchange_group_t* members = hlo_exchange_group(site.exchange, run->row, &me);
  const meeting_t like = {.node = site.node,
                          .channel_id = hlo_node_attr_int(site.node, HLO_ATTR_channel_id, 0),
                          .is_exchange = true,
                          .member_count = members->member_count,
                          .part_count = 2 * tensors};
  if (!hlo_status_is_ok(group->error)) return hlo_status_clone(group->error);
  meeting_t* meeting = NULL;
  HLO_TRY(find_meeting(group, &like, members->members, me, &meeting));
  meeting->presence[me] = HERE;
  meeting->sites[me] = site.node;
  hlo_execute_collective_addresses(frame, site_number, &meeting->parts[me * meeting->part_count]);
  if (meeting->arrived_count + 1 == meeting->member_count) HLO_TRY(check_alike(meeting));
  if (++meeting->arrived_count == meeting->member_count) *out_meeting = meeting;
  return hlo_ok();
}

static int32_t async_start(hlo_frame_t* frame, uint32_t site_number) {
  hlo_run_t* run = frame->owner;
  hlo_run_group_t* group = run->group;
  const hlo_execute_collective_t site = hlo_execute_find_collective(frame, site_number);
  if (!site.exchange) return HLO_KERNEL_DONE;  // see async_done()
  meeting_t* meeting = NULL;
  hlo_mutex_lock(&group->lock);
  hlo_status_t status = arrive(frame, site_number, &meeting);
  hlo_mutex_unlock(&group->lock);
  if (!hlo_status_is_ok(status)) return hlo_execute_fail(frame, site_number, status);
  if (!meeting) return HLO_KERNEL_DONE;
  const hlo_exchange_group_t members = {meeting->member_count, meeting->members};
  const hlo_parallel_t parallel = hlo_frame_parallel(frame);
  hlo_exchange_run(site.exchange, &members, meeting->parts, &parallel);
  hlo_mutex_lock(&group->lock);
  meeting->is_done = true;
  wake_members(group, meeting);
  hlo_mutex_unlock(&group->lock);
  return HLO_KERNEL_DONE;
}

// The last member is at work, on everybody's memory.
static bool is_under_way(const meeting_t* meeting) {
  return meeting->is_exchange && !meeting->is_done &&
         meeting->arrived_count == meeting->member_count;
}

// The meeting that a run began at a site, the oldest first.
static meeting_t* find_begun(const hlo_run_t* run, const hlo_node_t* site, uint32_t me) {
  for (meeting_t* meeting = run->group->meetings; meeting; meeting = meeting->next) {
    if (meeting->is_exchange && me < meeting->member_count && meeting->members[me] == run->row &&
        meeting->sites[me] == site && meeting->presence[me] == HERE) {
      return meeting;
    }
  }
  return NULL;
}

static int32_t await_exchange(hlo_frame_t* frame, uint32_t site_number) {
  hlo_run_t* run = frame->owner;
  hlo_run_group_t* group = run->group;
  const hlo_execute_collective_t site = hlo_execute_find_collective(frame, site_number);
  int32_t answer = HLO_KERNEL_DONE;
  hlo_status_t status = hlo_ok();
  uint32_t me = 0;
  hlo_exchange_group(site.exchange, run->row, &me);
  hlo_mutex_lock(&group->lock);
  meeting_t* meeting = find_begun(run, site.node, me);
  if (meeting && meeting->is_done) {
    leave(group, meeting, me);
  } else if (!(meeting && is_under_way(meeting)) && !hlo_status_is_ok(group->error)) {
    status = hlo_status_clone(group->error);
  } else if (!(meeting && is_under_way(meeting)) && is_cancelled(frame)) {
    answer = hlo_execute_fail_cancelled(frame);
  } else {
    group->is_waiting[run->row] = true;
    answer = HLO_KERNEL_SUSPENDED;
  }
  hlo_mutex_unlock(&group->lock);
  return hlo_status_is_ok(status) ? answer : hlo_execute_fail(frame, site_number, status);
}

// What is no exchange hands over its part when the program first asks for what comes of it.
static int32_t async_done(hlo_frame_t* frame, uint32_t site_number) {
  hlo_run_t* run = frame->owner;
  if (hlo_execute_find_collective(frame, site_number).exchange) {
    return await_exchange(frame, site_number);
  }
  hlo_node_peers_t peers = {&run->group->grid, run->row, run->ticket, false};
  int32_t answer = is_cancelled(frame) ? hlo_execute_fail_cancelled(frame)
                                       : hlo_execute_collective_wait(frame, site_number, &peers);
  run->ticket = answer == HLO_KERNEL_SUSPENDED ? peers.ticket : NULL;
  return answer;
}

static const hlo_interp_runtime_t kAlone = {
    .table = {.abi_version = HLO_KERNEL_ABI_VERSION,
              .size_bytes = sizeof(hlo_interp_runtime_t),
              .parallel_for = parallel_for,
              .async_start = hlo_execute_async_start,
              .async_done = hlo_execute_async_done,
              .call_kernel = hlo_execute_call_kernel,
              .check_failed = hlo_execute_check_failed,
              .kernel_for = kernel_for}};

hlo_status_t hlo_group_create(uint32_t replica_count, uint32_t partition_count,
                              hlo_run_t* const* runs, hlo_run_group_t** out_group) {
  uint32_t count = replica_count * partition_count;
  size_t bytes = sizeof(hlo_run_group_t) + count * (sizeof(hlo_run_t*) + sizeof(bool));
  hlo_run_group_t* group = hlo_mem_alloc_zeroed(bytes);
  if (!group) return hlo_status_out_of_memory(bytes);
  atomic_init(&group->count, 1);
  hlo_mutex_init(&group->lock, HLO_LOCK_LEVEL_COLLECTIVE);
  group->process_count = count;
  memcpy(group->runs, runs, count * sizeof(hlo_run_t*));
  group->is_waiting = (bool*)(group->runs + count);
  group->grid = (hlo_process_grid_t){.context = group,
                                     .replica_count = replica_count,
                                     .partition_count = partition_count,
                                     .meet = grid_meet,
                                     .send = grid_send,
                                     .recv = grid_recv};
  group->runtime = (hlo_interp_runtime_t){.table = kAlone.table, .grid = &group->grid};
  group->runtime.table.async_start = async_start;
  group->runtime.table.async_done = async_done;
  *out_group = group;
  return hlo_ok();
}

hlo_run_group_t* hlo_group_retain(hlo_run_group_t* group) {
  atomic_fetch_add_explicit(&group->count, 1, memory_order_relaxed);
  return group;
}

void hlo_group_release(hlo_run_group_t* group) {
  if (!group || atomic_fetch_sub_explicit(&group->count, 1, memory_order_acq_rel) != 1) return;
  while (group->meetings) {
    meeting_t* next = group->meetings->next;
    meeting_release(group->meetings);
    group->meetings = next;
  }
  while (group->parcels) {
    parcel_t* parcel = group->parcels;
    group->parcels = parcel->next;
    parcel_release(parcel);
  }
  hlo_status_release(group->error);
  hlo_mutex_deinit(&group->lock);
  hlo_mem_free(group);
}

void hlo_group_fail(hlo_run_group_t* group, hlo_status_t error) {
  hlo_mutex_lock(&group->lock);
  if (hlo_status_is_ok(group->error)) group->error = hlo_status_clone(error);
  for (uint32_t i = 0; i < group->process_count; ++i) wake(group, i);
  hlo_mutex_unlock(&group->lock);
}

void hlo_group_stop(hlo_run_group_t* group, hlo_status_t error) {
  hlo_group_fail(group, error);
  for (hlo_run_t* run; (run = hlo_group_take_woken(group));) {
    hlo_pool_submit(hlo_client_pool(run->loaded->client), &run->job);
  }
}

bool hlo_group_detains(hlo_run_group_t* group, const hlo_run_t* run) {
  bool is_detained = false;
  hlo_mutex_lock(&group->lock);
  for (const meeting_t* meeting = group->meetings; meeting; meeting = meeting->next) {
    for (uint32_t i = 0; is_under_way(meeting) && i < meeting->member_count; ++i) {
      is_detained |= meeting->members[i] == run->row;
    }
  }
  if (is_detained) group->is_waiting[run->row] = true;
  hlo_mutex_unlock(&group->lock);
  return is_detained;
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
