#include "pool/random_name.hpp"

#include <sys/random.h>

#include <array>
#include <cstdint>
#include <cstdio>

namespace ob::pool {

std::string random_name() {
  std::array<std::uint64_t, 2> bits{};
  if (::getrandom(bits.data(), sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) return {};
  std::array<char, 33> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx%016llx",
                static_cast<unsigned long long>(bits[0]), static_cast<unsigned long long>(bits[1]));
  return digits.data();
}

}  // namespace ob::pool
