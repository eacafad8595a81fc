#include "cudart/kernel_module.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include "core/access.hpp"
#include "core/address_space.hpp"
#include "core/devices.hpp"
#include "core/memory.hpp"
#include "core/order.hpp"
#include "core/report.hpp"

namespace standin {
namespace {

// The checks of a kernel's pointers.
struct Pointers {
  int device = 0;
  bool ok = true;
};

void* translate(void* context, const void* p) {
  auto& pointers = *static_cast<Pointers*>(context);
  if (p == nullptr) return nullptr;
  // A kernel does not tell which elements it uses. The race search does not cover kernels.
  Access access("cuLaunchKernel", pointers.device, true);
  std::byte* const found = access.region(p, 1, 1, 1, Intent::read);
  if (!access.ok()) pointers.ok = false;
  return found;
}

void* open_object(const std::byte* bytes, std::size_t size) {
  const int fd = memfd_create("standin_cuda_kernels", MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  void* object = nullptr;
  // The loader takes equal names for one object, and descriptors have equal numbers again.
  static std::atomic<unsigned> g_opened{0};
  const std::string name =
      "/proc/self/fd" + std::string(1 + g_opened++ % 1000, '/') + std::to_string(fd);
  if (write(fd, bytes, size) == static_cast<ssize_t>(size))
    object = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  close(fd);
  return object;
}

}  // namespace

std::shared_ptr<KernelModule> KernelModule::load(const void* image, CUresult& why) {
  CubinHeader header;
  std::memcpy(&header, image, sizeof header);
  why = CUDA_ERROR_INVALID_IMAGE;
  if (std::memcmp(header.magic, kCubinMagic, sizeof kCubinMagic) != 0) return nullptr;
  why = CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (header.architecture != 90) return nullptr;  // the value of cudaDeviceGetAttribute
  why = CUDA_ERROR_INVALID_IMAGE;
  void* object =
      open_object(static_cast<const std::byte*>(image) + sizeof header, header.object_bytes);
  if (object == nullptr) return nullptr;
  why = CUDA_SUCCESS;
  return std::shared_ptr<KernelModule>(new KernelModule(object, Devices::current()));
}

KernelModule::~KernelModule() { dlclose(object_); }

LiveSet<KernelModule>& KernelModule::all() {
  static auto* const kModules = new LiveSet<KernelModule>("module(s)");
  return *kModules;
}

void* KernelModule::function(const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto found = functions_.find(name);
  if (found == functions_.end()) {
    void* bind = dlsym(object_, ("standin_bind_" + name).c_str());
    if (bind == nullptr) return nullptr;
    found = functions_.emplace(name, std::make_unique<Bind>(reinterpret_cast<Bind>(bind))).first;
  }
  return found->second.get();
}

std::shared_ptr<KernelModule> KernelModule::owner(const void* function) {
  for (auto& module : all().all()) {
    const std::lock_guard lock(module->mutex_);
    for (const auto& [name, bind] : module->functions_) {
      if (bind.get() == function) return module;
    }
  }
  return nullptr;
}

cudaError_t KernelModule::launch(const void* function, const unsigned* grid, const unsigned* block,
                                 const std::shared_ptr<Stream>& stream, void** arguments) {
  Pointers pointers{device_, true};
  const Bind bind = *static_cast<const Bind*>(function);
  std::shared_ptr<BoundKernel> kernel(bind(arguments, translate, &pointers),
                                      [](BoundKernel* k) { k->drop(k); });
  if (!pointers.ok) return cudaErrorInvalidValue;
  static std::atomic<unsigned> g_launches{0};
  const int backwards = static_cast<int>(++g_launches % 2);  // threads have no defined order
  const std::array<unsigned, 3> blocks{grid[0], grid[1], grid[2]};
  const std::array<unsigned, 3> threads{block[0], block[1], block[2]};
  Order::instance().submit(stream, Access("cuLaunchKernel", device_),
                           [kernel, blocks, threads, backwards, module = shared_from_this()] {
                             kernel->run(kernel.get(), blocks.data(), threads.data(), backwards);
                             return cudaSuccess;
                           });
  return cudaSuccess;
}

}  // namespace standin
