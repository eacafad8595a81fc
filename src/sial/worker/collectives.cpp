// Barriers, and statements that all workers execute together.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "sial/worker/worker.hpp"

namespace ob::sial {
namespace {

// The relative difference at which assert_same fails.   Source: specification of SIAL-2
constexpr double kSame = 5e-5;

// A pardo in which the slowest worker takes no longer keeps its schedule, however uneven.
constexpr double kLeastUnevenNs = 1e6;
constexpr double kLeastUnevenInstructions = 100;

bool differs(double mine, double first) noexcept {
  if (mine == first) return false;
  return !(std::abs(mine - first) < kSame * std::max(std::abs(mine), std::abs(first)));
}

}  // namespace

// Sends the part of this worker once. Returns `next` when the result is there.
Worker::Step Worker::collective(Contribution kind, Message part) {
  if (!contributed_) {
    contributed_ = true;
    part.kind = MessageKind::contribution;
    part.from = rank_;
    part.to = 0;
    part.contribution = kind;
    part.instruction = at_;
    exchange_.send(std::move(part));
  }
  if (!result_) return Step::wait;
  contributed_ = false;
  return Step::next;
}

Worker::Step Worker::execute_collective() {
  switch (instruction().op) {
    case Opcode::collective_scalar:
    case Opcode::collective_int:
    case Opcode::collective_static: return execute_sum();
    case Opcode::assert_same_scalar:
    case Opcode::assert_same_int:
    case Opcode::assert_same_static: return execute_same();
    case Opcode::broadcast_static: return execute_broadcast();
    case Opcode::set_persistent:
    case Opcode::restore_persistent: return persistence();
    default: return fail("internal: an instruction is out of place");
  }
}

Worker::Step Worker::barrier() {
  if (!checkpoint_.folder.empty()) return write_checkpoint();
  if (!contributed_) {
    if (open_requests_ != 0) return Step::wait;
    for (const auto& [array, number] : pending_) {
      const FetchedBlock* const found = fetched_.find(array, number);
      if (found == nullptr) continue;
      if (found->pending) return Step::wait;
      if (found->block == nullptr && found->epoch == epoch_) {
        at_ = found->instruction;
        return fail("R01 a block of " + program_.arrays[array].name +
                    " is fetched, but was never put");
      }
    }
    pending_.clear();
  }
  Message part;
  for (std::size_t array = 0; array < changed_.size(); ++array) {
    if (array % 64 == 0) part.words.push_back(0);
    if (changed_[array]) part.words.back() |= std::uint64_t{1} << (array % 64);
  }
  if (!contributed_) pardo_times_.put_into(part);
  const Step step = collective(Contribution::barrier, std::move(part));
  if (step != Step::next) return step;
  const Message result = std::move(*result_);
  result_.reset();
  return finish_barrier(result);
}

Worker::Step Worker::finish_barrier(const Message& result) {
  ++epoch_;
  pardo_times_.take(result, setting_.timed ? kLeastUnevenNs : kLeastUnevenInstructions);
  pardo_count_ = 0;
  pardos_ = 0;
  std::fill(changed_.begin(), changed_.end(), false);
  for (std::uint32_t array = 0; array < program_.arrays.size(); ++array) {
    const bool changed = (result.words[array / 64] >> (array % 64) & 1) != 0;
    if (changed || setting_.drop_cache) fetched_.forget_all(array);
    if (changed) checkpoint_.unsaved[array] = true;
  }
  fetched_.end_grants();
  for (auto& list : granted_) list.clear();
  checkpoint_.folder = result.text;
  return checkpoint_.folder.empty() ? Step::next : write_checkpoint();
}

Worker::Step Worker::execute_sum() {
  const Instruction& now = instruction();
  Message part;
  if (now.op == Opcode::collective_scalar) part.numbers.push_back(top().s);
  if (now.op == Opcode::collective_int) {
    part.words.push_back(static_cast<std::uint64_t>(top().i));
  }
  if (now.op == Opcode::collective_static && !contributed_) {
    const Block& source = *store_.whole_static(now.b);
    if (!(source.shape() == store_.whole_static(now.a)->shape())) {
      return fail("R05 the two statics have different extents");
    }
    part.numbers.assign(source.data(), source.data() + source.elements());
  }
  const Step step = collective(Contribution::sum, std::move(part));
  if (step != Step::next) return step;
  const Message result = std::move(*result_);
  result_.reset();
  if (now.op == Opcode::collective_scalar) {
    --depth_;
    scalars_[now.a] += result.numbers[0];
  } else if (now.op == Opcode::collective_int) {
    --depth_;
    ints_[now.a] += static_cast<std::int64_t>(result.words[0]);
  } else {
    double* target = store_.whole_static(now.a)->data();
    for (std::size_t i = 0; i < result.numbers.size(); ++i) target[i] += result.numbers[i];
  }
  return Step::next;
}

Worker::Step Worker::execute_same() {
  const Instruction& now = instruction();
  Message part;
  if (now.op == Opcode::assert_same_scalar) part.numbers.push_back(scalars_[now.a]);
  if (now.op == Opcode::assert_same_int) {
    part.words.push_back(static_cast<std::uint64_t>(ints_[now.a]));
  }
  Block* whole = nullptr;
  if (now.op == Opcode::assert_same_static) {
    whole = store_.whole_static(now.a).get();
    if (rank_ == 0) part.numbers.assign(whole->data(), whole->data() + whole->elements());
  }
  const Step step = collective(Contribution::first, std::move(part));
  if (step != Step::next) return step;
  const Message result = std::move(*result_);
  result_.reset();
  const auto wrong = [&](double mine, double first) {
    return fail("R13 worker " + std::to_string(rank_) + " has " + std::to_string(mine) +
                ", worker 0 has " + std::to_string(first));
  };
  if (whole != nullptr) {
    for (std::size_t i = 0; i < result.numbers.size(); ++i) {
      if (differs(whole->data()[i], result.numbers[i])) {
        return wrong(whole->data()[i], result.numbers[i]);
      }
    }
    std::copy(result.numbers.begin(), result.numbers.end(), whole->data());
  } else if (now.op == Opcode::assert_same_scalar) {
    if (differs(scalars_[now.a], result.numbers[0])) {
      return wrong(scalars_[now.a], result.numbers[0]);
    }
    scalars_[now.a] = result.numbers[0];
  } else {
    const auto first = static_cast<std::int64_t>(result.words[0]);
    const auto mine = static_cast<double>(ints_[now.a]);
    if (differs(mine, static_cast<double>(first))) return wrong(mine, static_cast<double>(first));
    ints_[now.a] = first;
  }
  return Step::next;
}

Worker::Step Worker::execute_broadcast() {
  const Instruction& now = instruction();
  const std::int64_t root = top().i;
  if (root < 0 || root >= static_cast<std::int64_t>(setting_.workers)) {
    return fail("R05 there is no worker " + std::to_string(root));
  }
  Block& whole = *store_.whole_static(now.a);
  Message part;
  part.number = static_cast<std::uint64_t>(root);
  if (!contributed_ && rank_ == static_cast<Rank>(root)) {
    part.numbers.assign(whole.data(), whole.data() + whole.elements());
  }
  const Step step = collective(Contribution::first, std::move(part));
  if (step != Step::next) return step;
  const Message result = std::move(*result_);
  result_.reset();
  --depth_;
  std::copy(result.numbers.begin(), result.numbers.end(), whole.data());
  return Step::next;
}

}  // namespace ob::sial
