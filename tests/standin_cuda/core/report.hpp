#pragma once
// Broken rules and leaks.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace standin {

/// Rules that were broken, and things that live: both are printed when the process ends, and both
/// can be asked for (standin_cuda.h).
/// Threads: any
class Report {
 public:
  static Report& instance();

  /// A rule was broken by `call`. Prints it; ends the process if STANDIN_CUDA_ABORT says so.
  void violation(const std::string& call, const std::string& what);
  /// Things of a kind ("stream") that live: one more, one less.
  void born(const char* kind, std::uint64_t amount = 1);
  void died(const char* kind, std::uint64_t amount = 1);

  std::uint64_t violations();
  std::string last_violation();
  void forget_violations();
  /// "2 streams, 1 device block"; empty if nothing lives.
  std::string living();

 private:
  Report() = default;
  std::mutex mutex_;
  std::uint64_t violations_ = 0;
  std::string last_;
  std::map<std::string, std::uint64_t> living_;
};

}  // namespace standin
