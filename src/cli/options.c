// SPDX-License-Identifier: Apache-2.0
// Reads the arguments of the tool by the tables verbs.def and options.def, and prints help from
// them.
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/cli.h"

typedef enum option_kind { KIND_FLAG, KIND_TEXT, KIND_LIST, KIND_NUMBER, KIND_COUNT } option_kind_t;

typedef struct option {
  const char* name;
  option_kind_t kind;
  unsigned verbs;  // bit hlo_cli_verb_t
  const char* value_name;
  const char* help;
  size_t offset;  // of the member in hlo_cli_t
} option_t;

#define ON(verb) (1u << HLO_CLI_##verb)
static const option_t kOptions[] = {
#define HLO_CLI_OPTION(member, name, kind, verbs, value_name, help) \
  {name, KIND_##kind, verbs, value_name, help, offsetof(hlo_cli_t, member)},
#include "cli/options.def"
#undef HLO_CLI_OPTION
};
enum { OPTION_COUNT = sizeof kOptions / sizeof kOptions[0], DEFAULT_COUNT = 10 };

typedef enum operand { OPERAND_NO_FILE, OPERAND_FILE, OPERAND_MAY_HAVE_FILE } operand_t;

typedef struct verb {
  const char* name;
  operand_t operand;
  const char* summary;
} verb_t;

static const verb_t kVerbs[] = {
#define HLO_CLI_VERB(verb, operand, summary) {#verb, OPERAND_##operand, summary},
#include "cli/verbs.def"
#undef HLO_CLI_VERB
};

static bool is_taken(const option_t* option, hlo_cli_verb_t verb) {
  return option->verbs >> verb & 1;
}

// ---- values

static hlo_status_t usage_error(const hlo_cli_t* cli, const char* what, const char* word,
                                const char* closest) {
  const char* verb = cli->verb < HLO_CLI_VERB_COUNT ? kVerbs[cli->verb].name : NULL;
  return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "%s '%s'%s%s%s; see hlocc %s%s--help", what,
                           word, closest ? ", did you mean '" : "", closest ? closest : "",
                           closest ? "'?" : "", verb ? verb : "", verb ? " " : "");
}

static hlo_status_t append(hlo_cli_t* cli, hlo_cli_list_t* list, const char* value) {
  const char** items = hlo_arena_array(&cli->arena, (size_t)list->count + 1, sizeof *items);
  if (!items) return hlo_arena_status(&cli->arena);
  if (list->count) memcpy(items, list->items, list->count * sizeof *items);
  items[list->count] = value;
  list->items = items;
  ++list->count;
  return hlo_ok();
}

static hlo_status_t set_value(hlo_cli_t* cli, const option_t* option, const char* value) {
  void* member = (char*)cli + option->offset;
  switch (option->kind) {
    case KIND_FLAG: *(bool*)member = true; return hlo_ok();
    case KIND_TEXT: *(const char**)member = value; return hlo_ok();
    case KIND_LIST: return append(cli, member, value);
    case KIND_NUMBER:
    case KIND_COUNT: break;
  }
  char* end = NULL;
  long long count = value ? strtoll(value, &end, 10) : DEFAULT_COUNT;
  if (value && (end == value || *end || count < 1)) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                             "option --%s wants a positive number, not '%s'", option->name, value);
  }
  *(int64_t*)member = count;
  return hlo_ok();
}

// ---- words

// The name of an option without dashes, '_' for '-': those of the tool and of the library look
// alike.
static const char* plain_name(hlo_cli_t* cli, const char* word, size_t length, char separator) {
  char* name = hlo_arena_strndup(&cli->arena, word, length);
  for (char* c = name; c && *c; ++c) {
    if (*c == '-' || *c == '_') *c = separator;
  }
  return name ? name : "";
}

static const option_t* find_option(hlo_cli_verb_t verb, const char* name) {
  for (size_t i = 0; i < OPTION_COUNT; ++i) {
    if (is_taken(&kOptions[i], verb) && strcmp(kOptions[i].name, name) == 0) return &kOptions[i];
  }
  return NULL;
}

static hlo_status_t unknown_option(hlo_cli_t* cli, const char* word, const char* name) {
  hlo_suggestion_t suggestion;
  hlo_suggestion_init(&suggestion, name);
  hlo_suggestion_offer(&suggestion, "help");
  for (size_t i = 0; i < OPTION_COUNT; ++i) {
    if (is_taken(&kOptions[i], cli->verb)) hlo_suggestion_offer(&suggestion, kOptions[i].name);
  }
  for (int i = 0; i < HLO_CONFIG_COUNT; ++i) {
    const char* known = hlo_config_info((hlo_config_index_t)i)->name;
    hlo_suggestion_offer(&suggestion, plain_name(cli, known, strlen(known), '-'));
  }
  char closest[80] = "";
  if (suggestion.best) {
    strcat(strcpy(closest, "--"), suggestion.best);
  }
  return usage_error(cli, "unknown option", word, suggestion.best ? closest : NULL);
}

// Options of the library: --num-threads=4. Sets *out_known false when there is none of the name.
static hlo_status_t set_config(hlo_cli_t* cli, const char* name, const char* value,
                               bool* out_known) {
  const char* config_name = plain_name(cli, name, strlen(name), '_');
  *out_known = false;
  for (int i = 0; i < HLO_CONFIG_COUNT; ++i) {
    const hlo_config_info_t* info = hlo_config_info((hlo_config_index_t)i);
    if (strcmp(info->name, config_name) != 0) continue;
    *out_known = true;
    if (!value && info->kind == HLO_CONFIG_KIND_BOOL) value = "1";
    if (!value) return usage_error(cli, "a value is missing for option", name, NULL);
    return hlo_config_set(&cli->config, info->name, value, HLO_CONFIG_SOURCE_OPTION);
  }
  return hlo_ok();
}

// One option at argv[*i]; its value may be the next word.
static hlo_status_t parse_option(hlo_cli_t* cli, int argc, char** argv, int* i) {
  const char* word = argv[*i];
  const char* start = word + strspn(word, "-");
  const char* equals = strchr(start, '=');
  const char* value = equals ? equals + 1 : NULL;
  size_t length = equals ? (size_t)(equals - start) : strlen(start);
  const char* name = plain_name(cli, start, length, '-');
  if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0) {
    cli->help = true;
    return hlo_ok();
  }
  const option_t* option = find_option(cli->verb, name);
  if (!option) {
    bool known;
    HLO_TRY(set_config(cli, name, value, &known));
    return known ? hlo_ok() : unknown_option(cli, word, name);
  }
  if (option->kind == KIND_FLAG && value) {
    return usage_error(cli, "no value is wanted by option", word, NULL);
  }
  if (option->kind != KIND_FLAG && option->kind != KIND_COUNT && !value) {
    if (*i + 1 >= argc) return usage_error(cli, "a value is missing for option", word, NULL);
    value = argv[++*i];
  }
  return set_value(cli, option, value);
}

static hlo_status_t parse_verb(hlo_cli_t* cli, const char* word) {
  hlo_suggestion_t suggestion;
  hlo_suggestion_init(&suggestion, word);
  for (int i = 0; i < HLO_CLI_VERB_COUNT; ++i) {
    if (strcmp(kVerbs[i].name, word) == 0) {
      cli->verb = (hlo_cli_verb_t)i;
      return hlo_ok();
    }
    hlo_suggestion_offer(&suggestion, kVerbs[i].name);
  }
  return usage_error(cli, "unknown verb", word, suggestion.best);
}

static bool is_option(const char* word) {
  return word[0] == '-' && word[1];
}

hlo_status_t hlo_cli_parse(hlo_cli_t* cli, int argc, char** argv) {
  cli->verb = HLO_CLI_VERB_COUNT;
  int i = 1;
  if (i < argc && strcmp(argv[i], "--version") == 0) {
    cli->verb = HLO_CLI_info;
    return hlo_ok();
  }
  if (i < argc && strcmp(argv[i], "help") == 0) {
    cli->help = true;
    ++i;
  }
  if (i >= argc || strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
    cli->help = true;
    return hlo_ok();
  }
  HLO_TRY(parse_verb(cli, argv[i++]));
  for (; i < argc; ++i) {
    if (is_option(argv[i])) {
      HLO_TRY(parse_option(cli, argc, argv, &i));
    } else if (cli->file || kVerbs[cli->verb].operand == OPERAND_NO_FILE) {
      return usage_error(cli, "unexpected word", argv[i], NULL);
    } else {
      cli->file = argv[i];
    }
  }
  if (kVerbs[cli->verb].operand == OPERAND_FILE && !cli->file) cli->file = "-";
  return hlo_ok();
}

// ---- help

static void print_option(const option_t* option, hlo_strbuf_t* out) {
  const char* dashes = option->name[1] ? "--" : "-";
  const char* joint = !*option->value_name         ? ""
                      : option->kind == KIND_COUNT ? "[="
                      : option->name[1]            ? "="
                                                   : " ";
  bool optional = option->kind == KIND_COUNT;
  hlo_strbuf_printf(out, "  %s%s%s%s%s\n      %s\n", dashes, option->name, joint,
                    option->value_name, optional ? "]" : "", option->help);
}

void hlo_cli_help(hlo_cli_verb_t verb, hlo_strbuf_t* out) {
  if (verb == HLO_CLI_VERB_COUNT) {
    hlo_strbuf_puts(out, "usage: hlocc VERB [OPTION]... [FILE]\n\n");
    for (int i = 0; i < HLO_CLI_VERB_COUNT; ++i) {
      hlo_strbuf_printf(out, "  %-10s %s\n", kVerbs[i].name, kVerbs[i].summary);
    }
    hlo_strbuf_puts(out,
                    "\nFILE is MLIR bytecode, StableHLO text, HLO text or an HLO proto; - or "
                    "none is standard input.\n"
                    "hlocc VERB --help lists the options of a verb. Every option of hlocc "
                    "config can be given as --name=value.\n"
                    "Exit status: 0, 1 for a failure, 2 for wrong usage.\n");
    return;
  }
  hlo_strbuf_printf(out, "usage: hlocc %s [OPTION]...%s\n%s\n\n", kVerbs[verb].name,
                    kVerbs[verb].operand != OPERAND_NO_FILE ? " [FILE]" : "", kVerbs[verb].summary);
  for (size_t i = 0; i < OPTION_COUNT; ++i) {
    if (is_taken(&kOptions[i], verb)) print_option(&kOptions[i], out);
  }
  hlo_strbuf_puts(out, "  --help\n      this text\n");
}
