#include "access.hpp"

#include "address_space.hpp"
#include "devices.hpp"
#include "memory.hpp"
#include "report.hpp"

namespace standin {

void Access::refuse(const std::string& what) {
  ok_ = false;
  Report::instance().violation(call_, what);
}

std::byte* Access::region(const void* p, std::size_t width, std::size_t pitch, std::size_t height,
                          Intent intent, std::size_t alignment) {
  if (width == 0 || height == 0) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  const Region wanted{address, width, pitch, height};
  if (address % alignment != 0) {
    refuse("an address that is not aligned to " + std::to_string(alignment) + " bytes");
    return nullptr;
  }
  Memory& memory = Memory::instance();
  const std::shared_ptr<Block> block = memory.find(p);
  if (block == nullptr) {
    if (pinned_ && memory.find_pinned(p, wanted.extent()))
      return static_cast<std::byte*>(const_cast<void*>(p));
    refuse(memory.why_none(p) + " where memory of device " + std::to_string(device_) +
           " is wanted");
    return nullptr;
  }
  const std::size_t room = block->bytes - (address - block->address);
  if (wanted.extent() > room) {
    refuse(std::to_string(wanted.extent() - room) + " bytes beyond the end of a block of " +
           std::to_string(block->bytes) + " bytes");
    return nullptr;
  }
  if (!Devices::instance().reaches(device_, block->device)) {
    refuse("memory of device " + std::to_string(block->device) + ", which device " +
           std::to_string(device_) + " has no access to");
    return nullptr;
  }
  uses_.push_back({wanted, intent == Intent::write, 0, 0, call_});
  return AddressSpace::instance().backing(p);
}

}  // namespace standin
