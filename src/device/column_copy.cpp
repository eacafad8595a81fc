#include "device/column_copy.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace ob {
namespace {

// Merges a piece into the copy of the pieces before it, if their distances allow.
class Collected {
 public:
  explicit Collected(std::uint64_t max_pitch_bytes)
      : max_pitch_(static_cast<std::ptrdiff_t>(max_pitch_bytes)) {}

  bool take(std::byte* to, const std::byte* from, std::uint64_t width) {
    if (copy_.columns == 0) {
      copy_ = {.to = to, .from = from, .width_bytes = width, .columns = 1};
      return true;
    }
    if (width != copy_.width_bytes) return false;
    const std::uint64_t past = copy_.columns - 1;
    const std::ptrdiff_t to_step = to - (copy_.to + past * copy_.to_pitch_bytes);
    const std::ptrdiff_t from_step = from - (copy_.from + past * copy_.from_pitch_bytes);
    if (!good(to_step) || !good(from_step)) return false;
    const auto to_pitch = static_cast<std::uint64_t>(to_step);
    const auto from_pitch = static_cast<std::uint64_t>(from_step);
    if (copy_.columns > 1 &&
        (to_pitch != copy_.to_pitch_bytes || from_pitch != copy_.from_pitch_bytes)) {
      return false;
    }
    copy_.to_pitch_bytes = to_pitch;
    copy_.from_pitch_bytes = from_pitch;
    ++copy_.columns;
    return true;
  }

  Status submit(const CopyColumns& copy) {
    if (copy_.columns == 0) return {};
    OB_ASSERT(copy_.disjoint());
    Status status = copy(copy_);
    copy_ = {};
    return status;
  }

 private:
  bool good(std::ptrdiff_t pitch) const {
    return pitch >= static_cast<std::ptrdiff_t>(copy_.width_bytes) && pitch <= max_pitch_;
  }

  const std::ptrdiff_t max_pitch_;
  ColumnCopy copy_;
};

}  // namespace

Status copy_pieces(Layout::Cursor& to, Layout::Cursor& from, std::uint64_t count_bytes,
                   std::uint64_t max_pitch_bytes, const CopyColumns& copy) {
  Collected collected(max_pitch_bytes);
  for (std::uint64_t left = count_bytes; left > 0;) {
    const std::uint64_t n =
        std::min({left, std::uint64_t{to.piece().size()}, std::uint64_t{from.piece().size()}});
    if (n == 0) return {Code::internal, "a copy between layouts of different sizes"};
    if (!collected.take(to.piece().data(), from.piece().data(), n)) {
      OB_RETURN_IF_ERROR(collected.submit(copy));
      (void)collected.take(to.piece().data(), from.piece().data(), n);
    }
    to.advance(n);
    from.advance(n);
    left -= n;
  }
  return collected.submit(copy);
}

}  // namespace ob
