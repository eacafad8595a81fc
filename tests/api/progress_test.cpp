// Progress without a thread that waits: callbacks, descriptors of events, times, and what is sent,
// received and noticed while the program does something else.

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "api/fixture.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Polls without any function of the library.
template <class Predicate>
bool comes_true(Predicate predicate) {
  const auto limit = steady_clock::now() + seconds(60);
  while (!predicate()) {
    if (steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

bool is_readable(int descriptor, int timeout_ms) {
  pollfd polled{descriptor, POLLIN, 0};
  return ::poll(&polled, 1, timeout_ms) == 1 && (polled.revents & POLLIN) != 0;
}

// The threads of this process with the name of the library's thread.
std::vector<std::filesystem::path> proxies() {
  std::vector<std::filesystem::path> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name == "ob-proxy") found.push_back(task.path());
  }
  return found;
}

// Returns the status of a child that does this.
template <class Body>
int in_forked_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// ThreadSanitizer ends a child that starts a thread.
#ifdef __SANITIZE_THREAD__
constexpr bool kThreadsAfterFork = false;
#else
constexpr bool kThreadsAfterFork = true;
#endif

// Holds the observations of a callback.
struct Seen {
  std::atomic<int> calls{0};
  ob_report report{};
  std::thread::id thread;
  static void note(void* user, const ob_report* report) {
    auto& seen = *static_cast<Seen*>(user);
    seen.report = *report;
    seen.thread = std::this_thread::get_id();
    ++seen.calls;
  }
};

class ApiProgressTest : public ApiTest {
 protected:
  ob_event event(std::uint32_t flags = 0) const {
    ob_event made = nullptr;
    EXPECT_TRUE(succeeds(ob_event_create(device, flags, &made)));
    return made;
  }
  // Hands over work that takes a while.
  void work(int rounds) {
    constexpr std::int64_t kN = 200;
    if (operand == nullptr) {
      const double zero = 0;
      operand = buffer(kN * kN * 8);
      EXPECT_TRUE(succeeds(ob_fill(queue, {operand, 0}, &zero, 8, kN * kN)));
      result = buffer(kN * kN * 8);
    }
    for (int i = 0; i < rounds; ++i) {
      ASSERT_TRUE(succeeds(multiply(queue, kN, operand, operand, result)));
    }
  }

  ob_buffer operand = nullptr;
  ob_buffer result = nullptr;
};

TEST_P(ApiProgressTest, ACallbackRunsThoughNobodyWaits) {
  Seen seen;
  const std::vector<double> values{1, 2, 3};
  std::vector<double> back(3, -1);
  const ob_buffer memory = buffer_of(values);
  ASSERT_TRUE(succeeds(ob_read(queue, back.data(), {memory, 0}, 24, 0)));
  ASSERT_TRUE(succeeds(ob_queue_callback(queue, Seen::note, &seen)));
  ASSERT_TRUE(comes_true([&] { return seen.calls == 1; }));
  EXPECT_EQ(back, values) << "a callback comes after the commands before it";
  EXPECT_NE(seen.thread, std::this_thread::get_id());
  EXPECT_EQ(seen.report.error.code, OB_OK);
  EXPECT_EQ(seen.report.failed_command, 0u);
  EXPECT_EQ(seen.report.struct_bytes, sizeof(ob_report));
}

TEST_P(ApiProgressTest, CallbacksOfAQueueKeepItsOrder) {
  constexpr int kCalls = 300;  // more than a queue has credits
  struct Numbered {
    std::vector<int>* order;
    int number;
  };
  std::vector<int> order;
  std::vector<Numbered> numbered;
  for (int i = 0; i < kCalls; ++i) numbered.push_back({&order, i});
  for (Numbered& each : numbered) {
    ASSERT_TRUE(succeeds(ob_queue_callback(
        queue,
        [](void* user, const ob_report*) {
          auto& mine = *static_cast<Numbered*>(user);
          mine.order->push_back(mine.number);
        },
        &each)));
  }
  // The end of a queue waits for its callbacks.
  ASSERT_TRUE(succeeds(ob_queue_destroy(queue)));
  std::vector<int> expected(kCalls);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
  ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &queue)));
}

TEST_P(ApiProgressTest, ACallbackSeesAFailureAndLeavesIt) {
  Seen seen;
  const ob_buffer memory = buffer(64);
  const double bad = 1;
  ASSERT_TRUE(succeeds(ob_write(queue, {memory, 0}, &bad, 8, OB_CAPTURE)));
  // A matrix that is not positive definite is no failure; a NaN in one that must be finite is.
  const double nan = std::nan("");
  ASSERT_TRUE(succeeds(ob_write(queue, {memory, 8}, &nan, 8, OB_CAPTURE)));
  const ob_buffer values = buffer(8);
  const ob_buffer info = buffer(8);
  ob_operand operands[] = {flag('N'), flag('U'), number(1), at(memory, 1, 8), at(values), at(info)};
  ASSERT_TRUE(succeeds(ob_call(queue, "dsyevd", operands, 6)));
  ASSERT_TRUE(succeeds(ob_queue_callback(queue, Seen::note, &seen)));
  ASSERT_TRUE(comes_true([&] { return seen.calls == 1; }));
  EXPECT_EQ(seen.report.error.code, OB_UNSUPPORTED);
  EXPECT_EQ(seen.report.failed_command, 3u);
  EXPECT_STREQ(seen.report.error.name, "dsyevd");
  ASSERT_TRUE(succeeds(ob_queue_callback(queue, Seen::note, &seen)));
  ASSERT_TRUE(comes_true([&] { return seen.calls == 2; }));
  EXPECT_EQ(seen.report.failed_command, 3u) << "it is still there";
  EXPECT_TRUE(fails(ob_queue_synchronize(queue, OB_FOREVER, nullptr), OB_UNSUPPORTED, ""));
  EXPECT_TRUE(synchronized());
}

// Each callback hands over the next command and the next callback, and no thread waits.
TEST_P(ApiProgressTest, CallbacksHandOverCommands) {
  struct Chain {
    ob_queue queue;
    ob_buffer counter;
    ob_buffer one;
    int left;
    ob_status failed = OB_OK;
    std::atomic<bool> over{false};
    static void step(void* user, const ob_report*) {
      auto& chain = *static_cast<Chain*>(user);
      if (chain.left-- == 0 || chain.failed != OB_OK) {
        chain.over = true;
        return;
      }
      ob_operand axpy[] = {number(1), real(1), at(chain.one, 1), at(chain.counter, 1)};
      chain.failed = ob_call(chain.queue, "daxpy", axpy, 4);
      if (chain.failed == OB_OK) chain.failed = ob_queue_callback(chain.queue, step, user);
      if (chain.failed != OB_OK) chain.over = true;
    }
  };
  ob_queue own = nullptr;
  ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &own)));
  Chain chain{own, buffer_of<double>({0}), buffer_of<double>({1}), 50};
  ASSERT_TRUE(synchronized());
  ASSERT_TRUE(succeeds(ob_queue_callback(own, Chain::step, &chain)));
  ASSERT_TRUE(comes_true([&] { return chain.over.load(); }));
  EXPECT_EQ(chain.failed, OB_OK);
  EXPECT_EQ(contents<double>(chain.counter, 1).front(), 50);
}

TEST_P(ApiProgressTest, ACallbackMayNotWait) {
  struct Tried {
    ob_queue queue;
    ob_event event;
    ob_device device;
    ob_buffer memory;
    ob_status codes[5];
    ob_status asks;
    std::atomic<bool> over{false};
  };
  ob_queue other = nullptr;
  ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &other)));
  Tried tried{other, event(), device, buffer(8), {}, 0};
  ASSERT_TRUE(succeeds(ob_queue_callback(
      queue,
      [](void* user, const ob_report*) {
        auto& all = *static_cast<Tried*>(user);
        double place = 0;
        all.codes[0] = ob_queue_synchronize(all.queue, OB_FOREVER, nullptr);
        all.codes[1] = ob_event_wait(all.event, 1000);
        all.codes[2] = ob_read(all.queue, &place, {all.memory, 0}, 8, OB_WAIT);
        all.codes[3] = ob_queue_destroy(all.queue);
        all.codes[4] = ob_device_close(all.device);
        all.asks = ob_event_wait(all.event, 0);
        all.over = true;
      },
      &tried)));
  ASSERT_TRUE(comes_true([&] { return tried.over.load(); }));
  for (const ob_status code : tried.codes) EXPECT_EQ(code, OB_INVALID_ARGUMENT);
  EXPECT_EQ(tried.asks, OB_OK) << "a question does not wait";
  EXPECT_TRUE(succeeds(ob_queue_destroy(other))) << "nothing was ended";
}

// Another program that polls the descriptor only.
TEST_P(ApiProgressTest, AnEventsDescriptorTellsOfItsRecord) {
  const ob_event done = event();
  int descriptor = -1;
  ASSERT_TRUE(succeeds(ob_event_fd(done, &descriptor)));
  EXPECT_TRUE(is_readable(descriptor, 0)) << "an event without a record is done";
  for (int round = 0; round < 3; ++round) {
    work(20);
    Seen seen;
    ASSERT_TRUE(succeeds(ob_queue_callback(queue, Seen::note, &seen)));
    ASSERT_TRUE(succeeds(ob_event_record(done, queue)));
    int again = -1;
    ASSERT_TRUE(succeeds(ob_event_fd(done, &again)));
    EXPECT_EQ(again, descriptor) << "an event has one descriptor";
    ASSERT_TRUE(is_readable(descriptor, 60'000));
    EXPECT_TRUE(succeeds(ob_event_wait(done, 0)));
    EXPECT_TRUE(is_readable(descriptor, 0)) << "it stays so";
    ASSERT_TRUE(comes_true([&] { return seen.calls == 1; }));
  }
}

TEST_P(ApiProgressTest, TheTimeBetweenEventsLiesWithinTheTimeOfTheWhole) {
  const ob_event events[] = {event(OB_TIMED), event(OB_TIMED), event(OB_TIMED)};
  std::uint64_t elapsed = 1;
  EXPECT_TRUE(
      fails(ob_event_elapsed_ns(events[0], events[1], &elapsed), OB_INVALID_ARGUMENT, "recorded"));
  const auto begin = steady_clock::now();
  for (const ob_event each : events) {
    ASSERT_TRUE(succeeds(ob_event_record(each, queue)));
    work(5);
  }
  ASSERT_TRUE(synchronized());
  const auto whole = std::chrono::nanoseconds(steady_clock::now() - begin).count();
  std::uint64_t times[3] = {};
  // The answers to the marks have come before that of the synchronize.
  ASSERT_TRUE(succeeds(ob_event_elapsed_ns(events[0], events[1], &times[0])));
  ASSERT_TRUE(succeeds(ob_event_elapsed_ns(events[1], events[2], &times[1])));
  ASSERT_TRUE(succeeds(ob_event_elapsed_ns(events[0], events[2], &times[2])));
  EXPECT_GT(times[0], 0u);
  EXPECT_EQ(times[0] + times[1], times[2]);
  EXPECT_LE(times[2], static_cast<std::uint64_t>(whole));
  EXPECT_TRUE(
      fails(ob_event_elapsed_ns(events[1], events[0], &elapsed), OB_INVALID_ARGUMENT, "later"));
  EXPECT_TRUE(
      fails(ob_event_elapsed_ns(event(), events[0], &elapsed), OB_INVALID_ARGUMENT, "OB_TIMED"));
  EXPECT_EQ(elapsed, 1u) << "outputs are set only after success";
}

TEST_P(ApiProgressTest, FillRepeatsItsPattern) {
  auto random = fresh_random();
  for (const std::uint32_t size : {1, 2, 4, 8, 16}) {
    std::vector<std::uint8_t> pattern(size), expected(5000);
    for (auto& byte : pattern) byte = static_cast<std::uint8_t>(random());
    for (auto& byte : expected) byte = static_cast<std::uint8_t>(random());
    const ob_buffer memory = buffer_of(expected);
    const std::uint64_t count = uniform<std::uint64_t>(random, 1, 4000 / size);
    const std::uint64_t offset = uniform<std::uint64_t>(random, 0, 900);
    ASSERT_TRUE(succeeds(ob_fill(queue, {memory, offset}, pattern.data(), size, count)));
    for (std::uint64_t i = 0; i < count * size; ++i) expected[offset + i] = pattern[i % size];
    EXPECT_EQ(contents<std::uint8_t>(memory, expected.size()), expected) << size << " x " << count;
  }
}

TEST_P(ApiProgressTest, FillRefusesOtherPatterns) {
  const ob_buffer memory = buffer(64);
  const char pattern[32] = {};
  for (const std::uint32_t size : {0, 3, 12, 32}) {
    EXPECT_TRUE(fails(ob_fill(queue, {memory, 0}, pattern, size, 1), OB_INVALID_ARGUMENT,
                      "1, 2, 4, 8 or 16"));
  }
  EXPECT_TRUE(fails(ob_fill(queue, {memory, 0}, nullptr, 8, 1), OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_TRUE(fails(ob_fill(queue, {memory, 8}, pattern, 8, 8), OB_INVALID_ARGUMENT, "fill"));
  EXPECT_TRUE(
      fails(ob_fill(queue, {memory, 0}, pattern, 16, UINT64_MAX), OB_INVALID_ARGUMENT, "fill"));
  EXPECT_TRUE(succeeds(ob_fill(queue, {memory, 64}, pattern, 8, 0)));
}

TEST_P(ApiProgressTest, TheThreadTakesNoSignalsAndEndsWithTheLastDevice) {
  Seen seen;
  ASSERT_TRUE(succeeds(ob_queue_callback(queue, Seen::note, &seen)));
  ASSERT_EQ(proxies().size(), 1u) << "one for all devices of the process";
  std::ifstream status(proxies().front() / "status");
  std::string line;
  while (std::getline(status, line) && !line.starts_with("SigBlk:")) {
  }
  const std::uint64_t blocked = std::stoull(line.substr(7), nullptr, 16);
  // Nobody can block SIGKILL (9) and SIGSTOP (19); 32 and 33 belong to the C library.
  const std::uint64_t exempt = 1ull << 8 | 1ull << 18 | 3ull << 31;
  EXPECT_EQ(blocked | exempt, UINT64_MAX) << line;
  ob_device second = nullptr;
  ASSERT_TRUE(succeeds(open_at(GetParam(), daemon, &second)));
  EXPECT_EQ(proxies().size(), 1u);
  ASSERT_TRUE(succeeds(ob_device_close(second)));
  EXPECT_EQ(proxies().size(), 1u);
  ASSERT_TRUE(succeeds(ob_device_close(device)));
  device = nullptr;
  EXPECT_EQ(seen.calls, 1) << "the end of a device waits for callbacks";
  EXPECT_TRUE(comes_true([] { return proxies().empty(); }));
}

TEST_P(ApiProgressTest, AForkedChildHasAThreadOfItsOwn) {
  Seen seen;
  ASSERT_TRUE(succeeds(ob_queue_callback(queue, Seen::note, &seen)));
  ASSERT_TRUE(comes_true([&] { return seen.calls == 1; }));
  EXPECT_EQ(in_forked_child([&] {
              if (!proxies().empty()) return 1;
              if (ob_queue_callback(queue, Seen::note, &seen) != OB_UNAVAILABLE) return 2;
              if (!kThreadsAfterFork) return 0;
              Seen own;
              ob_device opened = nullptr;
              ob_queue mine = nullptr;
              if (open_at(GetParam(), daemon, &opened) != OB_OK) return 3;
              if (ob_queue_create(opened, 0, &mine) != OB_OK) return 4;
              if (ob_queue_callback(mine, Seen::note, &own) != OB_OK) return 5;
              if (!comes_true([&] { return own.calls == 1; })) return 6;
              return ob_device_close(opened) == OB_OK ? 0 : 7;
            }),
            0);
  ASSERT_TRUE(succeeds(ob_queue_callback(queue, Seen::note, &seen)));
  EXPECT_TRUE(comes_true([&] { return seen.calls == 2; })) << "the parent's goes on";
}

INSTANTIATE_TEST_SUITE_P(Api, ApiProgressTest, testing::ValuesIn(kEverywhere), name_of);

// --- daemons -------------------------------------------------------------------------------------

class ApiDaemonTest : public testing::TestWithParam<Transport> {};

ob_device open(const std::string& where) {
  ob_device device = nullptr;
  EXPECT_TRUE(succeeds(ob_device_open(where.c_str(), nullptr, &device)));
  return device;
}

// Two threads of the daemon's: this one uses the device while the library is not called.
TEST_P(ApiDaemonTest, CommandsLeaveThoughNobodySendsThem) {
  const InProcessDaemon daemon(GetParam());
  const ob_device device = open(daemon.address());
  ob_queue queue = nullptr;
  ob_buffer memory = nullptr;
  ob_event event = nullptr;
  ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &queue)));
  ASSERT_TRUE(succeeds(ob_buffer_create(device, 64, OB_WAIT, &memory)));
  ASSERT_TRUE(succeeds(ob_event_create(device, 0, &event)));
  void* mapped = nullptr;
  if (GetParam() == Transport::shm) {
    ASSERT_TRUE(succeeds(ob_buffer_map(memory, &mapped)));
  }
  const std::uint64_t value = 0x0102030405060708;
  std::uint64_t back = 0;
  ASSERT_TRUE(succeeds(ob_write(queue, {memory, 0}, &value, 8, OB_CAPTURE)));
  ASSERT_TRUE(succeeds(ob_read(queue, &back, {memory, 0}, 8, 0)));
  // No function of the library from here on.
  EXPECT_TRUE(comes_true([&] {
    return __atomic_load_n(&back, __ATOMIC_ACQUIRE) == value &&
           (mapped == nullptr || *static_cast<volatile std::uint64_t*>(mapped) == value);
  }));
  EXPECT_TRUE(succeeds(ob_device_close(device)));
}

TEST_P(ApiDaemonTest, AnIdleSessionStaysOpen) {
  daemon::ServerConfig config;
  config.longest_idle = seconds(3);
  const InProcessDaemon daemon(GetParam(), one(null_device()), config);
  const ob_device device = open(daemon.address());
  ob_queue queue = nullptr;
  ob_buffer memory = nullptr;
  ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &queue)));
  ASSERT_TRUE(succeeds(ob_buffer_create(device, 8, OB_WAIT, &memory)));
  const double value = 2.5;
  ASSERT_TRUE(succeeds(ob_write(queue, {memory, 0}, &value, 8, OB_CAPTURE)));
  ASSERT_TRUE(succeeds(ob_queue_synchronize(queue, OB_FOREVER, nullptr)));
  std::this_thread::sleep_for(seconds(7));
  double back = 0;
  EXPECT_TRUE(succeeds(ob_read(queue, &back, {memory, 0}, 8, OB_WAIT)));
  EXPECT_EQ(back, value);
  EXPECT_TRUE(succeeds(ob_device_close(device)));
}

TEST_P(ApiDaemonTest, ALostDaemonIsToldToCallbacksAndDescriptors) {
  auto daemon = std::make_unique<InProcessDaemon>(GetParam(), one(null_device(1 << 28, 1)));
  const ob_device device = open(daemon->address());
  ob_queue queue = nullptr;
  ob_buffer memory = nullptr, result = nullptr;
  ob_event event = nullptr;
  ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &queue)));
  ASSERT_TRUE(succeeds(ob_buffer_create(device, 800 * 800 * 8, OB_WAIT, &memory)));
  ASSERT_TRUE(succeeds(ob_buffer_create(device, 800 * 800 * 8, OB_WAIT, &result)));
  ASSERT_TRUE(succeeds(ob_event_create(device, 0, &event)));
  // A second of work at 1 GFLOP/s, which the end of the daemon abandons.
  ASSERT_TRUE(succeeds(multiply(queue, 800, memory, memory, result)));
  ASSERT_TRUE(succeeds(ob_event_record(event, queue)));
  int descriptor = -1;
  ASSERT_TRUE(succeeds(ob_event_fd(event, &descriptor)));
  Seen seen;
  ASSERT_TRUE(succeeds(ob_queue_callback(queue, Seen::note, &seen)));
  daemon.reset();
  ASSERT_TRUE(comes_true([&] { return seen.calls == 1; }));
  EXPECT_TRUE(seen.report.error.code == OB_CONNECTION_LOST || seen.report.error.code == OB_OK);
  EXPECT_TRUE(is_readable(descriptor, 60'000));
  EXPECT_TRUE(comes_true([&] {
    return ob_queue_callback(queue, Seen::note, &seen) == OB_CONNECTION_LOST;
  })) << "the device is lost though nobody waits";
  (void)ob_device_close(device);
}

INSTANTIATE_TEST_SUITE_P(Api, ApiDaemonTest, testing::Values(Transport::tcp, Transport::shm),
                         [](const auto& tested) { return ob::test::name(tested); });

}  // namespace
}  // namespace ob::test
