#include "sial/server/partial_sums.hpp"

#include "sial/operations/copy.hpp"
#include "sial/operations/elements.hpp"

namespace ob::sial {

Status PartialSums::add(SpillStore& store, const Message& message, Scratch& scratch) {
  Sum& sum = sums_[{message.number, message.from}];
  Block* target = nullptr;
  if (sum.entry.present()) {
    OB_ASSIGN_OR_RETURN(target, store.modify(stored_, sum.entry, message.number));
  } else {
    const Shape& shape = message.block != nullptr ? message.block->shape() : message.shape;
    OB_ASSIGN_OR_RETURN(target, store.replace(stored_, sum.entry, message.number, shape));
    fill(view_of(*target), 0.0, Assign::set);
    sum.bytes = target->bytes();
  }
  if (message.kind == MessageKind::add) {
    fill(view_of(*target), message.factor, Assign::add);
    return {};
  }
  if (message.block->elements() != target->elements()) {
    return {Code::invalid_argument, "the block has another shape"};
  }
  return copy(view_of(*target), view_of(*message.block), message.factor, Assign::add, scratch);
}

bool PartialSums::holds(std::uint64_t number) const {
  const auto first = sums_.lower_bound({number, 0});
  return first != sums_.end() && first->first.first == number;
}

Status PartialSums::settle(SpillStore& store, std::uint64_t number,
                           const std::function<Status(const Block&)>& use) {
  auto next = sums_.lower_bound({number, 0});
  while (next != sums_.end() && next->first.first == number) {
    if (!next->second.entry.present()) {  // its first message met an error
      next = sums_.erase(next);
      continue;
    }
    BlockPtr sum;
    {
      OB_ASSIGN_OR_RETURN(const ConstBlockPtr held,
                          store.peek(stored_, next->second.entry, number));
      // The store may have room for one block only, and `use` changes another one there.
      BlockPool outside;
      OB_ASSIGN_OR_RETURN(sum, outside.copy(*held));
    }
    store.forget(stored_, next->second.entry);
    next = sums_.erase(next);
    OB_RETURN_IF_ERROR(use(*sum));
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

void PartialSums::clear(SpillStore& store) noexcept {
  sums_.clear();
  store.clear(stored_);
}

}  // namespace ob::sial
