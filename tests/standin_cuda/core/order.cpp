#include "order.hpp"

#include <algorithm>

#include "devices.hpp"
#include "faults.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "timeline.hpp"

namespace standin {
namespace {

// A block remembers this many uses. Races with older uses are not found.
constexpr std::size_t kUsesKept = 128;

struct Behind {
  std::shared_ptr<Stream> stream;
  std::uint64_t position;
};

// Returns the work that the default stream, or a blocking stream, waits for.
std::vector<Behind> implicit_waits(const Stream& stream) {
  Devices& devices = Devices::instance();
  std::vector<Behind> behind;
  if (devices.is_default(stream)) {
    for (auto& other : devices.blocking_streams(stream.device()))
      behind.push_back({other, other->tail()});
  } else if ((stream.flags() & cudaStreamNonBlocking) == 0) {
    auto other = devices.default_stream(stream.device());
    behind.push_back({other, other->tail()});
  }
  return behind;
}

}  // namespace

Order& Order::instance() {
  static auto* const kOrder = new Order;
  return *kOrder;
}

// Threads: the caller holds the lock, also for the next two functions
bool Order::knows(const Clock& clock, const Use& use) const {
  if (living_.count(use.stream) == 0) return true;
  const auto found = clock.find(use.stream);
  return found != clock.end() && found->second >= use.position;
}

void Order::learn(Clock& into, const Clock& from) const {
  std::erase_if(into, [this](const auto& entry) { return living_.count(entry.first) == 0; });
  for (const auto& [stream, position] : from) {
    if (living_.count(stream) == 0) continue;
    std::uint64_t& known = into[stream];
    known = std::max(known, position);
  }
}

void Order::find_race(const Stream& stream, const Clock& known, const Use& use) {
  const auto block = Memory::instance().find(reinterpret_cast<const void*>(use.region.address));
  if (block == nullptr) return;
  std::vector<Use>& uses = block->uses;
  for (const Use& before : uses) {
    if (!before.write && !use.write) continue;
    if (before.stream == stream.number() || knows(known, before)) continue;
    if (!before.region.overlaps(use.region)) continue;
    Report::instance().violation(use.call, std::string(use.write ? "writes" : "reads") + " what " +
                                               before.call + " of another stream " +
                                               (before.write ? "writes" : "reads") +
                                               ", and does not wait for it");
  }
  // Work that is ordered after this use is also ordered after the uses that it covers.
  std::erase_if(uses, [&](const Use& before) {
    const bool stands_for = use.write || (!before.write && before.stream == stream.number());
    return stands_for && use.region.covers(before.region);
  });
  if (uses.size() >= kUsesKept) uses.erase(uses.begin());
  uses.push_back(use);
}

std::uint64_t Order::submit(const std::shared_ptr<Stream>& stream, const Access& access,
                            Stream::Work work) {
  const std::lock_guard lock(mutex_);
  std::vector<Behind> behind = implicit_waits(*stream);
  living_.insert(stream->number());
  learn(stream->clock, host_);
  for (const Behind& b : behind) learn(stream->clock, b.stream->clock);
  const std::uint64_t position = stream->tail() + 1;
  const Clock known = stream->clock;
  stream->clock[stream->number()] = position;
  for (Use use : access.uses()) {
    use.stream = stream->number();
    use.position = position;
    find_race(*stream, known, use);
  }
  Timeline::instance().submitted(access.call());
  return stream->submit([behind = std::move(behind), number = stream->number(),
                         call = access.call(), work = std::move(work)] {
    for (const Behind& b : behind) b.stream->wait(b.position);
    const Timeline::Running running(number, call);
    const int fault = Faults::instance().next((plain_name(call) + "@run").c_str());
    if (fault != 0) return fault > 0 ? static_cast<cudaError_t>(fault) : cudaErrorIllegalAddress;
    return work();
  });
}

void Order::wait(Stream& stream, const Clock& clock) {
  const std::lock_guard lock(mutex_);
  learn(stream.clock, clock);
}

Clock Order::clock_of(Stream& stream) {
  const std::lock_guard lock(mutex_);
  return stream.clock;
}

void Order::host_knows(const Clock& clock) {
  const std::lock_guard lock(mutex_);
  learn(host_, clock);
}

void Order::synchronize(Stream& stream) {
  const Clock clock = clock_of(stream);
  stream.wait(stream.tail());
  host_knows(clock);
}

void Order::finish(Stream& stream) {
  synchronize(stream);
  const std::lock_guard lock(mutex_);
  living_.erase(stream.number());
  host_.erase(stream.number());
}

void Order::synchronize_device(int device) {
  for (const auto& stream : Devices::instance().streams_of(device)) synchronize(*stream);
}

}  // namespace standin
