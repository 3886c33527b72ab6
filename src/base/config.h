// SPDX-License-Identifier: Apache-2.0
// Options of the library: one table (config.def), read once by the creator of a client.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/status.h"
#include "base/strbuf.h"

typedef enum hlo_config_kind {
  HLO_CONFIG_KIND_INT,
  HLO_CONFIG_KIND_BOOL,
  HLO_CONFIG_KIND_STRING,
  HLO_CONFIG_KIND_CHOICE,  // one of a few words; the value is its number
} hlo_config_kind_t;

/// The source of a value, weakest first: a later source replaces an earlier one.
typedef enum hlo_config_source {
  HLO_CONFIG_SOURCE_DEFAULT,
  HLO_CONFIG_SOURCE_XLA_FLAGS,
  HLO_CONFIG_SOURCE_ENVIRONMENT,
  HLO_CONFIG_SOURCE_OPTION,  // create option of a client, or command line
} hlo_config_source_t;

typedef enum hlo_config_index {
#define HLO_CONFIG(member, NAME, ...) HLO_CONFIG_##NAME,
#include "base/config.def"
#undef HLO_CONFIG
  HLO_CONFIG_COUNT
} hlo_config_index_t;

/// One row of the table.
typedef struct hlo_config_info {
  const char* name;         // "num_devices"
  const char* environment;  // "HLOCC_NUM_DEVICES"
  hlo_config_kind_t kind;
  const char* default_value;
  int64_t lowest, highest;
  const char* unit;  // CHOICE: the words, with commas
  const char* help;
  size_t offset;  // of the member in hlo_config_t
} hlo_config_info_t;

#define HLO_CONFIG_TYPE_INT int64_t
#define HLO_CONFIG_TYPE_BOOL bool
#define HLO_CONFIG_TYPE_STRING const char*
#define HLO_CONFIG_TYPE_CHOICE int64_t

/// The values. Strings are never NULL and belong to the arena.
/// owner: whoever declared it; hlo_config_deinit(). threads: confined while set, then immutable.
typedef struct hlo_config {
#define HLO_CONFIG(member, NAME, kind, ...) HLO_CONFIG_TYPE_##kind member;
#include "base/config.def"
#undef HLO_CONFIG
  uint8_t sources[HLO_CONFIG_COUNT];  // hlo_config_source_t
  hlo_arena_t arena;
} hlo_config_t;

const hlo_config_info_t* hlo_config_info(hlo_config_index_t index);

/// Takes defaults, then XLA_FLAGS, then HLOCC_* variables of the environment ("NAME=value" strings
/// ended by NULL; NULL: the process's own). Each unknown HLOCC_* variable or hlocc_* flag adds one
/// line with the closest name to `warnings`; other XLA flags are ignored.
/// errors: INVALID_ARGUMENT for a bad value, naming variable and value; RESOURCE_EXHAUSTED. On
/// failure the config is empty.
hlo_status_t hlo_config_init(hlo_config_t* config, const char* const* environment,
                             hlo_strbuf_t* warnings) HLO_MUST_USE;
void hlo_config_deinit(hlo_config_t* config);

/// Sets one option by name. errors: NOT_FOUND with the closest name, INVALID_ARGUMENT.
hlo_status_t hlo_config_set(hlo_config_t* config, const char* name, const char* value,
                            hlo_config_source_t source) HLO_MUST_USE;

/// Returns the number of a name, HLO_CONFIG_COUNT if no option has it.
hlo_config_index_t hlo_config_find(const char* name);
/// Returns the value of a STRING; lent.
const char* hlo_config_text(const hlo_config_t* config, hlo_config_index_t index);
/// Returns the value of an option of another kind.
int64_t hlo_config_number(const hlo_config_t* config, hlo_config_index_t index);

/// Prints the value in the form that hlo_config_set() reads.
void hlo_config_print_value(const hlo_config_t* config, hlo_config_index_t index,
                            hlo_strbuf_t* out);
/// Prints all options as a Markdown table (docs/config.md).
void hlo_config_print_markdown(hlo_strbuf_t* out);
