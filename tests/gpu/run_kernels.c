// SPDX-License-Identifier: Apache-2.0
// Runs kernels of Tile IR on an NVIDIA GPU: run_kernels FILE.tile... Each is compiled to PTX, which
// the driver assembles, run on random inputs, compared with machine code of the same kernel on the
// processor (with --interpret: with the interpreter of Tile IR), and timed beside the bandwidth of
// the memory. The driver is loaded at run time. Exit code 77: there is no driver or no GPU.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "codegen/image/tile_program.h"
#include "codegen/ptx/emit.h"
#include "codegen/ptx/kernel.h"
#include "compiler/execute.h"

enum {
  SKIPPED = 77,
  MOST_BUFFERS = 16,
  MOST_LAUNCHES = 8,
  REPEATS = 20,
  LOOSE_THREADS = 256,  // of a block where threads share nothing
  // Numbers of the driver API.
  ATTRIBUTE_MEMORY_CLOCK_KHZ = 36,
  ATTRIBUTE_BUS_BITS = 37,
  ATTRIBUTE_MAJOR = 75,
  ATTRIBUTE_MINOR = 76,
  FUNCTION_DYNAMIC_SHARED_BYTES = 8,
  MOST_MAPS = 8,
  MAP_L2_LINES_OF_128 = 2,
};

/// A matrix of which kernels copy boxes, in the driver's own form.
typedef struct tensor_map {
  _Alignas(64) unsigned char bytes[128];
} tensor_map_t;

// The part of the driver API that is used; every function returns 0 or an error's number.
typedef struct driver {
  int (*init)(unsigned flags);
  int (*device_get)(int* device, int ordinal);
  int (*device_attribute)(int* value, int attribute, int device);
  int (*device_name)(char* name, int bytes, int device);
  int (*context_retain)(void** context, int device);
  int (*context_set)(void* context);
  int (*synchronize)(void);
  int (*module_load)(void** module, const void* image);
  int (*module_unload)(void* module);
  int (*module_function)(void** function, void* module, const char* name);
  int (*function_set)(void* function, int attribute, int value);
  int (*alloc)(unsigned long long* address, size_t bytes);
  int (*free)(unsigned long long address);
  int (*to_device)(unsigned long long to, const void* from, size_t bytes);
  int (*to_host)(void* to, unsigned long long from, size_t bytes);
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream,
                void** params, void** extra);
  int (*event_create)(void** event, unsigned flags);
  int (*event_record)(void* event, void* stream);
  int (*event_synchronize)(void* event);
  int (*event_elapsed)(float* milliseconds, void* start, void* end);
  int (*error_name)(int error, const char** name);
  int (*encode_map)(tensor_map_t* map, int type, unsigned rank, void* address,
                    const unsigned long long* dims, const unsigned long long* strides,
                    const unsigned* box, const unsigned* steps, int interleave, int swizzle,
                    int promotion, int fill);
} driver_t;

static const struct {
  const char* name;
  size_t offset;
} kSymbols[] = {
    {"cuInit", offsetof(driver_t, init)},
    {"cuDeviceGet", offsetof(driver_t, device_get)},
    {"cuDeviceGetAttribute", offsetof(driver_t, device_attribute)},
    {"cuDeviceGetName", offsetof(driver_t, device_name)},
    {"cuDevicePrimaryCtxRetain", offsetof(driver_t, context_retain)},
    {"cuCtxSetCurrent", offsetof(driver_t, context_set)},
    {"cuCtxSynchronize", offsetof(driver_t, synchronize)},
    {"cuModuleLoadData", offsetof(driver_t, module_load)},
    {"cuModuleUnload", offsetof(driver_t, module_unload)},
    {"cuModuleGetFunction", offsetof(driver_t, module_function)},
    {"cuFuncSetAttribute", offsetof(driver_t, function_set)},
    {"cuMemAlloc_v2", offsetof(driver_t, alloc)},
    {"cuMemFree_v2", offsetof(driver_t, free)},
    {"cuMemcpyHtoD_v2", offsetof(driver_t, to_device)},
    {"cuMemcpyDtoH_v2", offsetof(driver_t, to_host)},
    {"cuLaunchKernel", offsetof(driver_t, launch)},
    {"cuEventCreate", offsetof(driver_t, event_create)},
    {"cuEventRecord", offsetof(driver_t, event_record)},
    {"cuEventSynchronize", offsetof(driver_t, event_synchronize)},
    {"cuEventElapsedTime", offsetof(driver_t, event_elapsed)},
    {"cuGetErrorName", offsetof(driver_t, error_name)},
    {"cuTensorMapEncodeTiled", offsetof(driver_t, encode_map)},
};

static driver_t driver;

static void fail(hlo_status_t status) {
  fprintf(stderr, "%s\n", hlo_status_message(status));
  exit(1);
}

static void must(hlo_status_t status) {
  if (!hlo_status_is_ok(status)) fail(status);
}

static void call(int error, const char* what) {
  const char* name = "?";
  if (error == 0) return;
  driver.error_name(error, &name);
  fprintf(stderr, "%s: %s (%d)\n", what, name, error);
  exit(1);
}

// Returns why there is nothing to run on; NULL: there is.
static const char* load_driver(void) {
  static char lack[64];
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return "libcuda.so.1 is not there";
  for (size_t i = 0; i < sizeof kSymbols / sizeof *kSymbols; ++i) {
    void* symbol = dlsym(library, kSymbols[i].name);
    // Drivers before CUDA 12 lack it, and GPUs that need it are newer.
    if (!symbol && kSymbols[i].offset == offsetof(driver_t, encode_map)) continue;
    if (!symbol) {
      snprintf(lack, sizeof lack, "the driver lacks %s", kSymbols[i].name);
      return lack;
    }
    memcpy((char*)&driver + kSymbols[i].offset, &symbol, sizeof symbol);
  }
  int device;
  if (driver.init(0) != 0 || driver.device_get(&device, 0) != 0) return "the driver has no GPU";
  return NULL;
}

// ---- kernels -----------------------------------------------------------------------------------

typedef struct launch {
  void* function;
  unsigned blocks, threads, dynamic_bytes;
  uint32_t map_count;
  tensor_map_t maps[MOST_MAPS];
} launch_t;

typedef struct job {
  const hlo_tile_kernel_t* kernel;
  bool allows_tf32;
  size_t bytes[MOST_BUFFERS];
  void* host[MOST_BUFFERS];        // inputs, and results of the processor
  uint8_t* results[MOST_BUFFERS];  // of the GPU
  unsigned long long device[MOST_BUFFERS];
  uint32_t launch_count;
  launch_t launches[MOST_LAUNCHES];
} job_t;

// Reads a comment about a matrix, to which the kernel of the launch before it has access.
static void read_map(job_t* job, const char* line) {
  enum { RANK = 2, LEAST_SWIZZLE = 32 };
  static const int types[] = {0, 1, 2, 4};  // unsigned integers of 1, 2, 4 and 8 bytes
  unsigned number, buffer, swizzle_bytes, box[RANK], steps[RANK] = {1, 1};
  char type[16];
  unsigned long long dims[RANK], stride;
  if (sscanf(line, "// map %u: buffer %u as %15[^[][%llu, %llu], boxes of %u x %u, swizzle of %u",
             &number, &buffer, type, &dims[1], &dims[0], &box[1], &box[0], &swizzle_bytes) != 8 ||
      job->launch_count == 0 || number >= MOST_MAPS || buffer >= job->kernel->buffer_count) {
    fail(hlo_internal_error("no matrix in %.100s", line));
  }
  if (!driver.encode_map) fail(hlo_unimplemented("the driver lacks cuTensorMapEncodeTiled"));
  launch_t* launch = &job->launches[job->launch_count - 1];
  const size_t size = hlo_dtype_size_bytes(job->kernel->buffers[buffer].dtype);
  stride = dims[0] * size;
  int swizzle = 0;
  for (unsigned bytes = LEAST_SWIZZLE; bytes <= swizzle_bytes; bytes *= 2) ++swizzle;
  call(driver.encode_map(&launch->maps[number], types[__builtin_ctzll(size)], RANK,
                         (void*)(uintptr_t)job->device[buffer], dims, &stride, box, steps, 0,
                         swizzle, MAP_L2_LINES_OF_128, 0),
       "cuTensorMapEncodeTiled");
  launch->map_count = number + 1;
}

// Reads the comments before the text: what to launch, in order.
static void read_launches(job_t* job, void* module, const char* text) {
  for (const char* line = text; *line == '/'; line = strchr(line, '\n') + 1) {
    char name[128];
    unsigned long long count;
    unsigned bytes = 0;
    if (strncmp(line, "// map ", strlen("// map ")) == 0) {
      read_map(job, line);
      continue;
    }
    if (job->launch_count == MOST_LAUNCHES) fail(hlo_internal_error("more than 8 launches"));
    launch_t* launch = &job->launches[job->launch_count++];
    if (sscanf(line, "// %127[^:]: %llu blocks of %u threads, %u bytes", name, &count,
               &launch->threads, &bytes) == 4) {
      launch->blocks = (unsigned)count;
    } else if (sscanf(line, "// %127[^:]: %llu threads", name, &count) == 2) {
      launch->threads = LOOSE_THREADS;
      launch->blocks = (unsigned)((count + LOOSE_THREADS - 1) / LOOSE_THREADS);
    } else {
      fail(hlo_internal_error("no launch in %.100s", line));
    }
    call(driver.module_function(&launch->function, module, name), "cuModuleGetFunction");
    if (bytes <= HLO_PTX_STATIC_SHARED_BYTES) continue;
    launch->dynamic_bytes = bytes;
    call(driver.function_set(launch->function, FUNCTION_DYNAMIC_SHARED_BYTES, (int)bytes),
         "cuFuncSetAttribute");
  }
}

// Scales of elements of 4 bits have no sign.
static void clear_signs(const hlo_tile_buffer_t* buffer, uint8_t* elements) {
  enum { SIGN = 0x80 };
  if (buffer->dtype != HLO_DTYPE_F8E4M3FN) return;
  for (int64_t i = 0; i < buffer->element_count; ++i) elements[i] &= (uint8_t)~SIGN;
}

// The GPU has elements of 2 or 4 bits packed.
static void make_buffers(job_t* job) {
  uint64_t seed = 1;
  bool has_scales = false;
  for (uint32_t i = 0; i < job->kernel->buffer_count; ++i) {
    has_scales |= job->kernel->buffers[i].dtype == HLO_DTYPE_F4E2M1FN;
  }
  for (uint32_t i = 0; i < job->kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &job->kernel->buffers[i];
    const size_t count = (size_t)buffer->element_count;
    const size_t host_bytes = count * hlo_dtype_size_bytes(buffer->dtype);
    job->bytes[i] = hlo_dtype_packed_size_bytes(buffer->dtype, count);
    job->host[i] = hlo_mem_alloc_zeroed(host_bytes);
    job->results[i] = hlo_mem_alloc_zeroed(host_bytes);
    if (!job->host[i] || !job->results[i]) fail(hlo_resource_exhausted("memory for buffers"));
    if (!buffer->is_output) hlo_dtype_fill_random(buffer->dtype, job->host[i], count, &seed);
    if (has_scales) clear_signs(buffer, job->host[i]);
    const bool is_packed = job->bytes[i] < host_bytes;
    if (is_packed) hlo_dtype_pack(buffer->dtype, job->host[i], job->results[i], count);
    call(driver.alloc(&job->device[i], job->bytes[i]), "cuMemAlloc");
    call(
        driver.to_device(job->device[i], is_packed ? job->results[i] : job->host[i], job->bytes[i]),
        "cuMemcpyHtoD");
  }
}

// Returns the bytes of all buffers.
static double fetch_results(job_t* job) {
  double bytes = 0;
  for (uint32_t i = 0; i < job->kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &job->kernel->buffers[i];
    const size_t count = (size_t)buffer->element_count;
    uint8_t* to = job->results[i];
    bytes += (double)job->bytes[i];
    if (job->bytes[i] == count * hlo_dtype_size_bytes(buffer->dtype)) {
      call(driver.to_host(to, job->device[i], job->bytes[i]), "cuMemcpyDtoH");
      continue;
    }
    uint8_t* packed = hlo_mem_alloc_zeroed(job->bytes[i]);
    if (!packed) fail(hlo_resource_exhausted("memory for buffers"));
    call(driver.to_host(packed, job->device[i], job->bytes[i]), "cuMemcpyDtoH");
    hlo_dtype_unpack(buffer->dtype, packed, to, count);
    hlo_mem_free(packed);
  }
  return bytes;
}

static void free_buffers(job_t* job) {
  for (uint32_t i = 0; i < job->kernel->buffer_count; ++i) {
    call(driver.free(job->device[i]), "cuMemFree");
    hlo_mem_free(job->host[i]);
    hlo_mem_free(job->results[i]);
  }
}

static void launch_all(job_t* job) {
  const uint32_t buffers = job->kernel->buffer_count;
  void* params[MOST_BUFFERS + MOST_MAPS];
  for (uint32_t i = 0; i < buffers; ++i) params[i] = &job->device[i];
  for (uint32_t i = 0; i < job->launch_count; ++i) {
    launch_t* l = &job->launches[i];
    for (uint32_t m = 0; m < l->map_count; ++m) params[buffers + m] = &l->maps[m];
    call(driver.launch(l->function, l->blocks, 1, 1, l->threads, 1, 1, l->dynamic_bytes, NULL,
                       params, NULL),
         "cuLaunchKernel");
  }
}

// ---- results -----------------------------------------------------------------------------------

// Machine code of processors multiplies no scaled operands, and has less memory for a block than a
// GPU: the interpreter runs what it refuses.
static void run_on_processor(const job_t* job, bool interprets) {
  hlo_target_t target;
  hlo_tile_program_t* program = NULL;
  must(hlo_target_find("", false, &target));
  if (!interprets) {
    hlo_status_t status = hlo_tile_program_create(job->kernel, &target, &program);
    const hlo_status_code_t code = hlo_status_code(status);
    if (code != HLO_STATUS_UNIMPLEMENTED && code != HLO_STATUS_RESOURCE_EXHAUSTED) must(status);
    hlo_status_release(status);
  }
  if (!program) {
    must(hlo_tile_kernel_run(job->kernel, hlo_tile_meaning_of_reference(), job->host));
    return;
  }
  must(hlo_tile_program_run(program, job->host, NULL, NULL));
  hlo_tile_program_release(program);
}

// Returns the sum of the products' flops.
static double flops_of(const hlo_tile_kernel_t* kernel) {
  double flops = 0;
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
    if (!hlo_tile_op_is_mma(op)) continue;
    const hlo_tile_op_t* left = op->operands[1];
    double products = 2 * (double)hlo_tile_ref_count(op->operands[0]);
    for (uint32_t i = 0; i < op->dims.contract_count; ++i) {
      products *= (double)left->ref.dims[op->dims.left_contract[i]];
    }
    for (uint32_t i = hlo_tile_block_loops(op->block, loops); i-- > 0;) {
      products *= (double)((loops[i]->end - loops[i]->low + loops[i]->step - 1) / loops[i]->step);
    }
    flops += products;
  }
  return flops;
}

// Returns the largest error as a share of the largest result. Sums are in another order; each of
// them is rounded to the output's type.
static double largest_error(const job_t* job) {
  double error = 0, largest = 1e-30;
  for (uint32_t i = 0; i < job->kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &job->kernel->buffers[i];
    const size_t size = hlo_dtype_size_bytes(buffer->dtype);
    if (!buffer->is_output) continue;
    for (int64_t n = 0; n < buffer->element_count; ++n) {
      const double want =
          hlo_dtype_load_double(buffer->dtype, (const uint8_t*)job->host[i] + (size_t)n * size);
      const double got = hlo_dtype_load_double(buffer->dtype, job->results[i] + (size_t)n * size);
      const double difference = got > want ? got - want : want - got;
      const double magnitude = want < 0 ? -want : want;
      if (!(difference <= error)) error = difference;  // a NaN too
      if (magnitude > largest) largest = magnitude;
    }
  }
  return error / largest;
}

static double bound_of(const job_t* job) {
  double bound = 1e-5;
  for (uint32_t i = 0; i < job->kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &job->kernel->buffers[i];
    if (buffer->is_output && hlo_dtype_info(buffer->dtype)->bits == 16) bound = 1e-2;
  }
  return job->allows_tf32 ? 1e-3 : bound;
}

static double milliseconds_of(job_t* job) {
  void *start, *end;
  float milliseconds = 0;
  call(driver.event_create(&start, 0), "cuEventCreate");
  call(driver.event_create(&end, 0), "cuEventCreate");
  call(driver.event_record(start, NULL), "cuEventRecord");
  for (uint32_t i = 0; i < REPEATS; ++i) launch_all(job);
  call(driver.event_record(end, NULL), "cuEventRecord");
  call(driver.event_synchronize(end), "cuEventSynchronize");
  call(driver.event_elapsed(&milliseconds, start, end), "cuEventElapsedTime");
  return (double)milliseconds / REPEATS;
}

static hlo_tile_kernel_t* read_kernel(hlo_arena_t* arena, const char* path) {
  uint8_t* bytes = NULL;
  size_t size = 0;
  hlo_tile_kernel_t* kernel = NULL;
  must(hlo_os_file_read(path, 0, &bytes, &size));
  const char* text = hlo_arena_strndup(arena, (const char*)bytes, size);
  must(hlo_tile_kernel_parse(arena, text, &kernel));
  hlo_mem_free(bytes);
  return kernel;
}

// Returns true if the results are within their bound.
static bool run_kernel(const char* path, const hlo_ptx_target_t* target, double bytes_per_ns,
                       bool interprets) {
  HLO_SCOPED_ARENA arena = {0};
  HLO_SCOPED_STRBUF text = {0};
  void* module;
  job_t job = {.allows_tf32 = strstr(path, "tf32") != NULL};
  job.kernel = read_kernel(&arena, path);
  if (job.kernel->buffer_count > MOST_BUFFERS)
    fail(hlo_unimplemented("%s: more than 16 buffers", path));
  const hlo_ptx_options_t options = {.allows_tf32 = job.allows_tf32};
  hlo_status_t status = hlo_ptx_emit_tile(job.kernel, target, &options, &text);
  if (hlo_status_code(status) == HLO_STATUS_UNIMPLEMENTED) {
    printf("%-20s skipped: %s\n", job.kernel->name, hlo_status_message(status));
    hlo_status_release(status);
    return true;
  }
  must(status);
  call(driver.module_load(&module, hlo_strbuf_text(&text)), "cuModuleLoadData");
  make_buffers(&job);
  read_launches(&job, module, hlo_strbuf_text(&text));
  run_on_processor(&job, interprets);
  launch_all(&job);
  call(driver.synchronize(), "cuCtxSynchronize");
  const double bytes = fetch_results(&job);
  const double error = largest_error(&job), bound = bound_of(&job);
  const double milliseconds = milliseconds_of(&job);
  const bool is_good = error <= bound;
  printf(
      "%-20s %s error %.2g (bound %.2g), %.4f ms, %.0f GB/s = %.2f of the memory's, %.2f TFLOP/s\n",
      job.kernel->name, is_good ? "ok:" : "WRONG:", error, bound, milliseconds,
      bytes / milliseconds / 1e6, bytes / milliseconds / 1e6 / bytes_per_ns,
      flops_of(job.kernel) / milliseconds / 1e9);
  free_buffers(&job);
  call(driver.module_unload(module), "cuModuleUnload");
  return is_good;
}

int main(int argc, char** argv) {
  const char* missing = load_driver();
  if (missing) {
    printf("skipped: no NVIDIA GPU: %s\n", missing);
    return SKIPPED;
  }
  int device, major, minor, clock_khz, bus_bits;
  char name[128];
  void* context;
  hlo_ptx_target_t target;
  call(driver.device_get(&device, 0), "cuDeviceGet");
  call(driver.device_name(name, sizeof name, device), "cuDeviceGetName");
  call(driver.device_attribute(&major, ATTRIBUTE_MAJOR, device), "cuDeviceGetAttribute");
  call(driver.device_attribute(&minor, ATTRIBUTE_MINOR, device), "cuDeviceGetAttribute");
  call(driver.device_attribute(&clock_khz, ATTRIBUTE_MEMORY_CLOCK_KHZ, device),
       "cuDeviceGetAttribute");
  call(driver.device_attribute(&bus_bits, ATTRIBUTE_BUS_BITS, device), "cuDeviceGetAttribute");
  call(driver.context_retain(&context, device), "cuDevicePrimaryCtxRetain");
  call(driver.context_set(context), "cuCtxSetCurrent");
  must(hlo_ptx_target_find((uint32_t)(10 * major + minor), &target));
  // Two transfers a cycle.
  const double bytes_per_ns = 2 * (double)clock_khz * 1e3 * bus_bits / 8 / 1e9;
  printf("%s, capability %d.%d, memory %.0f GB/s\n", name, major, minor, bytes_per_ns);
  bool interprets = false, is_good = true;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--interpret") == 0) {
      interprets = true;
    } else {
      is_good &= run_kernel(argv[i], &target, bytes_per_ns, interprets);
    }
  }
  return is_good ? 0 : 1;
}
