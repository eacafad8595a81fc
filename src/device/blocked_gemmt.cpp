#include "device/blocked_gemmt.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace ob {
namespace {

// Positions of arguments in the reference interfaces of gemmt and gemm.
enum Gemmt { kUplo, kTransA, kTransB, kN, kK, kAlpha, kA, kB, kBeta, kC };
enum Gemm { kGemmTransA, kGemmTransB, kGemmM, kGemmN, kGemmK, kGemmAlpha, kGemmA, kGemmB };
enum GemmRest { kGemmBeta = kGemmB + 1, kGemmC, kGemmCount };

class BlockedGemmt {
 public:
  BlockedGemmt(GemmtSteps& steps, Precision precision, const Argument* arguments)
      : steps_(steps), element_bytes_(element_bytes(precision)), a_(arguments) {}

  Status run(std::int64_t block) {
    const std::int64_t n = a_[kN].dim;
    const bool upper = a_[kUplo].flag == 'U';
    const auto side = static_cast<std::uint64_t>(std::min(n, block));
    OB_ASSIGN_OR_RETURN(std::byte * square,
                        steps_.scratch(side * side * static_cast<std::uint64_t>(element_bytes_)));
    for (std::int64_t j = 0; j < n; j += block) {
      const std::int64_t cols = std::min(block, n - j);
      OB_RETURN_IF_ERROR(diagonal(j, cols, square));
      const std::int64_t first = upper ? 0 : j + cols;
      const std::int64_t rows = upper ? j : n - first;
      if (rows == 0) continue;
      OB_RETURN_IF_ERROR(product(first, rows, j, cols, at(kC, first, j)));
    }
    return {};
  }

 private:
  HostOperand at(int argument, std::int64_t row, std::int64_t col) const {
    const HostOperand& matrix = a_[argument].host;
    return {static_cast<std::byte*>(matrix.data) + (row + col * matrix.ld) * element_bytes_,
            matrix.ld};
  }

  // c := alpha op(A)[row : row + rows, :] op(B)[:, col : col + cols] + beta c
  Status product(std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols,
                 HostOperand c) const {
    Argument g[kGemmCount];
    g[kGemmTransA] = a_[kTransA];
    g[kGemmTransB] = a_[kTransB];
    g[kGemmM].dim = rows;
    g[kGemmN].dim = cols;
    g[kGemmK] = a_[kK];
    g[kGemmAlpha] = a_[kAlpha];
    g[kGemmBeta] = a_[kBeta];
    g[kGemmA].host = a_[kTransA].flag == 'N' ? at(kA, row, 0) : at(kA, 0, row);
    g[kGemmB].host = a_[kTransB].flag == 'N' ? at(kB, 0, col) : at(kB, col, 0);
    g[kGemmC].host = c;
    return steps_.gemm(g);
  }

  Status diagonal(std::int64_t j, std::int64_t size, std::byte* square) const {
    const HostOperand mine{square, size};
    const HostOperand callers = at(kC, j, j);
    const char uplo = a_[kUplo].flag;
    OB_RETURN_IF_ERROR(steps_.copy_triangle(uplo, size, callers, mine));
    OB_RETURN_IF_ERROR(product(j, size, j, size, mine));
    return steps_.copy_triangle(uplo, size, mine, callers);
  }

  GemmtSteps& steps_;
  const std::int64_t element_bytes_;
  const Argument* const a_;
};

}  // namespace

bool is_gemmt(const Descriptor& routine) noexcept {
  return routine.base == "gemmt" || routine.base == "gemmtr";
}

std::int64_t gemmt_order(const Argument* arguments) noexcept { return arguments[kN].dim; }

Status run_blocked_gemmt(GemmtSteps& steps, Precision precision, const Argument* arguments,
                         std::int64_t block) {
  OB_EXPECT(gemmt_order(arguments) > 0 && block > 0);
  return BlockedGemmt(steps, precision, arguments).run(block);
}

}  // namespace ob
