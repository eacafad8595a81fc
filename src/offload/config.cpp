#include "offload/config.hpp"

#include <fnmatch.h>

namespace ob::offload {

std::optional<Accuracy> accuracy_named(std::string_view name) noexcept {
  for (unsigned i = 0; i < kAccuracies; ++i) {
    if (name == kAccuracyNames[i]) return static_cast<Accuracy>(i);
  }
  return std::nullopt;
}

bool Config::allows(std::string_view routine) const noexcept {
  const std::string name(routine);
  bool any_allowance = false;
  for (auto at = routines.rbegin(); at != routines.rend(); ++at) {
    const bool denies = at->front() == '-';
    any_allowance = any_allowance || !denies;
    if (::fnmatch(at->c_str() + (denies ? 1 : 0), name.c_str(), FNM_CASEFOLD) == 0) return !denies;
  }
  return !any_allowance;
}

}  // namespace ob::offload
