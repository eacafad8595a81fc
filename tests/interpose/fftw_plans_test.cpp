#include "interpose/fftw_plans.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

#include "support/random.hpp"

namespace ob::interpose {
namespace {

const void* key(std::uintptr_t value) { return reinterpret_cast<const void*>(value); }

// Tables never free their memory. A leak checker finds them in this list.
FftwPlanTable& new_table() {
  static auto* tables = new std::vector<FftwPlanTable*>;
  return *tables->emplace_back(new FftwPlanTable);
}

TEST(FftwPlanTable, FindsWhatIsIn) {
  FftwPlanTable& table = new_table();
  FftwPlan plan;
  FftwPlan* replaced = &plan;
  EXPECT_EQ(table.find(key(64)), nullptr);
  EXPECT_EQ(table.find(nullptr), nullptr);
  EXPECT_EQ(table.erase(nullptr), nullptr);
  ASSERT_TRUE(table.insert(key(64), &plan, replaced));
  EXPECT_EQ(replaced, nullptr);
  EXPECT_EQ(table.find(key(64)), &plan);
  EXPECT_EQ(table.find(key(128)), nullptr);
  EXPECT_EQ(table.erase(key(64)), &plan);
  EXPECT_EQ(table.erase(key(64)), nullptr);
  EXPECT_EQ(table.find(key(64)), nullptr);
}

TEST(FftwPlanTable, AReusedAddressReplaces) {
  FftwPlanTable& table = new_table();
  FftwPlan first, second;
  FftwPlan* replaced = nullptr;
  ASSERT_TRUE(table.insert(key(64), &first, replaced));
  ASSERT_TRUE(table.insert(key(64), &second, replaced));
  EXPECT_EQ(replaced, &first);
  EXPECT_EQ(table.find(key(64)), &second);
}

TEST(FftwPlanTable, CleanupTakesOneProvidersPlans) {
  FftwPlanTable& table = new_table();
  FftwProvider here, there;
  std::vector<FftwPlan> plans(1000);
  FftwPlan* replaced = nullptr;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i].provider = i % 3 == 0 ? &here : &there;
    ASSERT_TRUE(table.insert(key(16 * (i + 1)), &plans[i], replaced));
  }
  std::size_t taken = 0;
  table.erase_all(&here, [&](FftwPlan* plan) {
    EXPECT_EQ(plan->provider, &here);
    ++taken;
  });
  EXPECT_EQ(taken, 334U);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(table.find(key(16 * (i + 1))), i % 3 == 0 ? nullptr : &plans[i]);
  }
}

// Compares with std::unordered_map. Few keys close together make runs form, wrap and close again.
TEST(FftwPlanTable, AgreesWithAMap) {
  std::mt19937_64 random = test::fresh_random();
  FftwPlanTable& table = new_table();
  std::vector<FftwPlan> plans(64);
  std::unordered_map<const void*, FftwPlan*> oracle;
  for (int step = 0; step < 200000; ++step) {
    const std::uint64_t keys = step < 100000 ? 600 : 6000;
    const void* k = key(0x7f0000001000 + 16 * (random() % keys));
    if (random() % 2 == 0) {
      FftwPlan* plan = &plans[random() % plans.size()];
      FftwPlan* replaced = nullptr;
      ASSERT_TRUE(table.insert(k, plan, replaced));
      const auto at = oracle.find(k);
      ASSERT_EQ(replaced, at == oracle.end() ? nullptr : at->second);
      oracle[k] = plan;
    } else {
      const auto at = oracle.find(k);
      ASSERT_EQ(table.erase(k), at == oracle.end() ? nullptr : at->second);
      if (at != oracle.end()) oracle.erase(at);
    }
    const void* other = key(0x7f0000001000 + 16 * (random() % keys));
    const auto at = oracle.find(other);
    ASSERT_EQ(table.find(other), at == oracle.end() ? nullptr : at->second);
  }
  for (const auto& [k, plan] : oracle) ASSERT_EQ(table.find(k), plan);
}

// Readers always find a plan that stays in the table, while others come and go around it and the
// shards grow.
TEST(FftwPlanTable, ReadersBesideWriters) {
  FftwPlanTable& table = new_table();
  constexpr std::uintptr_t kStaying = 500;
  std::vector<FftwPlan> staying(kStaying);
  FftwPlan* replaced = nullptr;
  for (std::uintptr_t i = 0; i < kStaying; ++i) {
    ASSERT_TRUE(table.insert(key(1024 * (i + 1)), &staying[i], replaced));
  }
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<std::uint64_t> found{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&, r] {
      std::uint64_t mine = 0;
      for (std::uintptr_t i = r; !stop.load(std::memory_order_relaxed) || mine < 1000;
           ++i, ++mine) {
        const FftwPlan* plan = table.find(key(1024 * (i % kStaying + 1)));
        if (plan != &staying[i % kStaying]) ++wrong;
        if (table.find(key(1024 * (i % kStaying + 1) + 8)) != nullptr) ++wrong;
      }
      found += mine;
    });
  }
  std::vector<std::thread> writers;
  for (int w = 0; w < 2; ++w) {
    writers.emplace_back([&, w] {
      std::vector<std::unique_ptr<FftwPlan>> own(64);
      for (std::uintptr_t i = 0; i < 20000; ++i) {
        const void* k = key(0x100000000 * (w + 1) + 16 * i);
        own[i % 64] = std::make_unique<FftwPlan>();
        FftwPlan* old = nullptr;
        if (!table.insert(k, own[i % 64].get(), old) || old != nullptr) ++wrong;
        if (i % 8 != 0 && table.erase(k) != own[i % 64].get()) ++wrong;
      }
    });
  }
  for (std::thread& w : writers) w.join();
  stop = true;
  for (std::thread& r : readers) r.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(found, 3000U);
}

// Readers always find an entry that moves because entries before it are erased. The keys share one
// run by the table's own hash; with another hash this test is only weaker.
TEST(FftwPlanTable, ReadersBesideMovingEntries) {
  std::vector<const void*> run;
  for (std::uintptr_t k = 16; run.size() < 30; k += 16) {
    const std::uint64_t hash = k * 0x9E3779B97F4A7C15ULL;
    if (hash >> 60 == 3 && (hash >> 28) % 64 < 2) run.push_back(key(k));
  }
  constexpr std::size_t kStaying = 6;  // the last ones, behind all that are erased
  std::vector<FftwPlan> plans(run.size());
  std::atomic<FftwPlanTable*> current{nullptr};
  std::atomic<bool> stop{false};
  std::atomic<int> missed{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        FftwPlanTable* table = current.load();
        for (std::size_t i = run.size() - kStaying; table != nullptr && i < run.size(); ++i) {
          if (table->find(run[i]) != &plans[i]) ++missed;
        }
      }
    });
  }
  for (int round = 0; round < 3000; ++round) {
    FftwPlanTable& table = new_table();
    FftwPlan* replaced = nullptr;
    for (std::size_t i = 0; i < run.size(); ++i) {
      EXPECT_TRUE(table.insert(run[i], &plans[i], replaced));
    }
    current = &table;
    for (std::size_t i = 0; i < run.size() - kStaying; ++i) {
      EXPECT_EQ(table.erase(run[i]), &plans[i]);
    }
  }
  stop = true;
  for (std::thread& r : readers) r.join();
  EXPECT_EQ(missed, 0);
}

#if !defined(__SANITIZE_THREAD__)
// The table works in a child that is forked while a thread writes.
TEST(FftwPlanTable, ForkBesideAWriter) {
  FftwPlanTable& table = new_table();
  std::atomic<bool> stop{false};
  FftwPlan staying, coming;
  FftwPlan* replaced = nullptr;
  ASSERT_TRUE(table.insert(key(64), &staying, replaced));
  std::thread writer([&] {
    for (std::uintptr_t i = 0; !stop.load(); ++i) {
      FftwPlan* old = nullptr;
      table.insert(key(1024 + 16 * (i % 4096)), &coming, old);
      table.erase(key(1024 + 16 * (i % 4096)));
    }
  });
  for (int i = 0; i < 50; ++i) {
    table.lock();
    const pid_t child = fork();
    table.unlock();
    if (child == 0) {
      alarm(20);
      FftwPlan* old = nullptr;
      bool good = table.find(key(64)) == &staying && table.insert(key(8), &coming, old);
      good = good && table.erase(key(8)) == &coming;
      _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  writer.join();
}
#endif

}  // namespace
}  // namespace ob::interpose
