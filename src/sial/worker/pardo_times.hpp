#pragma once
// The times of the iterations of pardos, by which the iterations are divided.

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "sial/code/program.hpp"
#include "sial/exchange/message.hpp"
#include "sial/job/layout.hpp"
#include "sial/worker/geometry.hpp"

namespace ob::sial {

/// What is known of the iterations whose blocks have one size.
struct ClassTimes {
  double count = 0;
  double time = 0;     ///< of all
  double squares = 0;  ///< of the times
};

/// The times that workers have measured. All workers know the same after each barrier, so all of
/// them divide a pardo in the same way.
/// Units:   those of the caller's clock
/// Threads: owner only
class PardoTimes {
 public:
  /// The times of one pardo.
  struct Pardo {
    std::uint32_t loop = 0;
    double mine = 0;                      ///< of this worker since the last barrier
    double mean = 0, slowest = 0;         ///< of a worker, summed over all epochs
    bool uneven = false;                  ///< the slowest took a tenth longer than the mean
    std::vector<std::uint64_t> products;  ///< of extents: one class each; empty: not kept
    std::vector<ClassTimes> own, all;     ///< by class: since the last barrier; before it
  };

  PardoTimes(const Program& program, const Layout& layout, Rank workers);

  /// Keeps the times of a pardo by the sizes of its blocks.
  void keep_classes(std::uint32_t loop);
  /// Returns the class of an iteration of a pardo whose classes are kept.
  std::size_t class_of(std::uint32_t loop, const IndexValues& values) const;
  /// Notes the time of one iteration.
  void note(std::uint32_t loop, const IndexValues& values, double time);

  /// Adds this worker's times to its part of a barrier.
  void put_into(Message& part) const;
  /// Takes the times of all workers from the result of a barrier.
  /// @param least time of the slowest worker below which a pardo is not uneven
  void take(const Message& result, double least);

  const Pardo& of(std::uint32_t loop) const { return pardos_.at(loop); }
  const std::map<std::uint32_t, Pardo>& all() const noexcept { return pardos_; }

  /// Adds the times of earlier runs. One worker does so: they reach the others at a barrier. What
  /// cannot be read is left out.
  void load(const std::filesystem::path& file);
  /// Writes the times of all workers, if classes are kept.
  Status save(const std::filesystem::path& file) const;

 private:
  std::string place_of(const Pardo& pardo) const;

  const Program& program_;
  const Layout& layout_;
  const Rank workers_;
  std::map<std::uint32_t, Pardo> pardos_;  // by loop
};

/// The iterations of one class that a worker gets: from `first` to `end` - 1, in their order.
struct ClassShare {
  std::uint64_t first = 0, end = 0;
};

/// Gives iterations to workers, the longest first, each to the worker that has least to do.
/// Returns the shares of `worker`, by class.
/// @param counts iterations of each class      @param costs of one iteration of each class
std::vector<ClassShare> longest_first(const std::vector<std::uint64_t>& counts,
                                      const std::vector<double>& costs, Rank workers, Rank worker);

}  // namespace ob::sial
