#pragma once
// Builds a call from its arguments, in the order of the routine's documentation.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "device/device.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Finds the routine with that base name; nullptr if the table has no such row in that precision.
const Descriptor* routine_of(std::string_view base, Precision precision);

constexpr bool is_complex(Precision precision) noexcept {
  return precision == Precision::c || precision == Precision::z;
}

/// One call on a device.   Threads: owner only
class DeviceCall {
 public:
  /// If `routine` is nullptr, submit() returns unsupported.
  explicit DeviceCall(const Descriptor* routine) : routine_(routine) {}

  DeviceCall& flag(char value) {
    next().flag = value;
    return *this;
  }
  DeviceCall& dim(std::uint64_t value) {
    next().dim = static_cast<std::int64_t>(value);
    return *this;
  }
  DeviceCall& scalar(double value) {
    next().scalar = {value, 0};
    return *this;
  }
  DeviceCall& at(const DeviceOperand& operand) {
    next().device = operand;
    return *this;
  }
  /// Submits the call.
  /// Errors: those of the device; unsupported if there is no such routine
  /// @pre all arguments are given
  Status submit(Device& device, QueueId queue) const {
    if (routine_ == nullptr) return {Code::unsupported, "a routine is not in the table"};
    assert(count_ == routine_->kinds.size());
    return device.call(queue, *routine_, arguments_);
  }

 private:
  Argument& next() {
    assert(count_ < kMaxArguments);
    return arguments_[count_++];
  }
  const Descriptor* routine_;
  std::size_t count_ = 0;
  Argument arguments_[kMaxArguments];
};

}  // namespace ob::algorithms
