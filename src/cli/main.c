// SPDX-License-Identifier: Apache-2.0
// The program hlocc.
#include "cli/cli.h"

int main(int argc, char** argv) {
  hlo_cli_t cli = {0};
  return hlo_cli_main(&hlo_cli_hlocc, &cli, argc, argv);
}
