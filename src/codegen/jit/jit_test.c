// SPDX-License-Identifier: Apache-2.0
// Tests loading and running code: slabs and separate pages, refusals by the system, unwinding
// through generated frames, names for perf and debuggers.
#define _GNU_SOURCE
#include <elf.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/os.h"
#include "codegen/jit/jit.h"
#include "codegen/x86/asm.h"
#include "codegen/x86/x86.h"

typedef int64_t (*number_fn_t)(int64_t);
typedef int64_t (*call_fn_t)(void (*callback)(void));
typedef int64_t (*call_twice_fn_t)(void (*callback)(void), call_fn_t inner);

enum { FUNC_LIMIT = 4 };

// Code under construction, with the tables that a compiler would add.
typedef struct program {
  hlo_x86_asm_t as;
  hlo_code_func_t funcs[FUNC_LIMIT];
  hlo_code_debug_id_t debug_ids[4];
  hlo_code_t code;
} program_t;

static void expect(hlo_status_t status, hlo_status_code_t code, const char* part) {
  assert_non_null(strstr(hlo_status_message(status), part));
  assert_int_equal(hlo_status_code(status), code);
  hlo_status_release(status);
}

static void program_init(program_t* p) {
  *p = (program_t){0};
  hlo_x86_asm_init(&p->as, 0);
}

static void func_begin(program_t* p, const char* name, uint32_t saved_mask) {
  hlo_x86_align(&p->as, 16, true);
  p->funcs[p->code.func_count] = (hlo_code_func_t){
      .name = name, .offset_bytes = (uint32_t)p->as.size_bytes, .saved_mask = saved_mask};
  hlo_x86_bare(&p->as, HLO_X86_endbr64);
  hlo_x86_push(&p->as, HLO_X86_RBP);
  hlo_x86_rm(&p->as, HLO_X86_mov, 8, HLO_X86_RBP, hlo_x86_reg(HLO_X86_RSP));
  unsigned pushed = 0;
  for (unsigned reg = 0; reg < 16; reg++) {
    if (saved_mask >> reg & 1) hlo_x86_push(&p->as, reg), pushed++;
  }
  if (pushed % 2) hlo_x86_mi(&p->as, HLO_X86_sub, 8, hlo_x86_reg(HLO_X86_RSP), 8);
}

static void func_end(program_t* p) {
  hlo_code_func_t* func = &p->funcs[p->code.func_count++];
  int32_t below = 0;
  for (unsigned reg = 0; reg < 16; reg++) {
    if (!(func->saved_mask >> reg & 1)) continue;
    hlo_x86_rm(&p->as, HLO_X86_mov, 8, reg, hlo_x86_mem(HLO_X86_RBP, below -= 8));
  }
  hlo_x86_bare(&p->as, HLO_X86_leave);
  hlo_x86_bare(&p->as, HLO_X86_ret);
  func->size_bytes = (uint32_t)p->as.size_bytes - func->offset_bytes;
}

static const hlo_code_t* program_finish(program_t* p) {
  expect(hlo_x86_asm_finish(&p->as), HLO_STATUS_OK, "");
  p->code.isa = &hlo_x86_isa;
  p->code.bytes = p->as.bytes;
  p->code.size_bytes = p->as.size_bytes;
  p->code.funcs = p->funcs;
  p->code.debug_ids = p->debug_ids;
  return &p->code;
}

// Builds one function: x + number, with the number loaded from a constant after the code; `padding`
// bytes follow.
static const hlo_code_t* program_adding(program_t* p, int64_t number, size_t padding) {
  program_init(p);
  hlo_x86_label_t constant = hlo_x86_label_create(&p->as);
  func_begin(p, "add", 0);
  hlo_x86_rm(&p->as, HLO_X86_mov, 8, HLO_X86_RAX, hlo_x86_reg(HLO_X86_RDI));
  hlo_x86_rm(&p->as, HLO_X86_add, 8, HLO_X86_RAX, hlo_x86_rip(constant, 0));
  func_end(p);
  hlo_x86_align(&p->as, 8, false);
  hlo_x86_label_bind(&p->as, constant);
  hlo_x86_data(&p->as, &number, sizeof number);
  uint8_t zero = 0;
  for (size_t i = 0; i < padding; i++) hlo_x86_data(&p->as, &zero, 1);
  return program_finish(p);
}

static void program_deinit(program_t* p) {
  hlo_x86_asm_deinit(&p->as);
}

static int64_t call_number(const hlo_jit_t* jit, int64_t x) {
  number_fn_t function;
  void* address = hlo_jit_address(jit, 0);
  memcpy(&function, &address, sizeof function);
  return function(x);
}

static hlo_jit_t* load_adding(hlo_jit_pool_t* pool, int64_t number, size_t padding) {
  program_t p;
  const hlo_code_t* code = program_adding(&p, number, padding);
  hlo_jit_t* jit = NULL;
  expect(
      pool ? hlo_jit_pool_load(pool, code, "test", &jit) : hlo_jit_load(code, "test", NULL, &jit),
      HLO_STATUS_OK, "");
  program_deinit(&p);
  return jit;
}

static hlo_jit_pool_t* create_pool(bool perf, bool gdb) {
  hlo_jit_pool_t* pool = NULL;
  hlo_jit_options_t options = {.perf = perf, .gdb = gdb};
  expect(hlo_jit_pool_create(&options, &pool), HLO_STATUS_OK, "");
  return pool;
}

// Returns the protection of the mapping that contains an address, as /proc shows it: "r-xp".
static void protection_of(const void* address, char* out) {
  FILE* maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  char line[512];
  strcpy(out, "none");
  while (fgets(line, sizeof line, maps)) {
    uintptr_t begin, end;
    char protection[8];
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &begin, &end, protection) != 3) continue;
    assert_null(strstr(protection, "wx"));  // no mapping is both writable and executable
    if ((uintptr_t)address >= begin && (uintptr_t)address < end) strcpy(out, protection);
  }
  fclose(maps);
}

// ---- memory

static void code_runs_where_it_cannot_be_written(void** state) {
  (void)state;
  hlo_jit_pool_t* pool = create_pool(false, false);
  for (int shared = 0; shared < 2; shared++) {
    hlo_jit_t* jit = load_adding(shared ? pool : NULL, 42, 0);
    assert_int_equal(call_number(jit, 100), 142);
    assert_null(hlo_jit_address(jit, 1));
    char protection[8];
    protection_of(hlo_jit_address(jit, 0), protection);
    assert_memory_equal(protection, "r-x", 3);
    hlo_jit_release(jit);
  }
  hlo_jit_pool_release(pool);
  hlo_jit_release(NULL);
  hlo_jit_pool_release(NULL);
}

static void children_leave_shared_slabs_alone(void** state) {
  (void)state;
  enum { BYTES = 4096 };
  hlo_jit_pool_t* pool = create_pool(false, false);
  hlo_jit_t* jit = load_adding(pool, 1, 0);
  uint8_t before[BYTES];
  memcpy(before, hlo_jit_address(jit, 0), sizeof before);
  pid_t child = fork();
  if (child == 0) {
    hlo_jit_t* own = load_adding(pool, 2, 0);
    _exit(call_number(own, 5) == 7 && call_number(jit, 5) == 6 ? 0 : 1);
  }
  int answer = 1;
  assert_int_equal(waitpid(child, &answer, 0), child);
  assert_int_equal(answer, 0);
  assert_memory_equal(before, hlo_jit_address(jit, 0), sizeof before);
  hlo_jit_release(jit);
  hlo_jit_pool_release(pool);
}

static void programs_outlive_the_pool_of_their_client(void** state) {
  (void)state;
  hlo_jit_pool_t* pool = create_pool(false, false);
  hlo_jit_t* jit = load_adding(pool, 1, 0);
  hlo_jit_pool_release(pool);
  assert_int_equal(call_number(jit, 1), 2);
  hlo_jit_release(jit);
}

static uint32_t next_random(uint32_t* state) {
  return *state = *state * 1664525u + 1013904223u, *state >> 8;
}

static void slabs_are_filled_and_emptied_in_any_order(void** state) {
  (void)state;
  enum { SLOTS = 200, STEPS = 4000 };
  hlo_jit_t* jits[SLOTS] = {NULL};
  hlo_jit_pool_t* pool = create_pool(false, false);
  uint32_t random = 1;
  for (int step = 0; step < STEPS; step++) {
    uint32_t slot = next_random(&random) % SLOTS;
    if (jits[slot]) {
      assert_int_equal(call_number(jits[slot], 1000), 1000 + slot);
      hlo_jit_release(jits[slot]);
      jits[slot] = NULL;
      continue;
    }
    uint32_t kind = next_random(&random) % 64;  // occasionally larger than a slab allows
    size_t padding = kind == 0 ? 300000 : kind < 8 ? 60000 : next_random(&random) % 3000;
    jits[slot] = load_adding(pool, slot, padding);
    assert_int_equal((uintptr_t)hlo_jit_address(jits[slot], 0) % 64, 0);
  }
  for (uint32_t slot = 0; slot < SLOTS; slot++) {
    if (jits[slot]) assert_int_equal(call_number(jits[slot], 0), slot);
    hlo_jit_release(jits[slot]);
  }
  hlo_jit_pool_release(pool);
}

static void small_programs_lie_side_by_side(void** state) {
  (void)state;
  hlo_jit_pool_t* pool = create_pool(false, false);
  hlo_jit_t* a = load_adding(pool, 1, 0);
  hlo_jit_t* b = load_adding(pool, 2, 0);
  hlo_jit_t* c = load_adding(pool, 3, 0);
  void* middle = hlo_jit_address(b, 0);
  assert_int_equal((uint8_t*)middle - (uint8_t*)hlo_jit_address(a, 0), 64);
  assert_int_equal((uint8_t*)hlo_jit_address(c, 0) - (uint8_t*)middle, 64);
  hlo_jit_release(b);
  b = load_adding(pool, 4, 500);  // too large for the hole
  assert_true(hlo_jit_address(b, 0) > hlo_jit_address(c, 0));
  assert_int_equal(call_number(a, 0) + call_number(b, 0) + call_number(c, 0), 1 + 4 + 3);
  hlo_jit_release(a);
  hlo_jit_release(b);
  hlo_jit_release(c);
  hlo_jit_pool_release(pool);
}

static void* load_and_release(void* argument) {
  for (int i = 0; i < 200; i++) {
    program_t p;
    const hlo_code_t* code = program_adding(&p, i, (size_t)i * 8);
    hlo_jit_t* jit = NULL;
    hlo_status_t status = hlo_jit_pool_load(argument, code, "thread", &jit);
    program_deinit(&p);
    if (!hlo_status_is_ok(status) || call_number(jit, 1) != i + 1) return argument;
    hlo_jit_release(jit);
  }
  return NULL;
}

static void threads_load_into_one_pool(void** state) {
  (void)state;
  hlo_jit_pool_t* pool = create_pool(false, true);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, load_and_release, pool), 0);
  }
  for (int i = 0; i < 4; i++) {
    void* failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  hlo_jit_pool_release(pool);
}

static void hardened_systems_get_the_other_way_or_an_error(void** state) {
  (void)state;
  const unsigned both = HLO_OS_REFUSE_PROTECT | HLO_OS_REFUSE_MAP_TWICE;
  for (unsigned ways = 0; ways <= both; ways++) {
    hlo_jit_pool_t* pool = create_pool(false, false);
    for (int shared = 0; shared < 2; shared++) {
      program_t p;
      const hlo_code_t* code = program_adding(&p, 7, 0);
      hlo_jit_t* jit = NULL;
      hlo_os_refuse_executable(ways);
      hlo_status_t status = shared ? hlo_jit_pool_load(pool, code, "test", &jit)
                                   : hlo_jit_load(code, "test", NULL, &jit);
      hlo_os_refuse_executable(0);
      if (ways == both) {
        expect(status, HLO_STATUS_PERMISSION_DENIED, "no executable memory: cannot change");
      } else {
        expect(status, HLO_STATUS_OK, "");
        assert_int_equal(call_number(jit, 0), 7);
        char protection[8];
        protection_of(hlo_jit_address(jit, 0), protection);
        assert_memory_equal(protection, "r-x", 3);
      }
      hlo_jit_release(jit);
      program_deinit(&p);
    }
    hlo_jit_pool_release(pool);
  }
}

static void whatever_fails_is_a_status(void** state) {
  (void)state;
  program_t p;
  const hlo_code_t* code = program_adding(&p, 7, 0);
  for (int kind = 0; kind < 2; kind++) {  // allocations, then system calls
    for (uint64_t nth = 1, has_failed = 1; has_failed; nth++) {
      hlo_jit_pool_t* pool = NULL;
      hlo_jit_t* jit = NULL;
      (kind ? hlo_os_io_fail_nth : hlo_mem_fail_nth)(nth);
      hlo_jit_options_t options = {.perf = true, .gdb = true};
      hlo_status_t status = hlo_jit_pool_create(&options, &pool);
      if (hlo_status_is_ok(status)) status = hlo_jit_pool_load(pool, code, "test", &jit);
      has_failed = kind ? hlo_os_io_failed() : hlo_mem_failed();
      (kind ? hlo_os_io_fail_nth : hlo_mem_fail_nth)(0);
      if (hlo_status_is_ok(status)) {
        assert_int_equal(call_number(jit, 1), 8);
      } else {
        assert_true(has_failed);
        assert_null(jit);
      }
      hlo_status_release(status);
      hlo_jit_release(jit);
      hlo_jit_pool_release(pool);
    }
  }
  p.funcs[0].size_bytes += 4096;
  hlo_jit_t* jit = NULL;
  expect(hlo_jit_load(code, "test", NULL, &jit), HLO_STATUS_INTERNAL, "function add ends at byte");
  program_deinit(&p);
}

// ---- tables

enum { FRAME_LIMIT = 64 };

typedef struct trace {
  uintptr_t pcs[FRAME_LIMIT], rbx[FRAME_LIMIT], r13[FRAME_LIMIT];
  int count;
} trace_t;

static trace_t g_inside, g_outside;

static _Unwind_Reason_Code add_frame(struct _Unwind_Context* context, void* argument) {
  trace_t* trace = argument;
  if (trace->count == FRAME_LIMIT) return _URC_END_OF_STACK;
  trace->pcs[trace->count] = _Unwind_GetIP(context);
  trace->rbx[trace->count] = _Unwind_GetGR(context, 3);
  trace->r13[trace->count++] = _Unwind_GetGR(context, 13);
  return _URC_NO_REASON;
}

static void trace_from_inside(void) {
  g_inside.count = 0;
  _Unwind_Backtrace(add_frame, &g_inside);
}

// inner: rbx = 0x1111, r13 = 0x2222, calls back. outer: rbx = 0x3333, r13 = 0x4444, calls inner.
static const hlo_code_t* program_calling(program_t* p) {
  const uint32_t saved = 1u << HLO_X86_RBX | 1u << HLO_X86_R12 | 1u << HLO_X86_R13;
  program_init(p);
  func_begin(p, "inner", saved);
  hlo_x86_mov_imm(&p->as, HLO_X86_RBX, 0x1111);
  hlo_x86_mov_imm(&p->as, HLO_X86_R13, 0x2222);
  hlo_x86_m(&p->as, HLO_X86_call, 4, hlo_x86_reg(HLO_X86_RDI));
  func_end(p);
  func_begin(p, "outer", saved);
  hlo_x86_mov_imm(&p->as, HLO_X86_RBX, 0x3333);
  hlo_x86_mov_imm(&p->as, HLO_X86_R13, 0x4444);
  hlo_x86_m(&p->as, HLO_X86_call, 4, hlo_x86_reg(HLO_X86_RSI));
  func_end(p);
  return program_finish(p);
}

static int frame_within(const trace_t* trace, const void* begin, size_t size_bytes) {
  for (int i = 0; i < trace->count; i++) {
    if (trace->pcs[i] - (uintptr_t)begin < size_bytes) return i;
  }
  return -1;
}

static void backtraces_pass_through_generated_frames(void** state) {
  (void)state;
  program_t p;
  const hlo_code_t* code = program_calling(&p);
  hlo_jit_pool_t* pool = create_pool(false, false);
  hlo_jit_t* jit = NULL;
  expect(hlo_jit_pool_load(pool, code, "test", &jit), HLO_STATUS_OK, "");
  void *inner_address = hlo_jit_address(jit, 0), *outer_address = hlo_jit_address(jit, 1);
  call_fn_t inner;
  call_twice_fn_t outer;
  memcpy(&inner, &inner_address, sizeof inner);
  memcpy(&outer, &outer_address, sizeof outer);
  g_outside.count = 0;
  _Unwind_Backtrace(add_frame, &g_outside);
  outer(trace_from_inside, inner);
  int at_inner = frame_within(&g_inside, inner_address, p.funcs[0].size_bytes);
  int at_outer = frame_within(&g_inside, outer_address, p.funcs[1].size_bytes);
  assert_true(at_inner >= 0);  // 0: the compiler made the callback a jump
  assert_int_equal(at_outer, at_inner + 1);
  // Registers have the values that the frames set.
  assert_int_equal(g_inside.rbx[at_inner], 0x1111);
  assert_int_equal(g_inside.r13[at_inner], 0x2222);
  assert_int_equal(g_inside.rbx[at_outer], 0x3333);
  assert_int_equal(g_inside.r13[at_outer], 0x4444);
  // The remaining frames are this function and its callers.
  int below = g_outside.count - 1, rest = g_inside.count - at_outer - 2;
  assert_true(rest > 0);
  assert_int_equal(rest, below);
  assert_memory_equal(g_inside.pcs + at_outer + 2, g_outside.pcs + 1,
                      (size_t)rest * sizeof(uintptr_t));
  hlo_jit_release(jit);
  hlo_jit_pool_release(pool);
  program_deinit(&p);
}

static void perf_finds_names_in_its_map(void** state) {
  (void)state;
  char path[64], expected[128];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  hlo_jit_pool_t* first = create_pool(true, false);
  hlo_jit_pool_t* second = create_pool(true, false);  // both write the same file
  program_t p;
  const hlo_code_t* code = program_adding(&p, 1, 0);
  hlo_jit_t *a = NULL, *b = NULL;
  expect(hlo_jit_pool_load(first, code, "jit_f\n1", &a), HLO_STATUS_OK, "");
  expect(hlo_jit_pool_load(second, code, "jit_g", &b), HLO_STATUS_OK, "");
  uint8_t* text = NULL;
  size_t size = 0;
  expect(hlo_os_file_read(path, 0, &text, &size), HLO_STATUS_OK, "");
  snprintf(expected, sizeof expected, "%" PRIxPTR " %x jit_f_1::add\n%" PRIxPTR " %x jit_g::add\n",
           (uintptr_t)hlo_jit_address(a, 0), p.funcs[0].size_bytes,
           (uintptr_t)hlo_jit_address(b, 0), p.funcs[0].size_bytes);
  assert_string_equal((char*)text, expected);
  hlo_mem_free(text);
  hlo_jit_release(a);
  hlo_jit_release(b);
  hlo_jit_pool_release(first);
  hlo_jit_pool_release(second);
  program_deinit(&p);
  unlink(path);
}

// GDB's side of its interface.
typedef struct jit_code_entry {
  struct jit_code_entry *next, *prev;
  const uint8_t* object;
  uint64_t object_bytes;
} jit_code_entry_t;

extern struct {
  uint32_t version, action;
  jit_code_entry_t *relevant, *first;
} __jit_debug_descriptor;

// Checks the symbols of the in-memory object that a debugger would see.
static void check_object(const jit_code_entry_t* entry, const hlo_jit_t* jit, const program_t* p) {
  Elf64_Ehdr header;
  Elf64_Shdr sections[8];
  memcpy(&header, entry->object, sizeof header);
  assert_memory_equal(header.e_ident, ELFMAG, SELFMAG);
  assert_in_range(header.e_shnum, 2, 8);
  memcpy(sections, entry->object + header.e_shoff, header.e_shnum * sizeof *sections);
  const char* names = (const char*)entry->object + sections[header.e_shstrndx].sh_offset;
  unsigned found = 0;
  for (unsigned i = 1; i < header.e_shnum; i++) {
    if (sections[i].sh_type != SHT_NOBITS) {
      assert_true(sections[i].sh_offset + sections[i].sh_size <= entry->object_bytes);
    }
    if (strcmp(names + sections[i].sh_name, ".text") == 0) {
      assert_int_equal(sections[i].sh_addr, (uintptr_t)hlo_jit_address(jit, 0));
      assert_int_equal(sections[i].sh_size, p->code.size_bytes);
    }
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    for (uint32_t func = 0; func < p->code.func_count; func++) {
      Elf64_Sym symbol;
      char expected[64];
      memcpy(&symbol, entry->object + sections[i].sh_offset + (func + 1) * sizeof symbol,
             sizeof symbol);
      snprintf(expected, sizeof expected, "jit_f::%s", p->funcs[func].name);
      assert_string_equal(names + symbol.st_name, expected);
      assert_int_equal(symbol.st_value, p->funcs[func].offset_bytes);
      assert_int_equal(symbol.st_size, p->funcs[func].size_bytes);
      found++;
    }
  }
  assert_int_equal(found, p->code.func_count);
}

static void debuggers_find_objects_in_their_list(void** state) {
  (void)state;
  program_t p;
  const hlo_code_t* code = program_calling(&p);
  hlo_jit_pool_t* pool = create_pool(false, true);
  hlo_jit_t *a = NULL, *b = NULL;
  assert_null(__jit_debug_descriptor.first);
  expect(hlo_jit_pool_load(pool, code, "jit_f", &a), HLO_STATUS_OK, "");
  expect(hlo_jit_pool_load(pool, code, "jit_f", &b), HLO_STATUS_OK, "");
  assert_int_equal(__jit_debug_descriptor.version, 1);
  assert_int_equal(__jit_debug_descriptor.action, 1);
  jit_code_entry_t* newest = __jit_debug_descriptor.first;
  assert_ptr_equal(newest->next->prev, newest);
  assert_null(newest->next->next);
  check_object(newest, b, &p);
  check_object(newest->next, a, &p);
  hlo_jit_release(a);
  assert_int_equal(__jit_debug_descriptor.action, 2);
  assert_ptr_equal(__jit_debug_descriptor.first, newest);
  assert_null(newest->next);
  hlo_jit_release(b);
  assert_null(__jit_debug_descriptor.first);
  hlo_jit_pool_release(pool);
  program_deinit(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(code_runs_where_it_cannot_be_written),
      cmocka_unit_test(children_leave_shared_slabs_alone),
      cmocka_unit_test(programs_outlive_the_pool_of_their_client),
      cmocka_unit_test(slabs_are_filled_and_emptied_in_any_order),
      cmocka_unit_test(small_programs_lie_side_by_side),
      cmocka_unit_test(threads_load_into_one_pool),
      cmocka_unit_test(hardened_systems_get_the_other_way_or_an_error),
      cmocka_unit_test(whatever_fails_is_a_status),
      cmocka_unit_test(backtraces_pass_through_generated_frames),
      cmocka_unit_test(perf_finds_names_in_its_map),
      cmocka_unit_test(debuggers_find_objects_in_their_list),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
