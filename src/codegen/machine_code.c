// SPDX-License-Identifier: Apache-2.0
// Functions of one program in units, each made without the others (see machine_code.h).
#include "codegen/machine_code.h"

#include "base/mem.h"
#include "codegen/x86/x86.h"

enum {
  ALONE_SIZE = 2000,  // less than this beside the largest function is not worth another thread
  UNIT_SIZE = 500,    // a unit costs about what 20 instructions do
  UNIT_LIMIT = 64,    // each has a label for every function
};

/// Functions that one thread makes, one after the other.
typedef struct unit {
  uint32_t first, end;
  hlo_x86_unit_t* code;
  hlo_status_t status;
} unit_t;

typedef struct maker {
  const hlo_entry_t* entry;
  const hlo_vir_module_t* first;
  const hlo_target_t* target;
  hlo_arena_store_t* store;
  unit_t* units;
} maker_t;

// Its vector IR is gone before that of the next function is built, in the same memory.
static hlo_status_t make_func(const maker_t* maker, uint32_t number, hlo_x86_unit_t* code) {
  if (number == 0) return hlo_x86_unit_add(code, maker->first->first_func);
  hlo_vir_module_t* module = NULL;
  HLO_TRY(hlo_vir_module_create(&module));
  module->has_half = maker->first->has_half;
  module->has_scale = maker->first->has_scale;
  hlo_status_t status = hlo_entry_build_func(maker->entry, number, module);
  if (hlo_status_is_ok(status)) status = hlo_x86_unit_add(code, module->first_func);
  hlo_vir_module_release(module);
  return status;
}

static void make_unit(void* context, uint64_t index) {
  const maker_t* maker = context;
  unit_t* unit = &maker->units[index];
  uint32_t func_count = hlo_entry_func_count(maker->entry);
  bool is_stored = hlo_arena_store_enter(maker->store);
  unit->status = hlo_x86_unit_create(maker->target, func_count, &unit->code);
  for (uint32_t i = unit->first; i < unit->end && hlo_status_is_ok(unit->status); ++i) {
    unit->status = make_func(maker, i, unit->code);
  }
  if (is_stored) hlo_arena_store_leave(maker->store);
}

// Units of about one size where more than one thread is worth it, else one: how functions are
// spread over units changes nothing in the code.
static uint32_t cut(const hlo_entry_t* entry, uint64_t first_size, bool is_parallel,
                    unit_t* units) {
  uint32_t func_count = hlo_entry_func_count(entry), count = 0;
  uint64_t total = first_size, largest = first_size;
  for (uint32_t i = 1; i < func_count && is_parallel; ++i) {
    uint64_t size = hlo_entry_func_size(entry, i);
    total += size;
    if (size > largest) largest = size;
  }
  uint64_t wanted = total / UNIT_LIMIT > UNIT_SIZE ? total / UNIT_LIMIT : UNIT_SIZE;
  if (total - largest < ALONE_SIZE) wanted = UINT64_MAX;
  uint64_t size = first_size;
  units[0].first = 0;
  for (uint32_t i = 1; i < func_count; ++i) {
    if (size >= wanted) {
      units[count++].end = i;
      units[count].first = i;
      size = 0;
    }
    size += hlo_entry_func_size(entry, i);
  }
  units[count++].end = func_count;
  return count;
}

static hlo_status_t join(const unit_t* units, uint32_t count, hlo_code_t* out_code) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!hlo_status_is_ok(units[i].status)) return hlo_status_clone(units[i].status);
  }
  for (uint32_t i = 1; i < count; ++i) {
    HLO_TRY(hlo_x86_unit_join(units[0].code, units[i].code));
  }
  return hlo_x86_unit_finish(units[0].code, out_code);
}

hlo_status_t hlo_machine_code_make(const hlo_entry_t* entry, const hlo_vir_module_t* first,
                                   const hlo_target_t* target, const hlo_parallel_t* parallel,
                                   hlo_arena_store_t* store, hlo_code_t* out_code) {
  uint32_t func_count = hlo_entry_func_count(entry);
  unit_t* units = hlo_mem_alloc_zeroed(func_count * sizeof *units);
  if (!units) return hlo_status_out_of_memory(func_count * sizeof *units);
  maker_t maker = {
      .entry = entry, .first = first, .target = target, .store = store, .units = units};
  uint32_t count = cut(entry, first->first_func->value_count, parallel && parallel->run, units);
  hlo_parallel_for(parallel, count, make_unit, &maker);
  hlo_status_t status = join(units, count, out_code);
  for (uint32_t i = 0; i < count; ++i) {
    hlo_status_release(units[i].status);
    hlo_x86_unit_release(units[i].code);
  }
  hlo_mem_free(units);
  return status;
}
