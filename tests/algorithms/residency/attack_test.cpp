// Simulates a program that writes its operands at random, through every path that it can use. The
// writes come between calls that cache the operands on a device. After each check by a call, the
// device must hold the contents of host memory.
//
// The oracle is the memory of the device itself, which this process can read. The test runs with
// memory that has a second mapping, without page tracking and with it (tracking must not arm such
// memory), and with private memory whose pages are tracked.
// OB_RESIDENCY_OPERATIONS sets the number of operations.

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "algorithms/residency/residency.hpp"
#include "attack_arena.hpp"
#include "backend/null/backend.hpp"
#include "support/forwarding_device.hpp"
#include "support/random.hpp"

namespace ob::algorithms {
namespace {

constexpr Triangle kTriangles[] = {Triangle::full,  Triangle::full,         Triangle::upper,
                                   Triangle::lower, Triangle::upper_strict, Triangle::lower_strict};

class Attack {
 public:
  Attack(std::mt19937_64& random, test::Arena& arena, PageTracker* tracker)
      : random_(random), arena_(arena), tracker_(tracker) {
    for (PlacedOperand& operand : known_) operand = new_operand();
  }

  void operation() {
    if (test::uniform(random_, 0, 9) < 4) {
      arena_.change();
    } else {
      call();
    }
  }

  std::uint64_t sent_bytes = 0;
  std::uint64_t kept_bytes = 0;
  std::uint64_t unread_bytes = 0;
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;

 private:
  struct Placed {
    PlacedOperand operand;
    BufferId buffer;
  };

  // Returns mostly known operands, which overlap and share addresses. Each use is different.
  PlacedOperand some_operand() {
    PlacedOperand operand = known_[test::uniform<std::size_t>(random_, 0, known_.size() - 1)];
    if (test::uniform(random_, 0, 29) == 0) {
      operand = known_[test::uniform<std::size_t>(random_, 0, known_.size() - 1)] = new_operand();
    }
    if (test::uniform(random_, 0, 3) == 0) {
      operand.home.triangle = operand.there.triangle = kTriangles[test::uniform(random_, 0, 5)];
    }
    operand.read = test::uniform(random_, 0, 9) != 0;
    operand.written = !operand.read || test::uniform(random_, 0, 4) == 0;
    operand.consumed = !operand.written && test::uniform(random_, 0, 9) == 0;
    operand.written_triangle = kTriangles[test::uniform(random_, 0, 5)];
    return operand;
  }

  PlacedOperand new_operand() {
    static constexpr std::uint64_t kRows[] = {1, 7, 16, 40};
    static constexpr std::uint64_t kCols[] = {1, 8, 16, 33};
    PlacedOperand operand;
    operand.data = arena_.data() + 512 * test::uniform<std::size_t>(random_, 0, 20);
    const std::uint32_t bytes = test::uniform(random_, 0, 3) != 0 ? 8 : 16;
    const std::uint64_t rows = kRows[test::uniform(random_, 0, 3)];
    const std::uint64_t cols = kCols[test::uniform(random_, 0, 3)];
    const std::uint64_t ld = rows + (test::uniform(random_, 0, 3) == 0 ? 3 : 0);
    const Triangle triangle = kTriangles[test::uniform(random_, 0, 5)];
    operand.home = {0, bytes, triangle, rows, cols, ld, 8};
    operand.there = {0, bytes, triangle, rows, cols, rows, 8};
    return operand;
  }

  void call() {
    ++calls;
    if (test::uniform(random_, 0, 19) == 0) {
      device_.fail_operation(test::uniform(random_, 1, 6), {Code::device_error, "by order"});
    }
    std::vector<Placed> placed;
    bool disturbed = false;
    Residency::Call call(residency_);
    Status status;
    for (int i = test::uniform(random_, 1, 3); i > 0 && status.ok(); --i) {
      const PlacedOperand operand = some_operand();
      auto placement = call.place(queue_, operand);
      status = placement.status();
      if (!placement.ok() || !placement->has_value()) continue;
      sent_bytes += (*placement)->sent_bytes;
      kept_bytes += (*placement)->kept_bytes;
      unread_bytes += (*placement)->unread_bytes;
      placed.push_back({operand, (*placement)->buffer});
      if (test::uniform(random_, 0, 19) == 0) {  // this call may use old or new contents
        arena_.change();
        disturbed = true;
      }
    }
    const Status passed = device_.synchronize(queue_).status;
    if (status.ok()) status = passed;
    if (status.ok()) {
      for (const Placed& p : placed) {
        if (!disturbed) expect_current(p);
      }
      for (const Placed& p : placed) compute(p);
    }
    device_.fail_operation(0, {});
    (void)device_.synchronize(queue_);
    if (!status.ok()) {
      ++failures;
    } else if (test::uniform(random_, 0, 29) != 0) {  // otherwise the routine itself failed
      for (const Placed& p : placed) bring_home(p);
      call.succeeded();
    }
  }

  void expect_current(const Placed& p) {
    if (!p.operand.read) return;
    ASSERT_EQ(digest_of(device_.host_view(p.buffer), {&p.operand.there, 1}),
              digest_of(p.operand.data, {&p.operand.home, 1}))
        << "wrong reuse";
  }

  // Changes the device's copies as a routine does. It writes results, garbage in consumed operands
  // and, sometimes, garbage in a triangle that the routine may overwrite.
  void compute(const Placed& p) {
    if (!p.operand.written && !p.operand.consumed) return;
    Region all = p.operand.there;
    all.triangle = test::uniform(random_, 0, 1) != 0 ? Triangle::full : p.operand.written_triangle;
    std::byte* const view = device_.host_view(p.buffer);
    const Layout elements = Layout::matrix(view, all);
    for (Layout::Cursor at(elements); !at.done(); at.advance(at.piece().size())) {
      for (std::byte& b : at.piece()) b = static_cast<std::byte>(random_() % 3);
    }
  }

  void bring_home(const Placed& p) {
    if (!p.operand.written) return;
    Region home = p.operand.home;
    Region there = p.operand.there;
    home.triangle = there.triangle = p.operand.written_triangle;
    copy(Layout::matrix(p.operand.data, home), Layout::matrix(device_.host_view(p.buffer), there));
  }

  std::mt19937_64& random_;
  test::Arena& arena_;
  PageTracker* const tracker_;
  std::array<PlacedOperand, 12> known_;
  std::unique_ptr<Device> inner_ = null::create({.memory_bytes = 1 << 20}).value();
  test::ForwardingDevice device_{*inner_};
  QueueId queue_ = device_.create_queue().value();
  Residency residency_{device_,
                       {.capacity_bytes = 100000,
                        .least_bytes = 100,
                        .chunk_bytes = 512,
                        .tracking = {tracker_, 100, 0}}};
};

// Returns the number of bytes that were reused without reading them again.
std::uint64_t attack(std::mt19937_64& random, test::Arena& arena, PageTracker* tracker) {
  const char* wanted = std::getenv("OB_RESIDENCY_OPERATIONS");
  const std::uint64_t operations = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 100000;
  Attack attack(random, arena, tracker);
  for (std::uint64_t i = 0; i < operations && !testing::Test::HasFailure(); ++i) attack.operation();
  const auto megabytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  std::printf(
      "%llu calls, %llu failed; %.1f MB sent, %.1f MB found there, %.1f MB of them unread\n",
      static_cast<unsigned long long>(attack.calls),
      static_cast<unsigned long long>(attack.failures), megabytes(attack.sent_bytes),
      megabytes(attack.kept_bytes), megabytes(attack.unread_bytes));
  // otherwise the attack has tested nothing
  EXPECT_GT(attack.kept_bytes * 10, attack.sent_bytes);
  EXPECT_GT(attack.failures * 200, attack.calls);
  EXPECT_LE(attack.unread_bytes, attack.kept_bytes);
  return attack.unread_bytes;
}

TEST(ResidencyAttack, NoCopyPassesForWhatItIsNot) {
  auto random = test::fresh_random();
  test::SharedArena arena(random);
  EXPECT_EQ(attack(random, arena, nullptr), 0u);
}

TEST(ResidencyAttack, MemoryWithASecondMappingIsNotTracked) {
  auto random = test::fresh_random();
  PageTracker tracker;
  test::SharedArena arena(random);
  EXPECT_EQ(attack(random, arena, &tracker), 0u);
}

TEST(ResidencyAttack, NorInTrackedMemory) {
  auto random = test::fresh_random();
  PageTracker tracker;
  test::PrivateArena arena(random);
  const bool tracks = test::tracks(tracker);
  const std::uint64_t unread_bytes = attack(random, arena, &tracker);
  EXPECT_EQ(unread_bytes > 500000, tracks);
}

}  // namespace
}  // namespace ob::algorithms
