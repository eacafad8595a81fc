#pragma once
// The devices of the conformance suite.

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
  std::string name;      ///< letters, digits and underscores: part of test names
  bool computes = true;  ///< false: routines and transforms compute nothing (the null backend)
  /// Creates a fresh device with a limit of memory_bytes. The device may own other objects (for
  /// example a daemon). Errors: unavailable skips the tests of this factory; all others fail them.
  std::function<Result<std::shared_ptr<Device>>(std::uint64_t memory_bytes)> create;
  /// False: one thread at a time (a client uses a remote device and its connection exclusively).
  bool any_thread = true;
  /// True: behind a daemon. Its routines are those of a device in this process.
  bool remote = false;
  /// Descriptor::base of routines that the device's library lacks: calls of them must be
  /// `unsupported`, and calls of all others must work.
  std::vector<std::string_view> lacks = {};
};

inline std::ostream& operator<<(std::ostream& out, const DeviceFactory& factory) {
  return out << factory.name;
}

/// Returns all factories. To run the suite over another device, add its factory here.
std::vector<DeviceFactory> device_factories();

/// Returns a cpu device without BLAS, whose FFT libraries lack FFTW's r2r functions.
DeviceFactory device_without_r2r();

}  // namespace ob::test
