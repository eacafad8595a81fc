#include "overlap/mode.hpp"

#include <algorithm>

namespace ob::overlap {

Result<Mode> mode_named(const std::string& name) {
  const auto known = std::find(kModeNames.begin(), kModeNames.end(), name);
  if (known != kModeNames.end()) return Mode(known - kModeNames.begin());
  std::string all;
  for (const char* const one : kModeNames) all += (all.empty() ? "" : ", ") + std::string(one);
  return Status(Code::invalid_argument, "mode " + name + " (unknown) use one of " + all);
}

}  // namespace ob::overlap
