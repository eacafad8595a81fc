#pragma once
// Sorted positions in routines::all(), for the look-ups of descriptor.cpp. They are emitted, too.

#include <cstdint>
#include <span>

namespace ob::routines::detail {

std::span<const std::uint16_t> order_by_id() noexcept;
std::span<const std::uint16_t> order_by_name() noexcept;

}  // namespace ob::routines::detail
