// SPDX-License-Identifier: Apache-2.0
// Verbs that convert programs to text: translate, check.
#include <string.h>

#include "base/diag.h"
#include "cli/cli.h"
#include "frontend/hlo/hlo.h"
#include "ir/clone.h"
#include "ir/infer.h"
#include "ir/parse.h"
#include "ir/print.h"

static hlo_status_t print_hlo(const hlo_cli_t* cli, const hlo_module_t* module, hlo_strbuf_t* out) {
  hlo_hlo_print_options_t options = {.metadata = cli->locations,
                                     .elide_literals_above = cli->elide};
  return hlo_hlo_text_print(module, &options, out);
}

static hlo_status_t write_hlo_proto(HLO_UNUSED const hlo_cli_t* cli, const hlo_module_t* module,
                                    hlo_strbuf_t* out) {
  return hlo_hlo_proto_write(module, out);
}

hlo_status_t hlo_cli_cmd_translate(hlo_cli_t* cli, hlo_strbuf_t* out) {
  static const struct {
    const char* name;
    hlo_status_t (*write)(const hlo_cli_t* cli, const hlo_module_t* module, hlo_strbuf_t* out);
  } forms[] = {{"stablehlo", hlo_cli_print}, {"hlo", print_hlo}, {"hlo-proto", write_hlo_proto}};
  enum { FORM_COUNT = sizeof forms / sizeof *forms };
  const char* to = cli->to ? cli->to : forms[0].name;
  size_t form = 0;
  while (form < FORM_COUNT && strcmp(forms[form].name, to) != 0) ++form;
  if (form == FORM_COUNT) {
    return hlo_invalid_argument("unknown form --to=%s, expected stablehlo, hlo or hlo-proto", to);
  }
  hlo_module_t* module = NULL;
  HLO_TRY(hlo_cli_load(cli, &module));
  hlo_status_t status = forms[form].write(cli, module, out);
  hlo_module_release(module);
  return status;
}

static hlo_status_t read_back(const char* text, size_t length, hlo_module_t** out_module) {
  hlo_diag_t diag;
  hlo_diag_init(&diag, "<print>", text, length);
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_parse_module(text, length, "<print>", &diag, &module);
  if (hlo_status_is_ok(status)) status = hlo_module_verify(module, &diag);
  hlo_diag_deinit(&diag);
  if (hlo_status_is_ok(status)) {
    *out_module = module;
  } else {
    hlo_module_release(module);
  }
  return status;
}

// Prints, parses and compares the module, and prints it again.
static hlo_status_t check_form(const hlo_module_t* module, bool generic) {
  const char* form = generic ? "generic" : "pretty";
  hlo_print_options_t options = {.generic = generic};
  HLO_SCOPED_STRBUF text = {0}, again = {0};
  hlo_module_t* back = NULL;
  hlo_print_module(module, &options, &text);
  hlo_status_t status = hlo_strbuf_status(&text);
  if (hlo_status_is_ok(status)) status = read_back(hlo_strbuf_text(&text), text.length, &back);
  if (hlo_status_is_ok(status) && !hlo_module_equal(module, back)) {
    status = hlo_internal_error("error: the %s text parses to a different module", form);
  }
  if (hlo_status_is_ok(status)) {
    hlo_print_module(back, &options, &again);
    status = hlo_strbuf_status(&again);
    if (hlo_status_is_ok(status) && strcmp(hlo_strbuf_text(&text), hlo_strbuf_text(&again)) != 0) {
      status = hlo_internal_error("error: the %s text differs after parsing and printing", form);
    }
  }
  hlo_module_release(back);
  return status;
}

hlo_status_t hlo_cli_cmd_check(hlo_cli_t* cli, hlo_strbuf_t* out) {
  if (hlo_cli_has_tile(cli)) return hlo_cli_check_tile(cli, out);
  hlo_module_t* module = NULL;
  HLO_TRY(hlo_cli_load(cli, &module));
  hlo_status_t status = check_form(module, false);
  if (hlo_status_is_ok(status)) status = check_form(module, true);
  if (hlo_status_is_ok(status)) {
    hlo_strbuf_printf(out, "%s: ok, %u functions, %u operations\n", cli->file, module->func_count,
                      module->node_count);
  }
  hlo_module_release(module);
  return status;
}
