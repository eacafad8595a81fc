#pragma once
// Matrices of any precision in poisoned memory, and the devices that factor them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "algorithms/device_call.hpp"
#include "algorithms/exchange/host_exchange.hpp"
#include "algorithms/factor/column_distribution.hpp"
#include "backend/cpu/backend.hpp"
#include "routines/descriptor.hpp"
#include "support/random.hpp"

namespace ob::test {

using Value = std::complex<double>;

inline double unit_of(Precision p) { return real_bytes(p) == 4 ? 0x1p-24 : 0x1p-53; }

/// A column-major matrix with rows of padding. At first every byte is poison.
class FactorMatrix {
 public:
  FactorMatrix(Precision precision, std::uint64_t rows, std::uint64_t cols, std::uint64_t ld)
      : precision_(precision), rows_(rows), cols_(cols), ld_(ld) {
    bytes_.assign(ld * cols * element_bytes(precision), std::byte{0xA5});
  }
  std::uint64_t rows() const { return rows_; }
  std::uint64_t cols() const { return cols_; }
  std::uint64_t ld() const { return ld_; }
  HostOperand operand() { return {bytes_.data(), static_cast<std::int64_t>(ld_)}; }

  Value get(std::uint64_t i, std::uint64_t j) const {
    const std::byte* at = &bytes_[(i + j * ld_) * element_bytes(precision_)];
    if (real_bytes(precision_) == 4) {
      float parts[2] = {0, 0};
      std::memcpy(parts, at, element_bytes(precision_));
      return {parts[0], parts[1]};
    }
    double parts[2] = {0, 0};
    std::memcpy(parts, at, element_bytes(precision_));
    return {parts[0], parts[1]};
  }
  void set(std::uint64_t i, std::uint64_t j, Value value) {
    std::byte* at = &bytes_[(i + j * ld_) * element_bytes(precision_)];
    if (real_bytes(precision_) == 4) {
      const float parts[2] = {static_cast<float>(value.real()), static_cast<float>(value.imag())};
      std::memcpy(at, parts, element_bytes(precision_));
    } else {
      const double parts[2] = {value.real(), value.imag()};
      std::memcpy(at, parts, element_bytes(precision_));
    }
  }
  bool same_bytes(const FactorMatrix& other, std::uint64_t i, std::uint64_t j) const {
    const std::size_t size = element_bytes(precision_);
    return std::memcmp(&bytes_[(i + j * ld_) * size], &other.bytes_[(i + j * ld_) * size], size) ==
           0;
  }
  bool operator==(const FactorMatrix& other) const { return bytes_ == other.bytes_; }

  void fill(std::mt19937_64& random) {
    std::uniform_real_distribution<double> part(-1, 1);
    for (std::uint64_t j = 0; j < cols_; ++j) {
      for (std::uint64_t i = 0; i < rows_; ++i) {
        const double re = part(random);
        set(i, j, {re, algorithms::is_complex(precision_) ? part(random) : 0});
      }
    }
  }
  /// Fills in a Hermitian matrix whose diagonal makes it positive definite.
  void fill_definite(std::mt19937_64& random) {
    fill(random);
    for (std::uint64_t j = 0; j < cols_; ++j) {
      for (std::uint64_t i = 0; i < j; ++i) set(i, j, std::conj(get(j, i)));
      set(j, j, static_cast<double>(2 * rows_ + 1));
    }
  }

 private:
  Precision precision_;
  std::uint64_t rows_, cols_, ld_;
  std::vector<std::byte> bytes_;
};

inline constexpr std::size_t kMostDevices = 4;

/// Returns the first `count` of the cpu devices of this test program.
inline std::vector<Device*> cpu_devices(std::size_t count) {
  static const std::vector<std::unique_ptr<Device>> made = [] {
    std::vector<std::unique_ptr<Device>> devices;
    for (unsigned i = 0; i < kMostDevices; ++i) {
      auto device = cpu::create({.index = i, .devices = kMostDevices, .threads = 1});
      if (!device.ok()) {
        std::fprintf(stderr, "%s\n", device.status().message().c_str());
        std::abort();
      }
      devices.push_back(std::move(device).value());
    }
    return devices;
  }();
  std::vector<Device*> devices;
  for (std::size_t i = 0; i < count; ++i) devices.push_back(made[i].get());
  return devices;
}

/// Distributes blocks in turn or unevenly, in slabs of at most `most_columns` columns per device.
struct TestDistribution {
  std::uint64_t block = 1;
  std::vector<double> shares{1.0};
  std::uint64_t most_columns = UINT64_MAX;

  std::size_t devices() const { return shares.size(); }
  algorithms::ColumnDistribution of(std::uint64_t length) const {
    algorithms::ColumnDistribution distribution(length, block, shares);
    const auto fits = [&](algorithms::BlockIndex, algorithms::Rank, std::uint64_t columns) {
      return columns <= std::max(block, most_columns);
    };
    EXPECT_TRUE(distribution.cut(fits));
    return distribution;
  }
  std::string text() const {
    std::string made = " nb=" + std::to_string(block) + " on";
    for (const double share : shares) made += " " + std::to_string(static_cast<int>(share));
    if (most_columns < UINT64_MAX) made += ", at most " + std::to_string(most_columns) + " columns";
    return made;
  }
};

/// Returns a random distribution. One third are uneven, and half have slabs.
inline TestDistribution random_distribution(std::mt19937_64& random, std::uint64_t length) {
  TestDistribution made;
  made.block = uniform<std::uint64_t>(random, 1, 40);
  made.shares.assign(uniform<std::size_t>(random, 1, kMostDevices), 1.0);
  if (uniform(random, 0, 2) == 0) {
    for (double& share : made.shares) share = uniform(random, 1, 5);
  }
  if (uniform(random, 0, 1) == 0) made.most_columns = uniform<std::uint64_t>(random, 1, length);
  return made;
}

/// @param memory_bytes memory of each device; 0: no limit
inline std::unique_ptr<algorithms::HostExchange> host_exchange(std::span<Device* const> devices,
                                                               double block_bytes,
                                                               std::uint64_t memory_bytes = 0) {
  algorithms::ExchangeModel model;
  model.block_bytes = block_bytes;
  model.ranks.assign(devices.size(), {0, 0, 0, memory_bytes});
  auto made = algorithms::HostExchange::create(devices, model);
  if (!made.ok()) {
    std::fprintf(stderr, "%s\n", made.status().message().c_str());
    std::abort();
  }
  return std::move(made).value();
}

}  // namespace ob::test
