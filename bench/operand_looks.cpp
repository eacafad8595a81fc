// Measures, for several sizes, the cost of checking whether an operand that stays on the device has
// changed. One way tracks the pages of the operand, the other computes digests of all of it. Since
// the last check the program has written either nothing or one element.

#include <sys/mman.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "algorithms/residency/operand_digests.hpp"
#include "base/chunks.hpp"
#include "bench/report.hpp"

namespace ob::bench {
namespace {

using algorithms::OperandDigests;
using algorithms::PageTracking;
constexpr std::uint64_t kChunkBytes = 1 << 20;  // the value of Residency

// A vector of doubles in fresh pages.
class Operand {
 public:
  Operand(std::size_t bytes, int advice) : bytes_(bytes) {
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    (void)madvise(memory, bytes, advice);  // where there are no huge pages, small ones are measured
    data_ = static_cast<std::byte*>(std::memset(memory, 1, bytes));
  }
  ~Operand() { munmap(data_, bytes_); }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  void change() { data_[bytes_ / 2] ^= std::byte{1}; }
  // The time of one check [us]. At its end the digest of every chunk is known.
  double look(const PageTracking& tracking, OperandDigests& digests) const {
    const auto begun = std::chrono::steady_clock::now();
    const Region home{0, 8, Triangle::full, bytes_ / 8, 1, bytes_ / 8, 8};
    digests.look(tracking, data_, home, kChunkBytes, true);
    const std::uint64_t count = Chunks(home, kChunkBytes).count();
    for (std::uint64_t i = 0; i < count; ++i) (void)digests.at(i);
    const std::chrono::duration<double, std::micro> taken =
        std::chrono::steady_clock::now() - begun;
    return taken.count();
  }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

void measure(const Options& options, Report& report, std::size_t bytes, bool huge, bool written) {
  Operand operand(bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  PageTracker tracker;
  if (!tracker.available()) std::printf("no page tracking: %s\n", tracker.why_not().c_str());
  const PageTracking tracked{&tracker, 1, 0};
  OperandDigests with;
  OperandDigests without;
  Row row;
  row.bench = "operand_looks";
  row.name = std::string(huge ? "huge" : "small") + " pages, " +
             (written ? "one element written" : "nothing written");
  row.bytes = bytes;
  row.unit = "us";
  row.better = Better::smaller;
  row.ceiling_name = "digests of all";
  (void)operand.look(tracked, with);  // starts the tracking
  for (int run = 0; run < options.runs; ++run) {
    row.ceiling.add(operand.look({}, without));
    if (written) operand.change();
    row.samples.add(operand.look(tracked, with));
  }
  report.add(row);
}

}  // namespace
}  // namespace ob::bench

int main(int argc, char** argv) {
  using namespace ob::bench;
  const Options options = Options::parse_or_exit(
      argc, argv, "Looks at operands whose pages are tracked, by size and kind of page.");
  Report report;
  for (const bool huge : {false, true}) {
    for (const bool written : {false, true}) {
      for (std::size_t bytes = 1 << 20; bytes <= (options.check ? 4U : 512U) << 20; bytes *= 2) {
        measure(options, report, bytes, huge, written);
      }
    }
  }
  report.write(options);
  return 0;
}
