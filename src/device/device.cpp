#include "device/device.hpp"

#include <new>

namespace ob {

Result<std::shared_ptr<std::byte>> Device::staging(std::uint64_t size_bytes) {
  constexpr std::align_val_t kAlignment{64};
  void* const memory = ::operator new(size_bytes, kAlignment, std::nothrow);
  if (memory == nullptr) {
    return Status(Code::out_of_memory,
                  "no memory to stage " + std::to_string(size_bytes) + " bytes");
  }
  return std::shared_ptr<std::byte>(static_cast<std::byte*>(memory),
                                    [](std::byte* at) { ::operator delete(at, kAlignment); });
}

}  // namespace ob
