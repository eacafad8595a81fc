// One call on several devices, against the local library; and leases, which nobody gives yet.

#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "api/fixture.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

constexpr double kPadding = -77;

ob_operand host(void* elements, std::int64_t ld = 0) {
  ob_operand operand{};
  operand.value.host = elements;
  operand.ld = ld;
  return operand;
}

// A column-major matrix with rows of padding.
struct Matrix {
  Matrix(std::int64_t height, std::int64_t width)
      : rows(height),
        cols(width),
        ld(height + 3),
        elements(static_cast<std::size_t>(ld * width), kPadding) {}

  double& at(std::int64_t i, std::int64_t j) {
    return elements[static_cast<std::size_t>(i + j * ld)];
  }
  bool keeps_padding() {
    for (std::int64_t j = 0; j < cols; ++j) {
      for (std::int64_t i = rows; i < ld; ++i) {
        if (at(i, j) != kPadding) return false;
      }
    }
    return true;
  }
  ob_operand operand() { return host(elements.data(), ld); }

  std::int64_t rows;
  std::int64_t cols;
  std::int64_t ld;
  std::vector<double> elements;
};

Matrix random_matrix(std::mt19937_64& random, std::int64_t rows, std::int64_t cols) {
  Matrix made(rows, cols);
  for (std::int64_t j = 0; j < cols; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) {
      made.at(i, j) = static_cast<double>(uniform(random, -9, 9));
    }
  }
  return made;
}

std::vector<std::unique_ptr<Device>> cpu_devices(std::size_t count) {
  std::vector<std::unique_ptr<Device>> devices;
  for (std::size_t i = 0; i < count; ++i) {
    devices.push_back(
        require(cpu::create({.memory_bytes = 1 << 26, .threads = 1, .gflops_double = 10})));
  }
  return devices;
}

// Two devices of one daemon over TCP, one of another daemon over shared memory, and a local one.
class ApiSeveralTest : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    const std::array names{first.address() + "/0", first.address() + "/1", second.address(),
                           std::string("local:cpu")};
    for (std::size_t i = 0; i < GetParam(); ++i) {
      ob_device opened = nullptr;
      ASSERT_TRUE(succeeds(ob_device_open(names[i].c_str(), nullptr, &opened)));
      devices.push_back(opened);
    }
    ASSERT_TRUE(succeeds(ob_device_open("local:cpu", nullptr, &alone)));
  }
  void TearDown() override {
    for (const ob_device device : devices) EXPECT_TRUE(succeeds(ob_device_close(device)));
    EXPECT_TRUE(succeeds(ob_device_close(alone)));
  }

  testing::AssertionResult run(const char* routine, const std::vector<ob_operand>& operands) {
    return succeeds(
        ob_on_devices(devices.data(), devices.size(), routine, operands.data(), operands.size()));
  }
  // The largest difference to a factorization by the local library alone, in units of its eps times
  // the order and the largest element.
  double difference(Matrix& result, Matrix& expected) const {
    double largest = 1;
    double most = 0;
    for (std::int64_t j = 0; j < result.cols; ++j) {
      for (std::int64_t i = 0; i < result.rows; ++i) {
        largest = std::max(largest, std::abs(expected.at(i, j)));
        most = std::max(most, std::abs(result.at(i, j) - expected.at(i, j)));
      }
    }
    const auto order = static_cast<double>(std::max(result.rows, result.cols));
    return most / (std::numeric_limits<double>::epsilon() * order * largest);
  }

  const InProcessDaemon first{Transport::tcp, cpu_devices(2)};
  const InProcessDaemon second{Transport::shm, cpu_devices(1)};
  std::vector<ob_device> devices;
  ob_device alone = nullptr;
};

// Sums of small integers are exact, so all orders give the same.
TEST_P(ApiSeveralTest, ProductsAreThoseOfPlainLoops) {
  auto random = fresh_random();
  for (const std::int64_t size : {1, 5, 64, 150}) {
    const std::int64_t m = size, n = size + 3, k = size / 2 + 1;
    Matrix a = random_matrix(random, m, k);
    Matrix b = random_matrix(random, k, n);
    Matrix c = random_matrix(random, m, n);
    Matrix expected = c;
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += a.at(i, l) * b.at(l, j);
        expected.at(i, j) = 2 * sum - expected.at(i, j);
      }
    }
    ASSERT_TRUE(run("dgemm", {flag('n'), flag('N'), number(m), number(n), number(k), real(2),
                              a.operand(), b.operand(), real(-1), c.operand()}));
    EXPECT_EQ(c.elements, expected.elements) << "size " << size;

    Matrix square = random_matrix(random, m, m);
    Matrix lower = square;
    for (std::int64_t j = 0; j < m; ++j) {
      for (std::int64_t i = j; i < m; ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += a.at(i, l) * a.at(j, l);
        lower.at(i, j) = sum;
      }
    }
    ASSERT_TRUE(run("dsyrk", {flag('L'), flag('N'), number(m), number(k), real(1), a.operand(),
                              real(0), square.operand()}));
    EXPECT_EQ(square.elements, lower.elements) << "size " << size;
  }
}

// Some columns of P A = L U, computed by loops. The pivots count from 1.
void expect_factors(Matrix& given, Matrix& lu, const std::vector<std::uint64_t>& pivots,
                    std::int64_t n) {
  for (std::int64_t j = 0; j < n; j += 13) {
    std::vector<double> column;
    for (std::int64_t i = 0; i < n; ++i) column.push_back(given.at(i, j));
    for (std::size_t i = 0; i < pivots.size(); ++i) std::swap(column[i], column[pivots[i] - 1]);
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = i <= j ? lu.at(i, j) : 0;
      for (std::int64_t k = 0; k <= std::min(i - 1, j); ++k) sum += lu.at(i, k) * lu.at(k, j);
      // n eps |L| |U|; elements of L are at most 1, and U grows little
      EXPECT_NEAR(sum, column[static_cast<std::size_t>(i)], 1e-11) << i << ' ' << j;
    }
  }
}

TEST_P(ApiSeveralTest, FactorizationsAreThoseOfTheLocalLibrary) {
  auto random = fresh_random();
  for (const std::int64_t n : {1, 7, 90, 301}) {
    Matrix general = random_matrix(random, n, n);
    if (n == 1) general.at(0, 0) = 2;  // a zero would be singular
    Matrix definite = random_matrix(random, n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < i; ++j) definite.at(j, i) = definite.at(i, j);
      definite.at(i, i) = 20.0 * static_cast<double>(n);
    }
    const auto both = [&](const char* routine, Matrix& given, std::vector<ob_operand> before,
                          std::vector<std::uint64_t>& here, std::vector<std::uint64_t>& there,
                          bool has_vector) {
      Matrix expected = given;
      std::int64_t info = -1;
      std::int64_t expected_info = -1;
      const auto operands = [&](Matrix& a, std::vector<std::uint64_t>& vector, std::int64_t& told) {
        std::vector<ob_operand> all = before;
        all.push_back(a.operand());
        if (has_vector) all.push_back(host(vector.data()));
        all.push_back(host(&told));
        return all;
      };
      const auto one = operands(expected, there, expected_info);
      EXPECT_TRUE(succeeds(ob_on_devices(&alone, 1, routine, one.data(), one.size())));
      EXPECT_TRUE(run(routine, operands(given, here, info)));
      EXPECT_EQ(info, 0);
      EXPECT_EQ(expected_info, 0);
      EXPECT_TRUE(given.keeps_padding());
      // The factors of two ways differ by the condition of the matrix.
      const double most = has_vector ? 1e6 : 10;
      EXPECT_LT(difference(given, expected), most) << routine << " of " << n;
    };
    std::vector<std::uint64_t> here(static_cast<std::size_t>(n), 99);
    std::vector<std::uint64_t> there(static_cast<std::size_t>(n), 98);
    both("dpotrf", definite, {flag('L'), number(n)}, here, there, false);
    Matrix lu = general;
    both("dgetrf", lu, {number(n), number(n)}, here, there, true);
    EXPECT_EQ(here, there);  // pivots
    expect_factors(general, lu, here, n);
    Matrix qr = general;
    both("dgeqrf", qr, {number(n), number(n)}, here, there, true);
    // A = Q R, so R^T R = A^T A, which no library takes part in.
    for (std::int64_t j = 0; j < n; j += 13) {
      double norm = 0;
      double expected = 0;
      for (std::int64_t i = 0; i <= j; ++i) norm += qr.at(i, j) * qr.at(i, j);
      for (std::int64_t i = 0; i < n; ++i) expected += general.at(i, j) * general.at(i, j);
      EXPECT_NEAR(norm, expected, 1e-10 * expected);
    }
  }
}

TEST_P(ApiSeveralTest, AMatrixThatIsNotDefiniteIsReported) {
  Matrix a(4, 4);
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) a.at(i, j) = i == j ? 1 : 0;
  }
  a.at(2, 2) = -1;
  std::int64_t info = 0;
  ASSERT_TRUE(run("dpotrf", {flag('L'), number(4), a.operand(), host(&info)}));
  EXPECT_EQ(info, 3);
}

TEST_P(ApiSeveralTest, MistakesAreRefused) {
  double one = 1;
  std::int64_t info = 7;
  const std::vector<ob_operand> good{flag('L'), number(1), host(&one, 1), host(&info)};
  const auto call = [&](const std::vector<ob_device>& on, const char* routine,
                        const std::vector<ob_operand>& operands) {
    return ob_on_devices(on.data(), on.size(), routine, operands.data(), operands.size());
  };
  EXPECT_TRUE(fails(call({}, "dpotrf", good), OB_INVALID_ARGUMENT, "no devices"));
  EXPECT_TRUE(fails(call({alone, alone}, "dpotrf", good), OB_INVALID_ARGUMENT, "given twice"));
  EXPECT_TRUE(fails(call({nullptr}, "dpotrf", good), OB_INVALID_ARGUMENT, "device"));
  EXPECT_TRUE(fails(call(devices, "dpotrx", good), OB_UNSUPPORTED, "outboard coverage"));
  EXPECT_TRUE(fails(call(devices, "dpotrf", {good[0], good[1]}), OB_INVALID_ARGUMENT, "operands"));
  EXPECT_TRUE(fails(call(devices, "dpotrf", {flag('L'), number(-1), good[2], good[3]}),
                    OB_INVALID_ARGUMENT, "illegal"));
  EXPECT_TRUE(fails(call(devices, "dpotrf", {flag('L'), number(1), host(nullptr, 1), good[3]}),
                    OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_TRUE(fails(call(devices, "daxpy", {number(1), real(1), host(&one, 1), host(&one, 1)}),
                    OB_UNSUPPORTED, "ob_call"));
  EXPECT_EQ(one, 1);
  EXPECT_EQ(info, 7);
  EXPECT_TRUE(run("dpotrf", {flag('L'), number(0), host(nullptr, 1), host(&info)}));
  EXPECT_EQ(info, 0);
}

INSTANTIATE_TEST_SUITE_P(Api, ApiSeveralTest, testing::Values(1, 2, 3, 4));

// One of two daemons ends while both compute.
class ApiSeveralLossTest : public testing::TestWithParam<const char*> {};

TEST_P(ApiSeveralLossTest, ALostDaemonLeavesTheOperands) {
  constexpr std::int64_t n = 512;
  const std::string routine = GetParam();
  // Null devices take the time of some seconds.
  const InProcessDaemon stays(Transport::shm, one(null_device(1 << 28, 0.02)));
  auto ends = std::make_unique<InProcessDaemon>(Transport::shm, one(null_device(1 << 28, 0.02)));
  std::array<ob_device, 2> devices{};
  ASSERT_TRUE(succeeds(ob_device_open(stays.address().c_str(), nullptr, &devices[0])));
  ASSERT_TRUE(succeeds(ob_device_open(ends->address().c_str(), nullptr, &devices[1])));
  auto random = fresh_random();
  Matrix a = random_matrix(random, n, n);
  const Matrix b = random_matrix(random, n, n);
  Matrix read = b;
  const std::vector<double> before = a.elements;
  std::int64_t info = 55;
  std::vector<std::int64_t> vector(n, 66);
  std::vector<ob_operand> operands{number(n), number(n), a.operand(), host(vector.data()),
                                   host(&info)};
  if (routine == "dpotrf") operands = {flag('L'), number(n), a.operand(), host(&info)};
  if (routine == "dgemm") {
    operands = {flag('N'), flag('N'),      number(n),      number(n), number(n),
                real(1),   read.operand(), read.operand(), real(1),   a.operand()};
  }
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ends->stop();
  });
  const ob_status status =
      ob_on_devices(devices.data(), 2, routine.c_str(), operands.data(), operands.size());
  const ob_error error = last_error();
  killer.join();
  EXPECT_EQ(status, OB_CONNECTION_LOST) << error.message;
  EXPECT_STREQ(error.name, routine.c_str());
  EXPECT_NE(std::string(error.message).find("lost"), std::string::npos) << error.message;
  EXPECT_EQ(a.elements, before);
  EXPECT_EQ(read.elements, b.elements);
  EXPECT_EQ(info, 55);
  // The other device goes on.
  double number_four = 4;
  const std::array small{flag('L'), number(1), host(&number_four, 1), host(&info)};
  EXPECT_TRUE(succeeds(ob_on_devices(devices.data(), 1, "dpotrf", small.data(), small.size())));
  for (const ob_device device : devices) (void)ob_device_close(device);
}

INSTANTIATE_TEST_SUITE_P(Api, ApiSeveralLossTest,
                         testing::Values("dgemm", "dpotrf", "dgetrf", "dgeqrf"));

TEST(ApiLease, RefusesMistakes) {
  ::unsetenv("OUTBOARD_POOL");
  ob_request request{};
  request.struct_bytes = sizeof request;
  request.count = 1;
  ob_lease lease = nullptr;
  EXPECT_TRUE(fails(ob_lease_acquire(&request, &lease), OB_INVALID_ARGUMENT, "OUTBOARD_POOL"));
  request.pool = "pool:7780";
  EXPECT_TRUE(fails(ob_lease_acquire(&request, &lease), OB_INVALID_ARGUMENT, "pool:7780"));
  request.pool = "http://127.0.0.1:1";
  EXPECT_TRUE(fails(ob_lease_acquire(&request, &lease), OB_UNAVAILABLE, "127.0.0.1:1"));
  EXPECT_EQ(lease, nullptr);
  request.near = "node7";
  EXPECT_TRUE(fails(ob_lease_acquire(&request, &lease), OB_UNSUPPORTED, "near"));
  request.near = nullptr;
  request.exclusive = 2;
  EXPECT_TRUE(fails(ob_lease_acquire(&request, &lease), OB_INVALID_ARGUMENT, "exclusive"));
  request.exclusive = 0;
  EXPECT_TRUE(fails(ob_lease_acquire(&request, nullptr), OB_INVALID_ARGUMENT, "NULL"));
  request.count = 0;
  EXPECT_TRUE(fails(ob_lease_acquire(&request, &lease), OB_INVALID_ARGUMENT, "count"));
  request.count = 1;
  request.share_percent = 101;
  EXPECT_TRUE(fails(ob_lease_acquire(&request, &lease), OB_INVALID_ARGUMENT, "share_percent"));
  request.struct_bytes = 8;
  EXPECT_TRUE(fails(ob_lease_acquire(&request, &lease), OB_INVALID_ARGUMENT, "struct_bytes"));
  ob_device device = nullptr;
  EXPECT_TRUE(fails(ob_lease_release(lease), OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_TRUE(fails(ob_lease_grow(lease, 1, 0), OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_TRUE(fails(ob_lease_shrink(lease, device), OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_TRUE(fails(ob_lease_device(lease, 0, &device), OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_TRUE(fails(ob_lease_watch(lease, nullptr, nullptr), OB_INVALID_ARGUMENT, "NULL"));
}

}  // namespace
}  // namespace ob::test
