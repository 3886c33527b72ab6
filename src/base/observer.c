// SPDX-License-Identifier: Apache-2.0
// Log, trace and dumps of a client (see observer.h).
#include "base/observer.h"

#include <string.h>

#include "base/os.h"
#include "base/strbuf.h"
#include "base/suggest.h"

static const char* const kStages[HLO_DUMP_STAGE_COUNT] = {
#define HLO_DUMP_STAGE(name, ...) #name,
#include "base/dump.def"
#undef HLO_DUMP_STAGE
};
_Static_assert(HLO_DUMP_STAGE_COUNT <= 32, "stages are bits of a uint32_t");

static const char kDefaultDirectory[] = "hlocc-dump";

const char* hlo_dump_stage_name(hlo_dump_stage_t stage) {
  return kStages[stage];
}

static hlo_status_t unknown_stage(const char* name) {
  hlo_suggestion_t near;
  hlo_suggestion_init(&near, name);
  HLO_SCOPED_STRBUF known = {0};
  for (int i = 0; i < HLO_DUMP_STAGE_COUNT; ++i) {
    hlo_suggestion_offer(&near, kStages[i]);
    hlo_strbuf_printf(&known, "%s%s", i ? ", " : "", kStages[i]);
  }
  return hlo_invalid_argument(
      "option dump (HLOCC_DUMP): unknown stage \"%s\", expected some of %s%s%s%s", name,
      hlo_strbuf_text(&known), near.best ? "; did you mean \"" : "", near.best ? near.best : "",
      near.best ? "\"?" : "");
}

static hlo_status_t add_stage(const char* name, size_t length, uint32_t* stages) {
  char word[64];
  if (length >= sizeof word) length = sizeof word - 1;
  memcpy(word, name, length);
  word[length] = 0;
  for (int i = 0; i < HLO_DUMP_STAGE_COUNT; ++i) {
    if (strcmp(kStages[i], word) != 0) continue;
    *stages |= 1u << i;
    return hlo_ok();
  }
  return unknown_stage(word);
}

// Parses "stage,stage:directory"; the directory is optional.
static hlo_status_t parse_dump(const char* text, hlo_observer_t* observer) {
  const char* colon = strchr(text, ':');
  const char* end = colon ? colon : text + strlen(text);
  uint32_t stages = 0;
  for (const char* name = text; *text && name <= end;) {
    const char* comma = memchr(name, ',', (size_t)(end - name));
    const char* name_end = comma ? comma : end;
    HLO_TRY(add_stage(name, (size_t)(name_end - name), &stages));
    name = name_end + 1;
  }
  observer->dump_stages = stages;
  observer->dump_directory = colon && colon[1] ? colon + 1 : kDefaultDirectory;
  return hlo_ok();
}

hlo_status_t hlo_observer_init(const hlo_config_t* config, hlo_observer_t* out_observer) {
  hlo_observer_t observer = {0};
  HLO_TRY(hlo_log_level_parse(config->log, &observer.log.level));
  HLO_TRY(parse_dump(config->dump, &observer));
  *out_observer = observer;
  return hlo_ok();
}

static void warn(const hlo_observer_t* observer, const char* what, hlo_status_t status) {
  HLO_LOG(&observer->log, WARN, "%s: %s", what, hlo_status_message(status));
  hlo_status_release(status);
}

void hlo_observer_start(const hlo_config_t* config, hlo_observer_t* observer) {
  if (!*config->trace) return;
  hlo_status_t status = hlo_trace_create(config->trace, &observer->trace);
  if (!hlo_status_is_ok(status)) warn(observer, "cannot write the trace", status);
}

void hlo_observer_deinit(hlo_observer_t* observer) {
  hlo_status_t status = hlo_trace_close(observer->trace);
  if (!hlo_status_is_ok(status)) warn(observer, "the trace is incomplete", status);
  *observer = (hlo_observer_t){0};
}

static hlo_status_t write_file(const char* directory, const char* file_name, const char* text,
                               size_t length) {
  HLO_TRY(hlo_os_directory_create(directory));
  HLO_SCOPED_STRBUF path = {0};
  hlo_strbuf_printf(&path, "%s/%s", directory, file_name);
  HLO_TRY(hlo_strbuf_status(&path));
  return hlo_os_file_write(hlo_strbuf_text(&path), text, length);
}

bool hlo_observer_write_dump(const hlo_observer_t* observer, const char* file_name,
                             const char* text, size_t length) {
  hlo_status_t status = write_file(observer->dump_directory, file_name, text, length);
  if (hlo_status_is_ok(status)) return true;
  warn(observer, "cannot write the dump", status);
  return false;
}
