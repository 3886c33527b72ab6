// SPDX-License-Identifier: Apache-2.0
// Vector IR of entry functions (see entry.h).
#include "codegen/entry.h"

#include <stddef.h>

#include "base/kernel_abi.h"
#include "codegen/entry_values.h"
#include "codegen/split.h"
#include "codegen/team.h"
#include "codegen/vir/guard.h"
#include "interp/node_call.h"

enum {
  WORD_BYTES = 8,
  INLINE_COPY_BYTES = 512,   // larger copies are calls
  SCALAR_COPY_BYTES = 64,    // smaller ones go through general registers
  TEAM_PART_SIZE = 8,        // instructions of a part of a team, about
  SHARED_PLACE_LIMIT = 192,  // more bases than this are not worth keeping in registers
};

/// A function that the entry calls: a phase of a kernel or, of a team, of all its members.
typedef struct chunk_func {
  const char* name;
  const hlo_fusion_t* fusion;  // NULL: of a team
  bool is_shared;              // it finds its addresses in the table that is its context
  uint32_t phase, site;
  const hlo_team_t* team;
  uint32_t part_count;
  const hlo_team_part_t* parts;
  const uint32_t* funcs;  // by member
} chunk_func_t;

typedef struct func_list {
  uint32_t count, capacity;
  chunk_func_t* items;  // number 1 and on
  uint32_t* shared;     // by index of the model of equal fusions: its function; 0: none yet
} func_list_t;

/// What a function is built with.
typedef struct entry {
  const hlo_plan_t* plan;
  const hlo_target_t* target;
  hlo_site_table_t* table;
  hlo_arena_t* arena;
  hlo_entry_values_t* values;  // NULL in a chunk
  uint32_t load_flags;         // INVARIANT and FIXED when base addresses are kept all along
  uint32_t shared_words;       // most addresses that one shared function takes
  func_list_t* funcs;          // NULL in a chunk
} entry_t;

struct hlo_entry {
  entry_t base;
  func_list_t funcs;
};

static const hlo_vir_type_t kIndex = {HLO_VIR_INDEX, 1};

// ---- addresses

static hlo_vir_value_t* frame_pointer(const entry_t* entry, hlo_vir_builder_t* b, size_t offset) {
  return hlo_vir_iload(b, hlo_vir_param(b, 0), (int64_t)offset, entry->load_flags);
}

// Made again by whoever needs it: accesses fold it, and hundreds of them would not
// stay in registers.
static hlo_vir_value_t* add_offset(hlo_vir_builder_t* b, hlo_vir_value_t* base,
                                   uint64_t offset_bytes) {
  if (offset_bytes == 0) return base;
  hlo_vir_value_t* offset = hlo_vir_iconst(b, (int64_t)offset_bytes);
  bool was_plain = b->is_plain;
  b->is_plain = true;
  hlo_vir_value_t* address = hlo_vir_index(b, HLO_VIR_iadd, base, offset);
  b->is_plain = was_plain;
  return address;
}

static hlo_vir_value_t* place_address(const entry_t* entry, hlo_vir_builder_t* b,
                                      hlo_place_t place) {
  switch (place.kind) {
    case HLO_PLACE_NONE:
    case HLO_PLACE_REGISTER: break;
    case HLO_PLACE_ARGUMENT:
    case HLO_PLACE_RESULT: {
      uint64_t slot =
          place.index + (place.kind == HLO_PLACE_RESULT ? entry->plan->argument_count : 0);
      return hlo_vir_iload(b, frame_pointer(entry, b, offsetof(hlo_frame_t, buffers)),
                           (int64_t)(slot * WORD_BYTES), entry->load_flags);
    }
    case HLO_PLACE_CONSTANT: {
      hlo_vir_value_t* program = frame_pointer(entry, b, offsetof(hlo_frame_t, program));
      hlo_vir_value_t* constants = hlo_vir_iload(b, program, 0, entry->load_flags);
      return hlo_vir_iload(b, constants, (int64_t)place.index * WORD_BYTES, entry->load_flags);
    }
    case HLO_PLACE_TEMPORARY:
      return add_offset(b, frame_pointer(entry, b, offsetof(hlo_frame_t, temporaries)),
                        place.offset_bytes);
  }
  return hlo_vir_iconst(b, 0);
}

static hlo_vir_value_t* value_address(const entry_t* entry, hlo_vir_builder_t* b,
                                      const hlo_value_t* value) {
  return place_address(entry, b, hlo_plan_place(entry->plan, value));
}

static hlo_vir_value_t* load_scalar(hlo_vir_builder_t* b, hlo_vir_value_t* base, int64_t offset,
                                    uint32_t width_log2, uint32_t flags) {
  return hlo_vir_emit(b, HLO_VIR_iload, kIndex, flags | width_log2 << HLO_VIR_WIDTH_SHIFT, offset,
                      1, &base);
}

static void store_scalar(hlo_vir_builder_t* b, hlo_vir_value_t* value, hlo_vir_value_t* base,
                         int64_t offset, uint32_t width_log2) {
  hlo_vir_value_t* operands[] = {value, base};
  hlo_vir_emit(b, HLO_VIR_istore, hlo_vir_type(HLO_VIR_VOID, 0), width_log2 << HLO_VIR_WIDTH_SHIFT,
               offset, 2, operands);
}

// ---- calls and copies

// A call whose error ends the function.
static void return_error(hlo_vir_builder_t* b, hlo_vir_value_t* answer) {
  hlo_vir_begin_if(b, answer);
  hlo_vir_return(b, answer);
  hlo_vir_end(b);
}

static void checked_call(hlo_vir_builder_t* b, size_t function, uint32_t count,
                         hlo_vir_value_t* const* arguments) {
  return_error(b, hlo_vir_call(b, function, count, arguments));
}

static void call_site(hlo_vir_builder_t* b, uint32_t site_number) {
  hlo_vir_value_t* arguments[] = {hlo_vir_iconst(b, site_number), hlo_vir_iconst(b, 0)};
  checked_call(b, offsetof(hlo_runtime_table_t, call_kernel), 2, arguments);
}

static void copy_inline(const entry_t* entry, hlo_vir_builder_t* b, const hlo_copy_t* copy) {
  hlo_vir_value_t* from = place_address(entry, b, copy->from);
  hlo_vir_value_t* to = place_address(entry, b, copy->to);
  uint64_t at = 0;
  if (copy->size_bytes > SCALAR_COPY_BYTES) {
    hlo_vir_type_t type = hlo_vir_type(HLO_VIR_I8, entry->target->vector_bytes);
    for (; at + type.lanes <= copy->size_bytes; at += type.lanes) {
      hlo_vir_value_t* piece = hlo_vir_emit(b, HLO_VIR_load, type, 0, (int64_t)at, 1, &from);
      hlo_vir_value_t* operands[] = {piece, to};
      hlo_vir_emit(b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), 0, (int64_t)at, 2, operands);
    }
  }
  for (uint32_t width = 4; width-- > 0;) {
    uint64_t bytes = 1u << width;
    for (; at + bytes <= copy->size_bytes; at += bytes) {
      store_scalar(b, load_scalar(b, from, (int64_t)at, width, HLO_VIR_UNSIGNED), to, (int64_t)at,
                   width);
    }
  }
}

// Memory that a register is copied from or to; of an array only its elements.
static hlo_element_address_t address_of_copy(const entry_t* entry, hlo_vir_builder_t* b,
                                             hlo_place_t place, const hlo_copy_t* copy,
                                             const hlo_plan_register_t* r) {
  hlo_element_address_t address = {.base = place_address(entry, b, place)};
  if (r->is_vector) {
    uint64_t count = copy->size_bytes / hlo_dtype_size_bytes(r->dtype);
    address.mask = hlo_vir_emit(b, HLO_VIR_mask_const,
                                hlo_vir_type(HLO_VIR_MASK, entry->values->lanes), 0,
                                (int64_t)((UINT64_C(1) << count) - 1), 0, NULL);
  }
  return address;
}

// A copy from or to a register.
static void copy_value(const entry_t* entry, hlo_vir_builder_t* b, const hlo_copy_t* copy) {
  bool is_read = copy->from.kind == HLO_PLACE_REGISTER;
  const hlo_plan_register_t* r =
      &entry->plan->registers[is_read ? copy->from.index : copy->to.index];
  hlo_vir_value_t* value;
  if (is_read) {
    value = hlo_entry_values_read(entry->values, copy->from.index);
  } else if (copy->from.kind == HLO_PLACE_CONSTANT && !r->is_vector) {
    value = hlo_scalar_constant(b, r->dtype, entry->table->constants[copy->from.index]);
  } else {
    hlo_element_address_t address = address_of_copy(entry, b, copy->from, copy, r);
    value = r->is_vector ? hlo_elementwise_load(b, r->dtype, entry->values->lanes, &address)
                         : hlo_scalar_load(b, r->dtype, &address);
  }
  if (copy->to.kind == HLO_PLACE_REGISTER) {
    hlo_entry_values_write(entry->values, copy->to.index, value);
    return;
  }
  hlo_element_address_t address = address_of_copy(entry, b, copy->to, copy, r);
  if (r->is_vector) {
    hlo_elementwise_store(b, r->dtype, value, &address);
  } else {
    hlo_scalar_store(b, r->dtype, value, &address);
  }
}

static void emit_copies(const entry_t* entry, hlo_vir_builder_t* b, const hlo_node_t* node) {
  const hlo_copy_list_t* list = &entry->plan->copies[node->index];
  for (uint32_t i = 0; i < list->count; ++i) {
    const hlo_copy_t* copy = &list->items[i];
    bool is_memory =
        copy->from.kind != HLO_PLACE_CONSTANT || entry->table->constants[copy->from.index] != NULL;
    if (copy->from.kind == HLO_PLACE_REGISTER || copy->to.kind == HLO_PLACE_REGISTER) {
      copy_value(entry, b, copy);
    } else if (is_memory && copy->size_bytes <= INLINE_COPY_BYTES) {
      copy_inline(entry, b, copy);
    } else {
      call_site(b, hlo_site_table_add_copy(entry->table, copy, entry->arena));
    }
  }
}

// ---- kernels

static uint32_t address_count(const entry_t* entry, const hlo_fusion_t* fusion) {
  bool has_scratch = entry->plan->scratch[fusion->index].kind != HLO_PLACE_NONE;
  return fusion->input_count + fusion->output_count + has_scratch;
}

// Where a kernel finds inputs, outputs and scratch memory: addresses, or values of single elements.
typedef struct kernel_places {
  hlo_vir_value_t **addresses, **values;  // NULL when memory is out, which the arena reports
} kernel_places_t;

static kernel_places_t find_kernel_places(const entry_t* entry, hlo_vir_builder_t* b,
                                          const hlo_fusion_t* fusion) {
  const hlo_plan_t* plan = entry->plan;
  uint32_t count = fusion->input_count + fusion->output_count;
  kernel_places_t places = {
      .addresses = hlo_arena_array(entry->arena, count + 1, sizeof(*places.addresses)),
      .values = hlo_arena_array(entry->arena, count + 1, sizeof(*places.values))};
  if (!places.addresses || !places.values) return (kernel_places_t){0};
  bool takes_values =
      entry->values && hlo_kernel_reads_values(plan->kernels[fusion->index]);
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    if (takes_values) places.values[i] = hlo_entry_values_get(entry->values, fusion->inputs[i]);
    if (!places.values[i]) places.addresses[i] = value_address(entry, b, fusion->inputs[i]);
  }
  for (uint32_t i = 0; i < fusion->output_count; ++i) {
    if (hlo_plan_place(plan, fusion->outputs[i]).kind == HLO_PLACE_REGISTER) continue;
    places.addresses[fusion->input_count + i] = value_address(entry, b, fusion->outputs[i]);
  }
  hlo_place_t scratch = plan->scratch[fusion->index];
  if (scratch.kind != HLO_PLACE_NONE) places.addresses[count] = place_address(entry, b, scratch);
  return places;
}

// The same from a table that is handed over.
static kernel_places_t given_places(const entry_t* entry, hlo_vir_builder_t* b,
                                    const hlo_fusion_t* fusion) {
  uint32_t count = address_count(entry, fusion);
  kernel_places_t places = {
      .addresses = hlo_arena_array(entry->arena, count, sizeof(*places.addresses))};
  for (uint32_t i = 0; places.addresses && i < count; ++i) {
    places.addresses[i] = hlo_vir_iload(b, hlo_vir_param(b, 1), (int64_t)i * WORD_BYTES,
                                        HLO_VIR_INVARIANT | HLO_VIR_FIXED);
  }
  return places;
}

// Of checked code: the addresses as those of buffers with sizes.
static void guard_places(const entry_t* entry, hlo_vir_builder_t* b, const hlo_fusion_t* fusion,
                         const kernel_places_t* places) {
  uint32_t values = fusion->input_count + fusion->output_count;
  for (uint32_t i = 0; i < address_count(entry, fusion); ++i) {
    const hlo_value_t* value = i < fusion->input_count ? fusion->inputs[i]
                               : i < values ? fusion->outputs[i - fusion->input_count]
                                            : NULL;
    uint64_t bytes = value ? hlo_type_size_bytes(value->type)
                           : hlo_kernel_scratch_bytes(entry->plan->kernels[fusion->index]);
    if (places->addresses[i]) {
      places->addresses[i] = hlo_vir_guard(b, places->addresses[i], bytes);
    }
  }
}

static void emit_phase(const entry_t* entry, hlo_vir_builder_t* b, const hlo_fusion_t* fusion,
                       uint32_t phase, const kernel_places_t* places, hlo_vir_value_t* chunk) {
  if (!places->addresses) return;
  hlo_vir_guards_t guards;
  if (entry->plan->is_checked) {
    hlo_vir_guards_begin(b, &guards);
    guard_places(entry, b, fusion, places);
  }
  hlo_kernel_emit(entry->plan->kernels[fusion->index], phase, b, places->addresses, places->values,
                  chunk);
  if (entry->plan->is_checked) hlo_vir_guards_end(b);
  for (uint32_t i = 0; entry->values && i < fusion->output_count; ++i) {
    hlo_place_t place = hlo_plan_place(entry->plan, fusion->outputs[i]);
    hlo_vir_value_t* value = places->values[fusion->input_count + i];
    if (place.kind == HLO_PLACE_REGISTER && value) {
      hlo_entry_values_write(entry->values, place.index, value);
    }
  }
}

static const char* name_of(const chunk_func_t* func, hlo_arena_t* arena) {
  if (func->team) return hlo_arena_printf(arena, "team%u_%u", func->team->index, func->phase);
  uint32_t index = func->fusion->index;
  return func->phase ? hlo_arena_printf(arena, "chunk%u_%u", index, func->phase)
                     : hlo_arena_printf(arena, "chunk%u", index);
}

// The number of a function that is built later.
static uint32_t add_func(const entry_t* entry, const chunk_func_t* func) {
  func_list_t* list = entry->funcs;
  chunk_func_t* items =
      hlo_arena_room(entry->arena, list->items, list->count, &list->capacity, sizeof *items);
  if (!items) return 0;  // the arena says so
  list->items = items;
  items[list->count] = *func;
  items[list->count++].name = name_of(func, entry->arena);
  return list->count;
}

static uint32_t add_chunk_func(const entry_t* entry, const hlo_fusion_t* fusion, uint32_t phase,
                               bool is_shared, uint32_t site) {
  chunk_func_t func = {.fusion = fusion, .phase = phase, .is_shared = is_shared, .site = site};
  return add_func(entry, &func);
}

static void emit_chunk_func(const entry_t* entry, hlo_vir_builder_t* b, const chunk_func_t* func) {
  const hlo_fusion_t* fusion = func->fusion;
  kernel_places_t places =
      func->is_shared ? given_places(entry, b, fusion) : find_kernel_places(entry, b, fusion);
  bool is_cut = hlo_kernel_chunk_count(entry->plan->kernels[fusion->index], func->phase) > 1;
  emit_phase(entry, b, fusion, func->phase, &places, is_cut ? hlo_vir_param(b, 2) : NULL);
}

static void emit_chunks(hlo_vir_builder_t* b, uint64_t count, uint32_t func,
                        hlo_vir_value_t* context) {
  hlo_vir_value_t* arguments[] = {hlo_vir_iconst(b, (int64_t)count),
                                  hlo_vir_emit(b, HLO_VIR_func_address, kIndex, 0, func, 0, NULL),
                                  context};
  checked_call(b, offsetof(hlo_runtime_table_t, parallel_for), 3, arguments);
}

typedef struct phase_range {
  uint32_t first, end;
} phase_range_t;

// The function of the first phase; the others' follow.
static uint32_t shared_func(const entry_t* entry, const hlo_fusion_t* fusion, uint32_t site) {
  uint32_t phases = hlo_kernel_phase_count(entry->plan->kernels[fusion->index]);
  uint32_t* func = &entry->funcs->shared[fusion->model->index];
  for (uint32_t phase = 0; phase < phases && !*func; ++phase) {
    uint32_t made = add_chunk_func(entry, fusion, phase, true, site);
    if (phase + 1 == phases) *func = made + 1 - phases;
  }
  return *func;
}

// The context of such a function; NULL when memory is out, which the arena reports.
static hlo_vir_value_t* emit_table(const entry_t* entry, hlo_vir_builder_t* b,
                                   const hlo_fusion_t* fusion) {
  kernel_places_t places = find_kernel_places(entry, b, fusion);
  if (!places.addresses) return NULL;
  hlo_vir_value_t* table =
      hlo_vir_emit(b, HLO_VIR_stack, kIndex, 0, (int64_t)entry->shared_words * WORD_BYTES, 0, NULL);
  for (uint32_t i = 0; i < address_count(entry, fusion); ++i) {
    hlo_vir_istore(b, places.addresses[i], table, (int64_t)i * WORD_BYTES, 0);
  }
  return table;
}

static void emit_chunk_call(const entry_t* entry, hlo_vir_builder_t* b, uint32_t func,
                            hlo_vir_value_t* context, hlo_vir_value_t* chunk) {
  hlo_vir_value_t* answer = hlo_vir_call_chunk(b, func, context, chunk);
  if (entry->plan->is_checked) return_error(b, answer);  // else there is none
}

static void emit_shared_fusion(const entry_t* entry, hlo_vir_builder_t* b,
                               const hlo_fusion_t* fusion, phase_range_t range) {
  uint32_t func = shared_func(entry, fusion, b->site);
  hlo_vir_value_t* table = emit_table(entry, b, fusion);
  if (!table) return;
  for (uint32_t phase = range.first; phase < range.end; ++phase) {
    uint64_t chunks = hlo_kernel_chunk_count(entry->plan->kernels[fusion->index], phase);
    if (chunks > 1) {
      emit_chunks(b, chunks, func + phase, table);
    } else {
      emit_chunk_call(entry, b, func + phase, table, hlo_vir_iconst(b, 0));
    }
  }
}

static void emit_phases(const entry_t* entry, hlo_vir_builder_t* b, const hlo_fusion_t* fusion,
                        phase_range_t range) {
  const hlo_kernel_t* kernel = entry->plan->kernels[fusion->index];
  if (hlo_kernel_is_shared(kernel)) {
    emit_shared_fusion(entry, b, fusion, range);
    return;
  }
  for (uint32_t phase = range.first; phase < range.end; ++phase) {
    uint64_t chunks = hlo_kernel_chunk_count(kernel, phase);
    if (chunks > 1) {
      emit_chunks(b, chunks, add_chunk_func(entry, fusion, phase, false, b->site),
                  hlo_vir_iconst(b, 0));
    } else {
      kernel_places_t places = find_kernel_places(entry, b, fusion);
      emit_phase(entry, b, fusion, phase, &places, NULL);
    }
  }
}

static void emit_fusion(const entry_t* entry, hlo_vir_builder_t* b, const hlo_fusion_t* fusion) {
  uint32_t tile_site = hlo_site_tile_number(entry->table, fusion->index);
  if (tile_site) {
    call_site(b, tile_site);
    return;
  }
  uint32_t end = hlo_kernel_phase_count(entry->plan->kernels[fusion->index]);
  emit_phases(entry, b, fusion,
              (phase_range_t){entry->plan->prepared[fusion->index] ? 1 : 0, end});
}

// The first phases that run once before a loop instead of in every turn of it.
static void emit_preparations(const entry_t* entry, hlo_vir_builder_t* b, const hlo_node_t* loop) {
  const hlo_schedule_t* schedule = entry->plan->schedule;
  uint32_t sequences = entry->plan->is_prepared_for[loop->index] ? schedule->sequence_count : 0;
  for (uint32_t s = 0; s < sequences; ++s) {
    const hlo_sequence_t* sequence = &schedule->sequences[s];
    for (uint32_t i = 0; i < sequence->step_count; ++i) {
      const hlo_fusion_t* fusion = sequence->steps[i].fusion;
      if (!fusion || entry->plan->prepared[fusion->index] != loop) continue;
      emit_phases(entry, b, fusion, (phase_range_t){0, 1});
    }
  }
}

// ---- teams

static bool has_phase(const entry_t* entry, const hlo_fusion_t* fusion, uint32_t phase) {
  if (phase == 0 && entry->plan->prepared[fusion->index]) return false;  // before the loop
  return phase < hlo_kernel_phase_count(entry->plan->kernels[fusion->index]);
}

static void emit_member(const entry_t* entry, hlo_vir_builder_t* b, const chunk_func_t* func,
                        const hlo_team_part_t* part, uint32_t member) {
  const hlo_fusion_t* fusion = func->team->members[member];
  const hlo_kernel_t* kernel = entry->plan->kernels[fusion->index];
  if (!has_phase(entry, fusion, func->phase)) return;
  hlo_vir_value_t* context = hlo_kernel_is_shared(kernel) ? emit_table(entry, b, fusion)
                                                          : hlo_vir_iconst(b, 0);
  if (!context) return;
  hlo_vir_value_t* chunk = hlo_vir_iconst(b, 0);
  if (part->count > 1) {
    hlo_vir_value_t* first = hlo_vir_iconst(b, (int64_t)part->first);
    chunk = hlo_vir_index(b, HLO_VIR_isub, hlo_vir_param(b, 2), first);
  }
  emit_chunk_call(entry, b, func->funcs[member], context, chunk);
}

// Finds the part that a chunk is of by bisection.
static void emit_parts(const entry_t* entry, hlo_vir_builder_t* b, const chunk_func_t* func,
                       uint32_t first, uint32_t end) {
  const hlo_team_part_t* part = &func->parts[first];
  if (end - first == 1) {
    for (uint32_t m = part->first_member; m < part->end_member; ++m) {
      emit_member(entry, b, func, part, m);
    }
    return;
  }
  uint32_t middle = (first + end) / 2;
  hlo_vir_value_t* bound = hlo_vir_iconst(b, (int64_t)func->parts[middle].first);
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_LT, hlo_vir_param(b, 2), bound));
  emit_parts(entry, b, func, first, middle);
  hlo_vir_begin_else(b);
  emit_parts(entry, b, func, middle, end);
  hlo_vir_end(b);
}

// The functions of the members that have this phase; NULL when memory is out, which the arena
// reports.
static const uint32_t* add_member_funcs(const entry_t* entry, const hlo_team_t* team,
                                        uint32_t phase) {
  uint32_t* funcs = hlo_arena_array(entry->arena, team->member_count, sizeof *funcs);
  for (uint32_t m = 0; funcs && m < team->member_count; ++m) {
    const hlo_fusion_t* fusion = team->members[m];
    const hlo_kernel_t* kernel = entry->plan->kernels[fusion->index];
    if (!has_phase(entry, fusion, phase)) continue;
    uint32_t site = hlo_site_number(fusion->nodes[0]);
    funcs[m] = hlo_kernel_is_shared(kernel) ? shared_func(entry, fusion, site) + phase
                                            : add_chunk_func(entry, fusion, phase, false, site);
  }
  return funcs;
}

static bool has_any_phase(const entry_t* entry, const hlo_team_t* team, uint32_t phase) {
  for (uint32_t m = 0; m < team->member_count; ++m) {
    if (has_phase(entry, team->members[m], phase)) return true;
  }
  return false;
}

static void emit_team_phase(const entry_t* entry, hlo_vir_builder_t* b, const hlo_team_t* team,
                            uint32_t phase) {
  if (!has_any_phase(entry, team, phase)) return;
  uint32_t count;
  hlo_team_part_t* parts;
  hlo_status_t status = hlo_team_cut(team, entry->target, phase, entry->arena, &count, &parts);
  if (!hlo_status_is_ok(status)) {  // the arena says so
    hlo_status_release(status);
    return;
  }
  const chunk_func_t all = {.team = team,
                            .phase = phase,
                            .site = b->site,
                            .part_count = count,
                            .parts = parts,
                            .funcs = add_member_funcs(entry, team, phase)};
  uint32_t func = add_func(entry, &all);
  uint64_t chunks = parts[count - 1].first + parts[count - 1].count;
  if (chunks > 1) {
    emit_chunks(b, chunks, func, hlo_vir_iconst(b, 0));
  } else {
    emit_chunk_call(entry, b, func, hlo_vir_iconst(b, 0), hlo_vir_iconst(b, 0));
  }
}

// ---- nodes

static void emit_process_number(const entry_t* entry, hlo_vir_builder_t* b, const hlo_node_t* node,
                                size_t offset) {
  enum { WIDTH_LOG2 = 2 };
  hlo_vir_value_t* number =
      load_scalar(b, hlo_vir_param(b, 0), (int64_t)offset, WIDTH_LOG2, HLO_VIR_UNSIGNED);
  store_scalar(b, number, value_address(entry, b, &node->results[0]), 0, WIDTH_LOG2);
}

static void emit_start(hlo_vir_builder_t* b, uint32_t site_number) {
  hlo_vir_value_t* arguments[] = {hlo_vir_iconst(b, site_number), hlo_vir_iconst(b, 0)};
  checked_call(b, offsetof(hlo_runtime_table_t, collective_start), 2, arguments);
}

// Asks whether the results are there, and leaves the function until they may be.
static void emit_done(hlo_vir_builder_t* b, uint32_t site_number) {
  hlo_vir_begin_loop(b);
  hlo_vir_value_t* site = hlo_vir_iconst(b, site_number);
  hlo_vir_value_t* answer =
      hlo_vir_call(b, offsetof(hlo_runtime_table_t, collective_done), 1, &site);
  hlo_vir_break_if(
      b, hlo_vir_icmp(b, HLO_VIR_EQ, answer, hlo_vir_iconst(b, HLO_KERNEL_DONE)));
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_EQ, answer, hlo_vir_iconst(b, HLO_KERNEL_ERROR)));
  hlo_vir_return(b, answer);
  hlo_vir_end(b);
  hlo_vir_suspend(b, site_number);  // resume points are named by sites
  hlo_vir_end(b);
}

static void emit_site(const entry_t* entry, hlo_vir_builder_t* b, const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_after_all:
    case HLO_OP_create_token: return;
    case HLO_OP_replica_id:
      emit_process_number(entry, b, node, offsetof(hlo_frame_t, replica_id));
      return;
    case HLO_OP_partition_id:
      emit_process_number(entry, b, node, offsetof(hlo_frame_t, partition_id));
      return;
    default: break;
  }
  if (hlo_node_call_may_wait(node)) {
    emit_start(b, hlo_site_number(node));
    if (!hlo_split_end(node)) emit_done(b, hlo_site_number(node));
  } else {
    call_site(b, hlo_site_number(node));
  }
}

// ---- control

static void emit_region(const entry_t* entry, hlo_vir_builder_t* b, const hlo_region_t* region);

static void poll_cancelled(hlo_vir_builder_t* b) {
  enum { WIDTH_LOG2 = 2 };
  hlo_vir_begin_if(b, load_scalar(b, hlo_vir_param(b, 0), offsetof(hlo_frame_t, cancelled),
                                  WIDTH_LOG2, HLO_VIR_UNSIGNED));
  hlo_vir_value_t* arguments[] = {hlo_vir_iconst(b, HLO_SITE_CANCELLED), hlo_vir_iconst(b, 0),
                                  hlo_vir_iconst(b, 0)};
  hlo_vir_return(b, hlo_vir_call(b, offsetof(hlo_runtime_table_t, check_failed), 3, arguments));
  hlo_vir_end(b);
}

// The first element of what a loop or branch depends on, as INDEX.
static hlo_vir_value_t* read_decision(const entry_t* entry, hlo_vir_builder_t* b,
                                      const hlo_value_t* value) {
  hlo_vir_value_t* known = hlo_entry_values_get(entry->values, value);
  if (known) return known;
  hlo_element_address_t address = {.base = value_address(entry, b, value)};
  return hlo_scalar_load(b, value->type->dtype, &address);
}

static void emit_block(const entry_t* entry, hlo_vir_builder_t* b, const hlo_region_t* region) {
  uint32_t mark = hlo_entry_values_begin(entry->values);
  emit_region(entry, b, region);
  hlo_entry_values_end(entry->values, mark);
}

static void emit_while(const entry_t* entry, hlo_vir_builder_t* b, const hlo_node_t* node) {
  const hlo_node_t* condition = hlo_region_terminator(node->regions[0]);
  emit_preparations(entry, b, node);
  hlo_entry_values_enter_loop(entry->values, node);
  hlo_vir_begin_loop(b);
  uint32_t mark = hlo_entry_values_begin(entry->values);
  emit_region(entry, b, node->regions[0]);
  hlo_vir_value_t* go_on = read_decision(entry, b, hlo_node_operand(condition, 0));
  hlo_vir_break_if(b, hlo_vir_icmp(b, HLO_VIR_EQ, go_on, hlo_vir_iconst(b, 0)));
  emit_region(entry, b, node->regions[1]);
  poll_cancelled(b);
  hlo_entry_values_end(entry->values, mark);
  hlo_vir_end(b);
}

static void emit_if(const entry_t* entry, hlo_vir_builder_t* b, const hlo_node_t* node) {
  hlo_vir_begin_if(b, read_decision(entry, b, hlo_node_operand(node, 0)));
  emit_block(entry, b, node->regions[0]);
  hlo_vir_begin_else(b);
  emit_block(entry, b, node->regions[1]);
  hlo_vir_end(b);
}

// The branches from `first` to `end`, one of which the number is.
static void emit_branches(const entry_t* entry, hlo_vir_builder_t* b, const hlo_node_t* node,
                          hlo_vir_value_t* number, uint32_t first, uint32_t end) {
  if (end - first == 1) {
    emit_block(entry, b, node->regions[first]);
    return;
  }
  uint32_t middle = first + (end - first) / 2;
  hlo_vir_condition_t condition = end - first == 2 ? HLO_VIR_EQ : HLO_VIR_LT;
  uint32_t limit = condition == HLO_VIR_EQ ? first : middle;
  hlo_vir_begin_if(b, hlo_vir_icmp(b, condition, number, hlo_vir_iconst(b, limit)));
  emit_branches(entry, b, node, number, first, middle);
  hlo_vir_begin_else(b);
  emit_branches(entry, b, node, number, middle, end);
  hlo_vir_end(b);
}

// Any number but those of the other branches runs the last one: those behind it do so anyway, and
// of two branches the last is whatever is not 0.
static void emit_case(const entry_t* entry, hlo_vir_builder_t* b, const hlo_node_t* node) {
  hlo_vir_value_t* number = read_decision(entry, b, hlo_node_operand(node, 0));
  if (node->region_count > 2) {
    hlo_vir_value_t* last = hlo_vir_iconst(b, node->region_count - 1);
    hlo_vir_value_t* is_negative = hlo_vir_icmp(b, HLO_VIR_LT, number, hlo_vir_iconst(b, 0));
    number = hlo_vir_emit(b, HLO_VIR_iselect, kIndex, 0, 0, 3,
                          (hlo_vir_value_t*[]){is_negative, last, number});
  }
  emit_branches(entry, b, node, number, 0, node->region_count);
}

static void emit_control(const entry_t* entry, hlo_vir_builder_t* b, const hlo_node_t* node) {
  bool* opened = hlo_entry_values_open(entry->values, node);
  if (node->op == HLO_OP_while) {
    emit_while(entry, b, node);
  } else if (node->op == HLO_OP_if) {
    emit_if(entry, b, node);
  } else {
    emit_case(entry, b, node);
  }
  hlo_entry_values_close(entry->values, node, opened);
}

// Of checked code: what the temporaries look like around a step or terminator.
static void watch(const entry_t* entry, hlo_vir_builder_t* b, hlo_watch_moment_t moment,
                  const hlo_node_t* node) {
  const hlo_plan_t* plan = entry->plan;
  if (!plan->watch) return;
  hlo_watch_site_t site = {.event = {.moment = moment}, .node = node};
  if (node) {
    const hlo_node_t* around = node->parent->parent;
    bool is_step = !(hlo_op_info(node->op)->traits & HLO_TRAIT_TERMINATOR);
    site.event.begin = plan->begins[node->index];
    site.event.end = plan->ends[node->index];
    site.event.floor = around ? plan->begins[around->index] : 0;
    if (is_step && moment == HLO_WATCH_BEFORE) site.event.end = site.event.begin;
  }
  call_site(b, hlo_site_table_add_watch(entry->table, &site, entry->arena));
}

static void emit_step(const entry_t* entry, hlo_vir_builder_t* b, const hlo_step_t* step) {
  const hlo_node_t* node = step->node;
  b->site = hlo_site_number(node);
  watch(entry, b, HLO_WATCH_BEFORE, node);
  emit_copies(entry, b, node);
  switch (step->kind) {
    case HLO_STEP_FUSION: emit_fusion(entry, b, step->fusion); break;
    case HLO_STEP_VIEW:
      if (hlo_split_begin(node)) emit_done(b, hlo_site_number(hlo_split_begin(node)));
      break;
    case HLO_STEP_SITE: emit_site(entry, b, node); break;
    case HLO_STEP_CONTROL: emit_control(entry, b, node); break;
  }
  watch(entry, b, HLO_WATCH_AFTER, node);
}

static void emit_team(const entry_t* entry, hlo_vir_builder_t* b, const hlo_step_t* steps) {
  const hlo_team_t* team = steps->fusion->team;
  b->site = hlo_site_number(steps->node);
  watch(entry, b, HLO_WATCH_BEFORE, steps->node);
  for (uint32_t i = 0; i < team->member_count; ++i) emit_copies(entry, b, steps[i].node);
  uint32_t phases = hlo_team_phase_count(team);
  for (uint32_t phase = 0; phase < phases; ++phase) emit_team_phase(entry, b, team, phase);
  watch(entry, b, HLO_WATCH_AFTER, steps->node);
}

static void emit_region(const entry_t* entry, hlo_vir_builder_t* b, const hlo_region_t* region) {
  const hlo_sequence_t* sequence = hlo_schedule_find(entry->plan->schedule, region);
  for (uint32_t i = 0; i < sequence->step_count;) {
    const hlo_step_t* step = &sequence->steps[i];
    const hlo_team_t* team = hlo_step_team(step);
    if (team) {
      emit_team(entry, b, step);
    } else {
      emit_step(entry, b, step);
    }
    i += team ? team->member_count : 1;
  }
  const hlo_node_t* end = hlo_region_terminator(region);
  watch(entry, b, HLO_WATCH_BEFORE, end);
  emit_copies(entry, b, end);
  watch(entry, b, HLO_WATCH_AFTER, end);
}

// Base addresses that kernels and copies use, but that of the temporaries; sites find theirs by
// themselves.
static uint32_t count_bases(const hlo_plan_t* plan) {
  uint32_t count = plan->argument_count + plan->result_count;
  for (uint32_t i = 0; i < plan->constant_count; ++i) {
    count += hlo_type_element_count(plan->constants[i].value->type) != 1;
  }
  return count;
}

// The most addresses that shared code takes.
static uint32_t most_words(const entry_t* entry) {
  const hlo_plan_t* plan = entry->plan;
  uint32_t most = 0;
  for (uint32_t s = 0; s < plan->schedule->sequence_count; ++s) {
    const hlo_sequence_t* sequence = &plan->schedule->sequences[s];
    for (uint32_t i = 0; i < sequence->step_count; ++i) {
      const hlo_fusion_t* fusion = sequence->steps[i].fusion;
      if (!fusion || !hlo_kernel_is_shared(plan->kernels[fusion->index])) continue;
      uint32_t words = address_count(entry, fusion);
      if (words > most) most = words;
    }
  }
  return most;
}

static void build_entry(entry_t* entry, hlo_vir_module_t* module) {
  hlo_vir_func_t* func = hlo_vir_func_create(module, "entry", 1, true);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  hlo_entry_values_t values;
  hlo_entry_values_init(&values, entry->plan, entry->table, entry->target, &b, entry->arena);
  entry->values = &values;
  if (!entry->arena->failed) {
    watch(entry, &b, HLO_WATCH_START, NULL);
    emit_region(entry, &b, entry->plan->func->body);
    hlo_vir_return(&b, hlo_vir_iconst(&b, HLO_KERNEL_DONE));
  }
  entry->values = NULL;
  hlo_vir_builder_deinit(&b);
}

hlo_status_t hlo_entry_create(const hlo_plan_t* plan, const hlo_target_t* target,
                              hlo_site_table_t* table, hlo_arena_t* arena,
                              hlo_vir_module_t* module, hlo_entry_t** out_entry) {
  hlo_entry_t* made = hlo_arena_alloc_zeroed(arena, sizeof *made);
  uint32_t* shared = hlo_arena_array(arena, plan->schedule->fusion_count + 1, sizeof *shared);
  HLO_TRY(hlo_arena_status(arena));
  made->funcs.shared = shared;
  made->base = (entry_t){
      .plan = plan, .target = target, .table = table, .arena = arena, .funcs = &made->funcs};
  made->base.shared_words = most_words(&made->base);
  if (count_bases(plan) <= SHARED_PLACE_LIMIT) {
    made->base.load_flags = HLO_VIR_INVARIANT | HLO_VIR_FIXED;
  }
  build_entry(&made->base, module);
  HLO_TRY(hlo_arena_status(arena));
  *out_entry = made;
  return hlo_vir_module_status(module);
}

uint32_t hlo_entry_func_count(const hlo_entry_t* entry) {
  return entry->funcs.count + 1;
}

uint64_t hlo_entry_func_size(const hlo_entry_t* entry, uint32_t number) {
  const chunk_func_t* func = &entry->funcs.items[number - 1];
  return func->team ? TEAM_PART_SIZE * (uint64_t)func->part_count
                    : hlo_kernel_code_size(entry->base.plan->kernels[func->fusion->index]);
}

hlo_status_t hlo_entry_build_func(const hlo_entry_t* entry, uint32_t number,
                                  hlo_vir_module_t* module) {
  const chunk_func_t* chunk = &entry->funcs.items[number - 1];
  hlo_vir_func_t* func = hlo_vir_func_create(module, chunk->name, 3, false);
  func->index = number;
  func->name = chunk->name;  // which outlives the module
  entry_t own = entry->base;
  own.arena = &module->arena;
  own.load_flags = chunk->team ? 0 : HLO_VIR_INVARIANT | HLO_VIR_FIXED;  // a team needs few of them
  own.funcs = NULL;
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  b.site = chunk->site;
  if (chunk->team) {
    emit_parts(&own, &b, chunk, 0, chunk->part_count);
  } else {
    emit_chunk_func(&own, &b, chunk);
  }
  hlo_vir_return(&b, hlo_vir_iconst(&b, HLO_KERNEL_DONE));
  hlo_vir_builder_deinit(&b);
  return hlo_vir_module_status(module);
}

hlo_status_t hlo_entry_build(const hlo_plan_t* plan, const hlo_target_t* target,
                             hlo_site_table_t* table, hlo_arena_t* arena,
                             hlo_vir_module_t* module) {
  hlo_entry_t* entry;
  HLO_TRY(hlo_entry_create(plan, target, table, arena, module, &entry));
  for (uint32_t number = 1; number < hlo_entry_func_count(entry); ++number) {
    HLO_TRY(hlo_entry_build_func(entry, number, module));
  }
  return hlo_ok();
}
