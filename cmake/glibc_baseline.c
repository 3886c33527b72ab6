// SPDX-License-Identifier: Apache-2.0
// Binds the shared libraries to symbol versions of glibc 2.17 on x86-64, so that what is built on a newer
// system loads on an older one. The linker's --wrap directs calls of a function F to __wrap_F;
// hlo_glibc_baseline() in hlocc.cmake reads the names from this file, tests/tools/glibc_test.py checks the
// libraries. glibc keeps the old versions for ever; they differ from the new ones in errno at most.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Makes __wrap_<name> jump to <name> of an old version.
#define OLD(name, version)                                                                   \
  __asm__(".symver old_" #name "," #name "@" version                                         \
          "\n.pushsection .text\n.globl __wrap_" #name "\n.hidden __wrap_" #name             \
          "\n.type __wrap_" #name ",@function\n__wrap_" #name                                \
          ":\n.cfi_startproc\njmp *old_" #name "@GOTPCREL(%rip)\n.cfi_endproc\n.size __wrap_" \
          #name ",.-__wrap_" #name "\n.popsection")

// Versions of 2.29 and 2.35 that leave errno to the caller.
OLD(exp, "GLIBC_2.2.5");
OLD(log, "GLIBC_2.2.5");
OLD(log2, "GLIBC_2.2.5");
OLD(pow, "GLIBC_2.2.5");
OLD(hypot, "GLIBC_2.2.5");
OLD(hypotf, "GLIBC_2.2.5");

// Since 2.32 and 2.34 in libc; before, in libdl and libpthread.
OLD(dlclose, "GLIBC_2.2.5");
OLD(dlerror, "GLIBC_2.2.5");
OLD(dlopen, "GLIBC_2.2.5");
OLD(dlsym, "GLIBC_2.2.5");
OLD(pthread_attr_setstacksize, "GLIBC_2.2.5");
OLD(pthread_create, "GLIBC_2.2.5");
OLD(pthread_detach, "GLIBC_2.2.5");
OLD(pthread_join, "GLIBC_2.2.5");
OLD(pthread_once, "GLIBC_2.2.5");
OLD(pthread_setname_np, "GLIBC_2.12");
OLD(pthread_sigmask, "GLIBC_2.2.5");

// Before 2.33, stat() and its relatives were inline functions that passed the version of the structure.
enum { STAT_VERSION = 1 };  // _STAT_VER of x86-64

extern int __xstat(int version, const char* path, struct stat* out);
extern int __fxstat(int version, int file, struct stat* out);
extern int __fxstatat(int version, int folder, const char* path, struct stat* out, int flags);
int __wrap_stat(const char* path, struct stat* out);
int __wrap_fstat(int file, struct stat* out);
int __wrap_fstatat(int folder, const char* path, struct stat* out, int flags);
int __wrap_memfd_create(const char* name, unsigned flags);

int __wrap_stat(const char* path, struct stat* out) {
  return __xstat(STAT_VERSION, path, out);
}

int __wrap_fstat(int file, struct stat* out) {
  return __fxstat(STAT_VERSION, file, out);
}

int __wrap_fstatat(int folder, const char* path, struct stat* out, int flags) {
  return __fxstatat(STAT_VERSION, folder, path, out, flags);
}

// A system call since Linux 3.17, a function of glibc since 2.27.
int __wrap_memfd_create(const char* name, unsigned flags) {
  return (int)syscall(SYS_memfd_create, name, flags);
}
