#pragma once
// One call of a BLAS or LAPACK routine as a program makes it, on operands of its own.

#include <cstdint>
#include <memory>
#include <string>

namespace ob::bench {

/// Operands are packed and column-major; elements lie in [0, 1): no term cancels another, so that
/// the error of a sum of n terms is at most n eps of the sum (Higham, Accuracy and Stability of
/// Numerical Algorithms, 3.5). What is factored or solved with has n added to its diagonal, so that
/// it is positive definite, well conditioned, and pivots stay where they are.
/// Threads: owner only.
class RoutineCall {
 public:
  /// Routine by name: dgemm sgemm zgemm dgemv ddot dsyrk dtrsm dgetrf sgesv dpotrf dgeqrf dsyev,
  /// and
  /// "thin", a dgemm of an n x n with an n x 64 matrix. Null if there is none, or if the library
  /// that the program is linked with has none.
  static std::unique_ptr<RoutineCall> create(const std::string& name, int n, std::uint64_t seed);
  virtual ~RoutineCall() = default;

  /// True: each call finds new contents in all that it reads. False: the first contents, always.
  virtual void fresh(bool on) = 0;
  /// Calls, and returns what it took [ns], or -1 if the routine complained. What it overwrites is
  /// restored before, outside that time.
  virtual std::int64_t run() = 0;
  /// Writes the results of the last call.
  virtual bool save(const std::string& path) const = 0;
  /// How far they are from those in a file, relative, in the 2-norm.
  virtual double distance(const std::string& path) const = 0;
};

}  // namespace ob::bench
