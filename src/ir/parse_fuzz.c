// SPDX-License-Identifier: Apache-2.0
// Fuzzes the parser of MLIR text: it parses or refuses any text, and the printed form of a parsed
// module parses to an equal module.
#include <stdlib.h>
#include <string.h>

#include "ir/clone.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/text_mutator.inl"

static hlo_module_t* parse_text(const char* text, size_t length) {
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_parse_module(text, length, "fuzz.mlir", NULL, &module);
  hlo_status_release(status);
  return module;
}

static void check_round_trip(const hlo_module_t* module, const hlo_print_options_t* options) {
  hlo_strbuf_t text = {0};
  hlo_print_module(module, options, &text);
  hlo_module_t* again = parse_text(hlo_strbuf_text(&text), text.length);
  if (!again || !hlo_module_equal(module, again)) abort();
  hlo_strbuf_t second = {0};
  hlo_print_module(again, options, &second);
  if (second.length != text.length || memcmp(second.data, text.data, text.length) != 0) abort();
  hlo_strbuf_deinit(&second);
  hlo_strbuf_deinit(&text);
  hlo_module_release(again);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hlo_module_t* module = parse_text((const char*)data, size);
  if (module) {
    check_round_trip(module, NULL);
    check_round_trip(module, &(hlo_print_options_t){.generic = true, .locations = true});
    hlo_module_release(module);
  }
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return seed % 2 ? mutate_text(data, size, max_size, seed / 2)
                  : LLVMFuzzerMutate(data, size, max_size);
}
