#pragma once
// Computations with known results, on any device.

#include <cstdint>
#include <memory>
#include <string>

#include "device/device.hpp"

namespace ob::test {

/// A product, a factorization and a transform of fixed data, and buffers that nobody uses.
/// Threads: one at a time
class VictimWork {
 public:
  static Result<std::unique_ptr<VictimWork>> create(Device& device, const Account& account = {});
  VictimWork() = default;
  virtual ~VictimWork() = default;
  VictimWork(const VictimWork&) = delete;
  VictimWork& operator=(const VictimWork&) = delete;

  /// Computes and compares. Returns the difference from the known result; empty if there is none.
  /// Errors: the device's
  virtual Result<std::string> compute(std::uint64_t round) = 0;
};

}  // namespace ob::test
