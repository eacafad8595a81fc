#pragma once
// The same product by ScaLAPACK.

#include <cstdint>
#include <vector>

#include "arguments.hpp"
#include "matrix.hpp"
#include "mesh.hpp"

namespace summa {

/// C = A B by pdgemm, on block-cyclic matrices on the same mesh. Without ScaLAPACK in the build,
/// available() is false and no other function may be called.
class ScalapackProduct {
 public:
  static bool available();
  /// Collective over the mesh.
  ScalapackProduct(const Arguments& arguments, const Mesh& mesh, const Elements& a,
                   const Elements& b);
  ~ScalapackProduct();
  ScalapackProduct(const ScalapackProduct&) = delete;
  ScalapackProduct& operator=(const ScalapackProduct&) = delete;

  /// Computes C. Collective.
  void run();
  /// Returns this rank's part of C, and the places of its rows and columns in the whole matrix.
  const Block& c() const { return c_; }
  std::vector<std::int64_t> rows() const;
  std::vector<std::int64_t> columns() const;

 private:
  const Arguments& arguments_;
  const Mesh& mesh_;
  int context_ = -1;
  Block a_, b_, c_;
};

}  // namespace summa
