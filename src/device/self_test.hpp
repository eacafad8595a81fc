#pragma once
// A test that shows whether a device computes right.

#include <functional>
#include <string>

#include "device/device.hpp"

namespace ob {

/// The result of a self-test.
struct SelfTest {
  enum class Verdict : std::uint8_t {
    right,    ///< the device computed what it should
    wrong,    ///< a device error, or a wrong result
    unknown,  ///< it could not be tested: no memory is free, or nobody waits any more
  };
  Verdict verdict = Verdict::unknown;
  std::string why;  ///< empty if right
};

/// Multiplies two matrices on the device, and checks the product with its residual: for matrices of
/// small whole numbers and a vector x, C x = A (B x) holds exactly.
/// @param gives_up is asked every 0.1 s; true: the device has had time enough
/// Cost: some ms, 1.5 MiB of the device, and the time until its other work lets it run
/// Threads: any, but not a thread of the device
SelfTest self_test(Device& device, const std::function<bool()>& gives_up);

}  // namespace ob
