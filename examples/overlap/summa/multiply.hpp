#pragma once
// SUMMA: C = A B by panels (van de Geijn and Watts, 1997).

#include <outboard/overlap.hpp>

#include <cstdint>
#include <vector>

#include "arguments.hpp"
#include "matrix.hpp"
#include "mesh.hpp"

namespace summa {

/// The plans of a product. Its operands are the caller's and keep their place.
class Product {
 public:
  /// Collective over the mesh.
  Product(const Arguments& arguments, const Mesh& mesh, outboard::overlap::Runtime& runtime,
          Block& a, Block& b);

  /// Computes C, of which each rank has its block. Collective.
  void run(Block& c);

 private:
  /// The columns [begin, end) of A, which are the rows of B.
  struct Panel {
    std::int64_t begin, end;
  };
  void describe(Block& a, Block& b);
  void start(std::int64_t panel);
  void multiply(std::int64_t panel, Block& c);

  const Arguments& arguments_;
  const Mesh& mesh_;
  outboard::overlap::Runtime& runtime_;
  std::vector<Panel> panels_;
  outboard::overlap::PanelPlan<double> a_panels_;
  outboard::overlap::PanelPlan<double> b_panels_;
};

}  // namespace summa
