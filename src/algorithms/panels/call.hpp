#pragma once
// The common part of all calls in panels: arguments by name, the result, and its return.

#include <string_view>

#include "algorithms/call_context.hpp"
#include "algorithms/panels/pipeline.hpp"
#include "algorithms/panels/result_landing.hpp"
#include "algorithms/panels/schedule.hpp"
#include "algorithms/residency/placed_operand.hpp"

namespace ob::algorithms {

/// The gemm routine of that precision.
const Descriptor& gemm_of(Precision precision);

/// One call and its result. The result is C; for trmm and trsm it is B.
/// Threads: owner only
class PanelCall {
 public:
  explicit PanelCall(const CallContext& context);

  /// Runs Pipeline::run() and then replaces B, or adds beta C.
  Status run(double needed_bytes, const std::function<Status()>& submit);
  Pipeline& pipeline() { return pipeline_; }

  const CallContext& context() const { return context_; }
  const Descriptor& routine() const { return context_.routine; }
  const Argument& argument(std::string_view name) const { return context_.argument(name); }
  bool is(std::string_view flag, char value) const { return context_.is(flag, value); }
  PlacedOperand placed(std::string_view matrix) const { return context_.placed(matrix); }

  /// True for trmm and trsm.
  bool in_place() const { return in_place_; }
  /// Allocates device memory for C, and host scratch memory for results that must wait until all of
  /// them have arrived.
  Status place_result();
  /// Sends all of B. The device replaces it in place.
  /// @pre in_place() and place_result() was called
  Status send_result() { return pipeline_.place(result_, there_); }
  /// A block of the result on the device.   @pre !in_place() or send_result() was called
  DeviceOperand in_result(const Block& block) const;
  Status fetch(const Block& block, Triangle triangle);
  /// Frees the device memory of the result.
  /// @pre run() has returned
  void leave_device() { there_.own.reset(); }
  /// Fetches a block of B that lies in its own buffer.
  Status fetch(const Block& block, BufferId buffer);

  /// A factor of multiply(): op(X) with X in device memory.
  struct Factor {
    char trans;
    DeviceOperand operand;
  };
  /// Computes R := alpha X Y + beta R for a block R of the result. X has `depth` columns.
  Status multiply(const Block& block, std::uint64_t depth, Complex alpha, const Factor& x,
                  const Factor& y, Complex beta);

  /// The caller's arguments, with some of them replaced. beta is 0 because C is never sent.
  class Arguments {
   public:
    explicit Arguments(const PanelCall& call);
    void set(std::string_view dim, std::uint64_t value);
    void set(std::string_view scalar, Complex value);
    void set(std::string_view matrix, const DeviceOperand& operand);
    const Argument* get() const { return arguments_.items; }

   private:
    const Descriptor& routine_;
    CallArguments arguments_;
  };

 private:
  void commit();

  const CallContext context_;
  const bool in_place_;
  const PlacedOperand result_;
  ResultLanding landing_;
  Pipeline::Part there_;
  Pipeline pipeline_;  // last: destroyed before the memory that reads may still write to
};

/// The whole operand, which lies densely in a buffer.
DeviceOperand all_of(const Pipeline::Part& part, const Region& there);

/// The use of the strip of a panel. A strip couples its panel with the panels before it. In op(A)
/// the strip lies in the panel's rows (of the result, if A is on the left), in its columns, or in
/// both (symm, hemm).
struct StripOrder {
  bool pulls = false;     ///< the panel is updated with products of the panels before it
  bool pushes = false;    ///< the panels before it are updated with products of this panel
  bool backward = false;  ///< the last panel comes first, so that factors are still unchanged
  bool late = false;      ///< a panel is still updated after its own step
};
/// The order for symm, hemm, trmm and trsm.
StripOrder strip_order(const Descriptor& routine, const Argument* arguments);

/// @pre that of offload_panels()
Status run_one_side(PanelCall& call, const PanelShape& shape, const PanelSchedule& schedule);
Status run_strips(PanelCall& call, const PanelShape& shape, const PanelSchedule& schedule);
Status run_rank(PanelCall& call, const PanelShape& shape, const PanelSchedule& schedule);

}  // namespace ob::algorithms
