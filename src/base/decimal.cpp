#include "base/decimal.hpp"

#include <locale.h>

#include <cstdio>
#include <cstdlib>

namespace ob {
namespace {

// std::to_chars() and std::from_chars() would make the drop-in library depend on libm.
locale_t c_locale() {
  static const locale_t made = ::newlocale(LC_ALL_MASK, "C", nullptr);
  return made;
}

}  // namespace

std::string to_decimal(double value) {
  char digits[40];
  const locale_t before = ::uselocale(c_locale());  // affects this thread only
  const int length = std::snprintf(digits, sizeof digits, "%.9g", value);
  ::uselocale(before);
  return length > 0 ? std::string(digits, static_cast<std::size_t>(length)) : std::string();
}

std::optional<double> from_decimal(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = ::strtod_l(copy.c_str(), &end, c_locale());
  const bool whole = !copy.empty() && end == copy.c_str() + copy.size();
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace ob
