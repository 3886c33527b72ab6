// SPDX-License-Identifier: Apache-2.0
// The PhaseCompile extension: compilation in phases. Programs go in and come out as
// PjRtPartialProgramProto, which names the phase that produced a program and those that accept it.
// The executable in the last one is for PJRT_Executable_DeserializeAndLoad.
#include "pjrt/phase_compile.h"

#include "base/wire.h"
#include "compiler/phases.h"
#include "pjrt/objects.h"

// --- Partial programs ----------------------------------------------------------------------------

typedef struct partial_program {
  hlo_wire_bytes_t program;
  hlo_wire_bytes_t format;
  hlo_wire_bytes_t from_phase;
  hlo_wire_array_t next_phases;  // hlo_wire_bytes_t
  hlo_wire_bytes_t version;
} partial_program_t;

static const hlo_wire_field_info_t kPartialFields[] = {
    HLO_WIRE_FIELD(partial_program_t, 1, BYTES, program),
    HLO_WIRE_FIELD(partial_program_t, 2, BYTES, format),
    HLO_WIRE_FIELD(partial_program_t, 3, BYTES, from_phase),
    HLO_WIRE_REPEATED(partial_program_t, 4, BYTES, next_phases),
    HLO_WIRE_FIELD(partial_program_t, 5, BYTES, version),
};
static const hlo_wire_message_t kPartialProgram =
    HLO_WIRE_MESSAGE(partial_program_t, kPartialFields);

static bool bytes_are(hlo_wire_bytes_t bytes, const char* text) {
  return bytes.size == strlen(text) &&
         (bytes.size == 0 || memcmp(bytes.data, text, bytes.size) == 0);
}

static void write_partial(hlo_phase_t from_phase, const hlo_strbuf_t* program, hlo_strbuf_t* out) {
  const bool is_last = from_phase == HLO_PHASE_NATIVE;
  hlo_wire_put_bytes(out, 1, program->data, program->length);
  hlo_wire_put_string(out, 2, is_last ? "hlocc_executable" : "mlir");
  hlo_wire_put_string(out, 3, hlo_phase_name(from_phase));
  if (!is_last) hlo_wire_put_string(out, 4, hlo_phase_name(from_phase + 1));
  hlo_wire_put_string(out, 5, HLOCC_VERSION);
}

/// Fails unless `phase` accepts the program.
static hlo_status_t check_input(const partial_program_t* program, size_t number,
                                hlo_phase_t phase) {
  const hlo_wire_bytes_t* next = program->next_phases.items;
  bool is_accepted = false;
  for (size_t i = 0; i < program->next_phases.count; ++i) {
    is_accepted |= bytes_are(next[i], hlo_phase_name(phase));
  }
  if (!is_accepted) {
    return hlo_invalid_argument(
        "input program %zu, of format %.*s from phase '%.*s', is not for phase %s", number,
        (int)program->format.size, (const char*)program->format.data, (int)program->from_phase.size,
        (const char*)program->from_phase.data, hlo_phase_name(phase));
  }
  if (phase != HLO_PHASE_IMPORT && !bytes_are(program->version, HLOCC_VERSION)) {
    return hlo_failed_precondition("input program %zu is from hlocc %.*s, this is hlocc %s", number,
                                   (int)program->version.size, (const char*)program->version.data,
                                   HLOCC_VERSION);
  }
  return hlo_ok();
}

// --- Lists of strings that the caller destroys ---------------------------------------------------

typedef struct strings {
  char** items;
  size_t* sizes;
  size_t count;
} strings_t;

static void free_strings(const strings_t* strings) {
  for (size_t i = 0; strings->items != NULL && i < strings->count; ++i) {
    hlo_mem_free(strings->items[i]);
  }
  hlo_mem_free(strings->items);
  hlo_mem_free(strings->sizes);
}

static hlo_status_t create_strings(size_t count, strings_t* out) {
  size_t bytes;
  if (!hlo_size_mul(count + 1, sizeof(char*), &bytes)) return hlo_status_out_of_memory(SIZE_MAX);
  *out = (strings_t){hlo_mem_alloc_zeroed(bytes), hlo_mem_alloc_zeroed(bytes), count};
  if (out->items != NULL && out->sizes != NULL) return hlo_ok();
  free_strings(out);
  return hlo_status_out_of_memory(bytes);
}

static hlo_status_t set_string(strings_t* strings, size_t i, const char* text, size_t size) {
  strings->items[i] = hlo_mem_strndup(text, size);
  strings->sizes[i] = size;
  return strings->items[i] != NULL ? hlo_ok() : hlo_status_out_of_memory(size);
}

void hlo_pjrt_PhaseCompile_C_Buffers_Destroy(PJRT_PhaseCompile_C_Buffers_Destroy_Args* args) {
  free_strings(&(strings_t){(char**)args->char_buffers, (size_t*)args->char_buffer_sizes,
                            args->num_char_buffers});
}

// --- The compiler --------------------------------------------------------------------------------

struct PJRT_PhaseCompiler {
  char unused;  // it has no state
};

static const PJRT_PhaseCompiler kCompiler;

hlo_status_t hlo_pjrt_PhaseCompile_Get_Compiler(PJRT_PhaseCompile_Get_Compiler_Args* args) {
  args->phase_compiler = &kCompiler;
  return hlo_ok();
}

void hlo_pjrt_PhaseCompile_Destroy_Compiler(
    HLO_UNUSED PJRT_PhaseCompile_Destroy_Compiler_Args* args) {}

hlo_status_t hlo_pjrt_PhaseCompile_Get_PhaseNames(PJRT_PhaseCompile_Get_PhaseNames_Args* args) {
  strings_t names;
  HLO_TRY(create_strings(HLO_PHASE_COUNT, &names));
  hlo_status_t status = hlo_ok();
  for (hlo_phase_t i = 0; i < HLO_PHASE_COUNT && hlo_status_is_ok(status); ++i) {
    status = set_string(&names, i, hlo_phase_name(i), strlen(hlo_phase_name(i)));
  }
  if (!hlo_status_is_ok(status)) {
    free_strings(&names);
    return status;
  }
  args->phase_names = (const char**)names.items;
  args->phase_names_sizes = names.sizes;
  args->num_phase_names = names.count;
  return hlo_ok();
}

// Phases that follow each other.
typedef struct range {
  hlo_phase_t first, last;
} range_t;

static hlo_status_t read_phases(const PJRT_PhaseCompile_Run_Phase_Args* args, hlo_arena_t* arena,
                                range_t* out) {
  if (args->num_phases_to_run == 0) return hlo_invalid_argument("no phases to run");
  for (size_t i = 0; i < args->num_phases_to_run; ++i) {
    const char* name =
        hlo_arena_strndup(arena, args->phases_to_run[i], args->phases_to_run_sizes[i]);
    HLO_TRY(hlo_arena_status(arena));
    hlo_phase_t phase;
    HLO_TRY(hlo_phase_from_name(name, &phase));
    if (i == 0) out->first = phase;
    if (i != 0 && phase != out->last + 1) {
      return hlo_invalid_argument("phase %s cannot follow phase %s", name,
                                  hlo_phase_name(out->last));
    }
    out->last = phase;
  }
  return hlo_ok();
}

static hlo_status_t run_phases(range_t phases, const partial_program_t* input,
                               const hlo_compile_config_t* config,
                               const hlo_compile_options_t* options, hlo_strbuf_t* out) {
  const uint8_t* source = input->program.data;
  size_t source_bytes = input->program.size;
  hlo_strbuf_t result = {0};
  hlo_status_t status = hlo_ok();
  for (hlo_phase_t phase = phases.first; phase <= phases.last && hlo_status_is_ok(status);
       ++phase) {
    hlo_strbuf_t next = {0};
    status = hlo_phase_run(phase, source, source_bytes, config, options->serialized,
                           options->serialized_bytes, &next);
    hlo_strbuf_deinit(&result);
    result = next;
    source = (const uint8_t*)result.data;
    source_bytes = result.length;
  }
  if (hlo_status_is_ok(status)) {
    write_partial(phases.last, &result, out);
    status = hlo_strbuf_status(out);
  }
  hlo_strbuf_deinit(&result);
  return status;
}

static hlo_status_t run_input(const PJRT_PhaseCompile_Run_Phase_Args* args, size_t number,
                              range_t phases, const hlo_compile_config_t* config,
                              const hlo_compile_options_t* options, strings_t* outputs) {
  HLO_SCOPED_ARENA arena = {0};
  HLO_SCOPED_STRBUF bytes = {0};
  partial_program_t input;
  HLO_TRY_MSG(hlo_wire_decode(&kPartialProgram, args->input_programs[number],
                              args->input_programs_sizes[number], &arena, &input),
              "input program %zu", number);
  HLO_TRY(check_input(&input, number, phases.first));
  HLO_TRY(run_phases(phases, &input, config, options, &bytes));
  return set_string(outputs, number, bytes.data, bytes.length);
}

/// Runs phases that follow each other over each of the programs.
hlo_status_t hlo_pjrt_PhaseCompile_Run_Phase(PJRT_PhaseCompile_Run_Phase_Args* args) {
  if (args->topology == NULL) return hlo_invalid_argument("no topology to compile for");
  if (args->num_input_programs == 0) return hlo_invalid_argument("no input programs");
  HLO_SCOPED_ARENA arena = {0};
  range_t phases = {0};
  HLO_TRY(read_phases(args, &arena, &phases));
  hlo_compile_options_t options;
  HLO_TRY(hlo_compile_options_parse(args->compile_options, args->compile_options_size, &arena,
                                    &options));
  HLO_TRY(hlo_pjrt_check_devices(args->topology, &options));
  hlo_compile_config_t config;
  hlo_pjrt_compile_config(args->topology->settings, args->topology->machine, &options, &config);
  strings_t outputs;
  HLO_TRY(create_strings(args->num_input_programs, &outputs));
  hlo_status_t status = hlo_ok();
  for (size_t i = 0; i < args->num_input_programs && hlo_status_is_ok(status); ++i) {
    status = run_input(args, i, phases, &config, &options, &outputs);
  }
  if (!hlo_status_is_ok(status)) {
    free_strings(&outputs);
    return status;
  }
  args->output_programs = (const char**)outputs.items;
  args->output_programs_sizes = outputs.sizes;
  args->num_output_programs = outputs.count;
  return hlo_ok();
}
