// SPDX-License-Identifier: Apache-2.0
// Hostile HLO: reading any file uses at most 16 MiB + 64 times its size of memory and 2 s of
// processor time per MiB, and gives a module or an error.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/wire.h"
#include "frontend/hlo/hlo.h"

enum {
  INPUT_BYTES = 1 << 20,
  BASE_BYTES = 16 << 20,
  BYTES_PER_BYTE = 64,
  SECONDS_PER_MIB = 2 * (HLO_ADDRESS_SANITIZER ? 10 : 1),
};

// ---- text ---------------------------------------------------------------------------------------

static const char head[] = "HloModule m\n";
static const char adder[] =
    "add{a=f32[] parameter(0) b=f32[] parameter(1) ROOT c=f32[] add(a,b)}\n";

// Formats an item with the numbers 0, 1, 2 ... (twice) until `bytes` are reached.
static unsigned repeat(hlo_strbuf_t* out, size_t bytes, const char* format) {
  unsigned count = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
  for (size_t end = out->length + bytes; out->length < end; ++count) {
    hlo_strbuf_printf(out, format, count, count);
  }
#pragma GCC diagnostic pop
  return count;
}

static void instructions_on_one_line(hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%sENTRY e{p=f32[] parameter(0) ", head);
  repeat(out, INPUT_BYTES, "x%u=f32[] negate(p) ");
  hlo_strbuf_puts(out, "}");
}

static void tiny_instructions(hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%sENTRY e{", head);
  repeat(out, INPUT_BYTES, "x%u=s8[]not()");
  hlo_strbuf_puts(out, "}");
}

static void many_bitcasts(hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%sENTRY e{p=f32[] parameter(0)\n", head);
  repeat(out, INPUT_BYTES / 2, "x%u=f32[] negate(p)\n");
  hlo_strbuf_puts(out, "last=f32[] negate(p)\n");
  repeat(out, INPUT_BYTES / 2, "b%u=f32[] bitcast(last)\n");
  hlo_strbuf_puts(out, "}");
}

static void many_aliases(hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, "HloModule m, input_output_alias={{0}:(0,{})");
  repeat(out, INPUT_BYTES / 3, ",{5000}:(5000,{})");
  hlo_strbuf_puts(out, "}\nENTRY e{");
  unsigned count = repeat(out, INPUT_BYTES / 3, "x%u=f32[] parameter(%u)\n");
  hlo_strbuf_puts(out, "ROOT t=(f32[]");
  for (unsigned i = 1; i < count; ++i) hlo_strbuf_puts(out, ",f32[]");
  hlo_strbuf_puts(out, ") tuple(x0");
  for (unsigned i = 1; i < count; ++i) hlo_strbuf_printf(out, ",x%u", i);
  hlo_strbuf_puts(out, ")}");
}

// 2^16 leaves, 2^16 + 1 times: their sum exceeds 32 bits.
static void one_tuple_many_times(hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%sENTRY e{p=(s8[]", head);
  for (int i = 1; i < 1 << 16; ++i) hlo_strbuf_puts(out, ",s8[]");
  hlo_strbuf_puts(out, ") parameter(0) ROOT r=s8[] custom-call(p");
  for (int i = 0; i < 1 << 16; ++i) hlo_strbuf_puts(out, ",p");
  hlo_strbuf_puts(out, "), custom_call_target=\"t\"} //");
  repeat(out, INPUT_BYTES / 2, " ");
}

static void empty_computations(hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, head);
  repeat(out, 4 * INPUT_BYTES, "%x{}");
}

static void calls_that_double(hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, head);
  hlo_strbuf_puts(out, "c0{a=f32[] parameter(0) b=f32[] parameter(1) ROOT c=f32[] add(a,b)}\n");
  for (int i = 1; i < 60; ++i) {
    hlo_strbuf_printf(out,
                      "c%d{a=f32[] parameter(0) b=f32[] parameter(1)\n"
                      "v=f32[1] broadcast(a), dimensions={}\n"
                      "x=f32[] reduce(v,b), dimensions={0}, to_apply=c%d\n"
                      "ROOT y=f32[] reduce(v,x), dimensions={0}, to_apply=c%d}\n",
                      i, i - 1, i - 1);
  }
  hlo_strbuf_puts(out, "ENTRY e{p=f32[] parameter(0) ROOT r=f32[1] map(p,p), to_apply=c59}");
}

// Half of the input is one computation without nodes; the other half calls it.
static void put_uses(hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, "ENTRY e{p=f32[2] parameter(0) q=f32[] parameter(1)\n");
  repeat(out, INPUT_BYTES / 2, "x%u=f32[] reduce(p,q), dimensions={0}, to_apply=c\n");
  hlo_strbuf_puts(out, "}");
}

static void big_computation_many_times(hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%sc{a=f32[] parameter(0) b=f32[] parameter(1)\n", head);
  repeat(out, INPUT_BYTES / 2, "x%u=f32[] domain(a)\n");
  hlo_strbuf_puts(out, "ROOT y=f32[] add(a,b)}\n");
  put_uses(out);
}

static void big_literal_many_times(hlo_strbuf_t* out) {
  hlo_strbuf_t numbers = {0};
  unsigned count = repeat(&numbers, INPUT_BYTES / 2, "1,");
  hlo_strbuf_printf(out,
                    "%sc{a=f32[] parameter(0) b=f32[] parameter(1) x=s64[%u] constant({%s1})\n",
                    head, count + 1, hlo_strbuf_text(&numbers));
  hlo_strbuf_deinit(&numbers);
  hlo_strbuf_puts(out, "ROOT y=f32[] add(a,b)}\n");
  put_uses(out);
}

static void big_string_many_times(hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%sc{a=f32[] parameter(0) b=f32[] parameter(1)\nROOT y=f32[] add(a,b), ",
                    head);
  hlo_strbuf_puts(out, "metadata={op_name=\"");
  repeat(out, INPUT_BYTES / 2, "name ");
  hlo_strbuf_puts(out, "\"}}\n");
  put_uses(out);
}

static void chain_of_calls(hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%sc0{ROOT p=f32[] parameter(0)}\n", head);
  unsigned count = 1;
  for (; out->length < INPUT_BYTES; ++count) {
    hlo_strbuf_printf(out, "c%u{p=f32[] parameter(0) ROOT r=f32[] call(p), to_apply=c%u}\n", count,
                      count - 1);
  }
}

static void groups_of_claimed_size(hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%s%sENTRY e{p=f32[] parameter(0)\n", head, adder);
  repeat(out, INPUT_BYTES,
         "x%u=f32[] all-reduce(p), replica_groups=[1,1048576]<=[1048576], to_apply=add\n");
  hlo_strbuf_puts(out, "}");
}

static void literals_of_claimed_size(hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%sENTRY e{p=(", head);
  unsigned count = repeat(out, INPUT_BYTES / 4, "c128[9999],");
  hlo_strbuf_puts(out, "s8[]) constant((");
  for (unsigned i = 0; i < count; ++i) hlo_strbuf_puts(out, "{},");
  repeat(out, INPUT_BYTES, "1,");
}

static void nested_shapes(hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%sENTRY e{p=", head);
  repeat(out, INPUT_BYTES, "(");
}

static void nested_braces(hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%sENTRY e{p=f32[] add(), sharding=", head);
  repeat(out, INPUT_BYTES, "{");
}

static void nested_attributes(hlo_strbuf_t* out) {
  hlo_strbuf_printf(out,
                    "%sENTRY e{ROOT p=f32[] custom-call(), custom_call_target=\"t\", "
                    "api_version=API_VERSION_TYPED_FFI, backend_config={a=",
                    head);
  repeat(out, INPUT_BYTES / 2, "[");
  repeat(out, INPUT_BYTES / 2, "]");
  hlo_strbuf_puts(out, "}}");
}

static void many_labels(hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%sENTRY e{p=f32[] convolution(), dim_labels=bf", head);
  repeat(out, INPUT_BYTES, "?");
}

// ---- protos -------------------------------------------------------------------------------------

// Field numbers of HloModuleProto, HloComputationProto, HloInstructionProto, ShapeProto.
enum { COMPUTATIONS = 3, INSTRUCTIONS = 2, INSTRUCTION_SHAPE = 3, INSTRUCTION_LITERAL = 8 };
enum { SHAPE_DIMENSIONS = 3, TUPLE_SHAPES = 4, TUPLE_LITERALS = 10 };

static void empty_messages(hlo_strbuf_t* out, uint32_t number) {
  while (out->length < INPUT_BYTES) hlo_wire_put_bytes(out, number, "", 0);
}

static void empty_computation_messages(hlo_strbuf_t* out) {
  empty_messages(out, COMPUTATIONS);
}

static void empty_instruction_messages(hlo_strbuf_t* out) {
  size_t computation = hlo_wire_begin(out, COMPUTATIONS);
  empty_messages(out, INSTRUCTIONS);
  hlo_wire_end(out, computation);
}

static void empty_literal_messages(hlo_strbuf_t* out) {
  size_t computation = hlo_wire_begin(out, COMPUTATIONS);
  size_t instruction = hlo_wire_begin(out, INSTRUCTIONS);
  size_t literal = hlo_wire_begin(out, INSTRUCTION_LITERAL);
  empty_messages(out, TUPLE_LITERALS);
  hlo_wire_end(out, literal);
  hlo_wire_end(out, instruction);
  hlo_wire_end(out, computation);
}

// The shape is repeated, each time with one more dimension.
static void shape_in_pieces(hlo_strbuf_t* out) {
  size_t computation = hlo_wire_begin(out, COMPUTATIONS);
  size_t instruction = hlo_wire_begin(out, INSTRUCTIONS);
  while (out->length < INPUT_BYTES) {
    size_t shape = hlo_wire_begin(out, INSTRUCTION_SHAPE);
    hlo_wire_put_uint(out, SHAPE_DIMENSIONS, 1);
    hlo_wire_end(out, shape);
  }
  hlo_wire_end(out, instruction);
  hlo_wire_end(out, computation);
}

static void nested_shape_messages(hlo_strbuf_t* out) {
  enum { DEPTH = 20000 };
  static size_t marks[DEPTH];
  size_t computation = hlo_wire_begin(out, COMPUTATIONS);
  size_t instruction = hlo_wire_begin(out, INSTRUCTIONS);
  size_t shape = hlo_wire_begin(out, INSTRUCTION_SHAPE);
  for (int i = 0; i < DEPTH; ++i) marks[i] = hlo_wire_begin(out, TUPLE_SHAPES);
  for (int i = DEPTH; i-- > 0;) hlo_wire_end(out, marks[i]);
  hlo_wire_end(out, shape);
  hlo_wire_end(out, instruction);
  hlo_wire_end(out, computation);
}

// ---- measuring ----------------------------------------------------------------------------------

typedef struct hostile_case {
  const char* name;
  void (*write)(hlo_strbuf_t* out);
  bool is_proto;
} hostile_case_t;

#define TEXT(name) \
  { #name, name, false }
#define PROTO(name) \
  { #name, name, true }
static const hostile_case_t cases[] = {
    TEXT(instructions_on_one_line),
    TEXT(tiny_instructions),
    TEXT(many_bitcasts),
    TEXT(many_aliases),
    TEXT(one_tuple_many_times),

    TEXT(empty_computations),
    TEXT(calls_that_double),
    TEXT(big_computation_many_times),
    TEXT(big_literal_many_times),
    TEXT(big_string_many_times),
    TEXT(chain_of_calls),
    TEXT(groups_of_claimed_size),
    TEXT(literals_of_claimed_size),
    TEXT(nested_shapes),
    TEXT(nested_braces),
    TEXT(nested_attributes),
    TEXT(many_labels),
    PROTO(empty_computation_messages),
    PROTO(empty_instruction_messages),
    PROTO(empty_literal_messages),
    PROTO(shape_in_pieces),
    PROTO(nested_shape_messages),
};

static size_t peak_bytes(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (size_t)usage.ru_maxrss * 1024;
}

typedef struct cost {
  size_t bytes;
  double seconds;
  char message[200];
} cost_t;

static void read_input(const hlo_strbuf_t* input, bool is_proto, cost_t* cost) {
  size_t before = peak_bytes();
  clock_t start = clock();
  hlo_module_t* module = NULL;
  hlo_status_t status =
      is_proto ? hlo_hlo_proto_read(input->data, input->length, NULL, &module)
               : hlo_hlo_text_read(input->data, input->length, "t", NULL, NULL, &module);
  snprintf(cost->message, sizeof cost->message, "%s", hlo_status_message(status));
  hlo_status_release(status);
  if (module) hlo_module_release(module);
  cost->seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  cost->bytes = peak_bytes() - before;
}

// Runs in a separate process, whose peak memory is that of this input.
static cost_t measure(const hostile_case_t* hostile, const hlo_strbuf_t* input) {
  cost_t cost = {0};
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    read_input(input, hostile->is_proto, &cost);
    _exit(write(ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
  }
  assert_true(child > 0);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (status != 0) fail_msg("the process of %s exited with %d", hostile->name, status);
  assert_int_equal(read(ends[0], &cost, sizeof cost), sizeof cost);
  close(ends[0]);
  close(ends[1]);
  return cost;
}

static void hostile_input_is_bounded(void** state) {
  const hostile_case_t* hostile = *state;
  hlo_strbuf_t input = {0};
  hostile->write(&input);
  assert_false(input.failed);
  cost_t cost = measure(hostile, &input);
  double mib = (double)input.length / (1 << 20);
  print_message("%s: %.2f MiB, %.2f s per MiB, %.1f bytes per byte: %s\n", hostile->name, mib,
                cost.seconds / (mib < 1 ? 1 : mib), (double)cost.bytes / (double)input.length,
                cost.message[0] ? cost.message : "read");
  assert_true(cost.seconds <= SECONDS_PER_MIB * (mib < 1 ? 1 : mib));
  if (!HLO_ADDRESS_SANITIZER) {
    assert_true(cost.bytes <= BASE_BYTES + BYTES_PER_BYTE * input.length);
  }
  hlo_strbuf_deinit(&input);
}

int main(void) {
  enum { COUNT = sizeof cases / sizeof *cases };
  struct CMUnitTest tests[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    tests[i] = (struct CMUnitTest){.name = cases[i].name,
                                   .test_func = hostile_input_is_bounded,
                                   .initial_state = (void*)(uintptr_t)&cases[i]};
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
