#include "backend/cuda/gemmt.hpp"

#include <algorithm>
#include <string>

#include "backend/cuda/blas.hpp"

namespace ob::cuda {
namespace {

// Positions of arguments in the reference interfaces of gemmt and gemm.
enum Gemmt { kUplo, kTransA, kTransB, kN, kK, kAlpha, kA, kB, kBeta, kC };
enum Gemm { kGemmTransA, kGemmTransB, kGemmM, kGemmN, kGemmK, kGemmAlpha, kGemmA, kGemmB };
enum GemmRest { kGemmBeta = kGemmB + 1, kGemmC, kGemmCount };

// Large enough for gemm's full speed; the half of a diagonal block that is computed in vain is at
// most a quarter of the work for two blocks, less for more.
constexpr std::int64_t kBlock = 1024;

class BlockedGemmt {
 public:
  BlockedGemmt(StreamContext& context, const Descriptor& routine, const Argument* arguments)
      : context_(context),
        gemm_(*routines::find(std::string(1, routine.name.front()) + "gemm")),
        element_bytes_(element_bytes(routine.precision)),
        a_(arguments) {}

  Status run() {
    const std::int64_t n = a_[kN].dim;
    const bool upper = a_[kUplo].flag == 'U';
    const auto side = static_cast<std::uint64_t>(std::min(n, kBlock));
    OB_ASSIGN_OR_RETURN(std::byte * square,
                        context_.work.device_bytes(side * side * element_bytes_));
    for (std::int64_t j = 0; j < n; j += kBlock) {
      const std::int64_t cols = std::min(kBlock, n - j);
      OB_RETURN_IF_ERROR(diagonal(j, cols, square));
      const std::int64_t first = upper ? 0 : j + cols;
      const std::int64_t rows = upper ? j : n - first;
      if (rows == 0) continue;
      OB_RETURN_IF_ERROR(product(first, rows, j, cols, {at(kC, first, j), a_[kC].host.ld}));
    }
    return {};
  }

 private:
  std::byte* at(int argument, std::int64_t row, std::int64_t col) const {
    const HostOperand& matrix = a_[argument].host;
    return static_cast<std::byte*>(matrix.data) + (row + col * matrix.ld) * element_bytes_;
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
    g[kGemmA].host = {a_[kTransA].flag == 'N' ? at(kA, row, 0) : at(kA, 0, row), a_[kA].host.ld};
    g[kGemmB].host = {a_[kTransB].flag == 'N' ? at(kB, 0, col) : at(kB, col, 0), a_[kB].host.ld};
    g[kGemmC].host = c;
    return run_blas(context_, gemm_, g);
  }

  Status diagonal(std::int64_t j, std::int64_t size, std::byte* square) const {
    const HostOperand mine{square, size};
    const HostOperand callers{at(kC, j, j), a_[kC].host.ld};
    OB_RETURN_IF_ERROR(copy_triangle(size, callers, mine));
    OB_RETURN_IF_ERROR(product(j, size, j, size, mine));
    return copy_triangle(size, mine, callers);
  }

  Status copy_triangle(long long size, HostOperand from, HostOperand to) const {
    OB_ASSIGN_OR_RETURN(const Kernels* kernels, context_.handles.kernels(context_.device));
    return kernels->launch(context_.stream, std::string("ob_copy_") + gemm_.name.front(),
                           size * size, a_[kUplo].flag == 'U' ? 1 : 2, size, size, from.data,
                           static_cast<long long>(from.ld), to.data, static_cast<long long>(to.ld));
  }

  StreamContext& context_;
  const Descriptor& gemm_;
  const std::int64_t element_bytes_;
  const Argument* const a_;
};

}  // namespace

bool is_gemmt(const Descriptor& routine) noexcept {
  return routine.base == "gemmt" || routine.base == "gemmtr";
}

Status run_gemmt(StreamContext& context, const Descriptor& routine, const Argument* arguments) {
  return BlockedGemmt(context, routine, arguments).run();
}

}  // namespace ob::cuda
