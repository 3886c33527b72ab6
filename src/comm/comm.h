// SPDX-License-Identifier: Apache-2.0
// Operations between the processes of one launch: rendezvous at collectives, and messages. An
// operation is known by its run, its call site or channel, and its group, never by an address, so
// that processes may be in other address spaces. Nothing blocks: a process begins an operation and
// asks later whether it is done; the transport wakes processes that were told to wait.
#pragma once

#include "base/status.h"
#include "base/strbuf.h"
#include "base/threads.h"

/// The processes of a collective, in the order in which they contribute.
typedef struct hlo_comm_group {
  uint64_t id;  // hlo_comm_group_id() of the members: equal groups have equal ids everywhere
  uint32_t member_count;
  const uint32_t* members;
} hlo_comm_group_t;

uint64_t hlo_comm_group_id(uint32_t member_count, const uint32_t* members);

typedef enum hlo_comm_kind {
  HLO_COMM_GATHER,    // every member gets the parts of all
  HLO_COMM_EXCHANGE,  // parts are addresses; the last member to arrive moves the data of all
} hlo_comm_kind_t;

/// A collective that a process has begun. The n-th one that it begins at a site or channel, in a
/// group, is the n-th one of the other members.
typedef struct hlo_comm_call {
  hlo_comm_kind_t kind;
  uint32_t process;   // the caller
  uint32_t position;  // of the caller in the group
  uint32_t site;      // number of the call site; one for all members unless there is a channel
} hlo_comm_call_t;

/// The statement of a member that begins a collective.
typedef struct hlo_comm_op {
  hlo_comm_call_t call;
  int64_t channel_id;   // above 0: members may be at any site
  uint64_t signature;   // of the op and its types, which are equal for all members; 0: unknown
  uint32_t part_count;  // of each member
  hlo_comm_group_t group;
  const void* label;  // the caller's name for it, for hlo_comm_wait_t; lent until the launch ends
} hlo_comm_op_t;

typedef struct hlo_comm_message {
  uint32_t source, target;  // processes, or others that nobody else is
  int64_t channel_id;
  uint32_t part_count;
  const void* label;
} hlo_comm_message_t;

typedef enum hlo_comm_state {
  HLO_COMM_DONE,
  HLO_COMM_PENDING,    // the process is woken later, and asks again
  HLO_COMM_CANCELLED,  // not done, and the caller was cancelled
} hlo_comm_state_t;

/// An exchange whose members have all arrived. parts[member * part_count + i]
typedef struct hlo_comm_work {
  uint32_t member_count;
  void** parts;
} hlo_comm_work_t;

/// A wait of a process.
typedef struct hlo_comm_wait {
  uint64_t number;    // in its launch
  const void* label;  // of a member that waits
  int64_t channel_id;
  bool is_recv;
  uint64_t since_ns;  // when hlo_comm_find_wait() first found it
  uint32_t arrived_count, missing_count;
  uint32_t capacity;            // of the lists, which the caller lends; longer ones are cut
  uint32_t *arrived, *missing;  // processes
} hlo_comm_wait_t;

/// The functions that a transport needs from the owner of the processes; called under its lock,
/// except print_process() and print_label() for injected faults.
typedef struct hlo_comm_owner {
  /// Has a process ask again.
  void (*wake)(void* context, uint32_t process);
  /// Print which launch this is, a process with its device, a label, and a wait of the process.
  void (*print_launch)(void* context, uint32_t process, hlo_strbuf_t* out);
  void (*print_process)(void* context, uint32_t process, hlo_strbuf_t* out);
  void (*print_label)(void* context, const void* label, hlo_strbuf_t* out);
  void (*print_wait)(void* context, uint32_t process, const hlo_comm_wait_t* wait,
                     hlo_strbuf_t* out);
  /// Parts of gathers and messages are references.
  void (*retain)(void* part);
  void (*release)(void* part);
  /// Tests make an operation of a process fail, or the process stop for ever; NULL: never.
  const struct hlo_comm_faults* faults;
  void* context;
} hlo_comm_owner_t;

typedef enum hlo_comm_fault {
  HLO_COMM_FAULT_NONE,
  HLO_COMM_FAULT_ERROR,  // the operation fails
  HLO_COMM_FAULT_LOST,   // the process never comes back, until the launch fails
} hlo_comm_fault_t;

/// choose() is asked when a process begins a collective of several members, sends, or asks for a
/// message. threads: on several at once; it may wait
typedef struct hlo_comm_faults {
  hlo_comm_fault_t (*choose)(void* context, uint64_t run_id, uint32_t process, const void* label);
  void* context;
} hlo_comm_faults_t;

typedef struct hlo_comm hlo_comm_t;

/// A transport. Functions of the same names, and hlo_comm_fail(), document them.
typedef struct hlo_comm_ops {
  const char* name;
  hlo_status_t (*begin)(hlo_comm_t* comm, const hlo_comm_op_t* op, void* const* parts,
                        hlo_comm_work_t** out_work);
  void (*finish)(hlo_comm_t* comm, hlo_comm_work_t* work, hlo_status_t error);
  hlo_status_t (*done)(hlo_comm_t* comm, const hlo_comm_call_t* call, bool is_cancelled,
                       void** out_parts, hlo_comm_state_t* out_state);
  hlo_status_t (*send)(hlo_comm_t* comm, const hlo_comm_message_t* message, void* const* parts);
  hlo_status_t (*recv)(hlo_comm_t* comm, const hlo_comm_message_t* message, void** out_parts,
                       hlo_comm_state_t* out_state);
  bool (*lose)(hlo_comm_t* comm, uint32_t process);
  bool (*end)(hlo_comm_t* comm, uint32_t process);
  void (*fail_all)(hlo_comm_t* comm, hlo_status_t error);
  bool (*is_waiting)(hlo_comm_t* comm, uint32_t process);
  bool (*is_lost)(hlo_comm_t* comm, uint32_t process);
  bool (*find_wait)(hlo_comm_t* comm, uint64_t after, uint64_t now_ns, hlo_comm_wait_t* out_wait);
  bool (*fail_wait)(hlo_comm_t* comm, uint64_t number, hlo_status_t error);
  void (*explain)(hlo_comm_t* comm, uint32_t process, hlo_strbuf_t* out);
  void (*release)(hlo_comm_t* comm);
} hlo_comm_ops_t;

/// The processes of one launch.
/// threads: safe
struct hlo_comm {
  const hlo_comm_ops_t* ops;
  uint64_t run_id;  // number of the launch, the same everywhere; set before the first operation
  uint32_t process_count;
  hlo_comm_owner_t owner;
  hlo_mutex_t lock;  // held while the owner's functions are called: it guards what wake() writes
};

/// Returns true if collectives may name this transport (attribute hlocc.collective_backend): it is
/// part of this build, and reaches the processes of every launch. The default one is "local".
bool hlo_comm_has_transport(const char* name, size_t length);

/// The transport between threads of one process (local.c): parts are passed as they are.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_comm_create_local(uint32_t process_count, const hlo_comm_owner_t* owner,
                                   hlo_comm_t** out_comm) HLO_MUST_USE;
/// No process may be in an operation.
void hlo_comm_release(hlo_comm_t* comm);

/// Begins a collective with the caller's parts, which are taken also after an error. Sets *out_work
/// (may be NULL for gathers) if the caller has to move the data of all members and to call
/// hlo_comm_finish(), before anything else of this launch.
/// errors: that of the launch; INVALID_ARGUMENT (members differ in their signatures)
hlo_status_t hlo_comm_begin(hlo_comm_t* comm, const hlo_comm_op_t* op, void* const* parts,
                            hlo_comm_work_t** out_work) HLO_MUST_USE;
/// Ends an exchange for all members; an error, which is lent, fails the launch.
static inline void hlo_comm_finish(hlo_comm_t* comm, hlo_comm_work_t* work, hlo_status_t error) {
  comm->ops->finish(comm, work, error);
}
/// Ends the oldest collective that the caller began at the site, if all members have arrived
/// (and an exchange has ended). out_parts: references to the parts of all members, of a gather.
/// errors: that of the launch, except for an exchange that has ended or is under way
static inline HLO_MUST_USE hlo_status_t hlo_comm_done(hlo_comm_t* comm, const hlo_comm_call_t* call,
                                                      bool is_cancelled, void** out_parts,
                                                      hlo_comm_state_t* out_state) {
  return comm->ops->done(comm, call, is_cancelled, out_parts, out_state);
}
/// Sends parts, which are taken also after an error. Never waits.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_comm_send(hlo_comm_t* comm, const hlo_comm_message_t* message,
                           void* const* parts) HLO_MUST_USE;
/// Receives the oldest message of a source, target and channel; the caller is the target.
/// errors: INVALID_ARGUMENT (another number of parts), that of the launch if there is no message
hlo_status_t hlo_comm_recv(hlo_comm_t* comm, const hlo_comm_message_t* message, void** out_parts,
                           hlo_comm_state_t* out_state) HLO_MUST_USE;
/// A process has ended; others that wait for it fail. Returns false if its memory is still in use:
/// the process is woken later, and calls again.
static inline bool hlo_comm_end(hlo_comm_t* comm, uint32_t process) {
  return comm->ops->end(comm, process);
}
/// Fails the launch: processes that wait, now or later, get the error, which is lent.
static inline void hlo_comm_fail(hlo_comm_t* comm, hlo_status_t error) {
  comm->ops->fail_all(comm, error);
}
/// Returns true if a process was told to wait.
static inline bool hlo_comm_is_waiting(hlo_comm_t* comm, uint32_t process) {
  return comm->ops->is_waiting(comm, process);
}
/// Returns true if a process is known to never come back.
static inline bool hlo_comm_is_lost(hlo_comm_t* comm, uint32_t process) {
  return comm->ops->is_lost(comm, process);
}
/// Finds the wait after that of number `after` (0: the first) for which members are missing.
/// Returns false at the end, and if the launch has failed.
static inline bool hlo_comm_find_wait(hlo_comm_t* comm, uint64_t after, uint64_t now_ns,
                                      hlo_comm_wait_t* out_wait) {
  return comm->ops->find_wait(comm, after, now_ns, out_wait);
}
/// Fails the launch unless the wait has ended; returns true if it fails.
static inline bool hlo_comm_fail_wait(hlo_comm_t* comm, uint64_t number, hlo_status_t error) {
  return comm->ops->fail_wait(comm, number, error);
}
/// Prints what a process waits for, by print_wait(); nothing if it does not wait.
static inline void hlo_comm_explain(hlo_comm_t* comm, uint32_t process, hlo_strbuf_t* out) {
  comm->ops->explain(comm, process, out);
}
