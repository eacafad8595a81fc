#pragma once
// Properties of the processor that BLAS libraries may detect wrongly.

#include <string>

namespace ob::cpu {

/// Returns the value of OPENBLAS_CORETYPE for this processor; empty if OpenBLAS's own choice is as
/// good. Older OpenBLAS knows processors by model number and treats new ones like the oldest, which
/// is 2 to 5 times slower.
std::string suitable_core_type();

/// True if `core_name`, as OpenBLAS reports it, is a kernel set without AVX, and this processor has
/// AVX.
bool misread(const std::string& core_name);

/// Sets an environment variable until the end of the scope, unless it is set already. Libraries
/// read some variables when they are opened.
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
