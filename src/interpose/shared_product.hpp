#pragma once
// A product that is shared: an accelerator computes a part of C while the caller's own library
// computes the rest.
// Source: RCPU, chapter 6

#include <cstdint>

#include "interpose/call.hpp"
#include "interpose/original.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::interpose {

/// The Fortran gemm of the library that the program calls.
class LocalProduct {
 public:
  /// Finds the gemm in the object of `original`, which may have any interface. The gemm is not
  /// known if the object has none under a usual name.
  LocalProduct(const Descriptor& routine, const void* original, Integers integers) noexcept;
  bool known() const noexcept { return function_ != nullptr; }
  /// @pre known(); arguments as gemm's in the normal form, and their integers fit
  void run(const Argument* arguments) const noexcept;

 private:
  template <class Integer>
  void call(const Argument* arguments) const noexcept;

  void* function_ = nullptr;
  Precision precision_;
  bool is_64_bit_;
};

/// The two parts of a product. C is cut along its longer edge, and nothing is copied.
struct ProductParts {
  CallArguments remote;
  CallArguments local;
  bool cut = false;  ///< false: a part would be empty
};
/// @param share the part of C for the accelerator, between 0 and 1
ProductParts cut_product(const Descriptor& routine, const Argument* arguments,
                         double share) noexcept;

/// Runs the product in two parts. C is complete afterwards in any case, because the library
/// computes the part that the accelerator did not complete. False if nothing was done, because one
/// of the two cannot be used.
/// Threads: the caller's, and one more while the function runs
bool run_shared(Call& call, const Descriptor& routine, const void* original, Integers integers,
                const Argument* arguments) noexcept;

}  // namespace ob::interpose
