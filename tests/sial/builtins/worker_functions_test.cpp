#include <gtest/gtest.h>

#include "sial/builtins/calls.hpp"
#include "sial/plugin/block_inventory.hpp"

namespace ob::sial::test {
namespace {

const SuperFunctions kFunctions = builtin_functions();

TEST(WorkerFunctions, RankAndNumberOfWorkers) {
  CallContext context;
  context.rank = 3;
  context.workers = 5;
  double rank = -1;
  std::int64_t workers = -1;
  ASSERT_TRUE(call(kFunctions, "get_my_rank", {number(rank)}, context).ok());
  ASSERT_TRUE(call(kFunctions, "get_worker_count", {number(workers)}, context).ok());
  EXPECT_EQ(rank, 3);
  EXPECT_EQ(workers, 5);
}

TEST(WorkerFunctions, SwitchesOfPrinting) {
  bool all = false;
  CallContext context;
  context.print_all = &all;
  ASSERT_TRUE(call(kFunctions, "enable_all_rank_print", {}, context).ok());
  EXPECT_TRUE(all);
  ASSERT_TRUE(call(kFunctions, "disable_all_rank_print", {}, context).ok());
  EXPECT_FALSE(all);
}

// A worker with chosen blocks, three of which have a wrong number.
class ChosenInventory final : public BlockInventory {
 public:
  std::vector<InventoryBlock> held() const override {
    return {{"m", "static", "", false, 0, 72},
            {"t", "temp", "[1,2]", true, 1, 48},
            {"t", "temp", "[3,1]", true, 6, 8}};
  }
  std::uint64_t misnumbered() const override { return 3; }
};

TEST(WorkerFunctions, BlocksOfTheWorker) {
  const ChosenInventory inventory;
  std::string printed;
  CallContext context;
  context.rank = 2;
  context.blocks = &inventory;
  context.print = [&](const std::string& text) { printed += text; };
  ASSERT_TRUE(call(kFunctions, "list_block_map", {}, context).ok());
  EXPECT_EQ(printed,
            "worker 2: 2 arrays\n  m: 1 static block, 72 bytes\n  t: 2 temp blocks, 56 bytes\n");
  printed.clear();
  ASSERT_TRUE(call(kFunctions, "list_blocks_with_number", {}, context).ok());
  EXPECT_EQ(printed,
            "worker 2: 3 blocks\n  m: static, 72 bytes\n  t[1,2]: temp, number 1, 48 bytes\n"
            "  t[3,1]: temp, number 6, 8 bytes\n");
  double wrong = -1;
  ASSERT_TRUE(call(kFunctions, "check_block_number_calculation", {number(wrong)}, context).ok());
  EXPECT_EQ(wrong, 3);
}

TEST(WorkerFunctions, WithoutAWorkerThereAreNoBlocks) {
  EXPECT_EQ(call(kFunctions, "list_block_map", {}).code(), Code::internal);
}

TEST(WorkerFunctions, LeaveBlocksAlone) {
  Operand block({2, 2});
  block.for_each([](double& element) { element = 1; });
  const auto before = block.memory;
  double seconds = 0;
  EXPECT_TRUE(call(kFunctions, "one_arg_no_op", {block.argument()}).ok());
  EXPECT_TRUE(call(kFunctions, "busy_compute", {block.argument(), number(seconds)}).ok());
  EXPECT_EQ(block.memory, before);
}

}  // namespace
}  // namespace ob::sial::test
