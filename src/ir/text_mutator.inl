// SPDX-License-Identifier: Apache-2.0
// Mutations of program text for fuzzers: they change whole tokens and lines, so that most results
// still parse and reach the verifier and the code after it.
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/fuzz.h"

enum { TEXT_PIECE_MAX = 4096 };

typedef struct text_span {
  size_t begin, end;
} text_span_t;

static bool is_word(uint8_t c) {
  return isalnum(c) || c == '_' || c == '.' || c == '%' || c == '@' || c == '#' || c == '?';
}

static text_span_t token_at(const uint8_t* data, size_t size, size_t pos) {
  text_span_t token = {pos, pos + 1};
  if (!is_word(data[pos])) return token;
  while (token.begin > 0 && is_word(data[token.begin - 1])) --token.begin;
  while (token.end < size && is_word(data[token.end])) ++token.end;
  return token;
}

static text_span_t line_at(const uint8_t* data, size_t size, size_t pos) {
  text_span_t line = {pos, pos};
  while (line.begin > 0 && data[line.begin - 1] != '\n') --line.begin;
  while (line.end < size && data[line.end] != '\n') ++line.end;
  if (line.end < size) ++line.end;
  return line;
}

// Replaces a span by bytes from outside `data`; leaves the size unchanged if they do not fit.
static size_t replace_span(uint8_t* data, size_t size, size_t max_size, text_span_t span,
                           const void* bytes, size_t count) {
  size_t new_size = size - (span.end - span.begin) + count;
  if (new_size > max_size) return size;
  memmove(data + span.begin + count, data + span.end, size - span.end);
  memcpy(data + span.begin, bytes, count);
  return new_size;
}

// Replaces the first digits at or after `pos` by a number.
static size_t change_number(uint8_t* data, size_t size, size_t max_size, size_t pos,
                            uint64_t* random) {
  static const char* const kNumbers[] = {"0",
                                         "1",
                                         "2",
                                         "3",
                                         "4",
                                         "7",
                                         "8",
                                         "-1",
                                         "-2",
                                         "16",
                                         "33",
                                         "255",
                                         "65536",
                                         "2147483647",
                                         "4294967296",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "?"};
  while (pos < size && !isdigit(data[pos])) ++pos;
  text_span_t digits = {pos, pos};
  while (digits.end < size && isdigit(data[digits.end])) ++digits.end;
  if (digits.begin == digits.end) return size;
  const char* number = kNumbers[hlo_fuzz_random(random) % (sizeof kNumbers / sizeof *kNumbers)];
  return replace_span(data, size, max_size, digits, number, strlen(number));
}

static size_t mutate_text(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  uint8_t piece[TEXT_PIECE_MAX];
  uint32_t kind = hlo_fuzz_random(&random) % 8;
  if (size == 0 || kind == 0) return LLVMFuzzerMutate(data, size, max_size);
  size_t to = hlo_fuzz_random(&random) % size, from = hlo_fuzz_random(&random) % size;
  bool is_line = kind == 4 || kind == 6;
  text_span_t target = is_line ? line_at(data, size, to) : token_at(data, size, to);
  text_span_t source = is_line ? line_at(data, size, from) : token_at(data, size, from);
  size_t count = source.end - source.begin;
  if (count > sizeof piece) count = sizeof piece;
  memcpy(piece, data + source.begin, count);
  switch (kind) {
    case 1:
    case 2: return change_number(data, size, max_size, to, &random);
    case 3:  // replace it by another token
    case 4:  // replace it by another line
      return replace_span(data, size, max_size, target, piece, count);
    case 5:  // duplicate a token or a line
    case 6:
      target.end = target.begin;
      return replace_span(data, size, max_size, target, piece, count);
    default: return replace_span(data, size, max_size, target, piece, 0);
  }
}
