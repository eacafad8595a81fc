#include <gtest/gtest.h>

#include "sial/builtins/calls.hpp"

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
