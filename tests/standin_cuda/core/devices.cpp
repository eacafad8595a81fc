#include "devices.hpp"

#include <driver_types.h>

#include "settings.hpp"

namespace standin {

Devices& Devices::instance() {
  static auto* const kDevices = new Devices;  // default streams live until the process ends
  return *kDevices;
}

Devices::Devices() : sticky_(settings().devices), default_streams_(settings().devices) {}

int& Devices::current() noexcept {
  thread_local int device = 0;
  return device;
}

void Devices::poison(int device, cudaError_t error) noexcept {
  cudaError_t none = cudaSuccess;
  sticky_[device].compare_exchange_strong(none, error);  // the first error stays
}

void Devices::allow_peer(int device, int peer, bool allow) {
  const std::lock_guard lock(mutex_);
  if (allow) {
    peers_.emplace(device, peer);
  } else {
    peers_.erase({device, peer});
  }
}

bool Devices::reaches(int device, int owner) {
  const std::lock_guard lock(mutex_);
  return device == owner || peers_.contains({device, owner});
}

std::shared_ptr<Stream> Devices::stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return default_stream(current());
  return streams_.find(handle);
}

std::shared_ptr<Stream> Devices::default_stream(int device) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Stream>& stream = default_streams_[device];
  if (stream == nullptr) stream = std::make_shared<Stream>(device, cudaStreamDefault);
  return stream;
}

bool Devices::is_default(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  return default_streams_[stream.device()].get() == &stream;
}

std::vector<std::shared_ptr<Stream>> Devices::blocking_streams(int device) {
  std::vector<std::shared_ptr<Stream>> found;
  for (auto& stream : streams_.all()) {
    if (stream->device() == device && (stream->flags() & cudaStreamNonBlocking) == 0)
      found.push_back(std::move(stream));
  }
  return found;
}

std::vector<std::shared_ptr<Stream>> Devices::streams_of(int device) {
  std::vector<std::shared_ptr<Stream>> found;
  for (auto& stream : streams_.all()) {
    if (stream->device() == device) found.push_back(std::move(stream));
  }
  const std::lock_guard lock(mutex_);
  if (default_streams_[device] != nullptr) found.push_back(default_streams_[device]);
  return found;
}

}  // namespace standin
