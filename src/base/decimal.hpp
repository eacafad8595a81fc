#pragma once
// Numbers as text, independent of the host program's locale.

#include <optional>
#include <string>
#include <string_view>

namespace ob {

/// Formats a measurement with up to 9 significant digits: "1.25e-05".
std::string to_decimal(double value);

/// Parses the whole of `text` as a number; returns nothing if it is none.
std::optional<double> from_decimal(std::string_view text);

}  // namespace ob
