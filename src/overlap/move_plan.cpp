#include "overlap/move_plan.hpp"

#include <algorithm>
#include <cstdlib>

#include "overlap/agreement.hpp"

namespace ob::overlap {
namespace {

/// Returns the part that has the messages between two ranks. Both ends call it, so it is symmetric.
/// On a grid, the neighbours of a rank along a dimension are as far away on both sides, and get
/// parts that follow each other.
std::size_t part_of(int a, int b, std::size_t parts) {
  const int distance = std::abs(a - b);
  return distance == 0 ? 0 : std::size_t(std::min(a, b) / distance) % parts;
}

}  // namespace

MovePlan::MovePlan(std::string name, std::vector<Communicator> comms, int world_rank)
    : Plan(std::move(name), std::move(comms), world_rank) {
  for (std::size_t i = 0; i < proxies(); ++i) add_run(Run::Done::when_all_moved);
}

Status MovePlan::commit(bool check, std::vector<Mode> candidates, Trace* trace) {
  if (committed()) return Status(Code::invalid_argument, "the plan is committed already");
  OB_RETURN_IF_ERROR(agree(comm().get(), described_, description()));
  // One rank may have no memory for what the others have.
  OB_RETURN_IF_ERROR(agree(comm().get(), {}, make_parts(check, trace)));
  set_candidates(std::move(candidates));
  return {};
}

Status MovePlan::make_parts(bool check, Trace* trace) {
  parts_.clear();
  const int rank = comm().rank();
  std::vector<std::vector<Message>> messages(proxies());
  for (Message& message : described_)
    messages[part_of(rank, message.peer, proxies())].push_back(std::move(message));
  described_.clear();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Part part;
    OB_ASSIGN_OR_RETURN(part.exchange,
                        Exchange::create(comm_of(i).get(), std::move(messages[i]), check, trace));
    if (check) part.checks = std::make_unique<RegionChecks>(*part.exchange);
    part.not_ready.resize(part.exchange->messages().size());
    part.waited_for.assign(part.exchange->messages().size(), 0);
    parts_.push_back(std::move(part));
  }
  return {};
}

Status MovePlan::failure() const {
  for (const auto& run : runs()) OB_RETURN_IF_ERROR(run->failure());
  return {};
}

Status MovePlan::prepare(Mode mode, bool hold_sends) {
  OB_RETURN_IF_ERROR(failure());
  under_way_ = true;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    Part& part = parts_[p];
    for (std::size_t i = part.exchange->receives(); i < part.not_ready.size(); ++i) {
      part.not_ready[i].assign(1, part.exchange->messages()[i].box);
      if (part.checks && !hold_sends) part.checks->sent(i);
    }
    if (part.checks) part.checks->begin();
    runs()[p]->prepare(*part.exchange, mode, hold_sends);
  }
  return {};
}

Status MovePlan::ready(const Box& box) {
  if (!cells) return Status(Code::unsupported, "ready() is for halo plans");
  for (Part& part : parts_) {
    for (std::size_t i = part.exchange->receives(); i < part.not_ready.size(); ++i) {
      if (!part.exchange->held(i)) continue;
      part.not_ready[i] = subtract(part.not_ready[i], box);
      if (!part.not_ready[i].empty()) continue;
      if (part.checks) part.checks->sent(i);
      part.exchange->release(i);
    }
  }
  return {};
}

void MovePlan::release_all() {
  if (!under_way_) return;
  for (Part& part : parts_) {
    for (std::size_t i = part.exchange->receives(); part.checks && i < part.not_ready.size(); ++i)
      if (part.exchange->held(i)) part.checks->sent(i);
    part.exchange->release_all();
  }
}

bool MovePlan::any_held() const noexcept {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.exchange->any_held(); });
}

Status MovePlan::finish() {
  under_way_ = false;
  OB_RETURN_IF_ERROR(failure());
  double seconds = 0;
  for (const auto& run : runs()) seconds = std::max(seconds, run->finish());
  note_moved(runs().front()->mode(), seconds);
  Status checked;
  for (Part& part : parts_) {
    if (!part.checks) continue;
    if (const Status status = part.checks->finish(comm().rank()); checked.ok()) checked = status;
    part.exchange->unpack();
  }
  return checked;
}

void MovePlan::add_wait(const Run& run, double seconds) {
  Plan::add_wait(run, seconds);
  Part& part = parts_[run.proxy()];
  if (!part.waited_for.empty()) part.waited_for[part.exchange->last_completed()] += seconds;
}

std::string MovePlan::summary() const {
  std::size_t messages = 0;
  std::int64_t bytes = 0;
  std::string dealt;
  for (const Part& part : parts_) {
    messages += part.exchange->messages().size();
    bytes += part.exchange->bytes();
    dealt += (dealt.empty() ? "" : ", ") + std::to_string(part.exchange->messages().size());
  }
  return std::to_string(messages) + " messages, " + std::to_string(bytes) + " bytes a run" +
         (parts_.size() > 1 ? ", in parts for the proxies: " + dealt : "");
}

LongestWait MovePlan::longest_wait() const {
  LongestWait longest;
  for (const Part& part : parts_) {
    for (std::size_t i = 0; i < part.waited_for.size(); ++i) {
      if (part.waited_for[i] <= longest.seconds) continue;
      const Message& message = part.exchange->messages()[i];
      longest = {part.waited_for[i],
                 std::string(message.sends ? "a message to rank " : "a message from rank ") +
                     std::to_string(message.peer)};
    }
  }
  return longest;
}

}  // namespace ob::overlap
