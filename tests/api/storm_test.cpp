// Random commands from 8 threads with 8 queues each, over one device: copies, fills, routines,
// kernels, events, callbacks, and the end of queues and buffers in use. Each thread keeps a copy of
// its buffers on the host, which is the oracle. OUTBOARD_STORM_STEPS makes the storm longer.

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "api/kernel_fixture.hpp"
#include "api/storm_steps.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

constexpr std::size_t kThreads = 8, kQueues = 8, kBuffers = 6;
constexpr std::size_t kMostElements = 1 << 15;  // 256 KiB: some copies map the buffer
constexpr double kMost = 1e15;                  // sums of integers up to here are exact
constexpr const char* kAdd = R"(
__kernel void add(double a, __global double* y, ulong n) {
  const ulong i = get_global_id(0);
  if (i < n) y[i] += a;
}
)";

// All threads share these.
struct Shared {
  ob_device device = nullptr;
  ob_module module = nullptr;  // none where no kernels run
  std::array<ob_event, kThreads> events{};
  std::atomic<int> wrong{0};

  void expect(bool right, const char* what) {
    if (right) return;
    if (++wrong <= 5) std::fprintf(stderr, "wrong: %s (%s)\n", what, last_error().message);
  }
  bool expect_ok(ob_status status, const char* what) {
    expect(status == OB_OK, what);
    return status == OB_OK;
  }
};

// A queue, and what must hold when it is synchronized.
struct Lane {
  struct Read {
    std::vector<double> seen, expected;
  };
  ob_queue queue = nullptr;
  ob_event passed = nullptr;
  std::deque<Read> reads;                  // their memory stays where it is
  std::deque<std::vector<double>> writes;  // sources of writes that may be under way
  std::uint64_t callbacks = 0;             // handed over
  std::atomic<std::uint64_t> called{0};

  static void call(void* lane, const ob_report* report) {
    if (report->error.code == OB_OK) ++static_cast<Lane*>(lane)->called;
  }
};

struct Block {
  ob_buffer buffer = nullptr;
  std::vector<double> truth;
  Lane* last = nullptr;  // the queue that used it last
};

// One thread with its queues, blocks and random numbers.
class Worker {
 public:
  Worker(Shared& shared, std::size_t index, std::uint64_t seed)
      : shared_(shared), index_(index), random_(seed + index) {
    for (auto& lane : lanes_) lane = open();
    for (Block& block : blocks_) renew(block);
  }

  void blow(std::size_t steps) {
    for (std::size_t i = 0; i < steps && shared_.wrong == 0; ++i) step();
    for (auto& lane : lanes_) close(*lane);
    for (Block& block : blocks_) shared_.expect_ok(ob_buffer_destroy(block.buffer), "destroy");
  }

 private:
  std::size_t pick(std::size_t count) { return uniform<std::size_t>(random_, 0, count - 1); }
  double digit() { return static_cast<double>(uniform(random_, -9, 9)); }

  std::unique_ptr<Lane> open() {
    auto lane = std::make_unique<Lane>();
    shared_.expect_ok(ob_queue_create(shared_.device, 0, &lane->queue), "create a queue");
    shared_.expect_ok(ob_event_create(shared_.device, 0, &lane->passed), "create an event");
    return lane;
  }
  // The end of a queue waits for its commands and callbacks.
  void close(Lane& lane) {
    synchronize(lane);
    shared_.expect_ok(ob_event_destroy(lane.passed), "destroy an event");
    shared_.expect_ok(ob_queue_destroy(lane.queue), "destroy a queue");
    shared_.expect(lane.called == lane.callbacks, "callbacks before the end of a queue");
    for (Block& block : blocks_) {
      if (block.last == &lane) block.last = nullptr;
    }
  }
  void synchronize(Lane& lane) {
    shared_.expect_ok(ob_queue_synchronize(lane.queue, OB_FOREVER, nullptr), "synchronize");
    for (const Lane::Read& read : lane.reads) {
      shared_.expect(read.seen == read.expected, "elements that were read");
    }
    lane.reads.clear();
    lane.writes.clear();
  }
  // The old buffer may be in use by commands under way.
  void renew(Block& block) {
    if (block.buffer != nullptr) shared_.expect_ok(ob_buffer_destroy(block.buffer), "destroy");
    const std::size_t count = uniform<std::size_t>(random_, 1, pick(4) == 0 ? kMostElements : 500);
    block = {nullptr, std::vector<double>(count), nullptr};
    shared_.expect_ok(ob_buffer_create(shared_.device, count * 8, 0, &block.buffer), "create");
    fill(*lanes_[pick(kQueues)], block);
  }
  // Orders this use of a buffer behind the one before, which another queue may have.
  void use(Lane& lane, Block& block) {
    if (block.last != nullptr && block.last != &lane) {
      shared_.expect_ok(ob_event_record(block.last->passed, block.last->queue), "record");
      shared_.expect_ok(ob_event_hold(block.last->passed, lane.queue), "hold");
    }
    block.last = &lane;
  }

  void fill(Lane& lane, Block& block) {
    use(lane, block);
    const double value = digit();
    shared_.expect_ok(ob_fill(lane.queue, {block.buffer, 0}, &value, 8, block.truth.size()),
                      "fill");
    block.truth.assign(block.truth.size(), value);
  }
  void write(Lane& lane, Block& block) {
    use(lane, block);
    const std::size_t from = pick(block.truth.size());
    std::vector<double> elements(uniform<std::size_t>(random_, 1, block.truth.size() - from));
    for (double& each : elements) each = digit();
    std::copy(elements.begin(), elements.end(),
              block.truth.begin() + static_cast<std::ptrdiff_t>(from));
    const bool captured = pick(2) == 0;
    lane.writes.push_back(std::move(elements));
    std::vector<double>& source = lane.writes.back();
    shared_.expect_ok(ob_write(lane.queue, {block.buffer, from * 8}, source.data(),
                               source.size() * 8, captured ? OB_CAPTURE : 0),
                      "write");
    if (captured) source.assign(source.size(), -77);
  }
  void read(Lane& lane, Block& block) {
    use(lane, block);
    const std::size_t from = pick(block.truth.size());
    const auto count = uniform<std::size_t>(random_, 1, block.truth.size() - from);
    const auto begin = block.truth.begin() + static_cast<std::ptrdiff_t>(from);
    const bool waits = pick(6) == 0;
    lane.reads.push_back(
        {std::vector<double>(count, -77), {begin, begin + static_cast<std::ptrdiff_t>(count)}});
    Lane::Read& read = lane.reads.back();
    shared_.expect_ok(ob_read(lane.queue, read.seen.data(), {block.buffer, from * 8}, count * 8,
                              waits ? OB_WAIT : 0),
                      "read");
    if (waits) shared_.expect(read.seen == read.expected, "elements of a read that waits");
  }
  void copy(Lane& lane, Block& from, Block& to) {
    if (&from == &to) return;
    use(lane, from);
    use(lane, to);
    const std::size_t count = std::min(from.truth.size(), to.truth.size());
    shared_.expect_ok(ob_copy(lane.queue, {to.buffer, 0}, {from.buffer, 0}, count * 8), "copy");
    std::copy_n(from.truth.begin(), count, to.truth.begin());
  }
  // to += a from
  void add(Lane& lane, Block& from, Block& to) {
    if (&from == &to || std::abs(from.truth[0]) > kMost) return;
    use(lane, from);
    use(lane, to);
    const std::size_t count = std::min(from.truth.size(), to.truth.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (std::abs(from.truth[i]) > kMost || std::abs(to.truth[i]) > kMost) return fill(lane, to);
    }
    const double a = digit();
    const std::array operands{number(static_cast<std::int64_t>(count)), real(a), at(from.buffer, 1),
                              at(to.buffer, 1)};
    shared_.expect_ok(ob_call(lane.queue, "daxpy", operands.data(), operands.size()), "call");
    for (std::size_t i = 0; i < count; ++i) to.truth[i] += a * from.truth[i];
  }
  void launch(Lane& lane, Block& block) {
    if (shared_.module == nullptr) return;
    use(lane, block);
    const double a = digit();
    const std::uint64_t count = block.truth.size();
    const std::array arguments{number_of(a), buffer_at(block.buffer), number_of(count)};
    const std::uint32_t groups[3] = {static_cast<std::uint32_t>((count + 63) / 64), 1, 1};
    const std::uint32_t size[3] = {64, 1, 1};
    ob_kernel kernel = nullptr;
    shared_.expect_ok(ob_kernel_create(shared_.module, "add", &kernel), "create a kernel");
    for (std::uint32_t i = 0; i < arguments.size(); ++i) {
      shared_.expect_ok(ob_kernel_set(kernel, i, &arguments[i]), "set");
    }
    shared_.expect_ok(ob_kernel_run(kernel, lane.queue, groups, size), "run");
    shared_.expect_ok(ob_kernel_destroy(kernel), "destroy a kernel");
    for (double& each : block.truth) each += a;
  }
  void call_back(Lane& lane) {
    ++lane.callbacks;
    shared_.expect_ok(ob_queue_callback(lane.queue, Lane::call, &lane), "callback");
  }
  // Queues of all threads hold for events of all threads.
  void hold_for_others(Lane& lane) {
    shared_.expect_ok(ob_event_record(shared_.events[index_], lane.queue), "record");
    Lane& other = *lanes_[pick(kQueues)];
    shared_.expect_ok(ob_event_hold(shared_.events[pick(kThreads)], other.queue), "hold");
  }
  void wait_for_event(Lane& lane) {
    shared_.expect_ok(ob_event_record(lane.passed, lane.queue), "record");
    const ob_status now = ob_event_wait(lane.passed, 0);
    shared_.expect(now == OB_OK || now == OB_DEADLINE_EXCEEDED, "an event that is asked");
    shared_.expect_ok(ob_event_wait(lane.passed, OB_FOREVER), "wait for an event");
  }

  void step() {
    std::unique_ptr<Lane>& slot = lanes_[pick(kQueues)];
    Lane& lane = *slot;
    Block& block = blocks_[pick(kBuffers)];
    Block& other = blocks_[pick(kBuffers)];
    switch (pick(24)) {
      case 0: return synchronize(lane);
      case 1: return renew(block);
      case 2: return hold_for_others(lane);
      case 3: return wait_for_event(lane);
      case 4: return fill(lane, block);
      case 5:
        close(lane);
        slot = open();
        return;
      case 6: return (void)shared_.expect_ok(ob_queue_flush(lane.queue), "flush");
      case 7:
      case 8: return call_back(lane);
      case 9:
      case 10:
      case 11: return copy(lane, block, other);
      case 12:
      case 13:
      case 14: return add(lane, block, other);
      case 15:
      case 16: return launch(lane, block);
      case 17:
      case 18:
      case 19:
      case 20: return write(lane, block);
      default: return read(lane, block);
    }
  }

  Shared& shared_;
  const std::size_t index_;
  std::mt19937_64 random_;
  std::array<std::unique_ptr<Lane>, kQueues> lanes_;
  std::array<Block, kBuffers> blocks_;
};

class ApiStormTest : public ApiKernelTest {
 protected:
  bool needs_kernels() const override { return false; }
};

TEST_P(ApiStormTest, ManyThreadsAndQueuesAgreeWithTheHost) {
  const std::uint64_t seed = test_seed();
  Shared shared;
  shared.device = device;
  if (runs_kernels) {
    shared.module = load(kAdd);
    ASSERT_TRUE(succeeds(ob_module_wait(shared.module, OB_FOREVER)));
  }
  for (ob_event& event : shared.events) {
    ASSERT_TRUE(succeeds(ob_event_create(device, 0, &event)));
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&shared, i, seed] { Worker(shared, i, seed).blow(storm_steps()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(on, ApiStormTest,
                         testing::Values("local:cpu", "daemon:shm", "daemon:tcp"
#ifdef OB_TEST_KEYS
                                         ,
                                         "daemon:tls"
#endif
                                         ),
                         kernel_place_name);

}  // namespace
}  // namespace ob::test
