#include "sial/worker/open_writes.hpp"

#include <algorithm>

namespace ob::sial {

OpenWrites::Next OpenWrites::next(Rank server, std::uint64_t bytes) {
  Server& to = servers_[server];
  if (to.wish == Wish::granted) return Next::send;
  if (to.wish == Wish::asked || to.writes.size() >= kMostOpenWrites) return Next::wait;
  if (most_bytes_ != 0 && bytes_ != 0 && bytes_ + bytes > most_bytes_) return Next::wait;
  if (bytes > credit_.share) {
    to.wish = Wish::asked;
    return Next::ask;
  }
  return to.shared_bytes + bytes > credit_.share ? Next::wait : Next::send;
}

void OpenWrites::sent(Rank server, std::uint64_t request, std::uint64_t bytes) {
  Server& to = servers_[server];
  to.wish = Wish::none;
  to.writes.push_back({request, bytes});
  if (bytes <= credit_.share) to.shared_bytes += bytes;
  bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, bytes_);
}

void OpenWrites::answered(Rank server, std::uint64_t request) noexcept {
  Server& from = servers_[server];
  const auto write = std::ranges::find(from.writes, request, &Write::request);
  if (write == from.writes.end()) return;
  if (write->bytes <= credit_.share) from.shared_bytes -= write->bytes;
  bytes_ -= write->bytes;
  from.writes.erase(write);
}

}  // namespace ob::sial
