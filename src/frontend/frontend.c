// SPDX-License-Identifier: Apache-2.0
// Detects the format of a program and calls its reader (see frontend.h).
#include "frontend/frontend.h"

#include <string.h>

#include "frontend/bytecode/bytecode.h"
#include "frontend/hlo/hlo.h"
#include "ir/parse.h"

const char* hlo_format_name(hlo_format_t format) {
  static const char* const names[] = {"an unknown format", "MLIR bytecode", "MLIR text", "HLO text",
                                      "HLO proto"};
  return names[(unsigned)format <= HLO_FORMAT_HLO_PROTO ? format : 0];
}

static bool is_text(const uint8_t* bytes, size_t size) {
  size_t looked_at = size < 4096 ? size : 4096;
  for (size_t i = 0; i < looked_at; ++i) {
    if (bytes[i] < 0x20 && !strchr("\t\n\r\f", bytes[i] ? bytes[i] : 1)) return false;
  }
  return true;
}

// Skips white space and comments of both kinds of text.
static size_t skip_blank(const uint8_t* bytes, size_t size) {
  size_t i = 0;
  while (i < size) {
    if (strchr(" \t\n\r\f", bytes[i]) && bytes[i]) {
      ++i;
    } else if (bytes[i] == '/' && i + 1 < size && bytes[i + 1] == '/') {
      while (i < size && bytes[i] != '\n') ++i;
    } else if (bytes[i] == '/' && i + 1 < size && bytes[i + 1] == '*') {
      for (i += 2; i + 1 < size && !(bytes[i] == '*' && bytes[i + 1] == '/');) ++i;
      i = i + 1 < size ? i + 2 : size;
    } else {
      break;
    }
  }
  return i;
}

// An HloModuleProto (field 1: its name) or an HloProto (field 1: the module) begins with a
// length-delimited field 1. Text never does: byte 0x0a is a line feed, but no valid length follows
// it.
static bool is_proto(const uint8_t* bytes, size_t size) {
  return size > 2 && bytes[0] == 0x0a && !is_text(bytes, size);
}

hlo_format_t hlo_frontend_sniff(const void* bytes, size_t size) {
  if (hlo_bytecode_sniff(bytes, size)) return HLO_FORMAT_MLIR_BYTECODE;
  if (is_proto(bytes, size)) return HLO_FORMAT_HLO_PROTO;
  if (size == 0 || !is_text(bytes, size)) return HLO_FORMAT_UNKNOWN;
  size_t start = skip_blank(bytes, size);
  const char* text = (const char*)bytes + start;
  if (size - start >= 9 && memcmp(text, "HloModule", 9) == 0) return HLO_FORMAT_HLO_TEXT;
  return HLO_FORMAT_MLIR_TEXT;
}

static hlo_status_t load(const void* bytes, size_t size, const char* file_name, hlo_format_t format,
                         const hlo_frontend_options_t* options, hlo_diag_t* diag,
                         bool* out_reported, hlo_module_t** out_module) {
  const hlo_hlo_read_options_t hlo = {.elided = options->elided,
                                      .flat_results = options->flat_results};
  switch (format) {
    case HLO_FORMAT_MLIR_BYTECODE:
      return hlo_bytecode_read(bytes, size, options->keeper, out_module);
    case HLO_FORMAT_MLIR_TEXT:
      *out_reported = true;
      return hlo_parse_module_elided(bytes, size, file_name, options->elided, diag, out_module);
    case HLO_FORMAT_HLO_TEXT:
      *out_reported = true;
      return hlo_hlo_text_read(bytes, size, file_name, &hlo, diag, out_module);
    case HLO_FORMAT_HLO_PROTO: return hlo_hlo_proto_read(bytes, size, &hlo, out_module);
    default:
      return hlo_invalid_argument(
          "the program is neither MLIR bytecode, MLIR text, HLO text nor an HLO proto");
  }
}

hlo_status_t hlo_frontend_load(const void* bytes, size_t size, const char* file_name,
                               const hlo_frontend_options_t* options, hlo_diag_t* diag,
                               hlo_module_t** out_module) {
  static const hlo_frontend_options_t defaults = {0};
  if (!options) options = &defaults;
  hlo_format_t format = options->format;
  if (format == HLO_FORMAT_UNKNOWN) format = hlo_frontend_sniff(bytes, size);
  bool reported = false;
  hlo_status_t status = load(bytes, size, file_name, format, options, diag, &reported, out_module);
  // The memory bound applied to reading only.
  if (hlo_status_is_ok(status)) (*out_module)->arena.limit_bytes = 0;
  if (hlo_status_is_ok(status) || reported || !diag) return status;
  hlo_diag_error_at(diag, file_name, "%s", hlo_status_message(status));
  return status;
}
