#pragma once
// What calls in panels share: arguments by name, the result, the way back.

#include <string_view>

#include "algorithms/call_context.hpp"
#include "algorithms/panels/pipeline.hpp"
#include "algorithms/panels/result_landing.hpp"
#include "algorithms/panels/schedule.hpp"
#include "algorithms/residency/placed_operand.hpp"

namespace ob::algorithms {

/// The product of that precision.
const Descriptor& gemm_of(Precision precision);

/// One call and its result: C or, of trmm and trsm, B.   Threads: owner only
class PanelCall {
 public:
  explicit PanelCall(const CallContext& context);

  /// As Pipeline::run(); then B is replaced, or beta C added.
  Status run(double needed_bytes, const std::function<Status()>& submit);
  Pipeline& pipeline() { return pipeline_; }

  const CallContext& context() const { return context_; }
  const Descriptor& routine() const { return context_.routine; }
  const Argument& argument(std::string_view name) const { return context_.argument(name); }
  bool is(std::string_view flag, char value) const { return context_.is(flag, value); }
  PlacedOperand placed(std::string_view matrix) const { return context_.placed(matrix); }

  /// True of trmm and trsm.
  bool in_place() const { return in_place_; }
  /// Room for the result: on the device for C, here for what cannot go home at once.
  Status place_result();
  /// Sends all of B, to be replaced there.   @pre in_place() and place_result() was called
  Status send_result() { return pipeline_.place(result_, there_); }
  /// A block of the result on the device.   @pre !in_place() or send_result() was called
  DeviceOperand in_result(const Block& block) const;
  Status fetch(const Block& block, Triangle triangle);
  /// The result's memory there is needed no more.   @pre run() is over
  void leave_device() { there_.own.reset(); }
  /// A block of B that lies in a buffer of its own.
  Status fetch(const Block& block, BufferId buffer);

  /// A factor of multiply(): op(X), X in device memory.
  struct Factor {
    char trans;
    DeviceOperand operand;
  };
  /// A block of the result becomes alpha X Y + beta times itself, with `depth` columns of X.
  Status multiply(const Block& block, std::uint64_t depth, Complex alpha, const Factor& x,
                  const Factor& y, Complex beta);

  /// The caller's arguments, some set anew. With beta = 0: the device never sees C.
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
  Pipeline pipeline_;  // last: what may still land goes after it
};

/// All of an operand that lies densely in a buffer.
DeviceOperand all_of(const Pipeline::Part& part, const Region& there);

/// What the strip of a panel does, which couples the panel with those before it: op(A) has it in
/// the panel's rows (the result's, from the left) or in its columns, or in both (symm, hemm).
struct StripOrder {
  bool pulls = false;     ///< the panel gets products with those before it
  bool pushes = false;    ///< those before it get products with the panel
  bool backward = false;  ///< the last panel first, so that factors are as they must be
  bool late = false;      ///< panels still get products after their turn
};
/// Of symm, hemm, trmm, trsm.
StripOrder strip_order(const Descriptor& routine, const Argument* arguments);

/// @pre as of offload_panels()
Status run_one_side(PanelCall& call, const PanelShape& shape, const PanelSchedule& schedule);
Status run_strips(PanelCall& call, const PanelShape& shape, const PanelSchedule& schedule);
Status run_rank(PanelCall& call, const PanelShape& shape, const PanelSchedule& schedule);

}  // namespace ob::algorithms
