#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/fd.hpp"

namespace ob::transport::ucx {

/// Wakes a thread that polls. Threads: any
class Bell {
 public:
  Bell() : fd_(out_of_the_way(Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)))) {}
  int descriptor() const noexcept { return fd_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  void ring() const noexcept {
    const std::uint64_t one = 1;
    (void)!::write(fd_.get(), &one, sizeof one);
  }
  void silence() const noexcept {
    std::uint64_t rings = 0;
    (void)!::read(fd_.get(), &rings, sizeof rings);
  }
  /// Forgets the descriptor without closing its number, which may belong to another file now.
  void abandon() noexcept { (void)fd_.release(); }

 private:
  Fd fd_;
};

}  // namespace ob::transport::ucx
