// SPDX-License-Identifier: Apache-2.0
// The program hlocc.
#include "cli/cli.h"

int main(int argc, char** argv) {
  return hlo_cli_main(argc, argv);
}
