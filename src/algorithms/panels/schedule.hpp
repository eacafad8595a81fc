#pragma once
// In how many panels the operands of the other routines of BLAS level 3 travel, and in which order.
//
// A square matrix on one side of a rectangular one (symm, hemm, trmm, trsm): the square one first,
// then the other by column panels (or row panels, from the right), each computed and returned as it
// arrives. Or, where the square one is the larger, the other one first, then the triangle strip by
// strip: with each block of its diagonal goes what its panel shares with all panels before it.
// One triangle of op(A) op(A)^T or of a sum of two such products (syrk, herk, syr2k, her2k): row
// panels of op(A) (and op(B)), each giving the tiles that it has with those before.
// docs/pipelined-products.md has the times.

#include <compare>
#include <cstdint>
#include <vector>

#include "algorithms/panels/pipeline_model.hpp"

namespace ob::algorithms {

/// What decides how a call is cut.
struct PanelShape {
  enum class Form : std::uint8_t {
    one_side,  ///< symm, hemm, trmm, trsm
    rank_k,    ///< syrk, herk
    rank_2k,   ///< syr2k, her2k
  };
  Form form = Form::one_side;
  std::uint64_t order = 0;   ///< of the square matrix: A, or C of rank_k and rank_2k
  std::uint64_t length = 0;  ///< the other dimension: of what is cut (one_side), or k
  std::uint32_t element_bytes = 8;
  double flop = 0;        ///< of the whole call
  bool in_place = false;  ///< trmm, trsm: there is no C
  // one_side, strip by strip:
  bool backward = false;            ///< the last strip first
  bool late = false;                ///< nothing is finished before the last of them
  unsigned products_per_strip = 1;  ///< besides the block of the diagonal's
  friend auto operator<=>(const PanelShape&, const PanelShape&) = default;
};

/// Of all that travels to the device: C does not.
double bytes_sent(const PanelShape& shape) noexcept;
/// Of device memory.
double bytes_needed(const PanelShape& shape) noexcept;

/// One thing to do; what overlaps with what: Timeline.
struct PanelStep {
  enum class Kind : std::uint8_t {
    send_whole,  ///< one_side: A or, before strips, B
    send,        ///< a panel, of both factors if there are two; a strip
    call,        ///< one_side: of a panel; rank_k: the tile of a panel and an `other`
    fetch,       ///< the same part of the result
  };
  Kind kind = Kind::send;
  unsigned panel = 0;
  unsigned other = 0;  ///< not above panel; equal: a tile of the diagonal
  friend bool operator==(const PanelStep&, const PanelStep&) = default;
};

struct PanelSchedule {
  bool in_strips = false;  ///< of one_side's square matrix
  /// strips take turns in the memory of two, for devices that cannot hold the square matrix
  bool two_slots = false;
  std::vector<Range> panels;  ///< of length (one_side), of order (strips, rank_k, rank_2k)
  std::vector<PanelStep> steps;
};

/// @param parts at least 1; fewer panels where there is less to cut
PanelSchedule schedule_panels(const PanelShape& shape, unsigned parts);
/// @pre shape.form == one_side
PanelSchedule schedule_strips(const PanelShape& shape, unsigned parts);

/// Seconds from the first byte sent to the last result received.
double predict(const PanelSchedule& schedule, const PanelShape& shape, const PipelineModel& model);

/// The fewest panels (one: whole), else the fewest strips, that are predicted to take at most 5 %
/// longer than any number of either: each costs a little that the model leaves out.
/// Cost: below a millisecond
PanelSchedule choose_panels(const PanelShape& shape, const PipelineModel& model);

}  // namespace ob::algorithms
