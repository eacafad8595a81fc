// Engines with different settings live in one process and do not influence each other.

#include "offload/engine.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "offload/report_block.hpp"
#include "support/dgemm.hpp"
#include "support/forwarding_device.hpp"
#include "support/in_process_daemon.hpp"
#include "support/temporary_folder.hpp"

namespace ob::offload {
namespace {

using test::InProcessDaemon;
using test::Transport;

constexpr std::int64_t kOrder = 48;

std::unique_ptr<Device> processor(unsigned corrupt = 0) {
  return test::require(cpu::create({.memory_bytes = 1 << 28, .threads = 1, .corrupt = corrupt}));
}

// C = A B, with a loop for comparison.
class Product {
 public:
  explicit Product(std::uint64_t seed) : a_(elements()), b_(elements()), c_(elements(), kPoison) {
    for (std::size_t i = 0; i < a_.size(); ++i) {
      a_[i] = std::sin(static_cast<double>(seed + i));
      b_[i] = std::cos(static_cast<double>(seed + 3 * i));
    }
    test::square_dgemm(kOrder, call_.items);
    set("a", a_);
    set("b", b_);
    set("c", c_);
  }

  LibraryCall call() const { return {test::dgemm(), call_.items}; }

  bool is_right() const {
    for (std::int64_t i = 0; i < kOrder; ++i) {
      for (std::int64_t j = 0; j < kOrder; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < kOrder; ++k) sum += a_[at(i, k)] * b_[at(k, j)];
        // |error| <= k eps |A| |B|, with elements of at most 1
        if (!(std::abs(c_[at(i, j)] - sum) <= kOrder * kOrder * 0x1p-52)) return false;
      }
    }
    return true;
  }
  bool is_untouched() const {
    for (const double element : c_) {
      if (element != kPoison) return false;
    }
    return true;
  }

 private:
  static constexpr double kPoison = -1e30;
  static std::size_t elements() { return static_cast<std::size_t>(kOrder * kOrder); }
  static std::size_t at(std::int64_t row, std::int64_t column) {
    return static_cast<std::size_t>(row + column * kOrder);
  }
  void set(std::string_view name, std::vector<double>& matrix) {
    test::argument_named(call_.items, test::dgemm(), name).host = {matrix.data(), kOrder};
  }

  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> c_;
  CallArguments call_;
};

class EngineTest : public testing::Test {
 protected:
  // Settings of an engine that sends every call it may, with a report of its own.
  Config sending_to(const InProcessDaemon& daemon, const std::string& name) {
    Config config;
    config.mode = Mode::remote;
    config.servers = {daemon.address()};
    config.quiet = true;
    config.report_directory = folder_.file(name);
    std::filesystem::create_directory(config.report_directory);
    return config;
  }

  // Returns the report of that name, as another process sees it.
  const ReportBlock& report(const std::string& name) {
    const std::string file = folder_.file(name) + "/report." + std::to_string(::getpid()) + ".bin";
    const int fd = ::open(file.c_str(), O_RDONLY);
    void* at = ::mmap(nullptr, sizeof(ReportBlock), PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    if (at == MAP_FAILED) std::abort();
    return *static_cast<const ReportBlock*>(at);
  }

  const test::TemporaryFolder folder_;
};

bool runs_remotely(Engine& engine, const Product& product) {
  const CallDecision decision = engine.decide(product.call());
  return decision.remote && engine.run(product.call(), decision);
}

TEST_F(EngineTest, EachHasItsOwnModeRoutinesAccuracyAndReport) {
  const std::unique_ptr<Device> inner = processor();
  auto device = std::make_unique<test::ForwardingDevice>(*inner);
  device->distinguish(0xf);  // all modes of accuracy
  InProcessDaemon daemon(Transport::shm, test::one(std::move(device)));
  Engine sends(sending_to(daemon, "sends"));
  Config denied = sending_to(daemon, "denies");
  denied.routines = {"-dgemm"};
  Engine denies(denied);
  Config exact = sending_to(daemon, "strict");
  exact.accuracy = Accuracy::strict;
  Engine strict(exact);
  Config traced = sending_to(daemon, "traces");
  traced.mode = Mode::trace;
  Engine traces(traced);
  Config switched_off;
  switched_off.mode = Mode::off;
  const Engine off(switched_off);

  const Product product(1);
  EXPECT_FALSE(denies.decide(product.call()).remote);
  EXPECT_FALSE(traces.decide(product.call()).remote);
  EXPECT_TRUE(product.is_untouched());
  EXPECT_TRUE(runs_remotely(sends, product));
  EXPECT_TRUE(product.is_right());
  const Product another(2);
  EXPECT_TRUE(runs_remotely(strict, another));
  EXPECT_TRUE(another.is_right());

  EXPECT_EQ(sends.least_flop(), 0);
  EXPECT_TRUE(std::isinf(off.least_flop()));
  for (const char* name : {"sends", "denies", "strict", "traces"}) {
    const ReportRow& row = report(name).row[0];
    const bool remote = name == std::string_view("sends") || name == std::string_view("strict");
    EXPECT_STREQ(row.name, "dgemm") << name;
    EXPECT_EQ(row.calls, 1u) << name;
    EXPECT_EQ(row.remote, remote ? 1u : 0u) << name;
    EXPECT_EQ(row.eligible, name == std::string_view("denies") ? 0u : 1u) << name;
    EXPECT_EQ(row.strict, name == std::string_view("strict") ? 1u : 0u) << name;
    EXPECT_STREQ(report(name).server, remote ? daemon.address().c_str() : "") << name;
    EXPECT_STREQ(report(name).mode, name == std::string_view("traces") ? "trace" : "remote");
  }
}

// The daemon's results are wrong: only the engine that checks them detects this.
TEST_F(EngineTest, OnlyTheOneThatVerifiesRefusesWrongResults) {
  InProcessDaemon daemon(Transport::shm, test::one(processor(1)));
  Config checked = sending_to(daemon, "verifies");
  checked.verify = true;
  Engine verifies(checked);
  Engine trusts(sending_to(daemon, "trusts"));
  const Product product(3);
  EXPECT_FALSE(runs_remotely(verifies, product));
  EXPECT_TRUE(runs_remotely(trusts, product));
  EXPECT_FALSE(product.is_right());
  EXPECT_EQ(report("verifies").row[0].mismatched, 1u);
  EXPECT_EQ(report("verifies").row[0].fell_back, 1u);
  EXPECT_EQ(report("trusts").row[0].mismatched, 0u);
  EXPECT_EQ(report("trusts").row[0].fell_back, 0u);
}

TEST_F(EngineTest, ALostServerIsLostToOneEngine) {
  InProcessDaemon lost(Transport::shm, test::one(processor()));
  InProcessDaemon kept(Transport::shm, test::one(processor()));
  auto loses = std::make_unique<Engine>(sending_to(lost, "loses"));
  Engine keeps(sending_to(kept, "keeps"));
  const Product product(4);
  EXPECT_TRUE(runs_remotely(*loses, product));
  lost.stop();
  const Product second(5);
  EXPECT_FALSE(runs_remotely(*loses, second));
  EXPECT_TRUE(second.is_untouched());
  EXPECT_TRUE(runs_remotely(keeps, second));
  EXPECT_TRUE(second.is_right());
  EXPECT_STRNE(report("loses").notice, "");
  EXPECT_STREQ(report("keeps").notice, "");
  loses.reset();
  const Product third(6);
  EXPECT_TRUE(runs_remotely(keeps, third));
  EXPECT_TRUE(third.is_right());
}

// An engine does not use what another engine has learnt about its local library and server.
TEST_F(EngineTest, EachLearnsForItself) {
  InProcessDaemon daemon(Transport::shm, test::one(processor()));
  Config config = sending_to(daemon, "knows");
  config.mode = Mode::automatic;
  Engine knows(config);
  config.report_directory.clear();
  Engine ignorant(config);
  const Product product(7);
  const CallDecision decision = knows.decide(product.call());
  EXPECT_FALSE(decision.remote);
  // They started at time 0, so they took very long. The first one counts for nothing.
  for (int i = 0; i < 2; ++i) knows.count_local(test::dgemm(), decision, 0);
  const auto answer = knows.explain("dgemm", "48", nullptr);
  ASSERT_TRUE(answer.ok());
  EXPECT_NE(answer->find("local_from observed"), std::string::npos) << *answer;
  const auto other = ignorant.explain("dgemm", "48", nullptr);
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->find("local_from unknown"), std::string::npos) << *other;
  EXPECT_EQ(ignorant.explain("dgem", "48", nullptr).status().code(), Code::invalid_argument);
}

// Returns a number of an answer; -1 if it is missing.
double number_in(const std::string& answer, const std::string& key) {
  const std::size_t at = answer.find("\n" + key + " ");
  return at == std::string::npos ? -1 : std::atof(answer.c_str() + at + key.size() + 2);
}

// The daemon tells what its device does in LAPACK and transforms. This device takes the same time
// for all work; scaled from the rate of products, the factorization would take twice as long and
// the transform 25 times.
TEST_F(EngineTest, ExpectsTheRatesThatTheDaemonTells) {
  constexpr double kGflops = 700;
  InProcessDaemon daemon(Transport::shm, test::one(test::null_device(1ULL << 30, kGflops)));
  Config config = sending_to(daemon, "believes");
  config.mode = Mode::automatic;
  Engine engine(config);
  constexpr std::pair<const char*, const char*> kCalls[] = {
      {"dgetrf", "1500"}, {"dgesdd", "700"}, {"fftw c2c", "1024x1024"}};
  for (const auto& [routine, sizes] : kCalls) {
    const auto answer = engine.explain(routine, sizes, nullptr);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    const double expected_s = number_in(*answer, "flop") / (kGflops * 1e9);
    EXPECT_NEAR(number_in(*answer, "compute_s"), expected_s, 0.01 * expected_s) << *answer;
    EXPECT_NE(answer->find("device_from told"), std::string::npos) << *answer;
  }
}

TEST_F(EngineTest, ARehearsalLeavesTheProgramsMemoryAlone) {
  InProcessDaemon daemon(Transport::shm, test::one(processor()));
  Engine engine(sending_to(daemon, "rehearses"));
  const Product product(8);
  const CallDecision decision = engine.decide(product.call());
  ASSERT_TRUE(decision.remote);
  engine.rehearse(product.call(), decision);
  EXPECT_TRUE(product.is_untouched());
  EXPECT_GT(report("rehearses").row[0].tried, 0u);
  // A call that happens writes its results as ever.
  EXPECT_TRUE(runs_remotely(engine, product));
  EXPECT_TRUE(product.is_right());
}

// A transform of reals in rows with gaps: the private output has none.
TEST_F(EngineTest, ARehearsedTransformLeavesTheProgramsMemoryAlone) {
  InProcessDaemon daemon(Transport::shm, test::one(processor()));
  Engine engine(sending_to(daemon, "rehearses"));
  constexpr std::uint64_t kRows = 6, kColumns = 10, kHalf = kColumns / 2 + 1;
  constexpr std::int64_t kPitch = 2 * (kHalf + 3) * sizeof(double);
  FftTransform transform;
  transform.plan.kind = FftKind::r2c;
  transform.plan.precision = Precision::z;
  transform.plan.rank = 2;
  transform.plan.n = {kRows, kColumns};
  transform.input = {sizeof(double), 2, {{{kRows, kPitch}, {kColumns, sizeof(double)}}}};
  transform.output = {2 * sizeof(double), 2, {{{kRows, kPitch}, {kHalf, 2 * sizeof(double)}}}};
  std::vector<std::byte> input(kRows * kPitch), output(kRows * kPitch, std::byte{0x5a});
  for (bool in_place : {true, false}) {
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(i % 61);
    const std::vector<std::byte> given = input;
    const FftArrays arrays{input.data(), in_place ? input.data() : output.data()};
    engine.rehearse_fft({transform, nullptr, std::nullopt}, arrays);
    EXPECT_EQ(input, given);
    EXPECT_EQ(output, std::vector<std::byte>(output.size(), std::byte{0x5a}));
    const std::string name = report("rehearses").row[0].name;
    EXPECT_EQ(report("rehearses").row[0].tried, in_place ? 1u : 2u) << name;
  }
}

// A product about which is decided, but which does not run. Nobody touches its operands.
class DecidedProduct {
 public:
  // The sum of `terms` outer products; all matrices get the space of square ones.
  DecidedProduct(std::int64_t order, std::int64_t terms) {
    test::square_dgemm(order, call_.items);
    test::argument_named(call_.items, test::dgemm(), "k").dim = terms;
    for (const std::string_view name : {"a", "b", "c"}) {
      matrices_.emplace_back(new double[static_cast<std::size_t>(order * order)]);
      Argument& matrix = test::argument_named(call_.items, test::dgemm(), name);
      matrix.host = {matrices_.back().get(), order};
    }
  }
  // This program is its library, which is unknown: so the device on its own cores may gain.
  LibraryCall call(Accuracy accuracy) const {
    return {test::dgemm(), call_.items, {}, reinterpret_cast<const void*>(&processor), accuracy};
  }

 private:
  std::vector<std::unique_ptr<double[]>> matrices_;
  CallArguments call_;
};

// Returns an engine that sends `large`. A machine that is busy while the link is measured may make
// the link look slow, so another engine may have to measure it.
std::unique_ptr<Engine> engine_that_sends(const DecidedProduct& large, const Config& config) {
  constexpr int kMostEngines = 50;
  for (int i = 0; i < kMostEngines; ++i) {
    auto engine = std::make_unique<Engine>(config);
    if (engine->decide(large.call(Accuracy::standard)).remote) return engine;
  }
  ADD_FAILURE() << "the link always looks too slow";
  return std::make_unique<Engine>(config);
}

// Accuracy strict keeps the side of the first call, also where the other side gains.
TEST_F(EngineTest, StrictCallsKeepTheSideOfTheFirstOne) {
  InProcessDaemon daemon(Transport::shm, test::one(test::null_device(1ULL << 31, 1e5)));
  Config config = sending_to(daemon, "keeps_its_side");
  config.mode = Mode::automatic;
  config.first_wait = std::chrono::minutes(1);
  const DecidedProduct small(1100, 1);     // transfers alone take longer than the call
  const DecidedProduct large(8000, 8000);  // seconds here, and over a slow link still less there
  const auto small_first = engine_that_sends(large, config);
  EXPECT_FALSE(small_first->decide(small.call(Accuracy::standard)).remote);
  EXPECT_FALSE(small_first->decide(small.call(Accuracy::strict)).remote);
  EXPECT_FALSE(small_first->decide(large.call(Accuracy::strict)).remote);
  const auto large_first = engine_that_sends(large, config);
  EXPECT_TRUE(large_first->decide(large.call(Accuracy::strict)).remote);
  EXPECT_FALSE(large_first->decide(small.call(Accuracy::standard)).remote);
  EXPECT_TRUE(large_first->decide(small.call(Accuracy::strict)).remote);
}

// The first server is down, so the answer is about the second one.
TEST_F(EngineTest, ExplainsWithTheServerThatItReached) {
  InProcessDaemon gone(Transport::tcp, test::one(processor()));
  const std::string dead = gone.address();
  InProcessDaemon alive(Transport::shm, test::one(processor()));
  gone.stop();
  Config config = sending_to(alive, "explains");
  config.mode = Mode::automatic;
  config.servers = {dead, alive.address()};
  Engine engine(config);
  const auto answer = engine.explain("dgemm", "48", nullptr);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_NE(answer->find("server " + alive.address() + "\n"), std::string::npos) << *answer;
  EXPECT_NE(answer->find("device cpu "), std::string::npos) << *answer;
}

TEST_F(EngineTest, TheyWorkAtTheSameTime) {
  InProcessDaemon daemon(Transport::tcp, test::one(processor()));
  Config config = sending_to(daemon, "resident");
  Engine resident(config);
  config = sending_to(daemon, "striped");
  config.resident_bytes = 0;
  config.streams = 2;
  Engine striped(config);
  constexpr int kCalls = 20;
  const auto work = [](Engine& engine) {
    for (int i = 0; i < kCalls; ++i) {
      const Product product(static_cast<std::uint64_t>(i));
      EXPECT_TRUE(runs_remotely(engine, product));
      EXPECT_TRUE(product.is_right());
    }
  };
  std::thread first(work, std::ref(resident));
  std::thread second(work, std::ref(striped));
  first.join();
  second.join();
  EXPECT_EQ(report("resident").row[0].remote, std::uint64_t{kCalls});
  EXPECT_EQ(report("striped").row[0].remote, std::uint64_t{kCalls});
}

}  // namespace
}  // namespace ob::offload
