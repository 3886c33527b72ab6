// SPDX-License-Identifier: Apache-2.0
// hlocc simulate: the step of a program over many devices by a cost model, and the cost model of
// this machine.
#include "base/mem.h"
#include "base/os.h"
#include "cli/calibrate.h"
#include "cli/cli.h"
#include "passes/pipeline.h"
#include "spmd/passes.h"
#include "spmd/simulate.h"

// The times of a simulation and of the steps before it.
typedef struct times {
  double partition_ms, optimise_ms, simulate_ms;
} times_t;

static double ms_since(uint64_t* begin_ns) {
  const uint64_t now = hlo_os_now_ns();
  const double ns_per_ms = 1e6, ms = (double)(now - *begin_ns) / ns_per_ms;
  *begin_ns = now;
  return ms;
}

// Finds the machine of a name, else reads a file.
static hlo_status_t find_machine(hlo_cli_t* cli, hlo_schedule_machine_t* out_machine) {
  const char* name = cli->topology ? cli->topology : "cluster";
  if (hlo_schedule_machine(name, out_machine)) return hlo_ok();
  uint8_t* bytes = NULL;
  size_t size_bytes = 0;
  HLO_TRY_MSG(hlo_os_file_read(name, 0, &bytes, &size_bytes),
              "'%s' is neither a machine (host, node, cluster, tree, torus) nor a file", name);
  const char* text = hlo_arena_strndup(&cli->arena, (const char*)bytes, size_bytes);
  hlo_mem_free(bytes);
  if (!text) return hlo_arena_status(&cli->arena);
  return hlo_schedule_machine_parse(text, &cli->arena, out_machine);
}

static hlo_status_t run_stages(const hlo_cli_t* cli, hlo_module_t* module, hlo_stage_t stage) {
  hlo_env_t env;
  HLO_TRY(hlo_cli_env(cli, true, &env));
  const hlo_stage_options_t options = {
      .partition_count = (int32_t)hlo_module_process_counts(module).partitions,
      .partition = hlo_spmd_partition_list,
      .passes = {.env = &env, .trace = cli->observer.trace}};
  return hlo_stages_run(module, stage, stage, &options);
}

static hlo_status_t simulate(hlo_cli_t* cli, hlo_module_t* module, hlo_strbuf_t* out) {
  hlo_schedule_options_t options;
  hlo_traffic_mesh_t mesh;
  hlo_simulation_t simulation;
  times_t times;
  HLO_TRY(hlo_schedule_options_parse(NULL, &options));
  options.is_fused = true;
  HLO_TRY(find_machine(cli, &options.machine));
  HLO_TRY(hlo_traffic_mesh_read(module, hlo_module_process_counts(module).partitions, &cli->arena,
                                &mesh));
  uint64_t begin_ns = hlo_os_now_ns();
  HLO_TRY(run_stages(cli, module, HLO_STAGE_IMPORT));
  times.partition_ms = ms_since(&begin_ns);
  HLO_TRY(run_stages(cli, module, HLO_STAGE_OPTIMISE));
  times.optimise_ms = ms_since(&begin_ns);
  HLO_TRY(hlo_simulate(module, &options, &mesh, &cli->arena, &simulation));
  times.simulate_ms = ms_since(&begin_ns);
  hlo_simulation_print(&simulation, out);
  hlo_strbuf_printf(out,
                    "\npartitioned in %.3f ms, optimised in %.3f ms, scheduled and simulated in "
                    "%.3f ms\n",
                    times.partition_ms, times.optimise_ms, times.simulate_ms);
  return hlo_strbuf_status(out);
}

hlo_status_t hlo_cli_cmd_simulate(hlo_cli_t* cli, hlo_strbuf_t* out) {
  if (cli->calibrate) {
    if (cli->file) return hlo_invalid_argument("simulate needs either --calibrate or FILE");
    return hlo_cli_calibrate(cli, out);
  }
  if (!cli->file) cli->file = "-";
  hlo_module_t* module = NULL;
  HLO_TRY(hlo_cli_load(cli, &module));
  hlo_status_t status = simulate(cli, module, out);
  hlo_module_release(module);
  return status;
}
