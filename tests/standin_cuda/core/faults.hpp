#pragma once
// Failures on purpose: the n-th call of a function.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace standin {

/// Counts calls and says which are to fail. The rules: `call:n` (the n-th, once), `call:n+` (it and
/// all after it), `call:/n` (each n-th), any of them with `:error` (a number of the library that
/// the call belongs to) behind; more rules after commas. Names are without _v2 and _64; `call@run`
/// counts the work of a call when the device runs it, and its failure is the device's: it does
/// nothing any more. Threads: any
class Faults {
 public:
  /// With the rules of STANDIN_CUDA_FAIL and STANDIN_CUDA_FAIL_MALLOC.
  static Faults& instance();

  /// One more call; 0 if it goes on, else the error that it returns (-1: what suits the call).
  int next(const char* call);
  /// More rules, from now on: `n` counts from here.
  void add(const std::string& rules);
  void clear();
  std::uint64_t calls(const std::string& call);

 private:
  struct Rule {
    std::string call;
    std::uint64_t from = 0;   // count at which it bites
    std::uint64_t every = 0;  // 0: once
    int error = -1;
  };
  Faults();
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> calls_;
  std::vector<Rule> rules_;
};

/// The name that rules use: without _v2 and _64.
std::string plain_name(const char* call);

}  // namespace standin
