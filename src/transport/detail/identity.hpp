#pragma once

#include <sys/stat.h>

namespace ob::transport::detail {

/// The identity of a descriptor's file. The program around us may close our descriptor (programs
/// that become daemons close all), and get the same number for a file of its own.
class Identity {
 public:
  explicit Identity(int fd) noexcept { known_ = ::fstat(fd, &file_) == 0; }

  /// True if `fd` still refers to that file.   Cost: a system call
  bool is(int fd) const noexcept {
    struct stat now {};
    return known_ && ::fstat(fd, &now) == 0 && now.st_dev == file_.st_dev &&
           now.st_ino == file_.st_ino;
  }

 private:
  struct stat file_ {};
  bool known_ = false;
};

}  // namespace ob::transport::detail
