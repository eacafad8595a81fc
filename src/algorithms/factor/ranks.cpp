#include "algorithms/factor/ranks.hpp"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/quiet_thread.hpp"

namespace ob::algorithms {
namespace {

// Runs ranks and remembers what failed first.
class Ranks {
 public:
  Ranks(PanelExchange& exchange, const std::function<Status(std::size_t)>& program)
      : exchange_(exchange), program_(program) {}

  void run(std::size_t at) noexcept {
    try {
      if (const Status status = program_(at); !status.ok()) fail(status);
      // Also after a failure: nothing of the device may land any more.
      if (const Status status = exchange_.finish(at); !status.ok()) fail(status);
    } catch (const std::exception&) {
      fail({Code::out_of_memory, "no memory for a call on several devices"});
      (void)exchange_.finish(at);
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
  const std::function<Status(std::size_t)>& program_;
  std::mutex mutex_;
  Status first_;
};

}  // namespace

Status run_ranks(PanelExchange& exchange, const std::function<Status(std::size_t)>& program) {
  Ranks ranks(exchange, program);
  std::vector<std::thread> others;
  others.reserve(exchange.size());
  bool started = true;
  for (std::size_t at = 1; started && at < exchange.size(); ++at) {
    others.push_back(quiet_thread([&ranks, at] { ranks.run(at); }));
    started = others.back().joinable();
  }
  if (started) {
    ranks.run(0);
  } else {
    ranks.fail({Code::out_of_memory, "no threads for a call on several devices"});
  }
  for (std::thread& other : others) {
    if (other.joinable()) other.join();
  }
  return ranks.first();
}

}  // namespace ob::algorithms
