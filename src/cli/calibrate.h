// SPDX-License-Identifier: Apache-2.0
// The machine description of this machine, measured.
#pragma once

#include "cli/cli.h"

/// Runs small programs on --device-count virtual devices (8) at one time and prints the rates of
/// one device as hlo_schedule_machine_parse() reads them. errors : those of compiling and running
hlo_status_t hlo_cli_calibrate(const hlo_cli_t* cli, hlo_strbuf_t* out) HLO_MUST_USE;
