#pragma once
// Reports of broken rules and of leaks.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace standin {

/// Counts broken rules and live objects. Prints both when the process ends; tests read both through
/// standin_cuda.h.
/// Threads: any
class Report {
 public:
  static Report& instance();

  /// Records that `call` broke a rule. Prints it; ends the process if STANDIN_CUDA_ABORT is set.
  void violation(const std::string& call, const std::string& what);
  /// Counts objects of a kind ("stream"): born() adds, its counterpart subtracts.
  void born(const char* kind, std::uint64_t amount = 1);
  void died(const char* kind, std::uint64_t amount = 1);

  std::uint64_t violations();
  std::string last_violation();
  void forget_violations();
  /// Returns "2 streams, 1 device block"; empty if no object lives.
  std::string living();

 private:
  Report() = default;
  std::mutex mutex_;
  std::uint64_t violations_ = 0;
  std::string last_;
  std::map<std::string, std::uint64_t> living_;
};

}  // namespace standin
