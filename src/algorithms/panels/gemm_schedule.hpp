#pragma once
// Chooses the order in which the panels of a matrix product are sent and multiplied. The time of
// each order is predicted first.
//
// The product is C = A B, with A of m x k and B of k x n. The link and the device work at the same
// time. The order of sending decides when the device starts and whether it waits. The order of the
// results decides how much of their transfer overlaps with computation.
// Source: RCPU 3.2 and 5.2 (panels); docs/pipelined-products.md (the orders and their times)

#include <cstdint>
#include <string_view>
#include <vector>

#include "algorithms/panels/pipeline_model.hpp"

namespace ob::algorithms {

struct ProductShape {
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  std::uint32_t element_bytes = 8;
  double flop_per_term = 2;  ///< 8 for complex numbers
};

/// Bytes of A and B together.
inline double bytes_sent(const ProductShape& shape) noexcept {
  return static_cast<double>(shape.k) *
         (static_cast<double>(shape.m) + static_cast<double>(shape.n)) * shape.element_bytes;
}

enum class ProductOrder : std::uint8_t {
  whole,        ///< all of A and B is sent first, then multiplied tile by tile
  b_first,      ///< B is sent first, then A by row panels
  alternating,  ///< A1 B1 A2 B2 ...: at any time as many tiles as possible can be computed
  hybrid,       ///< panels along k; the last one is finished row panel by row panel
};
inline constexpr ProductOrder kProductOrders[] = {ProductOrder::whole, ProductOrder::b_first,
                                                  ProductOrder::alternating, ProductOrder::hybrid};
std::string_view name_of(ProductOrder order) noexcept;

/// One step of a schedule. Sending overlaps with all other work. Products run in order, each after
/// everything that is sent before it. A fetch follows the product before it.
struct ProductStep {
  enum class Kind : std::uint8_t { send_a, send_b, multiply, fetch };
  Kind kind = Kind::send_a;
  unsigned a = 0;     ///< send_a, multiply: the index of the block of A
  unsigned b = 0;     ///< send_b, multiply: the index of the block of B
  Block c;            ///< multiply, fetch: the part of C
  bool adds = false;  ///< multiply: the product is added to an earlier one
};

struct ProductSchedule {
  ProductOrder order = ProductOrder::whole;
  std::vector<Block> a;  ///< each block is sent separately
  std::vector<Block> b;
  std::vector<ProductStep> steps;
};

/// Makes the schedule of one order.
/// @param parts number of panels of A and of B, at least 1; a dimension shorter than this gives
/// fewer
/// @param last_share hybrid: the share of k in the last panel, during whose products the results
/// return; 0: the same share as the others
ProductSchedule schedule_product(const ProductShape& shape, ProductOrder order, unsigned parts,
                                 double last_share = 0);

/// Predicts the seconds from the first byte sent to the last result received.
double predict(const ProductSchedule& schedule, const ProductShape& shape,
               const PipelineModel& model);

/// Chooses the schedule with the shortest predicted time. An order other than alternating is chosen
/// only if it is at least 5 % faster. The model assumes that the two directions of a link do not
/// slow each other down; alternating loses the least where they do.
/// Cost: below a millisecond
ProductSchedule choose_schedule(const ProductShape& shape, const PipelineModel& model);

}  // namespace ob::algorithms
