// Super-instructions about the worker itself.

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "sial/builtins/arguments.hpp"
#include "sial/builtins/builtins.hpp"
#include "sial/plugin/block_inventory.hpp"

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

std::string number_and_noun(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string worker_text(const CallContext& context) {
  return "worker " + std::to_string(context.rank) + ": ";
}

Status no_worker() { return {Code::internal, "there is no worker whose blocks can be listed"}; }

// Prints the blocks of each array that the worker holds.
Status list_arrays(CallContext& context, Arguments) {
  if (context.blocks == nullptr) return no_worker();
  struct Total {
    std::string array, kind;
    std::size_t blocks = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Total> totals;
  for (const InventoryBlock& block : context.blocks->held()) {
    if (totals.empty() || totals.back().array != block.array) {
      totals.push_back({block.array, block.kind});
    }
    ++totals.back().blocks;
    totals.back().bytes += block.bytes;
  }
  std::string text = worker_text(context) + number_and_noun(totals.size(), "array") + "\n";
  for (const Total& one : totals) {
    text += "  " + one.array + ": " + number_and_noun(one.blocks, one.kind + " block") + ", " +
            number_and_noun(one.bytes, "byte") + "\n";
  }
  if (context.print) context.print(text);
  return {};
}

// Prints each block that the worker holds, with its number in its array.
Status list_blocks(CallContext& context, Arguments) {
  if (context.blocks == nullptr) return no_worker();
  const std::vector<InventoryBlock> held = context.blocks->held();
  std::string text = worker_text(context) + number_and_noun(held.size(), "block") + "\n";
  for (const InventoryBlock& block : held) {
    text += "  " + block.array + block.segments + ": " + block.kind + ", ";
    if (block.numbered) text += "number " + std::to_string(block.number) + ", ";
    text += number_and_noun(block.bytes, "byte") + "\n";
  }
  if (context.print) context.print(text);
  return {};
}

Status count_misnumbered(CallContext& context, Arguments arguments) {
  if (context.blocks == nullptr) return no_worker();
  return store_number(arguments, 0, static_cast<double>(context.blocks->misnumbered()));
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
  functions["list_block_map"] = {"", list_arrays};
  functions["list_blocks_with_number"] = {"", list_blocks};
  functions["check_block_number_calculation"] = {"w", count_misnumbered};
  functions["blocks_to_list"] = {"r", {}, true, false, WorkerTask::save_array};
  functions["list_to_blocks"] = {"w", {}, true, false, WorkerTask::restore_array};
}

}  // namespace ob::sial
