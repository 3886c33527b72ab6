// SPDX-License-Identifier: Apache-2.0
// Errors of the public C API: a status, and the faults of which its message consists.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "capi/capi_impl.h"

struct hlocc_error {
  hlo_status_t status;  // NULL: memory was exhausted
  uint32_t fault_count;
  hlocc_fault_t* faults;  // stored after the struct, followed by their strings
};

static const hlocc_fault_t kNoFault = {.file = "", .operation = "", .text = ""};
static const hlocc_fault_t kExhausted = {
    .file = "", .operation = "", .text = "memory is exhausted"};
static const hlocc_error_t kNoMemory = {.fault_count = 1, .faults = (hlocc_fault_t*)&kExhausted};

// Reads "line:column" after the file name, as in "model.mlir:3:7: ..."; false if absent.
static bool read_numbers(const char* text, hlocc_fault_t* fault, const char** out_end) {
  if (!isdigit((unsigned char)text[0])) return false;
  char* end;
  const unsigned long line = strtoul(text, &end, 10);
  if (*end != ':' || !isdigit((unsigned char)end[1])) return false;
  const unsigned long column = strtoul(end + 1, &end, 10);
  if (*end != ':' && *end != ' ') return false;
  fault->line = (uint32_t)line;
  fault->column = (uint32_t)column;
  *out_end = end;
  return true;
}

// Part of a message.
typedef struct words {
  const char* text;
  size_t length;
} words_t;

// A fault as parts of the message.
typedef struct parsed_fault {
  hlocc_fault_t numbers;
  words_t file, operation, text;
} parsed_fault_t;

static size_t line_length(const char* text) {
  return strcspn(text, "\n");
}

// Finds the location at the beginning of a line; false if absent.
static bool parse_location(const char* line, parsed_fault_t* fault) {
  static const char kError[] = "error: ";
  const size_t length = line_length(line);
  if (line[0] == ' ') return false;  // a line of the program, or the caret below it
  for (size_t i = 0; i < length; ++i) {
    if (line[i] != ':') continue;
    const char* end = line + i;
    const bool has_numbers = read_numbers(line + i + 1, &fault->numbers, &end);
    const char* text = end + strspn(end, ": ");
    const bool is_error = strncmp(text, kError, strlen(kError)) == 0;
    if (!has_numbers && !is_error) continue;
    fault->file = (words_t){line, i};
    fault->text.text = text + (is_error ? strlen(kError) : 0);
    return true;
  }
  return false;
}

// Finds the operation that the text of a fault begins with: "stablehlo.add: ..." or "op
// 'stablehlo.add' ...".
static void parse_operation(parsed_fault_t* fault) {
  static const char kQuoted[] = "op '";
  const char* text = fault->text.text;
  const bool is_quoted = strncmp(text, kQuoted, strlen(kQuoted)) == 0;
  if (is_quoted) text += strlen(kQuoted);
  size_t length = 0, dots = 0;
  for (; isalnum((unsigned char)text[length]) || text[length] == '_' || text[length] == '.';
       ++length) {
    dots += text[length] == '.' && length > 0;
  }
  if (dots && text[length] == (is_quoted ? '\'' : ':')) {
    fault->operation = (words_t){text, length};
  }
}

// Finds the next fault: a line with a location begins one, other lines belong to the fault before.
// Returns the rest of the message; NULL at its end.
static const char* parse_fault(const char* message, parsed_fault_t* out_fault) {
  *out_fault = (parsed_fault_t){.text = {.text = message}};
  bool has_location = parse_location(message, out_fault);
  if (has_location) parse_operation(out_fault);
  const char* line = message + line_length(message);
  while (*line) {
    parsed_fault_t next = {0};
    const bool is_location = parse_location(line + 1, &next);
    if (is_location && has_location) break;
    if (is_location) {  // lines of context came first
      next.text.text = message;
      *out_fault = next;
      has_location = true;
    }
    line += 1 + line_length(line + 1);
  }
  out_fault->text.length = (size_t)(line - out_fault->text.text);
  return *line ? line + 1 : NULL;
}

static const char* store_words(words_t words, char** to) {
  char* begin = *to;
  if (words.length) memcpy(begin, words.text, words.length);
  begin[words.length] = 0;
  *to = begin + words.length + 1;
  return begin;
}

hlocc_error_t* hlo_capi_error(hlo_status_t status) {
  if (hlo_status_is_ok(status)) return NULL;
  const char* message = hlo_status_message(status);
  parsed_fault_t parsed;
  uint32_t count = 0;
  size_t bytes = sizeof(hlocc_error_t);
  for (const char* rest = message; rest; ++count) {
    rest = parse_fault(rest, &parsed);
    bytes += sizeof(hlocc_fault_t) + parsed.file.length + parsed.operation.length +
             parsed.text.length + 3;  // zeros at the ends of the strings
  }
  hlocc_error_t* error = hlo_mem_alloc_zeroed(bytes);
  if (!error) {
    hlo_status_release(status);
    return (hlocc_error_t*)&kNoMemory;
  }
  error->status = status;
  error->fault_count = count;
  error->faults = (hlocc_fault_t*)(error + 1);
  char* strings = (char*)(error->faults + count);
  for (uint32_t i = 0; i < count; ++i) {
    message = parse_fault(message, &parsed);
    error->faults[i] = parsed.numbers;
    error->faults[i].file = store_words(parsed.file, &strings);
    error->faults[i].operation = store_words(parsed.operation, &strings);
    error->faults[i].text = store_words(parsed.text, &strings);
  }
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

uint32_t hlocc_error_fault_count(const hlocc_error_t* error) {
  return error ? error->fault_count : 0;
}

hlocc_fault_t hlocc_error_fault(const hlocc_error_t* error, uint32_t index) {
  return error && index < error->fault_count ? error->faults[index] : kNoFault;
}

const char* hlocc_error_location(const hlocc_error_t* error, uint32_t* out_line,
                                 uint32_t* out_column) {
  const hlocc_fault_t fault = hlocc_error_fault(error, 0);
  if (out_line) *out_line = fault.line;
  if (out_column) *out_column = fault.column;
  return fault.file;
}

void hlocc_error_free(hlocc_error_t* error) {
  if (!error || error == &kNoMemory) return;
  hlo_status_release(error->status);
  hlo_mem_free(error);
}
