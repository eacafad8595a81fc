// cudart: memory.

#include "core/memory.hpp"

#include "core/address_space.hpp"
#include "core/devices.hpp"
#include "core/order.hpp"
#include "cudart/entry.hpp"

using standin::Access;
using standin::Devices;
using standin::leave;
using standin::Memory;
using standin::Order;
using standin::refuse;

namespace {

// Waits for all work that may use memory. Functions that free memory do this.
void synchronize_all() {
  for (int device = 0; device < Devices::instance().count(); ++device)
    Order::instance().synchronize_device(device);
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** p, size_t bytes) {
  STANDIN_ENTER_OR(cudaErrorMemoryAllocation);
  *p = nullptr;
  if (bytes == 0) return cudaSuccess;
  *p = Memory::instance().allocate(Devices::current(), bytes);
  return leave(*p == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaFree(void* p) {
  STANDIN_ENTER();
  if (p == nullptr) return cudaSuccess;
  synchronize_all();
  if (Memory::instance().release(p, __func__)) return cudaSuccess;
  return refuse(__func__, (Memory::instance().why_none(p) + ", not the begin of a block").c_str(),
                cudaErrorInvalidValue);
}

cudaError_t cudaMallocAsync(void** p, size_t bytes, cudaStream_t handle) {
  STANDIN_ENTER_OR(cudaErrorMemoryAllocation);
  const auto stream = Devices::instance().stream(handle);
  if (stream == nullptr) return refuse(__func__, "no stream", cudaErrorInvalidResourceHandle);
  *p = bytes == 0 ? nullptr : Memory::instance().allocate(stream->device(), bytes);
  return leave(*p == nullptr && bytes != 0 ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaFreeAsync(void* p, cudaStream_t handle) {
  STANDIN_ENTER();
  if (p == nullptr) return cudaSuccess;
  const auto stream = Devices::instance().stream(handle);
  if (stream == nullptr) return refuse(__func__, "no stream", cudaErrorInvalidResourceHandle);
  Access access(__func__, stream->device());
  const auto found = Memory::instance().find(p);
  if (found == nullptr || found->address != reinterpret_cast<std::uintptr_t>(p))
    return refuse(__func__, "not the begin of a block", cudaErrorInvalidValue);
  access.region(p, found->bytes, found->bytes, 1, standin::Intent::write);
  const standin::Block block = *found;
  Order::instance().submit(stream, access, [block] {
    Memory::instance().drop(block, "cudaFreeAsync");
    return cudaSuccess;
  });
  (void)Memory::instance().detach(p);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned flags) {
  STANDIN_ENTER_OR(cudaErrorMemoryAllocation);
  *p = bytes == 0 ? nullptr : Memory::instance().allocate_pinned(bytes, flags);
  return leave(*p == nullptr && bytes != 0 ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaMallocHost(void** p, size_t bytes) {
  return cudaHostAlloc(p, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* p) {
  STANDIN_ENTER();
  if (p == nullptr) return cudaSuccess;
  synchronize_all();
  if (Memory::instance().release_pinned(p)) return cudaSuccess;
  return refuse(__func__, "not memory of cudaHostAlloc", cudaErrorInvalidValue);
}

cudaError_t cudaHostRegister(void* p, size_t bytes, unsigned flags) {
  STANDIN_ENTER_OR(cudaErrorMemoryAllocation);
  if (p == nullptr || bytes == 0) return leave(cudaErrorInvalidValue);
  if (standin::AddressSpace::instance().inside(p))
    return refuse(__func__, "memory of a device", cudaErrorInvalidValue);
  return leave(Memory::instance().register_pinned(p, bytes, flags) == 0
                   ? cudaSuccess
                   : cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* p) {
  STANDIN_ENTER();
  synchronize_all();
  if (Memory::instance().unregister_pinned(p)) return cudaSuccess;
  return refuse(__func__, "not the begin of a registered range", cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  STANDIN_ENTER();
  if (!Memory::instance().find_pinned(host, 1)) return leave(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
  STANDIN_ENTER();
  *attributes = {};
  attributes->device = Devices::current();
  if (const auto block = Memory::instance().find(p)) {
    attributes->type = cudaMemoryTypeDevice;
    attributes->device = block->device;
    attributes->devicePointer = const_cast<void*>(p);
  } else if (Memory::instance().find_pinned(p, 1)) {
    attributes->type = cudaMemoryTypeHost;
    attributes->devicePointer = attributes->hostPointer = const_cast<void*>(p);
  } else {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->hostPointer = const_cast<void*>(p);
  }
  return cudaSuccess;
}

}  // extern "C"
