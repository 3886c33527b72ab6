// SPDX-License-Identifier: Apache-2.0
// Measures a machine (see calibrate.h). Every program runs on all virtual devices at one time,
// which share the processor as the devices of a real program do, so a rate is that of one device
// then. A time is the CPU time of the process over its threads, which are all busy: other processes
// do not count.
#include "cli/calibrate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "cli/launch.h"
#include "spmd/topology.h"

enum { REPEATS = 9, DEVICES_DEFAULT = 8, DEVICES_MAX = 64 };

typedef struct bench {
  const hlo_cli_t* cli;
  hlo_client_t* client;
  uint32_t device_count, thread_count;
} bench_t;

static hlo_status_t load(const bench_t* b, const char* text, hlo_cli_launch_t* launch) {
  hlo_compile_config_t config;
  hlo_executable_t* executable = NULL;
  hlo_compile_config_read(&b->cli->config, &b->cli->observer, &config);
  config.replica_count = (int32_t)b->device_count;
  HLO_TRY(hlo_compile(text, strlen(text), "calibrate", &config, NULL, 0, NULL, &executable));
  hlo_status_t status = hlo_cli_launch_init(launch, b->client, executable);
  hlo_executable_release(executable);
  return status;
}

static hlo_status_t make_arguments(hlo_cli_launch_t* launch) {
  for (uint32_t d = 0; d < launch->device_count; ++d) {
    for (uint32_t i = 0; i < launch->executable->argument_count; ++i) {
      HLO_TRY(hlo_cli_launch_set(launch, d, i, NULL));
    }
  }
  return hlo_ok();
}

static hlo_status_t run_once(hlo_cli_launch_t* launch) {
  hlo_status_t status = hlo_cli_launch_run(launch);
  hlo_cli_launch_drop_results(launch);
  return status;
}

static int compare_times(const void* a, const void* b) {
  const uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return (x > y) - (x < y);
}

// Returns the median time of a program, which long programs take, too: not every run is lucky.
static hlo_status_t measure(const bench_t* b, const char* text, double* out_ns) {
  uint64_t times[REPEATS] = {0};
  hlo_cli_launch_t launch = {0};
  hlo_status_t status = load(b, text, &launch);
  if (hlo_status_is_ok(status)) status = make_arguments(&launch);
  if (hlo_status_is_ok(status)) status = run_once(&launch);
  for (int i = 0; i < REPEATS && hlo_status_is_ok(status); ++i) {
    const uint64_t begin = hlo_os_process_ns();
    status = run_once(&launch);
    times[i] = hlo_os_process_ns() - begin;
  }
  hlo_cli_launch_deinit(&launch);
  qsort(times, REPEATS, sizeof *times, compare_times);
  *out_ns = (double)times[REPEATS / 2] / b->thread_count;
  return status;
}

// ---- programs

// A loop of `times` iterations over a value "%v" of a type; `body` defines "%w" from it. The
// compiler does not know how many, lest it computes several iterations in one.
static void write_loop(hlo_strbuf_t* out, const char* type, uint32_t times, const char* body) {
  hlo_strbuf_printf(
      out,
      "func.func @main(%%x: %s, %%none: tensor<i32>) -> %s {\n"
      "  %%zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %%one = stablehlo.constant dense<1> : tensor<i32>\n"
      "  %%known = stablehlo.constant dense<%u> : tensor<i32>\n"
      "  %%times = stablehlo.add %%known, %%none : tensor<i32>\n"
      "  %%r:2 = stablehlo.while(%%i = %%zero, %%v = %%x) : tensor<i32>, %s\n  cond {\n"
      "    %%c = stablehlo.compare LT, %%i, %%times : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "    stablehlo.return %%c : tensor<i1>\n  } do {\n%s"
      "    %%j = stablehlo.add %%i, %%one : tensor<i32>\n"
      "    stablehlo.return %%j, %%w : tensor<i32>, %s\n  }\n  return %%r#1 : %s\n}\n",
      type, type, times, type, body, type, type);
}

// Measures what an iteration takes, without what a launch takes: long loops less short ones.
static hlo_status_t measure_iteration(const bench_t* b, const char* type, uint32_t times,
                                      const char* body, double* out_ns) {
  HLO_SCOPED_STRBUF few = {0}, many = {0};
  double short_ns, long_ns;
  write_loop(&few, type, times, body);
  write_loop(&many, type, 3 * times, body);
  HLO_TRY(hlo_strbuf_status(&many));
  HLO_TRY(measure(b, hlo_strbuf_text(&few), &short_ns));
  HLO_TRY(measure(b, hlo_strbuf_text(&many), &long_ns));
  const double ns = (long_ns - short_ns) / (2 * times);
  *out_ns = ns > 1 ? ns : 1;
  return hlo_ok();
}

#define PRODUCT_TYPE "tensor<256x256xf32>"
#define LARGE_TYPE "tensor<1048576xf32>"
#define HUGE_TYPE "tensor<8388608xf32>"  // past all caches
#define SMALL_TYPE "tensor<1024xf32>"
#define SUM(type)                                                                            \
  "    %w = \"stablehlo.all_reduce\"(%v) ({\n    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"  \
  "      %s = stablehlo.add %a, %b : tensor<f32>\n      stablehlo.return %s : tensor<f32>\n" \
  "    }) {replica_groups = dense<> : tensor<0x0xi64>} : (" type ") -> " type "\n"

typedef struct iterations {
  double product_ns, sine_ns, move_ns, launch_ns, sum_ns, small_sum_ns;
} iterations_t;

static hlo_status_t measure_all(const bench_t* b, iterations_t* t) {
  HLO_TRY(measure_iteration(b, PRODUCT_TYPE, 4,
                            "    %w = stablehlo.dot_general %v, %v, contracting_dims = [1] x [0] : "
                            "(" PRODUCT_TYPE ", " PRODUCT_TYPE ") -> " PRODUCT_TYPE "\n",
                            &t->product_ns));
  HLO_TRY(measure_iteration(b, SMALL_TYPE, 200,
                            "    %u = stablehlo.exponential %v : " SMALL_TYPE
                            "\n    %w = stablehlo.tanh %u : " SMALL_TYPE "\n",
                            &t->sine_ns));
  HLO_TRY(measure_iteration(b, HUGE_TYPE, 2, "    %w = stablehlo.add %v, %v : " HUGE_TYPE "\n",
                            &t->move_ns));
  HLO_TRY(measure_iteration(b, "tensor<16xf32>", 400,
                            "    %w = stablehlo.reverse %v, dims = [0] : tensor<16xf32>\n",
                            &t->launch_ns));
  HLO_TRY(measure_iteration(b, LARGE_TYPE, 4, SUM(LARGE_TYPE), &t->sum_ns));
  return measure_iteration(b, "tensor<16xf32>", 100, SUM("tensor<16xf32>"), &t->small_sum_ns);
}

static void describe(const bench_t* b, const iterations_t* t, hlo_schedule_machine_t* machine) {
  const double rows = 256, small = 1024, large = 1 << 20, huge = 1 << 23, width = 4,
               devices = b->device_count;
  const double phases = 2, sent = phases * large * width * (devices - 1) / devices;
  double steps = 0;
  for (uint32_t reached = 1; reached < b->device_count; reached *= 2) ++steps;
  const double latency_ns = t->small_sum_ns / (phases * (steps > 0 ? steps : 1));
  const double sum_ns = t->sum_ns > 2 * t->small_sum_ns ? t->sum_ns - t->small_sum_ns : t->sum_ns;
  // A product takes the time of its memory accesses besides (hlo_schedule_machine_op_ns()).
  const double memory_bytes_per_ns = 2 * huge * width / t->move_ns;
  const double accesses_ns = 3 * rows * rows * width / memory_bytes_per_ns;
  const double product_ns =
      t->product_ns > 2 * accesses_ns ? t->product_ns - accesses_ns : t->product_ns;
  *machine = (hlo_schedule_machine_t){
      .name = "measured",
      .flops_per_ns = 2 * rows * rows * rows / product_ns,
      .functions_per_ns = 2 * small / t->sine_ns,
      .memory_bytes_per_ns = memory_bytes_per_ns,
      .launch_ns = t->launch_ns,
      .level_count = 1,
      .levels = {{.name = "process",
                  .link_bytes_per_ns = sent > 0 ? sent / sum_ns : large * width / sum_ns,
                  .latency_ns = latency_ns}}};
}

hlo_status_t hlo_cli_calibrate(const hlo_cli_t* cli, hlo_strbuf_t* out) {
  bench_t b = {.cli = cli};
  b.device_count = cli->device_count ? (uint32_t)cli->device_count : DEVICES_DEFAULT;
  if (cli->device_count > DEVICES_MAX) {
    return hlo_invalid_argument("--device-count=%lld, expected at most %d",
                                (long long)cli->device_count, DEVICES_MAX);
  }
  hlo_client_options_t options;
  hlo_client_options_read(&cli->config, &cli->observer, &options);
  options.device_count = b.device_count;
  b.thread_count = options.thread_count ? options.thread_count : hlo_os_usable_cpu_count();
  HLO_TRY(hlo_client_create(&options, &b.client));
  iterations_t t;
  hlo_schedule_machine_t machine;
  hlo_status_t status = measure_all(&b, &t);
  hlo_client_release(b.client);
  HLO_TRY(status);
  describe(&b, &t, &machine);
  hlo_strbuf_printf(out, "# one of %u virtual devices of this process, all busy\n", b.device_count);
  hlo_schedule_machine_print(&machine, out);
  return hlo_strbuf_status(out);
}
