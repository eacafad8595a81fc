#pragma once
// Injected failures: the n-th call of a function fails.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace standin {

/// Counts calls and decides which of them fail. A rule is `call:n` (the n-th call, once), `call:n+`
/// (the n-th and all later calls) or `call:/n` (every n-th call). `:error` may follow a rule; it is
/// an error number of the library that the call belongs to. Commas separate rules. Names are
/// without _v2 and _64. `call@run` counts the work of a call when the device runs it; its failure
/// is a fault of the device, which then does no more work. Threads: any
class Faults {
 public:
  /// Starts with the rules of STANDIN_CUDA_FAIL and STANDIN_CUDA_FAIL_MALLOC.
  static Faults& instance();

  /// Counts one more call. Returns 0 if it goes on, else its error (-1: the usual error of the
  /// call).
  int next(const char* call);
  /// Adds rules: `n` counts from now on.
  void add(const std::string& rules);
  void clear();
  std::uint64_t calls(const std::string& call);

 private:
  struct Rule {
    std::string call;
    std::uint64_t from = 0;   // the count at which the rule applies first
    std::uint64_t every = 0;  // 0: the rule applies once
    int error = -1;
  };
  Faults();
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> calls_;
  std::vector<Rule> rules_;
};

/// Returns the name as rules use it: without _v2 and _64.
std::string plain_name(const char* call);

}  // namespace standin
