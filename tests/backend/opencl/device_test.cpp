// Tests calls and transforms that some OpenCL devices cannot compute, on a whole device.

#include "backend/opencl/device.hpp"

#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "backend/opencl/backend.hpp"
#include "backend/opencl/tested.hpp"

namespace ob::opencl {
namespace {

constexpr std::int64_t kSize = 3;
using Matrix = std::vector<double>;  // kSize x kSize, column-major

// Writes a mark into the result, which shows that the processor computed it.
class Processor final : public HostRoutines {
 public:
  static constexpr double kMark = 4711;

  bool has(const Descriptor& /*routine*/) const noexcept override { return true; }
  Status run(const Descriptor& routine, const Argument* arguments) const override {
    const Operands operands = routine.operands(arguments);
    const Operand& result = operands.items[operands.count - 1];
    static_cast<double*>(arguments[result.argument].host.data)[0] = kMark;
    return {};
  }
};

class ProcessorTransforms final : public HostTransforms {
 public:
  class Plan final : public HostPlan {
    Status execute(std::byte* /*input*/, std::byte* output) override {
      std::memcpy(output, &Processor::kMark, sizeof Processor::kMark);
      return {};
    }
  };
  Result<std::unique_ptr<HostPlan>> plan(const FftPlan& /*plan*/) const override {
    return std::unique_ptr<HostPlan>(std::make_unique<Plan>());
  }
  std::uint64_t plan_bytes(const FftPlan& /*plan*/) const noexcept override { return 1; }
};

class DeviceTest : public OnDevice {
 protected:
  void open(const Accelerator& accelerator, bool with_processor = true) {
    ClDevice::Parts parts{.cl = cl(), .accelerator = accelerator};
    parts.libraries = std::make_unique<Libraries>(cl(), accelerator);
    auto source = ClMemory::create(cl(), accelerator);
    ASSERT_TRUE(source.ok()) << source.status().message();
    parts.source = source->get();
    parts.memory = std::make_unique<DeviceMemory>(std::move(*source), std::uint64_t{1} << 24);
    if (with_processor) {
      parts.host = std::make_shared<Processor>();
      parts.transforms = std::make_shared<ProcessorTransforms>();
    }
    DeviceInfo info;
    info.memory_bytes = std::uint64_t{1} << 24;
    device_ = std::make_unique<ClDevice>(std::move(info), std::move(parts), 0);
    const auto queue = device_->create_queue();
    ASSERT_TRUE(queue.ok());
    queue_ = *queue;
  }
  Device& device() { return *device_; }
  QueueId queue() const { return queue_; }

  static Region all(std::uint64_t size) { return {.rows = size, .cols = 1, .ld = size}; }
  BufferId upload(std::vector<double>& data) {
    const auto buffer = device_->allocate(data.size() * sizeof(double));
    EXPECT_TRUE(buffer.ok());
    const std::uint64_t size = data.size() * sizeof(double);
    EXPECT_TRUE(device_->write(queue_, *buffer, all(size), Layout::bytes(data.data(), size)).ok());
    return *buffer;
  }
  std::vector<double> download(BufferId buffer, std::size_t count) {
    std::vector<double> data(count);
    const std::uint64_t size = count * sizeof(double);
    EXPECT_TRUE(device_->read(queue_, buffer, all(size), Layout::bytes(data.data(), size)).ok());
    const QueueReport report = device_->synchronize(queue_);
    status_ = report.status;
    return data;
  }

  /// Returns C after C := A B of order kSize.
  Matrix dgemm() {
    Matrix a{1, 2, 3, 4, 5, 6, 7, 8, 9};
    Matrix b{1, 0, 0, 0, 2, 0, 0, 0, 3};
    Matrix c(9, 0);
    Argument arguments[kMaxArguments];
    arguments[0].flag = arguments[1].flag = 'N';
    for (const int i : {2, 3, 4}) arguments[i].dim = kSize;
    arguments[5].scalar = {1, 0};
    arguments[8].scalar = {0, 0};
    arguments[6].device = {upload(a), 0, kSize};
    arguments[7].device = {upload(b), 0, kSize};
    const BufferId result = upload(c);
    arguments[9].device = {result, 0, kSize};
    EXPECT_TRUE(device_->call(queue_, *routines::find(std::string_view("dgemm")), arguments).ok());
    return download(result, 9);
  }

  /// Returns the first number after a transform in place of 8 ones.
  double transformed(const FftPlan& plan) {
    std::vector<double> data(64, 1);
    const BufferId buffer = upload(data);
    const auto made = device_->make_plan(plan);
    EXPECT_TRUE(made.ok()) << made.status().message();
    EXPECT_TRUE(device_->execute(queue_, *made, {buffer}, {buffer}).ok());
    return download(buffer, 64)[0];
  }
  const Status& status() const { return status_; }

 private:
  std::unique_ptr<ClDevice> device_;
  QueueId queue_;
  Status status_;
};

TEST_F(DeviceTest, ClblastComputesWhatTheProcessorCouldHave) {
  open(accelerator());
  if (!accelerator().has_fp64) GTEST_SKIP() << "no double precision here";
  EXPECT_EQ(dgemm(), (Matrix{1, 2, 3, 8, 10, 12, 21, 24, 27}));
  EXPECT_TRUE(status().ok()) << status().message();
}

TEST_F(DeviceTest, ACallWhoseScratchIsBeyondTheCapComputesNothing) {
  open(accelerator());
  if (!accelerator().has_fp64) GTEST_SKIP() << "no double precision here";
  // C has 10 MB of the 16 MiB, and CLBlast copies it.
  constexpr std::int64_t kOrder = 1100;
  constexpr std::int64_t kWidth = 8;
  std::vector<double> factor(static_cast<std::size_t>(kOrder * kWidth), 1);
  const std::vector<double> before(static_cast<std::size_t>(kOrder * kOrder), 1);
  std::vector<double> c = before;
  const Descriptor& dsyrk = *routines::find(std::string_view("dsyrk"));
  Argument arguments[kMaxArguments];
  arguments[0].flag = 'U';
  arguments[1].flag = 'N';
  arguments[2].dim = kOrder;
  arguments[3].dim = kWidth;
  arguments[4].scalar = arguments[6].scalar = {1, 0};
  arguments[5].device = {upload(factor), 0, kOrder};
  const BufferId result = upload(c);
  arguments[7].device = {result, 0, kOrder};
  EXPECT_TRUE(device().call(queue(), dsyrk, arguments).ok());
  (void)download(result, 1);
  EXPECT_EQ(status().code(), Code::out_of_memory) << status().message();
  EXPECT_TRUE(download(result, before.size()) == before);
  arguments[2].dim = 16;
  EXPECT_TRUE(device().call(queue(), dsyrk, arguments).ok());
  EXPECT_EQ(download(result, 1)[0], 1 + kWidth);
  EXPECT_TRUE(status().ok()) << status().message();
}

TEST_F(DeviceTest, APlanWhoseTablesAreBeyondTheCapIsNone) {
  open(accelerator());
  if (!accelerator().has_fp64) GTEST_SKIP() << "no double precision here";
  FftPlan plan{.precision = Precision::z, .rank = 1};
  plan.n[0] = (std::uint64_t{1} << 19) + 21;  // a prime: its tables are over twice as long
  const auto buffer = device().allocate(input_bytes(plan));
  ASSERT_TRUE(buffer.ok()) << buffer.status().message();
  const std::uint64_t used_bytes = device().memory_use().used_bytes;
  const auto made = device().make_plan(plan);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE(device().execute(queue(), *made, {*buffer}, {*buffer}).ok());
  EXPECT_EQ(device().synchronize(queue()).status.code(), Code::out_of_memory);
  EXPECT_EQ(device().memory_use().used_bytes, used_bytes);
}

TEST_F(DeviceTest, DoublePrecisionIsTheProcessorsWhereTheDeviceHasNone) {
  Accelerator single = accelerator();
  single.has_fp64 = false;
  open(single);
  EXPECT_EQ(dgemm()[0], Processor::kMark);
  FftPlan plan{.precision = Precision::z, .rank = 1};
  plan.n[0] = 8;
  EXPECT_EQ(transformed(plan), Processor::kMark);
  EXPECT_TRUE(status().ok()) << status().message();
}

TEST_F(DeviceTest, WithoutAProcessorSuchCallsAreUnsupported) {
  Accelerator single = accelerator();
  single.has_fp64 = false;
  open(single, false);
  (void)dgemm();
  EXPECT_EQ(status().code(), Code::unsupported);
  FftPlan plan{.precision = Precision::z, .rank = 1};
  plan.n[0] = 8;
  (void)transformed(plan);
  EXPECT_EQ(status().code(), Code::unsupported);
}

TEST_F(DeviceTest, VkfftTransformsThreeDimensionsAndTheProcessorMore) {
  open(accelerator());
  if (!accelerator().has_fp64) GTEST_SKIP() << "no double precision here";
  FftPlan plan{.precision = Precision::z, .rank = 3};
  plan.n = {2, 2, 2};
  EXPECT_EQ(transformed(plan), 8 * 1.0);
  FftPlan more{.precision = Precision::z, .rank = 4};
  more.n = {2, 2, 2, 2};
  EXPECT_EQ(transformed(more), Processor::kMark);
  more.n = {2, 1, 2, 2};  // one dimension has length 1
  EXPECT_EQ(transformed(more), 8 * 1.0);
  FftPlan real{.kind = FftKind::r2r, .precision = Precision::z, .rank = 1};
  real.n[0] = 8;
  EXPECT_EQ(transformed(real), Processor::kMark);
  EXPECT_TRUE(status().ok()) << status().message();
}

}  // namespace
}  // namespace ob::opencl
