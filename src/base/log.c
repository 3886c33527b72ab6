// SPDX-License-Identifier: Apache-2.0
// Log lines (see log.h).
#include "base/log.h"

#include <stdio.h>
#include <string.h>

#include "base/os.h"

enum { LINE_BYTES = 2048 };

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

// One write per line, so that lines of different threads do not mix.
static void write_to_stderr(hlo_log_level_t level, const char* line) {
  enum { NS_PER_S = 1000000000, NS_PER_US = 1000 };
  char text[LINE_BYTES + 64];
  int length;
  if (level >= HLO_LOG_LEVEL_DEBUG) {
    uint64_t now = hlo_os_now_ns();
    length = snprintf(text, sizeof text, "hlocc %s %llu.%06llu thread %lld: %s\n",
                      hlo_log_level_name(level), (unsigned long long)(now / NS_PER_S),
                      (unsigned long long)(now % NS_PER_S / NS_PER_US),
                      (long long)hlo_os_thread_id(), line);
  } else {
    length = snprintf(text, sizeof text, "hlocc %s: %s\n", hlo_log_level_name(level), line);
  }
  if (length > 0) hlo_os_stderr_write(text, (size_t)length);
}

void hlo_log_write(const hlo_log_t* log, hlo_log_level_t level, const char* format, ...) {
  if (!hlo_log_is_on(log, level)) return;
  char line[LINE_BYTES];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (length < 0) return;
  if (length >= LINE_BYTES) {
    length = LINE_BYTES - 1;
    memcpy(line + LINE_BYTES - 4, "...", 4);
  }
  if (log->sink) {
    log->sink(log->context, level, line, (size_t)length);
  } else {
    write_to_stderr(level, line);
  }
}
