// SPDX-License-Identifier: Apache-2.0
// Optimised programs as HLO (see hlo_dump.h).
#include "compiler/hlo_dump.h"

#include <stdio.h>

#include "frontend/hlo/hlo.h"
#include "ir/dump.h"

static void write_file(const hlo_dumper_t* dumper, const char* ending, hlo_status_t status,
                       const hlo_strbuf_t* bytes) {
  char file_name[sizeof dumper->prefix + 40];
  snprintf(file_name, sizeof file_name, "%s.after_optimizations.%s", dumper->prefix, ending);
  if (hlo_status_is_ok(status)) {
    hlo_observer_write_dump(dumper->observer, file_name, bytes->data, bytes->length);
  } else {
    HLO_LOG(&dumper->observer->log, WARN, "cannot write the dump %s: %s", file_name,
            hlo_status_message(status));
    hlo_status_release(status);
  }
}

void hlo_write_hlo_dump(const hlo_executable_t* executable) {
  const hlo_hlo_dump_t* dump = &executable->config.hlo_dump;
  if (!dump->directory) return;
  const hlo_observer_t* client = executable->config.observer;
  hlo_observer_t observer = {.dump_stages = 1u << HLO_DUMP_STAGE_final,
                             .dump_directory = dump->directory};
  if (client) observer.log = client->log;
  hlo_dumper_t dumper;
  hlo_dumper_init(&dumper, &observer, executable->name, executable->fingerprint);
  if (dump->is_text) {
    HLO_SCOPED_STRBUF text = {0};
    hlo_status_t status =
        hlo_hlo_text_print(executable->module, &(hlo_hlo_print_options_t){.metadata = true}, &text);
    write_file(&dumper, "txt", status, &text);
  }
  if (dump->is_proto) {
    HLO_SCOPED_STRBUF proto = {0};
    hlo_status_t status = hlo_hlo_proto_write(executable->module, &proto);
    write_file(&dumper, "hlo.pb", status, &proto);
  }
}
