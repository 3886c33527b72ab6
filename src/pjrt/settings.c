// SPDX-License-Identifier: Apache-2.0
// The settings of a client or topology: the configuration of the process, changed by create
// options.

#include <stdlib.h>

#include "base/cpu.h"
#include "pjrt/objects.h"

static bool name_is(const PJRT_NamedValue* value, const char* name) {
  return value->name_size == strlen(name) && memcmp(value->name, name, value->name_size) == 0;
}

/// Returns the value as text, the form of options from the environment.
static hlo_status_t text_of(const PJRT_NamedValue* value, hlo_arena_t* arena, char** out_text) {
  char* text = NULL;
  switch (value->type) {
    case PJRT_NamedValue_kString:
      text = hlo_arena_strndup(arena, value->string_value, value->value_size);
      break;
    case PJRT_NamedValue_kInt64:
      text = hlo_arena_printf(arena, "%lld", (long long)value->int64_value);
      break;
    case PJRT_NamedValue_kBool: text = hlo_arena_printf(arena, "%d", value->bool_value); break;
    case PJRT_NamedValue_kFloat:
      text = hlo_arena_printf(arena, "%g", (double)value->float_value);
      break;
    case PJRT_NamedValue_kInt64List: text = hlo_arena_printf(arena, "(a list)"); break;
    default:
      return hlo_invalid_argument("create option %.*s is of kind %d", (int)value->name_size,
                                  value->name, (int)value->type);
  }
  *out_text = text;
  return hlo_arena_status(arena);
}

/// Takes a number of the job of several processes: num_nodes, node_id.
static hlo_status_t take_job(const char* name, const char* text, uint32_t* out_number) {
  char* end;
  const unsigned long number = strtoul(text, &end, 10);
  if (*end || end == text || number > INT32_MAX) {
    return hlo_invalid_argument("create option %s: '%s' is not a number", name, text);
  }
  *out_number = (uint32_t)number;
  return hlo_ok();
}

/// Ignores unknown names: frameworks pass options of their own.
static hlo_status_t take_option(const PJRT_NamedValue* value, hlo_pjrt_settings_t* settings) {
  hlo_arena_t* arena = &settings->config.arena;
  char* text = NULL;
  HLO_TRY(text_of(value, arena, &text));
  const char* name = hlo_arena_strndup(arena, value->name, value->name_size);
  HLO_TRY(hlo_arena_status(arena));
  hlo_pjrt_job_t* job = &settings->job;
  if (name_is(value, "num_nodes")) return take_job(name, text, &job->process_count);
  if (name_is(value, "node_id")) return take_job(name, text, &job->process_index);
  hlo_status_t status = hlo_config_set(&settings->config, name, text, HLO_CONFIG_SOURCE_OPTION);
  if (hlo_status_code(status) != HLO_STATUS_NOT_FOUND) return status;
  HLO_LOG(&settings->observer.log, INFO, "create option ignored: %s", hlo_status_message(status));
  hlo_status_release(status);
  return hlo_ok();
}

/// Prints the build and the processor: the key of persistent caches.
static hlo_status_t describe_platform(bool may_be_absent, hlo_pjrt_settings_t* settings) {
  hlo_cpu_t cpu;
  HLO_TRY(may_be_absent ? hlo_cpu_find(settings->config.cpu, &cpu)
                        : hlo_cpu_detect(settings->config.cpu, &cpu));
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_printf(&text, "PJRT C API hlocc %s (", HLOCC_VERSION);
  hlo_cpu_describe(&cpu, &text);
  hlo_strbuf_putc(&text, ')');
  hlo_status_t status = hlo_strbuf_status(&text);
  settings->platform_version =
      hlo_arena_strndup(&settings->config.arena, hlo_strbuf_text(&text), text.length);
  return hlo_status_is_ok(status) ? hlo_arena_status(&settings->config.arena) : status;
}

static hlo_status_t fill_settings(const PJRT_NamedValue* options, size_t count, bool may_be_absent,
                                  hlo_pjrt_settings_t* settings) {
  for (size_t i = 0; i < count; ++i) HLO_TRY(take_option(&options[i], settings));
  if (settings->job.process_count > 1 && !settings->config.processes) {
    return hlo_unimplemented(
        "a client with %u processes is not supported (processes=apart: each "
        "with its own devices alone)",
        settings->job.process_count);
  }
  HLO_TRY(hlo_observer_init(&settings->config, &settings->observer));
  return describe_platform(may_be_absent, settings);
}

hlo_status_t hlo_pjrt_settings_init(const PJRT_NamedValue* options, size_t count,
                                    bool may_be_absent, hlo_pjrt_settings_t* out_settings) {
  HLO_SCOPED_STRBUF warnings = {0};
  *out_settings = (hlo_pjrt_settings_t){.observer.log = {.level = HLO_LOG_LEVEL_WARN}};
  hlo_status_t status = hlo_config_init(&out_settings->config, NULL, &warnings);
  if (hlo_status_is_ok(status)) {
    status = fill_settings(options, count, may_be_absent, out_settings);
    if (!hlo_status_is_ok(status)) hlo_pjrt_settings_deinit(out_settings);
  }
  if (hlo_status_is_ok(status) && warnings.length != 0) {
    HLO_LOG(&out_settings->observer.log, WARN, "%s", hlo_strbuf_text(&warnings));
  }
  return status;
}

void hlo_pjrt_settings_deinit(hlo_pjrt_settings_t* settings) {
  hlo_compile_cache_release(settings->cache);
  hlo_observer_deinit(&settings->observer);
  hlo_config_deinit(&settings->config);
}
