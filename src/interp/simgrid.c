// SPDX-License-Identifier: Apache-2.0
// Simulated processes (see simgrid.h): rendezvous and messages are lists; a waiting process is
// simply run again later.
#include "interp/simgrid.h"

#include <string.h>

#include "base/mem.h"

/// A rendezvous in progress at a collective.
typedef struct sim_rendezvous {
  struct sim_rendezvous* next;
  int64_t channel_id;
  uint32_t member_count, tensor_count;
  uint32_t arrived_count, taken_count;
  uint32_t* members;
  bool* has_arrived;     // by position in the group
  hlo_tensor_t** parts;  // member-major
} sim_rendezvous_t;

/// Tensors in transit over a channel.
typedef struct sim_message {
  struct sim_message* next;
  int64_t channel_id;
  uint32_t source, target;  // HLO_PROCESS_ANY if the op names none
  uint32_t tensor_count;
  hlo_tensor_t* tensors[];
} sim_message_t;

typedef struct simgrid {
  hlo_process_grid_t grid;
  sim_rendezvous_t* rendezvous_list;  // oldest first
  sim_message_t* messages;            // oldest first
  uint32_t infeed_count, infeed_next;
  hlo_tensor_t* const* infeed;
  uint64_t progress;  // counts events that may let another process continue
} simgrid_t;

static void release_tensors(uint32_t count, hlo_tensor_t** tensors) {
  for (uint32_t i = 0; tensors && i < count; ++i) hlo_tensor_release(tensors[i]);
}

// ---- rendezvous ---------------------------------------------------------------------------------

static void rendezvous_free(sim_rendezvous_t* rendezvous) {
  release_tensors(rendezvous->member_count * rendezvous->tensor_count, rendezvous->parts);
  hlo_mem_free(rendezvous->parts);
  hlo_mem_free(rendezvous->members);
  hlo_mem_free(rendezvous->has_arrived);
  hlo_mem_free(rendezvous);
}

static hlo_status_t rendezvous_create(const hlo_rendezvous_t* from,
                                      sim_rendezvous_t** out_rendezvous) {
  sim_rendezvous_t* rendezvous = hlo_mem_alloc_zeroed(sizeof(*rendezvous));
  if (!rendezvous) return hlo_status_out_of_memory(sizeof(*rendezvous));
  size_t count = from->member_count;
  rendezvous->channel_id = from->channel_id;
  rendezvous->member_count = from->member_count;
  rendezvous->tensor_count = from->tensor_count;
  rendezvous->members = hlo_mem_alloc(count * sizeof(*rendezvous->members));
  rendezvous->has_arrived = hlo_mem_alloc_zeroed(count);
  rendezvous->parts = hlo_mem_alloc_zeroed(count * from->tensor_count * sizeof(*rendezvous->parts));
  if (!rendezvous->members || !rendezvous->has_arrived || !rendezvous->parts) {
    rendezvous_free(rendezvous);
    return hlo_status_out_of_memory(count * from->tensor_count * sizeof(void*));
  }
  memcpy(rendezvous->members, from->members, count * sizeof(*rendezvous->members));
  *out_rendezvous = rendezvous;
  return hlo_ok();
}

static uint32_t place_of(const hlo_rendezvous_t* rendezvous) {
  uint32_t place = 0;
  while (rendezvous->members[place] != rendezvous->process) ++place;
  return place;
}

static bool is_same_group(const sim_rendezvous_t* a, const hlo_rendezvous_t* b) {
  return a->channel_id == b->channel_id && a->member_count == b->member_count &&
         memcmp(a->members, b->members, b->member_count * sizeof(*b->members)) == 0;
}

// Finds the oldest rendezvous of the group that the process has not joined yet, or creates one.
static hlo_status_t find_rendezvous(simgrid_t* sim, const hlo_rendezvous_t* rendezvous,
                                    sim_rendezvous_t** out_rendezvous) {
  sim_rendezvous_t** link = &sim->rendezvous_list;
  for (; *link; link = &(*link)->next) {
    if (!is_same_group(*link, rendezvous) || (*link)->has_arrived[place_of(rendezvous)]) continue;
    if ((*link)->tensor_count != rendezvous->tensor_count) {
      return hlo_node_error(rendezvous->node, HLO_STATUS_INVALID_ARGUMENT,
                            "other processes of the group contribute %u tensors, this one %u",
                            (*link)->tensor_count, rendezvous->tensor_count);
    }
    *out_rendezvous = *link;
    return hlo_ok();
  }
  HLO_TRY(rendezvous_create(rendezvous, link));
  *out_rendezvous = *link;
  return hlo_ok();
}

static void unlink_rendezvous(simgrid_t* sim, sim_rendezvous_t* rendezvous) {
  sim_rendezvous_t** link = &sim->rendezvous_list;
  while (*link != rendezvous) link = &(*link)->next;
  *link = rendezvous->next;
}

static hlo_status_t sim_meet(void* context, const hlo_rendezvous_t* rendezvous, void** ticket,
                             hlo_tensor_t** out_parts, bool* out_pending) {
  simgrid_t* sim = context;
  sim_rendezvous_t* joined = *ticket;
  if (!joined) {
    HLO_TRY(find_rendezvous(sim, rendezvous, &joined));
    uint32_t place = place_of(rendezvous);
    joined->has_arrived[place] = true;
    ++joined->arrived_count;
    for (uint32_t i = 0; i < rendezvous->tensor_count; ++i) {
      joined->parts[place * joined->tensor_count + i] = hlo_tensor_retain(rendezvous->tensors[i]);
    }
    *ticket = joined;
    ++sim->progress;
  }
  *out_pending = joined->arrived_count < joined->member_count;
  if (*out_pending) return hlo_ok();
  for (uint32_t i = 0; i < joined->member_count * joined->tensor_count; ++i) {
    out_parts[i] = hlo_tensor_retain(joined->parts[i]);
  }
  if (++joined->taken_count == joined->member_count) {
    unlink_rendezvous(sim, joined);
    rendezvous_free(joined);
  }
  ++sim->progress;
  return hlo_ok();
}

// ---- messages, infeed and outfeed ---------------------------------------------------------------

static hlo_status_t sim_send(void* context, const hlo_node_t* node, uint32_t source,
                             uint32_t target, uint32_t tensor_count, hlo_tensor_t* const* tensors) {
  simgrid_t* sim = context;
  size_t bytes = sizeof(sim_message_t) + tensor_count * sizeof(*tensors);
  sim_message_t* message = hlo_mem_alloc_zeroed(bytes);
  if (!message) return hlo_status_out_of_memory(bytes);
  message->channel_id = hlo_node_attr_int(node, HLO_ATTR_channel_id, 0);
  message->source = source;
  message->target = target;
  message->tensor_count = tensor_count;
  for (uint32_t i = 0; i < tensor_count; ++i) message->tensors[i] = hlo_tensor_retain(tensors[i]);
  sim_message_t** link = &sim->messages;
  while (*link) link = &(*link)->next;
  *link = message;
  ++sim->progress;
  return hlo_ok();
}

static bool is_for(uint32_t a, uint32_t b) {
  return a == b || a == HLO_PROCESS_ANY || b == HLO_PROCESS_ANY;
}

static hlo_status_t sim_recv(void* context, const hlo_node_t* node, uint32_t source,
                             uint32_t target, uint32_t tensor_count, hlo_tensor_t** out_tensors,
                             bool* out_pending) {
  simgrid_t* sim = context;
  const int64_t channel_id = hlo_node_attr_int(node, HLO_ATTR_channel_id, 0);
  for (sim_message_t** link = &sim->messages; *link; link = &(*link)->next) {
    sim_message_t* message = *link;
    if (message->channel_id != channel_id || !is_for(message->source, source) ||
        !is_for(message->target, target)) {
      continue;
    }
    if (message->tensor_count != tensor_count) {
      return hlo_invalid_argument("%u values were sent over channel %lld, expected %u",
                                  message->tensor_count, (long long)channel_id, tensor_count);
    }
    memcpy(out_tensors, message->tensors, tensor_count * sizeof(*out_tensors));
    *link = message->next;
    hlo_mem_free(message);
    ++sim->progress;
    *out_pending = false;
    return hlo_ok();
  }
  *out_pending = true;
  return hlo_ok();
}

static hlo_status_t sim_infeed(void* context, HLO_UNUSED uint32_t process, const hlo_node_t* node,
                               uint32_t tensor_count, hlo_tensor_t** out_tensors,
                               bool* out_pending) {
  simgrid_t* sim = context;
  *out_pending = false;
  if (tensor_count > sim->infeed_count - sim->infeed_next) {
    return hlo_node_error(node, HLO_STATUS_OUT_OF_RANGE, "the infeed is empty");
  }
  for (uint32_t i = 0; i < tensor_count; ++i) {
    out_tensors[i] = hlo_tensor_retain(sim->infeed[sim->infeed_next++]);
  }
  return hlo_ok();
}

// Discards the values written to the outfeed: the simulation has no reader.
static hlo_status_t sim_outfeed(HLO_UNUSED void* context, HLO_UNUSED uint32_t process,
                                HLO_UNUSED const hlo_node_t* node, HLO_UNUSED uint32_t tensor_count,
                                HLO_UNUSED hlo_tensor_t* const* tensors, bool* out_pending) {
  *out_pending = false;
  return hlo_ok();
}

// ---- running ------------------------------------------------------------------------------------

static hlo_status_t begin_all(const hlo_interp_program_t* program, const hlo_simgrid_run_t* run,
                              const simgrid_t* sim, uint32_t count, hlo_eval_t** evals) {
  hlo_interp_options_t options = run->options ? *run->options : (hlo_interp_options_t){0};
  options.grid = &sim->grid;
  uint32_t next_input = 0, next_output = 0;
  for (uint32_t p = 0; p < count; ++p) {
    const hlo_type_t* type = run->funcs[p]->type;
    if (next_input + type->input_count > run->input_count) {
      return hlo_invalid_argument("%u inputs are too few for all processes", run->input_count);
    }
    options.process = p;
    HLO_TRY_MSG(hlo_interp_begin(program, run->funcs[p], type->input_count,
                                 run->inputs + next_input, &options, &evals[p]),
                "process %u", p);
    next_input += type->input_count;
    next_output += type->element_count - type->input_count;
  }
  if (next_input != run->input_count || next_output != run->output_count) {
    return hlo_invalid_argument("the processes need %u inputs and %u results, found %u and %u",
                                next_input, next_output, run->input_count, run->output_count);
  }
  return hlo_ok();
}

// Runs rounds over the processes until all are done or a round makes no progress.
static hlo_status_t run_rounds(simgrid_t* sim, uint32_t count, hlo_eval_t** evals, bool* is_done) {
  for (uint32_t done_count = 0; done_count < count;) {
    uint64_t before = sim->progress;
    for (uint32_t p = 0; p < count; ++p) {
      if (is_done[p]) continue;
      bool is_suspended = false;
      HLO_TRY_MSG(hlo_interp_run(evals[p], &is_suspended), "process %u", p);
      if (is_suspended) continue;
      is_done[p] = true;
      ++done_count;
      ++sim->progress;
    }
    if (done_count < count && sim->progress == before) {
      return hlo_failed_precondition("deadlock: %u of %u processes wait for each other",
                                     count - done_count, count);
    }
  }
  return hlo_ok();
}

static void simgrid_deinit(simgrid_t* sim) {
  while (sim->rendezvous_list) {
    sim_rendezvous_t* rendezvous = sim->rendezvous_list;
    sim->rendezvous_list = rendezvous->next;
    rendezvous_free(rendezvous);
  }
  while (sim->messages) {
    sim_message_t* message = sim->messages;
    sim->messages = message->next;
    release_tensors(message->tensor_count, message->tensors);
    hlo_mem_free(message);
  }
}

hlo_status_t hlo_simgrid_run(const hlo_interp_program_t* program, const hlo_simgrid_run_t* run,
                             hlo_tensor_t** outputs) {
  uint32_t count = run->replica_count * run->partition_count;
  simgrid_t sim = {.grid = {.replica_count = run->replica_count,
                            .partition_count = run->partition_count,
                            .meet = sim_meet,
                            .send = sim_send,
                            .recv = sim_recv,
                            .infeed = sim_infeed,
                            .outfeed = sim_outfeed},
                   .infeed_count = run->infeed_count,
                   .infeed = run->infeed};
  sim.grid.context = &sim;
  hlo_eval_t** evals = hlo_mem_alloc_zeroed(count * (sizeof(*evals) + sizeof(bool)));
  if (!evals) return hlo_status_out_of_memory(count * sizeof(*evals));
  hlo_status_t status = begin_all(program, run, &sim, count, evals);
  if (hlo_status_is_ok(status)) status = run_rounds(&sim, count, evals, (bool*)(evals + count));
  for (uint32_t p = 0; p < count; ++p) {
    if (hlo_status_is_ok(status)) {
      hlo_interp_take_outputs(evals[p], outputs);
      const hlo_type_t* type = run->funcs[p]->type;
      outputs += type->element_count - type->input_count;
    }
    hlo_interp_end(evals[p]);
  }
  hlo_mem_free(evals);
  simgrid_deinit(&sim);
  return status;
}
