// SPDX-License-Identifier: Apache-2.0
// Command-line tools: tables of verbs and options, and a function for each verb. The tools are
// hlocc and hlocc-dev (dev/dev.h).
#pragma once

#include "base/config.h"
#include "base/diag.h"
#include "base/mem.h"
#include "base/observer.h"
#include "base/status.h"
#include "codegen/target/target.h"
#include "ir/module.h"

/// The values of a repeated option, in order.
typedef struct hlo_cli_list {
  const char** items;
  uint32_t count;
} hlo_cli_list_t;

#define HLO_CLI_TYPE_FLAG bool
#define HLO_CLI_TYPE_TEXT const char*
#define HLO_CLI_TYPE_LIST hlo_cli_list_t
#define HLO_CLI_TYPE_NUMBER int64_t
#define HLO_CLI_TYPE_COUNT int64_t

typedef enum hlo_cli_kind {
  HLO_CLI_FLAG,
  HLO_CLI_TEXT,
  HLO_CLI_LIST,
  HLO_CLI_NUMBER,
  HLO_CLI_COUNT
} hlo_cli_kind_t;
typedef enum hlo_cli_operand {
  HLO_CLI_NO_FILE,
  HLO_CLI_FILE,
  HLO_CLI_MAY_HAVE_FILE
} hlo_cli_operand_t;

struct hlo_cli;

/// A verb. `run` appends the output to `out`, which is written when it has returned.
typedef struct hlo_cli_verb {
  const char* name;
  hlo_cli_operand_t operand;
  const char* summary;
  hlo_status_t (*run)(struct hlo_cli* cli, hlo_strbuf_t* out);
} hlo_cli_verb_t;

typedef struct hlo_cli_option {
  const char* name;
  hlo_cli_kind_t kind;
  unsigned verbs;  // a bit for each of the tool's verbs
  const char* value_name;
  const char* help;
  size_t offset;  // of the member in the tool's struct
} hlo_cli_option_t;

/// A tool. threads: immutable.
typedef struct hlo_cli_tool {
  const char* name;
  const hlo_cli_verb_t* verbs;
  size_t verb_count;
  const hlo_cli_option_t* options;
  size_t option_count;
} hlo_cli_tool_t;

extern const hlo_cli_tool_t hlo_cli_hlocc;

/// One call of a tool. A tool with further options has a struct that begins with this one. Options
/// that are not given are zero. Strings point into argv.
/// owner: hlo_cli_main(). threads: confined.
typedef struct hlo_cli {
  const hlo_cli_tool_t* tool;
  const hlo_cli_verb_t* verb;  // NULL: no verb
  bool help;
  const char* file;  // operand; NULL: no file
#define HLO_CLI_OPTION(member, name, kind, ...) HLO_CLI_TYPE_##kind member;
#include "cli/options.def"
#undef HLO_CLI_OPTION
  hlo_config_t config;  // from the environment, then --name=value of src/base/config.def
  hlo_observer_t observer;
  struct hlo_compile_cache* cache;  // NULL without a cache_dir and with tune=off
  hlo_arena_t arena;
} hlo_cli_t;

/// Runs a tool and returns the exit status of the process: 0, 1 for a failure (reported on standard
/// error with its location), 2 for wrong usage. The struct that `cli` begins must be zero.
int hlo_cli_main(const hlo_cli_tool_t* tool, hlo_cli_t* cli, int argc, char** argv);

/// The verbs of hlocc.
#define HLO_CLI_VERB(verb, ...) \
  hlo_status_t hlo_cli_cmd_##verb(hlo_cli_t* cli, hlo_strbuf_t* out) HLO_MUST_USE;
#include "cli/verbs.def"
#undef HLO_CLI_VERB

// ---- shared by verbs

/// Prints the output of hlocc info.
void hlo_cli_print_machine(const hlo_cli_t* cli, const hlo_cpu_t* cpu, const hlo_target_t* target,
                           hlo_strbuf_t* out);

/// Prints the output of hlocc info --pc.
hlo_status_t hlo_cli_print_location(hlo_cli_t* cli, hlo_strbuf_t* out) HLO_MUST_USE;

/// Returns true if cli->file is a kernel of Tile IR, FILE.tile, for which the verbs below stand in.
bool hlo_cli_has_tile(const hlo_cli_t* cli);
hlo_status_t hlo_cli_run_tile(hlo_cli_t* cli, hlo_strbuf_t* out) HLO_MUST_USE;
hlo_status_t hlo_cli_check_tile(hlo_cli_t* cli, hlo_strbuf_t* out) HLO_MUST_USE;
/// Prints the kernel with the layouts that inference gives its values.
hlo_status_t hlo_cli_opt_tile(hlo_cli_t* cli, hlo_strbuf_t* out) HLO_MUST_USE;
hlo_status_t hlo_cli_compile_tile(hlo_cli_t* cli, hlo_strbuf_t* out) HLO_MUST_USE;

/// Runs something cli->bench times and prints the times after `name`. errors: those of `run`,
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_cli_bench(const hlo_cli_t* cli, const char* name,
                           hlo_status_t (*run)(void* context), void* context,
                           hlo_strbuf_t* out) HLO_MUST_USE;

/// Returns INVALID_ARGUMENT: what runs has `expected` inputs, of which --input gives another
/// number.
hlo_status_t hlo_cli_wrong_input_count(const hlo_cli_t* cli, const char* what,
                                       uint32_t expected) HLO_MUST_USE;

/// The bytes of cli->file, and their faults.
/// owner: caller, hlo_cli_close() (also after a failure)
typedef struct hlo_cli_source {
  const char* name;  // "<stdin>" for "-"
  uint8_t* bytes;
  size_t size_bytes;
  hlo_diag_t diag;
} hlo_cli_source_t;

hlo_status_t hlo_cli_open(const hlo_cli_t* cli, hlo_cli_source_t* source) HLO_MUST_USE;
void hlo_cli_close(hlo_cli_source_t* source);
/// Replaces the message of `status` (taken) by all faults of the source with their locations.
hlo_status_t hlo_cli_reported(const hlo_cli_source_t* source, hlo_status_t status) HLO_MUST_USE;
/// Parses --elided-constants. errors: INVALID_ARGUMENT
hlo_status_t hlo_cli_elided(const hlo_cli_t* cli, hlo_elided_t* out_elided) HLO_MUST_USE;
/// Reads and verifies cli->file. The status has all faults with their locations.
/// owner: caller, hlo_module_release()
hlo_status_t hlo_cli_load(const hlo_cli_t* cli, hlo_module_t** out_module) HLO_MUST_USE;
/// Returns the environment that the options request. may_be_absent: the processor may lack
/// features, since only constant folding runs in the environment. errors: those of hlo_cpu_detect()
hlo_status_t hlo_cli_env(const hlo_cli_t* cli, bool may_be_absent, hlo_env_t* out_env) HLO_MUST_USE;
/// Prints the module by the options that printing verbs share.
hlo_status_t hlo_cli_print(const hlo_cli_t* cli, const hlo_module_t* module,
                           hlo_strbuf_t* out) HLO_MUST_USE;
/// Writes to standard output at once (for long runs). Failures are reported when the process ends.
void hlo_cli_write(const char* text, size_t length);
