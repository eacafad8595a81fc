#include "sial/job/size_text.hpp"

#include <charconv>

namespace ob::sial {

std::optional<std::int64_t> parse_size_text(std::string_view text) noexcept {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value <= 0) return {};
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.empty()) return value;
  constexpr std::string_view kUnits = "KMGT";
  const std::size_t power = kUnits.find(unit.front());
  unit.remove_prefix(1);
  if (power == std::string_view::npos || !(unit.empty() || unit == "B" || unit == "iB")) return {};
  const int shift = 10 * (static_cast<int>(power) + 1);
  if (value > INT64_MAX >> shift) return {};
  return value << shift;
}

}  // namespace ob::sial
