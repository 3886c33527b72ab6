// SPDX-License-Identifier: Apache-2.0
// hlocc-dev tune --calibrate: prints the description of this machine (hlocc info) for --cpu=@FILE,
// with rates measured by small programs on one thread. --tiles=FILE: compiles the program with each
// tile that one of its products could have (hlocc compile --emit=tilings) and times it in rounds,
// so that all tiles run under the same conditions. The report includes the compiler's estimates.
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "codegen/image/listing.h"
#include "compiler/compiler.h"
#include "compiler/execute.h"
#include "dev/dev.h"

enum {
  PROGRAM_ROUNDS = 7,        // of each program; the shortest one counts
  SIDE = 256,                // of a square product
  OPERATIONS = 24,           // per element
  TURN_BYTES = 32 << 20,     // read or written by a program at least
  LARGEST_BYTES = 128 << 20  // of an array
};

// Repeats the program until the runs together take the given time, at least once.
static hlo_status_t time_runs(const hlo_executable_t* executable, const hlo_type_t* type,
                              hlo_tensor_t* const* inputs, hlo_tensor_t** outputs,
                              uint64_t least_ns, double* out_ns) {
  uint64_t all = 0;
  *out_ns = DBL_MAX;
  do {
    uint64_t begin = hlo_os_thread_ns();
    HLO_TRY(hlo_program_execute(executable->program, type, NULL, inputs, outputs));
    uint64_t ns = hlo_os_thread_ns() - begin;
    for (uint32_t i = type->input_count; i < type->element_count; ++i) {
      hlo_tensor_release(outputs[i - type->input_count]);
    }
    if ((double)ns < *out_ns) *out_ns = (double)ns;
    all += ns;
  } while (all < least_ns);
  return hlo_ok();
}

// Measures the shortest time of a run of a program on arguments of zeros, in CPU time of its only
// thread. Runs it at least once, and until all runs together take least_ns.
static hlo_status_t shortest_time(const hlo_executable_t* executable, uint64_t least_ns,
                                  double* out_ns) {
  const hlo_func_t* func = hlo_module_entry(executable->module);
  uint32_t inputs = func->type->input_count, values = func->type->element_count;
  hlo_tensor_t** tensors = hlo_mem_alloc_zeroed((values + 1) * sizeof *tensors);
  if (!tensors) return hlo_status_out_of_memory(values);
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < inputs && hlo_status_is_ok(status); ++i) {
    const hlo_type_t* type = func->type->elements[i];
    status = hlo_tensor_create(type->dtype, type->rank, type->dims, &tensors[i]);
    if (hlo_status_is_ok(status)) memset(tensors[i]->data, 0, tensors[i]->size_bytes);
  }
  if (hlo_status_is_ok(status)) {
    status = time_runs(executable, func->type, tensors, tensors + inputs, least_ns, out_ns);
  }
  for (uint32_t i = 0; i < inputs; ++i) hlo_tensor_release(tensors[i]);
  hlo_mem_free(tensors);
  return status;
}

static hlo_status_t measure(const hlo_cli_t* cli, const hlo_strbuf_t* text, double* out_ns) {
  hlo_compile_config_t config;
  hlo_compile_config_read(&cli->config, &cli->observer, &config);
  hlo_executable_t* executable = NULL;
  HLO_TRY(hlo_strbuf_status(text));
  HLO_TRY(hlo_compile(hlo_strbuf_text(text), text->length, "tune", &config, NULL, 0, NULL,
                      &executable));
  hlo_status_t status = hlo_ok();
  *out_ns = DBL_MAX;
  for (int round = 0; round < PROGRAM_ROUNDS && hlo_status_is_ok(status); ++round) {
    double ns;
    status = shortest_time(executable, 0, &ns);
    if (hlo_status_is_ok(status) && ns < *out_ns) *out_ns = ns;
  }
  hlo_executable_release(executable);
  return status;
}

// Prints a loop with the given number of iterations around `body`, which computes %next from %a,
// both of `type`.
static void print_loop(hlo_strbuf_t* text, const char* arguments, const char* first,
                       const char* type, int64_t turns, const char* body) {
  hlo_strbuf_printf(
      text,
      "func.func @main(%s) -> %s {\n  %%zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %%one = stablehlo.constant dense<1> : tensor<i32>\n"
      "  %%turns = stablehlo.constant dense<%lld> : tensor<i32>\n%s"
      "  %%0:2 = stablehlo.while(%%i = %%zero, %%a = %%first) : tensor<i32>, %s\n  cond {\n"
      "    %%p = stablehlo.compare LT, %%i, %%turns : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "    stablehlo.return %%p : tensor<i1>\n  } do {\n%s"
      "    %%j = stablehlo.add %%i, %%one : tensor<i32>\n"
      "    stablehlo.return %%j, %%next : tensor<i32>, %s\n  }\n  return %%0#1 : %s\n}\n",
      arguments, type, (long long)turns, first, type, body, type, type);
}

// Measures bytes per nanosecond of repeated sums of an array.
static hlo_status_t measure_memory(const hlo_cli_t* cli, int64_t bytes, double* out_rate) {
  char arguments[64], body[256];
  int64_t count = bytes / 4, turns = TURN_BYTES / bytes + 1;
  HLO_SCOPED_STRBUF text = {0};
  snprintf(arguments, sizeof arguments, "%%x: tensor<%lldxf32>", (long long)count);
  snprintf(body, sizeof body,
           "    %%next = stablehlo.reduce(%%x init: %%a) applies stablehlo.add across dimensions = "
           "[0] : (tensor<%lldxf32>, tensor<f32>) -> tensor<f32>\n",
           (long long)count);
  print_loop(&text, arguments, "  %first = stablehlo.constant dense<0.0> : tensor<f32>\n",
             "tensor<f32>", turns, body);
  double ns = 1;
  hlo_status_t status = measure(cli, &text, &ns);
  *out_rate = (double)(count * 4 * turns) / ns;
  return status;
}

// Measures vector operations per nanosecond on an array in the first-level cache.
static hlo_status_t measure_operations(const hlo_cli_t* cli, int64_t lanes, double* out_rate) {
  enum { COUNT = 2048, TURNS = 4000 };
  HLO_SCOPED_STRBUF text = {0}, body = {0};
  hlo_strbuf_puts(&body, "    %c = stablehlo.constant dense<77> : tensor<2048xi32>\n");
  for (int i = 0; i < OPERATIONS; ++i) {
    char from[16];
    snprintf(from, sizeof from, i ? "v%d" : "a", i - 1);
    hlo_strbuf_printf(&body, "    %%v%d = stablehlo.%s %%%s, %%c : tensor<2048xi32>\n", i,
                      i % 2 ? "xor" : "add", from);
  }
  hlo_strbuf_printf(&body, "    %%next = stablehlo.negate %%v%d : tensor<2048xi32>\n",
                    OPERATIONS - 1);
  print_loop(&text, "%first: tensor<2048xi32>", "", "tensor<2048xi32>", TURNS,
             hlo_strbuf_text(&body));
  double ns = 1;
  hlo_status_t status = measure(cli, &text, &ns);
  *out_rate = (double)COUNT / (double)lanes * (OPERATIONS + 1) * TURNS / ns;
  return status;
}

// Measures products of whole registers per nanosecond.
static hlo_status_t measure_products(const hlo_cli_t* cli, const hlo_tile_atom_t* atom,
                                     double* out_rate) {
  const char* from = hlo_dtype_info(atom->operand)->mlir_name;
  const char* to = hlo_dtype_info(atom->result)->mlir_name;
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_printf(&text,
                    "func.func @main(%%a: tensor<%dx%dx%s>, %%b: tensor<%dx%dx%s>) -> "
                    "tensor<%dx%dx%s> {\n  %%0 = stablehlo.dot_general %%a, %%b, contracting_dims "
                    "= [1] x [0] : (tensor<%dx%dx%s>, tensor<%dx%dx%s>) -> tensor<%dx%dx%s>\n  "
                    "return %%0 : tensor<%dx%dx%s>\n}\n",
                    SIDE, SIDE, from, SIDE, SIDE, from, SIDE, SIDE, to, SIDE, SIDE, from, SIDE,
                    SIDE, from, SIDE, SIDE, to, SIDE, SIDE, to);
  double ns = 1;
  hlo_status_t status = measure(cli, &text, &ns);
  *out_rate = (double)SIDE * SIDE * SIDE / (double)(atom->rows * atom->columns * atom->depth) / ns;
  return status;
}

static hlo_status_t calibrate(const hlo_cli_t* cli, hlo_tile_target_t* target) {
  for (uint32_t i = 1; i < target->memory_count; ++i) {
    hlo_tile_memory_t* memory = &target->memories[i];
    // Arrays fill half of a cache, so that other data fit too; those of the main memory exceed all
    // caches.
    bool is_last = i + 1 == target->memory_count;
    int64_t bytes = is_last ? LARGEST_BYTES : memory->capacity_bytes / 2;
    HLO_TRY(
        measure_memory(cli, bytes < LARGEST_BYTES ? bytes : LARGEST_BYTES, &memory->bytes_per_ns));
  }
  for (uint32_t i = 0; i < target->atom_count; ++i) {
    hlo_tile_atom_t* atom = &target->atoms[i];
    if (atom->op == HLO_TILE_ATOM_PRODUCT) HLO_TRY(measure_products(cli, atom, &atom->per_ns));
    if (atom->op == HLO_TILE_ATOM_VECTOR) {
      HLO_TRY(measure_operations(cli, target->vector_bytes / 4, &atom->per_ns));
    }
  }
  return hlo_ok();
}

// ---- tiles

enum {
  ROUNDS = 15,
  FIRST_ROUNDS = 3,
  BEST = 8,
  MAX_CANDIDATES = 128,
  ROUND_NS = 1000000,
  LINE_BYTES = 160
};
// A tile becomes a line of the description if it is better than the compiler's by this fraction.
static const double WORTH = 0.02;
static const double FAR = 0.25;  // tiles slower by this fraction are timed in few rounds

typedef struct candidate {
  const char* line;  // in the form of the description
  int length;
  double expected_ns;
  hlo_executable_t* executable;
  uint32_t round_count;
  double rounds_ns[ROUNDS];  // sorted after timing
  double ns;                 // the result
} candidate_t;

// The candidates of one product, by the compiler's estimate.
typedef struct product {
  uint32_t count, taken;  // taken: the compiler's choice
  candidate_t candidates[MAX_CANDIDATES];
} product_t;

static hlo_status_t compile(const hlo_cli_t* cli, const hlo_cli_source_t* source,
                            const hlo_target_t* target, const hlo_listing_t* listing,
                            hlo_executable_t** out_executable) {
  hlo_compile_config_t config;
  hlo_compile_config_read(&cli->config, &cli->observer, &config);
  HLO_TRY(hlo_cli_elided(cli, &config.elided));
  config.target = target;
  config.listing = listing;
  return hlo_compile(source->bytes, source->size_bytes, source->name, &config, NULL, 0, NULL,
                     out_executable);
}

static hlo_status_t compile_candidates(const hlo_cli_t* cli, const hlo_cli_source_t* source,
                                       const hlo_target_t* target, product_t* product) {
  for (uint32_t i = 0; i < product->count; ++i) {
    candidate_t* c = &product->candidates[i];
    hlo_target_t forced = *target;
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%.*s", c->length, c->line);
    hlo_tile_target_read(line, &forced.tile);
    HLO_TRY(compile(cli, source, &forced, NULL, &c->executable));
  }
  return hlo_ok();
}

static int compare_times(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// A quarter of the rounds were faster: neither disturbances of some rounds nor a temporarily high
// clock rate count.
static hlo_status_t time_round(candidate_t* c) {
  HLO_TRY(shortest_time(c->executable, ROUND_NS, &c->rounds_ns[c->round_count]));
  ++c->round_count;
  qsort(c->rounds_ns, c->round_count, sizeof *c->rounds_ns, compare_times);
  c->ns = c->rounds_ns[c->round_count / 4];
  return hlo_ok();
}

// After the first rounds only the candidates that may be the best are timed.
static hlo_status_t time_candidates(product_t* product) {
  for (uint32_t round = 0; round < ROUNDS; ++round) {
    double best = DBL_MAX;
    for (uint32_t i = 0; i < product->count; ++i) {
      if (product->candidates[i].ns < best) best = product->candidates[i].ns;
    }
    for (uint32_t i = 0; i < product->count; ++i) {
      candidate_t* c = &product->candidates[i];
      if (round >= FIRST_ROUNDS && c->ns > (1 + FAR) * best) continue;
      HLO_TRY(time_round(c));
    }
  }
  return hlo_ok();
}

static void print_product(const product_t* product, hlo_strbuf_t* out) {
  const candidate_t *all = product->candidates, *taken = &all[product->taken], *best = all;
  double best_of_first = DBL_MAX;
  for (uint32_t i = 0; i < product->count; ++i) {
    if (all[i].ns < best->ns) best = &all[i];
    if (i < BEST && all[i].ns < best_of_first) best_of_first = all[i].ns;
    hlo_strbuf_printf(out, "%3u. %.*s, expected %.1f us, took %.1f us\n", i + 1, all[i].length,
                      all[i].line, all[i].expected_ns / 1000, all[i].ns / 1000);
  }
  hlo_strbuf_printf(out,
                    "number %u is taken: %.1f %% more than the best; the best of %d: %.1f %%\n",
                    product->taken + 1, 100 * (taken->ns / best->ns - 1), BEST,
                    100 * (best_of_first / best->ns - 1));
  if (taken->ns / best->ns - 1 > WORTH) {
    hlo_strbuf_printf(out, "%.*s\n", best->length, best->line);
  }
}

// Reads the lines of one product: consecutive lines that are equal up to the tile. Returns their
// end, or NULL if there are no lines.
static const char* read_product(const char* text, product_t* product) {
  product->count = product->taken = 0;
  while (text && strncmp(text, "tile ", 5) != 0) {
    text = strchr(text, '\n');
    if (text) ++text;
  }
  if (!text) return NULL;
  const char* line = text;
  const size_t name = strcspn(text, ":");
  while (strncmp(line, text, name) == 0) {
    candidate_t c = {.line = line, .length = (int)strcspn(line, ","), .ns = DBL_MAX};
    int taken = 0;
    sscanf(line + c.length, ", %lf ns, chosen%n", &c.expected_ns, &taken);
    if (taken) product->taken = product->count;
    if (product->count < MAX_CANDIDATES) product->candidates[product->count++] = c;
    line += strcspn(line, "\n") + 1;
  }
  return line;
}

static hlo_status_t tune(const hlo_cli_t* cli, const hlo_cli_source_t* source,
                         const hlo_target_t* target, const char* text, hlo_strbuf_t* out) {
  product_t* product = hlo_mem_alloc(sizeof *product);
  if (!product) return hlo_status_out_of_memory(sizeof *product);
  hlo_status_t status = hlo_ok();
  while (hlo_status_is_ok(status) && (text = read_product(text, product))) {
    status = compile_candidates(cli, source, target, product);
    if (hlo_status_is_ok(status)) status = time_candidates(product);
    if (hlo_status_is_ok(status)) print_product(product, out);
    for (uint32_t i = 0; i < product->count; ++i) {
      hlo_executable_release(product->candidates[i].executable);
    }
  }
  hlo_mem_free(product);
  return status;
}

// Runs hlocc-dev tune --tiles.
static hlo_status_t tune_tiles(hlo_dev_t* dev, const hlo_target_t* target, hlo_strbuf_t* out) {
  hlo_cli_t* cli = &dev->cli;
  hlo_cli_source_t source;
  hlo_executable_t* executable = NULL;
  HLO_SCOPED_STRBUF text = {0};
  const hlo_listing_t listing = {.form = HLO_LISTING_TILINGS, .out = &text};
  cli->file = dev->tiles;
  hlo_status_t status = hlo_cli_open(cli, &source);
  if (hlo_status_is_ok(status)) status = compile(cli, &source, target, &listing, &executable);
  hlo_executable_release(executable);
  if (hlo_status_is_ok(status)) status = hlo_strbuf_status(&text);
  if (hlo_status_is_ok(status)) status = tune(cli, &source, target, hlo_strbuf_text(&text), out);
  hlo_cli_close(&source);
  return status;
}

hlo_status_t hlo_dev_cmd_tune(hlo_cli_t* cli, hlo_strbuf_t* out) {
  hlo_dev_t* dev = hlo_dev_of(cli);
  if (dev->calibrate == !!dev->tiles) {
    return hlo_invalid_argument("tune needs --calibrate or --tiles=FILE");
  }
  hlo_cpu_t cpu;
  hlo_target_t target;
  HLO_TRY(hlo_cpu_detect(cli->config.cpu, &cpu));
  HLO_TRY(hlo_target_find(cli->config.cpu, false, &target));
  if (dev->tiles) return tune_tiles(dev, &target, out);
  HLO_TRY(calibrate(cli, &target.tile));
  hlo_cli_print_machine(cli, &cpu, &target, out);
  return hlo_ok();
}
