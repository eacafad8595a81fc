#include "client/proxy.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace ob::client {
namespace {

using Clock = ProxyClient::Clock;

// The longest sleep: a clock that was set back, or a lost bell, costs no more.
constexpr std::chrono::milliseconds kLongestSleep{250};
// The default slack of timers, 50 us, would double the tick.
constexpr unsigned long kTimerSlack_ns = 1000;

thread_local bool t_is_proxy = false;

// The documented state of the process. A forked child starts an empty one, because a lock of the
// parent may be held for ever.
struct Process {
  std::mutex mutex;
  std::weak_ptr<Proxy> proxy;
};
constinit std::atomic<Process*> g_process{nullptr};

Process& process() {
  Process* known = g_process.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto fresh = std::make_unique<Process>();
  if (g_process.compare_exchange_strong(known, fresh.get())) return *fresh.release();
  return *known;
}

}  // namespace

struct Proxy::Core {
  ~Core() {
    if (bell >= 0) ::close(bell);
  }
  void run();
  void ring() const noexcept;
  void silence() const noexcept;
  bool run_tasks();
  Clock::time_point tend_all();
  void sleep_until(Clock::time_point end);

  int bell = -1;                    // an eventfd
  std::atomic<bool> asleep{false};  // a wake() must ring
  std::thread thread;

  std::mutex tending;  // held while clients are looked after
  std::vector<ProxyClient*> clients;
  std::vector<pollfd> sources;  // of the proxy's thread

  std::mutex mutex;  // guards all below
  std::deque<std::function<void()>> tasks;
  bool stopping = false;
};

void Proxy::Core::ring() const noexcept {
  const std::uint64_t one = 1;
  while (::write(bell, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void Proxy::Core::silence() const noexcept {
  std::uint64_t rung = 0;
  while (::read(bell, &rung, sizeof rung) < 0 && errno == EINTR) {
  }
}

// Returns false when the thread ends.
bool Proxy::Core::run_tasks() {
  std::unique_lock lock(mutex);
  while (!tasks.empty()) {
    auto task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // before the lock: it may release objects
    lock.lock();
  }
  return !stopping;
}

Clock::time_point Proxy::Core::tend_all() {
  const Clock::time_point now = Clock::now();
  Clock::time_point next = now + kLongestSleep;
  sources.assign(1, pollfd{bell, POLLIN, 0});
  const std::lock_guard lock(tending);
  for (ProxyClient* client : clients) next = std::min(next, client->tend(now, sources));
  return next;
}

// A source ends the sleep; so does a failure, after which the proxy looks at the clock.
void Proxy::Core::sleep_until(Clock::time_point end) {
  const auto left =
      std::clamp<Clock::duration>(end - Clock::now(), Clock::duration(0), kLongestSleep);
  const auto left_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
  const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(left_ns)};  // below a second
  (void)::ppoll(sources.data(), sources.size(), &time, nullptr);
}

void Proxy::Core::run() {
  t_is_proxy = true;
  (void)::prctl(PR_SET_TIMERSLACK, kTimerSlack_ns);
  while (run_tasks()) {
    // Changes from here on ring the bell, unless the proxy looks again soon in any case.
    asleep.store(true);
    const Clock::time_point next = tend_all();
    if (next <= Clock::now() + 2 * kTick) asleep.store(false);
    sleep_until(next);
    asleep.store(false);
    if ((sources.front().revents & POLLIN) != 0) silence();
  }
}

Result<std::shared_ptr<Proxy>> Proxy::acquire() {
  Process& here = process();
  const std::lock_guard lock(here.mutex);
  if (auto running = here.proxy.lock()) return running;
  auto core = std::make_shared<Core>();
  core->bell = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const Status no_thread(Code::unavailable,
                         "cannot start the thread of the device API (the system has no more "
                         "threads or descriptors); raise the limits of the process");
  if (core->bell < 0) return no_thread;
  // The thread inherits the mask.
  sigset_t all, before;
  sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  try {
    core->thread = std::thread([core] { core->run(); });
    ::pthread_setname_np(core->thread.native_handle(), "ob-proxy");
  } catch (const std::system_error&) {
    started = no_thread;
  }
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  OB_RETURN_IF_ERROR(started);
  const std::shared_ptr<Proxy> proxy(new Proxy(std::move(core)));
  here.proxy = proxy;
  return proxy;
}

Proxy::~Proxy() {
  {
    const std::lock_guard lock(core_->mutex);
    core_->stopping = true;
  }
  core_->ring();
  // The last holder may be a task.
  t_is_proxy ? core_->thread.detach() : core_->thread.join();
}

void Proxy::add(ProxyClient& client) {
  {
    const std::lock_guard lock(core_->tending);
    core_->clients.push_back(&client);
  }
  wake();
}

void Proxy::remove(ProxyClient& client) {
  const std::lock_guard lock(core_->tending);
  std::erase(core_->clients, &client);
}

void Proxy::wake() noexcept {
  if (core_->asleep.exchange(false)) core_->ring();
}

void Proxy::post(std::function<void()> task) {
  {
    const std::lock_guard lock(core_->mutex);
    core_->tasks.push_back(std::move(task));
  }
  core_->ring();
}

bool Proxy::is_this_thread() noexcept { return t_is_proxy; }

// The parent's state stays in memory: its locks may be held, and its thread does not run here.
void Proxy::begin_anew_in_child() noexcept {
  t_is_proxy = false;
  g_process.store(nullptr);
}

}  // namespace ob::client
