// SPDX-License-Identifier: Apache-2.0
// The part of NVIDIA's driver API that run_kernels.c uses, without a GPU: memory is the host's, and
// kernels are run as text by the tests' reader of PTX. It is as strict as the driver where programs
// go wrong: versions and targets of modules, shared memory that nobody asked for, blocks of another
// size, addresses of no allocation, memory that is left. What it does is set by the environment:
//   FAKE_CUDA_CAPABILITY   10 * major + minor of its GPU; 80
//   FAKE_CUDA_DEVICES      how many GPUs it has; 1
//   FAKE_CUDA_PTX          the newest PTX version that it knows; 90
//   FAKE_CUDA_FAIL         "cuMemAlloc_v2 2 2": that function's second call fails with error 2
//   FAKE_CUDA_WRONG        not empty: a bit of what is copied to the host is wrong
//   FAKE_CUDA_LOG          a file to which every call is appended
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/ptx/run_test.inl"

// Numbers of the driver API.
enum {
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  NO_BINARY_FOR_GPU = 209,
  INVALID_PTX = 218,
  UNSUPPORTED_PTX_VERSION = 222,
  NOT_FOUND = 500,
  ATTRIBUTE_MEMORY_CLOCK_KHZ = 36,
  ATTRIBUTE_BUS_BITS = 37,
  ATTRIBUTE_MAJOR = 75,
  ATTRIBUTE_MINOR = 76,
  FUNCTION_DYNAMIC_SHARED_BYTES = 8,
};

enum {
  MOST_ALLOCATIONS = 32,
  MOST_FUNCTIONS = 16,
  MOST_PARAMS = 16,
  STATIC_SHARED_BYTES = 48 << 10,
  MOST_SHARED_BYTES = 227 << 10,
  MEMORY_ALIGN = 256,
  MAP_MARK = 0x3a9,
};

typedef struct allocation {
  uint8_t *block, *start;
  size_t bytes;
} allocation_t;

typedef struct function {
  char name[96];
  char* text;  // of its module
  unsigned dynamic_bytes;
} function_t;

// What an encoded map says, in its 128 bytes.
typedef struct map_words {
  uint64_t mark, base, dims[2], stride;
  uint32_t box[2], size, swizzle;
} map_words_t;
_Static_assert(sizeof(map_words_t) <= 128, "it fits the driver's description of a matrix");

static struct {
  bool is_ready, has_context, is_timed;
  allocation_t allocations[MOST_ALLOCATIONS];
  function_t functions[MOST_FUNCTIONS];
  uint32_t function_count, event_count;
  char* module;
} fake;

static unsigned setting(const char* name, unsigned without) {
  const char* text = getenv(name);
  return text && *text ? (unsigned)strtoul(text, NULL, 10) : without;
}

// Notes a call; returns the error that it has to fail with, or the one of a missing precondition.
static int begin(const char* name, bool needs_context) {
  static char failing[64];
  static unsigned calls, number, error;
  const char* path = getenv("FAKE_CUDA_LOG");
  FILE* log = path ? fopen(path, "a") : NULL;
  if (log) {
    fprintf(log, "%s\n", name);
    fclose(log);
  }
  const char* fail = getenv("FAKE_CUDA_FAIL");
  if (fail && sscanf(fail, "%63s %u %u", failing, &number, &error) == 3 &&
      strcmp(failing, name) == 0 && ++calls == number) {
    return (int)error;
  }
  if (strcmp(name, "cuInit") != 0 && !fake.is_ready) return NOT_INITIALIZED;
  return needs_context && !fake.has_context ? INVALID_CONTEXT : 0;
}

int cuInit(unsigned flags);
int cuInit(unsigned flags) {
  const int error = begin("cuInit", false);
  if (error) return error;
  if (flags) return INVALID_VALUE;
  fake.is_ready = true;
  return setting("FAKE_CUDA_DEVICES", 1) ? 0 : NO_DEVICE;
}

int cuDeviceGet(int* device, int ordinal);
int cuDeviceGet(int* device, int ordinal) {
  const int error = begin("cuDeviceGet", false);
  if (error) return error;
  if (ordinal < 0 || (unsigned)ordinal >= setting("FAKE_CUDA_DEVICES", 1)) return INVALID_DEVICE;
  *device = ordinal;
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device);
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  const int error = begin("cuDeviceGetAttribute", false);
  const int capability = (int)setting("FAKE_CUDA_CAPABILITY", 80);
  if (error) return error;
  if (device) return INVALID_DEVICE;
  switch (attribute) {
    case ATTRIBUTE_MEMORY_CLOCK_KHZ: *value = 1000000; return 0;
    case ATTRIBUTE_BUS_BITS: *value = 4096; return 0;
    case ATTRIBUTE_MAJOR: *value = capability / 10; return 0;
    case ATTRIBUTE_MINOR: *value = capability % 10; return 0;
    default: return INVALID_VALUE;
  }
}

int cuDeviceGetName(char* name, int bytes, int device);
int cuDeviceGetName(char* name, int bytes, int device) {
  const int error = begin("cuDeviceGetName", false);
  if (error) return error;
  if (bytes <= 0 || device) return INVALID_VALUE;
  snprintf(name, (size_t)bytes, "no GPU");
  return 0;
}

int cuDevicePrimaryCtxRetain(void** context, int device);
int cuDevicePrimaryCtxRetain(void** context, int device) {
  const int error = begin("cuDevicePrimaryCtxRetain", false);
  if (error) return error;
  if (device) return INVALID_DEVICE;
  *context = &fake;
  return 0;
}

int cuCtxSetCurrent(void* context);
int cuCtxSetCurrent(void* context) {
  const int error = begin("cuCtxSetCurrent", false);
  if (error) return error;
  fake.has_context = context == &fake;
  return fake.has_context ? 0 : INVALID_CONTEXT;
}

int cuCtxSynchronize(void);
int cuCtxSynchronize(void) {
  return begin("cuCtxSynchronize", true);
}

int cuGetErrorName(int error, const char** name);
int cuGetErrorName(int error, const char** name) {
  *name = error == OUT_OF_MEMORY             ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == NO_BINARY_FOR_GPU       ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : error == UNSUPPORTED_PTX_VERSION ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
          : error == INVALID_VALUE           ? "CUDA_ERROR_INVALID_VALUE"
                                             : "CUDA_ERROR_OTHER";
  return 0;
}

// ---- memory ------------------------------------------------------------------------------------

static allocation_t* find_allocation(unsigned long long address, size_t bytes) {
  for (uint32_t i = 0; i < MOST_ALLOCATIONS; ++i) {
    allocation_t* a = &fake.allocations[i];
    const uint64_t start = (uintptr_t)a->start;
    if (a->block && address >= start && address + bytes <= start + a->bytes) return a;
  }
  return NULL;
}

int cuMemAlloc_v2(unsigned long long* address, size_t bytes);
int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
  const int error = begin("cuMemAlloc_v2", true);
  if (error) return error;
  if (!bytes) return INVALID_VALUE;
  for (uint32_t i = 0; i < MOST_ALLOCATIONS; ++i) {
    allocation_t* a = &fake.allocations[i];
    if (a->block) continue;
    *a = (allocation_t){.block = malloc(bytes + MEMORY_ALIGN), .bytes = bytes};
    if (!a->block) return OUT_OF_MEMORY;
    a->start = a->block + (MEMORY_ALIGN - (uintptr_t)a->block % MEMORY_ALIGN);
    memset(a->start, 0xa5, bytes);
    *address = (uintptr_t)a->start;
    return 0;
  }
  return OUT_OF_MEMORY;
}

int cuMemFree_v2(unsigned long long address);
int cuMemFree_v2(unsigned long long address) {
  const int error = begin("cuMemFree_v2", true);
  if (error) return error;
  allocation_t* a = find_allocation(address, 1);
  if (!a || (uintptr_t)a->start != address) return INVALID_VALUE;
  free(a->block);
  *a = (allocation_t){0};
  return 0;
}

int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes);
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  const int error = begin("cuMemcpyHtoD_v2", true);
  if (error) return error;
  if (!find_allocation(to, bytes)) return INVALID_VALUE;
  memcpy((void*)(uintptr_t)to, from, bytes);
  return 0;
}

int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes);
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  const char* wrong = getenv("FAKE_CUDA_WRONG");
  const int error = begin("cuMemcpyDtoH_v2", true);
  if (error) return error;
  if (!find_allocation(from, bytes)) return INVALID_VALUE;
  memcpy(to, (const void*)(uintptr_t)from, bytes);
  if (wrong && *wrong) ((uint8_t*)to)[bytes - 1] ^= 0x40;  // an exponent's bit
  return 0;
}

// ---- modules -----------------------------------------------------------------------------------

int cuModuleLoadData(void** module, const void* image);
int cuModuleLoadData(void** module, const void* image) {
  const int error = begin("cuModuleLoadData", true);
  const char* version = strstr(image, ".version ");
  const unsigned own = setting("FAKE_CUDA_CAPABILITY", 80);
  unsigned major, minor, capability;
  char suffix = 0;
  if (error) return error;
  if (!version || sscanf(version, ".version %u.%u\n.target sm_%u%c", &major, &minor, &capability,
                         &suffix) < 4) {
    return INVALID_PTX;
  }
  if (10 * major + minor > setting("FAKE_CUDA_PTX", 90)) return UNSUPPORTED_PTX_VERSION;
  const bool fits = suffix == 'a'   ? capability == own
                    : suffix == 'f' ? capability / 10 == own / 10 && capability <= own
                                    : capability <= own;
  if (!fits) return NO_BINARY_FOR_GPU;
  if (fake.module) return INVALID_VALUE;  // the program loads one after the other
  fake.module = strdup(image);
  *module = fake.module;
  return fake.module ? 0 : OUT_OF_MEMORY;
}

int cuModuleUnload(void* module);
int cuModuleUnload(void* module) {
  const int error = begin("cuModuleUnload", true);
  if (error) return error;
  if (!module || module != fake.module) return INVALID_VALUE;
  // A program that leaves memory behind is wrong.
  for (uint32_t i = 0; i < MOST_ALLOCATIONS; ++i) {
    if (fake.allocations[i].block) return INVALID_VALUE;
  }
  free(fake.module);
  fake.module = NULL;
  fake.function_count = 0;
  fake.is_timed = false;
  return 0;
}

int cuModuleGetFunction(void** function, void* module, const char* name);
int cuModuleGetFunction(void** function, void* module, const char* name) {
  const int error = begin("cuModuleGetFunction", true);
  char entry[160];
  if (error) return error;
  snprintf(entry, sizeof entry, ".visible .entry %s(", name);
  if (module != fake.module || !strstr(module, entry)) return NOT_FOUND;
  if (fake.function_count == MOST_FUNCTIONS) return OUT_OF_MEMORY;
  function_t* f = &fake.functions[fake.function_count++];
  *f = (function_t){.text = module};
  snprintf(f->name, sizeof f->name, "%s", name);
  *function = f;
  return 0;
}

int cuFuncSetAttribute(void* function, int attribute, int value);
int cuFuncSetAttribute(void* function, int attribute, int value) {
  const int error = begin("cuFuncSetAttribute", true);
  function_t* f = function;
  if (error) return error;
  if (attribute != FUNCTION_DYNAMIC_SHARED_BYTES) return INVALID_VALUE;
  if (value < 0 || value > MOST_SHARED_BYTES) return INVALID_VALUE;
  f->dynamic_bytes = (unsigned)value;
  return 0;
}

int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address,
                           const unsigned long long* dims, const unsigned long long* strides,
                           const unsigned* box, const unsigned* steps, int interleave, int swizzle,
                           int promotion, int fill);
int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address,
                           const unsigned long long* dims, const unsigned long long* strides,
                           const unsigned* box, const unsigned* steps, int interleave, int swizzle,
                           int promotion, int fill) {
  enum { MAP_ALIGN = 64, UNIT = 16, MOST_BOX = 256, MOST_SWIZZLE = 3, LEAST_SWIZZLE_BYTES = 32 };
  static const uint32_t sizes[] = {1, 2, 4, 4, 8};
  const int error = begin("cuTensorMapEncodeTiled", true);
  if (error) return error;
  if (type < 0 || type > 4 || rank != 2 || interleave || fill || promotion < 0 || promotion > 3) {
    return INVALID_VALUE;
  }
  const uint32_t size = sizes[type];
  const uint64_t box_bytes = (uint64_t)box[0] * size;
  const bool is_aligned =
      (uintptr_t)map % MAP_ALIGN == 0 && (uintptr_t)address % UNIT == 0 && strides[0] % UNIT == 0;
  const bool is_box = box[0] > 0 && box[0] <= MOST_BOX && box[1] > 0 && box[1] <= MOST_BOX &&
                      steps[0] == 1 && steps[1] == 1 && box_bytes % UNIT == 0;
  const bool is_swizzle = swizzle >= 0 && swizzle <= MOST_SWIZZLE &&
                          (!swizzle || box_bytes <= (uint64_t)LEAST_SWIZZLE_BYTES >> 1 << swizzle);
  if (!is_aligned || !is_box || !is_swizzle) return INVALID_VALUE;
  if (!find_allocation((uintptr_t)address, dims[1] * strides[0])) return INVALID_VALUE;
  const map_words_t words = {MAP_MARK,
                             (uintptr_t)address,
                             {dims[0], dims[1]},
                             strides[0],
                             {box[0], box[1]},
                             size,
                             swizzle ? (uint32_t)LEAST_SWIZZLE_BYTES >> 1 << swizzle : 0};
  memset(map, 0, sizeof(uint64_t) * 16);
  memcpy(map, &words, sizeof words);
  return 0;
}

// ---- launches ----------------------------------------------------------------------------------

static uint32_t count_of(const char* text, const char* end, const char* part) {
  uint32_t count = 0;
  for (const char* at = strstr(text, part); at && at < end; at = strstr(at + 1, part)) ++count;
  return count;
}

// Gives the reader what was encoded instead of what the text's comments say.
static int set_maps(ptx_run_t* run, void* const* params, uint32_t count) {
  if (run->bulk->map_count != count) return INVALID_VALUE;
  for (uint32_t i = 0; i < count; ++i) {
    map_words_t words;
    memcpy(&words, params[i], sizeof words);
    if (words.mark != MAP_MARK || words.stride != words.dims[0] * words.size) return INVALID_VALUE;
    run->bulk->maps[i] = (ptx_map_t){.base = (const uint8_t*)(uintptr_t)words.base,
                                     .size = words.size,
                                     .swizzle_bytes = words.swizzle,
                                     .rows = (long long)words.dims[1],
                                     .columns = (long long)words.dims[0],
                                     .box_rows = words.box[1],
                                     .box_columns = words.box[0]};
  }
  return 0;
}

static int run_function(const function_t* f, unsigned blocks, unsigned threads, bool is_group,
                        void* const* params, uint32_t buffers, uint32_t maps) {
  HLO_SCOPED_ARENA arena = {0};
  uint64_t addresses[MOST_PARAMS];
  for (uint32_t i = 0; i < buffers; ++i) {
    memcpy(&addresses[i], params[i], sizeof addresses[i]);
    if (!find_allocation(addresses[i], 1)) return INVALID_VALUE;
  }
  if (!is_group) {
    ptx_run(f->text, f->name, (uint64_t)blocks * threads, addresses, buffers, NULL);
    return 0;
  }
  ptx_run_t* run =
      ptx_prepare(&arena, f->text, f->name, threads, addresses, buffers, NULL, f->dynamic_bytes);
  const int error = set_maps(run, params + buffers, maps);
  if (error) return error;
  assert_int_equal(ptx_run_prepared(run, blocks), 0);
  return 0;
}

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream, void** params, void** extra);
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream, void** params, void** extra) {
  const int error = begin("cuLaunchKernel", true);
  const function_t* f = function;
  char entry[160];
  unsigned threads;
  if (error) return error;
  snprintf(entry, sizeof entry, ".entry %s(", f->name);
  const char* head = strstr(f->text, entry);
  const char* body = strstr(head, "{\n");
  const char* limit = strstr(head, ".maxntid ");
  const bool is_group = limit && limit < body;
  const uint32_t buffers = count_of(head, body, ".u64 param_");
  const uint32_t maps = count_of(head, body, ".b8 map_");
  const bool is_plain = grid_x > 0 && grid_y == 1 && grid_z == 1 && block_x > 0 &&
                        block_x <= 1024 && block_y == 1 && block_z == 1 && !stream && !extra;
  if (!is_plain || buffers + maps > MOST_PARAMS) return INVALID_VALUE;
  if (is_group && (sscanf(limit, ".maxntid %u", &threads) != 1 || threads != block_x)) {
    return INVALID_VALUE;
  }
  const char* end = strstr(head, "\n}\n");
  const char* near = strstr(head, "near_memory");
  const bool is_dynamic = near && near < end;
  if (is_dynamic != (shared_bytes > 0)) return INVALID_VALUE;
  if (shared_bytes > STATIC_SHARED_BYTES && shared_bytes > f->dynamic_bytes) return INVALID_VALUE;
  // Launches between events are timed: their results are those of the first one.
  return fake.is_timed ? 0 : run_function(f, grid_x, block_x, is_group, params, buffers, maps);
}

int cuEventCreate(void** event, unsigned flags);
int cuEventCreate(void** event, unsigned flags) {
  const int error = begin("cuEventCreate", true);
  if (error) return error;
  if (flags) return INVALID_VALUE;
  *event = (char*)&fake + fake.event_count++ % 2;
  return 0;
}

int cuEventRecord(void* event, void* stream);
int cuEventRecord(void* event, void* stream) {
  const int error = begin("cuEventRecord", true);
  if (error) return error;
  if (stream || !event) return INVALID_VALUE;
  fake.is_timed = !fake.is_timed;
  return 0;
}

int cuEventSynchronize(void* event);
int cuEventSynchronize(void* event) {
  const int error = begin("cuEventSynchronize", true);
  return error ? error : event ? 0 : INVALID_VALUE;
}

int cuEventElapsedTime(float* milliseconds, void* start, void* end);
int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  const int error = begin("cuEventElapsedTime", true);
  if (error) return error;
  if (!start || !end || start == end) return INVALID_VALUE;
  *milliseconds = 2;
  return 0;
}
