// SPDX-License-Identifier: Apache-2.0
// The tables of hlocc-dev (see dev.h).
#include "dev/dev.h"

enum {
#define HLO_DEV_VERB(verb, ...) VERB_##verb,
#include "dev/verbs.def"
#undef HLO_DEV_VERB
};

static const hlo_cli_verb_t verbs[] = {
#define HLO_DEV_VERB(verb, operand, summary) {#verb, HLO_CLI_##operand, summary, hlo_dev_cmd_##verb},
#include "dev/verbs.def"
#undef HLO_DEV_VERB
};

#define ON(verb) (1u << VERB_##verb)
#define OPTION(name, kind, verbs, value_name, help, offset) \
  {name, HLO_CLI_##kind, verbs, value_name, help, offset},
static const hlo_cli_option_t options[] = {
#define HLO_DEV_OPTION(member, name, kind, verbs, value_name, help) \
  OPTION(name, kind, verbs, value_name, help, offsetof(hlo_dev_t, member))
#define HLO_DEV_SHARED(member, name, kind, verbs, value_name, help) \
  OPTION(name, kind, verbs, value_name, help, offsetof(hlo_dev_t, cli.member))
#include "dev/options.def"
#undef HLO_DEV_OPTION
#undef HLO_DEV_SHARED
};

const hlo_cli_tool_t hlo_dev_tool = {.name = "hlocc-dev",
                                     .verbs = verbs,
                                     .verb_count = sizeof verbs / sizeof *verbs,
                                     .options = options,
                                     .option_count = sizeof options / sizeof *options};
