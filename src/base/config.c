// SPDX-License-Identifier: Apache-2.0
// Options of the library (see config.h).
#include "base/config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/os.h"
#include "base/suggest.h"

static const hlo_config_info_t kOptions[HLO_CONFIG_COUNT] = {
#define HLO_CONFIG(member, NAME, kind, value, lowest, highest, unit, help)         \
  {#member, "HLOCC_" #NAME, HLO_CONFIG_KIND_##kind,        value, lowest, highest, \
   unit,    help,           offsetof(hlo_config_t, member)},
#include "base/config.def"
#undef HLO_CONFIG
};

const hlo_config_info_t* hlo_config_info(hlo_config_index_t index) {
  return &kOptions[index];
}

static void* member_of(hlo_config_t* config, const hlo_config_info_t* info) {
  return (uint8_t*)config + info->offset;
}

static bool parse_int(const char* text, int64_t lowest, int64_t highest, int64_t* out_value) {
  char* end = NULL;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end || errno || value < lowest || value > highest) return false;
  *out_value = value;
  return true;
}

static bool parse_bool(const char* text, bool* out_value) {
  static const char* const kTrue[] = {"1", "true", "yes", "on"};
  static const char* const kFalse[] = {"0", "false", "no", "off", ""};
  for (size_t i = 0; i < sizeof kTrue / sizeof kTrue[0]; ++i) {
    if (strcasecmp(text, kTrue[i]) == 0) return *out_value = true;
  }
  for (size_t i = 0; i < sizeof kFalse / sizeof kFalse[0]; ++i) {
    if (strcasecmp(text, kFalse[i]) == 0) {
      *out_value = false;
      return true;
    }
  }
  return false;
}

// The words of a choice are separated by commas.
static bool parse_choice(const char* text, const char* words, int64_t* out_value) {
  const size_t wanted = strlen(text);
  for (int64_t number = 0;; ++number) {
    const size_t length = strcspn(words, ",");
    if (length == wanted && strncmp(words, text, length) == 0) {
      *out_value = number;
      return true;
    }
    if (!words[length]) return false;
    words += length + 1;
  }
}

static void print_choice(const char* words, int64_t number, hlo_strbuf_t* out) {
  while (number--) words += strcspn(words, ",") + 1;
  hlo_strbuf_append(out, words, strcspn(words, ","));
}

// shown: the option as the user wrote it: variable, flag or option name.
static hlo_status_t set_value(hlo_config_t* config, hlo_config_index_t index, const char* shown,
                              const char* value, hlo_config_source_t source) {
  const hlo_config_info_t* info = &kOptions[index];
  void* member = member_of(config, info);
  switch (info->kind) {
    case HLO_CONFIG_KIND_INT:
      if (parse_int(value, info->lowest, info->highest, member)) break;
      return hlo_invalid_argument("%s is \"%.100s\", expected a whole number from %" PRId64
                                  " to %" PRId64 " (%s)",
                                  shown, value, info->lowest, info->highest, info->unit);
    case HLO_CONFIG_KIND_BOOL:
      if (parse_bool(value, member)) break;
      return hlo_invalid_argument("%s is \"%.100s\", expected 0 or 1", shown, value);
    case HLO_CONFIG_KIND_STRING: {
      const char* copy = hlo_arena_strndup(&config->arena, value, strlen(value));
      if (!copy) return hlo_arena_status(&config->arena);
      *(const char**)member = copy;
      break;
    }
    case HLO_CONFIG_KIND_CHOICE:
      if (parse_choice(value, info->unit, member)) break;
      return hlo_invalid_argument("%s is \"%.100s\", expected one of: %s", shown, value,
                                  info->unit);
  }
  config->sources[index] = (uint8_t)source;
  return hlo_ok();
}

static hlo_config_index_t find_option(const char* name, size_t length) {
  for (size_t i = 0; i < HLO_CONFIG_COUNT; ++i) {
    if (strlen(kOptions[i].name) == length && strncmp(kOptions[i].name, name, length) == 0) {
      return (hlo_config_index_t)i;
    }
  }
  return HLO_CONFIG_COUNT;
}

hlo_config_index_t hlo_config_find(const char* name) {
  return find_option(name, strlen(name));
}

const char* hlo_config_text(const hlo_config_t* config, hlo_config_index_t index) {
  const void* member = (const uint8_t*)config + kOptions[index].offset;
  return *(const char* const*)member;
}

int64_t hlo_config_number(const hlo_config_t* config, hlo_config_index_t index) {
  const hlo_config_info_t* info = &kOptions[index];
  const void* member = (const uint8_t*)config + info->offset;
  return info->kind == HLO_CONFIG_KIND_BOOL ? *(const bool*)member : *(const int64_t*)member;
}

hlo_status_t hlo_config_set(hlo_config_t* config, const char* name, const char* value,
                            hlo_config_source_t source) {
  hlo_config_index_t index = find_option(name, strlen(name));
  if (index != HLO_CONFIG_COUNT) return set_value(config, index, name, value, source);
  hlo_suggestion_t suggestion;
  hlo_suggestion_init(&suggestion, name);
  for (size_t i = 0; i < HLO_CONFIG_COUNT; ++i) hlo_suggestion_offer(&suggestion, kOptions[i].name);
  return hlo_not_found("unknown option \"%.100s\"%s%s%s", name,
                       suggestion.best ? "; did you mean \"" : "",
                       suggestion.best ? suggestion.best : "", suggestion.best ? "\"?" : "");
}

// ---- XLA_FLAGS ---------------------------------------------------------------------------------

// Reads one "--name=value" of XLA_FLAGS; divides the text in place.
static hlo_status_t apply_flag(hlo_config_t* config, char* flag, hlo_strbuf_t* warnings) {
  static const char kOwnPrefix[] = "hlocc_";
  flag += strspn(flag, "-");
  char* equals = strchr(flag, '=');
  const char* value = equals ? equals + 1 : "1";
  if (equals) *equals = 0;
  const hlo_config_source_t source = HLO_CONFIG_SOURCE_XLA_FLAGS;
  if (strcmp(flag, "xla_force_host_platform_device_count") == 0) {
    return set_value(config, HLO_CONFIG_NUM_DEVICES, flag, value, source);
  }
  if (strcmp(flag, "xla_dump_to") == 0) {
    const char* dump = hlo_arena_printf(&config->arena, "input,final:%s", value);
    if (!dump) return hlo_arena_status(&config->arena);
    return set_value(config, HLO_CONFIG_DUMP, flag, dump, source);
  }
  if (strncmp(flag, kOwnPrefix, sizeof kOwnPrefix - 1) != 0) return hlo_ok();
  hlo_status_t status = hlo_config_set(config, flag + sizeof kOwnPrefix - 1, value, source);
  if (hlo_status_code(status) != HLO_STATUS_NOT_FOUND) return status;
  hlo_strbuf_printf(warnings, "XLA_FLAGS: %s\n", hlo_status_message(status));
  hlo_status_release(status);
  return hlo_ok();
}

// Splits flags at blanks outside of quotes, as XLA does.
static hlo_status_t apply_xla_flags(hlo_config_t* config, const char* flags,
                                    hlo_strbuf_t* warnings) {
  char* text = hlo_mem_strndup(flags, strlen(flags));
  if (!text) return hlo_status_out_of_memory(strlen(flags));
  hlo_status_t status = hlo_ok();
  for (char* p = text; *p && hlo_status_is_ok(status);) {
    while (isspace((unsigned char)*p)) ++p;
    if (!*p) break;
    char *start = p, *out = p, quote = 0;
    for (; *p && (quote || !isspace((unsigned char)*p)); ++p) {
      if (quote ? *p == quote : (*p == '"' || *p == '\'')) {
        quote = quote ? 0 : *p;
      } else {
        *out++ = *p;
      }
    }
    if (*p) ++p;
    *out = 0;
    status = apply_flag(config, start, warnings);
  }
  hlo_mem_free(text);
  return status;
}

// ---- environment -------------------------------------------------------------------------------

static const char* find_variable(const char* const* environment, const char* name) {
  size_t length = strlen(name);
  for (; *environment; ++environment) {
    if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
      return *environment + length + 1;
    }
  }
  return NULL;
}

static void warn_of_unknown(const char* variable, hlo_strbuf_t* warnings) {
  char name[64];
  size_t length = strcspn(variable, "=");
  if (length >= sizeof name) length = sizeof name - 1;
  memcpy(name, variable, length);
  name[length] = 0;
  hlo_suggestion_t suggestion;
  hlo_suggestion_init(&suggestion, name);
  for (size_t i = 0; i < HLO_CONFIG_COUNT; ++i) {
    if (strcmp(name, kOptions[i].environment) == 0) return;
    hlo_suggestion_offer(&suggestion, kOptions[i].environment);
  }
  hlo_strbuf_printf(warnings, "unknown environment variable %s", name);
  if (suggestion.best) hlo_strbuf_printf(warnings, "; did you mean %s?", suggestion.best);
  hlo_strbuf_putc(warnings, '\n');
}

static hlo_status_t apply_all(hlo_config_t* config, const char* const* environment,
                              hlo_strbuf_t* warnings) {
  for (size_t i = 0; i < HLO_CONFIG_COUNT; ++i) {
    HLO_TRY(set_value(config, (hlo_config_index_t)i, kOptions[i].name, kOptions[i].default_value,
                      HLO_CONFIG_SOURCE_DEFAULT));
  }
  const char* flags = find_variable(environment, "XLA_FLAGS");
  if (flags) HLO_TRY_MSG(apply_xla_flags(config, flags, warnings), "XLA_FLAGS");
  for (size_t i = 0; i < HLO_CONFIG_COUNT; ++i) {
    const char* value = find_variable(environment, kOptions[i].environment);
    if (!value) continue;
    HLO_TRY(set_value(config, (hlo_config_index_t)i, kOptions[i].environment, value,
                      HLO_CONFIG_SOURCE_ENVIRONMENT));
  }
  for (const char* const* variable = environment; *variable; ++variable) {
    if (strncmp(*variable, "HLOCC_", 6) == 0) warn_of_unknown(*variable, warnings);
  }
  return hlo_ok();
}

hlo_status_t hlo_config_init(hlo_config_t* config, const char* const* environment,
                             hlo_strbuf_t* warnings) {
  memset(config, 0, sizeof *config);
  hlo_arena_init(&config->arena, 0);
  hlo_status_t status =
      apply_all(config, environment ? environment : hlo_os_environment(), warnings);
  if (!hlo_status_is_ok(status)) hlo_config_deinit(config);
  return status;
}

void hlo_config_deinit(hlo_config_t* config) {
  hlo_arena_deinit(&config->arena);
  memset(config, 0, sizeof *config);
}

// ---- printing ----------------------------------------------------------------------------------

void hlo_config_print_value(const hlo_config_t* config, hlo_config_index_t index,
                            hlo_strbuf_t* out) {
  const hlo_config_info_t* info = &kOptions[index];
  const void* member = (const uint8_t*)config + info->offset;
  switch (info->kind) {
    case HLO_CONFIG_KIND_INT: hlo_strbuf_printf(out, "%" PRId64, *(const int64_t*)member); break;
    case HLO_CONFIG_KIND_BOOL: hlo_strbuf_putc(out, *(const bool*)member ? '1' : '0'); break;
    case HLO_CONFIG_KIND_STRING: hlo_strbuf_puts(out, *(const char* const*)member); break;
    case HLO_CONFIG_KIND_CHOICE: print_choice(info->unit, *(const int64_t*)member, out); break;
  }
}

void hlo_config_print_markdown(hlo_strbuf_t* out) {
  static const char* const kKinds[] = {"integer", "0 or 1", "text", "choice"};
  hlo_strbuf_puts(out, "| variable | option | kind | default | unit | meaning |\n");
  hlo_strbuf_puts(out, "|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < HLO_CONFIG_COUNT; ++i) {
    const hlo_config_info_t* info = &kOptions[i];
    hlo_strbuf_printf(out, "| `%s` | `%s` | %s | %s | %s | %s |\n", info->environment, info->name,
                      kKinds[info->kind], info->default_value, info->unit, info->help);
  }
}
