// SPDX-License-Identifier: Apache-2.0
// The tables of the tool hlocc: verbs.def and options.def.
#include "cli/cli.h"

enum {
#define HLO_CLI_VERB(verb, ...) VERB_##verb,
#include "cli/verbs.def"
#undef HLO_CLI_VERB
};

static const hlo_cli_verb_t verbs[] = {
#define HLO_CLI_VERB(verb, operand, summary) {#verb, HLO_CLI_##operand, summary, hlo_cli_cmd_##verb},
#include "cli/verbs.def"
#undef HLO_CLI_VERB
};

#define ON(verb) (1u << VERB_##verb)
static const hlo_cli_option_t options[] = {
#define HLO_CLI_OPTION(member, name, kind, verbs, value_name, help) \
  {name, HLO_CLI_##kind, verbs, value_name, help, offsetof(hlo_cli_t, member)},
#include "cli/options.def"
#undef HLO_CLI_OPTION
};

const hlo_cli_tool_t hlo_cli_hlocc = {.name = "hlocc",
                                      .verbs = verbs,
                                      .verb_count = sizeof verbs / sizeof *verbs,
                                      .options = options,
                                      .option_count = sizeof options / sizeof *options};
