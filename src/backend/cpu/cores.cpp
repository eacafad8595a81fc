#include "backend/cpu/cores.hpp"

#include <cstdlib>

namespace ob::cpu {

std::string suitable_core_type() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return "";
}

bool misread(const std::string& core_name) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx")) return false;
  return core_name == "Prescott" || core_name == "Core2" || core_name == "Nehalem";
#else
  (void)core_name;
  return false;
#endif
}

ScopedVariable::ScopedVariable(const char* name, const std::string& value) : name_(name) {
  if (value.empty() || std::getenv(name) != nullptr) return;
  set_ = setenv(name, value.c_str(), 1) == 0;
}

ScopedVariable::~ScopedVariable() {
  if (set_) unsetenv(name_);
}

}  // namespace ob::cpu
