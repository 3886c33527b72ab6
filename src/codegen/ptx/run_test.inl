// SPDX-License-Identifier: Apache-2.0
// Runs the PTX text that emit.c writes, thread by thread, on host memory: a reading of the language
// that shares nothing with the emitter. The threads of a block run in turns until each waits; what
// a warp does together is in run_group_test.inl, barriers and copies of boxes in
// run_bulk_test.inl, tensor memory in run_tensor_test.inl, waits in run_meet_test.inl. For tests
// only; an instruction that it does not know fails the test.
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "base/fpenv.h"
#include "base/mem.h"

enum { PTX_LINES_MAX = 1 << 16, PTX_OPERANDS_MAX = 24, PTX_KINDS = 7, PTX_WINDOW_BYTES = 1 << 18 };

typedef struct ptx_insn ptx_insn_t;

typedef struct ptx_run {
  char* text;  // taken apart
  char* lines[PTX_LINES_MAX];
  ptx_insn_t* insns;  // one for each line
  uint32_t line_count;
  uint64_t* file;  // of all threads: registers by kind, then the numbers of thread and block
  uint32_t register_count, file_words;
  uint64_t params[32];
  uint32_t thread_count;  // of a block
  struct ptx_thread* threads;
  uint8_t* near;           // shared memory
  struct ptx_byte* bytes;  // of shared memory: who accessed them since the last wait
  uint32_t near_bytes, epoch, race_count;
  struct ptx_bulk* bulk;  // matrices, barriers, copies under way (run_bulk_test.inl)
  struct ptx_tensor* tensor;  // run_tensor_test.inl
  uint8_t stacks[16][4096];
  uint64_t stack_numbers[16];
  uint32_t stack_count;
  const uint8_t* const* blobs;
} ptx_run_t;

typedef struct ptx_type {
  char letter;    // b, u, s, f, p
  uint32_t bits;  // 1 of predicates
} ptx_type_t;

static ptx_type_t ptx_type(const char* name) {
  if (strcmp(name, "pred") == 0) return (ptx_type_t){'p', 1};
  return (ptx_type_t){name[0], (uint32_t)atoi(name + 1)};
}

static uint64_t ptx_low(uint64_t word, uint32_t bits) {
  return bits == 64 ? word : word & ((UINT64_C(1) << bits) - 1);
}

static int64_t ptx_signed(uint64_t word, uint32_t bits) {
  return (int64_t)(word << (64 - bits)) >> (64 - bits);
}

static float ptx_f32(uint64_t word) {
  const uint32_t bits = (uint32_t)word;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double ptx_f64(uint64_t word) {
  double x;
  memcpy(&x, &word, sizeof x);
  return x;
}

static uint64_t ptx_word(double x, uint32_t bits) {
  const float narrow = (float)x;
  uint64_t word = 0;
  memcpy(&word, bits == 64 ? (void*)&x : (void*)&narrow, bits / 8);
  return word;
}

static double ptx_number(uint64_t word, ptx_type_t type, bool flushes) {
  if (type.letter == 'u') return (double)ptx_low(word, type.bits);
  if (type.letter == 's') return (double)ptx_signed(word, type.bits);
  if (type.bits == 64) return ptx_f64(word);
  const float x = ptx_f32(word);
  return flushes && fpclassify(x) == FP_SUBNORMAL ? copysign(0.0, (double)x) : (double)x;
}

static uint64_t* ptx_register(ptx_run_t* run, const char* name) {
  static const char* const prefixes[PTX_KINDS] = {"p", "h", "r", "rd", "f", "fd", "g"};
  const size_t letters = strcspn(name + 1, "0123456789");
  for (uint32_t kind = 0; kind < PTX_KINDS; ++kind) {
    if (strlen(prefixes[kind]) != letters || strncmp(name + 1, prefixes[kind], letters) != 0)
      continue;
    const uint32_t number = (uint32_t)atoi(name + 1 + letters);
    assert_true(number < run->register_count);
    return &run->file[kind * run->register_count + number];
  }
  fail_msg("register %s", name);
  return NULL;
}

static uint64_t ptx_value(ptx_run_t* run, const char* operand) {
  if (strchr(operand, '.')) return 0;  // %ctaid.x and %ntid.x: one block
  if (strncmp(operand, "near", 4) == 0) return (uint64_t)(uintptr_t)run->near;
  if (operand[0] == '%') return *ptx_register(run, operand);
  if (strncmp(operand, "0f", 2) == 0 || strncmp(operand, "0d", 2) == 0) {
    return strtoull(operand + 2, NULL, 16);
  }
  if (strncmp(operand, "param_", 6) == 0) return run->params[atoi(operand + 6)];
  if (strncmp(operand, "map_", 4) == 0) return (uint64_t)atoi(operand + 4);
  if (strncmp(operand, "blob_", 5) == 0) return (uint64_t)(uintptr_t)run->blobs[atoi(operand + 5)];
  if (strncmp(operand, "stack_", 6) == 0) {
    for (uint32_t i = 0; i < run->stack_count; ++i) {
      if (run->stack_numbers[i] == strtoull(operand + 6, NULL, 10)) {
        return (uint64_t)(uintptr_t)run->stacks[i];
      }
    }
  }
  return operand[0] == '-' ? (uint64_t)strtoll(operand, NULL, 0) : strtoull(operand, NULL, 0);
}

// ---- instructions ------------------------------------------------------------------------------

typedef enum ptx_form {
  PTX_NOTHING,  // labels, declarations
  PTX_COMPUTE,
  PTX_LOAD,
  PTX_STORE,
  PTX_BRANCH,
  PTX_RETURN,
  PTX_SYNC,   // all threads of the block wait for each other
  PTX_WARP,   // a warp does it together
  PTX_ASYNC,  // a copy, or the end of a batch
  PTX_BULK,   // a copy by boxes, or a barrier in memory
  PTX_TRY,    // goes on when a phase of a barrier has ended
  PTX_TENSOR,  // a thread starts a product in tensor memory, or wants its end
} ptx_form_t;

/// An instruction's name in parts, and operands: registers or words.
struct ptx_insn {
  ptx_form_t form;
  char* parts[16];
  uint32_t part_count;
  const uint64_t* predicate;  // NULL: none
  uint64_t* registers[PTX_OPERANDS_MAX];
  uint64_t words[PTX_OPERANDS_MAX];
  uint32_t operand_count, result_bits, target, list_count;  // list: of a matrix's registers
  int64_t displacement;
  ptx_type_t type;   // the last part
  ptx_type_t other;  // the one before, of conversions and wide products
  bool flushes;
};

static bool ptx_has(const ptx_insn_t* insn, const char* part) {
  for (uint32_t i = 1; i < insn->part_count; ++i) {
    if (strcmp(insn->parts[i], part) == 0) return true;
  }
  return false;
}

static uint64_t ptx_flushed(uint64_t word, const ptx_insn_t* insn) {
  const bool is_small = insn->flushes && (word & 0x7f800000) == 0;
  return is_small ? word & 0x80000000 : word;
}

// The processor flushes: the language leaves open whether a result that rounds to the least normal
// number is one. `volatile` keeps the operation between the changes of its state.
static float ptx_f32_result(const char* name, const ptx_insn_t* insn, const double* x) {
  volatile float a = (float)x[0], b = (float)x[1], c = (float)x[2], result;
  const hlo_fp_state_t before =
      hlo_fp_enter(insn->flushes ? HLO_SUBNORMALS_FLUSH : HLO_SUBNORMALS_KEEP);
  result = strcmp(name, "add") == 0    ? a + b
           : strcmp(name, "sub") == 0  ? a - b
           : strcmp(name, "mul") == 0  ? a * b
           : strcmp(name, "div") == 0  ? a / b
           : strcmp(name, "sqrt") == 0 ? sqrtf(a)
           : strcmp(name, "neg") == 0  ? -a
                                       : fmaf(a, b, c);
  hlo_fp_leave(before);
  return result;
}

static uint64_t ptx_float_result(const char* name, const ptx_insn_t* insn, const double* x) {
  if (insn->type.bits == 32) {
    return ptx_flushed(ptx_word((double)ptx_f32_result(name, insn, x), 32), insn);
  }
  const double result = strcmp(name, "add") == 0    ? x[0] + x[1]
                        : strcmp(name, "sub") == 0  ? x[0] - x[1]
                        : strcmp(name, "mul") == 0  ? x[0] * x[1]
                        : strcmp(name, "div") == 0  ? x[0] / x[1]
                        : strcmp(name, "sqrt") == 0 ? sqrt(x[0])
                        : strcmp(name, "neg") == 0  ? -x[0]
                                                    : fma(x[0], x[1], x[2]);
  return ptx_word(result, 64);
}

static uint64_t ptx_int_result(const char* name, const ptx_insn_t* insn, uint64_t a, uint64_t b,
                               uint64_t c) {
  const uint32_t bits = insn->type.bits;
  const bool is_signed = insn->type.letter == 's';
  const uint64_t x = ptx_low(a, bits), y = ptx_low(b, bits);
  const int64_t sx = ptx_signed(x, bits), sy = ptx_signed(y, bits);
  if (strcmp(name, "add") == 0) return x + y;
  if (strcmp(name, "sub") == 0) return x - y;
  if (strcmp(name, "mul") == 0) return x * y;
  if (strcmp(name, "mad") == 0) return ptx_has(insn, "wide") ? x * y + c : x * y + ptx_low(c, bits);
  if (strcmp(name, "min") == 0) return is_signed ? (sx < sy ? x : y) : x < y ? x : y;
  if (strcmp(name, "max") == 0) return is_signed ? (sx > sy ? x : y) : x > y ? x : y;
  if (strcmp(name, "div") == 0) return is_signed ? (uint64_t)(sx / sy) : x / y;
  if (strcmp(name, "rem") == 0) return is_signed ? (uint64_t)(sx % sy) : x % y;
  fail_msg("instruction %s", name);
  return 0;
}

static uint64_t ptx_bits_result(const char* name, const ptx_insn_t* insn, uint64_t a, uint64_t b,
                                uint64_t c) {
  const uint32_t bits = insn->type.bits;
  const uint64_t x = ptx_low(a, bits), count = ptx_low(b, 32) < bits ? ptx_low(b, 32) : bits;
  if (strcmp(name, "and") == 0) return a & b;
  if (strcmp(name, "or") == 0) return a | b;
  if (strcmp(name, "xor") == 0) return a ^ b;
  if (strcmp(name, "not") == 0) return ~a;
  if (strcmp(name, "shl") == 0) return count == bits ? 0 : x << count;
  if (strcmp(name, "shr") == 0 && insn->type.letter == 's') {
    return (uint64_t)(ptx_signed(x, bits) >> (count == bits ? bits - 1 : count));
  }
  if (strcmp(name, "shr") == 0) return count == bits ? 0 : x >> count;
  if (strcmp(name, "popc") == 0) return (uint64_t)__builtin_popcountll(x);
  if (strcmp(name, "clz") == 0) return x ? (uint64_t)__builtin_clzll(x) - (64 - bits) : bits;
  if (strcmp(name, "bfe") == 0) return (uint64_t)ptx_signed(x >> b, (uint32_t)c);
  fail_msg("instruction %s", name);
  return 0;
}

static double ptx_rounded(const ptx_insn_t* insn, double x) {
  if (ptx_has(insn, "rni")) return rint(x);
  if (ptx_has(insn, "rmi")) return floor(x);
  if (ptx_has(insn, "rpi")) return ceil(x);
  return trunc(x);
}

// Conversions to integers clamp; a NaN becomes 0 (an integer of 64 bits: the sign bit).
static uint64_t ptx_clamped(double x, ptx_type_t type) {
  if (isnan(x)) return type.bits == 64 ? (uint64_t)INT64_MIN : 0;
  const double limit = ldexp(1, (int)type.bits - (type.letter == 's'));
  if (type.letter == 'u') return x <= 0 ? 0 : x >= limit ? UINT64_MAX : (uint64_t)x;
  const int64_t most = (int64_t)(UINT64_MAX >> (65 - type.bits));
  return (uint64_t)(x < -limit ? -most - 1 : x >= limit ? most : (int64_t)x);
}

static uint64_t ptx_converted(const ptx_insn_t* insn, uint64_t word) {
  const ptx_type_t to = insn->other, from = insn->type;
  if (to.letter != 'f' && from.letter != 'f') {
    const uint64_t wide =
        from.letter == 's' ? (uint64_t)ptx_signed(word, from.bits) : ptx_low(word, from.bits);
    return ptx_low(wide, to.bits);
  }
  if (from.letter == 'f' && from.bits == 16)
    return ptx_word((double)hlo_f16_to_f32((uint16_t)word), 32);
  if (to.letter == 'f' && to.bits == 16) return hlo_f32_to_f16(ptx_f32(word));
  if (from.letter != 'f' && to.bits == 32) {
    const float x =
        from.letter == 's' ? (float)ptx_signed(word, from.bits) : (float)ptx_low(word, from.bits);
    return ptx_word((double)x, 32);
  }
  double x = ptx_number(word, from, insn->flushes);
  if (to.letter != 'f') return ptx_low(ptx_clamped(trunc(x), to), to.bits);
  if (to.bits == from.bits && from.letter == 'f') x = ptx_rounded(insn, x);
  return to.bits == 32 ? ptx_flushed(ptx_word(x, 32), insn) : ptx_word(x, 64);
}

static bool ptx_compared(const ptx_insn_t* insn, uint64_t a, uint64_t b) {
  const char* condition = insn->parts[1];
  const bool is_float = insn->type.letter == 'f', is_unsigned = insn->type.letter == 'u';
  const double x = ptx_number(a, insn->type, insn->flushes);
  const double y = ptx_number(b, insn->type, insn->flushes);
  const uint64_t bias = is_unsigned ? 0 : UINT64_C(1) << 63;
  const uint64_t i =
      (is_unsigned ? ptx_low(a, insn->type.bits) : (uint64_t)ptx_signed(a, insn->type.bits)) ^ bias;
  const uint64_t j =
      (is_unsigned ? ptx_low(b, insn->type.bits) : (uint64_t)ptx_signed(b, insn->type.bits)) ^ bias;
  const bool is_nan = is_float && (isnan(x) || isnan(y));
  if (strcmp(condition, "nan") == 0) return is_nan;
  if (strcmp(condition, "num") == 0) return !is_nan;
  if (strcmp(condition, "neu") == 0) return is_nan || x != y;
  if (is_nan) return false;
  const int order = is_float ? (x > y) - (x < y) : (i > j) - (i < j);
  return strcmp(condition, "eq") == 0   ? order == 0
         : strcmp(condition, "ne") == 0 ? order != 0
         : strcmp(condition, "lt") == 0 ? order < 0
         : strcmp(condition, "le") == 0 ? order <= 0
         : strcmp(condition, "gt") == 0 ? order > 0
                                        : order >= 0;
}

static uint64_t ptx_dp4a(uint64_t a, uint64_t b, uint64_t c) {
  for (int i = 0; i < 4; ++i) c += (uint64_t)((uint8_t)(a >> 8 * i) * (int8_t)(b >> 8 * i));
  return c;
}

// offset: of the thread's registers
static uint64_t ptx_operand(const ptx_insn_t* insn, uint32_t at, size_t offset) {
  return insn->registers[at] ? insn->registers[at][offset] : insn->words[at];
}

static void ptx_compute(const ptx_insn_t* insn, size_t offset) {
  const char* name = insn->parts[0];
  uint64_t words[PTX_OPERANDS_MAX] = {0}, result;
  double numbers[PTX_OPERANDS_MAX] = {0};
  for (uint32_t i = 1; i < insn->operand_count; ++i) {
    words[i - 1] = ptx_operand(insn, i, offset);
    numbers[i - 1] = ptx_number(words[i - 1], insn->type, insn->flushes);
  }
  if (strcmp(name, "mov") == 0 || strcmp(name, "cvta") == 0) {
    result = words[0];
  } else if (strcmp(name, "setp") == 0) {
    result = ptx_compared(insn, words[0], words[1]);
  } else if (strcmp(name, "selp") == 0) {
    result = words[2] & 1 ? words[0] : words[1];
  } else if (strcmp(name, "cvt") == 0) {
    result = ptx_converted(insn, words[0]);
  } else if (strcmp(name, "dp4a") == 0) {
    result = ptx_dp4a(words[0], words[1], words[2]);
  } else if (strcmp(name, "shf") == 0) {
    result = (ptx_low(words[1], 32) << 32 | ptx_low(words[0], 32)) << (words[2] & 31) >> 32;
  } else if (insn->type.letter == 'f') {
    result = ptx_float_result(name, insn, numbers);
  } else if (insn->type.letter == 'b' || insn->type.letter == 'p' || strcmp(name, "shr") == 0 ||
             strcmp(name, "bfe") == 0) {
    result = ptx_bits_result(name, insn, words[0], words[1], words[2]);
  } else {
    result = ptx_int_result(name, insn, words[0], words[1], words[2]);
  }
  insn->registers[0][offset] = ptx_low(result, insn->result_bits);
}

#include "codegen/ptx/run_group_test.inl"

#include "codegen/ptx/run_bulk_test.inl"

#include "codegen/ptx/run_tensor_test.inl"

#include "codegen/ptx/run_meet_test.inl"

static void ptx_access(ptx_run_t* run, const ptx_insn_t* insn, uint32_t thread) {
  const size_t offset = (size_t)thread * run->file_words;
  const bool is_load = insn->form == PTX_LOAD;
  const uint32_t count = ptx_has(insn, "v4") ? 4 : ptx_has(insn, "v2") ? 2 : 1;
  const uint64_t base = ptx_operand(insn, is_load ? count : 0, offset);
  uint8_t* address = (uint8_t*)(uintptr_t)(base + (uint64_t)insn->displacement);
  uint64_t word = is_load ? 0 : ptx_operand(insn, 1, offset);
  const bool is_shared = strcmp(insn->parts[1], "shared") == 0;
  const uint32_t bytes = insn->type.bits / 8;
  assert_int_equal(insn->operand_count, count + 1);
  if (is_shared) ptx_see(run, address, count * bytes, thread, !is_load);
  if (count > 1) {
    assert_int_equal((uintptr_t)address % (count * bytes), 0);
    for (uint32_t i = 0; i < count; ++i) {
      uint64_t element = is_load ? 0 : ptx_operand(insn, i + 1, offset);
      memcpy(is_load ? (uint8_t*)&element : address + (size_t)i * bytes,
             is_load ? address + (size_t)i * bytes : (uint8_t*)&element, bytes);
      if (is_load) insn->registers[i][offset] = element;
    }
    return;
  }
  if (!is_load) {
    memcpy(address, &word, insn->type.bits / 8);
    return;
  }
  if (strcmp(insn->parts[1], "param") == 0) {
    word = base;
  } else {
    memcpy(&word, address, insn->type.bits / 8);
  }
  const bool is_signed = insn->type.letter == 's';
  insn->registers[0][offset] = is_signed ? (uint64_t)ptx_signed(word, insn->type.bits) : word;
}

// ---- kernels -----------------------------------------------------------------------------------

static uint32_t ptx_label(const ptx_run_t* run, const char* name) {
  const size_t length = strlen(name);
  for (uint32_t i = 0; i < run->line_count; ++i) {
    if (strncmp(run->lines[i], name, length) == 0 && run->lines[i][length] == ':') return i;
  }
  fail_msg("label %s", name);
  return 0;
}

static void ptx_declare(ptx_run_t* run, const char* line) {
  if (strncmp(line, ".reg", 4) == 0) {
    const uint32_t count = (uint32_t)atoi(strchr(line, '<') + 1);
    if (count > run->register_count) run->register_count = count;
  } else if (strncmp(line, ".shared", 7) == 0) {
    run->near_bytes = (uint32_t)atoi(strchr(line, '[') + 1);
  } else if (strncmp(line, ".local", 6) == 0) {
    assert_true(run->stack_count < 16);
    run->stack_numbers[run->stack_count++] = strtoull(strstr(line, "stack_") + 6, NULL, 10);
  }
}

// An operand: a register, a word, or an address in brackets with its displacement.
static void ptx_parse_operand(ptx_run_t* run, ptx_insn_t* insn, char* text) {
  const uint32_t at = insn->operand_count++;
  if (insn->form == PTX_BRANCH) {
    insn->target = ptx_label(run, text);
    return;
  }
  if (*text == '[') {
    char* plus = strchr(++text, '+');
    insn->displacement = plus ? strtoll(plus + 1, NULL, 10) : 0;
    if (plus) *plus = 0;
    text[strcspn(text, "]")] = 0;
  }
  if (strncmp(text, "%tid.x", 6) == 0) {
    insn->registers[at] = &run->file[PTX_KINDS * run->register_count];
  } else if (strncmp(text, "%ctaid.x", 8) == 0) {
    insn->registers[at] = &run->file[PTX_KINDS * run->register_count + 1];
  } else if (*text == '%' && !strchr(text, '.')) {
    insn->registers[at] = ptx_register(run, text);
  }
  insn->words[at] = ptx_value(run, text);
}

static void ptx_parse(ptx_run_t* run, char* line, ptx_insn_t* insn) {
  char* rest = NULL;
  if (*line == '$' || *line == '.' || *line == '}') return;
  line[strcspn(line, ";")] = 0;
  if (*line == '@') {
    char* name = line + 1;
    line = strchr(line, ' ');
    *line++ = 0;
    line += strspn(line, " ");
    insn->predicate = ptx_register(run, name);
  }
  char* operands = strchr(line, ' ');
  if (operands) *operands++ = 0;
  for (char* part = strtok_r(line, ".", &rest); part; part = strtok_r(NULL, ".", &rest)) {
    insn->parts[insn->part_count++] = part;
    assert_true(insn->part_count < 16);
  }
  const char* name = insn->parts[0];
  insn->form =
      strcmp(name, "ret") == 0   ? PTX_RETURN
      : strcmp(name, "bra") == 0 ? PTX_BRANCH
      : strcmp(name, "ld") == 0  ? PTX_LOAD
      : strcmp(name, "st") == 0  ? PTX_STORE
      : strcmp(name, "mbarrier") == 0 ? (ptx_has(insn, "try_wait") ? PTX_TRY : PTX_BULK)
      : strcmp(name, "bar") == 0      ? (ptx_has(insn, "warp") ? PTX_WARP : PTX_SYNC)
      : strcmp(name, "cp") == 0       ? (ptx_has(insn, "bulk") ? PTX_BULK : PTX_ASYNC)
      : strcmp(name, "shfl") == 0 || strcmp(name, "ldmatrix") == 0 || strcmp(name, "mma") == 0
          ? PTX_WARP
      : strcmp(name, "fence") == 0 ? PTX_NOTHING
      : strcmp(name, "tcgen05") == 0
          ? (ptx_has(insn, "mma") || ptx_has(insn, "commit")  ? PTX_TENSOR
             : ptx_has(insn, "alloc") || ptx_has(insn, "dealloc") || strcmp(insn->parts[1], "ld") == 0 ||
                     strcmp(insn->parts[1], "st") == 0
                 ? PTX_WARP
                 : PTX_NOTHING)
      : strcmp(name, "wgmma") == 0 ? (ptx_has(insn, "mma_async") ? PTX_WARP : PTX_NOTHING)
                                   : PTX_COMPUTE;
  if (insn->part_count > 1) insn->type = ptx_type(insn->parts[insn->part_count - 1]);
  if (insn->part_count > 2) insn->other = ptx_type(insn->parts[insn->part_count - 2]);
  insn->flushes = ptx_has(insn, "ftz");
  bool is_predicate = false;
  // Registers of a long list follow each other: the first one stands for all.
  char* list = operands ? strchr(operands, '{') : NULL;
  if (list && (strcmp(name, "wgmma") == 0 || strcmp(name, "tcgen05") == 0)) {
    char* end = strchr(list, '}');
    insn->list_count = 1;
    for (const char* c = list; c < end; ++c) insn->list_count += *c == ',';
    memmove(strchr(list, ','), end + 1, strlen(end + 1) + 1);
  }
  if (operands) {
    is_predicate = strncmp(operands, "%p", 2) == 0;
    for (char* item = strtok_r(operands, ", {}]", &rest); item;
         item = strtok_r(NULL, ", {}]", &rest)) {
      ptx_parse_operand(run, insn, item);
    }
  }
  insn->result_bits = is_predicate                                            ? 1
                      : strcmp(name, "popc") == 0 || strcmp(name, "clz") == 0 ? 32
                      : strcmp(name, "cvt") == 0                              ? insn->other.bits
                      : ptx_has(insn, "wide")                                 ? 64
                                                                              : insn->type.bits;
}

// Runs a thread until it returns or does something together with others; its state says what.
static void ptx_execute(ptx_run_t* run, uint32_t number) {
  ptx_thread_t* thread = &run->threads[number];
  const size_t offset = (size_t)number * run->file_words;
  while (thread->at < run->line_count) {
    const ptx_insn_t* insn = &run->insns[thread->at++];
    if (insn->predicate && !(insn->predicate[offset] & 1)) continue;
    switch (insn->form) {
      case PTX_NOTHING: break;
      case PTX_COMPUTE: ptx_compute(insn, offset); break;
      case PTX_BRANCH: thread->at = insn->target; break;
      case PTX_RETURN: thread->at = run->line_count; break;
      case PTX_ASYNC: ptx_async(run, insn, number); break;
      case PTX_BULK: ptx_do_bulk(run, insn, number); break;
      case PTX_TENSOR: ptx_start_tensor(run, insn, number); break;
      case PTX_TRY:
        if (ptx_try(run, insn, number)) break;
        thread->waits_at = insn;
        return;
      case PTX_SYNC:
      case PTX_WARP: thread->waits_at = insn; return;
      default: ptx_access(run, insn, number); break;
    }
  }
  thread->is_done = true;
}

// Runs the threads of a block until all have returned.
static void ptx_execute_block(ptx_run_t* run) {
  for (uint32_t done = 0; done < run->thread_count;) {
    bool moved = false;
    for (uint32_t i = 0; i < run->thread_count; ++i) {
      if (run->threads[i].is_done || run->threads[i].waits_at) continue;
      ptx_execute(run, i);
      done += run->threads[i].is_done;
      moved = true;
    }
    moved |= ptx_meet(run);
    // Copies and products come as late as they can.
    if (!moved && !ptx_finish_bulk(run) && !ptx_finish_tensor(run)) {
      fail_msg("threads wait for ever");
    }
  }
}

static ptx_run_t* ptx_prepare(hlo_arena_t* arena, const char* text, const char* name,
                              uint32_t thread_count, const uint64_t* params, uint32_t param_count,
                              const uint8_t* const* blobs, uint32_t large_bytes) {
  ptx_run_t* run = hlo_arena_alloc_zeroed(arena, sizeof *run);
  char entry[160], *rest;
  snprintf(entry, sizeof entry, ".entry %s(", name);
  const char* start = strstr(text, entry);
  assert_non_null(start);
  const char* end = strstr(start, "\n}\n");
  run->text = hlo_arena_strndup(arena, start, (size_t)(end - start));
  run->blobs = blobs;
  run->thread_count = thread_count;
  run->near_bytes = large_bytes;
  memcpy(run->params, params, param_count * sizeof *params);
  for (char* line = strtok_r(run->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    assert_true(run->line_count < PTX_LINES_MAX);
    run->lines[run->line_count++] = line + strspn(line, " ");
  }
  for (uint32_t i = 0; i < run->line_count; ++i) ptx_declare(run, run->lines[i]);
  run->file_words = PTX_KINDS * run->register_count + 2;
  run->file = hlo_arena_array(arena, (size_t)run->file_words * thread_count, sizeof *run->file);
  run->threads = hlo_arena_array(arena, thread_count, sizeof *run->threads);
  // Descriptors have the low bits of an address.
  const bool has_descriptors = strstr(text, "wgmma") || strstr(text, "tcgen05.mma");
  const size_t align = has_descriptors ? PTX_WINDOW_BYTES : 1024;
  run->tensor = hlo_arena_alloc_zeroed(arena, sizeof *run->tensor);
  run->near = hlo_arena_alloc_zeroed(arena, run->near_bytes + align);
  run->near += align - (uintptr_t)run->near % align;
  run->bytes = hlo_arena_array(arena, (size_t)run->near_bytes + 1, sizeof *run->bytes);
  run->bulk = ptx_prepare_bulk(arena, run, text, name);
  run->insns = hlo_arena_alloc_zeroed(arena, run->line_count * sizeof *run->insns);
  for (uint32_t i = 1; i < run->line_count; ++i) ptx_parse(run, run->lines[i], &run->insns[i]);
  return run;
}

/// Runs threads of the kernel of a name in a module's text, with parameters as words.
static inline void ptx_run(const char* text, const char* name, uint64_t threads,
                           const uint64_t* params, uint32_t param_count,
                           const uint8_t* const* blobs) {
  HLO_SCOPED_ARENA arena = {0};
  ptx_run_t* run = ptx_prepare(&arena, text, name, 1, params, param_count, blobs, 0);
  for (uint64_t i = 0; i < threads; ++i) {
    run->threads[0] = (ptx_thread_t){.clocks = {1}};
    run->file[PTX_KINDS * run->register_count] = i;
    ptx_execute_block(run);
  }
}

/// Runs blocks of threads of a prepared kernel; returns how many accesses of shared memory nothing
/// orders.
static inline uint32_t ptx_run_prepared(ptx_run_t* run, uint64_t blocks) {
  for (uint64_t block = 0; block < blocks; ++block) {
    memset(run->near, 0xa5, run->near_bytes);
    ++run->epoch;
    ptx_reset_bulk(run);
    assert_int_equal(run->tensor->columns, 0);
    memset(run->tensor->words, 0xa5, sizeof run->tensor->words);
    for (uint32_t i = 0; i < run->thread_count; ++i) {
      uint64_t* numbers = &run->file[(size_t)i * run->file_words + PTX_KINDS * run->register_count];
      run->threads[i] = (ptx_thread_t){0};
      run->threads[i].clocks[i] = 1;
      numbers[0] = i;
      numbers[1] = block;
    }
    ptx_execute_block(run);
  }
  return run->race_count;
}

/// Prepares and runs a kernel whose blocks share memory.
static inline uint32_t ptx_run_blocks(const char* text, const char* name, uint64_t blocks,
                                      uint32_t threads, uint32_t shared_bytes,
                                      const uint64_t* params, uint32_t param_count) {
  HLO_SCOPED_ARENA arena = {0};
  return ptx_run_prepared(
      ptx_prepare(&arena, text, name, threads, params, param_count, NULL, shared_bytes), blocks);
}
