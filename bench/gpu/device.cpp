#include "bench/gpu/device.hpp"

#include "bench/or_exit.hpp"

namespace ob::bench::gpu {

Device::Device() : libraries_(or_exit(cuda::Libraries::open())) {
  int count = 0;
  or_exit(check(runtime().cudaGetDeviceCount(&count), "no GPU"));
  or_exit(check(runtime().cudaSetDevice(0), "cannot use the first GPU"));
  or_exit(check(runtime().cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
                "cannot make a stream"));
}

Device::~Device() { (void)runtime().cudaStreamDestroy(stream_); }

void Device::synchronize() const {
  or_exit(check(runtime().cudaStreamSynchronize(stream_), "the device's work failed"));
}

std::string Device::description() const {
  const cuda::Driver& driver = *or_exit(libraries_->driver());
  char name[256] = "";
  CUdevice device = 0;
  or_exit(driver.check(driver.cuDeviceGet(&device, 0), "cannot find the first GPU"));
  or_exit(driver.check(driver.cuDeviceGetName(name, sizeof name, device), "it has no name"));
  std::size_t free = 0;
  std::size_t total = 0;
  or_exit(check(runtime().cudaMemGetInfo(&free, &total), "cannot ask for its memory"));
  int driver_version = 0;
  int runtime_version = 0;
  or_exit(check(runtime().cudaDriverGetVersion(&driver_version), "cannot ask for its driver"));
  or_exit(check(runtime().cudaRuntimeGetVersion(&runtime_version), "cannot ask for the runtime"));
  return std::string(name) + ", " + std::to_string(total >> 20) + " MiB, driver for CUDA " +
         std::to_string(driver_version) + ", runtime " + std::to_string(runtime_version);
}

Block::Block(const Device& device, Where where, std::size_t bytes)
    : device_(device), where_(where), bytes_(bytes) {
  const cuda::Runtime& runtime = device.runtime();
  or_exit(device.check(where == Where::device
                           ? runtime.cudaMalloc(&data_, bytes)
                           : runtime.cudaHostAlloc(&data_, bytes, cudaHostAllocDefault),
                       "no memory"));
}

Block::~Block() {
  const cuda::Runtime& runtime = device_.runtime();
  (void)(where_ == Where::device ? runtime.cudaFree(data_) : runtime.cudaFreeHost(data_));
}

}  // namespace ob::bench::gpu
