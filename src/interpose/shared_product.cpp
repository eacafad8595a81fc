#include "interpose/shared_product.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <thread>

#include "algorithms/gemm_arguments.hpp"
#include "algorithms/tiles/products_split.hpp"
#include "base/quiet_thread.hpp"
#include "interpose/integer_probe.hpp"
#include "interpose/preserve_errno.hpp"

namespace ob::interpose {
namespace {

using namespace algorithms::gemm_argument;

void* beside(const void* original, char precision, bool is_64_bit) noexcept {
  // A plain name may have either size of integers. The caller has asked the library for it.
  struct Form {
    const char* text;
    bool only_64_bit;
  };
  // A library of 32-bit integers under plain names may have a second set of functions for 64 bits
  // beside it, so the names that say their size come first.
  constexpr Form kForms[] = {{"%cgemm_64_", true},
                             {"scipy_%cgemm_64_", true},
                             {"%cgemm_", false},
                             {"scipy_%cgemm_", false}};
  for (const Form& form : kForms) {
    if (form.only_64_bit && !is_64_bit) continue;
    char name[24];
    std::snprintf(name, sizeof name, form.text, precision);
    if (void* found = symbol_beside(original, name)) return found;
  }
  return nullptr;
}

void* moved(void* data, std::int64_t elements, Precision precision) noexcept {
  return static_cast<char*>(data) + elements * static_cast<std::int64_t>(element_bytes(precision));
}

// The number of elements from one row of op(X) to the next, or from one column to the next.
std::int64_t step(const Argument& flag, const Argument& matrix, bool by_row) noexcept {
  return (flag.flag == 'N') == by_row ? 1 : matrix.host.ld;
}

// Narrows the part to `count` rows, or columns, from `first` on.
void narrow(CallArguments& part, const Descriptor& routine, bool by_row, std::int64_t first,
            std::int64_t count) noexcept {
  Argument* const items = part.items;
  const int side = by_row ? kA : kB;
  const Argument& flag = items[by_row ? kTransA : kTransB];
  items[by_row ? kM : kN].dim = count;
  items[side].host.data =
      moved(items[side].host.data, first * step(flag, items[side], by_row), routine.precision);
  items[kC].host.data =
      moved(items[kC].host.data, first * (by_row ? 1 : items[kC].host.ld), routine.precision);
}

}  // namespace

LocalProduct::LocalProduct(const Descriptor& routine, const void* original,
                           Integers integers) noexcept
    : precision_(routine.precision), is_64_bit_(integers == Integers::ilp64) {
  if (integers == Integers::lp64 || integers == Integers::ilp64)
    function_ = beside(original, routine.name.front(), is_64_bit_);
  dlerror();  // clears the error of this library, which is not the program's
}

template <class Integer>
void LocalProduct::call(const Argument* arguments) const noexcept {
  // Fortran passes all arguments by reference, and the lengths of the characters at the end.
  using Gemm = void (*)(const char*, const char*, const Integer*, const Integer*, const Integer*,
                        const void*, const void*, const Integer*, const void*, const Integer*,
                        const void*, void*, const Integer*, std::size_t, std::size_t);
  const auto integer = [](std::int64_t value) { return static_cast<Integer>(value); };
  const Integer m = integer(arguments[kM].dim);
  const Integer n = integer(arguments[kN].dim);
  const Integer k = integer(arguments[kK].dim);
  const Integer lda = integer(arguments[kA].host.ld);
  const Integer ldb = integer(arguments[kB].host.ld);
  const Integer ldc = integer(arguments[kC].host.ld);
  struct Scalar {
    double wide[2];
    float narrow[2];
  };
  const auto scalar_of = [](const Complex& value) {
    return Scalar{{value.re, value.im},
                  {static_cast<float>(value.re), static_cast<float>(value.im)}};
  };
  const Scalar alpha = scalar_of(arguments[kAlpha].scalar);
  const Scalar beta = scalar_of(arguments[kBeta].scalar);
  const bool single = precision_ == Precision::s || precision_ == Precision::c;
  const auto pointer = [single](const Scalar& scalar) {
    return single ? static_cast<const void*>(scalar.narrow) : scalar.wide;
  };
  reinterpret_cast<Gemm>(function_)(&arguments[kTransA].flag, &arguments[kTransB].flag, &m, &n, &k,
                                    pointer(alpha), arguments[kA].host.data, &lda,
                                    arguments[kB].host.data, &ldb, pointer(beta),
                                    arguments[kC].host.data, &ldc, 1, 1);
}

void LocalProduct::run(const Argument* arguments) const noexcept {
  if (is_64_bit_)
    call<std::int64_t>(arguments);
  else
    call<std::int32_t>(arguments);
}

ProductParts cut_product(const Descriptor& routine, const Argument* arguments,
                         double share) noexcept {
  ProductParts parts;
  std::copy_n(arguments, routine.kinds.size(), parts.remote.items);
  parts.local = parts.remote;
  const bool by_row = arguments[kM].dim > arguments[kN].dim;
  const std::int64_t edge = arguments[by_row ? kM : kN].dim;
  const double position = share * static_cast<double>(edge);
  auto first =
      static_cast<std::int64_t>(algorithms::round_cut(static_cast<std::uint64_t>(edge), position));
  // The nearest cut of a short edge may be its end. The local part must not vanish by rounding.
  if (first == edge) first = static_cast<std::int64_t>(position);
  parts.cut = first > 0 && first < edge;
  if (!parts.cut) return parts;
  narrow(parts.remote, routine, by_row, 0, first);
  narrow(parts.local, routine, by_row, first, edge - first);
  return parts;
}

bool run_shared(Call& call, const Descriptor& routine, const void* original, Integers integers,
                const Argument* arguments) noexcept {
  // Look-up and thread may change errno, and the join is a cancellation point. The native runs
  // are the program's own.
  std::optional<PreserveErrno> preserve_errno(std::in_place);
  const LocalProduct local(routine, original, integers);
  if (!local.known()) return false;
  const ProductParts parts = cut_product(routine, arguments, call.share());
  if (!parts.cut) return false;
  bool done = false;
  std::thread remote = quiet_thread([&] { done = call.run_part(parts.remote.items); });
  if (!remote.joinable()) return false;
  preserve_errno.reset();
  local.run(parts.local.items);
  preserve_errno.emplace();
  remote.join();
  preserve_errno.reset();
  if (!done) local.run(parts.remote.items);
  call.shared(done);
  return true;
}

}  // namespace ob::interpose
