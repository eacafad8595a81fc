#include "executor/service.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <exception>
#include <new>
#include <string>
#include <thread>

#include "base/contract.hpp"
#include "base/passed_descriptors.hpp"

namespace ob::executor {
namespace {

// Exceptions of the standard library, for instance out of memory, end here.
Status handle(Service& service, std::size_t lane, const Request& request) noexcept try {
  return service.handle(lane, request.kind, request.body);
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory, "the executor of this client has no memory left"};
} catch (const std::exception& error) {
  return {Code::device_error, std::string("the executor of this client failed: ") + error.what()};
}

// The core of the thread of a lane. The thread is free to run on any core at first.
class CoreOfThread {
 public:
  CoreOfThread() noexcept { (void)::sched_getaffinity(0, sizeof all_, &all_); }
  /// @param core -1: any
  void set(std::int32_t core) noexcept {
    if (core == core_ || core < -1 || core >= CPU_SETSIZE) return;
    cpu_set_t wanted = all_;
    if (core >= 0) {
      CPU_ZERO(&wanted);
      CPU_SET(core, &wanted);
    }
    (void)::sched_setaffinity(0, sizeof wanted, &wanted);
    core_ = core;
  }

 private:
  cpu_set_t all_{};
  std::int32_t core_ = -1;
};

[[noreturn]] void serve_lane(Service& service, Lane& lane, std::size_t index, std::uint32_t seen) {
  CoreOfThread core;
  for (;;) {
    const Arrival arrival = await_work(lane, seen);
    for (const std::uint64_t notice : arrival.notices) service.take_notice(index, notice);
    if (!arrival.request) continue;
    seen = arrival.request->number;
    lane.done.store(0, std::memory_order_relaxed);
    lane.taken.store(seen, std::memory_order_release);
    core.set(arrival.request->core);
    answer(lane, seen, handle(service, index, *arrival.request));
  }
}

}  // namespace

Status serve(Service& service, std::size_t served_lanes) {
  void* at = ::mmap(nullptr, sizeof(Mailbox), PROT_READ | PROT_WRITE, MAP_SHARED, kMailboxFd, 0);
  if (at == MAP_FAILED) {
    return {Code::internal, "there is no mailbox (only outboardd starts this program)"};
  }
  ::close(kMailboxFd);
  service.mailbox_ = static_cast<Mailbox*>(at);
  auto& lanes = service.mailbox_->lanes;
  const Arrival first = await_work(lanes[0], 0);
  Status started = service.start();
  if (!first.request || first.request->kind != kReady) {
    started = {Code::protocol_error, "the first request must be 'ready'"};
  }
  answer(lanes[0], 1, started);
  if (!started.ok()) return started;
  for (std::size_t i = 1; i < served_lanes; ++i) {
    std::thread([&service, &lane = lanes[i], i] { serve_lane(service, lane, i, 0); }).detach();
  }
  serve_lane(service, lanes[0], 0, 1);
}

Fd receive_descriptor() noexcept { return ob::receive_descriptor(kSocketFd); }

}  // namespace ob::executor
