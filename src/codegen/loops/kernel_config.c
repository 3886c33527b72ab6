// SPDX-License-Identifier: Apache-2.0
// Configurations of kernels: comparison, hashes and text (see kernel_config.h).
#include "codegen/loops/kernel_config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct choice_info {
  const char* name;
  hlo_kernel_config_kind_t kind;
  int64_t lowest, highest;
  const char* words;
} choice_info_t;

static const choice_info_t choices[HLO_KERNEL_CHOICES] = {
#define HLO_KERNEL_CHOICE(kind, name, lowest, highest, words, text) \
  {#name, HLO_KERNEL_CONFIG_##kind, lowest, highest, words},
#include "codegen/loops/kernel_config.def"
#undef HLO_KERNEL_CHOICE
};

bool hlo_kernel_config_is_empty(const hlo_kernel_config_t* config) {
  for (int i = 0; config && i < HLO_KERNEL_CHOICES; ++i) {
    if (config->values[i]) return false;
  }
  return true;
}

bool hlo_kernel_config_equal(const hlo_kernel_config_t* a, const hlo_kernel_config_t* b) {
  return memcmp(a, b, sizeof *a) == 0;
}

uint64_t hlo_kernel_config_hash(const hlo_kernel_config_t* config, uint64_t hash) {
  return hlo_kernel_config_is_empty(config) ? hash : hlo_hash_bytes(config, sizeof *config, hash);
}

bool hlo_kernel_config_is_of(const hlo_kernel_config_t* config, hlo_kernel_config_kind_t kind) {
  for (int i = 0; config && i < HLO_KERNEL_CHOICES; ++i) {
    if (config->values[i] && choices[i].kind != kind) return false;
  }
  return true;
}

void hlo_kernel_configs_add(hlo_kernel_configs_t* list, const hlo_kernel_config_t* config,
                            double expected_ns) {
  for (uint32_t i = 0; i < list->count; ++i) {
    if (hlo_kernel_config_equal(&list->items[i].config, config)) return;
  }
  if (list->count == HLO_KERNEL_MAX_CANDIDATES) return;
  list->items[list->count++] = (hlo_kernel_candidate_t){*config, expected_ns};
}

void hlo_kernel_configs_add_choice(hlo_kernel_configs_t* list, hlo_kernel_choice_t choice,
                                   int64_t value, double expected_ns) {
  hlo_kernel_config_t config = {{0}};
  config.values[choice] = value;
  hlo_kernel_configs_add(list, &config, expected_ns);
}

// ---- text

// Returns the word of a value and its length; NULL if the value is a number.
static const char* word_of(const choice_info_t* info, int64_t value, size_t* out_length) {
  if (!*info->words) return NULL;
  const char* word = info->words;
  for (int64_t i = 1; i < value; ++i) word += strcspn(word, ",") + 1;
  *out_length = strcspn(word, ",");
  return word;
}

void hlo_kernel_config_print(const hlo_kernel_config_t* config, hlo_strbuf_t* out) {
  const char* separator = "";
  for (int i = 0; config && i < HLO_KERNEL_CHOICES; ++i) {
    const int64_t value = config->values[i];
    if (!value) continue;
    size_t length = 0;
    const char* word = word_of(&choices[i], value, &length);
    hlo_strbuf_printf(out, "%s%s=", separator, choices[i].name);
    if (word) {
      hlo_strbuf_append(out, word, length);
    } else {
      hlo_strbuf_printf(out, "%" PRId64, value);
    }
    separator = " ";
  }
  if (!*separator) hlo_strbuf_puts(out, "default");
}

// Reads the value of a choice; 0 for any other text.
static int64_t read_value(const choice_info_t* info, const char* text, size_t length) {
  size_t word_length = 0;
  for (int64_t value = 1; *info->words && value <= info->highest; ++value) {
    const char* word = word_of(info, value, &word_length);
    if (word_length == length && memcmp(word, text, length) == 0) return value;
  }
  char* end = NULL;
  const int64_t value = *info->words ? 0 : strtoll(text, &end, 10);
  return end == text + length && value >= info->lowest && value <= info->highest ? value : 0;
}

// Reads "name=value" of `length` bytes.
static bool read_choice(const char* text, size_t length, hlo_kernel_config_t* config) {
  const size_t name = strcspn(text, "=");
  for (int i = 0; name < length && i < HLO_KERNEL_CHOICES; ++i) {
    if (strlen(choices[i].name) != name || memcmp(choices[i].name, text, name) != 0) continue;
    config->values[i] = read_value(&choices[i], text + name + 1, length - name - 1);
    return config->values[i] != 0;
  }
  return false;
}

hlo_status_t hlo_kernel_config_parse(const char* text, hlo_kernel_config_t* out_config) {
  static const char kDefault[] = "default";
  hlo_kernel_config_t config = {{0}};
  size_t end = strcspn(text, "\n");
  if (end == sizeof kDefault - 1 && memcmp(text, kDefault, end) == 0) end = 0;
  for (size_t at = 0; at < end;) {
    const size_t length = strcspn(text + at, " \n");
    if (length && !read_choice(text + at, length, &config)) {
      return hlo_invalid_argument("%.*s is not a choice of a kernel's configuration",
                                  (int)(length < 64 ? length : 64), text + at);
    }
    at += length + 1;
  }
  *out_config = config;
  return hlo_ok();
}
