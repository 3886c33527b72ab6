// SPDX-License-Identifier: Apache-2.0
// Child processes on Linux (see child.h).
#include "base/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"

enum { NS_PER_MS = 1000000, LONGEST_POLL_MS = 1000 };

// Faults end the child at once: without the handlers of the parent, and without a core file.
static void prepare_child(int64_t parent) {
  static const int kSignals[] = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
                                 SIGABRT, SIGTRAP, SIGINT, SIGTERM};
  for (size_t i = 0; i < sizeof kSignals / sizeof *kSignals; ++i) signal(kSignals[i], SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
}

hlo_status_t hlo_child_start(hlo_child_body_t body, void* context, hlo_child_t* out_child) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return hlo_resource_exhausted("no socket for a child process: %s", strerror(errno));
  }
  const int64_t parent = hlo_os_process_id();
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    close(sockets[0]);
    close(sockets[1]);
    return hlo_resource_exhausted("no child process: %s", strerror(error));
  }
  if (child == 0) {
    close(sockets[0]);
    prepare_child(parent);
    body(context, sockets[1]);
    _exit(0);
  }
  close(sockets[1]);
  *out_child = (hlo_child_t){child, sockets[0]};
  return hlo_ok();
}

bool hlo_child_send(int socket, const void* data, size_t size_bytes) {
  const char* at = data;
  while (size_bytes > 0) {
    const ssize_t sent = send(socket, at, size_bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size_bytes -= (size_t)sent;
  }
  return true;
}

// Waits until there is something to read, or the other process has ended.
static bool await_input(int socket, uint64_t end_ns) {
  for (;;) {
    const uint64_t now_ns = hlo_os_now_ns();
    if (now_ns >= end_ns) return false;
    const uint64_t left_ms = (end_ns - now_ns) / NS_PER_MS + 1;
    struct pollfd place = {.fd = socket, .events = POLLIN};
    if (poll(&place, 1, left_ms < LONGEST_POLL_MS ? (int)left_ms : LONGEST_POLL_MS) > 0) {
      return true;
    }
  }
}

hlo_child_answer_t hlo_child_receive(int socket, void* data, size_t size_bytes,
                                     uint64_t timeout_ns) {
  const uint64_t now_ns = hlo_os_now_ns();
  const uint64_t end_ns = timeout_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + timeout_ns;
  char* at = data;
  while (size_bytes > 0) {
    if (!await_input(socket, end_ns)) return HLO_CHILD_TIMED_OUT;
    const ssize_t received = recv(socket, at, size_bytes, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return HLO_CHILD_ENDED;
    at += received;
    size_bytes -= (size_t)received;
  }
  return HLO_CHILD_ANSWERED;
}

int hlo_child_stop(hlo_child_t* child) {
  if (child->process_id <= 0) return 0;
  const pid_t id = (pid_t)child->process_id;
  int state = 0;
  close(child->socket);
  kill(id, SIGKILL);  // without effect on a child that is ending already
  while (waitpid(id, &state, 0) < 0 && errno == EINTR) continue;
  *child = (hlo_child_t){0};
  return WIFSIGNALED(state) && WTERMSIG(state) != SIGKILL ? WTERMSIG(state) : 0;
}

hlo_status_t hlo_child_pages_map(size_t size_bytes, void** out_pages) {
  void* pages = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return hlo_status_out_of_memory(size_bytes);
  *out_pages = pages;
  return hlo_ok();
}
