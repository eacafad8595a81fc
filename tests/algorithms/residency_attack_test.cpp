// A program that writes its operands through every path it can find, at random, between calls that
// keep copies of them on a device: each time a call looks, the device must have what memory has.
//
// The oracle is the memory of the device itself, which this process can see.
// OB_RESIDENCY_OPERATIONS sets how long it goes on.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "algorithms/residency.hpp"
#include "backend/null/backend.hpp"
#include "support/forwarding_device.hpp"
#include "support/random.hpp"

namespace ob::algorithms {
namespace {

constexpr std::size_t kArenaBytes = 64 << 10;
constexpr Triangle kTriangles[] = {Triangle::full,  Triangle::full,         Triangle::upper,
                                   Triangle::lower, Triangle::upper_strict, Triangle::lower_strict};

// Memory of a program, and the ways to change it.
class Arena {
 public:
  explicit Arena(std::mt19937_64& random) : random_(random) {
    file_ = memfd_create("attack", 0);
    EXPECT_EQ(ftruncate(file_, kArenaBytes), 0);
    alias_ = map(nullptr, 0);
    memory_ = map(nullptr, 0);
    EXPECT_EQ(pipe(pipe_), 0);
  }
  ~Arena() {
    munmap(memory_, kArenaBytes);
    munmap(alias_, kArenaBytes);
    for (const int fd : {file_, pipe_[0], pipe_[1]}) close(fd);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* data() const { return memory_; }

  void change() {
    std::byte bytes[64];
    for (std::byte& b : bytes) b = static_cast<std::byte>(random_() % 3);  // often nothing changes
    const std::size_t size = test::uniform<std::size_t>(random_, 1, sizeof bytes);
    const std::size_t at = test::uniform<std::size_t>(random_, 0, kArenaBytes - size);
    const int way = test::uniform(random_, 0, 105);
    if (way >= 103) {
      before_.assign(memory_, memory_ + kArenaBytes);
    } else if (way >= 100) {  // what was there once is not what the device has now
      std::copy(before_.begin(), before_.end(), memory_);
    } else if (way < 50) {
      std::memcpy(memory_ + at, bytes, size);
    } else if (way < 60) {
      std::memcpy(alias_ + at, bytes, size);  // the same pages elsewhere
    } else if (way < 70) {
      EXPECT_EQ(pwrite(file_, bytes, size, static_cast<off_t>(at)), static_cast<ssize_t>(size));
    } else if (way < 80) {
      EXPECT_EQ(write(pipe_[1], bytes, size), static_cast<ssize_t>(size));
      EXPECT_EQ(read(pipe_[0], memory_ + at, size), static_cast<ssize_t>(size));
    } else if (way < 90) {
      iovec from{bytes, size};
      iovec to{memory_ + at, size};
      EXPECT_EQ(process_vm_writev(getpid(), &from, 1, &to, 1, 0), static_cast<ssize_t>(size));
    } else if (way < 95) {
      std::memmove(memory_ + at,
                   memory_ + test::uniform<std::size_t>(random_, 0, kArenaBytes - size), size);
    } else if (way < 98) {
      std::memset(memory_ + at, way, std::min<std::size_t>(kArenaBytes - at, 2000));
    } else if (way < 99 && test::uniform(random_, 0, 9) == 0) {
      remap();
    }
  }

 private:
  std::byte* map(void* at, int flags) const {
    void* memory = mmap(at, kArenaBytes, PROT_READ | PROT_WRITE, MAP_SHARED | flags, file_, 0);
    EXPECT_NE(memory, MAP_FAILED);
    return static_cast<std::byte*>(memory);
  }

  // As after free() and malloc(): the same addresses, other pages; other contents, mostly.
  void remap() {
    if (test::uniform(random_, 0, 1) != 0) {
      EXPECT_EQ(madvise(memory_, kArenaBytes, MADV_REMOVE), 0);  // zeros from now on
      return;
    }
    const int fresh = memfd_create("attack", 0);
    EXPECT_EQ(ftruncate(fresh, kArenaBytes), 0);
    munmap(memory_, kArenaBytes);
    munmap(alias_, kArenaBytes);
    std::byte* const where = memory_;
    close(file_);
    file_ = fresh;
    memory_ = map(where, MAP_FIXED);
    alias_ = map(nullptr, 0);
    EXPECT_EQ(memory_, where);
  }

  std::mt19937_64& random_;
  int file_ = -1;
  int pipe_[2] = {};
  std::byte* memory_ = nullptr;
  std::byte* alias_ = nullptr;
  std::vector<std::byte> before_;
};

class Attack {
 public:
  explicit Attack(std::mt19937_64& random) : random_(random) {
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
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;

 private:
  struct Placed {
    PlacedOperand operand;
    BufferId buffer;
  };

  // Mostly old acquaintances, which overlap and share addresses, used in another way each time.
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
    Residency::Call call(residency_);
    Status status;
    for (int i = test::uniform(random_, 1, 3); i > 0 && status.ok(); --i) {
      const PlacedOperand operand = some_operand();
      auto placement = call.place(queue_, operand);
      status = placement.status();
      if (!placement.ok() || !placement->has_value()) continue;
      sent_bytes += (*placement)->sent_bytes;
      kept_bytes += (*placement)->kept_bytes;
      placed.push_back({operand, (*placement)->buffer});
    }
    const Status passed = device_.synchronize(queue_).status;
    if (status.ok()) status = passed;
    if (status.ok()) {
      for (const Placed& p : placed) expect_current(p);
      for (const Placed& p : placed) compute(p);
    }
    device_.fail_operation(0, {});
    (void)device_.synchronize(queue_);
    if (!status.ok()) {
      ++failures;
    } else if (test::uniform(random_, 0, 29) != 0) {  // else the routine itself failed
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

  // What a routine does to the device's copies: results where it has any, garbage in what it
  // consumes and, now and then, in a triangle that it need not leave alone.
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
  Arena arena_{random_};
  std::array<PlacedOperand, 12> known_;
  std::unique_ptr<Device> inner_ = null::create({.memory_bytes = 1 << 20}).value();
  test::ForwardingDevice device_{*inner_};
  QueueId queue_ = device_.create_queue().value();
  Residency residency_{device_, {.capacity_bytes = 100000, .least_bytes = 100, .chunk_bytes = 512}};
};

TEST(ResidencyAttack, NoCopyPassesForWhatItIsNot) {
  const char* wanted = std::getenv("OB_RESIDENCY_OPERATIONS");
  const std::uint64_t operations = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 200000;
  auto random = test::fresh_random();
  Attack attack(random);
  for (std::uint64_t i = 0; i < operations && !testing::Test::HasFailure(); ++i) attack.operation();
  std::printf("%llu calls, %llu failed; %.1f MB sent, %.1f MB found there\n",
              static_cast<unsigned long long>(attack.calls),
              static_cast<unsigned long long>(attack.failures),
              static_cast<double>(attack.sent_bytes) / 1e6,
              static_cast<double>(attack.kept_bytes) / 1e6);
  // else the attack attacked nothing
  EXPECT_GT(attack.kept_bytes * 10, attack.sent_bytes);
  EXPECT_GT(attack.failures * 200, attack.calls);
}

}  // namespace
}  // namespace ob::algorithms
