#include "backend/opencl/blas_scratch.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "backend/opencl/gemmt.hpp"
#include "device/blocked_gemmt.hpp"
#include "device/quick_return.hpp"

namespace ob::opencl {
namespace {

// The place of a matrix in its buffer, in the form of CLBlast's functions [elements].
struct Matrix {
  std::size_t offset = 0;
  std::size_t ld = 0;
};
// A matrix that CLBlast must copy. Its kernels use a matrix in place only if it begins at the start
// of its buffer.
constexpr Matrix kCopied{1, 1};

// C := alpha op(A) op(B) + beta C with op(A) m x k and op(B) k x n.
struct Product {
  CLBlastTranspose transa = CLBlastTransposeNo;
  CLBlastTranspose transb = CLBlastTransposeNo;
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  Matrix a;
  Matrix b;
  Matrix c;
};

// The order of the triangles on the diagonal that trsm inverts, and of the products between them.
constexpr std::size_t kTrsmBlock = 16;
// Kernels pad the dimension of the sum to a multiple of at most this.
constexpr std::size_t kThickest = 64;

class Scratch {
 public:
  Scratch(const BlasTable& table, const QueueContext& context, const Descriptor& routine,
          const Argument* arguments)
      : table_(table), context_(context), routine_(routine), arguments_(arguments) {}

  Result<std::size_t> bytes() const {
    const std::string_view base = routine_.base;
    if (base.starts_with("gemm") && !is_gemmt(routine_)) {
      return product({.transa = trans("transa"),
                      .transb = trans("transb"),
                      .m = dim("m"),
                      .n = dim("n"),
                      .k = dim("k"),
                      .a = matrix("a"),
                      .b = matrix("b"),
                      .c = matrix("c")});
    }
    // The result is the maximum over the blocks and over the products beside them.
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

  // Asks CLBlast for the scratch memory of its gemm.
  Result<std::size_t> product(const Product& p) const {
    const auto ask = routine_.precision == Precision::s   ? table_.CLBlastSGemmTempBufferSize
                     : routine_.precision == Precision::d ? table_.CLBlastDGemmTempBufferSize
                     : routine_.precision == Precision::c ? table_.CLBlastCGemmTempBufferSize
                                                          : table_.CLBlastZGemmTempBufferSize;
    cl_command_queue queue = context_.queue;
    std::size_t size_bytes = 0;
    OB_RETURN_IF_ERROR(
        BlasTable::check(ask(CLBlastLayoutColMajor, p.transa, p.transb, p.m, p.n, p.k, p.a.offset,
                             p.a.ld, p.b.offset, p.b.ld, p.c.offset, p.c.ld, &queue, &size_bytes),
                         "the temporary memory of a product"));
    return size_bytes;
  }
  Result<std::size_t> copied(std::size_t m, std::size_t n, std::size_t k) const {
    return product({.m = m, .n = n, .k = k, .a = kCopied, .b = kCopied, .c = kCopied});
  }

  // Returns the scratch memory of a product with A, which is expanded to a dense square.
  Result<std::size_t> with_square(CLBlastTranspose transa) const {
    const std::size_t m = dim("m");
    const std::size_t n = dim("n");
    const std::size_t order = left() ? m : n;
    const Matrix square{0, order};
    const Matrix b = matrix("b");
    const Matrix c = routine_.base == "trmm" ? b : matrix("c");
    const Product from_left{.transa = transa, .m = m, .n = n, .k = m, .a = square, .b = b, .c = c};
    const Product from_right{.transb = transa, .m = m, .n = n, .k = n, .a = b, .b = square, .c = c};
    OB_ASSIGN_OR_RETURN(const std::size_t own, product(left() ? from_left : from_right));
    return own + order * order * element();
  }
  Result<std::size_t> symmetric() const { return with_square(CLBlastTransposeNo); }

  // Returns the size of a copy of B's buffer, from its start.
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

  // Returns the size of a copy of C, and of factors that the kernels cannot use in place, padded to
  // whole tiles.
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
  // True if the product of the first operand with the transposed second one would copy only its
  // result, without padding.
  Result<bool> factors_fit(std::string_view first, std::string_view second) const {
    if (routine_.base.starts_with("he")) return false;  // one of them is conjugated
    const bool plain = named("trans").flag == 'N';
    const std::size_t n = dim("n");
    OB_ASSIGN_OR_RETURN(const std::size_t size_bytes,
                        product({.transa = plain ? CLBlastTransposeNo : CLBlastTransposeYes,
                                 .transb = plain ? CLBlastTransposeYes : CLBlastTransposeNo,
                                 .m = n,
                                 .n = n,
                                 .k = dim("k"),
                                 .a = matrix(first),
                                 .b = matrix(second),
                                 .c = kCopied}));
    return size_bytes == n * n * element();
  }
  // Returns the rows plus the columns of a tile. This is the memory for each element of the sum if
  // the factors have one row and one column and are padded to tiles.
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
