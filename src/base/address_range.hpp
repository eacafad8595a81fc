#pragma once

#include <cstdint>

namespace ob {

/// The addresses from begin up to, but not including, end.
struct AddressRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

}  // namespace ob
