// The oracle of the division hands out the iterations one by one, and adds up the time of each
// worker in a plain array.

#include "sial/worker/pardo_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace ob::sial {
namespace {

TEST(PardoTimesTest, LongestFirstDividesAllAndEvenly) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const Rank workers = 1 + random() % 8;
    std::vector<std::uint64_t> counts;
    std::vector<double> costs;
    for (unsigned one = 0; one < 1 + random() % 6; ++one) {
      counts.push_back(random() % 20);
      costs.push_back(1.0 + random() % 100);
    }
    std::vector<double> loads(workers);
    std::vector<std::uint64_t> next(counts.size());
    for (Rank worker = 0; worker < workers; ++worker) {
      const auto shares = longest_first(counts, costs, workers, worker);
      for (std::size_t one = 0; one < counts.size(); ++one) {
        EXPECT_EQ(shares[one].first, next[one]);  // nobody's and no second worker's
        next[one] = shares[one].end;
        loads[worker] += costs[one] * static_cast<double>(shares[one].end - shares[one].first);
      }
    }
    EXPECT_EQ(next, counts);
    // The last iteration went to the worker with the least to do, and no longer one followed.
    const double most = *std::ranges::max_element(loads);
    const double least = *std::ranges::min_element(loads);
    EXPECT_LE(most - least, *std::ranges::max_element(costs));
  }
}

TEST(PardoTimesTest, LongestFirstByHand) {
  // 7 to worker 0, 5 to worker 1, 3 to worker 1, 2 to worker 0: 9 and 8.
  const std::vector<std::uint64_t> counts{1, 1, 1, 1};
  const std::vector<double> costs{2, 7, 3, 5};
  const auto first = longest_first(counts, costs, 2, 0);
  const auto other = longest_first(counts, costs, 2, 1);
  const std::vector<bool> of_first{true, true, false, false};
  for (std::size_t one = 0; one < 4; ++one) {
    EXPECT_EQ(first[one].end - first[one].first, of_first[one] ? 1U : 0U);
    EXPECT_EQ(other[one].end - other[one].first, of_first[one] ? 0U : 1U);
  }
}

// A program with one pardo over an index with segments of 1, 2 and 3 elements.
class PardoTimes3 : public testing::Test {
 protected:
  PardoTimes3() {
    program_.sources.push_back({});
    program_.sources[0].name = "folder/p.sial";
    program_.lines.resize(4);
    program_.lines[1].line = 17;
    Loop loop;
    loop.kind = LoopKind::pardo;
    loop.begin = 1;
    loop.indices = {0};
    program_.loops.push_back(loop);
    Layout::IndexRange range;
    range.kind = IndexKind::segmented;
    range.lower = 1;
    range.upper = 4;
    range.extents = {1, 2, 3, 2};
    layout_.indices.push_back(range);
  }

  static void exchange(std::vector<PardoTimes*> workers) {
    Message whole;
    for (PardoTimes* worker : workers) {
      Message part;
      worker->put_into(part);
      if (whole.numbers.empty()) {
        whole = part;
        continue;
      }
      for (std::size_t i = 0; i < part.numbers.size(); ++i) {
        double& number = whole.numbers[i];
        number = i < whole.number ? number + part.numbers[i] : std::max(number, part.numbers[i]);
      }
    }
    for (PardoTimes* worker : workers) worker->take(whole, 0.5);
  }

  Program program_;
  Layout layout_;
};

TEST_F(PardoTimes3, LearnsFromAllWorkersAndRemembers) {
  PardoTimes one(program_, layout_, 2), two(program_, layout_, 2);
  one.keep_classes(0);
  two.keep_classes(0);
  EXPECT_EQ(one.of(0).products, (std::vector<std::uint64_t>{1, 2, 3}));
  one.note(0, {2}, 4.0);
  one.note(0, {3}, 9.0);
  two.note(0, {4}, 6.0);
  exchange({&one, &two});
  for (const PardoTimes* worker : {&one, &two}) {
    const PardoTimes::Pardo& known = worker->of(0);
    EXPECT_EQ(known.all[0].count, 0.0);
    EXPECT_EQ(known.all[1].count, 2.0);
    EXPECT_EQ(known.all[1].time, 10.0);
    EXPECT_EQ(known.all[1].squares, 52.0);
    EXPECT_EQ(known.mean, 9.5);
    EXPECT_EQ(known.slowest, 13.0);
    EXPECT_TRUE(known.uneven);
  }
  const auto file = std::filesystem::path(testing::TempDir()) / "pardo_times_test" / "times.txt";
  ASSERT_TRUE(one.save(file).ok());
  PardoTimes later(program_, layout_, 2), other(program_, layout_, 2);
  later.keep_classes(0);
  other.keep_classes(0);
  later.load(file);
  exchange({&later, &other});
  EXPECT_EQ(other.of(0).all[1].count, 2.0);
  EXPECT_EQ(other.of(0).all[2].time, 9.0);
  std::filesystem::remove_all(file.parent_path());
}

TEST_F(PardoTimes3, EvenTimesStayEven) {
  PardoTimes one(program_, layout_, 2), two(program_, layout_, 2);
  one.note(0, {1}, 1.00);
  two.note(0, {1}, 1.05);
  exchange({&one, &two});
  EXPECT_FALSE(one.of(0).uneven);
}

}  // namespace
}  // namespace ob::sial
