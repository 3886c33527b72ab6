// SPDX-License-Identifier: Apache-2.0
// hlocc-dev tune --tiles=FILE: compiles the program with each tile that one of its products could
// have (hlocc compile --emit=tilings) and times it in rounds, so that all tiles run under the same
// conditions. The report includes the compiler's estimates.
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "codegen/image/listing.h"
#include "dev/tune.h"

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
  HLO_TRY(hlo_tune_time(c->executable, ROUND_NS, &c->rounds_ns[c->round_count]));
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

hlo_status_t hlo_tune_tiles(hlo_dev_t* dev, const hlo_target_t* target, hlo_strbuf_t* out) {
  hlo_cli_t* cli = &dev->cli;
  hlo_cli_source_t source;
  hlo_executable_t* executable = NULL;
  hlo_strbuf_t text = {0};
  const hlo_listing_t listing = {.form = HLO_LISTING_TILINGS, .out = &text};
  cli->file = dev->tiles;
  hlo_status_t status = hlo_cli_open(cli, &source);
  if (hlo_status_is_ok(status)) status = compile(cli, &source, target, &listing, &executable);
  hlo_executable_release(executable);
  if (hlo_status_is_ok(status)) status = hlo_strbuf_status(&text);
  if (hlo_status_is_ok(status)) status = tune(cli, &source, target, hlo_strbuf_text(&text), out);
  hlo_strbuf_deinit(&text);
  hlo_cli_close(&source);
  return status;
}
