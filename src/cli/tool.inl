// SPDX-License-Identifier: Apache-2.0
// Defines the tables of a tool. Requires TOOL (the hlo_cli_tool_t) and TOOL_NAME; TOOL_STRUCT, which
// has the members of the options and a hlo_cli_t `cli` for those of HLO_CLI_SHARED; TOOL_COMMAND(verb);
// TOOL_VERBS and TOOL_OPTIONS (files).
enum {
#define HLO_CLI_VERB(verb, ...) VERB_##verb,
#include TOOL_VERBS
#undef HLO_CLI_VERB
};

static const hlo_cli_verb_t verbs[] = {
#define HLO_CLI_VERB(verb, operand, summary) {#verb, HLO_CLI_##operand, summary, TOOL_COMMAND(verb)},
#include TOOL_VERBS
#undef HLO_CLI_VERB
};

#define ON(verb) (1u << VERB_##verb)
static const hlo_cli_option_t options[] = {
#define HLO_CLI_OPTION(member, name, kind, verbs, value_name, help) \
  {name, HLO_CLI_##kind, verbs, value_name, help, offsetof(TOOL_STRUCT, member)},
#define HLO_CLI_SHARED(member, ...) HLO_CLI_OPTION(cli.member, __VA_ARGS__)
#include TOOL_OPTIONS
#undef HLO_CLI_OPTION
#undef HLO_CLI_SHARED
};

const hlo_cli_tool_t TOOL = {.name = TOOL_NAME,
                             .verbs = verbs,
                             .verb_count = sizeof verbs / sizeof *verbs,
                             .options = options,
                             .option_count = sizeof options / sizeof *options};
