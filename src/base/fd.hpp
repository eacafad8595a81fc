#pragma once
// Ownership of file descriptors inside a process that belongs to another program.

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>
#include <utility>

namespace ob {

/// Owns a file descriptor.
class Fd {
 public:
  Fd() noexcept = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

/// Moves a descriptor to a high number, or returns it unchanged if none is free. The numbers 0, 1
/// and 2 may be free because the program closed them and expects to get them again.
inline Fd out_of_the_way(Fd fd) noexcept {
  // A process starts with a table of 64 descriptors. If it has threads and the table must grow,
  // Linux waits until all processors have passed a quiescent state (expand_fdtable() in fs/file.c):
  // 8 to 10 ms were measured.
  constexpr int kUsuallyFree = 40;
  for (const int from : {kUsuallyFree, 3}) {
    const int moved = fd ? ::fcntl(fd.get(), F_DUPFD_CLOEXEC, from) : -1;
    if (moved >= 0) return Fd(moved);
  }
  return fd;
}

}  // namespace ob
