#include "overlap/region_checks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ob::overlap {
namespace {

// Signalling NaN of 8 and of 4 bytes. Integers of these values are unusual enough to be noticed.
constexpr std::uint64_t kNan8 = 0x7ff4'd00d'7fb4'd00d;
constexpr std::uint32_t kNan4 = 0x7fb4'd00d;

}  // namespace

void fill_with_nan(const Region& region) {
  std::vector<std::byte> cells(region.bytes());
  const bool small = region.element_bytes() == 4;
  const std::size_t step = small ? sizeof kNan4 : sizeof kNan8;
  const void* word = small ? static_cast<const void*>(&kNan4) : &kNan8;
  for (std::size_t at = 0; at < cells.size(); at += step)
    std::memcpy(cells.data() + at, word, std::min(step, cells.size() - at));
  region.unpack(cells.data());
}

RegionChecks::RegionChecks(const Exchange& exchange)
    : exchange_(exchange), digests_(exchange.messages().size()) {}

Digest RegionChecks::contents(const Message& message) {
  Digester digester;
  for (const Region& region : message.regions) {
    packed_.resize(region.bytes());
    region.pack(packed_.data());
    digester.update(packed_);
  }
  return digester.digest();
}

void RegionChecks::begin() {
  for (std::size_t i = 0; i < exchange_.receives(); ++i) {
    for (const Region& region : exchange_.messages()[i].regions) fill_with_nan(region);
    digests_[i] = contents(exchange_.messages()[i]);
  }
}

void RegionChecks::sent(std::size_t message) {
  digests_[message] = contents(exchange_.messages()[message]);
}

Status RegionChecks::changed(int rank, const Message& message) const {
  const std::string while_used = message.sends ? " while it was being sent to rank "
                                               : " while it was being received from rank ";
  return Status(Code::invalid_argument, "rank " + std::to_string(rank) + " wrote to " +
                                            message.name + while_used +
                                            std::to_string(message.peer) +
                                            " (between start and wait) write before or after");
}

Status RegionChecks::finish(int rank) {
  for (std::size_t i = 0; i < digests_.size(); ++i) {
    const Message& message = exchange_.messages()[i];
    if (!(contents(message) == digests_[i])) return changed(rank, message);
  }
  return {};
}

}  // namespace ob::overlap
