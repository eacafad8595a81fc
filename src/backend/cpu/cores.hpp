#pragma once
// What the processor can do, as far as a BLAS library misreads it.

#include <string>

namespace ob::cpu {

/// Cores this process may use.
unsigned usable_cores() noexcept;

/// The value of OPENBLAS_CORETYPE that suits this processor; empty if OpenBLAS's own choice is as
/// good as any. Older OpenBLAS knows processors by model number and takes new ones for the oldest:
/// 2 to 5 times slower.
std::string suitable_core_type();

/// True if `core_name`, OpenBLAS's own word, is a kernel set without AVX and this processor has
/// AVX.
bool misread(const std::string& core_name);

/// Sets an environment variable, unless it is set, until the end of the scope: libraries read some
/// when opened.
/// Threads: one at a time, and none that reads the environment
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value);
  ~ScopedVariable();
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  bool set_ = false;
};

}  // namespace ob::cpu
