// cudart: devices.

#include <cstdio>
#include <cstring>
#include <string>

#include "core/devices.hpp"
#include "core/memory.hpp"
#include "core/order.hpp"
#include "core/settings.hpp"
#include "cudart/entry.hpp"

using standin::Devices;
using standin::leave;
using standin::settings;

namespace {

bool valid(int device) { return device >= 0 && device < Devices::instance().count(); }

// Returns values close to those of an H100. A plugin may choose sizes by them.
int attribute(cudaDeviceAttr attr) {
  switch (attr) {
    case cudaDevAttrComputeCapabilityMajor: return 9;
    case cudaDevAttrComputeCapabilityMinor: return 0;
    case cudaDevAttrMultiProcessorCount: return 132;
    case cudaDevAttrMaxThreadsPerBlock: return 1024;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: return 1024;
    case cudaDevAttrMaxBlockDimZ: return 64;
    case cudaDevAttrMaxGridDimX: return 2147483647;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock: return 49152;
    case cudaDevAttrWarpSize: return 32;
    case cudaDevAttrClockRate: return 1980000;
    case cudaDevAttrMemoryClockRate: return 2619000;
    case cudaDevAttrGlobalMemoryBusWidth: return 5120;
    case cudaDevAttrL2CacheSize: return 50 << 20;
    case cudaDevAttrAsyncEngineCount: return 3;
    case cudaDevAttrPciBusId: return 1;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrStreamPrioritiesSupported: return 1;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio: return 2;
    default: return 0;
  }
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  STANDIN_ENTER();
  *count = Devices::instance().count();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  STANDIN_ENTER();
  if (!valid(device)) return leave(cudaErrorInvalidDevice);
  Devices::current() = device;
  return cudaSuccess;
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  STANDIN_ENTER();
  return valid(device) ? cudaSuccess : leave(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDevice(int* device) {
  STANDIN_ENTER();
  *device = Devices::current();
  return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned) {
  STANDIN_ENTER();
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  STANDIN_ENTER();
  standin::Order::instance().synchronize_device(Devices::current());
  return leave(Devices::instance().sticky(Devices::current()));
}

cudaError_t cudaDeviceReset() {
  const int device = Devices::current();
  standin::Order::instance().synchronize_device(device);
  Devices& devices = Devices::instance();
  for (const auto& stream : devices.streams_of(device)) devices.streams().remove(stream.get());
  standin::Memory::instance().reset(device);
  devices.revive(device);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  STANDIN_ENTER();
  if (!valid(device)) return leave(cudaErrorInvalidDevice);
  *value = attr == cudaDevAttrPciDeviceId ? device : attribute(attr);
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  STANDIN_ENTER();
  if (!valid(device)) return leave(cudaErrorInvalidDevice);
  std::memset(prop, 0, sizeof *prop);
  std::snprintf(prop->name, sizeof prop->name, "Stand-in for a GPU %d", device);
  prop->totalGlobalMem = settings().memory_bytes;
  prop->major = attribute(cudaDevAttrComputeCapabilityMajor);
  prop->multiProcessorCount = attribute(cudaDevAttrMultiProcessorCount);
  prop->maxThreadsPerBlock = attribute(cudaDevAttrMaxThreadsPerBlock);
  prop->warpSize = attribute(cudaDevAttrWarpSize);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  STANDIN_ENTER();
  if (!valid(device)) return leave(cudaErrorInvalidDevice);
  std::snprintf(text, length, "0000:01:%02x.0", device);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  STANDIN_ENTER();
  *total = settings().memory_bytes;
  *free = *total - standin::Memory::instance().used_bytes(Devices::current());
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  STANDIN_ENTER();
  if (!valid(device) || !valid(peer)) return leave(cudaErrorInvalidDevice);
  *can = settings().peers && device != peer ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  STANDIN_ENTER();
  Devices& devices = Devices::instance();
  const int device = Devices::current();
  if (!valid(peer) || peer == device) return leave(cudaErrorInvalidDevice);
  if (flags != 0) return leave(cudaErrorInvalidValue);
  if (!settings().peers) return leave(cudaErrorPeerAccessUnsupported);
  if (devices.reaches(device, peer)) return leave(cudaErrorPeerAccessAlreadyEnabled);
  devices.allow_peer(device, peer, true);
  return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  STANDIN_ENTER();
  Devices& devices = Devices::instance();
  const int device = Devices::current();
  if (!valid(peer) || peer == device) return leave(cudaErrorInvalidDevice);
  if (!devices.reaches(device, peer)) return leave(cudaErrorPeerAccessNotEnabled);
  devices.allow_peer(device, peer, false);
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = settings().no_driver ? 0 : CUDART_VERSION;
  return cudaSuccess;
}

}  // extern "C"
