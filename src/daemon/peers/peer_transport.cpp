#include "daemon/peers/peer_transport.hpp"

#include <algorithm>
#include <cstdint>

#include "daemon/memory/staged_reader.hpp"

namespace ob::daemon {

Status SendResources::open_transfers() {
  if (transfers) return {};
  OB_ASSIGN_OR_RETURN(memory, ResourceAccount::reserve(host_memory, StagedReader::kHostBytes));
  OB_ASSIGN_OR_RETURN(transfers, device.create_queue());
  return {};
}

Region shape_of(Region region) noexcept {
  region.offset_bytes = 0;
  region.ld = std::max<std::uint64_t>(1, region.rows);
  return region;
}

}  // namespace ob::daemon
