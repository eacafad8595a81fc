#include "backend/opencl/memory.hpp"

#include <random>
#include <vector>

#include "backend/opencl/tested.hpp"

namespace ob::opencl {
namespace {

class MemoryTest : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped()) return;
    auto made = ClMemory::create(cl(), accelerator());
    ASSERT_TRUE(made.ok()) << made.status().message();
    memory_ = std::move(*made);
  }
  ClMemory& memory() { return *memory_; }

 private:
  std::unique_ptr<ClMemory> memory_;
};

TEST_F(MemoryTest, EveryAddressOfABufferLeadsToItsPlace) {
  constexpr std::uint64_t kSizes[] = {1, 4096, 4097, 100000};
  std::vector<std::byte*> all;
  for (const std::uint64_t size : kSizes) {
    const auto data = memory().obtain(size);
    ASSERT_TRUE(data.ok()) << data.status().message();
    all.push_back(*data);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const cl_mem buffer = memory().place(all[i]).buffer;
    for (const std::uint64_t offset : {std::uint64_t{0}, kSizes[i] / 2, kSizes[i]}) {
      const Place place = memory().place(all[i] + offset);
      EXPECT_EQ(place.buffer, buffer);
      EXPECT_EQ(place.offset_bytes, offset);
    }
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(memory().place(all[j]).buffer, buffer);
  }
  for (std::byte* const data : all) memory().give_back(data);
}

TEST_F(MemoryTest, AddressesOutsideOfBuffersLeadNowhere) {
  const auto first = memory().obtain(4096);
  const auto second = memory().obtain(4096);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(memory().place(nullptr).buffer, nullptr);
  EXPECT_EQ(memory().place(*first - 1).buffer, nullptr);
  EXPECT_EQ(memory().place(*first + 4097).buffer, nullptr);
  memory().give_back(*first);
  EXPECT_EQ(memory().place(*first).buffer, nullptr);
  EXPECT_NE(memory().place(*second).buffer, nullptr);
  memory().give_back(*second);
}

TEST_F(MemoryTest, ABufferBeyondTheDevicesLimitIsRefusedWithTheLimit) {
  const auto data = memory().obtain(accelerator().largest_buffer_bytes + 1);
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.status().code(), Code::out_of_memory);
  EXPECT_NE(data.status().message().find(std::to_string(accelerator().largest_buffer_bytes)),
            std::string::npos)
      << data.status().message();
}

TEST_F(MemoryTest, ClearedMemoryIsZero) {
  constexpr std::uint64_t kSize = 4096;
  const auto data = memory().obtain(kSize);
  ASSERT_TRUE(data.ok());
  const Place place = memory().place(*data);
  cl_int result = CL_SUCCESS;
  const cl_command_queue queue =
      cl().clCreateCommandQueue(accelerator().context, accelerator().device, 0, &result);
  ASSERT_EQ(result, CL_SUCCESS);
  std::vector<unsigned char> bytes(kSize, 0xA5);
  const auto write = [&] {
    return cl().clEnqueueWriteBuffer(queue, place.buffer, CL_TRUE, 0, kSize, bytes.data(), 0,
                                     nullptr, nullptr);
  };
  ASSERT_EQ(write(), CL_SUCCESS);
  EXPECT_TRUE(memory().clear(*data, kSize).ok());
  ASSERT_EQ(cl().clEnqueueReadBuffer(queue, place.buffer, CL_TRUE, 0, kSize, bytes.data(), 0,
                                     nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(bytes, std::vector<unsigned char>(kSize, 0));
  (void)cl().clReleaseCommandQueue(queue);
  memory().give_back(*data);
}

}  // namespace
}  // namespace ob::opencl
