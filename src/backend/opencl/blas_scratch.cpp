#include "backend/opencl/blas_scratch.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "backend/opencl/gemmt.hpp"
#include "device/blocked_gemmt.hpp"
#include "device/quick_return.hpp"

namespace ob::opencl {
namespace {

// Where a matrix lies in its buffer, as CLBlast's functions take it [elements].
struct Matrix {
  std::size_t offset = 0;
  std::size_t ld = 0;
};
// Kernels take no matrix as it is that does not begin with its buffer.
constexpr Matrix kCopied{1, 1};
// Order of the triangles on the diagonal that trsm inverts, and of the products between them.
constexpr std::size_t kTrsmBlock = 16;
// Kernels pad the dimension that is summed over to a multiple of at most so much.
constexpr std::size_t kThickest = 64;

class Scratch {
 public:
  Scratch(const BlasTable& table, const QueueContext& context, const Descriptor& routine,
          const Argument* arguments)
      : table_(table), context_(context), routine_(routine), arguments_(arguments) {}

  Result<std::size_t> bytes() const {
    const std::string_view base = routine_.base;
    if (base.starts_with("gemm") && !is_gemmt(routine_)) {
      return product(trans("transa"), trans("transb"), dim("m"), dim("n"), dim("k"), matrix("a"),
                     matrix("b"), matrix("c"));
    }
    // The largest of its blocks and what lies beside them.
    if (is_gemmt(routine_)) {
      return copied(dim("n"), std::min(dim("n"), std::size_t{kGemmtBlock}), dim("k"));
    }
    if (base == "symm" || base == "hemm") return symmetric();
    if (base == "trmm") return triangular();
    if (base == "trsm") return solve();
    return rank_update();  // syrk, herk, syr2k, her2k
  }

 private:
  const Argument& named(std::string_view name) const {
    const auto at = std::find(routine_.argument_names.begin(), routine_.argument_names.end(), name);
    return arguments_[at - routine_.argument_names.begin()];
  }
  std::size_t dim(std::string_view name) const { return static_cast<std::size_t>(named(name).dim); }
  bool left() const { return named("side").flag == 'L'; }
  CLBlastTranspose trans(std::string_view name) const {
    const char flag = named(name).flag;
    const bool real = routine_.precision == Precision::s || routine_.precision == Precision::d;
    if (flag == 'N') return CLBlastTransposeNo;
    return flag == 'C' && !real ? CLBlastTransposeConjugate : CLBlastTransposeYes;
  }
  Matrix matrix(std::string_view name) const {
    const HostOperand& operand = named(name).host;
    const Place place = context_.memory.place(static_cast<const std::byte*>(operand.data));
    return {place.offset_bytes / element(), static_cast<std::size_t>(operand.ld)};
  }
  std::size_t element() const { return element_bytes(routine_.precision); }

  // Of CLBlast's gemm.
  Result<std::size_t> product(CLBlastTranspose transa, CLBlastTranspose transb, std::size_t m,
                              std::size_t n, std::size_t k, Matrix a, Matrix b, Matrix c) const {
    const auto ask = routine_.precision == Precision::s   ? table_.CLBlastSGemmTempBufferSize
                     : routine_.precision == Precision::d ? table_.CLBlastDGemmTempBufferSize
                     : routine_.precision == Precision::c ? table_.CLBlastCGemmTempBufferSize
                                                          : table_.CLBlastZGemmTempBufferSize;
    cl_command_queue queue = context_.queue;
    std::size_t size_bytes = 0;
    OB_RETURN_IF_ERROR(
        BlasTable::check(ask(CLBlastLayoutColMajor, transa, transb, m, n, k, a.offset, a.ld,
                             b.offset, b.ld, c.offset, c.ld, &queue, &size_bytes),
                         "the temporary memory of a product"));
    return size_bytes;
  }
  Result<std::size_t> copied(std::size_t m, std::size_t n, std::size_t k) const {
    return product(CLBlastTransposeNo, CLBlastTransposeNo, m, n, k, kCopied, kCopied, kCopied);
  }

  // A product with the whole of A, written out in a dense square.
  Result<std::size_t> with_square(CLBlastTranspose transa) const {
    const std::size_t m = dim("m");
    const std::size_t n = dim("n");
    const std::size_t order = left() ? m : n;
    const Matrix square{0, order};
    const Matrix b = matrix("b");
    const Matrix c = routine_.base == "trmm" ? b : matrix("c");
    OB_ASSIGN_OR_RETURN(const std::size_t own,
                        left() ? product(transa, CLBlastTransposeNo, m, n, m, square, b, c)
                               : product(CLBlastTransposeNo, transa, m, n, n, b, square, c));
    return own + order * order * element();
  }
  Result<std::size_t> symmetric() const { return with_square(CLBlastTransposeNo); }

  // A copy of B's buffer, from its beginning.
  std::size_t copy_of_b() const {
    const Matrix b = matrix("b");
    return (b.offset + b.ld * (dim("n") - 1) + dim("m")) * element();
  }
  Result<std::size_t> triangular() const {
    OB_ASSIGN_OR_RETURN(const std::size_t own, with_square(trans("transa")));
    return own + copy_of_b();
  }
  Result<std::size_t> solve() const {
    OB_ASSIGN_OR_RETURN(const std::size_t own, copied(dim("m"), dim("n"), kTrsmBlock));
    const std::size_t order = left() ? dim("m") : dim("n");
    const std::size_t inverses = (order + kTrsmBlock - 1) / kTrsmBlock * kTrsmBlock * kTrsmBlock;
    return own + copy_of_b() + inverses * element();
  }

  // A copy of C, and of factors that do not lie as the kernels want them, padded to whole tiles of
  // theirs.
  Result<std::size_t> rank_update() const {
    const std::size_t n = dim("n");
    const bool two = routine_.base == "syr2k" || routine_.base == "her2k";
    OB_ASSIGN_OR_RETURN(bool fits, factors_fit("a", two ? "b" : "a"));
    if (two && fits) {
      OB_ASSIGN_OR_RETURN(fits, factors_fit("b", "a"));
    }
    if (fits) return n * n * element();
    OB_ASSIGN_OR_RETURN(const std::size_t tiles, edges_of_tile());
    const std::size_t padded = n + tiles;
    return (padded * padded + 2 * padded * (dim("k") + kThickest)) * element();
  }
  // True if a product of the first with the second transposed would copy its result only, unpadded.
  Result<bool> factors_fit(std::string_view first, std::string_view second) const {
    if (routine_.base.starts_with("he")) return false;  // one of them is conjugated
    const bool plain = named("trans").flag == 'N';
    const std::size_t n = dim("n");
    OB_ASSIGN_OR_RETURN(const std::size_t size_bytes,
                        product(plain ? CLBlastTransposeNo : CLBlastTransposeYes,
                                plain ? CLBlastTransposeYes : CLBlastTransposeNo, n, n, dim("k"),
                                matrix(first), matrix(second), kCopied));
    return size_bytes == n * n * element();
  }
  // Rows and columns of a tile, together: of two factors that are one row and one column, padded to
  // tiles, each element of the sum takes so much.
  Result<std::size_t> edges_of_tile() const {
    constexpr std::size_t kLong = std::size_t{1} << 40;
    OB_ASSIGN_OR_RETURN(const std::size_t size_bytes, copied(1, 1, kLong));
    return size_bytes / element() / kLong;
  }

  const BlasTable& table_;
  const QueueContext& context_;
  const Descriptor& routine_;
  const Argument* const arguments_;
};

}  // namespace

Result<std::uint64_t> blas_scratch_bytes(const BlasTable& table, const QueueContext& context,
                                         const Descriptor& routine, const Argument* arguments) {
  const Operands operands = routine.operands(arguments);
  if (quick_return(routine, arguments, operands).left != QuickReturn::Left::everything) return 0;
  return Scratch(table, context, routine, arguments).bytes();
}

}  // namespace ob::opencl
