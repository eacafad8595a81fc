#pragma once
// Where a result that comes back in parts lands.

#include <cstddef>
#include <optional>

#include "algorithms/panels/pipeline_model.hpp"
#include "base/host_scratch.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// The program's memory, or, for what may be touched only when all of it is in hand, scratch
/// memory.   Threads: owner only
class ResultLanding {
 public:
  /// @param home the elements of the result, offset 0
  ResultLanding(std::byte* data, const Region& home) : data_(data), home_(home) {}

  /// Parts wait in scratch memory.   Errors: out_of_memory
  Status wait();

  /// A part as it lies in memory that holds all of the result without gaps.
  Region dense(const Block& part, Triangle triangle = Triangle::full) const;
  Layout landing(const Block& part, Triangle triangle = Triangle::full) const;

  /// result. @pre all parts are in hand, as for add()
  void replace();
  /// beta home + result.
  /// @param hermitian the diagonal's imaginary parts are taken as zero, and zero afterwards
  /// @pre wait() was called; beta is real if hermitian
  void add(Precision precision, Complex beta, bool hermitian);

 private:
  std::byte* data_;
  Region home_;
  std::optional<HostScratch> scratch_;
};

}  // namespace ob::algorithms
