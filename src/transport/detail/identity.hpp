#pragma once

#include <sys/stat.h>

namespace ob::transport::detail {

/// Which file a descriptor stood for. In somebody else's process a descriptor may be closed behind
/// our back (daemonising programs close all) and its number given to a file of the program's.
class Identity {
 public:
  explicit Identity(int fd) noexcept { known_ = ::fstat(fd, &file_) == 0; }

  /// True if `fd` still stands for that file.   Cost: a system call
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
