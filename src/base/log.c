// SPDX-License-Identifier: Apache-2.0
// Log lines (see log.h).
#include "base/log.h"

#include <stdio.h>
#include <string.h>

#include "base/os.h"

enum { LINE_BYTES = 2048, COMPONENT_BYTES = 32 };

static const char* const kLevelNames[] = {"error", "warn", "info", "debug", "trace"};
enum { LEVEL_COUNT = sizeof kLevelNames / sizeof kLevelNames[0] };

hlo_status_t hlo_log_level_parse(const char* name, hlo_log_level_t* out_level) {
  for (int i = 0; i < LEVEL_COUNT; ++i) {
    if (strcmp(name, kLevelNames[i]) == 0) {
      *out_level = (hlo_log_level_t)i;
      return hlo_ok();
    }
  }
  return hlo_invalid_argument(
      "unknown log level \"%.40s\", expected error, warn, info, debug or trace", name);
}

const char* hlo_log_level_name(hlo_log_level_t level) {
  return (unsigned)level < LEVEL_COUNT ? kLevelNames[level] : "unknown";
}

// One write per message, so that those of different threads do not mix.
static void write_to_stderr(const hlo_log_record_t* record) {
  enum { NS_PER_S = 1000000000, NS_PER_US = 1000 };
  char text[LINE_BYTES + 64];
  int length;
  if (record->level >= HLO_LOG_LEVEL_DEBUG) {
    uint64_t now = hlo_os_now_ns();
    length = snprintf(text, sizeof text, "hlocc %s %llu.%06llu thread %lld: %s\n",
                      hlo_log_level_name(record->level), (unsigned long long)(now / NS_PER_S),
                      (unsigned long long)(now % NS_PER_S / NS_PER_US),
                      (long long)record->thread_id, record->message);
  } else {
    length = snprintf(text, sizeof text, "hlocc %s: %s\n", hlo_log_level_name(record->level),
                      record->message);
  }
  if (length > 0) hlo_os_stderr_write(text, (size_t)length);
}

// Returns the path of a source from "src/" on; compilers may put a path to the source tree before.
static const char* source_path(const char* file) {
  const char* found = file;
  for (const char* at = file; (at = strstr(at, "src/")) != NULL; ++at) {
    if (at == file || at[-1] == '/') found = at;
  }
  return found;
}

static void find_component(const char* path, char out_name[COMPONENT_BYTES]) {
  const char* folder = strchr(path, '/');
  const size_t length = folder ? strcspn(folder + 1, "/") : 0;
  snprintf(out_name, COMPONENT_BYTES, "%.*s", (int)length, folder ? folder + 1 : "");
}

void hlo_log_write(const hlo_log_t* log, hlo_log_level_t level, const char* file, uint32_t line,
                   const char* format, ...) {
  if (!hlo_log_is_on(log, level)) return;
  char message[LINE_BYTES], component[COMPONENT_BYTES];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (length < 0) return;
  if (length >= LINE_BYTES) {
    length = LINE_BYTES - 1;
    memcpy(message + LINE_BYTES - 4, "...", 4);
  }
  hlo_log_record_t record = {.level = level,
                             .component = component,
                             .file = source_path(file),
                             .line = line,
                             .message = message,
                             .length = (size_t)length,
                             .wall_ns = hlo_os_wall_ns(),
                             .thread_id = hlo_os_thread_id()};
  find_component(record.file, component);
  if (log->sink) {
    log->sink(log->context, &record);
  } else {
    write_to_stderr(&record);
  }
}
