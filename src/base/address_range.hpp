#pragma once

#include <cstdint>

namespace ob {

/// Addresses from begin up to, not including, end.
struct AddressRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

}  // namespace ob
