// SPDX-License-Identifier: Apache-2.0
// The transport between threads of one process (see comm.h): a list of rendezvous and one of
// messages under one lock. The last to arrive at a rendezvous wakes the others.
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"

typedef enum member_state { ABSENT, ARRIVED, LEFT } member_state_t;

typedef struct member {
  member_state_t state;
  uint32_t process;
  uint32_t site;  // this and what follows: once it has arrived
  uint64_t signature;
  const void* label;
} member_t;

typedef struct rendezvous {
  hlo_comm_work_t work;  // the first member, so that work can be cast to its rendezvous
  struct rendezvous* next;
  size_t size_bytes;
  uint64_t number;  // in the launch, in the order of the first arrivals
  hlo_comm_kind_t kind;
  uint32_t site;  // of the first arrival
  int64_t channel_id;
  uint64_t group_id;
  const void* label;
  uint64_t seen_ns;  // when a monitor first saw that members are missing; 0: not yet
  bool is_done, has_failed;
  uint32_t part_count, arrived_count, left_count;
  member_t members[];  // then the parts
} rendezvous_t;

// A sent value that was not received yet.
typedef struct letter {
  struct letter* next;
  hlo_comm_message_t message;
  void* parts[];
} letter_t;

typedef struct recv_wait {
  bool is_waiting;
  uint32_t source;
  int64_t channel_id;
  const void* label;
  uint64_t seen_ns;  // as above
} recv_wait_t;

typedef struct process {
  bool is_waiting;  // was told to wait
  bool is_lost;     // by a fault: it waits for nobody, and nobody knows
  bool has_ended;
} process_t;

typedef struct local {
  hlo_comm_t base;  // its lock guards all below
  rendezvous_t* rendezvous_list;
  rendezvous_t* spare;  // memory for the next one; may be NULL
  rendezvous_t* first;  // part of this allocation: launches with one collective need no other
  letter_t* letters;
  recv_wait_t* recvs;  // by process: the last recv that found nothing; NULL: none ever did
  hlo_status_t error;
  uint64_t rendezvous_count;  // so far
  uint32_t waiting_count, ended_count;
  process_t processes[];
} local_t;

static const uint64_t RECV = UINT64_C(1) << 63;  // numbers of waits above it are those of recvs

// Returns the recv in which a process waits, or NULL.
static recv_wait_t* waiting_recv(const local_t* local, uint32_t process) {
  if (!local->recvs || !local->processes[process].is_waiting) return NULL;
  return local->recvs[process].is_waiting ? &local->recvs[process] : NULL;
}

static local_t* local_of(hlo_comm_t* comm) {
  return (local_t*)comm;
}

// ---- the list of rendezvous

static void rendezvous_release(local_t* local, rendezvous_t* r) {
  const uint32_t count = r->work.member_count * r->part_count;
  for (uint32_t i = 0; r->kind == HLO_COMM_GATHER && i < count; ++i) {
    if (r->work.parts[i]) local->base.owner.release(r->work.parts[i]);
  }
  if (!local->spare) {
    local->spare = r;
  } else if (r != local->first) {
    hlo_mem_free(r);
  }
}

static hlo_status_t rendezvous_create(local_t* local, const hlo_comm_op_t* op,
                                      rendezvous_t** out_rendezvous) {
  const size_t count = op->group.member_count;
  const size_t head = sizeof(rendezvous_t) + count * sizeof(member_t);
  const size_t bytes = head + count * op->part_count * sizeof(void*);
  rendezvous_t* r = local->spare;
  size_t size_bytes = bytes;
  if (r && r->size_bytes >= bytes) {
    local->spare = NULL;
    size_bytes = r->size_bytes;
  } else {
    r = hlo_mem_alloc(bytes);
    if (!r) return hlo_status_out_of_memory(bytes);
  }
  *r = (rendezvous_t){.work = {(uint32_t)count, (void**)((uint8_t*)r + head)},
                      .size_bytes = size_bytes};
  if (op->call.kind == HLO_COMM_GATHER) memset((uint8_t*)r + head, 0, bytes - head);
  r->number = ++local->rendezvous_count;
  r->kind = op->call.kind;
  r->site = op->call.site;
  r->channel_id = op->channel_id;
  r->group_id = op->group.id;
  r->label = op->label;
  r->part_count = op->part_count;
  for (uint32_t i = 0; i < count; ++i) {
    r->members[i].state = ABSENT;
    r->members[i].process = op->group.members[i];
  }
  *out_rendezvous = r;
  return hlo_ok();
}

static bool is_same_op(const rendezvous_t* r, const hlo_comm_op_t* op) {
  const bool is_same_site = op->channel_id > 0 ? r->channel_id == op->channel_id
                                               : r->channel_id <= 0 && r->site == op->call.site;
  return is_same_site && r->kind == op->call.kind && r->group_id == op->group.id &&
         r->work.member_count == op->group.member_count && r->part_count == op->part_count;
}

// Returns the oldest rendezvous of an operation at which the caller has not arrived yet.
static hlo_status_t find_rendezvous(local_t* local, const hlo_comm_op_t* op,
                                    rendezvous_t** out_rendezvous) {
  rendezvous_t** link = &local->rendezvous_list;
  for (; *link; link = &(*link)->next) {
    if (!is_same_op(*link, op) || (*link)->members[op->call.position].state != ABSENT) continue;
    *out_rendezvous = *link;
    return hlo_ok();
  }
  HLO_TRY(rendezvous_create(local, op, out_rendezvous));
  *link = *out_rendezvous;
  return hlo_ok();
}

// Returns the oldest rendezvous that a process began at a site and has not left.
static rendezvous_t* find_begun(const local_t* local, const hlo_comm_call_t* call) {
  for (rendezvous_t* r = local->rendezvous_list; r; r = r->next) {
    if (r->kind != call->kind || call->position >= r->work.member_count) continue;
    const member_t* member = &r->members[call->position];
    if (member->state == ARRIVED && member->process == call->process &&
        member->site == call->site) {
      return r;
    }
  }
  return NULL;
}

// The last member to leave frees the rendezvous.
static void leave(local_t* local, rendezvous_t* r, uint32_t position) {
  r->members[position].state = LEFT;
  if (++r->left_count < r->work.member_count) return;
  rendezvous_t** link = &local->rendezvous_list;
  while (*link != r) link = &(*link)->next;
  *link = r->next;
  rendezvous_release(local, r);
}

static bool is_complete(const rendezvous_t* r) {
  return r->arrived_count == r->work.member_count;
}

// The last member moves the data of all members.
static bool is_under_way(const rendezvous_t* r) {
  return r->kind == HLO_COMM_EXCHANGE && !r->is_done && is_complete(r);
}

// ---- waiting

static void begin_wait(local_t* local, uint32_t process) {
  local->waiting_count += !local->processes[process].is_waiting;
  local->processes[process].is_waiting = true;
}

static void wake(local_t* local, uint32_t process) {
  if (!local->processes[process].is_waiting) return;
  local->processes[process].is_waiting = false;
  --local->waiting_count;
  local->base.owner.wake(local->base.owner.context, process);
}

static void wake_members(local_t* local, const rendezvous_t* r) {
  for (uint32_t i = 0; i < r->work.member_count; ++i) wake(local, r->members[i].process);
}

static void fail_locked(local_t* local, hlo_status_t error) {
  if (hlo_status_is_ok(local->error)) local->error = hlo_status_clone(error);
  for (uint32_t i = 0; i < local->base.process_count; ++i) {
    if (local->processes[i].is_lost) begin_wait(local, i);
    local->processes[i].is_lost = false;
    wake(local, i);
  }
}

static void put(uint32_t process, uint32_t capacity, uint32_t* list, uint32_t* count) {
  if (*count < capacity) list[*count] = process;
  ++*count;
}

static void describe_rendezvous(const rendezvous_t* r, hlo_comm_wait_t* wait) {
  wait->number = r->number;
  wait->label = r->label;
  wait->channel_id = r->channel_id;
  wait->since_ns = r->seen_ns;
  wait->is_recv = false;
  wait->missing_count = wait->arrived_count = 0;
  for (uint32_t i = 0; i < r->work.member_count; ++i) {
    if (r->members[i].state == ABSENT) {
      put(r->members[i].process, wait->capacity, wait->missing, &wait->missing_count);
    } else {
      put(r->members[i].process, wait->capacity, wait->arrived, &wait->arrived_count);
    }
  }
}

static void describe_recv(const local_t* local, uint32_t process, hlo_comm_wait_t* wait) {
  const recv_wait_t* recv = &local->recvs[process];
  wait->number = RECV + process + 1;
  wait->label = recv->label;
  wait->channel_id = recv->channel_id;
  wait->since_ns = recv->seen_ns;
  wait->is_recv = true;
  wait->arrived_count = wait->missing_count = 0;
  put(process, wait->capacity, wait->arrived, &wait->arrived_count);
  if (recv->source < local->base.process_count) {
    put(recv->source, wait->capacity, wait->missing, &wait->missing_count);
  }
}

// Prints what a process waits for; nothing if it does not wait.
static void explain_locked(const local_t* local, uint32_t process, hlo_strbuf_t* out) {
  enum { SHOWN = 8 };
  uint32_t arrived[SHOWN], missing[SHOWN];
  hlo_comm_wait_t wait = {.capacity = SHOWN, .arrived = arrived, .missing = missing};
  const hlo_comm_owner_t* owner = &local->base.owner;
  if (!local->processes[process].is_waiting) return;
  for (const rendezvous_t* r = local->rendezvous_list; r; r = r->next) {
    for (uint32_t i = 0; i < r->work.member_count; ++i) {
      const member_t* member = &r->members[i];
      if (member->process != process || member->state != ARRIVED || r->is_done) continue;
      describe_rendezvous(r, &wait);
      wait.label = member->label;
      owner->print_wait(owner->context, process, &wait, out);
      return;
    }
  }
  if (!waiting_recv(local, process)) return;
  describe_recv(local, process, &wait);
  owner->print_wait(owner->context, process, &wait, out);
}

// ---- waits that cannot end

// Fails the launch: `reason`, then who waits for whom.
static void fail_stalled(local_t* local, uint32_t finder, const char* reason) {
  enum { SHOWN = 8 };
  HLO_SCOPED_STRBUF text = {0};
  const hlo_comm_owner_t* owner = &local->base.owner;
  owner->print_launch(owner->context, finder, &text);
  hlo_strbuf_printf(&text, ": %s", reason);
  uint32_t count = 0;
  for (uint32_t p = 0; p < local->base.process_count; ++p) {
    if (!local->processes[p].is_waiting || ++count > SHOWN) continue;
    hlo_strbuf_puts(&text, count == 1 ? ": " : "; ");
    owner->print_process(owner->context, p, &text);
    hlo_strbuf_putc(&text, ' ');
    explain_locked(local, p, &text);
  }
  if (count > SHOWN) hlo_strbuf_printf(&text, "; and %u more", count - SHOWN);
  hlo_status_t error =
      hlo_status_create(HLO_STATUS_FAILED_PRECONDITION, "%s", hlo_strbuf_text(&text));
  fail_locked(local, error);
  hlo_status_release(error);
}

// Returns true if a member that has not arrived never will.
static bool misses_ended(const local_t* local, const rendezvous_t* r) {
  for (uint32_t i = 0; i < r->work.member_count; ++i) {
    const member_t* member = &r->members[i];
    if (member->state == ABSENT && local->processes[member->process].has_ended) return true;
  }
  return false;
}

// Called when a process begins to wait or ends: without another one that goes on, or with a member
// that has ended, a wait never ends.
static void check_waits(local_t* local, uint32_t process) {
  if (!hlo_status_is_ok(local->error) || local->waiting_count == 0) return;
  if (HLO_UNLIKELY(local->waiting_count + local->ended_count == local->base.process_count)) {
    fail_stalled(local, process, "every device waits or has ended");
    return;
  }
  const rendezvous_t* r = local->ended_count ? local->rendezvous_list : NULL;
  for (; r; r = r->next) {
    if (is_complete(r) || !misses_ended(local, r)) continue;
    fail_stalled(local, process, "a device has ended for which others wait");
    return;
  }
}

static void suspend(local_t* local, uint32_t process) {
  if (local->processes[process].is_lost) return;
  begin_wait(local, process);
  check_waits(local, process);
}

// ---- collectives

static hlo_status_t check_alike(const rendezvous_t* r) {
  for (uint32_t i = 1; i < r->work.member_count; ++i) {
    if (r->members[i].signature == r->members[0].signature) continue;
    return hlo_invalid_argument("the members of the group have different types or shapes");
  }
  return hlo_ok();
}

static hlo_status_t begin_locked(local_t* local, const hlo_comm_op_t* op, void* const* parts,
                                 hlo_comm_work_t** out_work) {
  if (!hlo_status_is_ok(local->error)) return hlo_status_clone(local->error);
  rendezvous_t* r = NULL;
  HLO_TRY(find_rendezvous(local, op, &r));
  member_t* member = &r->members[op->call.position];
  member->state = ARRIVED;
  member->site = op->call.site;
  member->label = op->label;
  member->signature = op->signature;
  void** own = &r->work.parts[op->call.position * r->part_count];
  for (uint32_t i = 0; i < r->part_count; ++i) own[i] = parts[i];
  if (r->arrived_count + 1 == r->work.member_count) {
    hlo_status_t status = check_alike(r);
    if (!hlo_status_is_ok(status)) {
      memset(own, 0, r->part_count * sizeof *own);  // remain the caller's
      return status;
    }
  }
  ++r->arrived_count;
  if (!is_complete(r)) return hlo_ok();
  if (r->kind == HLO_COMM_EXCHANGE) {
    *out_work = &r->work;
  } else {
    wake_members(local, r);
  }
  return hlo_ok();
}

static hlo_status_t local_begin(hlo_comm_t* comm, const hlo_comm_op_t* op, void* const* parts,
                                hlo_comm_work_t** out_work) {
  local_t* local = local_of(comm);
  hlo_mutex_lock(&local->base.lock);
  hlo_status_t status = begin_locked(local, op, parts, out_work);
  hlo_mutex_unlock(&local->base.lock);
  if (HLO_UNLIKELY(!hlo_status_is_ok(status)) && op->call.kind == HLO_COMM_GATHER) {
    for (uint32_t i = 0; i < op->part_count; ++i) comm->owner.release(parts[i]);
  }
  return status;
}

static void local_finish(hlo_comm_t* comm, hlo_comm_work_t* work, hlo_status_t error) {
  local_t* local = local_of(comm);
  rendezvous_t* r = (rendezvous_t*)work;
  hlo_mutex_lock(&local->base.lock);
  r->is_done = true;
  r->has_failed = !hlo_status_is_ok(error);
  if (r->has_failed) fail_locked(local, error);
  wake_members(local, r);
  hlo_mutex_unlock(&local->base.lock);
}

static hlo_status_t done_locked(local_t* local, const hlo_comm_call_t* call, bool is_cancelled,
                                void** out_parts, hlo_comm_state_t* out_state) {
  rendezvous_t* r = find_begun(local, call);
  const bool is_exchange = call->kind == HLO_COMM_EXCHANGE;
  *out_state = HLO_COMM_PENDING;
  if (is_exchange && r && r->is_done && !r->has_failed) {
    *out_state = HLO_COMM_DONE;
    leave(local, r, call->position);
    return hlo_ok();
  }
  if (r && is_under_way(r)) {
    suspend(local, call->process);
    return hlo_ok();
  }
  if (!hlo_status_is_ok(local->error)) return hlo_status_clone(local->error);
  if (is_cancelled) {
    *out_state = HLO_COMM_CANCELLED;
  } else if (!is_exchange && r && is_complete(r)) {
    *out_state = HLO_COMM_DONE;
    const uint32_t count = r->work.member_count * r->part_count;
    for (uint32_t i = 0; i < count; ++i) {
      local->base.owner.retain(r->work.parts[i]);
      out_parts[i] = r->work.parts[i];
    }
    leave(local, r, call->position);
  } else {
    suspend(local, call->process);
  }
  return hlo_ok();
}

static hlo_status_t local_done(hlo_comm_t* comm, const hlo_comm_call_t* call, bool is_cancelled,
                               void** out_parts, hlo_comm_state_t* out_state) {
  local_t* local = local_of(comm);
  hlo_mutex_lock(&local->base.lock);
  hlo_status_t status = done_locked(local, call, is_cancelled, out_parts, out_state);
  hlo_mutex_unlock(&local->base.lock);
  return status;
}

// ---- messages

static void letter_release(const local_t* local, letter_t* letter) {
  for (uint32_t i = 0; i < letter->message.part_count; ++i) {
    local->base.owner.release(letter->parts[i]);
  }
  hlo_mem_free(letter);
}

static hlo_status_t local_send(hlo_comm_t* comm, const hlo_comm_message_t* message,
                               void* const* parts) {
  local_t* local = local_of(comm);
  const size_t bytes = sizeof(letter_t) + message->part_count * sizeof(void*);
  letter_t* letter = hlo_mem_alloc_zeroed(bytes);
  if (!letter) {
    for (uint32_t i = 0; i < message->part_count; ++i) comm->owner.release(parts[i]);
    return hlo_status_out_of_memory(bytes);
  }
  letter->message = *message;
  for (uint32_t i = 0; i < message->part_count; ++i) letter->parts[i] = parts[i];
  hlo_mutex_lock(&local->base.lock);
  letter_t** link = &local->letters;
  while (*link) link = &(*link)->next;
  *link = letter;
  if (message->target < comm->process_count) wake(local, message->target);
  hlo_mutex_unlock(&local->base.lock);
  return hlo_ok();
}

static hlo_status_t recv_locked(local_t* local, const hlo_comm_message_t* m, void** out_parts,
                                hlo_comm_state_t* out_state) {
  for (letter_t** link = &local->letters; *link; link = &(*link)->next) {
    letter_t* letter = *link;
    const hlo_comm_message_t* sent = &letter->message;
    if (sent->source != m->source || sent->target != m->target ||
        sent->channel_id != m->channel_id) {
      continue;
    }
    if (sent->part_count != m->part_count) {
      return hlo_invalid_argument("channel %lld: %u tensors were sent, but %u are received",
                                  (long long)m->channel_id, sent->part_count, m->part_count);
    }
    *link = letter->next;
    if (local->recvs) local->recvs[m->target].is_waiting = false;
    for (uint32_t i = 0; i < m->part_count; ++i) out_parts[i] = letter->parts[i];
    hlo_mem_free(letter);
    *out_state = HLO_COMM_DONE;
    return hlo_ok();
  }
  if (!hlo_status_is_ok(local->error)) return hlo_status_clone(local->error);
  if (!local->recvs) {
    const size_t bytes = local->base.process_count * sizeof *local->recvs;
    local->recvs = hlo_mem_alloc_zeroed(bytes);
    if (!local->recvs) return hlo_status_out_of_memory(bytes);
  }
  recv_wait_t* wait = &local->recvs[m->target];
  const bool is_same =
      wait->is_waiting && wait->source == m->source && wait->channel_id == m->channel_id;
  if (!is_same) *wait = (recv_wait_t){true, m->source, m->channel_id, m->label, 0};
  *out_state = HLO_COMM_PENDING;
  suspend(local, m->target);
  return hlo_ok();
}

static hlo_status_t local_recv(hlo_comm_t* comm, const hlo_comm_message_t* message,
                               void** out_parts, hlo_comm_state_t* out_state) {
  local_t* local = local_of(comm);
  hlo_mutex_lock(&local->base.lock);
  hlo_status_t status = recv_locked(local, message, out_parts, out_state);
  hlo_mutex_unlock(&local->base.lock);
  return status;
}

// ---- ends and failures

static bool local_lose(hlo_comm_t* comm, uint32_t process) {
  local_t* local = local_of(comm);
  hlo_mutex_lock(&local->base.lock);
  const bool is_lost = hlo_status_is_ok(local->error);
  local->processes[process].is_lost = is_lost;
  hlo_mutex_unlock(&local->base.lock);
  return is_lost;
}

static bool local_end(hlo_comm_t* comm, uint32_t process) {
  local_t* local = local_of(comm);
  bool is_detained = false;
  hlo_mutex_lock(&local->base.lock);
  for (const rendezvous_t* r = local->rendezvous_list; r; r = r->next) {
    for (uint32_t i = 0; is_under_way(r) && i < r->work.member_count; ++i) {
      is_detained |= r->members[i].process == process;
    }
  }
  if (is_detained) {
    begin_wait(local, process);
  } else if (!local->processes[process].has_ended) {
    local->processes[process].has_ended = true;
    ++local->ended_count;
    check_waits(local, process);
  }
  hlo_mutex_unlock(&local->base.lock);
  return !is_detained;
}

static void local_fail(hlo_comm_t* comm, hlo_status_t error) {
  local_t* local = local_of(comm);
  hlo_mutex_lock(&local->base.lock);
  fail_locked(local, error);
  hlo_mutex_unlock(&local->base.lock);
}

// ---- for monitors of waits

static bool local_is_waiting(hlo_comm_t* comm, uint32_t process) {
  local_t* local = local_of(comm);
  hlo_mutex_lock(&local->base.lock);
  const bool is_waiting = local->processes[process].is_waiting;
  hlo_mutex_unlock(&local->base.lock);
  return is_waiting;
}

static bool local_is_lost(hlo_comm_t* comm, uint32_t process) {
  local_t* local = local_of(comm);
  hlo_mutex_lock(&local->base.lock);
  const bool is_lost = local->processes[process].is_lost;
  hlo_mutex_unlock(&local->base.lock);
  return is_lost;
}

static bool has_waiting_member(const local_t* local, const rendezvous_t* r) {
  for (uint32_t i = 0; i < r->work.member_count; ++i) {
    const member_t* member = &r->members[i];
    if (member->state == ARRIVED && local->processes[member->process].is_waiting) return true;
  }
  return false;
}

static bool find_wait_locked(local_t* local, uint64_t after, uint64_t now_ns,
                             hlo_comm_wait_t* out_wait) {
  rendezvous_t* r = local->rendezvous_list;
  while (r && (r->number <= after || is_complete(r) || !has_waiting_member(local, r))) r = r->next;
  if (r) {
    if (!r->seen_ns) r->seen_ns = now_ns;
    describe_rendezvous(r, out_wait);
    return true;
  }
  uint32_t p = after > RECV ? (uint32_t)(after - RECV) : 0;
  for (; p < local->base.process_count; ++p) {
    recv_wait_t* recv = waiting_recv(local, p);
    if (!recv) continue;
    if (!recv->seen_ns) recv->seen_ns = now_ns;
    describe_recv(local, p, out_wait);
    return true;
  }
  return false;
}

static bool local_find_wait(hlo_comm_t* comm, uint64_t after, uint64_t now_ns,
                            hlo_comm_wait_t* out_wait) {
  local_t* local = local_of(comm);
  hlo_mutex_lock(&local->base.lock);
  const bool is_found =
      hlo_status_is_ok(local->error) && find_wait_locked(local, after, now_ns, out_wait);
  hlo_mutex_unlock(&local->base.lock);
  return is_found;
}

static bool still_waits(const local_t* local, uint64_t number) {
  if (number > RECV) return waiting_recv(local, (uint32_t)(number - RECV - 1)) != NULL;
  const rendezvous_t* r = local->rendezvous_list;
  while (r && r->number != number) r = r->next;
  return r && !is_complete(r);
}

static bool local_fail_wait(hlo_comm_t* comm, uint64_t number, hlo_status_t error) {
  local_t* local = local_of(comm);
  hlo_mutex_lock(&local->base.lock);
  const bool fails = hlo_status_is_ok(local->error) && still_waits(local, number);
  if (fails) fail_locked(local, error);
  hlo_mutex_unlock(&local->base.lock);
  return fails;
}

static void local_explain(hlo_comm_t* comm, uint32_t process, hlo_strbuf_t* out) {
  local_t* local = local_of(comm);
  hlo_mutex_lock(&local->base.lock);
  explain_locked(local, process, out);
  hlo_mutex_unlock(&local->base.lock);
}

// ---- creation

static void local_release(hlo_comm_t* comm) {
  local_t* local = local_of(comm);
  while (local->rendezvous_list) {
    rendezvous_t* next = local->rendezvous_list->next;
    rendezvous_release(local, local->rendezvous_list);
    local->rendezvous_list = next;
  }
  if (local->spare != local->first) hlo_mem_free(local->spare);
  hlo_mem_free(local->recvs);
  while (local->letters) {
    letter_t* letter = local->letters;
    local->letters = letter->next;
    letter_release(local, letter);
  }
  hlo_status_release(local->error);
  hlo_mutex_deinit(&local->base.lock);
  hlo_mem_free(local);
}

static const hlo_comm_ops_t kLocal = {.name = "local",
                                      .begin = local_begin,
                                      .finish = local_finish,
                                      .done = local_done,
                                      .send = local_send,
                                      .recv = local_recv,
                                      .lose = local_lose,
                                      .end = local_end,
                                      .fail_all = local_fail,
                                      .is_waiting = local_is_waiting,
                                      .is_lost = local_is_lost,
                                      .find_wait = local_find_wait,
                                      .fail_wait = local_fail_wait,
                                      .explain = local_explain,
                                      .release = local_release};

hlo_status_t hlo_comm_create_local(uint32_t process_count, const hlo_comm_owner_t* owner,
                                   hlo_comm_t** out_comm) {
  enum { PARTS = 2 };  // of a collective of one tensor
  const size_t align = _Alignof(rendezvous_t);
  const size_t own_bytes =
      (sizeof(local_t) + process_count * sizeof(process_t) + align - 1) / align * align;
  const size_t first_bytes =
      sizeof(rendezvous_t) + process_count * (sizeof(member_t) + PARTS * sizeof(void*));
  local_t* local = hlo_mem_alloc(own_bytes + first_bytes);
  if (!local) return hlo_status_out_of_memory(own_bytes + first_bytes);
  memset(local, 0, own_bytes);
  local->first = local->spare = (rendezvous_t*)((uint8_t*)local + own_bytes);
  local->first->size_bytes = first_bytes;
  local->base = (hlo_comm_t){.ops = &kLocal, .process_count = process_count, .owner = *owner};
  hlo_mutex_init(&local->base.lock, HLO_LOCK_LEVEL_COLLECTIVE);
  *out_comm = &local->base;
  return hlo_ok();
}
