// SPDX-License-Identifier: Apache-2.0
// The tables of hlocc.
#include "cli/cli.h"

#define TOOL hlo_cli_hlocc
#define TOOL_NAME "hlocc"
#define TOOL_STRUCT hlo_cli_t
#define TOOL_COMMAND(verb) hlo_cli_cmd_##verb
#define TOOL_VERBS "cli/verbs.def"
#define TOOL_OPTIONS "cli/options.def"
#include "cli/tool.inl"
