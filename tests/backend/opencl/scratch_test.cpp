// The device memory that libraries take beside operands, compared with the memory set aside for it.

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/opencl/blas.hpp"
#include "backend/opencl/blas_scratch.hpp"
#include "backend/opencl/device_plan.hpp"
#include "backend/opencl/queue.hpp"
#include "backend/opencl/tested.hpp"

namespace {

// CLBlast's allocations. CLBlast finds the functions below before OpenCL's own.
struct Allocated {
  std::map<cl_mem, std::size_t> live;
  std::size_t live_bytes = 0;
  std::size_t peak_bytes = 0;
};
Allocated allocated;

}  // namespace

extern "C" {
__attribute__((visibility("default"))) cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags,
                                                             std::size_t size, void* from,
                                                             cl_int* result) {
  const cl_mem made = (*ob::opencl::Cl::get())->clCreateBuffer(context, flags, size, from, result);
  allocated.live[made] = size;
  allocated.live_bytes += size;
  allocated.peak_bytes = std::max(allocated.peak_bytes, allocated.live_bytes);
  return made;
}
__attribute__((visibility("default"))) cl_int clReleaseMemObject(cl_mem buffer) {
  const auto at = allocated.live.find(buffer);
  if (at != allocated.live.end()) {
    allocated.live_bytes -= at->second;
    allocated.live.erase(at);
  }
  return (*ob::opencl::Cl::get())->clReleaseMemObject(buffer);
}
}

namespace ob::opencl {
namespace {

struct Size {
  std::int64_t m, n, k;
};
constexpr Size kSmall[] = {{5, 7, 3}, {65, 40, 70}, {300, 17, 200}, {17, 300, 200}};
// CLBlast pads the operands of single precision products from an order of about 900. The first size
// consists of whole tiles of these kernels, the second does not.
constexpr Size kLarge[] = {{928, 928, 928}, {930, 900, 910}};

class ScratchTest : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped()) return;
    auto source = ClMemory::create(cl(), accelerator());
    ASSERT_TRUE(source.ok());
    const ClMemory& addresses = **source;
    memory_ = std::make_unique<DeviceMemory>(std::move(*source), std::uint64_t{1} << 30);
    libraries_ = std::make_unique<Libraries>(cl(), accelerator());
    if (!libraries_->blas().ok()) GTEST_SKIP() << libraries_->blas().status().message();
    auto queue = ClQueue::create({cl(), accelerator(), addresses, *memory_, *libraries_, nullptr},
                                 "ob-test", {});
    ASSERT_TRUE(queue.ok());
    queue_ = std::move(*queue);
  }
  void TearDown() override {
    queue_.reset();
    operands_.clear();
    if (memory_ != nullptr) EXPECT_EQ(memory_->use().used_bytes, 0u);
  }
  DeviceMemory& memory() { return *memory_; }

  /// A call whose flags come from `flags`, with operands `offset` elements into their buffers.
  void check(const char* name, const Size& size, std::string flags, std::size_t offset) {
    SCOPED_TRACE(std::string(name) + " " + flags + " m=" + std::to_string(size.m) +
                 " n=" + std::to_string(size.n) + " k=" + std::to_string(size.k) +
                 " offset=" + std::to_string(offset));
    const Descriptor& routine = *routines::find(std::string_view(name));
    if (real_bytes(routine.precision) == 8 && !accelerator().has_fp64) return;
    Argument arguments[kMaxArguments];
    fill(routine, size, std::move(flags), offset, arguments);
    allocated.peak_bytes = allocated.live_bytes;
    const std::size_t before = allocated.live_bytes;
    std::uint64_t predicted = 0;
    queue_->submit_work(false, [&](ClQueue& on, QueueReport&) -> Status {
      OB_ASSIGN_OR_RETURN(const BlasTable* table, on.context().libraries.blas());
      OB_ASSIGN_OR_RETURN(predicted, blas_scratch_bytes(*table, on.context(), routine, arguments));
      return run_blas(on.context(), routine, arguments);
    });
    const QueueReport report = queue_->synchronize();
    ASSERT_TRUE(report.status.ok()) << report.status.message();
    const std::size_t taken = allocated.peak_bytes - before;
    EXPECT_LE(taken, predicted);
    // The prediction must not be far too high, so that calls are not refused without need.
    EXPECT_LE(predicted, 3 * taken + (std::size_t{1} << 20));
    if (routine.base == "gemm") EXPECT_EQ(taken, predicted);
    operands_.clear();
  }

  void check_all(const char* name, const std::vector<std::string>& flags) {
    for (const Size& size : kSmall) {
      for (const std::string& f : flags) {
        for (const std::size_t offset : {0, 5}) check(name, size, f, offset);
      }
    }
    for (const Size& size : kLarge) {
      for (const std::size_t offset : {0, 5}) check(name, size, flags.front(), offset);
    }
  }

 private:
  void fill(const Descriptor& routine, const Size& size, std::string flags, std::size_t offset,
            Argument* arguments) {
    std::size_t flag = 0;
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      const std::string_view name = routine.argument_names[i];
      switch (routine.kinds[i]) {
        case Kind::flag: arguments[i].flag = flags[flag++]; break;
        case Kind::dim:
          arguments[i].dim = name == "m" ? size.m : name == "n" ? size.n : size.k;
          break;
        case Kind::scalar:
        case Kind::real_scalar: arguments[i].scalar = {1, 0}; break;
        default: break;
      }
    }
    const Operands operands = routine.operands(arguments);
    for (const Operand& operand : operands.span()) {
      const std::uint64_t bytes = (offset + operand.rows * operand.cols) * operand.element_bytes;
      auto buffer = memory_->scratch(bytes);
      ASSERT_TRUE(buffer.ok()) << buffer.status().message();
      arguments[operand.argument].host = {(*buffer)->data() + offset * operand.element_bytes,
                                          static_cast<std::int64_t>(operand.rows)};
      operands_.push_back(std::move(*buffer));
    }
  }

  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<Libraries> libraries_;
  std::shared_ptr<ClQueue> queue_;
  std::vector<std::shared_ptr<DeviceBuffer>> operands_;
};

TEST_F(ScratchTest, ProductsTakeWhatClblastSays) { check_all("sgemm", {"NN", "NT", "TN", "TT"}); }

TEST_F(ScratchTest, RankUpdatesTakeNoMoreThanWasSetAside) {
  check_all("ssyrk", {"UN", "LT"});
  check_all("ssyr2k", {"UT", "LN"});
}

TEST_F(ScratchTest, OneSidedProductsTakeNoMoreThanWasSetAside) {
  check_all("ssymm", {"LU", "RL"});
  check_all("strmm", {"LUNN", "RLTU"});
  check_all("strsm", {"LUNN", "RLTU"});
}

TEST_F(ScratchTest, TrianglesOfProductsTakeWhatProductsDo) { check_all("sgemmt", {"UNN", "LTT"}); }

TEST_F(ScratchTest, ComplexRowsTakeNoMoreThanWasSetAside) {
  check_all("cgemm", {"NN", "CN", "TC"});
  check_all("cherk", {"UN", "LC"});
  check_all("cher2k", {"UC", "LN"});
  check_all("chemm", {"LU", "RL"});
  check_all("ctrmm", {"LUCN", "RLTU"});
  check_all("ctrsm", {"LUNN", "RLCU"});
}

TEST_F(ScratchTest, TablesOfPlansCountAsLongAsTheyLive) {
  for (const std::uint64_t n : {std::uint64_t{1} << 18, std::uint64_t{100003}}) {
    FftPlan plan{.precision = Precision::c, .rank = 1};
    plan.n[0] = n;
    auto made = DevicePlan::create(accelerator(), memory(), plan);
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_GE(memory().use().used_bytes, 8 * n) << n;
    made->reset();
    EXPECT_EQ(memory().use().used_bytes, 0u) << n;
  }
}

}  // namespace
}  // namespace ob::opencl
