// SPDX-License-Identifier: Apache-2.0
// Derives targets from CPUs (see target.h): one table of the capabilities of each instruction set
// level.
#include "codegen/target/target.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/tuning.h"

// At three cycles per nanosecond. Rates are those of one core without contention; properties that a
// cache does not report have the minimum of recent server processors.
static const double CYCLES_PER_NS = 3.0;
enum { AVX512_MASK_REGISTERS = 7 };  // k0 stands for no mask
enum {
  PAGE_BYTES = 4096
};  // the cache set of a line in a first-level cache depends on its offset
    // in the page

typedef struct level {
  int64_t vector_bytes, vector_count;
  double operations, loads, splats, gathers, shuffles;  // registers per cycle
} level_t;

// A gather costs six loads: it loads lane by lane, but from cached lines. Splats are operands of
// multiply-adds: tiles of products with one splat per multiply-add take a fifth longer than others,
// although loads alone would be as fast.
static const level_t LEVELS[] = {
    [HLO_CPU_LEVEL_GENERIC] = {16, 16, 1, 2, 0.8, 1. / 3, 1},
    [HLO_CPU_LEVEL_SSE2] = {16, 14, 1, 2, 0.8, 1. / 3, 1},
    [HLO_CPU_LEVEL_SSE4] = {16, 14, 1, 2, 0.8, 1. / 3, 1},
    [HLO_CPU_LEVEL_AVX2] = {32, 16, 1.1, 2, 2, 1. / 6, 1},
    [HLO_CPU_LEVEL_AVX512] = {64, 32, 1.1, 2, 1.7, 1. / 8, 1},
    [HLO_CPU_LEVEL_AMX] = {64, 32, 1.1, 2, 1.7, 1. / 8, 1},
};

// Products: a is one element (a pair, four elements) broadcast to every lane, b and the
// accumulators are vectors. With tile registers a has a vector for each of several rows.
typedef struct product {
  const char* name;
  hlo_dtype_t operand, result;
  int64_t rows;
  int64_t depth;  // elements that one lane reduces
  uint32_t sum_bytes;
  hlo_cpu_feature_t feature;
  hlo_cpu_level_t level, last_level;
  double per_cycle, latency_cycles;
} product_t;

static const product_t PRODUCTS[] = {
    {"multiply_add.f32", HLO_DTYPE_F32, HLO_DTYPE_F32, 1, 1, 4, HLO_CPU_SSE2, HLO_CPU_LEVEL_SSE2,
     HLO_CPU_LEVEL_SSE4, 1, 8},
    {"multiply_add.f64", HLO_DTYPE_F64, HLO_DTYPE_F64, 1, 1, 8, HLO_CPU_SSE2, HLO_CPU_LEVEL_SSE2,
     HLO_CPU_LEVEL_SSE4, 1, 8},
    {"fma.f32", HLO_DTYPE_F32, HLO_DTYPE_F32, 1, 1, 4, HLO_CPU_FMA, HLO_CPU_LEVEL_AVX2,
     HLO_CPU_LEVEL_AMX, 2, 4},
    {"fma.f64", HLO_DTYPE_F64, HLO_DTYPE_F64, 1, 1, 8, HLO_CPU_FMA, HLO_CPU_LEVEL_AVX2,
     HLO_CPU_LEVEL_AMX, 2, 4},
    {"pairs.bf16", HLO_DTYPE_BF16, HLO_DTYPE_F32, 1, 2, 4, HLO_CPU_AVX512BF16, HLO_CPU_LEVEL_AVX512,
     HLO_CPU_LEVEL_AMX, 2, 6},
    {"quads.s8", HLO_DTYPE_S8, HLO_DTYPE_S32, 1, 4, 4, HLO_CPU_AVX512VNNI, HLO_CPU_LEVEL_AVX512,
     HLO_CPU_LEVEL_AMX, 2, 5},
    {"tiles.bf16", HLO_DTYPE_BF16, HLO_DTYPE_F32, 16, 32, 4, HLO_CPU_AMX_BF16, HLO_CPU_LEVEL_AMX,
     HLO_CPU_LEVEL_AMX, 1. / 16, 52},
    {"tiles.f16", HLO_DTYPE_F16, HLO_DTYPE_F32, 16, 32, 4, HLO_CPU_AMX_FP16, HLO_CPU_LEVEL_AMX,
     HLO_CPU_LEVEL_AMX, 1. / 16, 52},
    {"tiles.s8", HLO_DTYPE_S8, HLO_DTYPE_S32, 16, 64, 4, HLO_CPU_AMX_INT8, HLO_CPU_LEVEL_AMX,
     HLO_CPU_LEVEL_AMX, 1. / 16, 52},
};

// Layouts of operands by the number of accumulator lanes: 2 (f64 of SSE), 4 (SSE, f64 of AVX2), 8,
// 16.
typedef struct lanes_layout {
  int64_t lanes, depth;
  const char *a, *b, *sum;
} lanes_layout_t;

static const lanes_layout_t LAYOUTS[] = {
    {2, 1, "<1x1 | *:2 lane 1>", "<1x2 | 1:2/1 lane 1>", "<1x2 | 1:2/1 lane 1>"},
    {4, 1, "<1x1 | *:4 lane 1>", "<1x4 | 1:4/1 lane 1>", "<1x4 | 1:4/1 lane 1>"},
    {8, 1, "<1x1 | *:8 lane 1>", "<1x8 | 1:8/1 lane 1>", "<1x8 | 1:8/1 lane 1>"},
    {16, 1, "<1x1 | *:16 lane 1>", "<1x16 | 1:16/1 lane 1>", "<1x16 | 1:16/1 lane 1>"},
    {16, 2, "<1x2 | 1:2/1 lane 1, *:16 lane 2>", "<2x16 | 0:2/1 lane 1, 1:16/1 lane 2>",
     "<1x16 | 1:16/1 lane 1>"},
    {16, 4, "<1x4 | 1:4/1 lane 1, *:16 lane 4>", "<4x16 | 0:4/1 lane 1, 1:16/1 lane 4>",
     "<1x16 | 1:16/1 lane 1>"},
    {16, 32, "<16x32 | 1:32/1 lane 1, 0:16/1 lane 32>",
     "<32x16 | 0:2/1 lane 1, 1:16/1 lane 2, 0:16/2 lane 32>",
     "<16x16 | 1:16/1 lane 1, 0:16/1 lane 16>"},
    {16, 64, "<16x64 | 1:64/1 lane 1, 0:16/1 lane 64>",
     "<64x16 | 0:4/1 lane 1, 1:16/1 lane 4, 0:16/4 lane 64>",
     "<16x16 | 1:16/1 lane 1, 0:16/1 lane 16>"},
};

static void add_atom(hlo_tile_target_t* tile, const hlo_tile_atom_t* atom) {
  tile->atoms[tile->atom_count++] = *atom;
}

static void add_plain(hlo_tile_target_t* tile, const char* name, hlo_tile_atom_op_t op,
                      double per_cycle, double latency_cycles) {
  add_atom(tile, &(hlo_tile_atom_t){.name = name,
                                    .op = op,
                                    .per_ns = per_cycle * CYCLES_PER_NS,
                                    .latency_ns = latency_cycles / CYCLES_PER_NS});
}

static void add_products(hlo_tile_target_t* tile, const hlo_cpu_t* cpu) {
  for (uint32_t i = 0; i < sizeof PRODUCTS / sizeof *PRODUCTS; ++i) {
    const product_t* product = &PRODUCTS[i];
    if (cpu->level < product->level || cpu->level > product->last_level) continue;
    if (!hlo_cpu_has(cpu, product->feature)) continue;
    hlo_tile_atom_t atom = {.name = product->name,
                            .op = HLO_TILE_ATOM_PRODUCT,
                            .operand = product->operand,
                            .result = product->result,
                            .rows = product->rows,
                            .columns = tile->vector_bytes / product->sum_bytes,
                            .depth = product->depth,
                            .per_ns = product->per_cycle * CYCLES_PER_NS,
                            .latency_ns = product->latency_cycles / CYCLES_PER_NS};
    for (uint32_t k = 0; k < sizeof LAYOUTS / sizeof *LAYOUTS; ++k) {
      const lanes_layout_t* layout = &LAYOUTS[k];
      if (layout->lanes != atom.columns || layout->depth != atom.depth) continue;
      atom.a = layout->a, atom.b = layout->b, atom.sum = layout->sum;
    }
    add_atom(tile, &atom);
  }
}

static int64_t known_or(uint32_t bytes, int64_t otherwise) {
  return bytes ? bytes : otherwise;
}

// A core gets its share of the last-level cache, however large the whole is.
static int64_t share_of(uint32_t bytes) {
  const int64_t most = 32 << 20;
  return bytes < most ? known_or(bytes, 4 << 20) : most;
}

static void describe(const hlo_cpu_t* cpu, hlo_tile_target_t* tile) {
  const level_t* level = &LEVELS[cpu->level];
  const int64_t line = 64, vector = level->vector_bytes;
  const double one = (double)vector * CYCLES_PER_NS, second = one < 128 ? one : 128;
  *tile = (hlo_tile_target_t){
      .vector_bytes = vector,
      .vector_count = level->vector_count,
      .memory_count = 5,
      .memories = {{"registers", vector * level->vector_count, vector, 0, 0},
                   {"L1", known_or(cpu->l1_bytes, 32 << 10), line, one * 2, PAGE_BYTES},
                   {"L2", known_or(cpu->l2_bytes, 512 << 10), line, second, 0},
                   {"L3", share_of(cpu->l3_bytes), line, 16, 0},
                   {"memory", INT64_MAX, line, 12, 0}},
      .pass_ns = 100,
      .exposed = 0.06,
      .moving = {50000, 25000},
      .multiplying = {20000, 8000},
      .max_chunks = 64,
  };
  add_plain(tile, "operation", HLO_TILE_ATOM_VECTOR, level->operations, 4);
  add_plain(tile, "load", HLO_TILE_ATOM_LOAD, level->loads, 5);
  add_plain(tile, "splat", HLO_TILE_ATOM_SPLAT, level->splats, 5);
  add_plain(tile, "gather", HLO_TILE_ATOM_GATHER, level->gathers, 20);
  // Costs a little more than its loads and shuffles, which overlap with other instructions.
  add_plain(tile, "step", HLO_TILE_ATOM_STEP, level->loads / 1.5, 6);
  add_plain(tile, "window", HLO_TILE_ATOM_WINDOW, level->loads / 12, 8);
  add_plain(tile, "turn", HLO_TILE_ATOM_TRANSPOSE, level->loads / 2, 8);
  add_plain(tile, "shuffle", HLO_TILE_ATOM_SHUFFLE, level->shuffles, 3);
  add_products(tile, cpu);
}

static bool has_quads(const hlo_cpu_t* cpu) {
  return hlo_cpu_has(cpu,
                     cpu->level >= HLO_CPU_LEVEL_AVX512 ? HLO_CPU_AVX512VNNI : HLO_CPU_AVX_VNNI);
}

void hlo_target_init(const hlo_cpu_t* cpu, hlo_target_t* out_target) {
  *out_target = (hlo_target_t){
      .cpu = *cpu,
      .has_dot_u8s8 = has_quads(cpu),
      .has_dot_bf16 = hlo_cpu_has(cpu, HLO_CPU_AVX512BF16) && cpu->level >= HLO_CPU_LEVEL_AVX512,
      .has_permute_pair =
          hlo_cpu_has(cpu, HLO_CPU_AVX512VBMI) && cpu->level >= HLO_CPU_LEVEL_AVX512,
      .subnormals = hlo_env_default()->subnormals,
      .has_half = hlo_cpu_has(cpu, HLO_CPU_AVX512FP16) && cpu->level >= HLO_CPU_LEVEL_AVX512,
      .has_scale = cpu->level >= HLO_CPU_LEVEL_AVX512,
      .has_threads = true,
      .has_masks = cpu->level >= HLO_CPU_LEVEL_AVX512,
      .has_parts = cpu->level >= HLO_CPU_LEVEL_AVX2,
      .has_permute = cpu->level >= HLO_CPU_LEVEL_AVX2,
      .has_fma = cpu->level >= HLO_CPU_LEVEL_AVX2 || cpu->level == HLO_CPU_LEVEL_GENERIC,
      .has_encoder = cpu->level >= HLO_CPU_LEVEL_SSE2};
  hlo_cpu_limit(&out_target->cpu, cpu->level);
  describe(cpu, &out_target->tile);
  out_target->vector_bytes = (uint32_t)out_target->tile.vector_bytes;
  out_target->vector_registers = (uint32_t)out_target->tile.vector_count;
  out_target->mask_registers =
      out_target->has_masks ? AVX512_MASK_REGISTERS : out_target->vector_registers;
}

hlo_status_t hlo_target_find(const char* wanted, bool may_be_absent, hlo_target_t* out_target) {
  hlo_cpu_t cpu;
  char* text = NULL;
  HLO_TRY(may_be_absent ? hlo_cpu_find(wanted, &cpu) : hlo_cpu_detect(wanted, &cpu));
  HLO_TRY(hlo_cpu_read_description(wanted, &text));
  hlo_target_init(&cpu, out_target);
  if (text) hlo_tile_target_read(text, &out_target->tile);
  hlo_mem_free(text);
  return hlo_ok();
}

void hlo_target_print(const hlo_target_t* target, hlo_strbuf_t* out) {
  const hlo_cpu_t* cpu = &target->cpu;
  hlo_strbuf_puts(out, "features: ");
  hlo_cpu_print_features(cpu->features, out);
  hlo_strbuf_printf(out, "\ncaches: L1 %u KiB, L2 %u KiB, L3 %u KiB\n", cpu->l1_bytes >> 10,
                    cpu->l2_bytes >> 10, cpu->l3_bytes >> 10);
  hlo_target_t plain;
  hlo_target_init(cpu, &plain);
  plain.subnormals = target->subnormals;
  if (hlo_target_hash(&plain, 0) != hlo_target_hash(target, 0)) {
    hlo_tile_target_print(&target->tile, 17, out);
  }
}

// Returns the total cache size; 0: not known.
static double cached_bytes(const hlo_target_t* target) {
  const hlo_tile_target_t* tile = &target->tile;
  return tile->memory_count < 2 ? 0 : (double)tile->memories[tile->memory_count - 2].capacity_bytes;
}

bool hlo_target_is_large(const hlo_target_t* target, size_t size_bytes) {
  double most = cached_bytes(target);
  return most > 0 && (double)size_bytes > most;
}

bool hlo_target_passes_caches(const hlo_target_t* target, size_t stored_bytes, double moved_bytes) {
  double most = cached_bytes(target), stored = (double)stored_bytes;
  return most > 0 && (stored > most || (stored > most / HLO_TUNING_STREAM_STORED_SHARE &&
                                        moved_bytes > HLO_TUNING_STREAM_MOVED_SHARE * most));
}

uint64_t hlo_target_hash(const hlo_target_t* target, uint64_t hash) {
  const uint64_t words[] = {
      target->cpu.features,     (uint64_t)target->cpu.level, target->cpu.l1_bytes,
      target->cpu.l2_bytes,     target->cpu.l3_bytes,        target->vector_bytes,
      target->vector_registers, target->has_masks,           target->subnormals};
  hash = hlo_hash_bytes(words, sizeof words, hash);
  for (uint32_t i = 0; i < target->tile.memory_count; ++i) {
    const hlo_tile_memory_t* memory = &target->tile.memories[i];
    const double numbers[] = {(double)memory->capacity_bytes, memory->bytes_per_ns};
    hash = hlo_hash_bytes(numbers, sizeof numbers, hash);
  }
  for (uint32_t i = 0; i < target->tile.atom_count; ++i) {
    const hlo_tile_atom_t* atom = &target->tile.atoms[i];
    const double numbers[] = {atom->per_ns, atom->latency_ns};
    hash = hlo_hash_bytes(numbers, sizeof numbers, hash);
  }
  for (uint32_t i = 0; i < target->tile.tuned_count; ++i) {
    const hlo_tile_tuned_t* tuned = &target->tile.tuned[i];
    const int64_t numbers[] = {tuned->rows, tuned->columns, tuned->steps, tuned->height,
                               tuned->width};
    hash = hlo_hash_bytes(tuned->kind, strlen(tuned->kind), hash);
    hash = hlo_hash_bytes(numbers, sizeof numbers, hash);
  }
  return hash;
}
