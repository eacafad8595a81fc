#pragma once

#include <span>
#include <vector>

namespace ob::transport::ucx {

/// Gives this process other environment variables while the object lives. Unlike setenv() it frees
/// and overwrites nothing that getenv() of another thread may be reading.
/// Threads: one at a time; a concurrent setenv() of the program stays in effect
class BorrowedEnvironment {
 public:
  /// @param forced literals "NAME=value" that replace the process's variables
  /// @param defaults literals "NAME=value" that the process's variables replace
  BorrowedEnvironment(std::span<const char* const> forced, std::span<const char* const> defaults);
  ~BorrowedEnvironment();
  BorrowedEnvironment(const BorrowedEnvironment&) = delete;
  BorrowedEnvironment& operator=(const BorrowedEnvironment&) = delete;

 private:
  void take_out_ours() noexcept;

  char** const before_;
  // The array is never freed: another thread may be reading it when the old one is restored.
  std::vector<char*>* const ours_;
  const std::span<const char* const> forced_;
  const std::span<const char* const> defaults_;
};

}  // namespace ob::transport::ucx
