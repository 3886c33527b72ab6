// SPDX-License-Identifier: Apache-2.0
// Launches as files (see capture.h).
#include "runtime/capture.h"

#include <stdio.h>

#include "ir/dump.h"

static bool write_inputs(const hlo_run_t* run, const hlo_observer_t* folder) {
  const hlo_executable_t* executable = run->loaded->executable;
  for (uint32_t i = 0; i < executable->argument_count; ++i) {
    const void* bytes = hlo_storage_host_pointer(run->uses[i].storage);
    if (!bytes) {
      HLO_LOG(&folder->log, WARN, "launch of %s not written: the host cannot access argument %u",
              executable->name, i);
      return false;
    }
    char name[sizeof HLO_CAPTURE_ARGUMENT + 20];
    snprintf(name, sizeof name, HLO_CAPTURE_ARGUMENT, run->row, i);
    if (!hlo_observer_write_dump(folder, name, bytes, executable->arguments[i].size_bytes)) {
      return false;
    }
  }
  return true;
}

void hlo_capture_run(const hlo_run_t* run) {
  const hlo_observer_t* observer = hlo_client_observer(run->loaded->client);
  if (HLO_LIKELY(!hlo_observer_dumps(observer, HLO_DUMP_STAGE_launches))) return;
  const hlo_executable_t* executable = run->loaded->executable;
  hlo_dumper_t dumper;
  hlo_dumper_init(&dumper, observer, executable->name, executable->fingerprint);
  HLO_SCOPED_STRBUF path = {0};
  hlo_strbuf_printf(&path, "%s/%s.launch%llu", observer->dump_directory, dumper.prefix,
                    (unsigned long long)run->frame.run_id);
  hlo_observer_t folder = *observer;
  folder.dump_directory = hlo_strbuf_text(&path);
  // The first device writes the program last: a folder with a program is complete.
  if (!path.failed && write_inputs(run, &folder) && run->row == 0 &&
      (!executable->options ||
       hlo_observer_write_dump(&folder, HLO_CAPTURE_OPTIONS, (const char*)executable->options,
                               executable->options_bytes))) {
    hlo_observer_write_dump(&folder, HLO_CAPTURE_PROGRAM, (const char*)executable->source,
                            executable->source_bytes);
  }
}
