#pragma once

#include <string>

#include "overlap/runtime.hpp"

namespace ob::overlap {

/// Returns what the runtime measured and chose, as lines of text for a person.
std::string explain(const Runtime& runtime);

}  // namespace ob::overlap
