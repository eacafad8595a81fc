#include "transport/ucx/driver.hpp"

#include <array>
#include <system_error>

#include "transport/detail/poll.hpp"
#include "transport/ucx/blocked_signals.hpp"

namespace ob::transport::ucx {
namespace {

// A busy caller makes progress itself; after its last call this time passes at most.
constexpr std::chrono::milliseconds kLater{2};
// The longest poll: a thread that must stop without its bell notices it after this time.
constexpr std::chrono::milliseconds kSlice{500};

Deadline deadline_of(Driver::Next::When when) {
  return Clock::now() + (when == Driver::Next::When::later ? kLater : kSlice);
}

}  // namespace

std::unique_ptr<Driver> Driver::start(std::function<Next()> step) {
  std::unique_ptr<Driver> driver(new Driver(std::move(step)));
  if (!driver->bell_) return nullptr;
  const BlockedSignals blocked;
  try {
    driver->thread_ = std::thread([raw = driver.get()] { raw->run(); });
  } catch (const std::system_error&) {
    return nullptr;
  }
  return driver;
}

Driver::~Driver() {
  stop_.store(true);
  bell_.ring();
  if (thread_.joinable()) thread_.join();
}

void Driver::stop_without_bell() noexcept {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
  bell_.abandon();
}

void Driver::run() {
  Next next;
  for (;;) {
    std::array<pollfd, 2> both{{{bell_.descriptor(), POLLIN, 0}, {next.descriptor, POLLIN, 0}}};
    const std::size_t n = next.when == Next::When::readable ? 2 : 1;
    const int ready = detail::poll_until(std::span(both).first(n), deadline_of(next.when));
    if (stop_.load()) return;  // before the bell is read: its number may belong to another file
    if (ready == 0 && next.when == Next::When::woken) continue;
    bell_.silence();  // before the step: a bell that rings later wakes the next poll
    next = step_();
  }
}

}  // namespace ob::transport::ucx
