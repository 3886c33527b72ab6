// SPDX-License-Identifier: Apache-2.0
// Compiles functions in units that are independent of each other (see machine_code.h).
#include "codegen/image/machine_code.h"

#include "base/mem.h"
#include "base/tuning.h"
#include "codegen/fuse/fusion_key.h"
#include "codegen/isa/isa.h"
#include "codegen/loops/kernel_config.h"

/// Consecutive functions that one thread compiles.
typedef struct unit {
  uint32_t first, end;
  hlo_code_unit_t* code;
  hlo_status_t status;
} unit_t;

/// The code of a kernel in the cache.
typedef struct cached {
  hlo_lru_item_t item;
  hlo_code_unit_t* code;  // sealed
} cached_kernel_t;

/// The cache key of a function's code, and the debug ids of its nodes.
typedef struct func_key {
  bool is_cached;
  hlo_digest_t key;
  uint32_t debug_id_count;
  uint32_t* debug_ids;
} func_key_t;

typedef struct builder {
  const hlo_entry_t* entry;
  const hlo_vir_module_t* first;
  const hlo_target_t* target;
  hlo_arena_store_t* store;
  hlo_lru_t* kernels;
  const func_key_t* names;  // by function; NULL: nothing is cached
  unit_t* units;
} unit_builder_t;

// ---- cached kernels -----------------------------------------------------------------------------

static hlo_status_t find_func_key(const hlo_entry_t* entry, uint32_t number, uint64_t target_hash,
                                  uint32_t* numbers, hlo_arena_t* arena, func_key_t* out_name) {
  uint32_t phase;
  const hlo_fusion_t* fusion = hlo_entry_func_kernel(entry, number, &phase);
  if (!fusion) return hlo_ok();
  hlo_fusion_nodes_t nodes;
  HLO_TRY(hlo_fusion_digest(fusion, numbers, arena, &out_name->is_cached, &out_name->key));
  HLO_TRY(hlo_fusion_list_nodes(fusion, arena, &nodes));
  for (uint32_t i = 0; i < 2; ++i) {
    uint64_t* word = &out_name->key.words[i];
    *word = hlo_hash_word(hlo_hash_word(*word, target_hash), phase);
    *word = hlo_kernel_config_hash(fusion->config, *word);
  }
  out_name->debug_id_count = nodes.count;
  out_name->debug_ids = hlo_arena_array(arena, nodes.count, sizeof *out_name->debug_ids);
  for (uint32_t i = 0; out_name->debug_ids && i < nodes.count; ++i) {
    out_name->debug_ids[i] = hlo_call_site_number(nodes.items[i]);
  }
  return hlo_arena_status(arena);
}

static hlo_status_t find_func_keys(unit_builder_t* builder, hlo_arena_t* arena) {
  uint32_t func_count = hlo_entry_func_count(builder->entry);
  const uint64_t target_hash =
      hlo_hash_word(hlo_target_hash(builder->target, 0), hlo_target_process_count(builder->target));
  func_key_t* names = hlo_arena_array(arena, func_count, sizeof *names);
  uint32_t* numbers =
      hlo_arena_array(arena, hlo_entry_module(builder->entry)->node_count + 1, sizeof *numbers);
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 1; i < func_count; ++i) {
    HLO_TRY(find_func_key(builder->entry, i, target_hash, numbers, arena, &names[i]));
  }
  builder->names = names;
  return hlo_ok();
}

static void destroy_cached_kernel(hlo_lru_item_t* item) {
  cached_kernel_t* cached = (cached_kernel_t*)item;
  hlo_code_unit_release(cached->code);
  hlo_mem_free(cached);
}

// Builds and compiles a function; its vector IR is freed before the next one is built. index: of
// the function in the unit
static hlo_status_t build_func(const unit_builder_t* builder, uint32_t number, uint32_t index,
                               hlo_code_unit_t* code) {
  hlo_vir_module_t* module = NULL;
  HLO_TRY(hlo_vir_module_create(&module));
  module->has_half = builder->first->has_half;
  module->has_permute = builder->first->has_permute;
  module->has_scale = builder->first->has_scale;
  module->subnormals = builder->first->subnormals;
  hlo_status_t status = hlo_entry_build_func(builder->entry, number, module);
  if (hlo_status_is_ok(status)) {
    module->first_func->index = index;
    status = code->isa->add(code, module->first_func);
  }
  hlo_vir_module_release(module);
  return status;
}

static hlo_status_t build_cached_kernel(const unit_builder_t* builder, uint32_t number,
                                        cached_kernel_t* cached) {
  const func_key_t* name = &builder->names[number];
  HLO_TRY(hlo_code_unit_create(builder->target, 1, &cached->code));
  HLO_TRY(build_func(builder, number, 0, cached->code));
  const hlo_code_isa_t* isa = cached->code->isa;
  cached->item.size_bytes += isa->seal(cached->code, name->debug_id_count, name->debug_ids);
  hlo_lru_add(builder->kernels, &name->key, &cached->item);
  return hlo_ok();
}

// Includes the code of an equal kernel, or compiles and caches it. Two threads may compile the same
// kernel at a time.
static hlo_status_t include_cached_kernel(const unit_builder_t* builder, uint32_t number,
                                          hlo_code_unit_t* code) {
  const func_key_t* name = &builder->names[number];
  hlo_status_t status = hlo_ok();
  cached_kernel_t* cached = (cached_kernel_t*)hlo_lru_find(builder->kernels, &name->key);
  if (!cached) {
    cached = hlo_mem_alloc_zeroed(sizeof *cached);
    if (!cached) return hlo_status_out_of_memory(sizeof *cached);
    hlo_lru_item_init(&cached->item, sizeof *cached, destroy_cached_kernel);
    status = build_cached_kernel(builder, number, cached);
  }
  const hlo_code_role_t role = {number, hlo_entry_func_name(builder->entry, number),
                                name->debug_ids};
  if (hlo_status_is_ok(status)) status = code->isa->include(code, cached->code, &role);
  hlo_lru_item_release(&cached->item);
  return status;
}

static hlo_status_t add_func(const unit_builder_t* builder, uint32_t number,
                             hlo_code_unit_t* code) {
  if (number == 0) return code->isa->add(code, builder->first->first_func);
  return builder->names && builder->names[number].is_cached
             ? include_cached_kernel(builder, number, code)
             : build_func(builder, number, number, code);
}

// ---- units --------------------------------------------------------------------------------------

static void build_unit(void* context, uint64_t index) {
  const unit_builder_t* builder = context;
  unit_t* unit = &builder->units[index];
  uint32_t func_count = hlo_entry_func_count(builder->entry);
  bool is_stored = hlo_arena_store_enter(builder->store);
  unit->status = hlo_code_unit_create(builder->target, func_count, &unit->code);
  for (uint32_t i = unit->first; i < unit->end && hlo_status_is_ok(unit->status); ++i) {
    unit->status = add_func(builder, i, unit->code);
  }
  if (is_stored) hlo_arena_store_leave(builder->store);
}

// Makes units of similar size if more than one thread is worthwhile, else a single unit. The code
// does not depend on the units.
static uint32_t split_into_units(const hlo_entry_t* entry, uint64_t first_size, bool is_parallel,
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

static hlo_status_t join_units(const unit_t* units, uint32_t count, hlo_code_t* out_code) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!hlo_status_is_ok(units[i].status)) return hlo_status_clone(units[i].status);
  }
  hlo_code_unit_t* first = units[0].code;
  for (uint32_t i = 1; i < count; ++i) {
    HLO_TRY(first->isa->join(first, units[i].code));
  }
  return first->isa->finish(first, out_code);
}

static hlo_status_t make_units(unit_builder_t* builder, const hlo_parallel_t* parallel,
                               hlo_code_t* out_code) {
  uint32_t func_count = hlo_entry_func_count(builder->entry);
  builder->units = hlo_mem_alloc_zeroed(func_count * sizeof *builder->units);
  if (!builder->units) return hlo_status_out_of_memory(func_count * sizeof *builder->units);
  uint32_t count = split_into_units(builder->entry, builder->first->first_func->value_count,
                                    parallel && parallel->run, builder->units);
  hlo_parallel_for(parallel, count, build_unit, builder);
  hlo_status_t status = join_units(builder->units, count, out_code);
  for (uint32_t i = 0; i < count; ++i) {
    hlo_status_release(builder->units[i].status);
    hlo_code_unit_release(builder->units[i].code);
  }
  hlo_mem_free(builder->units);
  return status;
}

hlo_status_t hlo_machine_code_make(const hlo_entry_t* entry, const hlo_vir_module_t* first,
                                   const hlo_target_t* target, hlo_lru_t* kernels,
                                   const hlo_parallel_t* parallel, hlo_arena_store_t* store,
                                   hlo_code_t* out_code) {
  unit_builder_t builder = {
      .entry = entry, .first = first, .target = target, .store = store, .kernels = kernels};
  HLO_SCOPED_ARENA arena = {0};
  if (kernels) HLO_TRY(find_func_keys(&builder, &arena));
  return make_units(&builder, parallel, out_code);
}
