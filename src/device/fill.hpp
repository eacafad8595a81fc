#pragma once
// Fills by copies: a first part is written, and then copied to the rest.

#include <cstddef>
#include <functional>
#include <span>

#include "base/layout.hpp"
#include "base/status.hpp"

namespace ob {

/// The copies of a fill, on one device.
struct FillCopies {
  /// Copies from memory of the host, which may change when the function returns.
  std::function<Status(const Layout& device, const Layout& host)> upload;
  /// Copies inside the device; the two do not overlap.
  std::function<Status(const Layout& to, const Layout& from)> copy;
};

/// Fills a region of at least one element with about log2(elements) copies.
/// @param base the address from which region.offset_bytes counts; `copies` know what it means
/// @param element region.element_bytes bytes
/// @pre region is full
Status fill(std::byte* base, const Region& region, std::span<const std::byte> element,
            const FillCopies& copies);

/// Fills a region of memory of this process.   @pre as above
void fill(std::byte* base, const Region& region, std::span<const std::byte> element) noexcept;

}  // namespace ob
