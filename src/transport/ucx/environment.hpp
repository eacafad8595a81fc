#pragma once

#include <span>
#include <vector>

namespace ob::transport::ucx {

/// Lets this process see other environment variables for as long as the object lives. Unlike
/// setenv() it frees and overwrites nothing that another thread's getenv() may be reading.
/// Threads: one at a time; a setenv() by the program meanwhile is kept
class BorrowedEnvironment {
 public:
  /// `forced` win over the process's variables, `defaults` give way to them; all are "NAME=value"
  /// literals.
  BorrowedEnvironment(std::span<const char* const> forced, std::span<const char* const> defaults);
  ~BorrowedEnvironment();
  BorrowedEnvironment(const BorrowedEnvironment&) = delete;
  BorrowedEnvironment& operator=(const BorrowedEnvironment&) = delete;

 private:
  void take_out_ours() noexcept;

  char** const before_;
  // Never freed: another thread may be walking it when we put the old one back.
  std::vector<char*>* const ours_;
  const std::span<const char* const> forced_;
  const std::span<const char* const> defaults_;
};

}  // namespace ob::transport::ucx
