// SPDX-License-Identifier: Apache-2.0
// Configurations of the kernels of a program (see configure.h).
#include "codegen/fuse/configure.h"

#include "codegen/dot/dot.h"
#include "codegen/fuse/fusion_key.h"

uint64_t hlo_config_table_hash(const hlo_config_table_t* table, uint64_t hash) {
  uint64_t sum = 0;
  bool is_any = false;
  for (uint32_t i = 0; table && i < table->count; ++i) {
    const hlo_config_entry_t* entry = &table->entries[i];
    if (hlo_kernel_config_is_empty(&entry->config)) continue;
    sum += hlo_kernel_config_hash(&entry->config,
                                  hlo_hash_word(entry->key.words[0], entry->key.words[1]));
    is_any = true;
  }
  return is_any ? hlo_hash_word(hash, sum) : hash;
}

static const hlo_kernel_config_t* find_config(const hlo_config_table_t* table,
                                              const hlo_digest_t* key) {
  for (uint32_t i = 0; i < table->count; ++i) {
    if (hlo_digest_equal(&table->entries[i].key, key)) return &table->entries[i].config;
  }
  return NULL;
}

static bool is_first(const hlo_fusion_t* fusion) {
  return !fusion->model || fusion->model == fusion;
}

static hlo_status_t make_numbers(const hlo_module_t* module, hlo_arena_t* arena,
                                 uint32_t** out_numbers) {
  *out_numbers = hlo_arena_array(arena, module->node_count + 1, sizeof **out_numbers);
  return hlo_arena_status(arena);
}

static void add_use(hlo_tunable_t* tunables, uint32_t count, const hlo_fusion_t* fusion) {
  for (uint32_t i = 0; i < count; ++i) {
    if (fusion->model && tunables[i].fusion == fusion->model) ++tunables[i].use_count;
  }
}

hlo_status_t hlo_schedule_list_tunable(const hlo_schedule_t* schedule, const hlo_module_t* module,
                                       hlo_arena_t* arena, uint32_t* out_count,
                                       hlo_tunable_t** out_tunables) {
  uint32_t* numbers;
  HLO_TRY(make_numbers(module, arena, &numbers));
  hlo_tunable_t* tunables = hlo_arena_array(arena, schedule->fusion_count + 1, sizeof *tunables);
  HLO_TRY(hlo_arena_status(arena));
  uint32_t count = 0;
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(schedule, &cursor));) {
    const hlo_fusion_t* fusion = step->fusion;
    if (step->kind != HLO_STEP_FUSION) continue;
    if (!is_first(fusion)) {
      add_use(tunables, count, fusion);
      continue;
    }
    hlo_tunable_t tunable = {.fusion = fusion, .use_count = 1};
    bool has_key = false;
    HLO_TRY(hlo_fusion_choice_digest(fusion, numbers, arena, &has_key, &tunable.key));
    if (has_key) tunables[count++] = tunable;
  }
  *out_count = count;
  *out_tunables = tunables;
  return hlo_ok();
}

hlo_status_t hlo_fusion_try_config(const hlo_fusion_t* fusion, const hlo_target_t* target,
                                   const hlo_kernel_config_t* config, hlo_arena_t* arena,
                                   hlo_verdict_t* out_verdict, hlo_kernel_t** out_kernel) {
  hlo_fusion_t* copy = hlo_arena_alloc(arena, sizeof *copy);
  if (!copy) return hlo_arena_status(arena);
  *copy = *fusion;
  copy->config = config;
  copy->kernel = NULL;
  *out_kernel = NULL;
  HLO_TRY(hlo_kernel_try(copy, target, &hlo_product_form, NULL, arena, out_verdict, out_kernel));
  return hlo_verdict_is_no(out_verdict) ? hlo_ok() : hlo_kernel_verify(*out_kernel);
}

static hlo_status_t configure(hlo_fusion_t* fusion, const hlo_target_t* target,
                              const hlo_kernel_config_t* config, hlo_arena_t* arena) {
  hlo_verdict_t verdict;
  hlo_kernel_t* kernel;
  fusion->config = config;
  fusion->kernel = NULL;
  HLO_TRY(hlo_kernel_try(fusion, target, &hlo_product_form, NULL, arena, &verdict, &kernel));
  if (hlo_verdict_is_no(&verdict)) {
    HLO_SCOPED_STRBUF text = {0};
    hlo_kernel_config_print(config, &text);
    const hlo_status_t refusal =
        hlo_verdict_error(&verdict, HLO_STATUS_INVALID_ARGUMENT, fusion->index);
    const hlo_status_t status = hlo_invalid_argument("configuration %s: %s", hlo_strbuf_text(&text),
                                                     hlo_status_message(refusal));
    hlo_status_release(refusal);
    return status;
  }
  return hlo_kernel_verify(kernel);
}

hlo_status_t hlo_schedule_configure(hlo_schedule_t* schedule, const hlo_module_t* module,
                                    const hlo_target_t* target, const hlo_config_table_t* table,
                                    hlo_arena_t* arena) {
  uint32_t* numbers;
  HLO_TRY(make_numbers(module, arena, &numbers));
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(schedule, &cursor));) {
    hlo_fusion_t* fusion = step->fusion;
    if (step->kind != HLO_STEP_FUSION || !is_first(fusion)) continue;
    hlo_digest_t key;
    bool has_key = false;
    HLO_TRY(hlo_fusion_choice_digest(fusion, numbers, arena, &has_key, &key));
    const hlo_kernel_config_t* config = has_key ? find_config(table, &key) : NULL;
    if (hlo_kernel_config_is_empty(config)) continue;
    HLO_TRY(configure(fusion, target, config, arena));
  }
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(schedule, &cursor));) {
    hlo_fusion_t* fusion = step->fusion;
    if (step->kind != HLO_STEP_FUSION || is_first(fusion) || !fusion->model->config) continue;
    fusion->config = fusion->model->config;
    fusion->kernel = fusion->model->kernel;
  }
  return hlo_ok();
}
