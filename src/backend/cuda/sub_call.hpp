#pragma once
// A call that is a step of another.

#include <cstdint>
#include <string>
#include <string_view>

#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// Collects the arguments of another routine of the same precision, one after another.
class SubCall {
 public:
  /// @param base the routine's name without precision, which must be in the table
  SubCall(const Descriptor& of, std::string_view base, std::string_view complex_base)
      : routine_(*routines::find(std::string(1, letter(of.precision)) +
                                 std::string(is_complex(of.precision) ? complex_base : base))) {}
  SubCall(const Descriptor& of, std::string_view base) : SubCall(of, base, base) {}

  static bool is_complex(Precision precision) noexcept {
    return precision == Precision::c || precision == Precision::z;
  }

  SubCall& flag(char value) {
    arguments_[count_++].flag = value;
    return *this;
  }
  SubCall& dim(std::int64_t value) {
    arguments_[count_++].dim = value;
    return *this;
  }
  SubCall& one() {
    arguments_[count_++].scalar = {1, 0};
    return *this;
  }
  SubCall& operand(HostOperand place) {
    arguments_[count_++].host = place;
    return *this;
  }
  SubCall& operand(void* data, std::int64_t ld = 0) { return operand({data, ld}); }
  /// Adds an empty info argument, because steps return their info.
  SubCall& info() { return operand(nullptr); }

  const Descriptor& routine() const noexcept { return routine_; }
  const Argument* arguments() const noexcept { return arguments_; }

 private:
  static char letter(Precision precision) noexcept {
    return "sdcz"[static_cast<std::size_t>(precision)];
  }

  const Descriptor& routine_;
  Argument arguments_[kMaxArguments];
  int count_ = 0;
};

}  // namespace ob::cuda
