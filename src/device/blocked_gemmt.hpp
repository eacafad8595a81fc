#pragma once
// gemmt (gemmtr), one triangle of a product, for libraries that only have gemm.

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob {

bool is_gemmt(const Descriptor& routine) noexcept;

/// What a library does for the gemmt of one precision, in the memory of its own device.
class GemmtSteps {
 public:
  /// Memory: valid as long as this object   Errors: out_of_memory
  virtual Result<std::byte*> scratch(std::uint64_t size_bytes) = 0;
  /// @param arguments those of gemm, operands as Argument::host
  virtual Status gemm(const Argument* arguments) = 0;
  /// Copies one triangle of an n x n matrix, with its diagonal.
  virtual Status copy_triangle(char uplo, std::int64_t n, HostOperand from, HostOperand to) = 0;

 protected:
  ~GemmtSteps() = default;
};

/// Products of `block` columns of C and what lies beside them in the triangle; blocks on the
/// diagonal go through scratch, so that the other triangle stays as it is. Of those, half is
/// computed in vain: at most a quarter of the work for two blocks, less for more.
/// @pre arguments are those of a gemmt, operands as Argument::host; n > 0
/// Errors: those of the steps
Status run_blocked_gemmt(GemmtSteps& steps, Precision precision, const Argument* arguments,
                         std::int64_t block);

}  // namespace ob
