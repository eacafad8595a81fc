#include "backend/cpu/call_checks.hpp"

#include <string>

#include "device/host_segment.hpp"

namespace ob::cpu {
namespace {

// The largest integer of the library, which has 32 bits.
Status check_integers(const Descriptor& routine, const Argument* arguments) {
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    std::int64_t value = 0;
    if (routine.kinds[i] == Kind::dim) value = arguments[i].dim;
    if (has_ld(routine.kinds[i])) value = arguments[i].host.ld;
    if (value >= INT32_MIN && value <= INT32_MAX) continue;
    return {Code::unsupported, std::string(routine.name) + ": " +
                                   std::string(routine.argument_names[i]) + " = " +
                                   std::to_string(value) +
                                   " is beyond this library's 32-bit integers; cut the problem"};
  }
  return {};
}

// OpenBLAS's complex dot products read one increment beyond each vector (0.3.21, SkylakeX kernels),
// so that memory must continue there.
Status check_overreach(const Descriptor& routine, const Argument* arguments) {
  if (routine.base != "dotu" && routine.base != "dotc") return {};
  const std::int64_t most = HostSegment::kGuardBytes / element_bytes(routine.precision);
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.kinds[i] != Kind::strided) continue;
    const std::int64_t increment = arguments[i].host.ld;
    if (increment > most || increment < -most) {
      return {Code::unsupported, std::string(routine.name) + ": increments beyond " +
                                     std::to_string(most) + " elements; copy the vector first"};
    }
  }
  return {};
}

}  // namespace

Status check_for_library(const Descriptor& routine, const Argument* arguments) {
  OB_RETURN_IF_ERROR(check_integers(routine, arguments));
  return check_overreach(routine, arguments);
}

void make_unused_strides_dense(const Descriptor& routine, Argument* arguments) {
  const Operands operands = routine.operands(arguments);
  for (const Operand& operand : operands.span()) {
    const Kind kind = routine.kinds[operand.argument];
    if (operand.cols > 1 || !has_ld(kind)) continue;
    std::int64_t& ld = arguments[operand.argument].host.ld;
    ld = dense_ld(operand, kind, ld);
  }
}

void drop_product_if_alpha_zero(const Descriptor& routine, Argument* arguments) {
  if (!routine.base.starts_with("gemm")) return;
  int alpha = -1;
  int k = -1;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.argument_names[i] == "alpha") alpha = static_cast<int>(i);
    if (routine.argument_names[i] == "k") k = static_cast<int>(i);
  }
  if (alpha < 0 || k < 0) return;
  const Complex value = arguments[alpha].scalar;
  if (value.re == 0 && value.im == 0) arguments[k].dim = 0;
}

}  // namespace ob::cpu
