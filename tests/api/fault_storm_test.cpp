// Random commands from 8 threads, each with 8 queues on two devices, while commands fail, memory is
// missing, processes of kernels are killed, and the daemon of the second device ends. Each queue
// has buffers of its own and keeps a copy of them on the host, which is the oracle: what ran before
// a failure has run right, the failure is that of the command which failed, and a queue goes on
// after it. OUTBOARD_STORM_STEPS makes the storm longer.

#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <thread>
#include <utility>

#include "api/kernel_fixture.hpp"
#include "api/storm_steps.hpp"
#include "support/calling_kernel.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

constexpr std::size_t kThreads = 8, kLanes = 4;  // lanes of a thread on each device
constexpr std::size_t kElements = 1 << 12;
constexpr const char* kDouble =
    "__kernel void twice(__global double* y) { y[get_global_id(0)] *= 2; }";

// A device of the storm.
struct Place {
  ob_device device = nullptr;
  ob_module module = nullptr;     // none where no kernels run
  bool memory_is_late = false;    // a buffer that cannot be had fails the commands that use it
  bool kills = false;             // somebody kills the processes of its kernels
  std::atomic<bool> ends{false};  // somebody ends its daemon
};

struct Faults {
  std::atomic<int> wrong{0};
  std::atomic<std::uint64_t> failures{0}, faults{0}, losses{0};

  void expect(bool right, const char* what) {
    if (right) return;
    if (++wrong <= 5) std::fprintf(stderr, "wrong: %s (%s)\n", what, last_error().message);
  }
};

// A queue with a buffer, and what must hold when it is synchronized.
class Lane {
 public:
  Lane(Place& place, Faults& faults, std::mt19937_64& random)
      : place_(place), faults_(faults), random_(random) {
    if (!does(ob_queue_create(place_.device, 0, &queue_), "create a queue")) return;
    if (does(ob_buffer_create(place_.device, kElements * 8, 0, &buffer_), "create")) fill();
  }

  void step() {
    if (lost_) return;
    switch (uniform(random_, 0, 11)) {
      case 0: return synchronize();
      case 1: return fail_by_pivots();
      case 2: return fail_by_memory();
      case 3:
      case 4: return launch();
      case 5: return fill();
      case 6: return scale();
      case 7:
      case 8: return write();
      default: return read();
    }
  }
  void close() {
    synchronize();
    if (lost_) return;
    does(ob_buffer_destroy(buffer_), "destroy");
    does(ob_queue_destroy(queue_), "destroy a queue");
  }

 private:
  struct Read {
    std::uint64_t number;
    std::vector<double> seen, expected;
  };

  bool is_loss(ob_status status) {
    if (status != OB_CONNECTION_LOST || !place_.ends) return false;
    if (!std::exchange(lost_, true)) ++faults_.losses;
    return true;
  }
  // A command that was handed over, or a call, succeeds unless the daemon has gone.
  bool does(ob_status status, const char* what) {
    if (is_loss(status)) return false;
    faults_.expect(status == OB_OK, what);
    return status == OB_OK;
  }
  bool command(ob_status status, const char* what) {
    if (does(status, what)) ++number_;
    return !lost_;
  }
  double digit() { return static_cast<double>(uniform(random_, 1, 9)); }
  ob_place here() const { return {buffer_, 0}; }

  void fill() {
    const double value = digit();
    if (command(ob_fill(queue_, here(), &value, 8, kElements), "fill")) {
      truth_.assign(kElements, value);
    }
  }
  void write() {
    const auto from = uniform<std::size_t>(random_, 0, kElements - 1);
    std::vector<double> elements(uniform<std::size_t>(random_, 1, kElements - from), digit());
    const ob_status status =
        ob_write(queue_, {buffer_, from * 8}, elements.data(), elements.size() * 8, OB_CAPTURE);
    if (!command(status, "write")) return;
    std::copy(elements.begin(), elements.end(), truth_.begin() + static_cast<std::ptrdiff_t>(from));
  }
  void read() {
    reads_.push_back({number_ + 1, std::vector<double>(kElements, -77), truth_});
    command(ob_read(queue_, reads_.back().seen.data(), here(), kElements * 8, 0), "read");
  }
  // Small numbers stay exact.
  bool is_small() const { return std::abs(truth_.front()) + std::abs(truth_.back()) < 1e6; }
  void scale() {
    if (!is_small()) return fill();
    const std::array operands{number(static_cast<std::int64_t>(kElements)), real(3),
                              at(buffer_, 1)};
    if (!command(ob_call(queue_, "dscal", operands.data(), operands.size()), "call")) return;
    for (double& each : truth_) each *= 3;
  }
  void launch() {
    if (place_.module == nullptr) return;
    if (!is_small()) return fill();
    ob_kernel kernel = nullptr;
    const ob_argument argument = buffer_at(buffer_);
    const std::uint32_t groups[3] = {kElements / 64, 1, 1}, size[3] = {64, 1, 1};
    if (!does(ob_kernel_create(place_.module, "twice", &kernel), "create a kernel") ||
        !does(ob_kernel_set(kernel, 0, &argument), "set")) {
      return;
    }
    if (command(ob_kernel_run(kernel, queue_, groups, size), "run")) {
      launches_.push_back(number_);
      for (double& each : truth_) each *= 2;
    }
    does(ob_kernel_destroy(kernel), "destroy a kernel");
  }
  // Pivots that are none are found where the elements are.
  void fail_by_pivots() {
    ob_buffer pivots = nullptr;
    const std::int64_t wrong = 99;
    if (!does(ob_buffer_create(place_.device, 32, 0, &pivots), "create") ||
        !command(ob_write(queue_, {pivots, 0}, &wrong, 8, OB_CAPTURE), "write")) {
      return;
    }
    const std::array operands{flag('N'),  number(1),         number(1),        at(pivots, 1, 8),
                              at(pivots), at(pivots, 1, 16), at(pivots, 0, 24)};
    if (command(ob_call(queue_, "dgetrs", operands.data(), operands.size()), "a wrong call")) {
      note_failure(OB_INVALID_ARGUMENT);
    }
    does(ob_buffer_destroy(pivots), "destroy");
  }
  void fail_by_memory() {
    ob_buffer missing = nullptr;
    if (!place_.memory_is_late) return;
    if (!does(ob_buffer_create(place_.device, std::uint64_t{1} << 50, 0, &missing), "create")) {
      return;
    }
    const double value = 1;
    if (command(ob_fill(queue_, {missing, 0}, &value, 8, 1), "fill without memory")) {
      note_failure(OB_OUT_OF_MEMORY);
    }
    does(ob_buffer_destroy(missing), "destroy");
  }
  void note_failure(ob_status code) {
    if (first_failure_ == 0) first_failure_ = number_, failure_code_ = code;
  }

  void synchronize() {
    if (lost_) return;
    ob_report report{};
    report.struct_bytes = sizeof report;
    const ob_status status = ob_queue_synchronize(queue_, OB_FOREVER, &report);
    if (is_loss(status)) return;
    const std::uint64_t failed = report.failed_command;
    const bool is_launch = std::find(launches_.begin(), launches_.end(), failed) != launches_.end();
    const bool killed = place_.kills && (status == OB_KERNEL_FAULT || status == OB_BUSY) &&
                        is_launch && (first_failure_ == 0 || failed < first_failure_);
    if (killed) {
      ++faults_.faults;
    } else {
      faults_.expect(status == failure_code_, "the outcome of a queue");
      faults_.expect(failed == first_failure_, "the number of the command that failed");
      if (status != OB_OK) ++faults_.failures;
    }
    for (const Read& read : reads_) {
      if (status == OB_OK || read.number < failed) {
        faults_.expect(read.seen == read.expected, "elements that were read");
      }
    }
    start_over(status != OB_OK);
  }
  // Memory that commands behind a failure were to fill has undefined contents.
  void start_over(bool refill) {
    reads_.clear();
    launches_.clear();
    first_failure_ = 0;
    failure_code_ = OB_OK;
    if (refill) fill();
  }

  Place& place_;
  Faults& faults_;
  std::mt19937_64& random_;
  ob_queue queue_ = nullptr;
  ob_buffer buffer_ = nullptr;
  std::vector<double> truth_ = std::vector<double>(kElements);
  std::uint64_t number_ = 0;  // of the last command
  std::deque<Read> reads_;    // their memory stays where it is
  std::vector<std::uint64_t> launches_;
  std::uint64_t first_failure_ = 0;
  ob_status failure_code_ = OB_OK;
  bool lost_ = false;
};

class ApiFaultStormTest : public ApiKernelTest {
 protected:
  bool needs_kernels() const override { return false; }

  // The second device; its daemon ends in the storm.
  void SetUp() override {
    ApiKernelTest::SetUp();
    if (IsSkipped()) return;
    auto made = require(cpu::create({.memory_bytes = 1 << 28, .threads = 1, .gflops_double = 10}));
    mortal_ = std::make_unique<InProcessDaemon>(Transport::tcp, one(std::move(made)));
    places_[0].device = device;
    places_[0].memory_is_late = places_[0].kills = daemon != nullptr;
    places_[1].memory_is_late = true;
    ASSERT_TRUE(succeeds(ob_device_open(mortal_->address().c_str(), nullptr, &places_[1].device)));
    if (!runs_kernels) return;
    places_[0].module = load(kDouble);
    ASSERT_TRUE(succeeds(ob_module_wait(places_[0].module, OB_FOREVER)));
  }

  void blow(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::unique_ptr<Lane>> lanes;
    for (Place& place : places_) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        lanes.push_back(std::make_unique<Lane>(place, faults_, random));
      }
    }
    for (std::size_t i = 0; i < storm_steps() && faults_.wrong == 0; ++i) {
      lanes[uniform<std::size_t>(random, 0, lanes.size() - 1)]->step();
      ++steps_;
    }
    for (auto& lane : lanes) lane->close();
  }
  // Waits until the storm has come so far, or has ended.
  void await_part(double part) const {
    const double all = static_cast<double>(kThreads * storm_steps());
    while (static_cast<double>(steps_) < part * all && faults_.wrong == 0 && !over_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // A session whose processes end more than five times in a minute gets none for a while. Each new
  // process compiles again.
  void kill_some() const {
    const int kills = storm_steps() < 1000 ? 2 : 4;
    for (int i = 0; i < kills; ++i) {
      await_part((i + 1) / (kills + 1.0));
      for (const pid_t worker : kernel_workers()) (void)kill(worker, SIGKILL);
    }
  }

  std::unique_ptr<InProcessDaemon> mortal_;
  std::array<Place, 2> places_;
  Faults faults_;
  std::atomic<std::uint64_t> steps_{0};
  std::atomic<bool> over_{false};
};

TEST_P(ApiFaultStormTest, FailuresStayWhereTheyBelong) {
  const std::uint64_t seed = test_seed();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i, seed] { blow(seed + i); });
  }
  std::thread killer([this] {
    if (places_[0].kills) kill_some();
  });
  await_part(0.5);
  places_[1].ends = true;
  mortal_->stop();
  for (std::thread& thread : threads) thread.join();
  over_ = true;
  killer.join();
  EXPECT_EQ(faults_.wrong, 0);
  EXPECT_GT(faults_.failures, 0u);
  EXPECT_GT(faults_.losses, 0u);
  std::printf("%llu failures, %llu faults of kernels, %llu queues lost\n",
              static_cast<unsigned long long>(faults_.failures),
              static_cast<unsigned long long>(faults_.faults),
              static_cast<unsigned long long>(faults_.losses));
  EXPECT_TRUE(succeeds(ob_device_close(places_[1].device)));
}

INSTANTIATE_TEST_SUITE_P(on, ApiFaultStormTest,
                         testing::Values("local:cpu", "daemon:shm", "daemon:tcp"
#ifdef OB_TEST_KEYS
                                         ,
                                         "daemon:tls"
#endif
                                         ),
                         kernel_place_name);

}  // namespace
}  // namespace ob::test
