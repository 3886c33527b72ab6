// SPDX-License-Identifier: Apache-2.0
// The shared part of all transports (see comm.h).
#include "comm/comm.h"

#include <string.h>

#include "base/hash.h"

uint64_t hlo_comm_group_id(uint32_t member_count, const uint32_t* members) {
  return hlo_hash_bytes(members, member_count * sizeof *members, member_count);
}

// Returns true if the operation fails with *out_status, or if the process is lost from now on.
static bool has_fault(hlo_comm_t* comm, uint32_t process, const void* label,
                      hlo_status_t* out_status) {
  const hlo_comm_faults_t* faults = comm->owner.faults;
  if (HLO_LIKELY(!faults)) return false;
  const hlo_comm_fault_t fault = faults->choose(faults->context, comm->run_id, process, label);
  if (fault == HLO_COMM_FAULT_NONE) return false;
  if (fault == HLO_COMM_FAULT_LOST) return comm->ops->lose(comm, process);
  HLO_SCOPED_STRBUF text = {0};
  comm->owner.print_process(comm->owner.context, process, &text);
  hlo_strbuf_puts(&text, " has failed in ");
  comm->owner.print_label(comm->owner.context, label, &text);
  *out_status = hlo_internal_error("%s", hlo_strbuf_text(&text));
  return true;
}

bool hlo_comm_has_transport(const char* name, size_t length) {
  static const char* const names[] = {"default", "local"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return true;
  }
  return false;
}

static void release_parts(const hlo_comm_t* comm, uint32_t count, void* const* parts) {
  for (uint32_t i = 0; i < count; ++i) comm->owner.release(parts[i]);
}

hlo_status_t hlo_comm_begin(hlo_comm_t* comm, const hlo_comm_op_t* op, void* const* parts,
                            hlo_comm_work_t** out_work) {
  hlo_status_t status = hlo_ok();
  const bool has_others = op->group.member_count > 1;
  if (HLO_UNLIKELY(has_others && has_fault(comm, op->call.process, op->label, &status))) {
    if (op->call.kind == HLO_COMM_GATHER) release_parts(comm, op->part_count, parts);
    return status;
  }
  return comm->ops->begin(comm, op, parts, out_work);
}

hlo_status_t hlo_comm_send(hlo_comm_t* comm, const hlo_comm_message_t* message,
                           void* const* parts) {
  hlo_status_t status = hlo_ok();
  if (HLO_UNLIKELY(has_fault(comm, message->source, message->label, &status))) {
    release_parts(comm, message->part_count, parts);
    return status;
  }
  return comm->ops->send(comm, message, parts);
}

hlo_status_t hlo_comm_recv(hlo_comm_t* comm, const hlo_comm_message_t* message, void** out_parts,
                           hlo_comm_state_t* out_state) {
  hlo_status_t status = hlo_ok();
  *out_state = HLO_COMM_PENDING;
  if (HLO_UNLIKELY(has_fault(comm, message->target, message->label, &status))) return status;
  return comm->ops->recv(comm, message, out_parts, out_state);
}

void hlo_comm_release(hlo_comm_t* comm) {
  comm->ops->release(comm);
}
