// SPDX-License-Identifier: Apache-2.0
// The tables of hlocc-dev.
#include "dev/dev.h"

#define TOOL hlo_dev_tool
#define TOOL_NAME "hlocc-dev"
#define TOOL_STRUCT hlo_dev_t
#define TOOL_COMMAND(verb) hlo_dev_cmd_##verb
#define TOOL_VERBS "dev/verbs.def"
#define TOOL_OPTIONS "dev/options.def"
#include "cli/tool.inl"
