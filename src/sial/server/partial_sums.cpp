#include "sial/server/partial_sums.hpp"

#include "sial/operations/copy.hpp"
#include "sial/operations/elements.hpp"

namespace ob::sial {

Status PartialSums::add(const Message& message, Scratch& scratch) {
  Sum& sum = sums_[{message.number, message.from}];
  if (sum.record == kNoRecord) sum.record = stored_.add(message.number);
  View target;
  if (stored_.present(sum.record)) {
    OB_ASSIGN_OR_RETURN(target, store_.modify(stored_, sum.record));
  } else {
    const Shape& shape = message.block != nullptr ? message.block->shape() : message.shape;
    OB_ASSIGN_OR_RETURN(target, store_.replace(stored_, sum.record, shape));
    fill(target, 0.0, Assign::set);
    sum.bytes = static_cast<std::uint64_t>(target.elements()) * sizeof(double);
  }
  if (message.kind == MessageKind::add) {
    fill(target, message.factor, Assign::add);
    return {};
  }
  if (message.block->elements() != target.elements()) {
    return {Code::invalid_argument, "the block has another shape"};
  }
  return copy(target, view_of(*message.block), message.factor, Assign::add, scratch);
}

Status PartialSums::settle(std::uint64_t number, const std::function<Status(const Block&)>& use) {
  auto next = sums_.lower_bound({number, 0});
  while (next != sums_.end() && next->first.first == number) {
    const RecordId record = next->second.record;
    if (stored_.present(record)) {  // else its first message met an error
      BlockPtr sum;
      {
        OB_ASSIGN_OR_RETURN(const ConstBlockPtr held, store_.peek(stored_, record));
        // The store may have room for one block only, and `use` changes another one there.
        BlockPool outside;
        OB_ASSIGN_OR_RETURN(sum, outside.copy(*held));
      }
      store_.forget(stored_, record);
      stored_.remove(record);
      next = sums_.erase(next);
      OB_RETURN_IF_ERROR(use(*sum));
    } else {
      stored_.remove(record);
      next = sums_.erase(next);
    }
  }
  return {};
}

std::vector<std::uint64_t> PartialSums::numbers() const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [key, sum] : sums_) {
    if (numbers.empty() || numbers.back() != key.first) numbers.push_back(key.first);
  }
  return numbers;
}

std::uint64_t PartialSums::block_bytes(std::uint64_t number) const {
  const auto first = sums_.lower_bound({number, 0});
  return first != sums_.end() && first->first.first == number ? first->second.bytes : 0;
}

void PartialSums::clear() noexcept {
  sums_.clear();
  store_.clear(stored_);
}

}  // namespace ob::sial
