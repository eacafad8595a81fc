#include "sial/exchange/sim/simulation.hpp"

#include <algorithm>
#include <utility>

#include "sial/trace/traced_server.hpp"

namespace ob::sial {
namespace {

constexpr std::uint64_t kWholeTurn = 1'000'000;  // instructions of a worker, with seed 0
constexpr std::uint64_t kMostInTurn = 60;        // with another seed: a few statements

}  // namespace

Simulation::Simulation(const WorkerSetting& setting, const BlockServer::Options& server,
                       std::uint64_t seed)
    : setting_(setting),
      random_(seed),
      in_order_(seed == 0),
      servers_limited_(server.memory_bytes != 0) {
  setting_.timed = false;
  setting_.server_memory_bytes = server.memory_bytes;  // workers count with the same credit
  const Rank ranks = setting.workers + setting.servers;
  queued_.resize(setting.servers);
  channels_.resize(static_cast<std::size_t>(ranks) * ranks);
  outcomes_.assign(setting.workers, Outcome::running);
  for (Rank rank = 0; rank < setting.workers; ++rank) {
    workers_.push_back(std::make_unique<Worker>(setting_, rank, *this));
  }
  for (Rank rank = 0; rank < setting.servers; ++rank) {
    BlockServer::Options options = server;
    options.rank = setting.workers + rank;
    options.workers = setting.workers;
    options.server_of = server_of(setting);
    servers_.push_back(std::make_unique<BlockServer>(options, *this));
  }
}

Simulation::~Simulation() = default;

void Simulation::send(Message message) {
  const std::size_t ranks = setting_.workers + setting_.servers;
  const std::size_t number = message.from * ranks + message.to;
  if (servers_limited_ && message.from >= setting_.workers && message.block != nullptr) {
    // A worker keeps what it has fetched. That must not fill the memory of a server.
    if (auto copied = pool_.copy(*message.block); copied.ok()) message.block = std::move(*copied);
  }
  if (message.to >= setting_.workers && message.block != nullptr) {
    Queued& queued = queued_[message.to - setting_.workers];
    queued.bytes += message.block->bytes();
    queued.peak_bytes = std::max(queued.peak_bytes, queued.bytes);
  }
  if (channels_[number].empty()) full_.push_back(number);
  channels_[number].push_back(std::move(message));
}

bool Simulation::deliver_one() {
  if (full_.empty()) return false;
  const std::size_t choice = in_order_ ? 0 : random_() % full_.size();
  Channel& channel = channels_[full_[choice]];
  Message message = std::move(channel.front());
  channel.pop_front();
  if (channel.empty()) full_.erase(full_.begin() + static_cast<std::ptrdiff_t>(choice));
  const Rank to = message.to;
  if (to < setting_.workers) {
    workers_[to]->receive(std::move(message));
    if (outcomes_[to] == Outcome::waiting) outcomes_[to] = Outcome::running;
  } else {
    deliver_to_server(message);
  }
  return true;
}

void Simulation::deliver_to_server(const Message& message) {
  const Rank server = message.to - setting_.workers;
  handle_traced(*servers_[server], message, *setting_.program, setting_.trace);
  if (message.block != nullptr) queued_[server].bytes -= message.block->bytes();
}

std::vector<ServerPeaks> Simulation::server_peaks() const {
  std::vector<ServerPeaks> peaks;
  for (Rank server = 0; server < setting_.servers; ++server) {
    peaks.push_back({servers_[server]->store().peak_bytes(), queued_[server].peak_bytes});
  }
  return peaks;
}

Status Simulation::run_worker(Rank rank) {
  const std::uint64_t turn = in_order_ ? kWholeTurn : 1 + random_() % kMostInTurn;
  outcomes_[rank] = workers_[rank]->run(turn);
  if (outcomes_[rank] == Outcome::failed) {
    return {Code::invalid_argument, workers_[rank]->failure()};
  }
  if (outcomes_[rank] == Outcome::stopped) {
    return {Code::unavailable, "the program executed stop"};
  }
  if (outcomes_[rank] == Outcome::finished) ++finished_;
  return {};
}

Status Simulation::run() {
  for (auto& worker : workers_) OB_RETURN_IF_ERROR(worker->begin());
  while (finished_ < setting_.workers) {
    std::vector<Rank> ready;
    for (Rank rank = 0; rank < setting_.workers; ++rank) {
      if (outcomes_[rank] == Outcome::running) ready.push_back(rank);
    }
    if (in_order_) {
      for (const Rank rank : ready) OB_RETURN_IF_ERROR(run_worker(rank));
      while (deliver_one()) {
      }
      if (!ready.empty()) continue;
    } else if (!ready.empty() && (full_.empty() || random_() % 2 == 0)) {
      OB_RETURN_IF_ERROR(run_worker(ready[random_() % ready.size()]));
      continue;
    } else if (deliver_one()) {
      continue;
    }
    if (std::ranges::count(outcomes_, Outcome::running) == 0) {
      return {Code::internal, "all workers wait and no message is on its way"};
    }
  }
  while (deliver_one()) {
  }
  return {};
}

}  // namespace ob::sial
