#include "daemon/memory/region_landing.hpp"

#include "daemon/memory/region_pieces.hpp"

namespace ob::daemon {

RegionLanding::~RegionLanding() {
  if (queue_) (void)device_.destroy_queue(queue_);
}

Status RegionLanding::land(const DeviceBuffer& buffer, const Region& region,
                           const FetchNext& fetch) {
  std::byte* const memory = device_.host_view(buffer.local);
  if (memory == nullptr) return land_staged(buffer, region, fetch);
  return for_each_piece(region, StagedWriter::kBlockBytes,
                        [&](const Region& piece) { return fetch(Layout::matrix(memory, piece)); });
}

// The device copies one block while the next one arrives.
Status RegionLanding::land_staged(const DeviceBuffer& buffer, const Region& region,
                                  const FetchNext& fetch) {
  OB_RETURN_IF_ERROR(open_queue());
  const Status status =
      for_each_piece(region, StagedWriter::kBlockBytes, [&](const Region& piece) -> Status {
        const std::uint64_t size_bytes = packed_bytes(piece);
        OB_ASSIGN_OR_RETURN(std::byte* const room,
                            writer_->room(size_bytes, [] { return Status(); }));
        OB_RETURN_IF_ERROR(fetch(Layout::bytes(room, size_bytes)));
        return writer_->submit(buffer.local, piece);
      });
  const QueueReport report = device_.synchronize(queue_);
  return status.ok() ? report.status : status;
}

Status RegionLanding::open_queue() {
  if (writer_ != nullptr) return {};
  OB_ASSIGN_OR_RETURN(Reservation memory,
                      ResourceAccount::reserve(host_memory_, StagedWriter::kHostBytes));
  if (!queue_) {
    OB_ASSIGN_OR_RETURN(queue_, device_.create_queue());
  }
  writer_ = std::make_unique<StagedWriter>(device_, queue_, std::move(memory));
  return {};
}

}  // namespace ob::daemon
