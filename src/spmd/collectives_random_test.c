// SPDX-License-Identifier: Apache-2.0
// Random programs of collectives, loops and arithmetic on integers, which are exact in any order:
// random lists of passes change no result of any process.
#include "base/strbuf.h"
#include "spmd/grid_test_util.h"
#include "spmd/passes.h"

enum { PROGRAMS = 300, STATEMENTS = 14, PASSES = 9 };

static uint64_t seed;

// A linear congruential generator: the upper bits of its state.
static uint32_t random_below(uint32_t count) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((seed >> 33) % count);
}

/// Groups of four processes, and the number of one in its group.
static const struct {
  const char *ids, *position;
  uint32_t size;
} kGroups[] = {
    {"dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>", "dense<[0, 1, 2, 3]>", 4},
    {"dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>", "dense<[0, 1, 0, 1]>", 2},
    {"dense<[[2, 0], [1, 3]]> : tensor<2x2xi64>", "dense<[1, 0, 0, 1]>", 2},
    {"dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>", "dense<[0, 0, 0, 0]>", 1},
};

typedef struct writer {
  hlo_strbuf_t* out;
  uint32_t next;    // names of temporaries
  uint32_t values;  // %v0 ... of type tensor<4x4xi32>
} writer_t;

static uint32_t random_group(void) {
  return random_below(sizeof kGroups / sizeof kGroups[0]);
}

// Writes an all_reduce or reduce_scatter by a random op of value `x` to `result`.
static void write_reduction(writer_t* w, const char* op, const char* attr, uint32_t group,
                            const char* result, const char* x, const char* from, const char* to) {
  static const char* const reducers[] = {"add", "add", "maximum", "minimum"};
  const uint32_t n = w->next++;
  hlo_strbuf_printf(w->out,
                    "  %s = \"stablehlo.%s\"(%s) <{%sreplica_groups = %s, channel_handle = "
                    "#stablehlo.channel_handle<handle = %u, type = 1>, use_global_device_ids}> ({\n"
                    "  ^bb0(%%p%u: tensor<i32>, %%q%u: tensor<i32>):\n"
                    "    %%r%u = stablehlo.%s %%p%u, %%q%u : tensor<i32>\n"
                    "    stablehlo.return %%r%u : tensor<i32>\n  }) : (tensor<%s>) -> tensor<%s>\n",
                    result, op, x, attr, kGroups[group].ids, 1 + random_below(3), n, n, n,
                    reducers[random_below(4)], n, n, n, from, to);
}

static void write_gather(writer_t* w, uint32_t group, const char* result, const char* x,
                         const char* from, const char* to) {
  hlo_strbuf_printf(w->out,
                    "  %s = \"stablehlo.all_gather\"(%s) <{all_gather_dim = 0 : i64, "
                    "replica_groups = %s, channel_handle = #stablehlo.channel_handle<handle = 1, "
                    "type = 1>, use_global_device_ids}> : (tensor<%s>) -> tensor<%s>\n",
                    result, x, kGroups[group].ids, from, to);
}

// Writes the slice of a process's own rows, or of another member's, of `x`.
static void write_own_slice(writer_t* w, uint32_t group, const char* result, const char* x,
                            const char* from, const char* to, uint32_t rows) {
  const uint32_t n = w->next++;
  const uint32_t table = random_below(4) ? group : random_group();
  hlo_strbuf_printf(
      w->out,
      "  %%i%u = stablehlo.partition_id : tensor<ui32>\n"
      "  %%t%u = stablehlo.constant %s : tensor<4xi32>\n"
      "  %%e%u = stablehlo.dynamic_slice %%t%u, %%i%u, sizes = [1] : (tensor<4xi32>, "
      "tensor<ui32>) -> tensor<1xi32>\n"
      "  %%k%u = stablehlo.reshape %%e%u : (tensor<1xi32>) -> tensor<i32>\n"
      "  %%w%u = stablehlo.constant dense<%u> : tensor<i32>\n"
      "  %%o%u = stablehlo.multiply %%k%u, %%w%u : tensor<i32>\n"
      "  %%z%u = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %s = stablehlo.dynamic_slice %s, %%o%u, %%z%u, sizes = [%u, 4] : (tensor<%s>, "
      "tensor<i32>, tensor<i32>) -> tensor<%s>\n",
      n, n, kGroups[table].position, n, n, n, n, n, n, rows, n, n, n, n, result, x, n, n, rows,
      from, to);
}

static void write_permute(writer_t* w, const char* result, const char* x) {
  static const char* const pairs[] = {"dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>",
                                      "dense<[[0, 3], [1, 0], [2, 1]]> : tensor<3x2xi64>",
                                      "dense<[[0, 0], [1, 1], [2, 2], [3, 3]]> : tensor<4x2xi64>",
                                      "dense<[[0, 2], [2, 0]]> : tensor<2x2xi64>"};
  hlo_strbuf_printf(w->out,
                    "  %s = \"stablehlo.collective_permute\"(%s) <{source_target_pairs = %s, "
                    "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : "
                    "(tensor<4x4xi32>) -> tensor<4x4xi32>\n",
                    result, x, pairs[random_below(4)]);
}

// Writes a loop that accumulates, and fills a buffer row by row, through collectives.
static void write_loop(writer_t* w, const char* result, const char* x, const char* y) {
  const uint32_t n = w->next++, group = random_group();
  char a[16], b[16], c[16];
  snprintf(a, sizeof a, "%%la%u", n);
  snprintf(b, sizeof b, "%%lb%u", n);
  snprintf(c, sizeof c, "%%lc%u", n);
  hlo_strbuf_printf(
      w->out,
      "  %%z%u = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %%l%u:4 = stablehlo.while(%%i%u = %%z%u, %%x%u = %s, %%a%u = %s, %%b%u = %s) : "
      "tensor<i32>, "
      "tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>\n   cond {\n"
      "    %%n%u = stablehlo.constant dense<%u> : tensor<i32>\n"
      "    %%c%u = stablehlo.compare LT, %%i%u, %%n%u : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "    stablehlo.return %%c%u : tensor<i1>\n  } do {\n"
      "    %%o%u = stablehlo.constant dense<1> : tensor<i32>\n"
      "    %%j%u = stablehlo.add %%i%u, %%o%u : tensor<i32>\n"
      "    %%d%u = stablehlo.dynamic_slice %s, %%i%u, %%z%u, sizes = [1, 4] : (tensor<4x4xi32>, "
      "tensor<i32>, tensor<i32>) -> tensor<1x4xi32>\n"
      "    %%m%u = stablehlo.multiply %%d%u, %%d%u : tensor<1x4xi32>\n"
      "    %%s%u = stablehlo.multiply %%x%u, %%x%u : tensor<4x4xi32>\n",
      n, n, n, n, n, x, n, y, n, x, n, 1 + random_below(4), n, n, n, n, n, n, n, n, n,
      random_below(2) ? y : "%bLOOP", n, n, n, n, n, n, n, n);
  write_reduction(w, "all_reduce", "", group, a, "%sLOOP", "4x4xi32", "4x4xi32");
  write_reduction(w, "all_reduce", "", group, b, "%mLOOP", "1x4xi32", "1x4xi32");
  write_permute(w, c, random_below(2) ? y : "%xLOOP");
  hlo_strbuf_printf(
      w->out,
      "    %%f%u = stablehlo.add %%a%u, %s : tensor<4x4xi32>\n"
      "    %%u%u = stablehlo.dynamic_update_slice %%b%u, %s, %%i%u, %%z%u : (tensor<4x4xi32>, "
      "tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<4x4xi32>\n"
      "    %%h%u = stablehlo.add %%x%u, %s : tensor<4x4xi32>\n"
      "    stablehlo.return %%j%u, %%h%u, %%f%u, %%u%u : tensor<i32>, tensor<4x4xi32>, "
      "tensor<4x4xi32>, tensor<4x4xi32>\n  }\n"
      "  %%g%u = stablehlo.subtract %%l%u#2, %%l%u#3 : tensor<4x4xi32>\n"
      "  %s = stablehlo.subtract %%g%u, %%l%u#1 : tensor<4x4xi32>\n",
      n, n, a, n, n, b, n, n, n, n, c, n, n, n, n, n, n, n, result, n, n);
}

// Writes the sum of gathered values, of which a process takes its own slice or another one.
static void write_sum_of_gathers(writer_t* w, uint32_t group, const char* result, const char* x,
                                 const char* y, const char* large) {
  const uint32_t n = w->next++, random = random_group();
  const uint32_t other = kGroups[random].size == kGroups[group].size ? random : group;
  char a[16], b[16], sum[16];
  snprintf(a, sizeof a, "%%ga%u", n);
  snprintf(b, sizeof b, "%%gb%u", n);
  snprintf(sum, sizeof sum, "%%gs%u", n);
  write_gather(w, group, a, x, "4x4xi32", large);
  write_gather(w, random_below(2) ? group : other, b, y, "4x4xi32", large);
  hlo_strbuf_printf(w->out, "  %s = stablehlo.subtract %s, %s : tensor<%s>\n", sum, a,
                    random_below(4) ? b : a, large);
  write_own_slice(w, group, result, sum, large, "4x4xi32", 4);
}

// Writes an op on two all_reduces whose results are moved: transposed, and a row replaced.
static void write_sum_of_moves(writer_t* w, uint32_t group, const char* result, const char* x,
                               const char* y) {
  static const char* const ops[] = {"add", "add", "maximum", "minimum"};
  const uint32_t n = w->next++, border = random_below(2);
  char a[16], b[16];
  snprintf(a, sizeof a, "%%ma%u", n);
  snprintf(b, sizeof b, "%%mb%u", n);
  write_reduction(w, "all_reduce", "", group, a, x, "4x4xi32", "4x4xi32");
  write_reduction(w, "all_reduce", "", group, b, y, "4x4xi32", "4x4xi32");
  hlo_strbuf_printf(
      w->out,
      "  %%mt%u = stablehlo.transpose %s, dims = [1, 0] : (tensor<4x4xi32>) -> tensor<4x4xi32>\n"
      "  %%ms%u = stablehlo.slice %s [0:3, 0:4] : (tensor<4x4xi32>) -> tensor<3x4xi32>\n"
      "  %%mc%u = stablehlo.constant dense<%u> : tensor<i32>\n"
      "  %%mp%u = stablehlo.pad %%ms%u, %%mc%u, low = [1, 0], high = [0, 0], interior = [0, 0] : "
      "(tensor<3x4xi32>, tensor<i32>) -> tensor<4x4xi32>\n"
      "  %s = stablehlo.%s %%mt%u, %%mp%u : tensor<4x4xi32>\n",
      n, a, n, random_below(8) ? b : a, n, border, n, n, n, result, ops[random_below(4)], n, n);
}

static void write_statement(writer_t* w) {
  static const char* const ops[] = {"add", "add", "subtract", "multiply"};
  const uint32_t group = random_group(), rows = 4 / kGroups[group].size;
  char result[16], x[16], y[16], part[24], small[16], large[16];
  snprintf(result, sizeof result, "%%v%u", w->values);
  snprintf(x, sizeof x, "%%v%u", random_below(w->values));
  snprintf(y, sizeof y, "%%v%u", random_below(w->values));
  snprintf(part, sizeof part, "%%part%u", w->values);
  snprintf(small, sizeof small, "%ux4xi32", rows);
  snprintf(large, sizeof large, "%ux4xi32", 4 * kGroups[group].size);
  ++w->values;
  switch (random_below(9)) {
    case 0: write_reduction(w, "all_reduce", "", group, result, x, "4x4xi32", "4x4xi32"); break;
    case 1:
      write_reduction(w, "reduce_scatter", "scatter_dimension = 0 : i64, ", group, part, x,
                      "4x4xi32", small);
      write_gather(w, group, result, part, small, "4x4xi32");
      break;
    case 2:
      write_gather(w, group, part, x, "4x4xi32", large);
      write_own_slice(w, group, result, part, large, "4x4xi32", 4);
      break;
    case 3:
      write_reduction(w, "all_reduce", "", group, part, x, "4x4xi32", "4x4xi32");
      hlo_strbuf_printf(w->out, "  %%neg%u = stablehlo.negate %s : tensor<4x4xi32>\n", w->values,
                        part);
      snprintf(y, sizeof y, "%%own%u", w->values);
      write_own_slice(w, group, y, part, "4x4xi32", small, rows);
      write_gather(w, group, result, y, small, "4x4xi32");
      break;
    case 4: write_permute(w, result, x); break;
    case 5: write_loop(w, result, x, y); break;
    case 6: write_sum_of_gathers(w, group, result, x, y, large); break;
    case 7: write_sum_of_moves(w, group, result, x, y); break;
    default:
      hlo_strbuf_printf(w->out, "  %s = stablehlo.%s %s, %s : tensor<4x4xi32>\n", result,
                        ops[random_below(4)], x, y);
  }
}

static void write_program(hlo_strbuf_t* out) {
  writer_t w = {.out = out, .values = 2};
  hlo_strbuf_printf(out,
                    "module attributes {mhlo.num_partitions = 4 : i32} {\n"
                    "func.func @main(%%v0: tensor<4x4xi32>, %%v1: tensor<4x4xi32>) -> "
                    "(tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>) {\n");
  for (int i = 0; i < STATEMENTS; ++i) write_statement(&w);
  hlo_strbuf_printf(out,
                    "  return %%v%u, %%v%u, %%v%u : tensor<4x4xi32>, tensor<4x4xi32>, "
                    "tensor<4x4xi32>\n}\n}\n",
                    w.values - 1, w.values - 2, w.values - 3);
}

// Loops name their own values with LOOP, which stands for the number of the loop.
static void resolve_loops(const char* text, hlo_strbuf_t* out) {
  uint32_t loop = 0;
  for (; *text; ++text) {
    if (strncmp(text, "%l", 2) == 0) {
      const char* number = text + 2;
      if (*number >= '0' && *number <= '9') loop = (uint32_t)strtoul(number, NULL, 10);
    }
    if (strncmp(text, "LOOP", 4) == 0) {
      hlo_strbuf_printf(out, "%u", loop);
      text += 3;
    } else {
      hlo_strbuf_putc(out, *text);
    }
  }
}

static void write_passes(hlo_strbuf_t* out) {
  static const char* const passes[] = {"simplify_collectives",
                                       "simplify_collectives",
                                       "reassociate_collectives",
                                       "create_reduce_scatter",
                                       "decompose_all_reduce",
                                       "combine_collectives",
                                       "combine_collectives=150",
                                       "sink_all_reduces=reduce_scatter",
                                       "pipeline_collectives",
                                       "pipeline_collectives=backward",
                                       "pipeline_collectives=sink",
                                       "double_buffer_loops",
                                       "decompose_permute_cycles",
                                       "create_async_collectives",
                                       "schedule_latency=limit=2",
                                       "schedule_latency=host:memory=300:early",
                                       "convert_async_to_sync",
                                       "hoist_invariants",
                                       "canonicalize",
                                       "cse",
                                       "dce"};
  for (int i = 0; i < PASSES; ++i) {
    hlo_strbuf_printf(out, "%s%s", i ? "," : "",
                      passes[random_below(sizeof passes / sizeof passes[0])]);
  }
}

static void test_random_programs(void** state) {
  (void)state;
  const hlo_pass_options_t checks = {
      .verify_each = true, .run_twice = true, .check_changed = true, .more = &hlo_spmd_pass_set};
  for (uint32_t i = 0; i < PROGRAMS; ++i) {
    HLO_SCOPED_STRBUF raw = {0};
    HLO_SCOPED_STRBUF text = {0};
    HLO_SCOPED_STRBUF passes = {0};
    hlo_test_outcome_t before, after;
    seed = i;
    write_program(&raw);
    resolve_loops(hlo_strbuf_text(&raw), &text);
    write_passes(&passes);
    hlo_module_t* module = hlo_test_parse(hlo_strbuf_text(&text));
    hlo_test_run_on_grid(module, "before", &before);
    hlo_status_t status = hlo_passes_run(module, hlo_strbuf_text(&passes), &checks);
    if (!hlo_status_is_ok(status)) {
      print_error("%s", hlo_strbuf_text(&text));
      fail_msg("program %u, %s: %s", i, hlo_strbuf_text(&passes), hlo_status_message(status));
    }
    hlo_test_run_on_grid(module, hlo_strbuf_text(&passes), &after);
    hlo_test_expect_equal(hlo_strbuf_text(&passes), &before, &after);
    hlo_test_release(&before);
    hlo_test_release(&after);
    hlo_module_release(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
