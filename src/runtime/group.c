// SPDX-License-Identifier: Apache-2.0
// Meetings of the runs of one launch (see group.h): the last to arrive wakes the others.
#include "runtime/group.h"

#include <string.h>

#include "base/mem.h"
#include "codegen/sites.h"
#include "compiler/backend_interp.h"
#include "compiler/execute.h"

// Members arrive with tensors, and leave with everybody's.
typedef struct meeting {
  struct meeting* next;
  const hlo_node_t* node;
  int64_t channel_id;
  uint32_t member_count, tensor_count;
  uint32_t arrived_count, left_count;
  hlo_tensor_t** parts;  // [member][tensor]; NULL where a member has not arrived
  bool* has_arrived;
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
  uint32_t count = meeting->member_count * meeting->tensor_count;
  for (uint32_t i = 0; i < count; ++i) hlo_tensor_release(meeting->parts[i]);
  hlo_mem_free(meeting->parts);
  hlo_mem_free(meeting->has_arrived);
  hlo_mem_free(meeting);
}

static hlo_status_t meeting_create(const hlo_meeting_t* from, meeting_t** out_meeting) {
  size_t bytes = sizeof(meeting_t) + from->member_count * sizeof(uint32_t);
  meeting_t* meeting = hlo_mem_alloc_zeroed(bytes);
  if (!meeting) return hlo_status_out_of_memory(bytes);
  meeting->parts = hlo_mem_alloc_zeroed((size_t)from->member_count * from->tensor_count *
                                        sizeof(hlo_tensor_t*));
  meeting->has_arrived = hlo_mem_alloc_zeroed(from->member_count * sizeof(bool));
  meeting->node = from->node;
  meeting->channel_id = from->channel_id;
  meeting->member_count = from->member_count;
  meeting->tensor_count = from->tensor_count;
  memcpy(meeting->members, from->members, from->member_count * sizeof(uint32_t));
  if (!meeting->parts || !meeting->has_arrived) {
    meeting->tensor_count = 0;
    meeting_release(meeting);
    return hlo_status_out_of_memory(bytes);
  }
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
static hlo_status_t find_meeting(hlo_run_group_t* group, const hlo_meeting_t* m, uint32_t me,
                                 meeting_t** out_meeting) {
  meeting_t** link = &group->meetings;
  for (; *link; link = &(*link)->next) {
    meeting_t* have = *link;
    bool same_site = m->channel_id > 0 ? have->channel_id == m->channel_id
                                       : have->channel_id <= 0 && have->node == m->node;
    if (same_site && have->member_count == m->member_count &&
        have->tensor_count == m->tensor_count && !have->has_arrived[me] &&
        memcmp(have->members, m->members, m->member_count * sizeof(uint32_t)) == 0) {
      *out_meeting = have;
      return hlo_ok();
    }
  }
  HLO_TRY(meeting_create(m, out_meeting));
  *link = *out_meeting;
  return hlo_ok();
}

static void wake(hlo_run_group_t* group, uint32_t process) {
  if (!group->is_waiting[process]) return;
  group->is_waiting[process] = false;
  hlo_run_resume(group->runs[process]);
}

static hlo_status_t meet_locked(hlo_run_group_t* group, const hlo_meeting_t* m, void** ticket,
                                hlo_tensor_t** out_parts, bool* out_pending) {
  if (!hlo_status_is_ok(group->error)) return hlo_status_clone(group->error);
  uint32_t me = member_number(m);
  meeting_t* meeting = *ticket;
  if (!meeting) {
    HLO_TRY(find_meeting(group, m, me, &meeting));
    *ticket = meeting;
    meeting->has_arrived[me] = true;
    HLO_TRY(keep_tensors(m->tensor_count, m->tensors, &meeting->parts[me * m->tensor_count]));
    if (++meeting->arrived_count == meeting->member_count) {
      for (uint32_t i = 0; i < meeting->member_count; ++i) wake(group, meeting->members[i]);
    }
  }
  if (meeting->arrived_count < meeting->member_count) {
    group->is_waiting[m->process] = true;
    *out_pending = true;
    return hlo_ok();
  }
  uint32_t count = m->member_count * m->tensor_count;
  for (uint32_t i = 0; i < count; ++i) out_parts[i] = hlo_tensor_retain(meeting->parts[i]);
  if (++meeting->left_count == meeting->member_count) {
    meeting_t** link = &group->meetings;
    while (*link != meeting) link = &(*link)->next;
    *link = meeting->next;
    meeting_release(meeting);
  }
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
    if (parcel->source != source || parcel->target != target ||
        parcel->channel_id != channel_id) {
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

// The part is handed over when the program first asks for what comes of it.
static int32_t collective_start(hlo_frame_t* frame, uint32_t site_number, void* const* buffers) {
  return hlo_execute_collective_start(frame, site_number, buffers);
}

static int32_t collective_done(hlo_frame_t* frame, uint32_t site_number) {
  hlo_run_t* run = frame->owner;
  if (atomic_load_explicit(&frame->cancelled, memory_order_relaxed)) {
    return hlo_site_check_failed(frame, HLO_SITE_CANCELLED, 0, 0);
  }
  hlo_node_peers_t peers = {&run->group->grid, run->row, run->ticket, false};
  int32_t answer = hlo_site_wait(frame, site_number, &peers);
  run->ticket = answer == HLO_KERNEL_SUSPENDED ? peers.ticket : NULL;
  return answer;
}

static const hlo_interp_runtime_t kAlone = {
    .table = {.abi_version = HLO_KERNEL_ABI_VERSION,
              .size_bytes = sizeof(hlo_interp_runtime_t),
              .parallel_for = parallel_for,
              .collective_start = hlo_execute_collective_start,
              .collective_done = hlo_execute_collective_done,
              .call_kernel = hlo_site_call,
              .check_failed = hlo_site_check_failed,
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
  group->runtime.table.collective_start = collective_start;
  group->runtime.table.collective_done = collective_done;
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

const hlo_runtime_table_t* hlo_group_runtime(hlo_run_group_t* group) {
  return group ? &group->runtime.table : &kAlone.table;
}
