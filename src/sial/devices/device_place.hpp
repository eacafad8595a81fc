#pragma once
// The device of a process: which contractions of its workers run there, and how.

#include <array>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "sial/devices/device_copies.hpp"
#include "sial/operations/contraction_layout.hpp"
#include "sial/operations/gemm.hpp"

namespace ob::sial {

/// Where contractions run.
enum class Place : std::uint8_t {
  automatic,  ///< where the model expects them to end first
  host,
  device,
  hints,  ///< on the device between gpu_on and gpu_off, on the host elsewhere
};

/// The measured speed of a host, a device and the link between them.   Units: per second, seconds
struct PlaceRates {
  double host_flops = 35e9;
  double device_flops = 35e9;
  double host_copy_bytes = 10e9;  ///< read and written, of a permutation
  double device_copy_bytes = 0;   ///< the same on the device; 0: it cannot permute
  double to_device_bytes = 1e9;
  double to_host_bytes = 1e9;
  double request_s = 1e-5;  ///< until the first byte of a result arrives
  double command_s = 1e-6;  ///< of this processor, for a command
};

/// Measures the rates, in some hundredths of a second.
/// Errors: those of a device that fails
Result<PlaceRates> measure_rates(Device& device, Gemm& host);

struct DevicePlaceOptions {
  Place place = Place::automatic;
  std::uint64_t memory_bytes = 0;                       ///< of copies; 0: as much as the device has
  std::uint64_t held_bytes = std::uint64_t{256} << 20;  ///< for the case that the device dies
};

/// The products of a contraction on the device, and the orders of its blocks there. It is made
/// anew for blocks of other sizes, or if their copies have other orders.
struct DevicePlan {
  bool made = false;
  std::array<Shape, 3> shapes;       ///< of D, B1 and B2
  std::array<Strides, 3> strides{};  ///< that the layout is chosen for
  std::array<Strides, 3> wanted{};   ///< of the copies that the products work on
  ContractionLayout layout;
};

/// Threads: that of the workers
class DevicePlace {
 public:
  /// @param host computes what the device cannot
  static Result<std::unique_ptr<DevicePlace>> open(std::shared_ptr<Device> device,
                                                   const PlaceRates& rates,
                                                   const DevicePlaceOptions& options, Gemm& host);
  ~DevicePlace() { memory_->close(); }
  DevicePlace(const DevicePlace&) = delete;
  DevicePlace& operator=(const DevicePlace&) = delete;

  /// Runs D = B1 B2, D += B1 B2 or D -= B1 B2 on the device. Returns false, with D unchanged, if it
  /// is to run on the host.
  /// @param d that of `target`, which nobody else holds
  /// @param repeats statements like this one that are expected until D is needed on the host
  /// @param hinted the program asks for the device
  /// @param plan of an earlier contraction with these labels, or an empty one
  bool contract(Block& target, const LabelledBlock& d, const LabelledBlock& b1,
                const LabelledBlock& b2, Assign how, std::uint64_t repeats, bool hinted,
                DevicePlan& plan);

  /// Returns ok, or the reason why the elements of a block are not known any more.
  const Status& broken() const noexcept { return memory_->broken(); }
  /// Returns ok while the device works; else the reason why it does not.
  const Status& lost() const noexcept { return memory_->lost(); }
  /// Returns the traffic since the last call.
  DeviceTraffic take_traffic() noexcept { return memory_->take_traffic(); }

 private:
  struct Statement;

  DevicePlace(std::shared_ptr<DeviceMemory> memory, const PlaceRates& rates,
              const DevicePlaceOptions& options)
      : memory_(std::move(memory)), rates_(rates), options_(options) {}
  void make_plan(const Statement& statement, DevicePlan& plan);
  bool prefers(Statement& statement, std::uint64_t repeats, bool hinted);
  Status run(Statement& statement);

  const std::shared_ptr<DeviceMemory> memory_;
  const PlaceRates rates_;
  const DevicePlaceOptions options_;
  std::uint64_t since_wait_ = 0;  // contractions that were submitted without waiting
};

}  // namespace ob::sial
