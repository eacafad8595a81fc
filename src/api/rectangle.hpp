#pragma once
// Rectangles of copies, as functions get them.

#include <cstdint>

#include "api/objects.hpp"
#include "api/outcome.hpp"
#include "base/layout.hpp"
#include "outboard/device.h"

namespace ob::api {

/// A rectangle on both of its sides; the offset of `host` is 0.
struct Sides {
  Region device;
  Region host;
};

/// Errors: invalid_argument
Outcome sides_of(const ob_rect* rect, std::uint64_t offset_bytes, Sides& sides);

/// Numbers change their bytes on the way to a host of the other byte order.
/// Errors: invalid_argument if the size of a number is not said
Outcome check_words(const OpenDevice& device, const Region& region);

}  // namespace ob::api
