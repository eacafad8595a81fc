// Tests the parameters that thunks pass to functions of the library, with functions that record
// them: workspace, its lengths and queries, integers, callbacks, results.

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <vector>

#include "backend/cpu/thunk.hpp"
#include "routines/descriptor.hpp"

namespace ob::test {
namespace {

using Int = std::int32_t;

/// Calls the thunk of a row with `function` as the library's function.
bool run(std::string_view name, void* function, const Argument* arguments) {
  const Descriptor* routine = routines::find(name);
  if (routine == nullptr) throw std::runtime_error("no row " + std::string(name));
  const auto index = static_cast<std::size_t>(routine - routines::all().data());
  return cpu::thunks()[index].thunk(function, arguments);
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

// The parameters that the library's function received, call by call.
std::vector<Int> g_lengths;
std::vector<Int> g_seen;
void* g_pointer = &g_pointer;

constexpr Int kBest = 1000;

void getri(const Int* n, double*, const Int*, const Int* ipiv, double* work, const Int* lwork,
           Int* info) {
  g_lengths.push_back(*lwork);
  g_seen.assign(ipiv, ipiv + *n);
  if (*lwork > 0) std::fill_n(work, *lwork, 1.0);  // uses the length it was given
  *work = kBest;
  *info = -3;
}

TEST(ThunkRoles, WorkspaceIsAskedForFirst) {
  g_lengths.clear();
  double a[4] = {};
  std::int64_t ipiv[2] = {2, 2};
  std::int64_t info = 7;
  Argument arguments[kMaxArguments];
  arguments[0].dim = 2;
  arguments[1].host = {a, 2};
  arguments[2].host = {ipiv, 0};
  arguments[3].host = {&info, 0};
  ASSERT_TRUE(run("dgetri", address(&getri), arguments));
  EXPECT_EQ(g_lengths, (std::vector<Int>{-1, kBest}));
  EXPECT_EQ(g_seen, (std::vector<Int>{2, 2}));  // 32-bit ones
  EXPECT_EQ(ipiv[0], 2);                        // the caller's are unchanged
  EXPECT_EQ(ipiv[1], 2);
  EXPECT_EQ(info, -3);
}

// Answers a query with less than the documented length in one of three workspaces.
void syevd(const char*, const char*, const Int*, double*, const Int*, double*, double* work,
           const Int* lwork, Int* iwork, const Int* liwork, Int* info, std::size_t jobz_length,
           std::size_t uplo_length) {
  g_lengths.push_back(*lwork);
  g_lengths.push_back(*liwork);
  g_seen.push_back(static_cast<Int>(jobz_length * 10 + uplo_length));
  *work = 1;
  *iwork = kBest;
  *info = 0;
}

TEST(ThunkRoles, EveryLengthIsAtLeastTheDocumentedOne) {
  g_lengths.clear();
  g_seen.clear();
  double a[9] = {};
  double w[3] = {};
  std::int64_t info = 7;
  Argument arguments[kMaxArguments];
  arguments[0].flag = 'V';
  arguments[1].flag = 'U';
  arguments[2].dim = 3;
  arguments[3].host = {a, 3};
  arguments[4].host = {w, 0};
  arguments[5].host = {&info, 0};
  ASSERT_TRUE(run("dsyevd", address(&syevd), arguments));
  EXPECT_EQ(g_lengths, (std::vector<Int>{-1, -1, 1 + 6 * 3 + 2 * 9, kBest}));
  EXPECT_EQ(g_seen, (std::vector<Int>{11, 11}));  // hidden lengths are 1
}

void geqp3(const Int*, const Int* n, double*, const Int*, Int* jpvt, double*, double* work,
           const Int* lwork, Int* info) {
  if (*lwork < 0) {
    *work = 1;
    return;
  }
  g_seen.assign(jpvt, jpvt + *n);
  for (Int i = 0; i < *n; ++i) jpvt[i] = *n - i;
  *info = 0;
}

TEST(ThunkRoles, IndicesThatAreReadAndWrittenKeepTheirPlaces) {
  double a[3] = {};
  double tau = 0;
  std::int64_t jpvt[4] = {0, -1, 5, 0x7777777777777777};
  std::int64_t info = 7;
  Argument arguments[kMaxArguments];
  arguments[0].dim = 1;
  arguments[1].dim = 3;
  arguments[2].host = {a, 1};
  arguments[3].host = {jpvt, 0};
  arguments[4].host = {&tau, 0};
  arguments[5].host = {&info, 0};
  ASSERT_TRUE(run("dgeqp3", address(&geqp3), arguments));
  EXPECT_EQ(g_seen, (std::vector<Int>{0, -1, 5}));
  EXPECT_EQ(jpvt[0], 3);
  EXPECT_EQ(jpvt[1], 2);
  EXPECT_EQ(jpvt[2], 1);
  EXPECT_EQ(jpvt[3], 0x7777777777777777);
  EXPECT_EQ(info, 0);
}

// The client writes to its buffers while the routine runs.
std::vector<std::int64_t> g_mapped;

void getrf(const Int* m, const Int*, double*, const Int*, Int* ipiv, Int* info) {
  for (Int i = 0; i < *m; ++i) ipiv[i] = i + 1;
  *info = 5;
  g_mapped.assign(g_mapped.size(), 1 << 20);
  for (Int i = 0; i < *m; ++i) g_seen.push_back(ipiv[i]);
  g_seen.push_back(*info);
}

TEST(ThunkRoles, WritesOfAClientDuringACallChangeNoIntegers) {
  for (const Int n : {3, 100}) {
    g_seen.clear();
    std::vector<double> a(static_cast<std::size_t>(n * n));
    g_mapped.assign(static_cast<std::size_t>(n) + 1, -1);
    Argument arguments[kMaxArguments];
    arguments[0].dim = arguments[1].dim = n;
    arguments[2].host = {a.data(), n};
    arguments[3].host = {g_mapped.data(), 0};
    arguments[4].host = {&g_mapped.back(), 0};
    ASSERT_TRUE(run("dgetrf", address(&getrf), arguments));
    for (Int i = 0; i < n; ++i) {
      EXPECT_EQ(g_seen[static_cast<std::size_t>(i)], i + 1);
      EXPECT_EQ(g_mapped[static_cast<std::size_t>(i)], i + 1);
    }
    EXPECT_EQ(g_seen.back(), 5);
    EXPECT_EQ(g_mapped.back(), 5);
  }
}

void gees(const char*, const char*, void* select, const Int* n, double*, const Int*, Int* sdim,
          double*, double*, double*, const Int*, double* work, const Int* lwork, Int* bwork,
          Int* info, std::size_t, std::size_t) {
  g_pointer = select;
  *work = 1;
  *sdim = 2;
  *info = 0;
  if (*lwork > 0) std::fill_n(bwork, *n, 1);
}

TEST(ThunkRoles, NoCallbackIsPassed) {
  double a[4] = {};
  double w[4] = {};
  std::int64_t sdim = -1;
  std::int64_t info = 7;
  Argument arguments[kMaxArguments];
  arguments[0].flag = arguments[1].flag = 'N';
  arguments[2].dim = 2;
  arguments[3].host = {a, 2};
  arguments[4].host = {&sdim, 0};
  arguments[5].host = {w, 0};
  arguments[6].host = {w + 2, 0};
  arguments[7].host = {nullptr, 1};
  arguments[8].host = {&info, 0};
  ASSERT_TRUE(run("dgees", address(&gees), arguments));
  EXPECT_EQ(g_pointer, nullptr);
  EXPECT_EQ(sdim, 2);  // 64-bit
}

std::vector<double> g_vector;
double dot(const Int* n, const double* x, const Int* incx, const double*, const Int* incy) {
  g_seen = {*n, *incx, *incy};
  g_vector.assign(x, x + 3);
  return 42.5;
}
Int iamax(const Int*, const float*, const Int*) { return 3; }
std::complex<float> dotc(const Int*, const void*, const Int*, const void*, const Int*) {
  return {1.5F, -2.5F};
}

TEST(ThunkRoles, ValuesOfFunctionsAreStored) {
  double x[3] = {1, 2, 3};
  double value = 0;
  Argument arguments[kMaxArguments];
  arguments[0].dim = 2;
  arguments[1].host = {x, -2};
  arguments[2].host = {x, 1};
  arguments[3].host = {&value, 0};
  ASSERT_TRUE(run("ddot", address(&dot), arguments));
  EXPECT_EQ(value, 42.5);
  EXPECT_EQ(g_seen, (std::vector<Int>{2, -2, 1}));
  EXPECT_EQ(g_vector, (std::vector<double>{1, 2, 3}));  // its address, for any increment
  std::complex<float> complex_value;
  arguments[3].host = {&complex_value, 0};
  ASSERT_TRUE(run("cdotc", address(&dotc), arguments));
  EXPECT_EQ(complex_value, std::complex<float>(1.5F, -2.5F));
  std::int64_t index = -1;
  arguments[2].host = {&index, 0};
  ASSERT_TRUE(run("isamax", address(&iamax), arguments));
  EXPECT_EQ(index, 3);  // all 64 bits
}

void gesvx(const char*, const char*, const Int*, const Int*, double*, const Int*, double*,
           const Int*, Int*, char* equed, double*, double*, double*, const Int*, double*,
           const Int*, double*, double*, double*, double* work, Int*, Int* info, std::size_t,
           std::size_t, std::size_t) {
  *equed = 'B';
  *work = 0.25;
  *info = 0;
}

TEST(ThunkRoles, ResultsThatLieInWorkspaceComeOut) {
  const Descriptor& routine = *routines::find("dgesvx");
  std::vector<std::vector<double>> memory(routine.kinds.size(), std::vector<double>(9, -1));
  Argument arguments[kMaxArguments];
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.kinds[i] == Kind::flag) arguments[i].flag = 'N';
    if (routine.kinds[i] == Kind::dim) arguments[i].dim = 2;
    if (is_memory(routine.kinds[i])) arguments[i].host = {memory[i].data(), 2};
  }
  ASSERT_TRUE(run("dgesvx", address(&gesvx), arguments));
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.argument_names[i] == "work") {
      EXPECT_EQ(memory[i][0], 0.25);
      EXPECT_EQ(memory[i][1], -1);
    }
    if (routine.kinds[i] == Kind::character) {
      EXPECT_EQ(*reinterpret_cast<char*>(memory[i].data()), 'B');
    }
  }
}

// 3 n^2 elements of 2^29 columns exceed the address space: only the query is called.
void gesdd(const char*, const Int*, const Int*, double*, const Int*, double*, double*, const Int*,
           double*, const Int*, double*, const Int* lwork, Int*, Int*, std::size_t) {
  g_lengths.push_back(*lwork);
}

TEST(ThunkRoles, WithoutMemoryForWorkspaceNothingIsCalled) {
  g_lengths.clear();
  double unused = 0;
  std::int64_t info = 7;
  Argument arguments[kMaxArguments];
  arguments[0].flag = 'S';
  arguments[1].dim = arguments[2].dim = 1 << 29;
  for (const int i : {3, 4, 5, 6}) arguments[i].host = {&unused, 1};
  arguments[7].host = {&info, 0};
  EXPECT_FALSE(run("dgesdd", address(&gesdd), arguments));
  EXPECT_EQ(g_lengths, std::vector<Int>{-1});
}

}  // namespace
}  // namespace ob::test
