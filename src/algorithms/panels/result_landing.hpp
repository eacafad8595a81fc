#pragma once
// The host memory that receives a result in parts.

#include <cstddef>
#include <optional>

#include "algorithms/panels/pipeline_model.hpp"
#include "base/host_scratch.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Receives the parts of a result, either in the program's memory or in scratch memory. Scratch
/// memory is for results that may change the program's memory only after all parts have arrived.
/// Threads: owner only
class ResultLanding {
 public:
  /// @param home the elements of the result, at offset 0
  ResultLanding(std::byte* data, const Region& home) : data_(data), home_(home) {}

  /// Lets the parts land in scratch memory.
  /// Errors: out_of_memory
  Status wait();

  /// The region of a part in memory that holds all of the result without gaps.
  Region dense(const Block& part, Triangle triangle = Triangle::full) const;
  Layout landing(const Block& part, Triangle triangle = Triangle::full) const;

  /// Computes home := result.
  /// @pre all parts have arrived, as for add()
  void replace();
  /// Computes home := beta home + result.
  /// @param hermitian the imaginary parts of the diagonal are read as zero and set to zero
  /// @pre wait() was called; beta is real if hermitian
  void add(Precision precision, Complex beta, bool hermitian);

 private:
  std::byte* data_;
  Region home_;
  std::optional<HostScratch> scratch_;
};

}  // namespace ob::algorithms
