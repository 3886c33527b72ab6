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
 * Errors: functions that can fail return an error that the caller frees, or NULL. Outputs of a call
 * that failed are not touched. Nothing here prints, or ends the process.
 * Owners: what a function named create or load gives belongs to the caller and goes back through
 * the _free() of its kind; NULL is fine there. Pointers that other functions give are lent, and
 * live as long as the object that they were asked of. Threads: clients and executables may be used
 * by any number of threads at once; freeing one is for the last user. An error belongs to one
 * thread at a time.
 */
#ifndef HLOCC_HLOCC_H_
#define HLOCC_HLOCC_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HLOCC_API __attribute__((visibility("default")))

/* "0.1.0": of the library, not of this header. */
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

/* HLOCC_OK for NULL. */
HLOCC_API hlocc_code_t hlocc_error_code(const hlocc_error_t* error);
/* All that was found, a line or more each; "" for NULL. */
HLOCC_API const char* hlocc_error_message(const hlocc_error_t* error);
/* Where the first fault is: the file ("" if unknown), line and column from 1 (0 if unknown). Either
 * pointer may be NULL. The file is that of the program, or of the source that it was made from. */
HLOCC_API const char* hlocc_error_location(const hlocc_error_t* error, uint32_t* out_line,
                                           uint32_t* out_column);
HLOCC_API void hlocc_error_free(hlocc_error_t* error);

/* ---- clients --------------------------------------------------------------------------------- */

/* Virtual devices and the threads that work for them. */
typedef struct hlocc_client hlocc_client_t;

/* Zero everything, set struct_size, then what differs from the default. */
typedef struct hlocc_client_options {
  size_t struct_size;    /* sizeof(hlocc_client_options_t) */
  uint32_t device_count; /* 0: HLOCC_NUM_DEVICES, else one */
  uint32_t thread_count; /* 0: HLOCC_NUM_THREADS, else the cores that the process may use */
} hlocc_client_options_t;

/* options may be NULL. errors: INVALID_ARGUMENT (counts, a bad HLOCC_ variable), RESOURCE_EXHAUSTED
 */
HLOCC_API hlocc_error_t* hlocc_client_create(const hlocc_client_options_t* options,
                                             hlocc_client_t** out_client);
/* Executables that are still there keep it alive. */
HLOCC_API void hlocc_client_free(hlocc_client_t* client);
HLOCC_API uint32_t hlocc_client_device_count(const hlocc_client_t* client);

/* ---- programs -------------------------------------------------------------------------------- */

/* A compiled program. */
typedef struct hlocc_executable hlocc_executable_t;

typedef struct hlocc_compile_options {
  size_t struct_size;     /* sizeof(hlocc_compile_options_t) */
  const char* file_name;  /* of the program, for messages; NULL: that of the file, or "<input>" */
  uint32_t replica_count; /* devices that run the program together; 0: one */
} hlocc_compile_options_t;

/* Compiles MLIR bytecode with StableHLO (as JAX exports it) or StableHLO text; the form is found by
 * looking. The bytes are lent for the call. options may be NULL.
 * errors: INVALID_ARGUMENT and UNIMPLEMENTED with the place in the program, RESOURCE_EXHAUSTED */
HLOCC_API hlocc_error_t* hlocc_executable_load(hlocc_client_t* client, const void* bytes,
                                               size_t size_bytes,
                                               const hlocc_compile_options_t* options,
                                               hlocc_executable_t** out_executable);
/* As above, from a file. errors: those, and NOT_FOUND, PERMISSION_DENIED */
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
  /* 16 and on: 8-bit floats, 2- and 4-bit integers and so on; see hlocc_type_name() */
} hlocc_type_t;

/* "f32"; "invalid" for a number that is no type. Lent for ever. */
HLOCC_API const char* hlocc_type_name(hlocc_type_t type);

/* An argument or result: dense, row-major elements. Types of less than a byte take a byte each. */
typedef struct hlocc_shape {
  hlocc_type_t type;
  uint32_t rank;
  const int64_t* dims;
  int64_t element_count;
  size_t size_bytes;
} hlocc_shape_t;

HLOCC_API uint32_t hlocc_executable_argument_count(const hlocc_executable_t* executable);
HLOCC_API uint32_t hlocc_executable_result_count(const hlocc_executable_t* executable);
/* A shape of rank 0 and type INVALID for an index that is out of range. */
HLOCC_API hlocc_shape_t hlocc_executable_argument(const hlocc_executable_t* executable,
                                                  uint32_t index);
HLOCC_API hlocc_shape_t hlocc_executable_result(const hlocc_executable_t* executable,
                                                uint32_t index);

/* Runs the program once and waits for the end. inputs and outputs: one array for each argument and
 * result, of size_bytes each, aligned as their elements; with more than one replica those of the
 * second follow those of the first, and so on. After a failure the outputs may hold anything.
 * errors: what the program answers, with the place of the operation; RESOURCE_EXHAUSTED */
HLOCC_API hlocc_error_t* hlocc_executable_run(hlocc_executable_t* executable,
                                              const void* const* inputs, void* const* outputs);

#ifdef __cplusplus
}
#endif

#endif /* HLOCC_HLOCC_H_ */
