// SPDX-License-Identifier: Apache-2.0
// The program hlocc-dev.
#include "dev/dev.h"

int main(int argc, char** argv) {
  hlo_dev_t dev = {0};
  return hlo_cli_main(&hlo_dev_tool, &dev.cli, argc, argv);
}
