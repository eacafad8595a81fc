#include "transport/shm/hang_up_watch.hpp"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/quiet_thread.hpp"

namespace ob::transport::shm {
namespace {

constexpr std::uint64_t kEndNumber = 0;
constexpr std::size_t kEventsAtOnce = 64;

// The event of a socket without any flags is its end.
bool watch(int epoll, int fd, std::uint32_t events, std::uint64_t number) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

std::shared_ptr<HangUpWatch> HangUpWatch::create() {
  Fd epoll = out_of_the_way(Fd(::epoll_create1(EPOLL_CLOEXEC)));
  Fd end = out_of_the_way(Fd(::eventfd(0, EFD_CLOEXEC)));
  if (!epoll || !end || !watch(epoll.get(), end.get(), EPOLLIN, kEndNumber)) return nullptr;
  std::shared_ptr<HangUpWatch> made(new HangUpWatch(std::move(epoll), std::move(end)));
  return made->thread_.joinable() ? made : nullptr;
}

HangUpWatch::HangUpWatch(Fd epoll, Fd end)
    : epoll_(std::move(epoll)),
      end_(std::move(end)),
      owner_(::getpid()),
      thread_(quiet_thread([this] { run(); })) {}

HangUpWatch::~HangUpWatch() {
  if (!thread_.joinable()) return;
  if (::getpid() != owner_) {
    thread_.detach();
    return;
  }
  const std::uint64_t one = 1;
  (void)!::write(end_.get(), &one, sizeof one);
  thread_.join();
}

std::uint64_t HangUpWatch::add(int socket, std::function<void()> tell) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = ++last_;
  if (!watch(epoll_.get(), socket, EPOLLONESHOT, number)) return 0;
  watched_.emplace(number, std::move(tell));
  return number;
}

void HangUpWatch::remove(int socket, std::uint64_t number) {
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);
  const std::lock_guard lock(mutex_);
  watched_.erase(number);
}

void HangUpWatch::run() {
  (void)::pthread_setname_np(::pthread_self(), "hang-ups");  // for people who debug
  std::array<epoll_event, kEventsAtOnce> events;
  for (;;) {
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(kEventsAtOnce), -1);
    if (count < 0 && errno != EINTR) return;
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t number = events[static_cast<std::size_t>(i)].data.u64;
      if (number == kEndNumber) return;
      const auto found = watched_.find(number);
      if (found != watched_.end()) found->second();
    }
  }
}

}  // namespace ob::transport::shm
