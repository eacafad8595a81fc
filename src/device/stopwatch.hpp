#pragma once

#include <chrono>
#include <cstdint>

namespace ob {

/// Measures the nanoseconds since its creation.
class Stopwatch {
 public:
  std::uint64_t elapsed_ns() const noexcept {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace ob
