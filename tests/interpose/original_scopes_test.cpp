// Tests the choice of the original that a call gets, in a program without a BLAS whose plugins
// bring their own: RTLD_NEXT finds none there. Runs under the preloaded stand-in.

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "interpose/standin_counts.hpp"

namespace ob::test {
namespace {

using Dgemm = void (*)(const char*, const char*, const int*, const int*, const int*, const double*,
                       const double*, const int*, const double*, const int*, const double*, double*,
                       const int*, std::size_t, std::size_t);

template <class Function>
Function function_of(void* handle, const char* name) {
  return reinterpret_cast<Function>(dlsym(handle, name));
}

void* open(const char* file, int flags = RTLD_NOW | RTLD_LOCAL) {
  void* handle = dlopen(file, flags);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  return handle;
}

double run(void* plugin) { return function_of<double (*)()>(plugin, "run")(); }

double call_from_here() {
  const int one = 1;
  const double x = 1;
  double c = 0;
  function_of<Dgemm>(RTLD_DEFAULT, "dgemm_")("N", "N", &one, &one, &one, &x, &x, &one, &x, &one, &x,
                                             &c, &one, 1, 1);
  return c;
}

TEST(OriginalScopesDeathTest, AnAbsentOriginalIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto zherk = function_of<void (*)(const char*, const char*, const int*, const int*)>(
      RTLD_DEFAULT, "zherk_");
  const int one = 1;
  EXPECT_DEATH(zherk("U", "N", &one, &one),
               "outboard: symbol lookup error: no loaded library has 'zherk_'");
}

// The result is the library's number plus 110: it shows that both hidden lengths passed unchanged.
TEST(OriginalScopes, EachPluginKeepsItsOwnLibrary) {
  void* first = open(OB_PLUGIN_1);
  EXPECT_EQ(function_of<double (*)()>(first, "constructed")(), 111);
  void* second = open(OB_PLUGIN_2);
  EXPECT_EQ(function_of<double (*)()>(second, "constructed")(), 112);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(run(first), 111);
        EXPECT_EQ(run(second), 112);
        if (t != 0) continue;
        EXPECT_EQ(call_from_here(), 111);  // no scope of its own: the first library
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls(), 0);  // unknown size of integers: calls pass unread

  // A second library in the global scope does not affect a plugin that has its own library.
  open(OB_BLAS_2, RTLD_NOW | RTLD_GLOBAL);
  EXPECT_EQ(run(first), 111);
  EXPECT_EQ(call_from_here(), 111);

  // After unloading and reloading, no stale address is called.
  dlclose(first);
  EXPECT_EQ(call_from_here(), 111);
  EXPECT_EQ(run(open(OB_PLUGIN_1)), 111);
}

TEST(OriginalScopes, NamesakesOfAliasesGetTheirArgumentsUntouched) {
  void* plugin = open(OB_NAMESAKE);
  for (int i = 0; i < 3; ++i) {
    const double expected = 0.5 + 2 + 1 + 16 + 48 + 4 + 7 + 22 + 39 + 68 + 95;
    EXPECT_EQ(function_of<double (*)()>(plugin, "call_dgemm")(), expected);
    EXPECT_EQ(function_of<int (*)()>(plugin, "call_DGEMM")(), 42);
  }
}

}  // namespace
}  // namespace ob::test
