#include "daemon/memory/staged_reader.hpp"

#include <array>
#include <utility>

namespace ob::daemon {

/// One pass over the region: the device fills one block while the other one is taken.
class StagedReader::Run {
 public:
  Run(const StagedReader& reader, const std::function<Status(const Status&)>& first,
      const std::function<Status(const Layout&)>& take)
      : reader_(reader), first_(first), take_(take) {}

  /// Reads the piece, and takes the block that is complete, if there is one.
  Status add(const Region& piece) {
    const std::uint64_t n = packed_bytes(piece);
    if (n > kBlockBytes - filled_bytes_) OB_RETURN_IF_ERROR(complete_block());
    std::shared_ptr<std::byte>& block = blocks_[turn_];
    if (block == nullptr) {
      OB_ASSIGN_OR_RETURN(block, reader_.device_.staging(kBlockBytes));
    }
    OB_RETURN_IF_ERROR(reader_.device_.read(reader_.transfers_, reader_.buffer_->local, piece,
                                            Layout::bytes(block.get() + filled_bytes_, n)));
    filled_bytes_ += n;
    return complete_bytes_ == 0 ? Status() : take_block();
  }

  /// Takes the rest, or reports the failure. Afterwards the device no longer uses the blocks.
  Status finish(Status status) {
    const Status last = complete_block();
    if (status.ok()) status = last;
    if (!status.ok()) return began_ ? status : first_(status);
    return take_block();
  }

 private:
  // Waits for the block that is being filled; the next piece goes to the other one.
  Status complete_block() {
    const QueueReport report = reader_.device_.synchronize(reader_.transfers_);
    complete_bytes_ = std::exchange(filled_bytes_, 0);
    turn_ ^= 1U;
    return report.status;
  }
  Status take_block() {
    if (!std::exchange(began_, true)) OB_RETURN_IF_ERROR(first_({}));
    const std::uint64_t n = std::exchange(complete_bytes_, 0);
    return n == 0 ? Status() : take_(Layout::bytes(blocks_[turn_ ^ 1U].get(), n));
  }

  const StagedReader& reader_;
  const std::function<Status(const Status&)>& first_;
  const std::function<Status(const Layout&)>& take_;
  std::array<std::shared_ptr<std::byte>, 2> blocks_;
  unsigned turn_ = 0;                 // the block that is being filled
  std::uint64_t filled_bytes_ = 0;    // in this block
  std::uint64_t complete_bytes_ = 0;  // in the other block
  bool began_ = false;                // first_ was called
};

Status StagedReader::run(const std::function<Status(const Status&)>& first,
                         const std::function<Status(const Layout&)>& take) {
  Run run(*this, first, take);
  return run.finish(
      for_each_piece(region_, kBlockBytes, [&](const Region& piece) { return run.add(piece); }));
}

}  // namespace ob::daemon
