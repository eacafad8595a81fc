#pragma once
// One product by both: an accelerator computes a part of C while the caller's own library computes
// the rest. Source: RCPU, chapter 6

#include <cstdint>

#include "interpose/call.hpp"
#include "interpose/original.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::interpose {

/// The Fortran gemm of the library that a program's calls go to.
class LocalProduct {
 public:
  /// That of the object of `original`, which may have any interface; not known if it has none under
  /// a usual name.
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

/// Cuts C along its longer edge; nothing is copied.
struct ProductParts {
  CallArguments remote;
  CallArguments local;
  bool cut = false;  ///< false: a part would be empty
};
/// @param share of C for the accelerator, between 0 and 1
ProductParts cut_product(const Descriptor& routine, const Argument* arguments,
                         double share) noexcept;

/// Runs the product so. Whatever happens over there, C is complete afterwards: what the accelerator
/// did not do the library does. False if nothing was done: one of the two cannot be used.
/// Threads: the caller's, and one of its own while it lasts
bool run_shared(Call& call, const Descriptor& routine, const void* original, Integers integers,
                const Argument* arguments) noexcept;

}  // namespace ob::interpose
