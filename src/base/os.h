// SPDX-License-Identifier: Apache-2.0
// The only calls of the operating system: time, cores, pages, files, futexes, shared libraries.
#ifndef HLO_BASE_OS_H_
#define HLO_BASE_OS_H_

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/strbuf.h"

/// Monotonic time.
uint64_t hlo_os_now_ns(void);
/// Time that the calling thread has been running, without what others had of its core.
uint64_t hlo_os_thread_ns(void);

/// Cores that this process may use: the affinity mask, cut by the cgroup's CPU quota (rounded up);
/// at least 1. Reads a few files of /sys and /proc.
uint32_t hlo_os_usable_cpu_count(void);

/// Physical memory of the machine, cut by the cgroup's limit; 0 if unknown.
uint64_t hlo_os_memory_bytes(void);

/// Process and thread numbers. A client keeps the first to notice that it lives in a forked child.
int64_t hlo_os_process_id(void);
int64_t hlo_os_thread_id(void);

/// The core that this thread runs on just now.
uint32_t hlo_os_current_cpu(void);

/// Where a thread may run in truth, while it is kept away from one core. All zero: it is not.
typedef struct hlo_os_detour {
  uint64_t cpus[16];  // one bit each
  uint32_t cpu;
  bool is_taken;
} hlo_os_detour_t;

/// Makes a thread of this process, unless it is running, leave core `cpu`, or wake on another one.
/// Does nothing where it may run nowhere else, or the system refuses.
void hlo_os_thread_detour(int64_t thread_id, uint32_t cpu, hlo_os_detour_t* out_detour);
/// Lets the calling thread run again wherever it could, unless somebody else has decided where.
void hlo_os_thread_return(hlo_os_detour_t* detour);

/// Asks for the use of tile registers (AMX), whose contents the system keeps for a thread only if it
/// was asked: once for all threads of the process. False: refused, or there are none.
bool hlo_os_permit_tiles(void);

/// A word that is 1 here and 0 in every process forked from now on; reading it costs nothing. NULL
/// where the system cannot do that. owner: caller, hlo_os_fork_mark_release(), also in the child.
const uint32_t* hlo_os_fork_mark_create(void);
void hlo_os_fork_mark_release(const uint32_t* mark);

/// Sleeps while *word == expected, at most timeout_ns (UINT64_MAX: for ever). May return early.
void hlo_os_futex_wait(atomic_uint* word, uint32_t expected, uint64_t timeout_ns);
/// Wakes at most `count` sleepers on the word.
void hlo_os_futex_wake(atomic_uint* word, uint32_t count);

// ---- pages -------------------------------------------------------------------------------------

typedef enum hlo_os_access {
  HLO_OS_ACCESS_READ = 1,
  HLO_OS_ACCESS_WRITE = 2,
  HLO_OS_ACCESS_EXECUTE = 4,
} hlo_os_access_t;

size_t hlo_os_page_bytes(void);
/// Zeroed private pages, size rounded up to whole pages; huge: aligned to 2 MiB and advised to use
/// huge pages. errors: RESOURCE_EXHAUSTED. owner: caller, hlo_os_pages_unmap() with the same size.
hlo_status_t hlo_os_pages_map(size_t size_bytes, bool huge, void** out_pages) HLO_MUST_USE;
void hlo_os_pages_unmap(void* pages, size_t size_bytes);
/// access: a set of hlo_os_access_t. errors: PERMISSION_DENIED where the system refuses.
hlo_status_t hlo_os_pages_protect(void* pages, size_t size_bytes, unsigned access) HLO_MUST_USE;
/// One anonymous memory object seen twice: writable at one address, read+execute at the other.
/// errors: PERMISSION_DENIED or UNAVAILABLE where refused. owner: caller, unmap both.
hlo_status_t hlo_os_pages_map_twice(size_t size_bytes, void** out_writable,
                                    void** out_executable) HLO_MUST_USE;

/// Fault injection: the ways to executable memory that this thread is refused from now on, as
/// hardened systems do; 0: none.
enum { HLO_OS_REFUSE_PROTECT = 1, HLO_OS_REFUSE_MAP_TWICE = 2 };
void hlo_os_refuse_executable(unsigned ways);

// ---- files -------------------------------------------------------------------------------------

/// Fault injection: the n-th (1-based) file operation of this thread from now on fails with an I/O
/// error, and only that one; 0 switches it off.
void hlo_os_io_fail_nth(uint64_t n);
bool hlo_os_io_failed(void);

/// Reads a whole file of at most limit_bytes (0: no limit); "-" is standard input.
/// errors: NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED, DATA_LOSS, all naming the path.
/// owner: caller frees *out_data with hlo_mem_free(); a zero byte follows the last one.
hlo_status_t hlo_os_file_read(const char* path, size_t limit_bytes, uint8_t** out_data,
                              size_t* out_size_bytes) HLO_MUST_USE;
/// Writes a file and renames it into place, so that readers see the old or the new one, never half.
/// Devices and pipes are written to as they are.
hlo_status_t hlo_os_file_write(const char* path, const void* data, size_t size_bytes) HLO_MUST_USE;
/// Maps a file read-only. owner: caller, hlo_os_pages_unmap(); an empty file gives NULL and 0.
hlo_status_t hlo_os_file_map(const char* path, const uint8_t** out_data,
                             size_t* out_size_bytes) HLO_MUST_USE;
/// Makes a directory and its parents; an existing one is fine.
hlo_status_t hlo_os_directory_create(const char* path) HLO_MUST_USE;

/// Makes an empty directory of a new name that only this user may read, in `parent` (NULL: where
/// the system keeps temporary files), and writes its path to `out_path`.
hlo_status_t hlo_os_directory_create_temporary(const char* parent, char* out_path,
                                               size_t capacity) HLO_MUST_USE;
/// Whether a directory is this user's and nobody else may write to it.
bool hlo_os_directory_is_private(const char* path);
/// The regular files of a directory, in no order. owner: caller, hlo_os_files_free().
typedef struct hlo_os_file {
  const char* name;
  uint64_t size_bytes;
  int64_t changed_ns;  // since 1970
} hlo_os_file_t;
hlo_status_t hlo_os_directory_list(const char* path, hlo_os_file_t** out_files,
                                   uint32_t* out_count) HLO_MUST_USE;
void hlo_os_files_free(hlo_os_file_t* files, uint32_t count);
/// Says that a file was changed now; failure is ignored.
void hlo_os_file_touch(const char* path);
/// Removes a file or an empty directory; failure is ignored.
void hlo_os_file_remove(const char* path);

/// A file written piece by piece. owner: caller, hlo_os_stream_close().
typedef struct hlo_os_stream hlo_os_stream_t;
/// keep: adds to what the file holds; else it is empty at first, and no other stream may have it.
/// errors: ALREADY_EXISTS when another stream has the file; those of files
hlo_status_t hlo_os_stream_open(const char* path, bool keep,
                                hlo_os_stream_t** out_stream) HLO_MUST_USE;
hlo_status_t hlo_os_stream_write(hlo_os_stream_t* stream, const void* data,
                                 size_t size_bytes) HLO_MUST_USE;
void hlo_os_stream_close(hlo_os_stream_t* stream);
/// Writes to standard error, unbuffered; failures are ignored.
void hlo_os_stderr_write(const char* text, size_t length);

// ---- processes, environment and shared libraries ------------------------------------------------

/// Runs a program (arguments[0], looked for in PATH unless it has a slash; arguments end with NULL)
/// without a shell and waits for it. Its input is empty; the first bytes of what it writes to
/// output and error go to `output`. *out_exit_code: negative for a signal. errors: NOT_FOUND when
/// there is no such program, DEADLINE_EXCEEDED when it was ended after timeout_ns,
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_os_process_run(const char* const* arguments, uint64_t timeout_ns,
                                hlo_strbuf_t* output, int* out_exit_code) HLO_MUST_USE;

/// What the linker calls the program or shared library that `address` is in (its build id): another
/// one for any other code. The number of bytes written; 0 where it has none.
size_t hlo_os_build_id(const void* address, uint8_t* out, size_t capacity);

/// The path of the program that runs, all of it. errors: NOT_FOUND
hlo_status_t hlo_os_program_path(char* out_path, size_t capacity) HLO_MUST_USE;

/// The environment as "NAME=value" strings ended by NULL; lent, do not keep across setenv().
const char* const* hlo_os_environment(void);

/// A shared library opened at run time. errors: NOT_FOUND with the loader's sentence.
hlo_status_t hlo_os_library_open(const char* name, void** out_library) HLO_MUST_USE;
/// NULL if absent.
void* hlo_os_library_symbol(void* library, const char* symbol);
void hlo_os_library_close(void* library);

#endif  // HLO_BASE_OS_H_
