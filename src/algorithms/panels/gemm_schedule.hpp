#pragma once
// In which order the panels of a matrix product travel and are multiplied: predicted, then chosen.
//
// C = A B of m x k and k x n over a link and a device that work at the same time. What arrives
// first decides how early the device starts and whether it ever waits; what is finished first
// decides how much of the way back is hidden.
// Source: RCPU 3.2 and 5.2 (panels); the orders and their times: docs/pipelined-products.md

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
  double flop_per_term = 2;  ///< complex: 8
};

/// Of A and B.
inline double bytes_sent(const ProductShape& shape) noexcept {
  return static_cast<double>(shape.k) *
         (static_cast<double>(shape.m) + static_cast<double>(shape.n)) * shape.element_bytes;
}

enum class ProductOrder : std::uint8_t {
  whole,        ///< everything is sent, then multiplied tile by tile
  b_first,      ///< B, then A by row panels
  alternating,  ///< A1 B1 A2 B2 ...: as many tiles as possible at any time
  hybrid,       ///< panels along k, the last one finished row panel by row panel
};
inline constexpr ProductOrder kProductOrders[] = {ProductOrder::whole, ProductOrder::b_first,
                                                  ProductOrder::alternating, ProductOrder::hybrid};
std::string_view name_of(ProductOrder order) noexcept;

/// One thing to do. Sending overlaps with the rest; products happen in order, each after
/// everything sent before it; a fetch follows the product before it.
struct ProductStep {
  enum class Kind : std::uint8_t { send_a, send_b, multiply, fetch };
  Kind kind = Kind::send_a;
  unsigned a = 0;     ///< send_a, multiply: which block of A
  unsigned b = 0;     ///< send_b, multiply: which block of B
  Block c;            ///< multiply, fetch: which part of C
  bool adds = false;  ///< multiply: to what an earlier one left there
};

struct ProductSchedule {
  ProductOrder order = ProductOrder::whole;
  std::vector<Block> a;  ///< sent by themselves
  std::vector<Block> b;
  std::vector<ProductStep> steps;
};

/// @param parts panels of A and B each, at least 1; fewer where a dimension is shorter
/// @param last_share hybrid: of k, for the last panel, while whose products results return; 0: as
/// much as the others
ProductSchedule schedule_product(const ProductShape& shape, ProductOrder order, unsigned parts,
                                 double last_share = 0);

/// Seconds from the first byte sent to the last result received.
double predict(const ProductSchedule& schedule, const ProductShape& shape,
               const PipelineModel& model);

/// The fastest by prediction, but alternating unless another order gains 5 %: what the model leaves
/// out (both directions of a link at once are not free) costs alternating least.
/// Cost: below a millisecond
ProductSchedule choose_schedule(const ProductShape& shape, const PipelineModel& model);

}  // namespace ob::algorithms
