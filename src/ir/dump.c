// SPDX-License-Identifier: Apache-2.0
// Dumps of modules (see dump.h).
#include "ir/dump.h"

#include <ctype.h>
#include <stdio.h>

#include "ir/print.h"

void hlo_dumper_init(hlo_dumper_t* dumper, const hlo_observer_t* observer, const char* name,
                     uint64_t fingerprint) {
  enum { NAME_BYTES = sizeof dumper->prefix - sizeof ".0123456789abcdef" + 1 };
  *dumper = (hlo_dumper_t){.observer = observer, .position = 1};
  if (!observer || !observer->dump_stages) return;
  if (!name || !*name) name = "module";
  size_t length = 0;
  for (; name[length] && length < NAME_BYTES - 1; ++length) {
    unsigned char c = (unsigned char)name[length];
    bool is_plain = isalnum(c) || c == '_' || c == '-' || (c == '.' && length > 0);
    dumper->prefix[length] = (char)(is_plain ? c : '_');
  }
  snprintf(dumper->prefix + length, sizeof dumper->prefix - length, ".%016llx",
           (unsigned long long)fingerprint);
}

// `label` is the part of the file name between prefix and extension.
static void write_text(hlo_dumper_t* dumper, const char* label, const char* extension,
                       const hlo_strbuf_t* text) {
  if (dumper->failed) return;
  char file_name[sizeof dumper->prefix + 88];
  snprintf(file_name, sizeof file_name, "%s.%s.%s", dumper->prefix, label, extension);
  hlo_status_t status = hlo_strbuf_status(text);
  if (hlo_status_is_ok(status)) {
    dumper->failed =
        !hlo_observer_write_dump(dumper->observer, file_name, hlo_strbuf_text(text), text->length);
  } else {
    dumper->failed = true;
    HLO_LOG(&dumper->observer->log, WARN, "cannot write the dump %s: %s", file_name,
            hlo_status_message(status));
    hlo_status_release(status);
  }
}

static void write_module(hlo_dumper_t* dumper, const char* label, const hlo_module_t* module) {
  if (dumper->failed) return;
  HLO_SCOPED_STRBUF text = {0};
  hlo_print_module(module, &(hlo_print_options_t){.locations = true}, &text);
  write_text(dumper, label, "mlir", &text);
}

bool hlo_dump_wants(const hlo_dumper_t* dumper, hlo_dump_stage_t stage) {
  return dumper && hlo_observer_dumps(dumper->observer, stage);
}

void hlo_dump_text(hlo_dumper_t* dumper, hlo_dump_stage_t stage, const hlo_strbuf_t* text) {
  if (hlo_dump_wants(dumper, stage)) write_text(dumper, hlo_dump_stage_name(stage), "txt", text);
}

void hlo_dump_module(hlo_dumper_t* dumper, hlo_dump_stage_t stage, const hlo_module_t* module) {
  if (HLO_LIKELY(!dumper || !hlo_observer_dumps(dumper->observer, stage))) return;
  write_module(dumper, stage == HLO_DUMP_STAGE_input ? "00.input" : hlo_dump_stage_name(stage),
               module);
}

void hlo_dump_pass(hlo_dumper_t* dumper, const char* pass, const hlo_module_t* module) {
  if (!dumper) return;
  uint32_t position = dumper->position++;
  if (HLO_LIKELY(!hlo_observer_dumps(dumper->observer, HLO_DUMP_STAGE_passes))) return;
  char label[72];
  snprintf(label, sizeof label, "%02u.%.60s", position, pass);
  write_module(dumper, label, module);
}
