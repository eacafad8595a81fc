#include "offload/prefetcher.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/device_buffer.hpp"
#include "algorithms/residency/placed_operand.hpp"
#include "base/host_scratch.hpp"
#include "base/quiet_thread.hpp"
#include "base/thread_priority.hpp"
#include "offload/one_device.hpp"

namespace ob::offload {
namespace {

// The program waits at its end so long for a chunk that is on its way.
constexpr std::chrono::milliseconds kMostAtEnd{200};
// Calls of the program use the connection meanwhile.
constexpr std::chrono::milliseconds kPause{1};
constexpr unsigned kMostPauses = 1000;
// A busy core gives at most 1.5 per cent of its time to a thread of this priority.
constexpr int kLowestPriority = 19;
constexpr std::uint64_t kPieceBytes = 1 << 20;

// The sizes of the buffers that the call will need.
std::vector<std::uint64_t> buffer_sizes(const RoutineCall& call,
                                        const std::vector<algorithms::PlacedOperand>& brought) {
  std::vector<std::uint64_t> sizes;
  for (const algorithms::PlacedOperand& operand : brought)
    sizes.push_back(extent_bytes(operand.there));
  const Operands operands = call.routine.operands(call.arguments);
  for (const Operand& operand : operands.span()) {
    if (operand.written || operand.consumed)
      sizes.push_back(extent_bytes(algorithms::device_region(operand, operand.written)));
  }
  return sizes;
}

// Writes to buffers of these sizes on the device, and frees them into the cache of the connection.
Status use_memory(client::AcquiredDevice& acquired, const RoutineCall& call,
                  const std::vector<algorithms::PlacedOperand>& brought) {
  Device& device = acquired.device();
  const HostScratch zeros(kPieceBytes);
  if (zeros.data() == nullptr) return {Code::out_of_memory, "no memory on this side"};
  std::memset(zeros.data(), 0, kPieceBytes);
  std::deque<algorithms::DeviceBuffer> buffers;
  for (const std::uint64_t size : buffer_sizes(call, brought)) {
    buffers.emplace_back(device);
    OB_RETURN_IF_ERROR(buffers.back().allocate(size));
    for (std::uint64_t done = 0; done < size; done += kPieceBytes) {
      const std::uint64_t count = std::min(kPieceBytes, size - done);
      const Region piece{done, 1, Triangle::full, count, 1, count, 1};
      OB_RETURN_IF_ERROR(device.write(acquired.queue(), buffers.back().id(), piece,
                                      Layout::bytes(zeros.data(), count)));
    }
  }
  return device.synchronize(acquired.queue()).status;
}

}  // namespace

struct Prefetcher::Job {
  Job(const Execution& given, const RoutineCall& call, const policy::Work& of_call,
      policy::Preparation wanted)
      : execution(given),
        routine(call.routine),
        work(of_call),
        preparation(wanted),
        server(given.connections.preferred()) {
    std::copy_n(call.arguments, routine.kinds.size(), arguments.items);
  }

  const Execution execution;
  const Descriptor& routine;
  const policy::Work work;
  const policy::Preparation preparation;
  const std::optional<std::size_t> server;
  CallArguments arguments;
  std::uint64_t connection = 0;  // for which `operands` were found; 0: none
  std::vector<algorithms::PlacedOperand> operands;
  std::size_t next = 0;  // operand
  unsigned pauses = 0;   // in a row, because the connection was in use
};

Prefetcher::~Prefetcher() {
  closed_ = true;
  if (thread_.joinable()) thread_.join();
}

// Finds out what to send over this connection. Uses the memory that a call will need, if that is
// all that helps. False if nothing is left to do.
bool Prefetcher::begin(Job& job, client::AcquiredDevice& acquired) {
  const RoutineCall call{job.routine, job.arguments.items};
  std::vector<algorithms::PlacedOperand> operands =
      operands_to_bring(job.execution, acquired, call);
  algorithms::Residency* const residency = residents_.of(acquired);
  const bool stay = residency != nullptr && residency->keeps_operands();
  if (job.preparation == policy::Preparation::operands && stay) {
    job.operands = std::move(operands);
    job.connection = acquired.connection_id();
    job.next = 0;
    return !job.operands.empty();
  }
  const ServerFacts* const facts = tuning_.server(*job.server);
  if (use_memory(acquired, call, operands).ok() && facts != nullptr) facts->used(job.work);
  return false;
}

// Sends one chunk. False if nothing is left to send.
bool Prefetcher::step(Job& job) {
  auto acquired = connections_.borrow_idle(*job.server);
  if (!acquired) {
    std::this_thread::sleep_for(kPause);
    return ++job.pauses < kMostPauses;
  }
  job.pauses = 0;
  if (job.connection != acquired->connection_id() && !begin(job, *acquired)) return false;
  algorithms::Residency* const residency = residents_.of(*acquired);
  if (residency == nullptr) return false;
  const auto brought = residency->bring(acquired->queue(), job.operands[job.next]);
  if (!brought.ok()) return false;
  job.next += *brought ? 1 : 0;
  return job.next < job.operands.size();
}

void Prefetcher::run(Job& job) noexcept {
  set_thread_nice(kLowestPriority);
  try {
    while (!closed_ && step(job)) {
    }
  } catch (...) {  // no memory: the operands stay here
  }
  const std::lock_guard lock(mutex_);
  running_ = false;
  ended_.notify_all();
}

void Prefetcher::start(const Execution& execution, const RoutineCall& call,
                       const policy::Work& work, policy::Preparation preparation) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (running_ || closed_) return;
    if (thread_.joinable()) thread_.join();
    auto job = std::make_shared<Job>(execution, call, work, preparation);
    if (!job->server) return;
    running_ = true;
    thread_ = quiet_thread([this, job] { run(*job); });
    running_ = thread_.joinable();
  } catch (...) {  // no memory: the operands stay here
  }
}

void Prefetcher::close() noexcept {
  closed_ = true;
  try {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, kMostAtEnd, [this] { return !running_; });
  } catch (...) {  // the lock failed
  }
}

}  // namespace ob::offload
