// outboard_accuracy(): a thread's own accuracy.

#include <string_view>

#include "offload/accuracy.hpp"
#include "outboard/outboard.h"

extern "C" __attribute__((visibility("default"))) int outboard_accuracy(const char* mode) {
  const std::string_view name = mode == nullptr ? "" : mode;
  const auto accuracy = ob::offload::accuracy_named(name);
  if (!accuracy && !name.empty()) return 1;
  ob::offload::wish_accuracy(accuracy);
  return 0;
}
