// SPDX-License-Identifier: Apache-2.0
// The operating system, Linux (see os.h). Only this file and the transports of src/comm make system
// calls, apart from those within the C library.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/os.h"

enum { NS_PER_S = 1000000000, HUGE_PAGE_BYTES = 2 * 1024 * 1024, READ_STEP_BYTES = 256 * 1024 };

// ---- fault injection ----------------------------------------------------------------------------

static _Thread_local uint64_t t_io_countdown;
static _Thread_local bool t_io_failed;

void hlo_os_io_fail_nth(uint64_t n) {
  t_io_countdown = n;
  t_io_failed = false;
}

bool hlo_os_io_failed(void) {
  return t_io_failed;
}

static _Thread_local unsigned t_refused_ways;

void hlo_os_refuse_executable(unsigned ways) {
  t_refused_ways = ways;
}

static bool injected_refusal(unsigned way) {
  if (HLO_LIKELY(!(t_refused_ways & way))) return false;
  errno = EACCES;
  return true;
}

// Returns true if fault injection fails this operation, and sets errno.
static bool injected_failure(void) {
  if (HLO_LIKELY(t_io_countdown == 0) || --t_io_countdown != 0) return false;
  t_io_failed = true;
  errno = EIO;
  return true;
}

// ---- time, cores, memory -----------------------------------------------------------------------

static uint64_t read_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t hlo_os_now_ns(void) {
  return read_clock(CLOCK_MONOTONIC);
}

uint64_t hlo_os_wall_ns(void) {
  return read_clock(CLOCK_REALTIME);
}

uint64_t hlo_os_thread_ns(void) {
  return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t hlo_os_process_ns(void) {
  return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t hlo_os_process_id(void) {
  return getpid();
}
void hlo_os_thread_yield(void) {
  sched_yield();
}

int64_t hlo_os_thread_id(void) {
  return syscall(SYS_gettid);
}

uint32_t hlo_os_current_cpu(void) {
  int cpu = sched_getcpu();
  return cpu < 0 ? 0 : (uint32_t)cpu;
}

_Static_assert(sizeof(cpu_set_t) == sizeof((hlo_os_detour_t){0}.cpus), "a set of all cores");

void hlo_os_thread_detour(int64_t thread_id, uint32_t cpu, hlo_os_detour_t* out_detour) {
  cpu_set_t cpus;
  if (sched_getaffinity((pid_t)thread_id, sizeof cpus, &cpus) != 0) return;
  if (!CPU_ISSET(cpu, &cpus) || CPU_COUNT(&cpus) == 1) return;
  memcpy(out_detour->cpus, &cpus, sizeof cpus);
  CPU_CLR(cpu, &cpus);
  out_detour->cpu = cpu;
  out_detour->is_taken = sched_setaffinity((pid_t)thread_id, sizeof cpus, &cpus) == 0;
}

void hlo_os_thread_return(hlo_os_detour_t* detour) {
  if (!detour->is_taken) return;
  detour->is_taken = false;
  cpu_set_t before, detoured, now;
  memcpy(&before, detour->cpus, sizeof before);
  detoured = before;
  CPU_CLR(detour->cpu, &detoured);
  if (sched_getaffinity(0, sizeof now, &now) != 0 || !CPU_EQUAL(&now, &detoured)) return;
  sched_setaffinity(0, sizeof before, &before);
}

bool hlo_os_permit_tiles(void) {
#if defined(__x86_64__)
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };  // of arch_prctl(2)
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
  return false;
#endif
}

const uint32_t* hlo_os_fork_mark_create(void) {
  void* page;
  if (!hlo_status_take_ok(hlo_os_pages_map(sizeof(uint32_t), false, &page))) return NULL;
  if (madvise(page, hlo_os_page_bytes(), MADV_WIPEONFORK) != 0) {  // Linux before 4.14
    hlo_os_pages_unmap(page, sizeof(uint32_t));
    return NULL;
  }
  *(uint32_t*)page = 1;
  return page;
}

void hlo_os_fork_mark_release(const uint32_t* mark) {
  hlo_os_pages_unmap((void*)mark, sizeof(uint32_t));
}

// Reads a small file of /proc or /sys as text; false if it does not exist.
static bool read_small(const char* path, char* text, size_t capacity) {
  int fd = injected_failure() ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t size = read(fd, text, capacity - 1);
  close(fd);
  text[size < 0 ? 0 : size] = 0;
  return size > 0;
}

// Reads the path of this process in the unified hierarchy (line "0::/path"), "/" if unknown.
static void cgroup_path(char* path, size_t capacity) {
  char text[4096];
  snprintf(path, capacity, "/");
  if (!read_small("/proc/self/cgroup", text, sizeof text)) return;
  const char* line = strstr(text, "0::/");
  if (!line || (line != text && line[-1] != '\n')) return;
  size_t length = strcspn(line + 3, "\n");
  if (length < capacity) snprintf(path, capacity, "%.*s", (int)length, line + 3);
}

// Calls `visit` with the text of a control file of each group from that of this process up to the
// root, the old hierarchy last.
static void visit_cgroups(const char* file, const char* v1_file,
                          void (*visit)(const char* text, bool is_v1, void* context),
                          void* context) {
  char path[PATH_MAX / 2], name[PATH_MAX], text[256];
  cgroup_path(path, sizeof path);
  for (;;) {
    snprintf(name, sizeof name, "/sys/fs/cgroup%s/%s", strcmp(path, "/") ? path : "", file);
    if (read_small(name, text, sizeof text)) visit(text, false, context);
    char* slash = strrchr(path, '/');
    if (!slash || strcmp(path, "/") == 0) break;
    slash[slash == path ? 1 : 0] = 0;
  }
  snprintf(name, sizeof name, "/sys/fs/cgroup/%s", v1_file);
  if (read_small(name, text, sizeof text)) visit(text, true, context);
}

static void visit_cpu_max(const char* text, bool is_v1, void* context) {
  long long* least = context;
  long long quota = 0, period = 100000;
  if (is_v1 ? sscanf(text, "%lld", &quota) != 1 : sscanf(text, "%lld %lld", &quota, &period) != 2) {
    return;  // "max": no quota
  }
  if (quota <= 0 || period <= 0) return;
  long long cores = (quota + period - 1) / period;
  if (cores < *least) *least = cores;
}

uint32_t hlo_os_usable_cpu_count(void) {
  long long count = 0;
  for (size_t limit = 1024; limit <= 1 << 16; limit *= 2) {
    cpu_set_t* set = CPU_ALLOC(limit);
    if (!set) break;
    size_t size = CPU_ALLOC_SIZE(limit);
    int failed = sched_getaffinity(0, size, set);
    if (!failed) count = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    if (!failed) break;
  }
  if (count < 1) count = sysconf(_SC_NPROCESSORS_ONLN);
  if (count < 1) count = 1;
  visit_cgroups("cpu.max", "cpu/cpu.cfs_quota_us", visit_cpu_max, &count);
  return (uint32_t)(count < 1 ? 1 : count);
}

static void visit_memory_max(const char* text, HLO_UNUSED bool is_v1, void* context) {
  uint64_t* least = context;
  unsigned long long bytes;
  if (sscanf(text, "%llu", &bytes) == 1 && bytes < *least) *least = bytes;
}

uint64_t hlo_os_memory_bytes(void) {
  long pages = sysconf(_SC_PHYS_PAGES);
  if (pages <= 0) return 0;
  uint64_t bytes = (uint64_t)pages * hlo_os_page_bytes();
  visit_cgroups("memory.max", "memory/memory.limit_in_bytes", visit_memory_max, &bytes);
  return bytes;
}

// ---- futex -------------------------------------------------------------------------------------

void hlo_os_futex_wait(atomic_uint* word, uint32_t expected, uint64_t timeout_ns) {
  struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / NS_PER_S),
                             .tv_nsec = (long)(timeout_ns % NS_PER_S)};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout_ns == UINT64_MAX ? NULL : &timeout,
          NULL, 0);
}

void hlo_os_futex_wake(atomic_uint* word, uint32_t count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count > INT_MAX ? INT_MAX : (int)count, NULL, NULL,
          0);
}

// ---- pages -------------------------------------------------------------------------------------

static hlo_status_t error_of(int error, const char* verb, const char* path) {
  hlo_status_code_t code;
  switch (error) {
    case ENOENT:
    case ENOTDIR: code = HLO_STATUS_NOT_FOUND; break;
    case EACCES:
    case EPERM:
    case EROFS: code = HLO_STATUS_PERMISSION_DENIED; break;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE: code = HLO_STATUS_RESOURCE_EXHAUSTED; break;
    case EISDIR:
    case EINVAL: code = HLO_STATUS_INVALID_ARGUMENT; break;
    case EWOULDBLOCK: code = HLO_STATUS_ALREADY_EXISTS; break;  // of flock()
    case ENOSYS: code = HLO_STATUS_UNAVAILABLE; break;
    default: code = HLO_STATUS_DATA_LOSS;
  }
  char reason[128];
  return hlo_status_create(code, "cannot %s %s: %s", verb, path,
                           strerror_r(error, reason, sizeof reason));
}

size_t hlo_os_page_bytes(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

static bool round_to_pages(size_t size_bytes, size_t* out_bytes) {
  size_t page = hlo_os_page_bytes(), size;
  if (!hlo_size_add(size_bytes ? size_bytes : 1, page - 1, &size)) return false;
  *out_bytes = size & ~(page - 1);
  return true;
}

hlo_status_t hlo_os_pages_map(size_t size_bytes, bool huge, void** out_pages) {
  size_t size, padded;
  size_t padding = huge ? HUGE_PAGE_BYTES - hlo_os_page_bytes() : 0;
  if (!round_to_pages(size_bytes, &size) || !hlo_size_add(size, padding, &padded)) {
    return hlo_status_out_of_memory(size_bytes);
  }
  uint8_t* base = injected_failure() ? MAP_FAILED
                                     : mmap(NULL, padded, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return hlo_status_out_of_memory(size_bytes);
  if (huge) {  // unmap the unaligned ends
    size_t head = (size_t)(-(uintptr_t)base & (HUGE_PAGE_BYTES - 1));
    if (head) munmap(base, head);
    if (padding > head) munmap(base + head + size, padding - head);
    base += head;
    madvise(base, size, MADV_HUGEPAGE);  // only advice: failure affects speed only
  }
  *out_pages = base;
  return hlo_ok();
}

void hlo_os_pages_unmap(void* pages, size_t size_bytes) {
  size_t size;
  if (pages && round_to_pages(size_bytes, &size)) munmap(pages, size);
}

hlo_status_t hlo_os_pages_protect(void* pages, size_t size_bytes, unsigned access) {
  HLO_ASSERT(!(access & HLO_OS_ACCESS_WRITE) || !(access & HLO_OS_ACCESS_EXECUTE),
             "memory is never writable and executable through one address");
  size_t size;
  if (!round_to_pages(size_bytes, &size)) return hlo_status_out_of_memory(size_bytes);
  int protection = (access & HLO_OS_ACCESS_READ ? PROT_READ : 0) |
                   (access & HLO_OS_ACCESS_WRITE ? PROT_WRITE : 0) |
                   (access & HLO_OS_ACCESS_EXECUTE ? PROT_EXEC : 0);
  bool is_refused = (access & HLO_OS_ACCESS_EXECUTE) && injected_refusal(HLO_OS_REFUSE_PROTECT);
  if (is_refused || injected_failure() || mprotect(pages, size, protection) != 0) {
    return error_of(errno, "change the protection of", "memory pages");
  }
  return hlo_ok();
}

hlo_status_t hlo_os_pages_map_twice(size_t size_bytes, void** out_writable, void** out_executable) {
  size_t size;
  if (!round_to_pages(size_bytes, &size)) return hlo_status_out_of_memory(size_bytes);
  bool fails = injected_refusal(HLO_OS_REFUSE_MAP_TWICE) || injected_failure();
  int fd = fails ? -1 : memfd_create("hlocc-code", MFD_CLOEXEC);
  if (fd < 0) return error_of(errno, "create", "an anonymous file for code");
  void* writable = MAP_FAILED;
  void* executable = MAP_FAILED;
  int error = 0;
  if (ftruncate(fd, (off_t)size) == 0) {
    writable = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (writable != MAP_FAILED) {
      executable = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    }
  }
  if (executable == MAP_FAILED) error = errno;
  close(fd);
  if (executable == MAP_FAILED) {
    if (writable != MAP_FAILED) munmap(writable, size);
    return error_of(error, "map", "an anonymous file for code");
  }
  *out_writable = writable;
  *out_executable = executable;
  return hlo_ok();
}

// ---- files -------------------------------------------------------------------------------------

static int open_for_reading(const char* path) {
  if (injected_failure()) return -1;
  if (strcmp(path, "-") == 0) return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  return open(path, O_RDONLY | O_CLOEXEC);
}

static hlo_status_t too_large(const char* path, size_t limit_bytes) {
  return hlo_resource_exhausted("cannot read %s: larger than the limit of %zu bytes", path,
                                limit_bytes);
}

// Reads to the end and grows the buffer (pipes have no size); errno tells the error.
static hlo_status_t read_all(int fd, const char* path, size_t limit_bytes, size_t size_hint,
                             uint8_t** out_data, size_t* out_size_bytes) {
  size_t capacity = size_hint + 1, size = 0;  // with room for the zero byte
  if (limit_bytes && size_hint > limit_bytes) return too_large(path, limit_bytes);
  uint8_t* data = hlo_mem_alloc(capacity);
  if (!data) return hlo_status_out_of_memory(capacity);
  for (;;) {
    if (size == capacity) {
      size_t wanted = capacity + (capacity / 2 > READ_STEP_BYTES ? capacity / 2 : READ_STEP_BYTES);
      uint8_t* larger = hlo_mem_realloc(data, wanted);
      if (!larger) {
        hlo_mem_free(data);
        return hlo_status_out_of_memory(wanted);
      }
      data = larger;
      capacity = wanted;
    }
    ssize_t got = injected_failure() ? -1 : read(fd, data + size, capacity - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      int error = errno;
      hlo_mem_free(data);
      return error_of(error, "read", path);
    }
    if (got == 0) break;
    size += (size_t)got;
    if (limit_bytes && size > limit_bytes) {
      hlo_mem_free(data);
      return too_large(path, limit_bytes);
    }
  }
  data[size] = 0;  // size < capacity: a full buffer grows before the last read
  *out_data = data;
  *out_size_bytes = size;
  return hlo_ok();
}

hlo_status_t hlo_os_file_read(const char* path, size_t limit_bytes, uint8_t** out_data,
                              size_t* out_size_bytes) {
  int fd = open_for_reading(path);
  if (fd < 0) return error_of(errno, "open", path);
  struct stat info;
  size_t hint = 0;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) hint = (size_t)info.st_size;
  hlo_status_t status = read_all(fd, path, limit_bytes, hint, out_data, out_size_bytes);
  close(fd);
  return status;
}

static bool write_all(int fd, const void* data, size_t size_bytes) {
  const uint8_t* bytes = data;
  while (size_bytes > 0) {
    ssize_t done = injected_failure() ? -1 : write(fd, bytes, size_bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    bytes += done;
    size_bytes -= (size_t)done;
  }
  return true;
}

// Creates a file beside the target; replaces a stale one of the same name (of a crashed process).
static int create_temporary(const char* path) {
  if (injected_failure()) return -1;
  int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  int fd = open(path, flags, 0666);
  if (fd < 0 && errno == EEXIST && unlink(path) == 0) fd = open(path, flags, 0666);
  return fd;
}

// Writes and closes; errno tells the error.
static bool write_and_close(int fd, const void* data, size_t size_bytes) {
  bool ok = write_all(fd, data, size_bytes);
  int error = errno;
  if (close(fd) != 0 && ok) return false;
  errno = error;
  return ok;
}

// Writes to a device or pipe directly; a renamed file would replace it.
static bool is_special(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static hlo_status_t write_special(const char* path, const void* data, size_t size_bytes) {
  int fd = injected_failure() ? -1 : open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return error_of(errno, "open", path);
  return write_and_close(fd, data, size_bytes) ? hlo_ok() : error_of(errno, "write", path);
}

hlo_status_t hlo_os_file_write(const char* path, const void* data, size_t size_bytes) {
  if (is_special(path)) return write_special(path, data, size_bytes);
  char temporary[PATH_MAX];
  int length = snprintf(temporary, sizeof temporary, "%s.%lld.%lld.tmp", path,
                        (long long)hlo_os_process_id(), (long long)hlo_os_thread_id());
  if (length < 0 || (size_t)length >= sizeof temporary) {
    return hlo_invalid_argument("cannot write %.200s...: the path is too long", path);
  }
  int fd = create_temporary(temporary);
  if (fd < 0) return error_of(errno, "create", path);
  bool ok = write_and_close(fd, data, size_bytes);
  ok = ok && !injected_failure() && rename(temporary, path) == 0;
  if (ok) return hlo_ok();
  int error = errno;
  unlink(temporary);
  return error_of(error, "write", path);
}

hlo_status_t hlo_os_file_map(const char* path, const uint8_t** out_data, size_t* out_size_bytes) {
  int fd = open_for_reading(path);
  if (fd < 0) return error_of(errno, "open", path);
  struct stat info;
  hlo_status_t status = hlo_ok();
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    status = hlo_invalid_argument("cannot map %s: not a regular file", path);
  } else if (info.st_size == 0) {
    *out_data = NULL;
    *out_size_bytes = 0;
  } else {
    void* data = injected_failure()
                     ? MAP_FAILED
                     : mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      status = error_of(errno, "map", path);
    } else {
      *out_data = data;
      *out_size_bytes = (size_t)info.st_size;
    }
  }
  close(fd);
  return status;
}

hlo_status_t hlo_os_directory_create(const char* path) {
  char partial[PATH_MAX];
  size_t length = strlen(path);
  if (length == 0 || length >= sizeof partial) {
    return hlo_invalid_argument("cannot create a directory: empty or too long path");
  }
  memcpy(partial, path, length + 1);
  for (size_t i = 1; i <= length; ++i) {
    if (partial[i] != '/' && partial[i] != 0) continue;
    char kept = partial[i];
    partial[i] = 0;
    if (injected_failure() || (mkdir(partial, 0777) != 0 && errno != EEXIST)) {
      return error_of(errno, "create directory", path);
    }
    partial[i] = kept;
  }
  struct stat info;
  if (stat(path, &info) != 0) return error_of(errno, "create directory", path);
  if (!S_ISDIR(info.st_mode)) return error_of(ENOTDIR, "create directory", path);
  return hlo_ok();
}

hlo_status_t hlo_os_directory_create_temporary(const char* parent, char* out_path,
                                               size_t capacity) {
  if (!parent) parent = getenv("TMPDIR");
  if (!parent || !*parent) parent = "/tmp";
  int length = snprintf(out_path, capacity, "%s/hlocc-XXXXXX", parent);
  if (length < 0 || (size_t)length >= capacity) {
    return hlo_invalid_argument("cannot create a directory in %.200s...: the path is too long",
                                parent);
  }
  if (injected_failure() || !mkdtemp(out_path))
    return error_of(errno, "create a directory in", parent);
  return hlo_ok();
}

bool hlo_os_directory_is_private(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         !(info.st_mode & (S_IWGRP | S_IWOTH));
}

// Adds one entry if it is a regular file.
static bool add_file(int folder, const char* name, hlo_os_file_t** files, uint32_t* count) {
  struct stat info;
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) return true;
  hlo_os_file_t* grown = hlo_mem_realloc(*files, (*count + 1) * sizeof *grown);
  char* copy = hlo_mem_strndup(name, strlen(name));
  if (grown) *files = grown;
  if (!grown || !copy) {
    hlo_mem_free(copy);
    return false;
  }
  grown[(*count)++] = (hlo_os_file_t){
      copy, (uint64_t)info.st_size, (int64_t)info.st_mtim.tv_sec * NS_PER_S + info.st_mtim.tv_nsec};
  return true;
}

void hlo_os_files_free(hlo_os_file_t* files, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) hlo_mem_free((void*)(uintptr_t)files[i].name);
  hlo_mem_free(files);
}

hlo_status_t hlo_os_directory_list(const char* path, hlo_os_file_t** out_files,
                                   uint32_t* out_count) {
  DIR* folder = injected_failure() ? NULL : opendir(path);
  if (!folder) return error_of(errno, "open", path);
  hlo_os_file_t* files = NULL;
  uint32_t count = 0;
  bool ok = true;
  for (struct dirent* entry = readdir(folder); entry && ok; entry = readdir(folder)) {
    ok = add_file(dirfd(folder), entry->d_name, &files, &count);
  }
  closedir(folder);
  if (!ok) {
    hlo_os_files_free(files, count);
    return hlo_status_out_of_memory(sizeof *files);
  }
  *out_files = files;
  *out_count = count;
  return hlo_ok();
}

void hlo_os_file_touch(const char* path) {
  (void)utimensat(AT_FDCWD, path, NULL, 0);
}

void hlo_os_file_remove(const char* path) {
  remove(path);
}

struct hlo_os_stream {
  int fd;
  char path[];  // for messages
};

// A lock, which ends with the last descriptor, marks the file as in use; without support for locks,
// the last writer wins. Devices cannot be truncated and need not be.
static int open_stream(const char* path, bool keep) {
  if (injected_failure()) return -1;
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return -1;
  struct stat info;
  bool is_file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (keep || !is_file) return fd;
  bool is_taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!is_taken && ftruncate(fd, 0) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

hlo_status_t hlo_os_stream_open(const char* path, bool keep, hlo_os_stream_t** out_stream) {
  int fd = open_stream(path, keep);
  if (fd < 0) return error_of(errno, "open", path);
  size_t path_bytes = strlen(path) + 1;
  hlo_os_stream_t* stream = hlo_mem_alloc(sizeof *stream + path_bytes);
  if (!stream) {
    close(fd);
    return hlo_status_out_of_memory(sizeof *stream);
  }
  stream->fd = fd;
  memcpy(stream->path, path, path_bytes);
  *out_stream = stream;
  return hlo_ok();
}

hlo_status_t hlo_os_stream_write(hlo_os_stream_t* stream, const void* data, size_t size_bytes) {
  if (write_all(stream->fd, data, size_bytes)) return hlo_ok();
  return error_of(errno, "write", stream->path);
}

void hlo_os_stream_close(hlo_os_stream_t* stream) {
  if (!stream) return;
  close(stream->fd);
  hlo_mem_free(stream);
}

void hlo_os_stderr_write(const char* text, size_t length) {
  while (length > 0) {
    ssize_t done = write(STDERR_FILENO, text, length);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    text += done;
    length -= (size_t)done;
  }
}

// ---- processes, environment and shared libraries -----------------------------------------------

// Starts a program with empty input whose output goes to the pipe; returns 0 or an error number.
static int spawn(const char* const* arguments, int output_fd, pid_t* out_pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t no_signals, all_signals;
  sigemptyset(&no_signals);
  sigfillset(&all_signals);
  if (posix_spawn_file_actions_init(&actions) != 0) return ENOMEM;
  if (posix_spawnattr_init(&attributes) != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return ENOMEM;
  }
  int error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, output_fd, STDERR_FILENO);
  // Resets the host's handlers and blocked signals for the program.
  posix_spawnattr_setsigmask(&attributes, &no_signals);
  posix_spawnattr_setsigdefault(&attributes, &all_signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  if (!error) {
    error = posix_spawnp(out_pid, arguments[0], &actions, &attributes, (char* const*)arguments,
                         environ);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Reads until the other end is closed; returns false on timeout. Output beyond the capacity is
// dropped.
static bool read_output(int fd, uint64_t deadline_ns, hlo_strbuf_t* output) {
  enum { LIMIT_BYTES = 64 * 1024, NS_PER_MS = 1000000 };
  char part[4096];
  for (;;) {
    uint64_t now = hlo_os_now_ns();
    uint64_t left_ms = now < deadline_ns ? (deadline_ns - now) / NS_PER_MS + 1 : 0;
    if (!left_ms) return false;
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    int ready = poll(&waiting, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX);
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    ssize_t size = read(fd, part, sizeof part);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return true;
    if (output->length < LIMIT_BYTES) hlo_strbuf_append(output, part, (size_t)size);
  }
}

// Returns the exit code, negative for a signal; 0 if another thread of the process reaped it.
static int wait_for(pid_t pid) {
  int state = 0;
  while (waitpid(pid, &state, 0) < 0) {
    if (errno != EINTR) return 0;
  }
  return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
}

hlo_status_t hlo_os_process_run(const char* const* arguments, uint64_t timeout_ns,
                                hlo_strbuf_t* output, int* out_exit_code) {
  int ends[2];
  pid_t pid = 0;
  if (injected_failure() || pipe2(ends, O_CLOEXEC) != 0) {
    return error_of(errno, "make a pipe for", arguments[0]);
  }
  int error = spawn(arguments, ends[1], &pid);
  close(ends[1]);
  if (error) {
    close(ends[0]);
    return error_of(error, "run", arguments[0]);
  }
  uint64_t now = hlo_os_now_ns();
  const size_t length = output->length;
  bool in_time =
      read_output(ends[0], timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns, output);
  close(ends[0]);
  if (!in_time) kill(pid, SIGKILL);
  int exit_code = wait_for(pid);
  if (!in_time) {
    return hlo_status_create(HLO_STATUS_DEADLINE_EXCEEDED, "%s took longer than %.1f s",
                             arguments[0], (double)timeout_ns / NS_PER_S);
  }
  // The exit code of posix_spawn() for a missing program where it cannot report the error itself.
  if (exit_code == 127 && output->length == length) return error_of(ENOENT, "run", arguments[0]);
  *out_exit_code = exit_code;
  return hlo_ok();
}

typedef struct build_id {
  uintptr_t address;
  uint8_t* out;
  size_t capacity, size_bytes;
} build_id_t;

static void read_notes(const uint8_t* notes, size_t size_bytes, build_id_t* id) {
  enum { ALIGNMENT = 4 };
  ElfW(Nhdr) note;
  while (size_bytes >= sizeof note) {
    memcpy(&note, notes, sizeof note);
    size_t name = ((size_t)note.n_namesz + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t data = ((size_t)note.n_descsz + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size_bytes - sizeof note < name || size_bytes - sizeof note - name < data) return;
    const uint8_t* at = notes + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
        memcmp(at, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 && note.n_descsz <= id->capacity) {
      memcpy(id->out, at + name, note.n_descsz);
      id->size_bytes = note.n_descsz;
      return;
    }
    notes = at + name + data;
    size_bytes -= sizeof note + name + data;
  }
}

static int find_build_id(struct dl_phdr_info* info, HLO_UNUSED size_t size, void* context) {
  build_id_t* id = context;
  bool is_inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    is_inside |= header->p_type == PT_LOAD &&
                 id->address - info->dlpi_addr - header->p_vaddr < header->p_memsz;
  }
  for (int i = 0; is_inside && i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    if (header->p_type != PT_NOTE || id->size_bytes) continue;
    read_notes((const uint8_t*)(info->dlpi_addr + header->p_vaddr), header->p_memsz, id);
  }
  return is_inside;
}

size_t hlo_os_build_id(const void* address, uint8_t* out, size_t capacity) {
  build_id_t id = {.address = (uintptr_t)address, .out = out, .capacity = capacity};
  dl_iterate_phdr(find_build_id, &id);
  return id.size_bytes;
}

hlo_status_t hlo_os_program_path(char* out_path, size_t capacity) {
  ssize_t length = readlink("/proc/self/exe", out_path, capacity);
  if (length <= 0 || (size_t)length >= capacity || out_path[0] != '/') {
    return hlo_not_found("cannot read /proc/self/exe");
  }
  out_path[length] = 0;
  return hlo_ok();
}

const char* const* hlo_os_environment(void) {
  static const char* const kEmpty[] = {NULL};
  return environ ? (const char* const*)environ : kEmpty;
}

hlo_status_t hlo_os_library_open(const char* name, void** out_library) {
  void* library = injected_failure() ? NULL : dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    return hlo_not_found("cannot open library %s: %s", name, reason ? reason : "unknown reason");
  }
  *out_library = library;
  return hlo_ok();
}

void* hlo_os_library_symbol(void* library, const char* symbol) {
  return dlsym(library, symbol);
}

void hlo_os_library_close(void* library) {
  if (library) dlclose(library);
}
