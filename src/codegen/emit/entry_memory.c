// SPDX-License-Identifier: Apache-2.0
// Addresses of values in entry functions, calls of the runtime, and copies between allocations.
#include <stddef.h>

#include "base/program_abi.h"
#include "base/tuning.h"
#include "codegen/emit/entry_impl.h"

static const hlo_vir_type_t kIndex = {HLO_VIR_INDEX, 1};

// ---- addresses

static hlo_vir_value_t* frame_pointer(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                      size_t offset) {
  return hlo_vir_iload(b, hlo_vir_param(b, 0), (int64_t)offset, entry->load_flags);
}

// Recomputed by every user: accesses fold it, and hundreds of sums would not stay in registers.
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

hlo_vir_value_t* hlo_entry_allocation_address(const hlo_entry_context_t* entry,
                                              hlo_vir_builder_t* b, hlo_allocation_t allocation) {
  switch (allocation.kind) {
    case HLO_ALLOCATION_NONE:
    case HLO_ALLOCATION_REGISTER: break;
    case HLO_ALLOCATION_ARGUMENT:
    case HLO_ALLOCATION_RESULT: {
      uint64_t slot = allocation.index +
                      (allocation.kind == HLO_ALLOCATION_RESULT ? entry->plan->argument_count : 0);
      hlo_vir_value_t* base =
          hlo_vir_iload(b, frame_pointer(entry, b, offsetof(hlo_frame_t, buffers)),
                        (int64_t)(slot * HLO_ENTRY_WORD_BYTES), entry->load_flags);
      return add_offset(b, base, allocation.offset_bytes);
    }
    case HLO_ALLOCATION_CONSTANT: {
      hlo_vir_value_t* program = frame_pointer(entry, b, offsetof(hlo_frame_t, program));
      hlo_vir_value_t* constants = hlo_vir_iload(b, program, 0, entry->load_flags);
      return hlo_vir_iload(b, constants, (int64_t)allocation.index * HLO_ENTRY_WORD_BYTES,
                           entry->load_flags);
    }
    case HLO_ALLOCATION_TEMPORARY:
      return add_offset(b, frame_pointer(entry, b, offsetof(hlo_frame_t, temporaries)),
                        allocation.offset_bytes);
  }
  return hlo_vir_iconst(b, 0);
}

hlo_vir_value_t* hlo_entry_value_address(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                         const hlo_value_t* value) {
  return hlo_entry_allocation_address(entry, b, hlo_plan_allocation(entry->plan, value));
}

hlo_vir_value_t* hlo_entry_load_scalar(hlo_vir_builder_t* b, hlo_vir_value_t* base, int64_t offset,
                                       uint32_t width_log2, uint32_t flags) {
  return hlo_vir_emit(b, HLO_VIR_iload, kIndex, flags | width_log2 << HLO_VIR_WIDTH_SHIFT, offset,
                      1, &base);
}

void hlo_entry_store_scalar(hlo_vir_builder_t* b, hlo_vir_value_t* value, hlo_vir_value_t* base,
                            int64_t offset, uint32_t width_log2) {
  hlo_vir_value_t* operands[] = {value, base};
  hlo_vir_emit(b, HLO_VIR_istore, hlo_vir_type(HLO_VIR_VOID, 0), width_log2 << HLO_VIR_WIDTH_SHIFT,
               offset, 2, operands);
}

// ---- calls and copies

void hlo_entry_return_error(hlo_vir_builder_t* b, hlo_vir_value_t* answer) {
  hlo_vir_begin_if(b, answer);
  hlo_vir_return(b, answer);
  hlo_vir_end(b);
}

void hlo_entry_call(hlo_vir_builder_t* b, size_t function, uint32_t count,
                    hlo_vir_value_t* const* arguments) {
  hlo_entry_return_error(b, hlo_vir_call(b, function, count, arguments));
}

void hlo_entry_emit_call(hlo_vir_builder_t* b, uint32_t call_site_number) {
  hlo_vir_value_t* arguments[] = {hlo_vir_iconst(b, call_site_number), hlo_vir_iconst(b, 0)};
  hlo_entry_call(b, offsetof(hlo_runtime_table_t, call_library), 2, arguments);
}

static void copy_inline(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                        const hlo_copy_t* copy) {
  hlo_vir_value_t* from = hlo_entry_allocation_address(entry, b, copy->from);
  hlo_vir_value_t* to = hlo_entry_allocation_address(entry, b, copy->to);
  uint64_t at = 0;
  if (copy->size_bytes > HLO_TUNING_COPY_SCALAR_BYTES) {
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
      hlo_entry_store_scalar(b,
                             hlo_entry_load_scalar(b, from, (int64_t)at, width, HLO_VIR_UNSIGNED),
                             to, (int64_t)at, width);
    }
  }
}

// Returns the memory that a register is copied from or to; for an array its elements only.
static hlo_element_address_t address_of_copy(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                             hlo_allocation_t allocation, const hlo_copy_t* copy,
                                             const hlo_plan_register_t* r) {
  hlo_element_address_t address = {.base = hlo_entry_allocation_address(entry, b, allocation)};
  if (r->is_vector) {
    uint64_t count = copy->size_bytes / hlo_dtype_size_bytes(r->dtype);
    address.mask = hlo_vir_const_mask(b, entry->values->lanes, (uint32_t)count);
  }
  return address;
}

// Emits a copy from or to a register.
static void copy_value(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                       const hlo_copy_t* copy) {
  bool is_read = copy->from.kind == HLO_ALLOCATION_REGISTER;
  const hlo_plan_register_t* r =
      &entry->plan->registers[is_read ? copy->from.index : copy->to.index];
  hlo_vir_value_t* value;
  if (is_read) {
    value = hlo_entry_values_read(entry->values, copy->from.index);
  } else if (copy->from.kind == HLO_ALLOCATION_CONSTANT && !r->is_vector) {
    value = hlo_scalar_constant(b, r->dtype, entry->table->constants[copy->from.index]);
  } else {
    hlo_element_address_t address = address_of_copy(entry, b, copy->from, copy, r);
    value = r->is_vector ? hlo_elementwise_load(b, r->dtype, entry->values->lanes, &address)
                         : hlo_scalar_load(b, r->dtype, &address);
  }
  if (copy->to.kind == HLO_ALLOCATION_REGISTER) {
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

void hlo_entry_emit_copies(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                           const hlo_node_t* node) {
  const hlo_copy_list_t* list = &entry->plan->copies[node->index];
  for (uint32_t i = 0; i < list->count; ++i) {
    const hlo_copy_t* copy = &list->items[i];
    bool is_memory = copy->from.kind != HLO_ALLOCATION_CONSTANT ||
                     entry->table->constants[copy->from.index] != NULL;
    if (copy->from.kind == HLO_ALLOCATION_REGISTER || copy->to.kind == HLO_ALLOCATION_REGISTER) {
      copy_value(entry, b, copy);
    } else if (is_memory && copy->size_bytes <= HLO_TUNING_COPY_INLINE_BYTES) {
      copy_inline(entry, b, copy);
    } else {
      hlo_entry_emit_call(b, hlo_call_site_table_add_copy(entry->table, copy, entry->arena));
    }
  }
}
