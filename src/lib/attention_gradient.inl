// SPDX-License-Identifier: Apache-2.0
// The chunks of the gradients of an attention (attention_impl.h), part of attention_isa.c.
//
// A chunk is every `splits`-th block of queries that read one matrix of keys. As in attention
// itself, scores are computed with lanes along queries, and so is their product of cotangent and
// values; the steps then give w and g (ir/attention.h). Sums over queries and keys have lanes along
// features: g and w are read as single elements. The gradients of keys and values are accumulated
// in memory of the chunk, those of a block of queries in its scratch memory.

enum {
  ROW_TILE = 4,  // rows of a tile with ROW_VECTORS vectors each; of one vector TILE_ROWS
  ROW_VECTORS = HLO_ISA_VECTOR_BYTES == 64 ? 4 : 2,
};

typedef uint16_t halves_t __attribute__((vector_size(HLO_ISA_VECTOR_BYTES / 2)));

/// A chunk of gradients. Pairs are of bf16; `paired` lines hold two lines in 32 bits.
typedef struct gradient_chunk {
  const hlo_attention_gradient_job_t* job;
  const hlo_attention_t* plan;
  hlo_attention_block_t block;
  bool is_paired;
  int64_t depth_pitch, feature_pitch;  // whole vectors
  const char *query, *key, *value, *cotangent;
  float *query_columns, *cotangent_columns;  // [panel][depth or features, or pairs][WIDTH]
  float *query_lines, *cotangent_lines;      // [query][pitch], paired for pairs
  float *key_lines, *value_lines;            // [key][pitch]; pairs: [key][depth / 2]
  float* key_pairs;                          // paired, for pairs
  float *scores, *second, *buffers, *line;
  float *weights, *gradients, *paired_gradients;  // for pairs
  float* query_sums;                              // [query][pitch]
  float *key_sums, *value_sums;                   // [key][pitch]
} gradient_chunk_t;

static int64_t whole_vectors(int64_t count) {
  return hlo_divide_up(count, LANES) * LANES;
}

static int64_t padded_keys(const hlo_attention_t* plan) {
  return hlo_divide_up(plan->keys, BLOCK_KEYS) * BLOCK_KEYS;
}

static int64_t key_floats(const hlo_attention_t* plan) {
  return round_floats(padded_keys(plan) * whole_vectors(plan->depth));
}

static int64_t value_floats(const hlo_attention_t* plan) {
  return round_floats(padded_keys(plan) * whole_vectors(plan->features));
}

// Divides scratch memory and returns its size in floats.
static int64_t divide_gradient_scratch(const hlo_attention_t* plan, float* scratch,
                                       gradient_chunk_t* out) {
  const int64_t depth = whole_vectors(plan->depth), features = whole_vectors(plan->features);
  out->depth_pitch = depth;
  out->feature_pitch = features;
  const struct {
    float** to;
    int64_t floats;
  } parts[] = {{&out->query_columns, depth * BLOCK_QUERIES},
               {&out->cotangent_columns, features * BLOCK_QUERIES},
               {&out->query_lines, depth * BLOCK_QUERIES},
               {&out->cotangent_lines, features * BLOCK_QUERIES},
               {&out->query_sums, depth * BLOCK_QUERIES},
               {&out->key_lines, depth * BLOCK_KEYS},
               {&out->value_lines, features * BLOCK_KEYS},
               {&out->key_pairs, depth * BLOCK_KEYS},
               {&out->scores, PANEL_FLOATS},
               {&out->second, PANEL_FLOATS},
               {&out->weights, PANEL_FLOATS},
               {&out->gradients, PANEL_FLOATS},
               {&out->paired_gradients, PANEL_FLOATS},
               {&out->line, depth > features ? depth : features},
               {&out->buffers, (int64_t)(plan->step_count + 1) * PANEL_FLOATS},
               {&out->key_sums, key_floats(plan)},
               {&out->value_sums, value_floats(plan)}};
  int64_t at = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    *parts[i].to = scratch + at;
    at += round_floats(parts[i].floats);
  }
  return at;
}

static size_t gradient_scratch_bytes(const hlo_attention_gradient_t* plan) {
  gradient_chunk_t chunk;
  static float none;
  return (size_t)divide_gradient_scratch(&plan->scores, &none, &chunk) * sizeof(float);
}

// ---- sums of lines

// c[r][:] += sum over steps of a[r * a_row + step * a_step] * b[step][:] for the rows and vectors
// of a tile.
INLINE void add_tile(bool is_paired, int rows, int vectors, int64_t steps, const float* a,
                     int64_t a_row, int64_t a_step, const float* b, float* c, int64_t pitch) {
  vec_t acc[TILE_ROWS][ROW_VECTORS];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) acc[r][v] = ((const vec_t*)(c + r * pitch))[v];
  }
  for (int64_t p = 0; p < steps; ++p) {
    const vec_t* line = (const vec_t*)(b + p * pitch);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const vec_t left = splat(a[r * a_row + p * a_step]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        acc[r][v] = multiply_add(is_paired, acc[r][v], left, line[v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) ((vec_t*)(c + r * pitch))[v] = acc[r][v];
  }
}

INLINE void add_all_lines(bool is_paired, int64_t rows, int64_t steps, const float* a,
                          int64_t a_row, int64_t a_step, const float* b, float* c, int64_t pitch) {
  int64_t at = 0;
  for (; at + ROW_VECTORS * LANES <= pitch; at += ROW_VECTORS * LANES) {
    for (int64_t r = 0; r < rows; r += ROW_TILE) {
      add_tile(is_paired, ROW_TILE, ROW_VECTORS, steps, a + r * a_row, a_row, a_step, b + at,
               c + r * pitch + at, pitch);
    }
  }
  for (; at < pitch; at += LANES) {
    for (int64_t r = 0; r < rows; r += TILE_ROWS) {
      add_tile(is_paired, TILE_ROWS, 1, steps, a + r * a_row, a_row, a_step, b + at,
               c + r * pitch + at, pitch);
    }
  }
}

// The same for all rows, which are rounded up to tiles: those of c have room.
static void add_lines(bool is_paired, int64_t rows, int64_t steps, const float* a, int64_t a_row,
                      int64_t a_step, const float* b, float* c, int64_t pitch) {
  if (CAN_PAIR && is_paired) {
    add_all_lines(true, rows, steps, a, a_row, a_step, b, c, pitch);
  } else {
    add_all_lines(false, rows, steps, a, a_row, a_step, b, c, pitch);
  }
}

// Rounds to bf16, to nearest even.
INLINE halves_t narrow_vector(vec_t x) {
#if defined(__AVX512F__)
  halves_t halves;
  __asm__("vcvtneps2bf16 %1, %0" : "=v"(halves) : "v"(x));
  return halves;
#else
  (void)x;
  return (halves_t){0};  // CAN_PAIR is 0
#endif
}

// Rounds rows to bf16, as [key][WIDTH] of 16 bits, with zeros after the last query.
static void narrow_rows(rows_t from, int64_t keys, int64_t queries, float* out) {
  for (int64_t k = 0; k < keys; ++k) {
    uint16_t* to = (uint16_t*)(void*)out + k * WIDTH;
    const vec_t* row = (const vec_t*)(from.data + k * from.step);
    for (int v = 0; v < VECTORS; ++v) {
      const halves_t halves = narrow_vector(row[v]);
      memcpy(to + v * LANES, &halves, sizeof halves);
    }
    for (int64_t i = queries; i < WIDTH; ++i) to[i] = 0;
  }
}

// ---- panels

/// The program of a block, and the products that it needs.
typedef struct gradient_program {
  program_t steps;
  bool is_mixed;                // panels may need less
  bool has_scores, has_second;  // the steps read the products
  bool has_weights, has_gradients;  // they are not zero
} gradient_program_t;

// Adds what a panel of queries and the block of keys contribute.
static void add_gradient_panel(gradient_chunk_t* c, int64_t panel,
                               const gradient_program_t* program) {
  const hlo_attention_t* plan = c->plan;
  const bool is_paired = c->is_paired;
  const int64_t keys = c->block.key_count, row = panel * WIDTH, unit = is_paired ? 2 : 1;
  const int64_t queries = hlo_min(WIDTH, c->block.row_count - row);
  const int64_t depth = hlo_divide_up(plan->depth, unit);
  const int64_t features = hlo_divide_up(plan->features, unit);
  const int64_t key_row = is_paired ? depth : c->depth_pitch;
  const int64_t value_row = is_paired ? features : c->feature_pitch;
  if (program->has_scores) {
    multiply_tiles(is_paired, keys, depth, c->key_lines, TILE_ROWS * key_row, key_row, 1,
                   c->query_columns + row * depth, NULL, c->scores);
  }
  if (program->has_second) {
    multiply_tiles(is_paired, keys, features, c->value_lines, TILE_ROWS * value_row, value_row, 1,
                   c->cotangent_columns + row * features, NULL, c->second);
  }
  eval_t e = {.plan = plan, .block = &c->block, .row = c->block.row + row, .row_count = queries};
  eval_panel(&e, program->steps, c->scores, c->second, c->buffers);
  rows_t weights = e.rows[program->steps.alias[c->job->plan->weights]];
  rows_t gradients = e.rows[program->steps.alias[c->job->plan->gradient]];
  const float *key_lines = c->key_lines, *columns = gradients.data;
  int64_t column_step = gradients.step;
  if (is_paired) {
    if (program->has_weights) narrow_rows(weights, keys, queries, c->weights);
    if (program->has_gradients) {
      narrow_rows(gradients, keys, queries, c->gradients);
      pair_weights(gradients, keys, c->paired_gradients);
    }
    weights = (rows_t){c->weights, WIDTH / 2};
    gradients = (rows_t){c->gradients, WIDTH / 2};
    columns = c->paired_gradients;
    column_step = WIDTH;
    key_lines = c->key_pairs;
  }
  const int64_t row_steps = hlo_divide_up(queries, unit), key_steps = hlo_divide_up(keys, unit);
  const int64_t line = row / unit;
  if (program->has_weights) {
    add_lines(is_paired, keys, row_steps, weights.data, weights.step, 1,
              c->cotangent_lines + line * c->feature_pitch,
              c->value_sums + c->block.key * c->feature_pitch, c->feature_pitch);
  }
  if (!program->has_gradients) return;
  add_lines(is_paired, keys, row_steps, gradients.data, gradients.step, 1,
            c->query_lines + line * c->depth_pitch, c->key_sums + c->block.key * c->depth_pitch,
            c->depth_pitch);
  add_lines(is_paired, queries, key_steps, columns, 1, column_step, key_lines,
            c->query_sums + row * c->depth_pitch, c->depth_pitch);
}

// Makes the program of a block. Returns true if it contributes nothing.
static bool find_gradient_program(const gradient_chunk_t* c, const hlo_attention_block_t* block,
                                  gradient_program_t* out) {
  const hlo_attention_gradient_t* plan = c->job->plan;
  const hlo_attention_t* scores = &plan->scores;
  hlo_attention_range_t ranges[HLO_ATTENTION_MAX_STEPS];
  hlo_attention_find_ranges(scores, block, ranges);
  *out =
      (gradient_program_t){.has_weights = !hlo_attention_range_is_zero(&ranges[plan->weights]),
                           .has_gradients = !hlo_attention_range_is_zero(&ranges[plan->gradient])};
  uint8_t outputs[2];
  uint32_t count = 0;
  if (out->has_weights) outputs[count++] = plan->weights;
  if (out->has_gradients) outputs[count++] = plan->gradient;
  make_program(scores, ranges, count, outputs, &out->steps);
  out->is_mixed = is_mixed(scores, &out->steps);
  for (uint32_t i = 0; i < scores->step_count; ++i) {
    const bool is_used = out->steps.uses[i] && out->steps.alias[i] == i;
    out->has_scores |= is_used && scores->steps[i].op == HLO_ATTENTION_SCORE;
    out->has_second |= is_used && scores->steps[i].op == HLO_ATTENTION_SECOND;
  }
  return !count;
}

static void pack_gradient_keys(const gradient_chunk_t* c) {
  const hlo_attention_t* plan = c->plan;
  const lines_t key = keys_of(&plan->key, c->key), value = keys_of(&plan->value, c->value);
  const int64_t first = c->block.key, count = c->block.key_count;
  if (c->is_paired) {
    pack_line_pairs(key, first, count, plan->depth, c->key_lines);
    pack_paired_lines(key, first, count, plan->depth, c->depth_pitch, c->key_pairs);
    pack_line_pairs(value, first, count, plan->features, c->value_lines);
  } else {
    pack_lines(key, first, count, plan->depth, c->depth_pitch, c->key_lines);
    pack_lines(value, first, count, plan->features, c->feature_pitch, c->value_lines);
  }
}

static void pack_gradient_rows(const gradient_chunk_t* c) {
  const hlo_attention_t* plan = c->plan;
  const lines_t query = rows_of(&plan->query, c->query);
  const lines_t cotangent = rows_of(&c->job->plan->cotangent, c->cotangent);
  const int64_t first = c->block.row, count = c->block.row_count;
  if (c->is_paired) {
    pack_column_pairs(query, first, count, plan->depth, c->query_columns);
    pack_paired_lines(query, first, count, plan->depth, c->depth_pitch, c->query_lines);
    pack_column_pairs(cotangent, first, count, plan->features, c->cotangent_columns);
    pack_paired_lines(cotangent, first, count, plan->features, c->feature_pitch,
                      c->cotangent_lines);
  } else {
    pack_columns(query, first, count, plan->depth, c->line, c->query_columns);
    pack_lines(query, first, count, plan->depth, c->depth_pitch, c->query_lines);
    pack_columns(cotangent, first, count, plan->features, c->line, c->cotangent_columns);
    pack_lines(cotangent, first, count, plan->features, c->feature_pitch, c->cotangent_lines);
  }
}

static void add_gradient_block(gradient_chunk_t* c, const gradient_program_t* whole) {
  const int64_t panels = hlo_divide_up(c->block.row_count, WIDTH);
  pack_gradient_keys(c);
  for (int64_t p = 0; p < panels; ++p) {
    gradient_program_t program = *whole;
    hlo_attention_block_t panel = c->block;
    panel.row += p * WIDTH;
    panel.row_count = hlo_min(WIDTH, c->block.row_count - p * WIDTH);
    const bool is_zero = whole->is_mixed && find_gradient_program(c, &panel, &program);
    if (!is_zero) add_gradient_panel(c, p, &program);
  }
}

// Computes the gradient of a block of queries, and what it adds to those of the keys.
static void add_gradient_rows(gradient_chunk_t* c, char* result) {
  const hlo_attention_t* plan = c->plan;
  const hlo_attention_array_t* to = &c->job->plan->query;
  pack_gradient_rows(c);
  memset(c->query_sums, 0, (size_t)(c->depth_pitch * BLOCK_QUERIES) * sizeof(float));
  for (int64_t key = 0; key < plan->keys; key += BLOCK_KEYS) {
    gradient_program_t program;
    c->block.key = key;
    c->block.key_count = hlo_min(BLOCK_KEYS, plan->keys - key);
    if (!find_gradient_program(c, &c->block, &program)) add_gradient_block(c, &program);
  }
  for (int64_t i = 0; i < c->block.row_count; ++i) {
    store_line(to->value->type->dtype, c->query_sums + i * c->depth_pitch,
               (c->block.row + i) * to->row, to->depth, plan->depth, result);
  }
}

// ---- chunks

// Divides an index into those of the batch axes that are summed, or not.
static void divide_index(const hlo_attention_gradient_t* plan, bool is_summed, int64_t index,
                         int64_t* at) {
  for (uint32_t i = plan->scores.batch_count; i-- > 0;) {
    if (plan->is_summed[i] != is_summed) continue;
    at[i] = index % plan->scores.batch[i];
    index /= plan->scores.batch[i];
  }
}

static void store_keys(const hlo_attention_gradient_job_t* job, const int64_t* at,
                       const float* key_sums, const float* value_sums) {
  const hlo_attention_t* plan = &job->plan->scores;
  const hlo_attention_array_t *key = &job->plan->key, *value = &job->plan->value;
  char* key_to = job->key + batch_bytes(key, at, plan->batch_count);
  char* value_to = job->value + batch_bytes(value, at, plan->batch_count);
  for (int64_t i = 0; i < plan->keys; ++i) {
    store_line(key->value->type->dtype, key_sums + i * whole_vectors(plan->depth), i * key->key,
               key->depth, plan->depth, key_to);
    store_line(value->value->type->dtype, value_sums + i * whole_vectors(plan->features),
               i * value->key, value->depth, plan->features, value_to);
  }
}

static hlo_attention_gradient_size_t gradient_size(const hlo_attention_gradient_t* plan) {
  hlo_attention_gradient_size_t size = {1, hlo_divide_up(plan->scores.rows, BLOCK_QUERIES),
                                        key_floats(&plan->scores) + value_floats(&plan->scores)};
  for (uint32_t i = 0; i < plan->scores.batch_count; ++i) {
    *(plan->is_summed[i] ? &size.blocks : &size.matrices) *= plan->scores.batch[i];
  }
  return size;
}

static void set_addresses(gradient_chunk_t* c, const int64_t* at) {
  const hlo_attention_job_t* job = &c->job->scores;
  const hlo_attention_t* plan = c->plan;
  const uint32_t count = plan->batch_count;
  c->query = job->query + batch_bytes(&plan->query, at, count);
  c->key = job->key + batch_bytes(&plan->key, at, count);
  c->value = job->value + batch_bytes(&plan->value, at, count);
  c->cotangent = c->job->cotangent + batch_bytes(&c->job->plan->cotangent, at, count);
  for (uint32_t i = 0; i < plan->array_count; ++i) {
    c->block.arrays[i] = job->arrays[i] + batch_bytes(&plan->arrays[i], at, count);
  }
}

static void run_gradient(const hlo_attention_gradient_job_t* job, uint64_t index, float* scratch) {
  const hlo_attention_gradient_t* plan = job->plan;
  const hlo_attention_t* scores = &plan->scores;
  const hlo_attention_gradient_size_t size = gradient_size(plan);
  const int64_t row_blocks = hlo_divide_up(scores->rows, BLOCK_QUERIES);
  gradient_chunk_t c = {.job = job, .plan = scores};
  c.is_paired = CAN_PAIR && job->scores.has_pairs && scores->is_narrow;
  int64_t at[HLO_ATTENTION_MAX_AXES] = {0};
  divide_gradient_scratch(scores, scratch, &c);
  if (job->splits > 1) {
    c.key_sums = job->partial + (int64_t)index * size.partial_floats;
    c.value_sums = c.key_sums + key_floats(scores);
  }
  memset(c.key_sums, 0, (size_t)key_floats(scores) * sizeof(float));
  memset(c.value_sums, 0, (size_t)value_floats(scores) * sizeof(float));
  divide_index(plan, false, (int64_t)index / job->splits, at);
  for (int64_t i = (int64_t)index % job->splits; i < size.blocks; i += job->splits) {
    divide_index(plan, true, i / row_blocks, at);
    set_addresses(&c, at);
    c.block.row = i % row_blocks * BLOCK_QUERIES;
    c.block.row_count = hlo_min(BLOCK_QUERIES, scores->rows - c.block.row);
    add_gradient_rows(&c, job->query + batch_bytes(&plan->query, at, scores->batch_count));
  }
  if (job->splits == 1) store_keys(job, at, c.key_sums, c.value_sums);
}

static void reduce_gradient(const hlo_attention_gradient_job_t* job, uint64_t matrix) {
  const int64_t floats = gradient_size(job->plan).partial_floats;
  float* sums = job->partial + (int64_t)matrix * job->splits * floats;
  int64_t at[HLO_ATTENTION_MAX_AXES] = {0};
  for (int64_t s = 1; s < job->splits; ++s) {
    const float* from = sums + s * floats;
    for (int64_t i = 0; i < floats; ++i) sums[i] += from[i];
  }
  divide_index(job->plan, false, (int64_t)matrix, at);
  store_keys(job, at, sums, sums + key_floats(&job->plan->scores));
}
