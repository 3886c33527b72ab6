// SPDX-License-Identifier: Apache-2.0
// Compilation in phases: one at a time, several together, and what is refused.
#include "base/wire.h"
#include "pjrt/test_util.h"

static const char kProgram[] =
    "func.func @main(%x: tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}) -> tensor<2x3xf32> {\n"
    "  %one = stablehlo.constant dense<1.0> : tensor<2x3xf32>\n"
    "  %two = stablehlo.add %one, %one : tensor<2x3xf32>\n"
    "  %y = stablehlo.multiply %x, %two : tensor<2x3xf32>\n"
    "  return %y : tensor<2x3xf32>\n"
    "}\n";

static const PJRT_PhaseCompile_Extension* extension(void) {
  return hlo_test_find_extension(PJRT_Extension_Type_PhaseCompile);
}

static const PJRT_PhaseCompiler* compiler(void) {
  PJRT_PhaseCompile_Get_Compiler_Args args = ARGS(PhaseCompile_Get_Compiler);
  hlo_test_expect_ok(extension()->phase_compile_get_compiler(&args), "Get_Compiler");
  assert_non_null(args.phase_compiler);
  return args.phase_compiler;
}

static PJRT_TopologyDescription* create_topology(void) {
  PJRT_TopologyDescription_Create_Args args = ARGS(TopologyDescription_Create);
  OK(TopologyDescription_Create, &args);
  return args.topology;
}

static void destroy_topology(PJRT_TopologyDescription* topology) {
  OK(TopologyDescription_Destroy, &ARGS(TopologyDescription_Destroy, .topology = topology));
}

static void write_input(const char* next_phase, hlo_strbuf_t* out) {
  hlo_wire_put_string(out, 1, kProgram);
  hlo_wire_put_string(out, 2, "mlir");
  hlo_wire_put_string(out, 4, next_phase);
}

/// Returns the text of a field of a partial program; later ones count.
static hlo_wire_bytes_t field_of(const void* program, size_t size, uint32_t number) {
  hlo_wire_reader_t reader;
  hlo_wire_reader_init(&reader, program, size);
  hlo_wire_field_t field;
  hlo_wire_bytes_t found = {0};
  bool is_done = false;
  while (hlo_status_take_ok(hlo_wire_next(&reader, &field, &is_done)) && !is_done) {
    if (field.number == number) found = field.bytes;
  }
  return found;
}

static void expect_field(const PJRT_PhaseCompile_Run_Phase_Args* run, uint32_t number,
                         const char* expected) {
  const hlo_wire_bytes_t found =
      field_of(run->output_programs[0], run->output_programs_sizes[0], number);
  assert_int_equal(found.size, strlen(expected));
  if (found.size) assert_memory_equal(found.data, expected, found.size);
}

// A run of up to three phases over one program.
typedef struct run {
  const char* program;
  size_t size;
  const char* phases[3];
  size_t sizes[3];
  PJRT_PhaseCompile_Run_Phase_Args args;
} run_t;

static run_t* prepare(run_t* run, const char* program, size_t size,
                      PJRT_TopologyDescription* topology) {
  run->program = program;
  run->size = size;
  size_t count = 0;
  for (; count < 3 && run->phases[count]; ++count) run->sizes[count] = strlen(run->phases[count]);
  run->args = ARGS(
      PhaseCompile_Run_Phase, .phase_compiler = compiler(), .input_programs = &run->program,
      .input_programs_sizes = &run->size, .num_input_programs = 1, .phases_to_run = run->phases,
      .phases_to_run_sizes = run->sizes, .num_phases_to_run = count, .topology = topology);
  return run;
}

static void run_phases(run_t* run) {
  hlo_test_expect_ok(extension()->phase_compile_run_phases(&run->args), "Run_Phase");
  assert_int_equal(run->args.num_output_programs, 1);
}

static void destroy_outputs(run_t* run) {
  extension()->phase_compile_c_buffers_destroy(
      &ARGS(PhaseCompile_C_Buffers_Destroy, .char_buffers = run->args.output_programs,
            .char_buffer_sizes = run->args.output_programs_sizes,
            .num_char_buffers = run->args.num_output_programs));
}

static void phases_have_names(void** state) {
  (void)state;
  PJRT_PhaseCompile_Get_PhaseNames_Args args =
      ARGS(PhaseCompile_Get_PhaseNames, .phase_compiler = compiler());
  hlo_test_expect_ok(extension()->phase_compile_get_phase_names(&args), "Get_PhaseNames");
  static const char* const expected[] = {"import", "optimise", "native"};
  assert_int_equal(args.num_phase_names, 3);
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(args.phase_names_sizes[i], strlen(expected[i]));
    assert_memory_equal(args.phase_names[i], expected[i], args.phase_names_sizes[i]);
  }
  extension()->phase_compile_c_buffers_destroy(
      &ARGS(PhaseCompile_C_Buffers_Destroy, .char_buffers = args.phase_names,
            .char_buffer_sizes = args.phase_names_sizes, .num_char_buffers = 3));
  extension()->phase_compile_destroy_compiler(
      &ARGS(PhaseCompile_Destroy_Compiler, .phase_compiler = compiler()));
}

static void expect_doubled(const run_t* last) {
  const hlo_wire_bytes_t executable =
      field_of(last->args.output_programs[0], last->args.output_programs_sizes[0], 1);
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_Executable_DeserializeAndLoad_Args load =
      ARGS(Executable_DeserializeAndLoad, .client = client,
           .serialized_executable = (const char*)executable.data,
           .serialized_executable_size = executable.size);
  OK(Executable_DeserializeAndLoad, &load);
  PJRT_Buffer_MemoryLayout layout = {
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
      .tiled = {.minor_to_major = (int64_t[]){0, 1}, .minor_to_major_size = 2}};
  const float data[] = {0, 1, 2, 3, 4, 5};
  PJRT_Client_BufferFromHostBuffer_Args upload =
      ARGS(Client_BufferFromHostBuffer, .client = client, .data = data,
           .type = PJRT_Buffer_Type_F32, .dims = (int64_t[]){2, 3}, .num_dims = 2,
           .device = hlo_test_device_of(client, 0), .device_layout = &layout);
  OK(Client_BufferFromHostBuffer, &upload);
  hlo_test_await(upload.done_with_host_buffer);
  PJRT_Buffer* result;
  hlo_test_run(load.loaded_executable, NULL, &upload.buffer, 1, &result);
  float out[6];
  hlo_test_download(result, out, sizeof out);
  for (int i = 0; i < 6; ++i) assert_true(out[i] == 2 * data[i]);
  hlo_test_destroy_buffer(upload.buffer);
  hlo_test_destroy_buffer(result);
  hlo_test_destroy_loaded(load.loaded_executable);
  hlo_test_destroy_client(client);
}

// Each output is the next one's input; the result is that of one call for all phases.
static void phases_run_one_at_a_time(void** state) {
  (void)state;
  HLO_SCOPED_STRBUF input = {0};
  write_input("import", &input);
  PJRT_TopologyDescription* topology = create_topology();
  run_t import = {.phases = {"import"}}, optimise = {.phases = {"optimise"}},
        native = {.phases = {"native"}}, all = {.phases = {"import", "optimise", "native"}};
  run_phases(prepare(&import, input.data, input.length, topology));
  expect_field(&import.args, 2, "mlir");
  expect_field(&import.args, 3, "import");
  expect_field(&import.args, 4, "optimise");
  run_phases(prepare(&optimise, import.args.output_programs[0],
                     import.args.output_programs_sizes[0], topology));
  expect_field(&optimise.args, 4, "native");
  const hlo_wire_bytes_t text =
      field_of(optimise.args.output_programs[0], optimise.args.output_programs_sizes[0], 1);
  char* copy = strndup((const char*)text.data, text.size);
  assert_non_null(strstr(copy, "dense<2.0"));  // folded
  free(copy);
  run_phases(prepare(&native, optimise.args.output_programs[0],
                     optimise.args.output_programs_sizes[0], topology));
  expect_field(&native.args, 2, "hlocc_executable");
  expect_field(&native.args, 4, "");
  run_phases(prepare(&all, input.data, input.length, topology));
  assert_int_equal(all.args.output_programs_sizes[0], native.args.output_programs_sizes[0]);
  assert_memory_equal(all.args.output_programs[0], native.args.output_programs[0],
                      all.args.output_programs_sizes[0]);
  expect_doubled(&native);
  run_t* const runs[] = {&import, &optimise, &native, &all};
  for (int i = 0; i < 4; ++i) destroy_outputs(runs[i]);
  destroy_topology(topology);
}

static void expect_refused(run_t* run, const char* part) {
  hlo_test_expect_error(extension()->phase_compile_run_phases(&run->args),
                        PJRT_Error_Code_INVALID_ARGUMENT, part);
}

static void impossible_phases_are_refused(void** state) {
  (void)state;
  HLO_SCOPED_STRBUF input = {0}, late = {0};
  write_input("import", &input);
  write_input("native", &late);
  PJRT_TopologyDescription* topology = create_topology();
  run_t none = {0}, unknown = {.phases = {"link"}}, gap = {.phases = {"import", "native"}},
        early = {.phases = {"optimise"}}, import = {.phases = {"import"}},
        native = {.phases = {"native"}};
  expect_refused(prepare(&none, input.data, input.length, topology), "no phases");
  expect_refused(prepare(&unknown, input.data, input.length, topology), "'link'");
  expect_refused(prepare(&gap, input.data, input.length, topology),
                 "phase native cannot follow phase import");
  expect_refused(prepare(&early, input.data, input.length, topology), "is not for phase optimise");
  expect_refused(prepare(&import, "garbage", 7, topology), "input program 0");
  prepare(&import, input.data, input.length, topology)->args.num_input_programs = 0;
  expect_refused(&import, "no input programs");
  expect_refused(prepare(&import, input.data, input.length, NULL), "no topology");
  // A program of no phase of this version.
  hlo_test_expect_error(extension()->phase_compile_run_phases(
                            &prepare(&native, late.data, late.length, topology)->args),
                        PJRT_Error_Code_FAILED_PRECONDITION, "from hlocc ,");
  destroy_topology(topology);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(phases_have_names),
      cmocka_unit_test(phases_run_one_at_a_time),
      cmocka_unit_test(impossible_phases_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
