#pragma once
// One call of a BLAS or LAPACK routine, with its own operands, as a program makes it.

#include <cstdint>
#include <memory>
#include <string>

namespace ob::bench {

/// Operands are packed and column-major. Elements lie in [0, 1), so no term cancels another, and
/// the error of a sum of n terms is at most n eps of the sum (Higham, Accuracy and Stability of
/// Numerical Algorithms, 3.5). A matrix that is factored or solved with has n added to its
/// diagonal. So it is positive definite and well conditioned, and no rows are exchanged.
/// Threads: owner only.
class RoutineCall {
 public:
  /// Finds a routine by name: dgemm sgemm zgemm dgemv ddot dsyrk dtrsm dgetrf sgesv dpotrf dgeqrf
  /// dsyev, and "thin", a dgemm of an n x n with an n x 64 matrix. Null for other names, or if the
  /// library that the program is linked with lacks the routine.
  static std::unique_ptr<RoutineCall> create(const std::string& name, int n, std::uint64_t seed);
  virtual ~RoutineCall() = default;

  /// True: each call finds new contents in all operands that it reads. False: each call finds the
  /// first contents.
  virtual void fresh(bool on) = 0;
  /// Calls the routine and returns the time [ns], or -1 if the routine reported an error. Operands
  /// that it overwrites are restored before, outside of that time.
  virtual std::int64_t run() = 0;
  /// Writes the results of the last call.
  virtual bool save(const std::string& path) const = 0;
  /// The relative distance of the results from those in a file, in the 2-norm.
  virtual double distance(const std::string& path) const = 0;
};

}  // namespace ob::bench
