// SPDX-License-Identifier: Apache-2.0
// Verbs about the tool itself: ops, config, info.

#include "base/cpu.h"
#include "base/os.h"
#include "cli/cli.h"
#include "frontend/stablehlo/schema.h"
#include "ir/ops.h"

// ---- ops

static void print_ports(const hlo_port_t* ports, hlo_strbuf_t* out) {
  static const char* const kMarks[] = {
      [HLO_ARITY_ONE] = "", [HLO_ARITY_VAR] = "...", [HLO_ARITY_OPT] = "?"};
  for (const hlo_port_t* port = ports; port->name; ++port) {
    hlo_strbuf_printf(out, "%s%s%s", port == ports ? "" : ", ", port->name, kMarks[port->arity]);
  }
}

static void print_attrs(const hlo_op_info_t* info, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < info->attr_count; ++i) {
    hlo_strbuf_printf(out, "%s%s%s", i ? ", " : "", hlo_attr_name(info->attrs[i].id),
                      info->attrs[i].required ? "" : "?");
  }
}

static void print_traits(const hlo_op_info_t* info, hlo_strbuf_t* out) {
  const char* separator = "";
  for (uint32_t bit = 0; bit < HLO_TRAIT_COUNT; ++bit) {
    if (!(info->traits & (1u << bit))) continue;
    hlo_strbuf_printf(out, "%s%s", separator, hlo_trait_term(bit)->name);
    separator = " ";
  }
}

static void print_terms(hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, "\n## Traits\n\n| trait | meaning |\n|---|---|\n");
  for (uint32_t bit = 0; bit < HLO_TRAIT_COUNT; ++bit) {
    hlo_strbuf_printf(out, "| %s | %s |\n", hlo_trait_term(bit)->name, hlo_trait_term(bit)->doc);
  }
  hlo_strbuf_puts(
      out,
      "\n## Cost classes\n\nEstimates for one evaluation: vector instructions of generated "
      "loops, operations of the interpreter, nanoseconds of one core.\n\n"
      "| class | vector | interpreted | ns | evaluation |\n|---|---|---|---|---|\n");
  for (int i = 0; i < HLO_COST_COUNT; ++i) {
    const hlo_op_cost_info_t* cost = hlo_op_cost_info((hlo_op_cost_t)i);
    hlo_strbuf_printf(out, "| %s | %g | %g | %g | %s |\n", cost->name, cost->vector,
                      cost->interpreted, cost->ns, cost->doc);
  }
}

static void print_op(const hlo_op_info_t* info, bool markdown, hlo_strbuf_t* out) {
  if (!markdown) {
    hlo_strbuf_printf(out, "%-44s (", info->name);
    print_ports(info->operands, out);
    hlo_strbuf_puts(out, ") {");
    print_attrs(info, out);
    hlo_strbuf_puts(out, "} -> (");
    print_ports(info->results, out);
    hlo_strbuf_puts(out, ")\n");
    return;
  }
  hlo_strbuf_printf(out, "| `%s` | %s | ", info->name, info->hlo_name);
  print_ports(info->operands, out);
  hlo_strbuf_puts(out, " | ");
  print_attrs(info, out);
  hlo_strbuf_puts(out, " | ");
  print_ports(info->results, out);
  hlo_strbuf_puts(out, " | ");
  if (info->region_count < 0) {
    hlo_strbuf_puts(out, "any");
  } else if (info->region_count > 0) {
    hlo_strbuf_printf(out, "%d", info->region_count);
  }
  hlo_strbuf_puts(out, " | ");
  print_traits(info, out);
  hlo_strbuf_printf(out, " | %s | %s |\n", hlo_op_cost_info(info->cost)->name, info->doc);
}

hlo_status_t hlo_cli_cmd_ops(hlo_cli_t* cli, hlo_strbuf_t* out) {
  if (cli->markdown) {
    hlo_strbuf_printf(out,
                      "# Operations\n\nWritten by `hlocc ops --markdown` from `src/ir/ops.def`: %d "
                      "operations. `...` may be repeated, `?` is optional.\n\n"
                      "| operation | HLO | operands | attributes | results | regions | traits | "
                      "cost | meaning |\n"
                      "|---|---|---|---|---|---|---|---|---|\n",
                      (int)HLO_OP_COUNT);
  }
  for (int op = 0; op < HLO_OP_COUNT; ++op) print_op(hlo_op_info((hlo_op_t)op), cli->markdown, out);
  if (cli->markdown) print_terms(out);
  return hlo_ok();
}

// ---- config

hlo_status_t hlo_cli_cmd_config(hlo_cli_t* cli, hlo_strbuf_t* out) {
  static const char* const kSources[] = {"default", "XLA_FLAGS", "environment", "option"};
  if (cli->markdown) {
    hlo_strbuf_puts(out,
                    "# Options\n\nWritten by `hlocc config --markdown` from "
                    "`src/base/config.def`. An option is an environment variable, a create "
                    "option of a PJRT client, and `--option=value` of the tool; the later of "
                    "these wins.\n\n");
    hlo_config_print_markdown(out);
    return hlo_ok();
  }
  for (int i = 0; i < HLO_CONFIG_COUNT; ++i) {
    hlo_config_index_t index = (hlo_config_index_t)i;
    const hlo_config_info_t* info = hlo_config_info(index);
    hlo_strbuf_printf(out, "%s=", info->name);
    hlo_config_print_value(&cli->config, index, out);
    hlo_strbuf_printf(out, "  (%s; %s)\n", kSources[cli->config.sources[i]], info->environment);
  }
  return hlo_ok();
}

// ---- info

void hlo_cli_print_machine(const hlo_cli_t* cli, const hlo_cpu_t* cpu, const hlo_target_t* target,
                           hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "hlocc %s\n", HLOCC_VERSION);
  hlo_strbuf_printf(out, "stablehlo: 0.9 to 1.%d\n", HLO_STABLEHLO_MINOR);
  hlo_strbuf_printf(out, "operations: %d\nelement types: %d\n", (int)HLO_OP_COUNT,
                    (int)HLO_DTYPE_COUNT - 1);
  hlo_strbuf_printf(out, "processor: %s\nfeatures: ", cpu->brand[0] ? cpu->brand : "unknown");
  hlo_cpu_describe(cpu, out);
  hlo_strbuf_printf(out, "\ncaches: L1 %u KiB, L2 %u KiB, L3 %u KiB\n", cpu->l1_bytes >> 10,
                    cpu->l2_bytes >> 10, cpu->l3_bytes >> 10);
  uint32_t cores = hlo_os_usable_cpu_count();
  int64_t threads = cli->config.num_threads ? cli->config.num_threads : cores;
  hlo_strbuf_printf(out, "cores: %u\nthreads of a client: %lld\n", cores, (long long)threads);
  hlo_strbuf_printf(out, "memory: %llu MiB\n", (unsigned long long)(hlo_os_memory_bytes() >> 20));
  hlo_strbuf_puts(out, "code is generated for\n");
  hlo_tile_target_print(&target->tile, 6, out);
}

// Prints the table of thresholds, aligned, with a line for each folder.
static void print_tuning(hlo_strbuf_t* out) {
#define HLO_TUNING_AREA(folder) hlo_strbuf_puts(out, folder "\n");
#define HLO_TUNING(name, value, unit, judge, text)                                                 \
  hlo_strbuf_printf(out, "  %-30s %10.10g  %-24s %-13s %s\n", #name, (double)(value), unit, judge, \
                    text);
#define HLO_TUNING_REAL HLO_TUNING
#include "base/tuning.def"
}

hlo_status_t hlo_cli_cmd_info(hlo_cli_t* cli, hlo_strbuf_t* out) {
  if (cli->tuning) {
    print_tuning(out);
    return hlo_ok();
  }
  if (!cli->pc != !cli->file) {
    return hlo_invalid_argument("info needs both --pc=PLACE and FILE, or neither");
  }
  if (cli->pc) return hlo_cli_print_location(cli, out);
  hlo_cpu_t cpu;
  hlo_target_t target;
  HLO_TRY(hlo_cpu_find(cli->config.cpu, &cpu));
  HLO_TRY(hlo_target_find(cli->config.cpu, true, &target));
  hlo_cli_print_machine(cli, &cpu, &target, out);
  return hlo_ok();
}
