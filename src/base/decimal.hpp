#pragma once
// Numbers as text, whatever the host program's locale says of them.

#include <optional>
#include <string>
#include <string_view>

namespace ob {

/// The shortest of up to 9 digits that tells `value` apart from its neighbours well enough for
/// measurements: "1.25e-05".
std::string to_decimal(double value);

/// All of `text` as a number; empty if it is none.
std::optional<double> from_decimal(std::string_view text);

}  // namespace ob
