#pragma once
// gemmt (gemmtr), one triangle of a product, for libraries that only have gemm.

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob {

bool is_gemmt(const Descriptor& routine) noexcept;
/// Returns n, the order of C.   @param arguments those of a gemmt
std::int64_t gemmt_order(const Argument* arguments) noexcept;

/// The operations of a library that one precision of gemmt needs, in the memory of its device.
class GemmtSteps {
 public:
  /// Allocates device memory.
  /// Memory: valid as long as this object   Errors: out_of_memory
  virtual Result<std::byte*> scratch(std::uint64_t size_bytes) = 0;
  /// Computes a product.
  /// @param arguments those of gemm, operands as Argument::host
  virtual Status gemm(const Argument* arguments) = 0;
  /// Copies one triangle of an n x n matrix, with its diagonal.
  virtual Status copy_triangle(char uplo, std::int64_t n, HostOperand from, HostOperand to) = 0;

 protected:
  ~GemmtSteps() = default;
};

/// Computes gemmt by products of `block` columns of C with the rows of the triangle. Blocks on the
/// diagonal go through scratch memory, so that the other triangle keeps its contents. Half of each
/// such block is wasted: a quarter of the work with two blocks, less with more.
/// Errors: those of the steps
/// @param arguments those of a gemmt, operands as Argument::host
/// @pre gemmt_order(arguments) > 0 && block > 0
Status run_blocked_gemmt(GemmtSteps& steps, Precision precision, const Argument* arguments,
                         std::int64_t block);

}  // namespace ob
