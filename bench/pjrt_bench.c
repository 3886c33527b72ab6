// SPDX-License-Identifier: Apache-2.0
// Times a PJRT plugin through its C interface: compilation, launches of trivial programs, and runs
// of the stored programs with warm buffers. One JSON line per measurement. Works with any plugin;
// this library's reader only determines the inputs of a program.
#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/strbuf.h"
#include "frontend/frontend.h"
#include "hlocc/pjrt.h"
#include "pjrt_bench_input.h"

enum { DEVICES = 8 };  // of the programs that run on several
enum { COMPILE_ROUNDS = 5, COMPILE_LIMIT = 1000, BATCHES = 16, CALL_LIMIT = 1000000 };
static const double kSecondsPerNs = 1e-9;

#define ARGS(name, ...)                                          \
  (PJRT_##name##_Args) {                                         \
    .struct_size = PJRT_##name##_Args_STRUCT_SIZE, ##__VA_ARGS__ \
  }
#define CALL(name, args) check(g_api->PJRT_##name(args), "PJRT_" #name)

static const PJRT_Api* g_api;

typedef struct options {
  const char* plugin;
  const char* programs;  // folder
  const char* only;      // part of names
  double seconds;        // of runs, and of compilations, of each program
  bool with_compile, with_dispatch, with_run;
} options_t;

typedef struct session {
  const options_t* options;
  PJRT_Client* client;
  PJRT_Device* const* devices;
  size_t device_count;
} session_t;

typedef struct program {
  const char* name;
  const uint8_t* code;
  size_t code_bytes;
  const uint8_t* compile_options;
  size_t compile_options_bytes;
  size_t device_count;  // 0: one
} program_t;

/// A loaded program with buffers for its arguments.
typedef struct job {
  PJRT_LoadedExecutable* executable;
  size_t device_count, argument_count, result_count;
  PJRT_Buffer** arguments[DEVICES];
  PJRT_Buffer** results[DEVICES];
} job_t;

static _Noreturn void die(const char* format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(1);
}

/// Stores the message of an error in `text`; returns false without an error.
static bool take_error(PJRT_Error* error, char* text, size_t capacity) {
  if (!error) return false;
  PJRT_Error_Message_Args message = ARGS(Error_Message, .error = error);
  g_api->PJRT_Error_Message(&message);
  snprintf(text, capacity, "%.*s", (int)message.message_size, message.message);
  for (char* c = text; *c; ++c) {
    if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ') *c = ' ';
  }
  g_api->PJRT_Error_Destroy(&ARGS(Error_Destroy, .error = error));
  return true;
}

static void check(PJRT_Error* error, const char* what) {
  char text[512];
  if (take_error(error, text, sizeof text)) die("%s: %s", what, text);
}

static double seconds_since(uint64_t start_ns) {
  return (double)(hlo_os_now_ns() - start_ns) * kSecondsPerNs;
}

static int compare_doubles(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// ---- the plugin
// ----------------------------------------------------------------------------------

static void open_plugin(const options_t* options, session_t* session) {
  uint64_t start = hlo_os_now_ns();
  void* library = dlopen(options->plugin, RTLD_NOW | RTLD_LOCAL);
  if (!library) die("%s", dlerror());
  const PJRT_Api* (*get_api)(void) = (const PJRT_Api* (*)(void))dlsym(library, "GetPjrtApi");
  if (!get_api) die("%s has no GetPjrtApi", options->plugin);
  g_api = get_api();
  double load_s = seconds_since(start);
  CALL(Plugin_Initialize, &ARGS(Plugin_Initialize));
  start = hlo_os_now_ns();
  PJRT_Client_Create_Args create = ARGS(Client_Create);
  CALL(Client_Create, &create);
  double client_s = seconds_since(start);
  PJRT_Client_AddressableDevices_Args devices =
      ARGS(Client_AddressableDevices, .client = create.client);
  CALL(Client_AddressableDevices, &devices);
  PJRT_Client_PlatformVersion_Args version = ARGS(Client_PlatformVersion, .client = create.client);
  CALL(Client_PlatformVersion, &version);
  printf("{\"plugin\": \"%s\", \"version\": \"%.*s\", \"load_s\": %.3g, \"client_s\": %.3g}\n",
         options->plugin, (int)version.platform_version_size, version.platform_version, load_s,
         client_s);
  *session = (session_t){options, create.client, devices.addressable_devices,
                         devices.num_addressable_devices};
}

static PJRT_Error* compile(const session_t* session, const program_t* program,
                           PJRT_LoadedExecutable** out_executable) {
  PJRT_Program source = {.struct_size = PJRT_Program_STRUCT_SIZE,
                         .code = (char*)program->code,
                         .code_size = program->code_bytes,
                         .format = "mlir",
                         .format_size = 4};
  PJRT_Client_Compile_Args args =
      ARGS(Client_Compile, .client = session->client, .program = &source,
           .compile_options = (const char*)program->compile_options,
           .compile_options_size = program->compile_options_bytes);
  PJRT_Error* error = g_api->PJRT_Client_Compile(&args);
  *out_executable = args.executable;
  return error;
}

static void destroy_executable(PJRT_LoadedExecutable* executable) {
  CALL(LoadedExecutable_Destroy, &ARGS(LoadedExecutable_Destroy, .executable = executable));
}

static void await(PJRT_Event* event) {
  CALL(Event_Await, &ARGS(Event_Await, .event = event));
  CALL(Event_Destroy, &ARGS(Event_Destroy, .event = event));
}

static PJRT_Buffer* upload(const session_t* session, size_t device,
                           const hlo_bench_input_t* input) {
  PJRT_Client_BufferFromHostBuffer_Args args =
      ARGS(Client_BufferFromHostBuffer, .client = session->client, .data = input->data,
           .type = (PJRT_Buffer_Type)input->pjrt_type, .dims = input->dims, .num_dims = input->rank,
           .device = session->devices[device],
           .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  CALL(Client_BufferFromHostBuffer, &args);
  await(args.done_with_host_buffer);
  return args.buffer;
}

// ---- running
// -------------------------------------------------------------------------------------

static void destroy_buffers(PJRT_Buffer** buffers, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    CALL(Buffer_Destroy, &ARGS(Buffer_Destroy, .buffer = buffers[i]));
  }
}

static void destroy_results(job_t* job) {
  for (size_t d = 0; d < job->device_count; ++d)
    destroy_buffers(job->results[d], job->result_count);
}

/// Launches once and waits for the end; the results stay until destroy_results().
static void run_once(job_t* job) {
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_Event* done[DEVICES] = {0};
  PJRT_Buffer* const* arguments[DEVICES];
  for (size_t d = 0; d < job->device_count; ++d) arguments[d] = job->arguments[d];
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS(LoadedExecutable_Execute, .executable = job->executable, .options = &options,
           .argument_lists = arguments, .num_devices = job->device_count,
           .num_args = job->argument_count, .output_lists = job->results,
           .device_complete_events = done);
  CALL(LoadedExecutable_Execute, &args);
  for (size_t d = 0; d < job->device_count; ++d) await(done[d]);
}

/// Returns the least mean time of a launch with the release of its results, over batches of
/// launches.
static double time_rounds(job_t* job, size_t count) {
  double best_s = INFINITY;
  for (int batch = 0; batch < BATCHES; ++batch) {
    size_t calls = count / BATCHES + 1;
    uint64_t begin = hlo_os_now_ns();
    for (size_t i = 0; i < calls; ++i) {
      run_once(job);
      destroy_results(job);
    }
    best_s = fmin(best_s, seconds_since(begin) / (double)calls);
  }
  return best_s;
}

/// Runs warm launches for the given time: least and median time from launch to end, and the time of
/// a round with the release of the results.
static void time_job(job_t* job, double seconds, const char* program, const char* kind) {
  static double times[CALL_LIMIT];
  run_once(job);
  destroy_results(job);
  size_t count = 0;
  uint64_t begin = hlo_os_now_ns();
  while (count < CALL_LIMIT && (count == 0 || seconds_since(begin) < seconds)) {
    uint64_t start = hlo_os_now_ns();
    run_once(job);
    times[count++] = seconds_since(start);
    destroy_results(job);
  }
  double round_s = time_rounds(job, count);
  qsort(times, count, sizeof *times, compare_doubles);
  printf(
      "{\"program\": \"%s\", \"kind\": \"%s\", \"min_s\": %.4g, \"median_s\": %.4g, "
      "\"round_s\": %.4g, \"calls\": %zu}\n",
      program, kind, times[0], times[count / 2], round_s, count);
}

static size_t count_results(PJRT_LoadedExecutable* loaded) {
  PJRT_LoadedExecutable_GetExecutable_Args get =
      ARGS(LoadedExecutable_GetExecutable, .loaded_executable = loaded);
  CALL(LoadedExecutable_GetExecutable, &get);
  PJRT_Executable_NumOutputs_Args outputs =
      ARGS(Executable_NumOutputs, .executable = get.executable);
  CALL(Executable_NumOutputs, &outputs);
  CALL(Executable_Destroy, &ARGS(Executable_Destroy, .executable = get.executable));
  return outputs.num_outputs;
}

static void make_arguments(const session_t* session, const program_t* program,
                           const hlo_type_t* type, size_t device, PJRT_Buffer** out_arguments) {
  for (size_t i = 0; i < type->input_count; ++i) {
    hlo_bench_input_t input;
    if (!hlo_bench_input_make(type->elements[i], program->name, &input)) {
      die("%s: no input for argument %zu", program->name, i);
    }
    out_arguments[i] = upload(session, device, &input);
    hlo_bench_input_free(&input);
  }
}

static void run_program(const session_t* session, const program_t* program, const char* kind) {
  job_t job = {.device_count = program->device_count ? program->device_count : 1};
  char text[512];
  if (take_error(compile(session, program, &job.executable), text, sizeof text)) {
    printf("{\"program\": \"%s\", \"error\": \"%s\"}\n", program->name, text);
    return;
  }
  hlo_module_t* module;
  hlo_frontend_options_t defaults = {0};
  hlo_status_t status = hlo_frontend_load(program->code, program->code_bytes, program->name,
                                          &defaults, NULL, &module);
  if (!hlo_status_is_ok(status)) die("%s: %s", program->name, hlo_status_message(status));
  const hlo_type_t* type = hlo_module_entry(module)->type;
  job.argument_count = type->input_count;
  job.result_count = count_results(job.executable);
  for (size_t d = 0; d < job.device_count; ++d) {
    job.arguments[d] = calloc(job.argument_count + 1, sizeof **job.arguments);
    job.results[d] = calloc(job.result_count + 1, sizeof **job.results);
    make_arguments(session, program, type, d, job.arguments[d]);
  }
  hlo_module_release(module);
  time_job(&job, session->options->seconds, program->name, kind);
  for (size_t d = 0; d < job.device_count; ++d) {
    destroy_buffers(job.arguments[d], job.argument_count);
    free(job.arguments[d]);
    free(job.results[d]);
  }
  destroy_executable(job.executable);
}

// At least COMPILE_ROUNDS times; short compilations as long as runs.
static void compile_program(const session_t* session, const program_t* program) {
  double first = 0, least = INFINITY;
  uint64_t begin = hlo_os_now_ns();
  for (int i = 0; i < COMPILE_LIMIT; ++i) {
    if (i >= COMPILE_ROUNDS && seconds_since(begin) > session->options->seconds) break;
    PJRT_LoadedExecutable* executable;
    char text[512];
    uint64_t start = hlo_os_now_ns();
    PJRT_Error* error = compile(session, program, &executable);
    double time = seconds_since(start);
    if (take_error(error, text, sizeof text)) {
      printf("{\"program\": \"%s\", \"error\": \"%s\"}\n", program->name, text);
      return;
    }
    destroy_executable(executable);
    if (i == 0) first = time;
    least = fmin(least, time);
  }
  printf("{\"program\": \"%s\", \"kind\": \"compile\", \"first_s\": %.4g, \"min_s\": %.4g}\n",
         program->name, first, least);
}

// ---- which programs
// ------------------------------------------------------------------------------

/// Writes a program that adds one to each of `count` scalars.
static void dispatch_program(const session_t* session, int count, const char* name) {
  if (!strstr(name, session->options->only)) return;
  hlo_strbuf_t text = {0};
  hlo_strbuf_printf(&text, "func.func public @main(");
  for (int i = 0; i < count; ++i) {
    hlo_strbuf_printf(&text, "%s%%a%d: tensor<f32>", i ? ", " : "", i);
  }
  hlo_strbuf_printf(&text, ") -> (");
  for (int i = 0; i < count; ++i) hlo_strbuf_printf(&text, "%stensor<f32>", i ? ", " : "");
  hlo_strbuf_printf(&text, ") {\n  %%one = stablehlo.constant dense<1.0> : tensor<f32>\n");
  for (int i = 0; i < count; ++i) {
    hlo_strbuf_printf(&text, "  %%r%d = stablehlo.add %%a%d, %%one : tensor<f32>\n", i, i);
  }
  hlo_strbuf_printf(&text, "  return ");
  for (int i = 0; i < count; ++i) hlo_strbuf_printf(&text, "%s%%r%d", i ? ", " : "", i);
  hlo_strbuf_printf(&text, " : ");
  for (int i = 0; i < count; ++i) hlo_strbuf_printf(&text, "%stensor<f32>", i ? ", " : "");
  hlo_strbuf_printf(&text, "\n}\n");
  program_t program = {
      .name = name, .code = (const uint8_t*)hlo_strbuf_text(&text), .code_bytes = text.length};
  run_program(session, &program, "dispatch");
  hlo_strbuf_deinit(&text);
}

static int is_program(const struct dirent* entry) {
  const char* dot = strrchr(entry->d_name, '.');
  return dot && strcmp(dot, ".mlirbc") == 0;
}

static uint8_t* read_file(const char* folder, const char* name, const char* ending,
                          size_t* out_bytes) {
  hlo_strbuf_t path = {0};
  hlo_strbuf_printf(&path, "%s/%s%s", folder, name, ending);
  uint8_t* data;
  hlo_status_t status = hlo_os_file_read(hlo_strbuf_text(&path), 0, &data, out_bytes);
  if (!hlo_status_is_ok(status)) die("%s", hlo_status_message(status));
  hlo_strbuf_deinit(&path);
  return data;
}

static void stored_program(const session_t* session, const char* folder, const char* name,
                           bool with_run) {
  program_t program = {.name = name};
  uint8_t* code = read_file(folder, name, ".mlirbc", &program.code_bytes);
  uint8_t* options = read_file(folder, name, ".options.pb", &program.compile_options_bytes);
  program.code = code;
  program.compile_options = options;
  if (session->options->with_compile) compile_program(session, &program);
  if (with_run) run_program(session, &program, "run");
  fflush(stdout);
  hlo_mem_free(code);
  hlo_mem_free(options);
}

/// A sum over eight replicas, if the client has as many devices.
static void sum_program(const session_t* session, const char* type, const char* name) {
  static const uint8_t options[] = {3 << 3 | 2, 2, 4 << 3 | 0, DEVICES};  // num_replicas
  if (!strstr(name, session->options->only) || session->device_count < DEVICES) return;
  hlo_strbuf_t text = {0};
  hlo_strbuf_printf(&text,
                    "func.func public @main(%%x: %s) -> %s {\n"
                    "  %%y = \"stablehlo.all_reduce\"(%%x) ({\n"
                    "  ^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
                    "    %%s = stablehlo.add %%a, %%b : tensor<f32>\n"
                    "    stablehlo.return %%s : tensor<f32>\n"
                    "  }) {replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}"
                    " : (%s) -> %s\n  return %%y : %s\n}\n",
                    type, type, type, type, type);
  program_t program = {.name = name,
                       .code = (const uint8_t*)hlo_strbuf_text(&text),
                       .code_bytes = text.length,
                       .compile_options = options,
                       .compile_options_bytes = sizeof options,
                       .device_count = DEVICES};
  run_program(session, &program, "dispatch");
  hlo_strbuf_deinit(&text);
}

static void stored_programs(const session_t* session, const char* part, bool with_run) {
  hlo_strbuf_t folder = {0};
  hlo_strbuf_printf(&folder, "%s/%s", session->options->programs, part);
  struct dirent** entries;
  int count = scandir(hlo_strbuf_text(&folder), &entries, is_program, alphasort);
  if (count < 0) die("cannot read %s", hlo_strbuf_text(&folder));
  for (int i = 0; i < count; ++i) {
    char* name = entries[i]->d_name;
    *strrchr(name, '.') = 0;
    if (strstr(name, session->options->only)) {
      stored_program(session, hlo_strbuf_text(&folder), name, with_run);
    }
    free(entries[i]);
  }
  free(entries);
  hlo_strbuf_deinit(&folder);
}

static bool take_value(const char* argument, const char* name, const char** out_value) {
  size_t length = strlen(name);
  if (strncmp(argument, name, length) != 0) return false;
  *out_value = argument + length;
  return true;
}

static void read_options(int count, char** arguments, options_t* options) {
  const char* what = "compile,dispatch,run";
  const char* seconds = "0.3";
  for (int i = 1; i < count; ++i) {
    if (!take_value(arguments[i], "--plugin=", &options->plugin) &&
        !take_value(arguments[i], "--programs=", &options->programs) &&
        !take_value(arguments[i], "--only=", &options->only) &&
        !take_value(arguments[i], "--what=", &what) &&
        !take_value(arguments[i], "--seconds=", &seconds)) {
      die("usage: %s [--plugin=PATH] [--programs=FOLDER] [--only=PART-OF-NAME]\n"
          "  [--what=compile,dispatch,run] [--seconds=0.3]",
          arguments[0]);
    }
  }
  options->seconds = atof(seconds);
  options->with_compile = strstr(what, "compile");
  options->with_dispatch = strstr(what, "dispatch");
  options->with_run = strstr(what, "run");
}

int main(int count, char** arguments) {
  options_t options = {
      .plugin = "build/lib/pjrt_c_api_hlocc_plugin.so", .programs = "tests/programs", .only = ""};
  read_options(count, arguments, &options);
  setenv("HLOCC_CACHE_MEMORY", "0", 0);  // times compilations, not the cache
  setenv("HLOCC_CACHE_DIR", "", 0);
  setenv("HLOCC_NUM_DEVICES", "8", 0);
  session_t session;
  open_plugin(&options, &session);
  if (options.with_dispatch) {
    dispatch_program(&session, 1, "add_one");
    dispatch_program(&session, 100, "add_hundred");
    sum_program(&session, "tensor<f32>", "psum_one_of_8");
    sum_program(&session, "tensor<1000000xf32>", "psum_1e6_of_8");
  }
  if (options.with_compile || options.with_run) {
    stored_programs(&session, "one-device", options.with_run);
  }
  if (options.with_compile) stored_programs(&session, "eight-devices", false);
  CALL(Client_Destroy, &ARGS(Client_Destroy, .client = session.client));
  return 0;
}
