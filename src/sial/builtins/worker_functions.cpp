// Super-instructions about the worker itself.

#include <chrono>
#include <thread>

#include "sial/builtins/arguments.hpp"
#include "sial/builtins/builtins.hpp"

namespace ob::sial {
namespace {

// The interpreter has waited for the block before the call.
Status do_nothing(CallContext&, Arguments) { return {}; }

Status store_rank(CallContext& context, Arguments arguments) {
  return store_number(arguments, 0, context.rank);
}

Status store_workers(CallContext& context, Arguments arguments) {
  return store_number(arguments, 0, context.workers);
}

Status print_on_all(CallContext& context, Arguments) {
  if (context.print_all != nullptr) *context.print_all = true;
  return {};
}

Status print_on_first(CallContext& context, Arguments) {
  if (context.print_all != nullptr) *context.print_all = false;
  return {};
}

// Takes some seconds after the block was read, without a core: like a kernel on an accelerator.
Status compute_for(CallContext&, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View block, block_argument(arguments, 0));
  OB_ASSIGN_OR_RETURN(const double seconds, number_argument(arguments, 1));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  double sum = 0;
  for_each_element(block, [&](const auto&, double element) { sum += element; });
  volatile double kept = sum;  // so that the compiler keeps the loop
  static_cast<void>(kept);
  std::this_thread::sleep_until(end);
  return {};
}

}  // namespace

void add_worker_functions(SuperFunctions& functions) {
  functions["one_arg_no_op"] = {"r", do_nothing};
  functions["get_my_rank"] = {"w", store_rank};
  functions["get_worker_count"] = {"w", store_workers};
  functions["enable_all_rank_print"] = {"", print_on_all};
  functions["disable_all_rank_print"] = {"", print_on_first};
  // Older programs call these; there are no prints for debugging.
  functions["enable_debug_print"] = {"", do_nothing};
  functions["disable_debug_print"] = {"", do_nothing};
  functions["busy_compute"] = {"rr", compute_for};
}

}  // namespace ob::sial
