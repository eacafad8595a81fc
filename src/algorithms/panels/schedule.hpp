#pragma once
// Chooses the number and the order of the panels for all routines of BLAS level 3 except gemm.
//
// symm, hemm, trmm, trsm: a square matrix is on one side of a rectangular one. The square matrix
// is sent first, then the other one by column panels (row panels if the square matrix is on the
// right). Each panel is computed and returned when it arrives. If the square matrix is the larger
// one, the other one is sent first, then the triangle strip by strip: a strip is one block of the
// diagonal and the block that couples its panel with all panels before it.
// syrk, herk, syr2k, her2k: the result is one triangle of op(A) op(A)^T or of a sum of two such
// products. Row panels of op(A) (and op(B)) are sent; each one gives the tiles that it shares with
// the panels before it.
// docs/pipelined-products.md has the times.

#include <compare>
#include <cstdint>
#include <vector>

#include "algorithms/panels/pipeline_model.hpp"

namespace ob::algorithms {

/// The properties of a call that decide how it is cut.
struct PanelShape {
  enum class Form : std::uint8_t {
    one_side,  ///< symm, hemm, trmm, trsm
    rank_k,    ///< syrk, herk
    rank_2k,   ///< syr2k, her2k
  };
  Form form = Form::one_side;
  std::uint64_t order = 0;   ///< order of the square matrix: A, or C for rank_k and rank_2k
  std::uint64_t length = 0;  ///< the other dimension: the one that is cut (one_side), or k
  std::uint32_t element_bytes = 8;
  double flop = 0;        ///< flops of the whole call
  bool in_place = false;  ///< trmm, trsm: there is no C
  // for one_side, strip by strip:
  bool backward = false;            ///< the last strip comes first
  bool late = false;                ///< no panel is finished before the last strip
  unsigned products_per_strip = 1;  ///< without the call for the block of the diagonal
  friend auto operator<=>(const PanelShape&, const PanelShape&) = default;
};

/// Bytes of all operands that are sent to the device. C is not sent.
double bytes_sent(const PanelShape& shape) noexcept;
/// Bytes of device memory that the call needs.
double bytes_needed(const PanelShape& shape) noexcept;

/// One step of a schedule. Timeline describes which steps overlap.
struct PanelStep {
  enum class Kind : std::uint8_t {
    send_whole,  ///< one_side: sends A or, before strips, B
    send,        ///< sends a panel (of both factors if there are two) or a strip
    call,        ///< one_side: computes a panel; rank_k: the tile of a panel and an `other`
    fetch,       ///< returns the same part of the result
  };
  Kind kind = Kind::send;
  unsigned panel = 0;
  unsigned other = 0;  ///< at most panel; if equal, the tile is on the diagonal
  friend bool operator==(const PanelStep&, const PanelStep&) = default;
};

struct PanelSchedule {
  bool in_strips = false;  ///< one_side: the square matrix is cut into strips
  /// all strips alternate between two slots, for devices that cannot hold the square matrix
  bool two_slots = false;
  std::vector<Range> panels;  ///< ranges of length (one_side) or of order (strips, rank_k, rank_2k)
  std::vector<PanelStep> steps;
};

/// @param parts number of panels, at least 1; a shorter dimension gives fewer
PanelSchedule schedule_panels(const PanelShape& shape, unsigned parts);
/// @pre shape.form == one_side
PanelSchedule schedule_strips(const PanelShape& shape, unsigned parts);

/// Predicts the seconds from the first byte sent to the last result received.
double predict(const PanelSchedule& schedule, const PanelShape& shape, const PipelineModel& model);

/// Chooses the fewest panels (one panel is the whole call) whose predicted time is at most 5 %
/// above the shortest one; if no number of panels reaches this, the fewest strips. Each panel has a
/// small cost that the model does not include, so fewer are better.
/// Cost: below a millisecond
PanelSchedule choose_panels(const PanelShape& shape, const PipelineModel& model);

}  // namespace ob::algorithms
