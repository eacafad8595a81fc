#pragma once
// Measures PoCL by itself, through OpenCL's C functions, beside launches of the device API. None of
// Outboard's own code is used.

#include <cstdint>
#include <memory>

namespace ob::bench {

/// An empty kernel on the processor.
class RawLaunches {
 public:
  /// Returns nullptr if OpenCL has no PoCL here. The first launch compiles.
  static std::unique_ptr<RawLaunches> open();
  virtual ~RawLaunches() = default;

  /// The time of a launch and the wait for it.   Units: us
  virtual double round_trip(std::uint64_t count) = 0;
  /// The rate of launches with one wait at their end.   Units: 1/s
  virtual double launches(std::uint64_t count) = 0;
};

}  // namespace ob::bench
