// SPDX-License-Identifier: Apache-2.0
// Functions of one program in units, each made without the others (see machine_code.h).
#include "codegen/image/machine_code.h"

#include "base/mem.h"
#include "base/tuning.h"
#include "codegen/fuse/fusion_key.h"
#include "codegen/isa/isa.h"

/// Functions that one thread makes, one after the other.
typedef struct unit {
  uint32_t first, end;
  hlo_code_unit_t* code;
  hlo_status_t status;
} unit_t;

/// The code of a kernel in the cache.
typedef struct kept {
  hlo_lru_item_t item;
  hlo_code_unit_t* code;  // sealed
} kept_t;

/// What names the code of a function, and the nodes that its sites may be of.
typedef struct name {
  bool is_kept;
  hlo_digest_t key;
  uint32_t debug_id_count;
  uint32_t* debug_ids;
} name_t;

typedef struct maker {
  const hlo_entry_t* entry;
  const hlo_vir_module_t* first;
  const hlo_target_t* target;
  hlo_arena_store_t* store;
  hlo_lru_t* kernels;
  const name_t* names;  // by function; NULL: no code is kept
  unit_t* units;
} maker_t;

// ---- kernels that are kept

static hlo_status_t name_func(const hlo_entry_t* entry, uint32_t number, uint64_t target_hash,
                              uint32_t* numbers, hlo_arena_t* arena, name_t* out_name) {
  uint32_t phase;
  const hlo_fusion_t* fusion = hlo_entry_func_kernel(entry, number, &phase);
  if (!fusion) return hlo_ok();
  hlo_fusion_nodes_t nodes;
  HLO_TRY(hlo_fusion_digest(fusion, numbers, arena, &out_name->is_kept, &out_name->key));
  HLO_TRY(hlo_fusion_list_nodes(fusion, arena, &nodes));
  for (uint32_t i = 0; i < 2; ++i) {
    uint64_t* word = &out_name->key.words[i];
    *word = hlo_hash_word(hlo_hash_word(*word, target_hash), phase);
  }
  out_name->debug_id_count = nodes.count;
  out_name->debug_ids = hlo_arena_array(arena, nodes.count, sizeof *out_name->debug_ids);
  for (uint32_t i = 0; out_name->debug_ids && i < nodes.count; ++i) {
    out_name->debug_ids[i] = hlo_call_site_number(nodes.items[i]);
  }
  return hlo_arena_status(arena);
}

static hlo_status_t name_funcs(maker_t* maker, hlo_arena_t* arena) {
  uint32_t func_count = hlo_entry_func_count(maker->entry);
  uint64_t target_hash = hlo_target_hash(maker->target, 0);
  name_t* names = hlo_arena_array(arena, func_count, sizeof *names);
  uint32_t* numbers =
      hlo_arena_array(arena, hlo_entry_module(maker->entry)->node_count + 1, sizeof *numbers);
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 1; i < func_count; ++i) {
    HLO_TRY(name_func(maker->entry, i, target_hash, numbers, arena, &names[i]));
  }
  maker->names = names;
  return hlo_ok();
}

static void destroy_kept(hlo_lru_item_t* item) {
  kept_t* kept = (kept_t*)item;
  hlo_code_unit_release(kept->code);
  hlo_mem_free(kept);
}

// Its vector IR is gone before that of the next function is built, in the same memory. index: of
// the function in the unit.
static hlo_status_t build_func(const maker_t* maker, uint32_t number, uint32_t index,
                               hlo_code_unit_t* code) {
  hlo_vir_module_t* module = NULL;
  HLO_TRY(hlo_vir_module_create(&module));
  module->has_half = maker->first->has_half;
  module->has_scale = maker->first->has_scale;
  module->subnormals = maker->first->subnormals;
  hlo_status_t status = hlo_entry_build_func(maker->entry, number, module);
  if (hlo_status_is_ok(status)) {
    module->first_func->index = index;
    status = code->isa->add(code, module->first_func);
  }
  hlo_vir_module_release(module);
  return status;
}

static hlo_status_t build_kept(const maker_t* maker, uint32_t number, kept_t* kept) {
  const name_t* name = &maker->names[number];
  HLO_TRY(hlo_code_unit_create(maker->target, 1, &kept->code));
  HLO_TRY(build_func(maker, number, 0, kept->code));
  const hlo_code_isa_t* isa = kept->code->isa;
  kept->item.size_bytes += isa->seal(kept->code, name->debug_id_count, name->debug_ids);
  hlo_lru_add(maker->kernels, &name->key, &kept->item);
  return hlo_ok();
}

// The code of an equal kernel, or new code for later ones. Two threads may make the same at a time.
static hlo_status_t place_kept(const maker_t* maker, uint32_t number, hlo_code_unit_t* code) {
  const name_t* name = &maker->names[number];
  hlo_status_t status = hlo_ok();
  kept_t* kept = (kept_t*)hlo_lru_find(maker->kernels, &name->key);
  if (!kept) {
    kept = hlo_mem_alloc_zeroed(sizeof *kept);
    if (!kept) return hlo_status_out_of_memory(sizeof *kept);
    hlo_lru_item_init(&kept->item, sizeof *kept, destroy_kept);
    status = build_kept(maker, number, kept);
  }
  const hlo_code_role_t role = {number, hlo_entry_func_name(maker->entry, number),
                                     name->debug_ids};
  if (hlo_status_is_ok(status)) status = code->isa->include(code, kept->code, &role);
  hlo_lru_item_release(&kept->item);
  return status;
}

static hlo_status_t make_func(const maker_t* maker, uint32_t number, hlo_code_unit_t* code) {
  if (number == 0) return code->isa->add(code, maker->first->first_func);
  return maker->names && maker->names[number].is_kept ? place_kept(maker, number, code)
                                                      : build_func(maker, number, number, code);
}

// ---- units

static void make_unit(void* context, uint64_t index) {
  const maker_t* maker = context;
  unit_t* unit = &maker->units[index];
  uint32_t func_count = hlo_entry_func_count(maker->entry);
  bool is_stored = hlo_arena_store_enter(maker->store);
  unit->status = hlo_code_unit_create(maker->target, func_count, &unit->code);
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
  uint64_t wanted = total / HLO_TUNING_UNITS_MAX > HLO_TUNING_UNIT_MIN_SIZE
                        ? total / HLO_TUNING_UNITS_MAX
                        : HLO_TUNING_UNIT_MIN_SIZE;
  if (total - largest < HLO_TUNING_UNITS_MIN_SIZE) wanted = UINT64_MAX;
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
  hlo_code_unit_t* first = units[0].code;
  for (uint32_t i = 1; i < count; ++i) {
    HLO_TRY(first->isa->join(first, units[i].code));
  }
  return first->isa->finish(first, out_code);
}

static hlo_status_t make_units(maker_t* maker, const hlo_parallel_t* parallel,
                               hlo_code_t* out_code) {
  uint32_t func_count = hlo_entry_func_count(maker->entry);
  maker->units = hlo_mem_alloc_zeroed(func_count * sizeof *maker->units);
  if (!maker->units) return hlo_status_out_of_memory(func_count * sizeof *maker->units);
  uint32_t count = cut(maker->entry, maker->first->first_func->value_count,
                       parallel && parallel->run, maker->units);
  hlo_parallel_for(parallel, count, make_unit, maker);
  hlo_status_t status = join(maker->units, count, out_code);
  for (uint32_t i = 0; i < count; ++i) {
    hlo_status_release(maker->units[i].status);
    hlo_code_unit_release(maker->units[i].code);
  }
  hlo_mem_free(maker->units);
  return status;
}

hlo_status_t hlo_machine_code_make(const hlo_entry_t* entry, const hlo_vir_module_t* first,
                                   const hlo_target_t* target, hlo_lru_t* kernels,
                                   const hlo_parallel_t* parallel, hlo_arena_store_t* store,
                                   hlo_code_t* out_code) {
  maker_t maker = {
      .entry = entry, .first = first, .target = target, .store = store, .kernels = kernels};
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_status_t status = kernels ? name_funcs(&maker, &arena) : hlo_ok();
  if (hlo_status_is_ok(status)) status = make_units(&maker, parallel, out_code);
  hlo_arena_deinit(&arena);
  return status;
}
