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
 * Errors: functions that can fail return an error that the caller frees, or NULL. A failed call
 * leaves its outputs untouched. No function prints or ends the process.
 * Ownership: the caller owns the result of a function named create or load and frees it by the
 * _free() function of its type, which accepts NULL. Pointers that other functions return are lent
 * and live as long as their object.
 * Threads: any number of threads may use a client or an executable at once; its last user frees it.
 * An error belongs to one thread at a time.
 */
#ifndef HLOCC_HLOCC_H_
#define HLOCC_HLOCC_H_

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

/* ---- clients --------------------------------------------------------------------------------- */

/* Virtual devices and the threads that run their programs. */
typedef struct hlocc_client hlocc_client_t;

/* Zero the struct, set struct_size, then the fields that differ from their defaults. */
typedef struct hlocc_client_options {
  size_t struct_size;    /* sizeof(hlocc_client_options_t) */
  uint32_t device_count; /* 0: HLOCC_NUM_DEVICES, else one */
  uint32_t thread_count; /* 0: HLOCC_NUM_THREADS, else the number of usable cores */
} hlocc_client_options_t;

/* options may be NULL.
 * errors: INVALID_ARGUMENT (counts, a bad HLOCC_ variable), RESOURCE_EXHAUSTED */
HLOCC_API hlocc_error_t* hlocc_client_create(const hlocc_client_options_t* options,
                                             hlocc_client_t** out_client);
/* The client's executables keep it alive until they are freed. */
HLOCC_API void hlocc_client_free(hlocc_client_t* client);
HLOCC_API uint32_t hlocc_client_device_count(const hlocc_client_t* client);

/* ---- programs -------------------------------------------------------------------------------- */

/* A compiled program. */
typedef struct hlocc_executable hlocc_executable_t;

typedef struct hlocc_compile_options {
  size_t struct_size;     /* sizeof(hlocc_compile_options_t) */
  const char* file_name;  /* for messages; NULL: the path of the file, or "<input>" */
  uint32_t replica_count; /* devices that run the program together; 0: one */
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
} hlocc_shape_t;

HLOCC_API uint32_t hlocc_executable_argument_count(const hlocc_executable_t* executable);
HLOCC_API uint32_t hlocc_executable_result_count(const hlocc_executable_t* executable);
/* For an index out of range, these return a shape of rank 0 and type INVALID. */
HLOCC_API hlocc_shape_t hlocc_executable_argument(const hlocc_executable_t* executable,
                                                  uint32_t index);
HLOCC_API hlocc_shape_t hlocc_executable_result(const hlocc_executable_t* executable,
                                                uint32_t index);

/* Runs the program once and waits for its end. inputs and outputs: one array per argument and
 * result, of size_bytes and with the alignment of its elements; with several replicas, the arrays
 * of the first replica come first. After a failure the contents of the outputs are undefined.
 * errors: those of the program, with the location of the operation; RESOURCE_EXHAUSTED */
HLOCC_API hlocc_error_t* hlocc_executable_run(hlocc_executable_t* executable,
                                              const void* const* inputs, void* const* outputs);

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

#ifdef __cplusplus
}
#endif

#endif /* HLOCC_HLOCC_H_ */
