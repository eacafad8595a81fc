#include "backend/cpu/substitutes.hpp"

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "device/blocked_gemmt.hpp"

namespace ob::cpu {
namespace {

const ThunkEntry* entry_of(const std::string& name) {
  const Descriptor* routine = routines::find(name);
  if (routine == nullptr) return nullptr;
  return &thunks()[static_cast<std::size_t>(routine - routines::all().data())];
}

// The block is large enough for gemm's full speed, and so small that the wasted half of a diagonal
// block does not matter.
constexpr std::int64_t kBlock = 256;

class Steps final : public GemmtSteps {
 public:
  Steps(Thunk thunk, void* function, std::uint32_t element_bytes)
      : gemm_(thunk), function_(function), element_bytes_(element_bytes) {}

  Result<std::byte*> scratch(std::uint64_t size_bytes) override {
    scratch_.reset(new (std::nothrow) std::byte[size_bytes]);
    if (scratch_ == nullptr) return no_memory();
    return scratch_.get();
  }
  Status gemm(const Argument* arguments) override {
    return gemm_(function_, arguments) ? Status() : no_memory();
  }
  Status copy_triangle(char uplo, std::int64_t n, HostOperand from, HostOperand to) override {
    const bool upper = uplo == 'U';
    for (std::int64_t col = 0; col < n; ++col) {
      const std::int64_t row = upper ? 0 : col;
      const auto bytes = static_cast<std::size_t>((upper ? col + 1 : n - col) * element_bytes_);
      std::memcpy(at(to, row, col), at(from, row, col), bytes);
    }
    return {};
  }

 private:
  static Status no_memory() { return {Code::out_of_memory, "no memory for a block of gemmt"}; }
  std::byte* at(HostOperand matrix, std::int64_t row, std::int64_t col) const {
    return static_cast<std::byte*>(matrix.data) + (row + col * matrix.ld) * element_bytes_;
  }

  const Thunk gemm_;
  void* const function_;
  const std::int64_t element_bytes_;
  std::unique_ptr<std::byte[]> scratch_;
};

template <char kLetter, Precision kPrecision>
bool gemmt_by_gemm(void* function, const Argument* arguments) {
  if (gemmt_order(arguments) == 0) return true;
  static const ThunkEntry* const gemm = entry_of(std::string(1, kLetter) + "gemm");
  Steps steps(gemm->thunk, function, element_bytes(kPrecision));
  return run_blocked_gemmt(steps, kPrecision, arguments, kBlock).ok();
}

Thunk gemmt_thunk(Precision precision) {
  switch (precision) {
    case Precision::s: return gemmt_by_gemm<'s', Precision::s>;
    case Precision::d: return gemmt_by_gemm<'d', Precision::d>;
    case Precision::c: return gemmt_by_gemm<'c', Precision::c>;
    case Precision::z: return gemmt_by_gemm<'z', Precision::z>;
  }
  return nullptr;
}

}  // namespace

std::optional<LibraryRoutine> substitute(const Descriptor& routine,
                                         const std::function<void*(const char*)>& symbol) {
  const bool gemmt = is_gemmt(routine);
  if (!gemmt && routine.base != "gemm3m") return std::nullopt;
  const std::string precision(routine.name.substr(0, 1));
  if (gemmt) {
    const ThunkEntry* twin = entry_of(precision + (routine.base == "gemmt" ? "gemmtr" : "gemmt"));
    void* function = twin != nullptr ? symbol(twin->symbol) : nullptr;
    if (function != nullptr) return LibraryRoutine{twin->thunk, function};
  }
  const ThunkEntry* gemm = entry_of(precision + "gemm");
  void* function = gemm != nullptr ? symbol(gemm->symbol) : nullptr;
  if (function == nullptr) return std::nullopt;
  return LibraryRoutine{gemmt ? gemmt_thunk(routine.precision) : gemm->thunk, function};
}

}  // namespace ob::cpu
