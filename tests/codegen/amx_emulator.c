// SPDX-License-Identifier: Apache-2.0
// An emulator of tile instructions (AMX) for processors without them, linked into tests only: the
// instructions raise SIGILL, and the handler executes and skips them. The program reads processor
// features that include AMX. The emulator is inactive on processors with AMX.
// source: Intel SDM volume 1, chapter 18, and volume 2, the instructions' operation
#define _GNU_SOURCE
#include "amx_emulator.h"

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "base/cpu_impl.h"
#include "base/dtype.h"

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64, CONFIG_BYTES = 64, GROUP_BYTES = 4 };

typedef struct tile {
  uint32_t rows, row_bytes;
  uint8_t data[ROWS][ROW_BYTES];
} tile_t;

typedef struct unit {
  bool is_configured;
  tile_t tiles[TILES];
} unit_t;

static _Thread_local unit_t t_unit;

// ---- configuration

enum { PALETTE = 1, FIRST_COLUMN_BYTES = 16, FIRST_ROWS = 48 };

static bool load_config(const uint8_t* bytes) {
  memset(&t_unit, 0, sizeof t_unit);
  if (bytes[0] == 0) return true;
  bool sound = bytes[0] == PALETTE;
  for (uint32_t i = 1; i < FIRST_COLUMN_BYTES; ++i) sound &= bytes[i] == 0;
  for (uint32_t i = 0; i < FIRST_COLUMN_BYTES; ++i) {
    uint32_t columns = bytes[FIRST_COLUMN_BYTES + 2 * i] + 256u * bytes[17 + 2 * i];
    uint32_t rows = bytes[FIRST_ROWS + i];
    sound &= columns <= ROW_BYTES && rows <= ROWS && !columns == !rows;
    if (i >= TILES) {
      sound &= rows == 0;
    } else {
      t_unit.tiles[i].rows = rows;
      t_unit.tiles[i].row_bytes = columns;
    }
  }
  t_unit.is_configured = sound;
  return sound;
}

static void store_config(uint8_t* bytes) {
  memset(bytes, 0, CONFIG_BYTES);
  if (!t_unit.is_configured) return;
  bytes[0] = PALETTE;
  for (uint32_t i = 0; i < TILES; ++i) {
    bytes[FIRST_COLUMN_BYTES + 2 * i] = (uint8_t)t_unit.tiles[i].row_bytes;
    bytes[FIRST_ROWS + i] = (uint8_t)t_unit.tiles[i].rows;
  }
}

// ---- memory

static bool load_tile(tile_t* tile, const uint8_t* from, int64_t step) {
  if (!tile->rows) return false;
  memset(tile->data, 0, sizeof tile->data);
  for (uint32_t r = 0; r < tile->rows; ++r) {
    memcpy(tile->data[r], from + (int64_t)r * step, tile->row_bytes);
  }
  return true;
}

static bool store_tile(const tile_t* tile, uint8_t* to, int64_t step) {
  if (!tile->rows) return false;
  for (uint32_t r = 0; r < tile->rows; ++r) {
    memcpy(to + (int64_t)r * step, tile->data[r], tile->row_bytes);
  }
  return true;
}

// ---- products

// Denormal inputs and results are zeros.
static float flush(float x) {
  return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

static float fused(float a, float b, float c) {
  return flush(fmaf(flush(a), flush(b), flush(c)));
}

static float bf16_at(const uint8_t* at) {
  uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 24;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static float f16_at(const uint8_t* at) {
  return hlo_f16_to_f32((uint16_t)(at[0] | at[1] << 8));
}

typedef struct multiplication {
  float (*element)(const uint8_t*);  // of floats; NULL: bytes
  bool is_a_signed, is_b_signed;
} multiplication_t;

static uint32_t dot_bytes(const multiplication_t* how, const tile_t* a, const tile_t* b, uint32_t m,
                          uint32_t n, uint32_t sum) {
  for (uint32_t k = 0; k < a->row_bytes; ++k) {
    uint8_t x = a->data[m][k], y = b->data[k / GROUP_BYTES][GROUP_BYTES * n + k % GROUP_BYTES];
    int32_t wide_x = how->is_a_signed ? (int8_t)x : x, wide_y = how->is_b_signed ? (int8_t)y : y;
    sum += (uint32_t)(wide_x * wide_y);
  }
  return sum;
}

// Sums even and odd elements separately from zero, then adds both together, then to the result.
static float dot_floats(const multiplication_t* how, const tile_t* a, const tile_t* b, uint32_t m,
                        uint32_t n, float sum) {
  float parts[2] = {0, 0};
  for (uint32_t k = 0; k < a->row_bytes / GROUP_BYTES; ++k) {
    for (uint32_t i = 0; i < 2; ++i) {
      parts[i] = fused(how->element(&a->data[m][GROUP_BYTES * k + 2 * i]),
                       how->element(&b->data[k][GROUP_BYTES * n + 2 * i]), parts[i]);
    }
  }
  float both = flush(flush(parts[0]) + flush(parts[1]));
  return flush(flush(sum) + both);
}

static bool multiply(const multiplication_t* how, uint32_t to, uint32_t left, uint32_t right) {
  tile_t *sum = &t_unit.tiles[to], *a = &t_unit.tiles[left], *b = &t_unit.tiles[right];
  bool is_distinct = to != left && to != right && left != right;
  bool is_there = sum->rows && a->rows && b->rows;
  bool fits = sum->rows == a->rows && sum->row_bytes == b->row_bytes &&
              a->row_bytes == b->rows * GROUP_BYTES && b->row_bytes % GROUP_BYTES == 0;
  if (!is_distinct || !is_there || !fits) return false;
  for (uint32_t m = 0; m < sum->rows; ++m) {
    for (uint32_t n = 0; n < sum->row_bytes / GROUP_BYTES; ++n) {
      uint8_t* at = &sum->data[m][GROUP_BYTES * n];
      if (how->element) {
        float value;
        memcpy(&value, at, sizeof value);
        value = dot_floats(how, a, b, m, n, value);
        memcpy(at, &value, sizeof value);
      } else {
        uint32_t value;
        memcpy(&value, at, sizeof value);
        value = dot_bytes(how, a, b, m, n, value);
        memcpy(at, &value, sizeof value);
      }
    }
  }
  for (uint32_t m = sum->rows; m < ROWS; ++m) memset(sum->data[m], 0, ROW_BYTES);
  return true;
}

// ---- decoding

typedef struct instruction {
  uint32_t prefix, opcode;  // prefix: 0 none, 1 66, 2 F3, 3 F2
  uint32_t mod, reg, rm, vvvv;
  uint8_t* address;  // of memory
  int64_t step;      // the index register
  uint32_t length;
} instruction_t;

static int64_t general(const ucontext_t* context, uint32_t number) {
  static const uint8_t kPlaces[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                    REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                    REG_R12, REG_R13, REG_R14, REG_R15};
  return context->uc_mcontext.gregs[kPlaces[number]];
}

static void decode_memory(const ucontext_t* context, const uint8_t* code, uint32_t x, uint32_t b,
                          instruction_t* i) {
  enum { HAS_SIB = 4, NO_BASE = 5, NO_INDEX = 4 };
  const uint8_t* at = code + i->length;
  uint32_t base = i->rm;
  int64_t address = 0;
  bool has_base = !(i->mod == 0 && base == NO_BASE), is_rip = !has_base;
  if (i->rm == HAS_SIB) {
    uint8_t sib = *at++;
    uint32_t index = (sib >> 3 & 7u) | x << 3;
    base = sib & 7;
    if (index != NO_INDEX) i->step = (int64_t)((uint64_t)general(context, index) << (sib >> 6));
    has_base = !(i->mod == 0 && base == NO_BASE);
  }
  if (has_base) address = general(context, base | b << 3);
  if (i->mod == 1) {
    address += (int8_t)*at++;
  } else if (i->mod == 2 || !has_base) {
    int32_t disp;
    memcpy(&disp, at, sizeof disp);
    address += disp;
    at += sizeof disp;
  }
  i->length = (uint32_t)(at - code);
  if (is_rip) address += (int64_t)(uintptr_t)at;
  i->address = (uint8_t*)(uintptr_t)address;
}

// All instructions are VEX.128 of map 0F38 with W 0.
static bool decode(const ucontext_t* context, instruction_t* i) {
  const uint8_t* code = (const uint8_t*)context->uc_mcontext.gregs[REG_RIP];
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || (code[2] & 0x84)) return false;
  *i = (instruction_t){.prefix = code[2] & 3,
                       .opcode = code[3],
                       .mod = code[4] >> 6,
                       .reg = code[4] >> 3 & 7,
                       .rm = code[4] & 7,
                       .vvvv = ~(code[2] >> 3) & 15,
                       .length = 5};
  bool has_high_reg = !(code[1] & 0x80);
  if (has_high_reg || i->vvvv >= TILES) return false;
  if (i->mod != 3) decode_memory(context, code, !(code[1] & 0x40), !(code[1] & 0x20), i);
  return true;
}

enum { NO_PREFIX, PREFIX_66, PREFIX_F3, PREFIX_F2 };

static bool run_config(const instruction_t* i) {
  if (i->mod != 3) {
    if (i->reg != 0 || i->prefix > PREFIX_66) return false;
    if (i->prefix == NO_PREFIX) return load_config(i->address);
    store_config(i->address);
    return true;
  }
  if (i->rm != 0) return false;
  if (i->prefix == NO_PREFIX && i->reg == 0) {
    memset(&t_unit, 0, sizeof t_unit);
    return true;
  }
  if (i->prefix != PREFIX_F2 || !t_unit.tiles[i->reg].rows) return false;
  memset(t_unit.tiles[i->reg].data, 0, sizeof t_unit.tiles[i->reg].data);
  return true;
}

static bool run_memory(const instruction_t* i) {
  enum { HAS_SIB = 4 };
  if (i->mod == 3 || i->rm != HAS_SIB) return false;
  tile_t* tile = &t_unit.tiles[i->reg];
  switch (i->prefix) {
    case PREFIX_66:
    case PREFIX_F2: return load_tile(tile, i->address, i->step);
    case PREFIX_F3: return store_tile(tile, i->address, i->step);
    default: return false;
  }
}

static bool run(const instruction_t* i) {
  static const multiplication_t kBytes[] = {[NO_PREFIX] = {NULL, false, false},
                                            [PREFIX_66] = {NULL, false, true},
                                            [PREFIX_F3] = {NULL, true, false},
                                            [PREFIX_F2] = {NULL, true, true}};
  static const multiplication_t kFloats[] = {
      [PREFIX_F3] = {bf16_at, false, false}, [PREFIX_F2] = {f16_at, false, false}};
  switch (i->opcode) {
    case 0x49: return run_config(i);
    case 0x4b: return run_memory(i);
    case 0x5e: return i->mod == 3 && multiply(&kBytes[i->prefix], i->reg, i->rm, i->vvvv);
    case 0x5c:
      return i->mod == 3 && i->prefix >= PREFIX_F3 &&
             multiply(&kFloats[i->prefix], i->reg, i->rm, i->vvvv);
    default: return false;
  }
}

// Other and invalid instructions are executed again, which ends the program.
static void handle(int number, siginfo_t* info, void* data) {
  (void)info;
  ucontext_t* context = data;
  instruction_t i;
  if (decode(context, &i) && run(&i)) {
    context->uc_mcontext.gregs[REG_RIP] += i.length;
    return;
  }
  signal(number, SIG_DFL);
}

__attribute__((constructor)) void amx_emulator_install(void) {
  struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigemptyset(&action.sa_mask);
  sigaction(SIGILL, &action, NULL);
}

// ---- replacements of functions, linked with --wrap

int __real_pthread_sigmask(int how, const sigset_t* set, sigset_t* old);
int __wrap_pthread_sigmask(int how, const sigset_t* set, sigset_t* old);

// Workers block all signals; a blocked SIGILL would end the program.
int __wrap_pthread_sigmask(int how, const sigset_t* set, sigset_t* old) {
  sigset_t others;
  if (set && how != SIG_UNBLOCK) {
    others = *set;
    sigdelset(&others, SIGILL);
    set = &others;
  }
  return __real_pthread_sigmask(how, set, old);
}

uint64_t __real_hlo_cpu_read_features(void);
uint64_t __wrap_hlo_cpu_read_features(void);

bool amx_emulator_is_idle(void) {
  return __real_hlo_cpu_read_features() >> HLO_CPU_AMX_TILE & 1;
}

// On a processor with tiles nothing is emulated: the contents of its tiles are inaccessible here.
uint64_t __wrap_hlo_cpu_read_features(void) {
  const uint64_t tile = UINT64_C(1) << HLO_CPU_AMX_TILE;
  uint64_t features = __real_hlo_cpu_read_features();
  if (features & tile) return features;
  return features | tile | UINT64_C(1) << HLO_CPU_AMX_BF16 | UINT64_C(1) << HLO_CPU_AMX_INT8 |
         UINT64_C(1) << HLO_CPU_AMX_FP16;
}
