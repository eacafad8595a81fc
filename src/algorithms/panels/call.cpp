#include "algorithms/panels/call.hpp"

#include <algorithm>

#include "algorithms/gemm_arguments.hpp"

namespace ob::algorithms {
namespace {

using namespace gemm_argument;

Region result_home(const PlacedOperand& result) {
  Region home = result.home;
  home.triangle = result.written_triangle;
  return home;
}

}  // namespace

const Descriptor& gemm_of(Precision precision) {
  constexpr std::string_view kNames[] = {"sgemm", "dgemm", "cgemm", "zgemm"};
  return *routines::find(kNames[static_cast<int>(precision)]);
}

DeviceOperand all_of(const Pipeline::Part& part, const Region& there) {
  return {part.buffer, 0, static_cast<std::int64_t>(there.ld)};
}

// --- the call ------------------------------------------------------------------------------------

PanelCall::PanelCall(const CallContext& context)
    : context_(context),
      in_place_(argument_position(context.routine, "c") == context.routine.kinds.size()),
      result_(context.placed(in_place_ ? "b" : "c")),
      landing_(result_.data, result_home(result_)),
      pipeline_(context) {}

Status PanelCall::run(double needed_bytes, const std::function<Status()>& submit) {
  return pipeline_.run(needed_bytes, submit, [this] { commit(); });
}

// With beta = 0 the product is all of C, and its copy stays on the device for later calls.
// Otherwise the product is only a summand of C, and no later call can use its copy.
Status PanelCall::place_result() {
  if (in_place_) return landing_.wait();
  if (!result_.read) return pipeline_.place(result_, there_);
  OB_RETURN_IF_ERROR(pipeline_.allocate(extent_bytes(result_.there), there_));
  return landing_.wait();
}

DeviceOperand PanelCall::in_result(const Block& block) const {
  DeviceOperand operand = all_of(there_, result_.there);
  operand.offset_bytes = landing_.dense(block).offset_bytes;
  return operand;
}

Status PanelCall::fetch(const Block& block, Triangle triangle) {
  return pipeline_.fetch(there_.buffer, landing_.dense(block, triangle),
                         landing_.landing(block, triangle));
}

Status PanelCall::fetch(const Block& block, BufferId buffer) {
  return pipeline_.fetch(buffer, part_of(result_, block).there, landing_.landing(block));
}

Status PanelCall::multiply(const Block& block, std::uint64_t depth, Complex alpha, const Factor& x,
                           const Factor& y, Complex beta) {
  Argument arguments[kMaxArguments];
  arguments[kTransA].flag = x.trans;
  arguments[kTransB].flag = y.trans;
  arguments[kM].dim = static_cast<std::int64_t>(block.rows);
  arguments[kN].dim = static_cast<std::int64_t>(block.cols);
  arguments[kK].dim = static_cast<std::int64_t>(depth);
  arguments[kAlpha].scalar = alpha;
  arguments[kA].device = x.operand;
  arguments[kB].device = y.operand;
  arguments[kBeta].scalar = beta;
  arguments[kC].device = in_result(block);
  return pipeline_.call(gemm_of(routine().precision), arguments);
}

void PanelCall::commit() {
  if (in_place_) return landing_.replace();
  if (!result_.read) return;
  const std::string_view base = routine().base;
  const bool hermitian = base == "herk" || base == "her2k";
  landing_.add(routine().precision, argument("beta").scalar, hermitian);
}

// --- arguments of a part -------------------------------------------------------------------------

PanelCall::Arguments::Arguments(const PanelCall& call) : routine_(call.routine()) {
  std::copy_n(call.context_.arguments, routine_.kinds.size(), arguments_.items);
  if (!call.in_place_) arguments_.items[argument_position(routine_, "beta")].scalar = {0, 0};
}

void PanelCall::Arguments::set(std::string_view dim, std::uint64_t value) {
  arguments_.items[argument_position(routine_, dim)].dim = static_cast<std::int64_t>(value);
}

void PanelCall::Arguments::set(std::string_view scalar, Complex value) {
  arguments_.items[argument_position(routine_, scalar)].scalar = value;
}

void PanelCall::Arguments::set(std::string_view matrix, const DeviceOperand& operand) {
  arguments_.items[argument_position(routine_, matrix)].device = operand;
}

}  // namespace ob::algorithms
