// SPDX-License-Identifier: Apache-2.0
// The only calls to the operating system: time, cores, pages, files, futexes, shared libraries.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/strbuf.h"

/// Monotonic time.
uint64_t hlo_os_now_ns(void);
/// Time since 1970, as the system's clock shows it.
uint64_t hlo_os_wall_ns(void);
/// Returns the CPU time of the calling thread.
uint64_t hlo_os_thread_ns(void);
/// Returns the CPU time of all threads of the process.
uint64_t hlo_os_process_ns(void);

/// Returns the number of cores that this process may use: the affinity mask, limited by the
/// cgroup's CPU quota (rounded up); at least 1. Reads a few files of /sys and /proc.
uint32_t hlo_os_usable_cpu_count(void);

/// Returns the physical memory of the machine, limited by the cgroup; 0 if unknown.
uint64_t hlo_os_memory_bytes(void);

/// Process and thread numbers. A client compares the first with its own to detect a forked child.
int64_t hlo_os_process_id(void);
int64_t hlo_os_thread_id(void);
/// Lets another thread that is ready run on this core.
void hlo_os_thread_yield(void);

/// Returns the core that runs this thread now.
uint32_t hlo_os_current_cpu(void);

/// The affinity mask of a thread while it is excluded from one core; all zero: not excluded.
typedef struct hlo_os_detour {
  uint64_t cpus[16];  // one bit each
  uint32_t cpu;
  bool is_taken;
} hlo_os_detour_t;

/// Makes another thread of this process leave core `cpu`, or wake on another core, unless it is
/// running. Does nothing if no other core is allowed or the system refuses.
void hlo_os_thread_detour(int64_t thread_id, uint32_t cpu, hlo_os_detour_t* out_detour);
/// Restores the calling thread's affinity, unless somebody else changed it meanwhile.
void hlo_os_thread_return(hlo_os_detour_t* detour);

/// Requests tile registers (AMX) once for all threads of the process: the system saves their
/// contents only on request. Returns false if they are refused or missing.
bool hlo_os_permit_tiles(void);

/// Returns a word that is 1 in this process and 0 in every process forked from now on, at no cost
/// when read; NULL if the system lacks the feature. owner: caller, hlo_os_fork_mark_release(), also
/// in the child.
const uint32_t* hlo_os_fork_mark_create(void);
void hlo_os_fork_mark_release(const uint32_t* mark);

/// Sleeps while *word == expected, at most timeout_ns (UINT64_MAX: without limit). May return
/// early.
void hlo_os_futex_wait(atomic_uint* word, uint32_t expected, uint64_t timeout_ns);
/// Wakes at most `count` threads that sleep on the word.
void hlo_os_futex_wake(atomic_uint* word, uint32_t count);

// ---- pages -------------------------------------------------------------------------------------

typedef enum hlo_os_access {
  HLO_OS_ACCESS_READ = 1,
  HLO_OS_ACCESS_WRITE = 2,
  HLO_OS_ACCESS_EXECUTE = 4,
} hlo_os_access_t;

size_t hlo_os_page_bytes(void);
/// Maps zeroed private pages, size rounded up to whole pages. huge: aligned to 2 MiB and advised to
/// use huge pages. errors: RESOURCE_EXHAUSTED. owner: caller, hlo_os_pages_unmap() with the same
/// size.
hlo_status_t hlo_os_pages_map(size_t size_bytes, bool huge, void** out_pages) HLO_MUST_USE;
void hlo_os_pages_unmap(void* pages, size_t size_bytes);
/// access: a set of hlo_os_access_t. errors: PERMISSION_DENIED if the system refuses.
hlo_status_t hlo_os_pages_protect(void* pages, size_t size_bytes, unsigned access) HLO_MUST_USE;
/// Maps one anonymous memory object at two addresses: writable at one, read+execute at the other.
/// errors: PERMISSION_DENIED or UNAVAILABLE if refused. owner: caller, unmaps both.
hlo_status_t hlo_os_pages_map_twice(size_t size_bytes, void** out_writable,
                                    void** out_executable) HLO_MUST_USE;

/// Fault injection: refuses this thread the given kinds of executable memory from now on, like a
/// hardened system; 0: none.
enum { HLO_OS_REFUSE_PROTECT = 1, HLO_OS_REFUSE_MAP_TWICE = 2 };
void hlo_os_refuse_executable(unsigned ways);

// ---- files -------------------------------------------------------------------------------------

/// Fault injection: the n-th (1-based) file operation of this thread from now on fails with an I/O
/// error, and only that one; 0 disables it.
void hlo_os_io_fail_nth(uint64_t n);
bool hlo_os_io_failed(void);

/// Reads a whole file of at most limit_bytes (0: no limit); "-" is standard input.
/// errors: NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED, DATA_LOSS, all naming the path.
/// owner: caller frees *out_data with hlo_mem_free(); a zero byte follows the last one.
hlo_status_t hlo_os_file_read(const char* path, size_t limit_bytes, uint8_t** out_data,
                              size_t* out_size_bytes) HLO_MUST_USE;
/// Writes a file and renames it into place, so that readers see the old or the new one, never a
/// part. Devices and pipes are written directly.
hlo_status_t hlo_os_file_write(const char* path, const void* data, size_t size_bytes) HLO_MUST_USE;
/// Maps a file read-only. owner: caller, hlo_os_pages_unmap(); an empty file gives NULL and 0.
hlo_status_t hlo_os_file_map(const char* path, const uint8_t** out_data,
                             size_t* out_size_bytes) HLO_MUST_USE;
/// Creates a directory and its parents; an existing one is fine.
hlo_status_t hlo_os_directory_create(const char* path) HLO_MUST_USE;

/// Creates an empty directory with a new name that only this user may read, in `parent` (NULL: the
/// system's folder for temporary files), and writes its path to `out_path`.
hlo_status_t hlo_os_directory_create_temporary(const char* parent, char* out_path,
                                               size_t capacity) HLO_MUST_USE;
/// Returns true if the directory belongs to this user and nobody else may write to it.
bool hlo_os_directory_is_private(const char* path);
/// A regular file of a directory, in no particular order. owner: caller, hlo_os_files_free().
typedef struct hlo_os_file {
  const char* name;
  uint64_t size_bytes;
  int64_t changed_ns;  // since 1970
} hlo_os_file_t;
hlo_status_t hlo_os_directory_list(const char* path, hlo_os_file_t** out_files,
                                   uint32_t* out_count) HLO_MUST_USE;
void hlo_os_files_free(hlo_os_file_t* files, uint32_t count);
/// Sets the modification time of a file to now; failure is ignored.
void hlo_os_file_touch(const char* path);
/// Removes a file or an empty directory; failure is ignored.
void hlo_os_file_remove(const char* path);

/// A file written in pieces. owner: caller, hlo_os_stream_close().
typedef struct hlo_os_stream hlo_os_stream_t;
/// keep: appends to the file; otherwise the file is truncated and locked against other streams.
/// errors: ALREADY_EXISTS if another stream has the file; those of files
hlo_status_t hlo_os_stream_open(const char* path, bool keep,
                                hlo_os_stream_t** out_stream) HLO_MUST_USE;
hlo_status_t hlo_os_stream_write(hlo_os_stream_t* stream, const void* data,
                                 size_t size_bytes) HLO_MUST_USE;
void hlo_os_stream_close(hlo_os_stream_t* stream);
/// Writes to standard error, unbuffered; failures are ignored.
void hlo_os_stderr_write(const char* text, size_t length);

// ---- processes, environment and shared libraries ------------------------------------------------

/// Runs a program (arguments[0], searched in PATH unless it contains a slash; arguments end with
/// NULL) without a shell and waits for it. Its standard input is empty; the beginning of its
/// standard output and error is stored in `output`. *out_exit_code: negative for a signal.
/// errors: NOT_FOUND if the program does not exist, DEADLINE_EXCEEDED if it was killed after
/// timeout_ns, RESOURCE_EXHAUSTED
hlo_status_t hlo_os_process_run(const char* const* arguments, uint64_t timeout_ns,
                                hlo_strbuf_t* output, int* out_exit_code) HLO_MUST_USE;

/// Reads the linker's build id of the program or shared library that contains `address`; it differs
/// between any two builds. Returns the number of bytes written; 0 without a build id.
size_t hlo_os_build_id(const void* address, uint8_t* out, size_t capacity);

/// Writes the absolute path of the running program. errors: NOT_FOUND
hlo_status_t hlo_os_program_path(char* out_path, size_t capacity) HLO_MUST_USE;

/// Returns the environment as "NAME=value" strings ended by NULL; lent until the next setenv().
const char* const* hlo_os_environment(void);

/// Opens a shared library at run time. errors: NOT_FOUND with the loader's message.
hlo_status_t hlo_os_library_open(const char* name, void** out_library) HLO_MUST_USE;
/// Returns NULL if the symbol is missing.
void* hlo_os_library_symbol(void* library, const char* symbol);
void hlo_os_library_close(void* library);
