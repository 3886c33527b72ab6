// SPDX-License-Identifier: Apache-2.0
// Errors of the public C API: a status and the location that its message begins with.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "capi/capi_impl.h"

struct hlocc_error {
  hlo_status_t status;  // NULL: memory was exhausted
  uint32_t line, column;
  char file[];
};

static const hlocc_error_t kNoMemory = {0};

// Parses "line:column" after the file name at `text`, as in "model.mlir:3:7: ..."; false if absent.
static bool parse_numbers(const char* text, hlocc_error_t* error) {
  if (!isdigit((unsigned char)text[0])) return false;
  char* end;
  unsigned long line = strtoul(text, &end, 10);
  if (*end != ':' || !isdigit((unsigned char)end[1])) return false;
  unsigned long column = strtoul(end + 1, &end, 10);
  if (*end != ':' && *end != ' ') return false;
  error->line = (uint32_t)line;
  error->column = (uint32_t)column;
  return true;
}

// Finds the location at the beginning of a message. `file` has room for the whole message.
static void parse_place(const char* message, hlocc_error_t* error) {
  size_t end = strcspn(message, "\n");
  for (size_t i = 0; i < end; ++i) {
    if (message[i] != ':') continue;
    if (parse_numbers(message + i + 1, error) ||
        strncmp(message + i, ": error: ", strlen(": error: ")) == 0) {
      memcpy(error->file, message, i);
      return;
    }
  }
}

hlocc_error_t* hlo_capi_error(hlo_status_t status) {
  if (hlo_status_is_ok(status)) return NULL;
  const char* message = hlo_status_message(status);
  hlocc_error_t* error = hlo_mem_alloc_zeroed(sizeof *error + strlen(message) + 1);
  if (!error) {
    hlo_status_release(status);
    return (hlocc_error_t*)&kNoMemory;
  }
  error->status = status;
  parse_place(message, error);
  return error;
}

hlocc_code_t hlocc_error_code(const hlocc_error_t* error) {
  if (!error) return HLOCC_OK;
  return error == &kNoMemory ? HLOCC_RESOURCE_EXHAUSTED
                             : (hlocc_code_t)hlo_status_code(error->status);
}

const char* hlocc_error_message(const hlocc_error_t* error) {
  if (!error) return "";
  return error == &kNoMemory ? "memory is exhausted" : hlo_status_message(error->status);
}

const char* hlocc_error_location(const hlocc_error_t* error, uint32_t* out_line,
                                 uint32_t* out_column) {
  if (out_line) *out_line = error ? error->line : 0;
  if (out_column) *out_column = error ? error->column : 0;
  return error && error != &kNoMemory ? error->file : "";
}

void hlocc_error_free(hlocc_error_t* error) {
  if (!error || error == &kNoMemory) return;
  hlo_status_release(error->status);
  hlo_mem_free(error);
}
