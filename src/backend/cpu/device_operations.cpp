#include "backend/cpu/device_operations.hpp"

#include "device/permute/permute.hpp"

namespace ob::cpu {
namespace {

bool run_permute(void* /*function*/, const Argument* arguments) {
  permute(arguments);
  return true;
}

}  // namespace

Thunk operation(const Descriptor& routine) noexcept {
  return is_permute(routine) ? run_permute : nullptr;
}

}  // namespace ob::cpu
