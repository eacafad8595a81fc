#include "backend/cpu/substitutes.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <string>

namespace ob::cpu {
namespace {

const ThunkEntry* entry_of(const std::string& name) {
  const Descriptor* routine = routines::find(name);
  if (routine == nullptr) return nullptr;
  return &thunks()[static_cast<std::size_t>(routine - routines::all().data())];
}

// Positions of arguments in the reference interfaces of gemmt and gemm.
enum Gemmt { kUplo, kTransA, kTransB, kN, kK, kAlpha, kA, kB, kBeta, kC, kGemmtCount };
enum Gemm { kGemmTransA, kGemmTransB, kGemmM, kGemmN, kGemmK, kGemmAlpha, kGemmA, kGemmB };
enum GemmRest { kGemmBeta = kGemmB + 1, kGemmC, kGemmCount };

// Large enough for gemm's full speed, small enough for the half of a diagonal block that is
// computed in vain not to matter.
constexpr std::int64_t kBlock = 256;

// One gemmt, cut into products of whole blocks.
class BlockedGemmt {
 public:
  BlockedGemmt(Thunk gemm, void* function, std::uint32_t element_bytes, const Argument* a)
      : gemm_(gemm), function_(function), element_bytes_(element_bytes), a_(a) {}

  bool run() {
    const std::int64_t n = a_[kN].dim;
    const auto elements = static_cast<std::size_t>(std::min(n, kBlock));
    std::unique_ptr<std::byte[]> square(new (std::nothrow)
                                            std::byte[elements * elements * element_bytes_]);
    if (square == nullptr) return false;
    const bool upper = a_[kUplo].flag == 'U';
    for (std::int64_t j = 0; j < n; j += kBlock) {
      const std::int64_t cols = std::min(kBlock, n - j);
      if (!diagonal(j, cols, square.get())) return false;
      const std::int64_t first = upper ? 0 : j + cols;
      const std::int64_t rows = upper ? j : n - first;
      if (rows > 0 && !product(first, rows, j, cols, at(kC, first, j), a_[kC].host.ld))
        return false;
    }
    return true;
  }

 private:
  std::byte* at(int argument, std::int64_t row, std::int64_t col) const {
    const HostOperand& matrix = a_[argument].host;
    return static_cast<std::byte*>(matrix.data) + (row + col * matrix.ld) * element_bytes_;
  }

  // c := alpha op(A)[row : row + rows, :] op(B)[:, col : col + cols] + beta c
  bool product(std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols, void* c,
               std::int64_t ldc) const {
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
    g[kGemmC].host = {c, ldc};
    return gemm_(function_, g);
  }

  // A diagonal block goes through `square`, so that the other triangle of C stays as it is.
  bool diagonal(std::int64_t j, std::int64_t size, std::byte* square) const {
    copy_triangle(j, size, square, true);
    if (!product(j, size, j, size, square, size)) return false;
    copy_triangle(j, size, square, false);
    return true;
  }

  void copy_triangle(std::int64_t j, std::int64_t size, std::byte* square, bool from_c) const {
    const bool upper = a_[kUplo].flag == 'U';
    for (std::int64_t col = 0; col < size; ++col) {
      const std::int64_t row = upper ? 0 : col;
      const auto bytes = static_cast<std::size_t>(upper ? col + 1 : size - col) * element_bytes_;
      std::byte* mine = square + (row + col * size) * element_bytes_;
      std::byte* callers = at(kC, j + row, j + col);
      std::copy_n(from_c ? callers : mine, bytes, from_c ? mine : callers);
    }
  }

  Thunk gemm_;
  void* function_;
  std::int64_t element_bytes_;
  const Argument* a_;
};

template <char kPrecision, std::uint32_t kElementBytes>
bool gemmt_by_gemm(void* function, const Argument* arguments) {
  static const ThunkEntry* const gemm = entry_of(std::string(1, kPrecision) + "gemm");
  return BlockedGemmt(gemm->thunk, function, kElementBytes, arguments).run();
}

Thunk gemmt_thunk(Precision precision) {
  switch (precision) {
    case Precision::s: return gemmt_by_gemm<'s', 4>;
    case Precision::d: return gemmt_by_gemm<'d', 8>;
    case Precision::c: return gemmt_by_gemm<'c', 8>;
    case Precision::z: return gemmt_by_gemm<'z', 16>;
  }
  return nullptr;
}

}  // namespace

std::optional<LibraryRoutine> substitute(const Descriptor& routine,
                                         const std::function<void*(const char*)>& symbol) {
  const bool is_gemmt = routine.base == "gemmt" || routine.base == "gemmtr";
  if (!is_gemmt && routine.base != "gemm3m") return std::nullopt;
  const std::string precision(routine.name.substr(0, 1));
  if (is_gemmt) {
    const ThunkEntry* twin = entry_of(precision + (routine.base == "gemmt" ? "gemmtr" : "gemmt"));
    void* function = twin != nullptr ? symbol(twin->symbol) : nullptr;
    if (function != nullptr) return LibraryRoutine{twin->thunk, function};
  }
  const ThunkEntry* gemm = entry_of(precision + "gemm");
  void* function = gemm != nullptr ? symbol(gemm->symbol) : nullptr;
  if (function == nullptr) return std::nullopt;
  return LibraryRoutine{is_gemmt ? gemmt_thunk(routine.precision) : gemm->thunk, function};
}

}  // namespace ob::cpu
