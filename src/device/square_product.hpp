#pragma once
// A product of square matrices on a device, which measures or tests it.

#include <cstdint>

#include "device/device.hpp"

namespace ob {

/// Returns the bytes of a matrix of order n in double precision.
constexpr std::uint64_t square_bytes(std::int64_t n) noexcept {
  return static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(n) * sizeof(double);
}

/// Submits C := A B of order n, in double precision.
/// Memory: A, B and C follow each other in `matrices`, of 3 * square_bytes(n)
/// Errors: those of Device::call()
Status submit_square_product(Device& device, QueueId queue, BufferId matrices, std::int64_t n);

}  // namespace ob
