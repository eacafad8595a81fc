#pragma once
// Checks of the elements of a call before a library reads them.

#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob {

/// Checks the index vectors that a call reads, as the row's `indices` says: pivots point into their
/// matrix, and negative ones are pairs. It reads elements in host memory.
/// Errors: invalid_argument if one does not
Status check_indices(const Descriptor& routine, const Argument* arguments);

/// Checks that no matrix whose row says `finite` has a NaN or an infinity. It reads elements in
/// host memory.
/// Errors: unsupported if one has   Cost: one pass over those matrices
Status check_finite(const Descriptor& routine, const Argument* arguments);

/// The arguments of one call for a library, with checked elements. Another process may change
/// operands at any time, so indices are copied first, and the library gets the copy.
/// Memory: owns the copies; the library may use arguments() as long as this object lives
/// Threads: one at a time
class CheckedElements {
 public:
  /// Copies and checks. The operands are Argument::host in host memory.
  /// Errors: those of check_indices() and check_finite(); out_of_memory
  Status check(const Descriptor& routine, const Argument* arguments);
  /// Returns the arguments for the library.
  /// @pre check() returned no error
  const Argument* arguments() const noexcept { return arguments_; }

 private:
  Status copy_indices(const Descriptor& routine, const Argument* arguments);

  const Argument* arguments_ = nullptr;
  std::unique_ptr<Argument[]> copied_arguments_;
  std::unique_ptr<std::int64_t[]> indices_;
};

/// True if the routine uses elements of this operand as places, so that they must be checked.
bool reads_places(const Descriptor& routine, std::size_t argument) noexcept;

}  // namespace ob
