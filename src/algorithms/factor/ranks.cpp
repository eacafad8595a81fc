#include "algorithms/factor/ranks.hpp"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/quiet_thread.hpp"

namespace ob::algorithms {
namespace {

// Runs ranks and records the first failure.
class Ranks {
 public:
  Ranks(PanelExchange& exchange, const std::function<Status(Rank)>& program)
      : exchange_(exchange), program_(program) {}

  void run(Rank rank) noexcept {
    try {
      if (const Status status = program_(rank); !status.ok()) fail(status);
      // After a failure, too, no copy may be under way.
      if (const Status status = exchange_.finish(rank); !status.ok()) fail(status);
    } catch (const std::exception&) {
      fail({Code::out_of_memory, {}});  // a message would need memory
      (void)exchange_.finish(rank);
    }
  }
  void fail(const Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (first_.ok()) first_ = status;
    }
    exchange_.abort(status);
  }
  /// @pre all ranks have returned
  const Status& first() const { return first_; }

 private:
  PanelExchange& exchange_;
  const std::function<Status(Rank)>& program_;
  std::mutex mutex_;
  Status first_;
};

}  // namespace

Status run_ranks(PanelExchange& exchange, const std::function<Status(Rank)>& program) {
  Ranks ranks(exchange, program);
  std::vector<std::thread> others;
  others.reserve(exchange.size());
  bool started = true;
  for (Rank rank(1); started && rank.value() < exchange.size(); ++rank) {
    others.push_back(quiet_thread([&ranks, rank] { ranks.run(rank); }));
    started = others.back().joinable();
  }
  if (started) {
    ranks.run(Rank(0));
  } else {
    // The string holds so short a text without memory of its own. The threads must be joined.
    ranks.fail({Code::out_of_memory, "no threads"});
  }
  for (std::thread& other : others) {
    if (other.joinable()) other.join();
  }
  return ranks.first();
}

}  // namespace ob::algorithms
