// SPDX-License-Identifier: Apache-2.0
// hlocc-dev, a tool for developers of hlocc: tables of verbs and options. Code shared with hlocc is
// in cli/cli.h. The tool is neither installed nor part of a library.
#pragma once

#include "cli/cli.h"

/// One call of the tool. threads: confined.
typedef struct hlo_dev {
  hlo_cli_t cli;  // the first member: hlo_dev_of() relies on it
#define HLO_CLI_OPTION(member, name, kind, ...) HLO_CLI_TYPE_##kind member;
#define HLO_CLI_SHARED(...)
#include "dev/options.def"
#undef HLO_CLI_OPTION
#undef HLO_CLI_SHARED
} hlo_dev_t;

extern const hlo_cli_tool_t hlo_dev_tool;

static inline hlo_dev_t* hlo_dev_of(hlo_cli_t* cli) {
  return (hlo_dev_t*)cli;
}

#define HLO_CLI_VERB(verb, ...) \
  hlo_status_t hlo_dev_cmd_##verb(hlo_cli_t* cli, hlo_strbuf_t* out) HLO_MUST_USE;
#include "dev/verbs.def"
#undef HLO_CLI_VERB
