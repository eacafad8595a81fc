// cudart: copies and fills.

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/address_space.hpp"
#include "core/devices.hpp"
#include "core/memory.hpp"
#include "core/order.hpp"
#include "core/report.hpp"
#include "core/settings.hpp"
#include "cudart/entry.hpp"

using standin::Access;
using standin::AddressSpace;
using standin::Devices;
using standin::Intent;
using standin::leave;
using standin::Memory;
using standin::Order;
using standin::refuse;
using standin::Stream;

namespace {

enum class Place { device, pinned, pageable };

// One side of a copy: it has `height` rows.
struct Side {
  void* p = nullptr;
  std::size_t pitch = 0;
  Place place = Place::pageable;
  std::byte* bytes = nullptr;  // the place of the bytes
};

struct Shape {
  std::size_t width = 0;
  std::size_t height = 0;
};

bool find(Side& side, Shape shape, Intent intent, Access& access) {
  if (AddressSpace::instance().inside(side.p)) {
    side.place = Place::device;
    side.bytes = access.region(side.p, shape.width, side.pitch, shape.height, intent);
    return access.ok();
  }
  const std::size_t extent = (shape.height - 1) * side.pitch + shape.width;
  const bool pinned = Memory::instance().find_pinned(side.p, extent).has_value();
  side.place = pinned ? Place::pinned : Place::pageable;
  side.bytes = static_cast<std::byte*>(side.p);
  return side.p != nullptr;
}

bool fits(cudaMemcpyKind kind, const Side& dst, const Side& src) {
  const bool to = dst.place == Place::device;
  const bool from = src.place == Place::device;
  switch (kind) {
    case cudaMemcpyHostToHost: return !to && !from;
    case cudaMemcpyHostToDevice: return to && !from;
    case cudaMemcpyDeviceToHost: return !to && from;
    case cudaMemcpyDeviceToDevice: return to && from;
    default: return true;
  }
}

void copy_rows(const Side& dst, const Side& src, Shape shape) {
  for (std::size_t row = 0; row < shape.height; ++row)
    std::memmove(dst.bytes + row * dst.pitch, src.bytes + row * src.pitch, shape.width);
}

// Fills the target of a copy to the host with NaN. A program sees them if it does not wait.
void spoil(const Side& dst, Shape shape) {
  const unsigned delay_us = standin::settings().delay_us;
  if (delay_us == 0) return;
  for (std::size_t row = 0; row < shape.height; ++row)
    std::memset(dst.bytes + row * dst.pitch, 0xFF, shape.width);
  std::this_thread::sleep_for(std::chrono::microseconds(delay_us / 2));
}

// Copies between devices need no peer access: the driver copies through the host.
int reaching_device(const Side& side, int otherwise) {
  const auto block = Memory::instance().find(side.p);
  return block == nullptr ? otherwise : block->device;
}

cudaError_t submit_copy(const std::shared_ptr<Stream>& stream, const Access& access, Side dst,
                        Side src, Shape shape, bool wait) {
  // CUDA copies pageable memory before it returns, because the host may change it afterwards.
  auto staged = std::make_shared<std::vector<std::byte>>();
  if (src.place == Place::pageable && dst.place == Place::device) {
    staged->resize(shape.width * shape.height);
    const Side stage{nullptr, shape.width, Place::pageable, staged->data()};
    copy_rows(stage, src, shape);
    src = stage;
  }
  const std::uint64_t position = Order::instance().submit(stream, access, [=] {
    if (dst.place == Place::pinned && src.place == Place::device) spoil(dst, shape);
    copy_rows(dst, src, shape);
    (void)staged;
    return cudaSuccess;
  });
  if (!wait && dst.place != Place::pageable) return cudaSuccess;
  const standin::Clock clock = Order::instance().clock_of(*stream);
  stream->wait(position);
  Order::instance().host_knows(clock);
  return leave(Devices::instance().sticky(stream->device()));
}

cudaError_t copy(const char* call, Side dst, Side src, Shape shape, cudaMemcpyKind kind,
                 cudaStream_t handle, bool wait) {
  const auto stream = Devices::instance().stream(handle);
  if (stream == nullptr) return refuse(call, "no stream", cudaErrorInvalidResourceHandle);
  if (shape.width == 0 || shape.height == 0) return cudaSuccess;
  if (dst.pitch < shape.width || src.pitch < shape.width)
    return refuse(call, "a pitch less than the width", cudaErrorInvalidPitchValue);
  Access to(call, reaching_device(dst, stream->device()));
  Access from(call, reaching_device(src, stream->device()));
  if (!find(dst, shape, Intent::write, to) || !find(src, shape, Intent::read, from))
    return leave(cudaErrorInvalidValue);
  if (!fits(kind, dst, src))
    return refuse(call, "the kind of copy does not fit the addresses", cudaErrorInvalidValue);
  to.join(from);
  return submit_copy(stream, to, dst, src, shape, wait);
}

cudaError_t fill(const char* call, Side dst, int value, Shape shape, cudaStream_t handle,
                 bool wait) {
  const auto stream = Devices::instance().stream(handle);
  if (stream == nullptr) return refuse(call, "no stream", cudaErrorInvalidResourceHandle);
  if (shape.width == 0 || shape.height == 0) return cudaSuccess;
  if (dst.pitch < shape.width)
    return refuse(call, "a pitch less than the width", cudaErrorInvalidPitchValue);
  Access access(call, stream->device(), true);
  dst.bytes = access.region(dst.p, shape.width, dst.pitch, shape.height, Intent::write);
  if (!access.ok()) return leave(cudaErrorInvalidValue);
  const std::uint64_t position = Order::instance().submit(stream, access, [=] {
    for (std::size_t row = 0; row < shape.height; ++row)
      std::memset(dst.bytes + row * dst.pitch, value, shape.width);
    return cudaSuccess;
  });
  if (!wait) return cudaSuccess;
  const standin::Clock clock = Order::instance().clock_of(*stream);
  stream->wait(position);
  Order::instance().host_knows(clock);
  return leave(Devices::instance().sticky(stream->device()));
}

Side side(const void* p, std::size_t pitch) { return {const_cast<void*>(p), pitch}; }

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* dst, const void* src, size_t n, cudaMemcpyKind kind) {
  STANDIN_ENTER();
  return copy(__func__, side(dst, n), side(src, n), {n, 1}, kind, nullptr, true);
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t n, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  STANDIN_ENTER();
  return copy(__func__, side(dst, n), side(src, n), {n, 1}, kind, stream, false);
}

cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  STANDIN_ENTER();
  return copy(__func__, side(dst, dpitch), side(src, spitch), {width, height}, kind, nullptr, true);
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  STANDIN_ENTER();
  return copy(__func__, side(dst, dpitch), side(src, spitch), {width, height}, kind, stream, false);
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int to, const void* src, int from, size_t n,
                                cudaStream_t stream) {
  STANDIN_ENTER();
  const auto dst_block = Memory::instance().find(dst);
  const auto src_block = Memory::instance().find(src);
  if (dst_block == nullptr || src_block == nullptr || dst_block->device != to ||
      src_block->device != from)
    return refuse(__func__, "an address that is not of the device named", cudaErrorInvalidValue);
  return copy(__func__, side(dst, n), side(src, n), {n, 1}, cudaMemcpyDeviceToDevice, stream,
              false);
}

cudaError_t cudaMemcpyPeer(void* dst, int to, const void* src, int from, size_t n) {
  const cudaError_t error = cudaMemcpyPeerAsync(dst, to, src, from, n, nullptr);
  return error != cudaSuccess ? error : cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemset(void* p, int value, size_t n) {
  STANDIN_ENTER();
  return fill(__func__, side(p, n), value, {n, 1}, nullptr, true);
}

cudaError_t cudaMemsetAsync(void* p, int value, size_t n, cudaStream_t stream) {
  STANDIN_ENTER();
  return fill(__func__, side(p, n), value, {n, 1}, stream, false);
}

cudaError_t cudaMemset2DAsync(void* p, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  STANDIN_ENTER();
  return fill(__func__, side(p, pitch), value, {width, height}, stream, false);
}

}  // extern "C"
