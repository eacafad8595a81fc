#pragma once
// The devices that the conformance suite runs over.

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "device/device.hpp"

namespace ob::test {

struct DeviceFactory {
  std::string name;      ///< letters, digits and underscores: becomes part of test names
  bool computes = true;  ///< false: routines and transforms leave garbage (the null backend)
  /// A fresh device with a cap of memory_bytes. It may hold whatever must live as long (a daemon,
  /// say). Errors: unavailable skips the tests of this factory; anything else fails them.
  std::function<Result<std::shared_ptr<Device>>(std::uint64_t memory_bytes)> create;
  /// False: one thread at a time (a remote device is acquired whole, with its connection).
  bool any_thread = true;
  /// Descriptor::base of routines that its library does not have: calls of them must be
  /// `unsupported`, and calls of all others must work.
  std::vector<std::string_view> lacks = {};
};

inline std::ostream& operator<<(std::ostream& out, const DeviceFactory& factory) {
  return out << factory.name;
}

/// To run the suite over another device, add its factory here.
std::vector<DeviceFactory> device_factories();

/// A cpu device without BLAS, whose FFT libraries lack FFTW's r2r functions.
DeviceFactory device_without_r2r();

}  // namespace ob::test
