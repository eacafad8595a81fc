// Contractions on the device of this process.

#include <algorithm>

#include "sial/worker/worker.hpp"

namespace ob::sial {

// Marks the instructions between gpu_on and gpu_off.
void Worker::find_hints() {
  hinted_.resize(code_.size());
  device_plans_.resize(code_.size());
  bool inside = false;
  for (std::size_t at = 0; at < code_.size(); ++at) {
    if (code_[at].op == Opcode::gpu_on) inside = true;
    if (code_[at].op == Opcode::gpu_off) inside = false;
    hinted_[at] = inside;
  }
}

// Runs the present contraction on the device. Returns nothing, with nothing changed, if the host
// has to run it or to complain.
std::optional<Worker::Step> Worker::contract_on_device() {
  const Instruction& now = instruction();
  const auto how = static_cast<Assign>(now.x);
  std::array<BlockPlace, 3> places;  // of D, B1, B2
  const std::array<std::uint32_t, 3> selectors{now.a, now.b, now.c};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!geometry_.resolve(selectors[i], values_, places[i]).ok()) return std::nullopt;
  }
  const Array& array = program_.arrays[places[0].array];
  const bool own = array.storage == Storage::temp || array.storage == Storage::local;
  if (!own || array.contiguous) return std::nullopt;
  std::array<ConstBlockPtr, 3> blocks;
  for (std::size_t i = 1; i < 3; ++i) {
    const Step found = block_of_its_own(places[i], blocks[i]);
    if (found != Step::next) return found;
    if (blocks[i] == nullptr) {
      operands_ = 0;  // the host counts them again
      return std::nullopt;
    }
  }
  const BlockPtr* const present = store_.find(places[0].array, places[0].number);
  const bool absent = present == nullptr && how != Assign::set;
  const bool is_operand = present != nullptr && (*present == blocks[1] || *present == blocks[2]);
  if (absent || is_operand) {
    operands_ = 0;
    return std::nullopt;
  }
  BlockPtr* target = nullptr;
  const Step found = destination_block(places[0], how != Assign::set, target);
  if (found != Step::next) return found;
  const auto labelled = [&](std::size_t i, ConstBlockPtr block) {
    return LabelledBlock{std::move(block), places[i].labels, places[i].simple};
  };
  std::unique_ptr<DevicePlan>& plan = device_plans_[at_];
  if (plan == nullptr) plan = std::make_unique<DevicePlan>();
  const bool ran = setting_.device->contract(
      **target, labelled(0, *target), labelled(1, std::move(blocks[1])),
      labelled(2, std::move(blocks[2])), how, repeats_into(now.a), hinted_[at_], *plan);
  if (!setting_.device->lost().ok() && !told_of_loss_ && setting_.warn) {
    told_of_loss_ = true;
    setting_.warn(where_text(at_) + ": warning: the device is lost (" +
                  setting_.device->lost().message() + "); the host goes on without it");
  }
  if (ran && measured_) ++counts_.instructions[at_].on_device;
  if (ran) return Step::next;
  operands_ = 0;
  return std::nullopt;
}

// Finds a block that has memory of its own: nullptr if it has none, or if it is not there.
Worker::Step Worker::block_of_its_own(const BlockPlace& place, ConstBlockPtr& block) {
  const Array& array = program_.arrays[place.array];
  if (array.storage == Storage::static_ || array.contiguous) return Step::next;
  if (array.storage == Storage::distributed || array.storage == Storage::served) {
    return granted_block(place, block);
  }
  if (const BlockPtr* const own = store_.find(place.array, place.number); own != nullptr) {
    block = *own;
  }
  return Step::next;
}

// Returns the number of iterations of the loops around that leave the block the same.
std::uint64_t Worker::repeats_into(std::uint32_t selector) const {
  std::uint64_t repeats = 1;
  for (auto active = loops_.rbegin(); active != loops_.rend(); ++active) {
    const Loop& loop = program_.loops[active->loop];
    if (loop.kind == LoopKind::pardo) break;
    const bool chooses = std::ranges::any_of(
        program_.selectors[selector].dimensions,
        [&](const Selected& selected) { return selected.index == loop.indices.front(); });
    if (chooses) break;
    repeats *= std::max<std::uint64_t>(active->total, 1);
  }
  return repeats;
}

// True if the elements of a block are not known any more. The worker fails then.
bool Worker::device_failed() {
  if (setting_.device == nullptr || setting_.device->broken().ok()) return false;
  fail("R10 the device was lost, and its results cannot be computed again (" +
       setting_.device->broken().message() + "); raise --worker-memory");
  return true;
}

}  // namespace ob::sial
