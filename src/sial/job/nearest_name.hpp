#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ob::sial {

/// Returns the name that a misspelt one probably means: the one that the fewest edits reach, at
/// most one edit and one more per three letters. Empty if none is near.
std::string nearest_name(std::string_view name, const std::vector<std::string>& names);

/// Returns `name` with ASCII letters in lower case, as programs fold their names.
std::string fold_case(std::string_view name);

}  // namespace ob::sial
