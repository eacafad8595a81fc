#pragma once
// All rows and their sorted positions, for the look-ups of descriptor.cpp. They are emitted, too.

#include <cstdint>
#include <span>

namespace ob {
struct Descriptor;
}

namespace ob::routines::detail {

/// The rows of all() and then those of device_operations().
std::span<const Descriptor> all_rows() noexcept;
std::span<const std::uint16_t> order_by_id() noexcept;
std::span<const std::uint16_t> order_by_name() noexcept;

}  // namespace ob::routines::detail
