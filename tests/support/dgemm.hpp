#pragma once
// The arguments of a square dgemm by name, for tests that need any call.

#include <string_view>

#include "routines/descriptor.hpp"

namespace ob::test {

inline const Descriptor& dgemm() { return *routines::find("dgemm"); }

inline Argument& argument_named(Argument* arguments, const Descriptor& routine,
                                std::string_view name) {
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.argument_names[i] == name) return arguments[i];
  }
  std::abort();
}

/// Sets the arguments of C = A B, all n x n. Memory operands stay unset.
inline void square_dgemm(std::int64_t n, Argument* arguments) {
  const auto set = [&](std::string_view name) -> Argument& {
    return argument_named(arguments, dgemm(), name);
  };
  set("transa").flag = 'N';
  set("transb").flag = 'N';
  for (const char* dim : {"m", "n", "k"}) set(dim).dim = n;
  set("alpha").scalar = {1, 0};
  set("beta").scalar = {0, 0};
}

inline void square_dgemm_on_device(std::int64_t n, BufferId a, BufferId b, BufferId c,
                                   Argument* arguments) {
  square_dgemm(n, arguments);
  argument_named(arguments, dgemm(), "a").device = {a, 0, n};
  argument_named(arguments, dgemm(), "b").device = {b, 0, n};
  argument_named(arguments, dgemm(), "c").device = {c, 0, n};
}

/// The same for a buffer of 2 n^2 elements: C is its second half, A and B are both the first.
inline void square_dgemm_in_buffer(std::int64_t n, BufferId buffer, Argument* arguments) {
  square_dgemm_on_device(n, buffer, buffer, buffer, arguments);
  argument_named(arguments, dgemm(), "c").device.offset_bytes =
      static_cast<std::uint64_t>(n * n) * sizeof(double);
}

}  // namespace ob::test
