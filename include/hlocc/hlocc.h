/* SPDX-License-Identifier: Apache-2.0
 *
 * hlocc: compile and run StableHLO programs from C.
 *
 *   hlocc_client_t* client;
 *   hlocc_executable_t* executable;
 *   hlocc_error_t* error = hlocc_client_create(NULL, &client);
 *   if (!error) error = hlocc_executable_load_file(client, "model.mlir", NULL, &executable);
 *   if (!error) error = hlocc_executable_run(executable, inputs, outputs);
 *   if (error) { puts(hlocc_error_message(error)); hlocc_error_free(error); }
 *
 * Compile with: cc run.c $(pkg-config --cflags --libs hlocc)
 *
 * hlocc_executable_run() works on arrays and waits. Programs that stream data, keep it on
 * a device or work meanwhile use buffers, launches and events: examples/c/stream.c, simulate.c.
 *
 * Errors: functions that can fail return an error that the caller frees, or NULL. A failed call
 * leaves its outputs untouched. No function prints or ends the process.
 * Ownership: the caller owns what a function stores in a parameter named out_... or in `results`,
 * and frees it by the _free() function of its type, which accepts NULL. Objects keep the client
 * alive, and work in flight keeps what it needs: they may be freed in any order, at any time.
 * Pointers that functions return are lent and live as long as their object. Arrays and structs that
 * are passed to a function are lent for the call unless its comment says otherwise.
 * Threads: any number of threads may use an object at once; its last user frees it. An error
 * belongs to one thread at a time. Functions marked "waits" return FAILED_PRECONDITION instead of
 * waiting on a thread that is in a callback; all others return at once.
 * Compatibility: structs of options begin with their size and may grow; zero is always a default.
 */
#ifndef HLOCC_HLOCC_H_
#define HLOCC_HLOCC_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HLOCC_API __attribute__((visibility("default")))

/* Returns the version of the library, which may differ from this header: "0.1.0". */
HLOCC_API const char* hlocc_version(void);

/* ---- errors ---------------------------------------------------------------------------------- */

typedef struct hlocc_error hlocc_error_t;

/* Numbered as in PJRT and gRPC. */
typedef enum hlocc_code {
  HLOCC_OK = 0,
  HLOCC_CANCELLED = 1,
  HLOCC_UNKNOWN = 2,
  HLOCC_INVALID_ARGUMENT = 3,
  HLOCC_DEADLINE_EXCEEDED = 4,
  HLOCC_NOT_FOUND = 5,
  HLOCC_ALREADY_EXISTS = 6,
  HLOCC_PERMISSION_DENIED = 7,
  HLOCC_RESOURCE_EXHAUSTED = 8,
  HLOCC_FAILED_PRECONDITION = 9,
  HLOCC_ABORTED = 10,
  HLOCC_OUT_OF_RANGE = 11,
  HLOCC_UNIMPLEMENTED = 12,
  HLOCC_INTERNAL = 13,
  HLOCC_UNAVAILABLE = 14,
  HLOCC_DATA_LOSS = 15,
  HLOCC_UNAUTHENTICATED = 16
} hlocc_code_t;

/* Returns HLOCC_OK for NULL. */
HLOCC_API hlocc_code_t hlocc_error_code(const hlocc_error_t* error);
/* Returns all faults found, each in one or more lines; "" for NULL. */
HLOCC_API const char* hlocc_error_message(const hlocc_error_t* error);
/* Returns the file of the first fault ("" if unknown), and its line and column from 1 (0 if
 * unknown). The pointers may be NULL. The file is the program or the source from which it was
 * generated. */
HLOCC_API const char* hlocc_error_location(const hlocc_error_t* error, uint32_t* out_line,
                                           uint32_t* out_column);
HLOCC_API void hlocc_error_free(hlocc_error_t* error);

/* One fault. Its strings live as long as the error and are "" if unknown. */
typedef struct hlocc_fault {
  const char* file;      /* the program or the source from which it was generated */
  uint32_t line, column; /* from 1; 0 if unknown */
  const char* operation; /* "stablehlo.add" */
  const char* text;      /* the part of the message about this fault, without its location */
} hlocc_fault_t;

/* Returns the number of faults, at least one; 0 for NULL. */
HLOCC_API uint32_t hlocc_error_fault_count(const hlocc_error_t* error);
/* For an index out of range, all strings are "". */
HLOCC_API hlocc_fault_t hlocc_error_fault(const hlocc_error_t* error, uint32_t index);

/* ---- log ------------------------------------------------------------------------------------- */

/* Levels of messages, the most important first. */
typedef enum hlocc_log_level {
  HLOCC_LOG_ERROR = 1,
  HLOCC_LOG_WARN = 2,
  HLOCC_LOG_INFO = 3,
  HLOCC_LOG_DEBUG = 4,
  HLOCC_LOG_TRACE = 5
} hlocc_log_level_t;

/* Returns a static name such as "warn"; "unknown" for a number that is no level. */
HLOCC_API const char* hlocc_log_level_name(hlocc_log_level_t level);

/* One message. Later versions may append fields: struct_size says which exist. All pointers are
 * lent for the call of the sink. */
typedef struct hlocc_log_record {
  size_t struct_size;
  hlocc_log_level_t level;
  const char* component; /* of the library: "runtime", "compiler" */
  const char* message;   /* may have several lines; without an end of line */
  size_t message_bytes;
  const char* file; /* the source that logs: "src/runtime/client.c" */
  uint32_t line;
  uint64_t wall_time_ns; /* since 1970 */
  int64_t thread_id;     /* the system's */
} hlocc_log_record_t;

/* Receives messages instead of standard error. Called on any thread, by several at once; must not
 * call functions of this client. */
typedef void (*hlocc_log_sink_t)(void* context, const hlocc_log_record_t* record);

/* ---- clients --------------------------------------------------------------------------------- */

/* Virtual devices and the threads that run their programs. */
typedef struct hlocc_client hlocc_client_t;

/* Zero the struct, set struct_size, then the fields that differ from their defaults. */
typedef struct hlocc_client_options {
  size_t struct_size;    /* sizeof(hlocc_client_options_t) */
  uint32_t device_count; /* 0: HLOCC_NUM_DEVICES, else one */
  uint32_t thread_count; /* 0: HLOCC_NUM_THREADS, else the number of usable cores */
  /* Options of hlocc(7) as "name=value", which come before the environment: "memory_limit=512".
   * The last entry is NULL. NULL: none. */
  const char* const* settings;
  hlocc_log_sink_t log_sink; /* NULL: standard error. The setting "log" chooses the level */
  void* log_context;         /* of the sink; both must exist until the client and all objects
                              * created from it are freed */
} hlocc_client_options_t;

/* options may be NULL.
 * errors: INVALID_ARGUMENT (counts, a bad setting or HLOCC_ variable), NOT_FOUND (an unknown
 * setting), RESOURCE_EXHAUSTED */
HLOCC_API hlocc_error_t* hlocc_client_create(const hlocc_client_options_t* options,
                                             hlocc_client_t** out_client);
/* The objects that were created from the client keep it alive until they are freed. */
HLOCC_API void hlocc_client_free(hlocc_client_t* client);
HLOCC_API uint32_t hlocc_client_device_count(const hlocc_client_t* client);
/* Writes what the client's launches in flight and the process's blocked threads wait for, one line
 * each, to text[capacity], cut off if it does not fit and ended by a zero; "" if there are none.
 * Returns the length of the whole, so that capacity 0 asks for it. Launches of short programs that
 * wait for an input are listed only with one of the options explain_waits and explain_signal. */
HLOCC_API size_t hlocc_client_explain_waits(hlocc_client_t* client, char* text, size_t capacity);

/* Kinds of memory of a device; programs name them by the attribute mhlo.memory_kind. Each kind has
 * its own limit: buffers in host memory do not take memory from the device. */
typedef enum hlocc_memory_kind {
  HLOCC_MEMORY_DEVICE = 0,
  HLOCC_MEMORY_PINNED_HOST = 1,
  HLOCC_MEMORY_UNPINNED_HOST = 2
} hlocc_memory_kind_t;

/* The memory of the buffers of one device, and of the memory that all devices share. */
typedef struct hlocc_memory {
  size_t struct_size;       /* sizeof(hlocc_memory_t), set by the caller */
  uint64_t used_bytes;      /* by buffers on the device */
  uint64_t peak_used_bytes; /* the most that were used */
  uint64_t reserved_bytes;  /* taken from the system for all devices, also for reuse */
  uint64_t limit_bytes;     /* of reserved_bytes: setting memory_limit or host_memory_limit;
                             * 0: unknown */
  hlocc_memory_kind_t kind; /* set by the caller */
} hlocc_memory_t;

/* Fills the fields of *memory that the caller knows, for memory of memory->kind.
 * errors: INVALID_ARGUMENT (device, kind, struct_size) */
HLOCC_API hlocc_error_t* hlocc_client_memory(hlocc_client_t* client, uint32_t device,
                                             hlocc_memory_t* memory);

/* Returns memory to the system that the client keeps for reuse: that of freed buffers, and machine
 * code of programs that are no longer loaded. Later buffers and programs take longer to make. */
HLOCC_API void hlocc_client_trim(hlocc_client_t* client);

/* ---- programs -------------------------------------------------------------------------------- */

/* A compiled program. */
typedef struct hlocc_executable hlocc_executable_t;

typedef struct hlocc_compile_options {
  size_t struct_size;     /* sizeof(hlocc_compile_options_t) */
  const char* file_name;  /* for messages; NULL: the path of the file, or "<input>" */
  uint32_t replica_count; /* devices that run the program together, each on arrays of its own; 0:
                           * one */
  /* Arguments that launches donate, besides those that the program marks by tf.aliasing_output or
   * jax.buffer_donor: a result of the same size is computed in their memory. */
  uint32_t donated_count;
  const uint32_t* donated;
  /* Devices of each replica, which divide the arrays of the program among them as its shardings
   * (sdy.sharding, mhlo.sharding) say and compute together; programs of JAX for several devices
   * state the number in mhlo.num_partitions. 0: one, which has whole arrays and ignores shardings.
   */
  uint32_t partition_count;
} hlocc_compile_options_t;

/* Compiles MLIR bytecode with StableHLO (as exported by JAX) or StableHLO text; the content
 * determines the format. The bytes are lent for the call. options may be NULL.
 * errors: INVALID_ARGUMENT and UNIMPLEMENTED with the location in the program, RESOURCE_EXHAUSTED
 */
HLOCC_API hlocc_error_t* hlocc_executable_load(hlocc_client_t* client, const void* bytes,
                                               size_t size_bytes,
                                               const hlocc_compile_options_t* options,
                                               hlocc_executable_t** out_executable);
/* Like hlocc_executable_load() for a file. errors: also NOT_FOUND, PERMISSION_DENIED */
HLOCC_API hlocc_error_t* hlocc_executable_load_file(hlocc_client_t* client, const char* path,
                                                    const hlocc_compile_options_t* options,
                                                    hlocc_executable_t** out_executable);
HLOCC_API void hlocc_executable_free(hlocc_executable_t* executable);

/* Element types, numbered as PJRT_Buffer_Type. */
typedef enum hlocc_type {
  HLOCC_TYPE_INVALID = 0,
  HLOCC_TYPE_PRED = 1,
  HLOCC_TYPE_S8 = 2,
  HLOCC_TYPE_S16 = 3,
  HLOCC_TYPE_S32 = 4,
  HLOCC_TYPE_S64 = 5,
  HLOCC_TYPE_U8 = 6,
  HLOCC_TYPE_U16 = 7,
  HLOCC_TYPE_U32 = 8,
  HLOCC_TYPE_U64 = 9,
  HLOCC_TYPE_F16 = 10,
  HLOCC_TYPE_F32 = 11,
  HLOCC_TYPE_F64 = 12,
  HLOCC_TYPE_BF16 = 13,
  HLOCC_TYPE_C64 = 14,
  HLOCC_TYPE_C128 = 15
  /* from 16 on: 8-bit floats, 2- and 4-bit integers and so on; see hlocc_type_name() */
} hlocc_type_t;

/* Returns a static name such as "f32"; "invalid" for a number that is no type. */
HLOCC_API const char* hlocc_type_name(hlocc_type_t type);

/* An argument or result: dense, row-major elements. Elements below a byte take a byte each. */
typedef struct hlocc_shape {
  hlocc_type_t type;
  uint32_t rank;
  const int64_t* dims;
  int64_t element_count;
  size_t size_bytes;
  hlocc_memory_kind_t memory;
} hlocc_shape_t;

HLOCC_API uint32_t hlocc_executable_argument_count(const hlocc_executable_t* executable);
HLOCC_API uint32_t hlocc_executable_result_count(const hlocc_executable_t* executable);
/* The devices of a launch: replicas times partitions. */
HLOCC_API uint32_t hlocc_executable_device_count(const hlocc_executable_t* executable);
/* What one device has of an argument or result: the whole, or a part of equal size on each of them.
 * For an index out of range, these return a shape of rank 0 and type INVALID. */
HLOCC_API hlocc_shape_t hlocc_executable_argument(const hlocc_executable_t* executable,
                                                  uint32_t index);
HLOCC_API hlocc_shape_t hlocc_executable_result(const hlocc_executable_t* executable,
                                                uint32_t index);

/* Finds which part of an argument or result a device of the launch has, 0 <= device <
 * hlocc_executable_device_count(): the place of the part's first element in the whole array of the
 * replica, out_offsets[rank], and the dimensions of the whole, out_dims[rank].
 * errors: INVALID_ARGUMENT (index, device), UNIMPLEMENTED (partial sums) */
HLOCC_API hlocc_error_t* hlocc_executable_argument_part(const hlocc_executable_t* executable,
                                                        uint32_t index, uint32_t device,
                                                        int64_t* out_offsets, int64_t* out_dims);
HLOCC_API hlocc_error_t* hlocc_executable_result_part(const hlocc_executable_t* executable,
                                                      uint32_t index, uint32_t device,
                                                      int64_t* out_offsets, int64_t* out_dims);

/* Returns true if launches donate the argument; false for an index out of range. */
HLOCC_API bool hlocc_executable_is_donated(const hlocc_executable_t* executable, uint32_t argument);

/* Runs the program once and waits for its end. inputs and outputs: one array per argument and
 * result, of size_bytes and with the alignment of its elements; with several devices, the arrays
 * of device 0 come first, and those of a replica's partitions follow each other. Inputs at
 * multiples of HLOCC_ALIGNMENT are read in place, others are copied. After a failure the contents
 * of the outputs are undefined. Waits. errors: those of the program, with the location of the
 * operation; RESOURCE_EXHAUSTED */
HLOCC_API hlocc_error_t* hlocc_executable_run(hlocc_executable_t* executable,
                                              const void* const* inputs, void* const* outputs);

/* ---- events ---------------------------------------------------------------------------------- */

/* The end of asynchronous work: pending, then ready, perhaps with an error. */
typedef struct hlocc_event hlocc_event_t;

#define HLOCC_FOREVER UINT64_MAX

/* Waits until the event is ready and returns its error, anew in each call.
 * errors: DEADLINE_EXCEEDED after timeout_ns if it is still pending; those of the work. Waits. */
HLOCC_API hlocc_error_t* hlocc_event_wait(hlocc_event_t* event, uint64_t timeout_ns);
HLOCC_API bool hlocc_event_is_ready(hlocc_event_t* event);
/* Calls back once when the event is ready: on the thread that completes the work, or before this
 * function returns. Callbacks of an event run in the order of their registration. `error`, lent for
 * the call, is NULL if the work succeeded. Callbacks should be short, because work waits for them;
 * they may launch programs, and free any object. The event may be freed before.
 * errors: RESOURCE_EXHAUSTED, then it is not called */
HLOCC_API hlocc_error_t* hlocc_event_on_ready(hlocc_event_t* event,
                                              void (*callback)(void* context,
                                                               const hlocc_error_t* error),
                                              void* context);
/* The work goes on. */
HLOCC_API void hlocc_event_free(hlocc_event_t* event);

/* ---- buffers --------------------------------------------------------------------------------- */

/* An array on a device of a client, whose elements exist or are being computed. Dense, row-major
 * elements; those below a byte take a byte each. */
typedef struct hlocc_buffer hlocc_buffer_t;

/* Required of the addresses of memory lent to hlocc_buffer_wrap(), in bytes: malloc() returns such
 * addresses. Multiples of 64, as those of the library's own memory, are the fastest. */
#define HLOCC_ALIGNMENT 16

typedef enum hlocc_access { HLOCC_READ = 0, HLOCC_READ_WRITE = 1 } hlocc_access_t;

/* The next three create a buffer on a device, numbered from 0. They read the type and dimensions of
 * `shape`: hlocc_executable_argument() returns what a program expects.
 * errors: INVALID_ARGUMENT (device, shape), RESOURCE_EXHAUSTED */

/* Leaves the elements undefined, for hlocc_buffer_map(). */
HLOCC_API hlocc_error_t* hlocc_buffer_create(hlocc_client_t* client, uint32_t device,
                                             const hlocc_shape_t* shape,
                                             hlocc_buffer_t** out_buffer);
/* Copies the elements of `data` before it returns. */
HLOCC_API hlocc_error_t* hlocc_buffer_create_copy(hlocc_client_t* client, uint32_t device,
                                                  const hlocc_shape_t* shape, const void* data,
                                                  hlocc_buffer_t** out_buffer);
/* Lends memory of the caller to the buffer, without a copy. The caller keeps the memory, and does
 * not write to it, until `release` (may be NULL) is called: once, on any thread, after the last use
 * of the memory by the buffer, by work in flight, or by results that have its memory by donation.
 * With READ, the library never writes to it, and a result has memory of its own instead.
 * errors: also INVALID_ARGUMENT for an address that is not aligned. A failed call does not call
 * `release`. */
HLOCC_API hlocc_error_t* hlocc_buffer_wrap(hlocc_client_t* client, uint32_t device,
                                           const hlocc_shape_t* shape, void* data,
                                           hlocc_access_t access, void (*release)(void* context),
                                           void* context, hlocc_buffer_t** out_buffer);
/* Work in flight keeps the elements that it needs, and maps end. */
HLOCC_API void hlocc_buffer_free(hlocc_buffer_t* buffer);

/* Also of donated buffers. */
HLOCC_API hlocc_shape_t hlocc_buffer_shape(const hlocc_buffer_t* buffer);
HLOCC_API uint32_t hlocc_buffer_device(const hlocc_buffer_t* buffer);
/* Returns true after the buffer was donated to a launch: then it can only be freed. */
HLOCC_API bool hlocc_buffer_is_donated(hlocc_buffer_t* buffer);
/* Stores an event that is ready when the elements exist; its error is that of the work that should
 * have computed them. errors: RESOURCE_EXHAUSTED */
HLOCC_API hlocc_error_t* hlocc_buffer_ready(hlocc_buffer_t* buffer, hlocc_event_t** out_event);

/* Copies all elements to `data`, of at least size_bytes of the shape, when they exist. out_event:
 * ready when they are copied, until which `data` must live; NULL: waits instead.
 * errors: INVALID_ARGUMENT (size, donated buffer), those of the elements, RESOURCE_EXHAUSTED */
HLOCC_API hlocc_error_t* hlocc_buffer_read(hlocc_buffer_t* buffer, void* data, size_t size_bytes,
                                           hlocc_event_t** out_event);
/* Creates a copy on a device of the same client, or another one. errors: as for creation */
HLOCC_API hlocc_error_t* hlocc_buffer_copy(hlocc_buffer_t* buffer, hlocc_client_t* client,
                                           uint32_t device, hlocc_buffer_t** out_buffer);
/* Likewise, in a kind of memory of the device. */
HLOCC_API hlocc_error_t* hlocc_buffer_copy_to(hlocc_buffer_t* buffer, hlocc_client_t* client,
                                              uint32_t device, hlocc_memory_kind_t kind,
                                              hlocc_buffer_t** out_buffer);

/* The next two create a buffer with new elements in the memory of `target`, of its shape and on its
 * device, and donate `target`, as a launch would. Elements are written when all work that reads the
 * old ones has ended. If the memory is lent for READ, or mapped, the new buffer has other memory.
 * Failed calls leave `target` as it is.
 * errors: INVALID_ARGUMENT (size, shape, donated buffer), FAILED_PRECONDITION (mapped for writing),
 * RESOURCE_EXHAUSTED */

/* Copies the elements of `data` before it returns, of size_bytes of the shape. */
HLOCC_API hlocc_error_t* hlocc_buffer_overwrite(hlocc_buffer_t* target, const void* data,
                                                size_t size_bytes, hlocc_buffer_t** out_buffer);
/* Copies the elements of `source`, a buffer of this client or another one, which stays valid. */
HLOCC_API hlocc_error_t* hlocc_buffer_overwrite_from(hlocc_buffer_t* target, hlocc_buffer_t* source,
                                                     hlocc_buffer_t** out_buffer);

/* Stores the address of the elements when they exist, without a copy.
 * READ: maps nest, and programs may read the buffer meanwhile. A launch may donate it, but then
 * computes its result in other memory.
 * READ_WRITE: exclusive; waits until no work reads the elements. Work cannot begin meanwhile.
 * Each successful call needs an hlocc_buffer_unmap(), before which the address is valid.
 * errors: those of the elements; FAILED_PRECONDITION if it is mapped and one of the maps is
 * READ_WRITE, or for READ_WRITE if the memory is lent for READ; INVALID_ARGUMENT (donated).
 * Waits. */
HLOCC_API hlocc_error_t* hlocc_buffer_map(hlocc_buffer_t* buffer, hlocc_access_t access,
                                          void** out_data);
/* Ends the last map; has no effect on a buffer that is not mapped. */
HLOCC_API void hlocc_buffer_unmap(hlocc_buffer_t* buffer);

/* Memory that a buffer has given up. */
typedef struct hlocc_block hlocc_block_t;

/* Takes the memory of the elements over, without a copy: the caller may read and write it at
 * *out_data until it frees the block. The buffer is then as after a donation. Waits until the
 * elements exist and no work reads them. A failed call leaves the buffer as it is.
 * errors: those of the elements; FAILED_PRECONDITION if the buffer is mapped or its memory is lent
 * for READ, or if the call would have to wait in a callback; INVALID_ARGUMENT (donated),
 * RESOURCE_EXHAUSTED */
HLOCC_API hlocc_error_t* hlocc_buffer_take(hlocc_buffer_t* buffer, void** out_data,
                                           hlocc_block_t** out_block);
/* Frees the memory, or returns it to whom it was lent by. NULL is fine. */
HLOCC_API void hlocc_block_free(hlocc_block_t* block);

/* ---- launches -------------------------------------------------------------------------------- */

typedef struct hlocc_launch_options {
  size_t struct_size; /* sizeof(hlocc_launch_options_t) */
  uint32_t device;    /* for a program of one device; others run on the devices 0, 1, ... */
  /* Arguments that this launch does not donate. */
  uint32_t kept_count;
  const uint32_t* kept;
  /* Buffers whose memory the results take, in the order of `results`: they have the size of the
   * result and are donated, and their errors fail the run. Programs so write to memory that the
   * caller has lent. NULL, also as an entry: the result has memory of its own, or of a donated
   * argument. */
  hlocc_buffer_t* const* outputs;
} hlocc_launch_options_t;

/* Starts a run, which begins when the elements of its arguments exist, and creates its results,
 * whose elements exist after the run. arguments and results: a buffer per argument and result; with
 * several devices, those of device 0 come first (hlocc_executable_run()). Donated arguments can
 * only be freed afterwards; a result of the same size has their memory. options and out_event may
 * be NULL; out_event: ready when the run has ended on all devices. If a run fails, its error is
 * that of the event, of the results, and of runs that take them as arguments. Small programs run
 * before the call returns. While HLOCC_INFLIGHT_LAUNCHES launches are in flight on a device, the
 * call waits until one ends, but not in a callback. errors: INVALID_ARGUMENT (device; shape, device
 * or donation of a buffer), FAILED_PRECONDITION (an argument is mapped for writing; an output is
 * mapped, or lent for READ), RESOURCE_EXHAUSTED. Then no buffer is donated. */
HLOCC_API hlocc_error_t* hlocc_executable_launch(hlocc_executable_t* executable,
                                                 hlocc_buffer_t* const* arguments,
                                                 const hlocc_launch_options_t* options,
                                                 hlocc_buffer_t** results,
                                                 hlocc_event_t** out_event);

/* ---- foreign functions ----------------------------------------------------------------------- */

/* The outcome of a call; it succeeds unless hlocc_call_fail() is called. */
typedef struct hlocc_call_status hlocc_call_status_t;

/* A function that programs call by `stablehlo.custom_call @target(...) {api_version = 2 : i32}`.
 * in: one array per operand, not to be written. out: the array of the result; if the call does not
 * have exactly one result, an array of the results' arrays. The function runs on a thread of the
 * library; it may block, and load and run other programs. */
typedef void (*hlocc_function_t)(void* out, const void** in, hlocc_call_status_t* status);

/* Fails the call and with it the program; the message is copied. */
HLOCC_API void hlocc_call_fail(hlocc_call_status_t* status, const char* message);

/* Registers a function for all programs of the process that are loaded later. It cannot be removed:
 * its code must stay loaded. To register it again is fine.
 * errors: INVALID_ARGUMENT, ALREADY_EXISTS for another function of this target */
HLOCC_API hlocc_error_t* hlocc_register_function(const char* target, hlocc_function_t function);

/* Likewise for a handler of the XLA FFI, an `XLA_FFI_Error* (*)(XLA_FFI_CallFrame*)` compiled with
 * the headers that jax.ffi.include_dir() names; calls have api_version = 4.
 * errors: also those of the handler */
HLOCC_API hlocc_error_t* hlocc_register_ffi_handler(const char* target, void* handler);

/* The same for the programs of one client, which prefer its functions to those of the process.
 * Their code must stay loaded until all objects of the client are freed. */
HLOCC_API hlocc_error_t* hlocc_client_register_function(hlocc_client_t* client, const char* target,
                                                        hlocc_function_t function);
HLOCC_API hlocc_error_t* hlocc_client_register_ffi_handler(hlocc_client_t* client,
                                                           const char* target, void* handler);

#ifdef __cplusplus
}
#endif

#endif /* HLOCC_HLOCC_H_ */
