// SPDX-License-Identifier: Apache-2.0
// One call of a tool: from arguments to a verb or the help, its output on standard output, its
// error on standard error.
#include "cli/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/suggest.h"
#include "compiler/cache.h"
#include "frontend/frontend.h"
#include "ir/infer.h"
#include "ir/print.h"

// ---- arguments, by the tool's tables of verbs and options

enum { DEFAULT_COUNT = 10 };

static bool is_taken(const hlo_cli_tool_t* tool, const hlo_cli_option_t* option,
                     const hlo_cli_verb_t* verb) {
  return option->verbs >> (verb - tool->verbs) & 1;
}

// ---- values

static hlo_status_t usage_error(const hlo_cli_t* cli, const char* what, const char* word,
                                const char* closest) {
  const char* verb = cli->verb ? cli->verb->name : NULL;
  return hlo_invalid_argument("%s '%s'%s%s%s; see %s %s%s--help", what, word,
                              closest ? ", did you mean '" : "", closest ? closest : "",
                              closest ? "'?" : "", cli->tool->name, verb ? verb : "",
                              verb ? " " : "");
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

static hlo_status_t set_value(hlo_cli_t* cli, const hlo_cli_option_t* option, const char* value) {
  void* member = (char*)cli + option->offset;
  switch (option->kind) {
    case HLO_CLI_FLAG: *(bool*)member = true; return hlo_ok();
    case HLO_CLI_TEXT: *(const char**)member = value; return hlo_ok();
    case HLO_CLI_LIST: return append(cli, member, value);
    case HLO_CLI_NUMBER:
    case HLO_CLI_COUNT: break;
  }
  char* end = NULL;
  long long count = value ? strtoll(value, &end, 10) : DEFAULT_COUNT;
  if (value && (end == value || *end || count < 1)) {
    return hlo_invalid_argument("option --%s needs a positive number, found '%s'", option->name,
                                value);
  }
  *(int64_t*)member = count;
  return hlo_ok();
}

// ---- words

// Returns the name of an option without dashes and with '_' replaced by '-', so that options of the
// tool and of the library compare equal.
static const char* plain_name(hlo_cli_t* cli, const char* word, size_t length, char separator) {
  char* name = hlo_arena_strndup(&cli->arena, word, length);
  for (char* c = name; c && *c; ++c) {
    if (*c == '-' || *c == '_') *c = separator;
  }
  return name ? name : "";
}

static const hlo_cli_option_t* find_option(const hlo_cli_t* cli, const char* name) {
  for (size_t i = 0; i < cli->tool->option_count; ++i) {
    const hlo_cli_option_t* option = &cli->tool->options[i];
    if (is_taken(cli->tool, option, cli->verb) && strcmp(option->name, name) == 0) return option;
  }
  return NULL;
}

static hlo_status_t unknown_option(hlo_cli_t* cli, const char* word, const char* name) {
  hlo_suggestion_t suggestion;
  hlo_suggestion_init(&suggestion, name);
  hlo_suggestion_offer(&suggestion, "help");
  for (size_t i = 0; i < cli->tool->option_count; ++i) {
    const hlo_cli_option_t* option = &cli->tool->options[i];
    if (is_taken(cli->tool, option, cli->verb)) hlo_suggestion_offer(&suggestion, option->name);
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

// Sets an option of the library: --num-threads=4. Sets *out_known to false for an unknown name.
static hlo_status_t set_config(hlo_cli_t* cli, const char* name, const char* value,
                               bool* out_known) {
  const char* config_name = plain_name(cli, name, strlen(name), '_');
  *out_known = false;
  for (int i = 0; i < HLO_CONFIG_COUNT; ++i) {
    const hlo_config_info_t* info = hlo_config_info((hlo_config_index_t)i);
    if (strcmp(info->name, config_name) != 0) continue;
    *out_known = true;
    if (!value && info->kind == HLO_CONFIG_KIND_BOOL) value = "1";
    if (!value) return usage_error(cli, "missing value of option", name, NULL);
    return hlo_config_set(&cli->config, info->name, value, HLO_CONFIG_SOURCE_OPTION);
  }
  return hlo_ok();
}

// Parses one option at argv[*i]; its value may be the next word.
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
  const hlo_cli_option_t* option = find_option(cli, name);
  if (!option) {
    bool known;
    HLO_TRY(set_config(cli, name, value, &known));
    return known ? hlo_ok() : unknown_option(cli, word, name);
  }
  if (option->kind == HLO_CLI_FLAG && value) {
    return usage_error(cli, "unexpected value of option", word, NULL);
  }
  if (option->kind != HLO_CLI_FLAG && option->kind != HLO_CLI_COUNT && !value) {
    if (*i + 1 >= argc) return usage_error(cli, "missing value of option", word, NULL);
    value = argv[++*i];
  }
  return set_value(cli, option, value);
}

static const hlo_cli_verb_t* find_verb(const hlo_cli_tool_t* tool, const char* name) {
  for (size_t i = 0; i < tool->verb_count; ++i) {
    if (strcmp(tool->verbs[i].name, name) == 0) return &tool->verbs[i];
  }
  return NULL;
}

static hlo_status_t parse_verb(hlo_cli_t* cli, const char* word) {
  hlo_suggestion_t suggestion;
  hlo_suggestion_init(&suggestion, word);
  cli->verb = find_verb(cli->tool, word);
  if (cli->verb) return hlo_ok();
  for (size_t i = 0; i < cli->tool->verb_count; ++i) {
    hlo_suggestion_offer(&suggestion, cli->tool->verbs[i].name);
  }
  return usage_error(cli, "unknown verb", word, suggestion.best);
}

static bool is_option(const char* word) {
  return word[0] == '-' && word[1];
}

// Parses the arguments after the program's name. errors: INVALID_ARGUMENT for wrong usage, with a
// suggestion.
static hlo_status_t parse_arguments(hlo_cli_t* cli, int argc, char** argv) {
  int i = 1;
  if (i < argc &&
      strcmp(argv[i], "--version") == 0) {  // tools without the verb info have no version
    cli->verb = find_verb(cli->tool, "info");
    if (cli->verb) return hlo_ok();
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
    } else if (cli->file || cli->verb->operand == HLO_CLI_NO_FILE) {
      return usage_error(cli, "unexpected word", argv[i], NULL);
    } else {
      cli->file = argv[i];
    }
  }
  if (cli->verb->operand == HLO_CLI_FILE && !cli->file) cli->file = "-";
  return hlo_ok();
}

// ---- help

static void print_option(const hlo_cli_option_t* option, hlo_strbuf_t* out) {
  const char* dashes = option->name[1] ? "--" : "-";
  const char* joint = !*option->value_name            ? ""
                      : option->kind == HLO_CLI_COUNT ? "[="
                      : option->name[1]               ? "="
                                                      : " ";
  bool optional = option->kind == HLO_CLI_COUNT;
  hlo_strbuf_printf(out, "  %s%s%s%s%s\n      %s\n", dashes, option->name, joint,
                    option->value_name, optional ? "]" : "", option->help);
}

static void print_tool(const hlo_cli_tool_t* tool, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "usage: %s VERB [OPTION]... [FILE]\n\n", tool->name);
  for (size_t i = 0; i < tool->verb_count; ++i) {
    hlo_strbuf_printf(out, "  %-10s %s\n", tool->verbs[i].name, tool->verbs[i].summary);
  }
  hlo_strbuf_printf(
      out,
      "\nFILE is MLIR bytecode, StableHLO text, HLO text or an HLO proto; - or no file "
      "means standard input.\n"
      "%s VERB --help lists the options of a verb. Every option of hlocc "
      "config can be given as --name=value.\n"
      "Exit status: 0, 1 for a failure, 2 for wrong usage.\n",
      tool->name);
}

// Prints the text of --help for one verb, or for the tool (verb NULL).
static void print_help(const hlo_cli_tool_t* tool, const hlo_cli_verb_t* verb, hlo_strbuf_t* out) {
  if (!verb) {
    print_tool(tool, out);
    return;
  }
  hlo_strbuf_printf(out, "usage: %s %s [OPTION]...%s\n%s\n\n", tool->name, verb->name,
                    verb->operand != HLO_CLI_NO_FILE ? " [FILE]" : "", verb->summary);
  for (size_t i = 0; i < tool->option_count; ++i) {
    const hlo_cli_option_t* option = &tool->options[i];
    if (is_taken(tool, option, verb)) print_option(option, out);
  }
  hlo_strbuf_puts(out, "  --help\n      print this text\n");
}

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

// Returns the length of "file:line:col: " at the beginning of a message; 0 without a location.
static size_t place_length(const char* message) {
  const char* end = strstr(message, ": ");
  const char* at = end;
  for (int numbers = 0; at && numbers < 2; ++numbers) {
    const char* after = at;
    while (at > message && isdigit((unsigned char)at[-1])) --at;
    if (at == after || at == message || at[-1] != ':') return 0;
    --at;
  }
  return end ? (size_t)(end - message) + 2 : 0;
}

// Faults of the front end have this form already: "model.mlir:3:7: error: message".
static void print_error(const hlo_cli_t* cli, hlo_status_t status) {
  const char* message = hlo_status_message(status);
  size_t place = place_length(message);
  if (strstr(message, "error: ")) {
    fprintf(stderr, "%s\n", message);
  } else if (place) {
    fprintf(stderr, "%.*serror: %s\n", (int)place, message, message + place);
  } else {
    fprintf(stderr, "%s: error: %s\n", cli->tool->name, message);
  }
}

static int finish(const hlo_cli_t* cli, hlo_status_t status, int failure) {
  if (hlo_status_is_ok(status)) return EXIT_OK;
  print_error(cli, status);
  hlo_status_release(status);
  return failure;
}

static hlo_status_t flush(void) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return hlo_ok();
  return hlo_status_create(HLO_STATUS_DATA_LOSS, "cannot write to standard output");
}

void hlo_cli_write(const char* text, size_t length) {
  fwrite(text, 1, length, stdout);
}

// Reads the options of the environment; warnings have the form of log lines.
static hlo_status_t read_environment(hlo_cli_t* cli) {
  HLO_SCOPED_STRBUF warnings = {0};
  hlo_status_t status = hlo_config_init(&cli->config, NULL, &warnings);
  for (const char* line = hlo_strbuf_text(&warnings); *line;) {
    size_t length = strcspn(line, "\n");
    fprintf(stderr, "%s warn: %.*s\n", cli->tool->name, (int)length, line);
    line += length + (line[length] == '\n');
  }
  return status;
}

static int call(hlo_cli_t* cli, int argc, char** argv) {
  HLO_SCOPED_STRBUF out = {0};
  hlo_status_t status = read_environment(cli);
  if (hlo_status_is_ok(status)) status = parse_arguments(cli, argc, argv);
  if (hlo_status_is_ok(status)) status = hlo_observer_init(&cli->config, &cli->observer);
  if (!hlo_status_is_ok(status)) return finish(cli, status, EXIT_USAGE);
  hlo_observer_start(&cli->config, &cli->observer);
  if (*cli->config.cache_dir || cli->config.tune || *cli->config.tune_force) {
    status = hlo_compile_cache_create(&cli->config, &cli->observer.log, &cli->cache);
  }
  if (cli->help) {
    print_help(cli->tool, cli->verb, &out);
  } else if (hlo_status_is_ok(status)) {
    status = cli->verb->run(cli, &out);
  }
  if (hlo_status_is_ok(status)) status = hlo_strbuf_status(&out);
  if (!cli->save || cli->help) {
    hlo_cli_write(hlo_strbuf_text(&out), out.length);
  } else if (hlo_status_is_ok(status)) {
    status = hlo_os_file_write(cli->save, hlo_strbuf_text(&out), out.length);
  }
  if (hlo_status_is_ok(status)) status = flush();
  return finish(cli, status, EXIT_FAILED);
}

int hlo_cli_main(const hlo_cli_tool_t* tool, hlo_cli_t* cli, int argc, char** argv) {
  cli->tool = tool;
  hlo_arena_init(&cli->arena, 0);
  int exit_status = call(cli, argc, argv);
  hlo_compile_cache_release(cli->cache);
  hlo_observer_deinit(&cli->observer);
  hlo_config_deinit(&cli->config);
  hlo_arena_deinit(&cli->arena);
  return exit_status;
}

// ---- shared by verbs

hlo_status_t hlo_cli_open(const hlo_cli_t* cli, hlo_cli_source_t* source) {
  *source = (hlo_cli_source_t){.name = strcmp(cli->file, "-") == 0 ? "<stdin>" : cli->file};
  HLO_TRY(hlo_os_file_read(cli->file, 0, &source->bytes, &source->size_bytes));
  hlo_format_t format = hlo_frontend_sniff(source->bytes, source->size_bytes);
  bool is_text = format == HLO_FORMAT_MLIR_TEXT || format == HLO_FORMAT_HLO_TEXT;
  hlo_diag_init(&source->diag, source->name, is_text ? (const char*)source->bytes : NULL,
                is_text ? source->size_bytes : 0);
  return hlo_ok();
}

void hlo_cli_close(hlo_cli_source_t* source) {
  hlo_diag_deinit(&source->diag);
  hlo_mem_free(source->bytes);
}

hlo_status_t hlo_cli_reported(const hlo_cli_source_t* source, hlo_status_t status) {
  hlo_status_t all = hlo_diag_status(&source->diag);
  if (hlo_status_is_ok(all)) return status;
  hlo_status_t result = hlo_status_create(hlo_status_code(status), "%s", hlo_status_message(all));
  hlo_status_release(all);
  hlo_status_release(status);
  return result;
}

hlo_status_t hlo_cli_elided(const hlo_cli_t* cli, hlo_elided_t* out_elided) {
  const char* value = cli->elided_constants;
  *out_elided = HLO_ELIDED_REFUSED;
  if (!value) return hlo_ok();
  if (strcmp(value, "zero") != 0 && strcmp(value, "random") != 0) {
    return hlo_invalid_argument("unknown --elided-constants=%s, expected zero or random", value);
  }
  *out_elided = *value == 'z' ? HLO_ELIDED_ZERO : HLO_ELIDED_RANDOM;
  return hlo_ok();
}

hlo_status_t hlo_cli_load(const hlo_cli_t* cli, hlo_module_t** out_module) {
  hlo_frontend_options_t options = {0};
  HLO_TRY(hlo_cli_elided(cli, &options.elided));
  hlo_cli_source_t source;
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_cli_open(cli, &source);
  uint64_t begin = hlo_trace_begin();
  if (hlo_status_is_ok(status)) {
    status = hlo_frontend_load(source.bytes, source.size_bytes, source.name, &options, &source.diag,
                               &module);
  }
  hlo_trace_end(cli->observer.trace, begin, "compile", "frontend", source.name);
  if (hlo_status_is_ok(status)) status = hlo_module_verify(module, &source.diag);
  if (hlo_status_is_ok(status)) {
    *out_module = module;
  } else {
    status = hlo_cli_reported(&source, status);
    hlo_module_release(module);
  }
  hlo_cli_close(&source);
  return status;
}

hlo_status_t hlo_cli_env(const hlo_cli_t* cli, bool may_be_absent, hlo_env_t* out_env) {
  hlo_cpu_t cpu;
  HLO_TRY(may_be_absent ? hlo_cpu_find(cli->config.cpu, &cpu)
                        : hlo_cpu_detect(cli->config.cpu, &cpu));
  *out_env = hlo_env_of_cpu((hlo_subnormals_t)cli->config.subnormals, &cpu);
  return hlo_ok();
}

hlo_status_t hlo_cli_print(const hlo_cli_t* cli, const hlo_module_t* module, hlo_strbuf_t* out) {
  hlo_print_options_t options = {
      .locations = cli->locations, .generic = cli->generic, .elide_literals_above = cli->elide};
  hlo_print_module(module, &options, out);
  return hlo_strbuf_status(out);
}

// ---- times

static int compare_times(const void* a, const void* b) {
  uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return (x > y) - (x < y);
}

hlo_status_t hlo_cli_wrong_input_count(const hlo_cli_t* cli, const char* what, uint32_t expected) {
  const uint32_t given = cli->input.count;
  return hlo_invalid_argument("%s: error: %s has %u input%s, but %u %s given%s", cli->file, what,
                              expected, expected == 1 ? "" : "s", given, given == 1 ? "is" : "are",
                              given < expected ? ": use --input for each, or --random" : "");
}

hlo_status_t hlo_cli_bench(const hlo_cli_t* cli, const char* name,
                           hlo_status_t (*run)(void* context), void* context, hlo_strbuf_t* out) {
  size_t count = (size_t)cli->bench;
  size_t bytes;
  if (!hlo_size_mul(count, sizeof(uint64_t), &bytes)) return hlo_status_out_of_memory(SIZE_MAX);
  uint64_t* times = hlo_mem_alloc(bytes);
  if (!times) return hlo_status_out_of_memory(bytes);
  hlo_status_t status = hlo_ok();
  uint64_t total = 0;
  for (size_t i = 0; i < count && hlo_status_is_ok(status); ++i) {
    uint64_t start = hlo_os_now_ns();
    status = run(context);
    times[i] = hlo_os_now_ns() - start;
    total += times[i];
  }
  if (hlo_status_is_ok(status)) {
    qsort(times, count, sizeof *times, compare_times);
    hlo_strbuf_printf(out,
                      "@%s: %zu runs, least %.3f ms, median %.3f ms, mean %.3f ms, most %.3f ms\n",
                      name, count, (double)times[0] / 1e6, (double)times[count / 2] / 1e6,
                      (double)total / (double)count / 1e6, (double)times[count - 1] / 1e6);
  }
  hlo_mem_free(times);
  return status;
}
