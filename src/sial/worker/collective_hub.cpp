#include "sial/worker/collective_hub.hpp"

#include <algorithm>
#include <utility>

namespace ob::sial {
namespace {

void combine_parts(Message& whole, const Message& part) {
  const Contribution kind = part.contribution;
  for (std::size_t i = 0; i < whole.words.size() && i < part.words.size(); ++i) {
    if (kind == Contribution::barrier) whole.words[i] |= part.words[i];
    if (kind == Contribution::sum) whole.words[i] += part.words[i];
  }
  if (kind == Contribution::barrier) {
    for (std::size_t i = 0; i < whole.numbers.size() && i < part.numbers.size(); ++i) {
      double& number = whole.numbers[i];
      number = i < whole.number ? number + part.numbers[i] : std::max(number, part.numbers[i]);
    }
  }
  if (kind != Contribution::sum) return;
  for (std::size_t i = 0; i < whole.numbers.size() && i < part.numbers.size(); ++i) {
    whole.numbers[i] += part.numbers[i];
  }
}

}  // namespace

std::optional<Message> CollectiveHub::add(Message part) {
  const Rank from = part.from;
  parts_[from] = std::move(part);
  if (++arrived_ < parts_.size()) return std::nullopt;
  arrived_ = 0;
  const Message& first = *parts_[0];
  Message result;
  result.kind = MessageKind::result;
  for (const auto& other : parts_) {
    if (other->contribution == first.contribution && other->instruction == first.instruction)
      continue;
    // The workers wait in different statements.
    result.kind = MessageKind::failure;
    result.text = "R09";
    result.words = {first.instruction, other->instruction, other->from};
    return result;
  }
  const bool from_one = first.contribution == Contribution::first;
  result = *parts_[from_one && first.number < parts_.size() ? first.number : 0];
  result.kind = MessageKind::result;
  if (!from_one) {
    for (std::size_t worker = 1; worker < parts_.size(); ++worker) {
      combine_parts(result, *parts_[worker]);
    }
  }
  return result;
}

}  // namespace ob::sial
