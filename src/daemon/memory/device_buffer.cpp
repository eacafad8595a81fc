#include "daemon/memory/device_buffer.hpp"

#include "device/memory_table.hpp"

namespace ob::daemon {

Result<std::shared_ptr<DeviceBuffer>> DeviceBuffer::allocate(
    Device& device, const Account& owner, const std::shared_ptr<ResourceAccount>& account,
    std::uint64_t size_bytes) {
  OB_ASSIGN_OR_RETURN(Reservation memory,
                      ResourceAccount::reserve(account, counted_bytes(size_bytes)));
  OB_ASSIGN_OR_RETURN(const BufferId id, device.allocate(size_bytes, owner));
  return std::shared_ptr<DeviceBuffer>(new DeviceBuffer(device, id, std::move(memory)));
}

}  // namespace ob::daemon
