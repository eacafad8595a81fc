// A BLAS library that does on request what a library must never do. The request is alpha of dgemm;
// any other alpha is an ordinary product.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "hostile_requests.hpp"

namespace {

using ob::hostile::Request;

// Returns true if messages of this process would reach the daemon's stderr.
bool reaches_stderr() {
  struct stat errors {};
  struct stat output {};
  // fstat() of the C library makes another system call, which executors are denied.
  if (::syscall(SYS_fstat, STDERR_FILENO, &errors) != 0 ||
      ::syscall(SYS_fstat, STDOUT_FILENO, &output) != 0) {
    return true;
  }
  return errors.st_dev != output.st_dev || errors.st_ino != output.st_ino;
}

// Tries to reach something beyond the process; returns one bit for each success.
int reach_out() {
  int reached = 0;
  const auto note = [&reached](int bit, bool success) { reached |= success ? 1 << bit : 0; };
  note(0, ::open("/etc/passwd", O_RDONLY) >= 0);
  note(1, ::open("/tmp/outboard-hostile", O_WRONLY | O_CREAT, 0600) >= 0);
  note(2, ::socket(AF_INET, SOCK_STREAM, 0) >= 0);
  note(3, ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
  note(4, ::kill(::getppid(), 0) == 0);
  note(5, ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr) == 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  note(6, child > 0);
  note(7, ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
              MAP_FAILED);
  note(8, ::setuid(::getuid()) == 0);
  note(9, reaches_stderr());
  char* const arguments[] = {nullptr};
  ::execve("/bin/true", arguments, arguments);
  return reached;
}

// Returns the MiB that it could take and touch, at most 4 GiB.
int take_memory() {
  int taken = 0;
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  for (; taken < 4096; ++taken) {
    void* const at = std::malloc(kMiB);
    if (at == nullptr) break;
    std::memset(at, 1, kMiB);
  }
  return taken;
}

// Returns the number of mappings that the limit of private memory would not count.
int take_shared_memory() {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  int taken = 0;
  constexpr int kKinds[] = {MAP_SHARED, MAP_SHARED_VALIDATE, MAP_PRIVATE | MAP_GROWSDOWN};
  for (const int kind : kKinds) {
    void* const at = ::mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) ++taken;
  }
  return taken;
}

void obey(Request request, double* c) {
  switch (request) {
    case Request::abort: std::abort();
    case Request::loop:
      for (volatile bool forever = true; forever;) {
      }
      return;
    case Request::fault: *reinterpret_cast<volatile char*>(std::uintptr_t{8}) = 1; return;
    case Request::exit: std::exit(0);
    case Request::reach_out: c[0] = reach_out(); return;
    case Request::take_memory: c[0] = take_memory(); return;
    case Request::take_shared_memory: c[0] = take_shared_memory(); return;
    case Request::process: c[0] = ::getpid(); return;
  }
}

}  // namespace

extern "C" [[gnu::visibility("default")]] void dgemm_(const char* ta, const char* tb, const int* m,
                                                      const int* n, const int* k,
                                                      const double* alpha, const double* a,
                                                      const int* lda, const double* b,
                                                      const int* ldb, const double* beta, double* c,
                                                      const int* ldc) {
  const double request = *alpha - ob::hostile::kFirst;
  if (request >= 0 && request <= static_cast<double>(Request::process)) {
    obey(static_cast<Request>(request), c);
    return;
  }
  (void)ta;  // the tests use N only
  (void)tb;
  for (int j = 0; j < *n; ++j) {
    for (int i = 0; i < *m; ++i) {
      double sum = 0;
      for (int l = 0; l < *k; ++l) sum += a[i + l * *lda] * b[l + j * *ldb];
      double& out = c[i + j * *ldc];
      out = *alpha * sum + (*beta == 0 ? 0 : *beta * out);
    }
  }
}
