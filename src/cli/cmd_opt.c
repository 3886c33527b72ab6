// SPDX-License-Identifier: Apache-2.0
// hlocc opt, hlocc passes: passes over a program, and their list.
#include "cli/cli.h"

hlo_status_t hlo_cli_cmd_opt(hlo_cli_t* cli, hlo_strbuf_t* out) {
  if (cli->passes) {
    return hlo_status_create(HLO_STATUS_UNIMPLEMENTED,
                             "--passes=%s: this build has no table of passes", cli->passes);
  }
  hlo_module_t* module = NULL;
  HLO_TRY(hlo_cli_load(cli, &module));
  hlo_status_t status = hlo_cli_print(cli, module, out);
  hlo_module_release(module);
  return status;
}

hlo_status_t hlo_cli_cmd_passes(hlo_cli_t* cli, hlo_strbuf_t* out) {
  (void)out;
  (void)cli;
  return hlo_status_create(HLO_STATUS_UNIMPLEMENTED, "this build has no table of passes");
}
