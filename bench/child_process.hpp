#pragma once
// Starts another program and reads its output.

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace ob::bench {

/// The folder of the running program, without a slash at the end.
std::string own_folder();

/// A started program. The destructor waits for its end.
class ChildProcess {
 public:
  /// `environment` ("NAME=value") is added to this program's. pid() is -1 if it could not be
  /// started.
  ChildProcess(std::vector<std::string> words, const std::vector<std::string>& environment);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const noexcept { return pid_; }
  /// The next line of its stdout, without the newline; empty at the end.
  std::string line();

 private:
  pid_t pid_ = -1;
  FILE* output_ = nullptr;
};

}  // namespace ob::bench
