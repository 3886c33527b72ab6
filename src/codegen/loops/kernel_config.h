// SPDX-License-Identifier: Apache-2.0
// Configurations: choices of a kernel as data, which code generation takes instead of its model's.
// kernel_config.def lists them. A fusion has one by hlo_fusion_t.config; hlo_kernel_try() refuses
// those that are impossible, with the reason as its verdict.
#pragma once

#include "base/hash.h"
#include "base/status.h"
#include "base/strbuf.h"

typedef enum hlo_kernel_choice {
#define HLO_KERNEL_CHOICE(kind, name, ...) HLO_CHOICE_##name,
#include "codegen/loops/kernel_config.def"
#undef HLO_KERNEL_CHOICE
  HLO_KERNEL_CHOICES
} hlo_kernel_choice_t;

/// The values of choices that have names.
enum {
  HLO_CHOICE_COLUMNS = 1,
  HLO_CHOICE_CONTRACTION,
  HLO_CHOICE_PLACE = 1,
  HLO_CHOICE_LINES = 2,
  HLO_CHOICE_PANELS = 2,
  HLO_CHOICE_SLICES = 3,
  HLO_CHOICE_NO = 1,
  HLO_CHOICE_YES,
  HLO_CHOICE_NO_LOOP = 1,
  HLO_CHOICE_FIRST_LOOP,
};

typedef enum hlo_kernel_config_kind {
  HLO_KERNEL_CONFIG_PRODUCT,
  HLO_KERNEL_CONFIG_LOOPS,
} hlo_kernel_config_kind_t;

/// threads: immutable
typedef struct hlo_kernel_config {
  int64_t values[HLO_KERNEL_CHOICES];  // 0: the model's choice
} hlo_kernel_config_t;

/// A configuration to try, and the time of the whole kernel on one thread by its model.
typedef struct hlo_kernel_candidate {
  hlo_kernel_config_t config;
  double expected_ns;  // 0: unknown
} hlo_kernel_candidate_t;

enum { HLO_KERNEL_MAX_CANDIDATES = 160 };

/// A list of configurations, all different.
typedef struct hlo_kernel_configs {
  uint32_t count;
  hlo_kernel_candidate_t items[HLO_KERNEL_MAX_CANDIDATES];
} hlo_kernel_configs_t;

/// Appends a configuration unless the list has it or is full.
void hlo_kernel_configs_add(hlo_kernel_configs_t* list, const hlo_kernel_config_t* config,
                            double expected_ns);
/// Does the same with a configuration of one choice.
void hlo_kernel_configs_add_choice(hlo_kernel_configs_t* list, hlo_kernel_choice_t choice,
                                   int64_t value, double expected_ns);

/// Returns the value of a choice; 0 for a config that is NULL.
static inline int64_t hlo_kernel_config_value(const hlo_kernel_config_t* config,
                                              hlo_kernel_choice_t choice) {
  return config ? config->values[choice] : 0;
}

/// Returns true if every choice is the model's; also for NULL.
bool hlo_kernel_config_is_empty(const hlo_kernel_config_t* config);
bool hlo_kernel_config_equal(const hlo_kernel_config_t* a, const hlo_kernel_config_t* b);
/// Adds the choices to a hash; an empty one and NULL leave it as it is.
uint64_t hlo_kernel_config_hash(const hlo_kernel_config_t* config, uint64_t hash);
/// Returns true if no choice is of the other kind.
bool hlo_kernel_config_is_of(const hlo_kernel_config_t* config, hlo_kernel_config_kind_t kind);

/// Returns true if it names the loops of lanes.
static inline bool hlo_kernel_config_has_lanes(const hlo_kernel_config_t* config) {
  return hlo_kernel_config_value(config, HLO_CHOICE_lanes) ||
         hlo_kernel_config_value(config, HLO_CHOICE_interleaved) ||
         hlo_kernel_config_value(config, HLO_CHOICE_across);
}

/// Appends "rows=6 vectors=4 pack_b=panels", or "default" for an empty one.
void hlo_kernel_config_print(const hlo_kernel_config_t* config, hlo_strbuf_t* out);
/// Reads that form up to the end of the line. errors : INVALID_ARGUMENT naming the word
hlo_status_t hlo_kernel_config_parse(const char* text,
                                     hlo_kernel_config_t* out_config) HLO_MUST_USE;
