// A C++17 program that knows the header only: products of matrices and blocks on the device that
// its argument names, checked by loops.

#include <complex>
#include <cstdio>
#include <cstring>
#include <outboard/device.hpp>
#include <type_traits>
#include <utility>
#include <vector>

static_assert(__cplusplus < 202002L, "this program tests the header with C++17");

using namespace outboard;

static_assert(!std::is_copy_constructible_v<Device> && !std::is_copy_constructible_v<Queue> &&
              !std::is_copy_constructible_v<Matrix<double>>);
static_assert(std::is_nothrow_move_constructible_v<Device> &&
              std::is_nothrow_move_constructible_v<Event>);

namespace {

int failures = 0;

void expect(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  ++failures;
}

template <class T>
void multiply(const Device& device) {
  constexpr int m = 23, n = 17, k = 31;
  std::vector<T> a(k * m), b(k * n), c(m * n, T(-77));
  for (int i = 0; i < k * m; ++i) a[i] = T(float(i % 7 - 3));
  for (int i = 0; i < k * n; ++i) b[i] = T(float(i % 5 - 2));
  Queue queue = device.queue();
  Matrix<T> da(device, k, m), db(device, k, n), dc(device, m, n);
  queue.write(da, a.data());
  queue.write(db, b.data(), OB_CAPTURE);
  gemm(queue, 'T', 'N', 2.0F, da, db, 0.0F, dc);
  queue.read(c.data(), dc);
  const ob_report report = queue.synchronize();
  expect(report.failed_command == 0, "no command failed");
  bool right = true;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      T sum = 0;
      for (int p = 0; p < k; ++p) sum += a[p + i * k] * b[p + j * k];
      right = right && c[i + j * m] == T(2) * sum;  // small integers: exact
    }
  }
  expect(right, "the product");
}

// A block of one matrix, read into the middle of an array.
void read_block(const Device& device) {
  std::vector<double> all(10 * 6), part(7 * 2, -1);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = double(i);
  const Queue queue = device.queue();
  const Matrix<double> matrix(device, 10, 6);
  queue.write(matrix, all.data());
  queue.read(part.data() + 1, matrix.block(3, 2, 4, 2), 7, OB_WAIT);
  const std::vector<double> expected{-1, 23, 24, 25, 26, -1, -1, -1, 33, 34, 35, 36, -1, -1};
  expect(part == expected, "the block, and nothing around it");
  bool thrown = false;
  try {
    (void)matrix.block(7, 0, 4, 1);
  } catch (const std::out_of_range&) {
    thrown = true;
  }
  expect(thrown, "a block outside of its matrix is refused");
}

void report_failures(const Device& device) {
  const Queue queue = device.queue();
  const Vector<double> x(device, 4);
  try {
    queue.call("daxpy", {integer(5), scalar(1), operand(x, 1), operand(x, 1)});
    expect(false, "a vector that is too short is refused");
  } catch (const Error& error) {
    expect(error.code() == OB_INVALID_ARGUMENT && error.origin() == OB_FROM_CALLER &&
               error.name() == "daxpy" && std::strstr(error.what(), "beyond") != nullptr,
           "the failure says what is wrong");
  }
  expect(queue.try_synchronize().error.code == OB_OK, "the queue has not failed");
}

void order_queues(const Device& device) {
  const Queue first = device.queue(), second = device.queue();
  const Vector<double> x(device, 1);
  const Event written(device);
  const double number = 3;
  double result = 0;
  first.write(x, &number, OB_CAPTURE);
  first.record(written);
  second.hold(written);
  second.read(&result, x, OB_WAIT);
  expect(result == 3, "the second queue comes after the first");
  expect(written.wait(), "the event is done");
}

void use_several_devices(const Device& device) {
  const Device other("local:null");
  const double a[] = {1, 2, 3, 4};
  double c[] = {-1, -1, -1, -1};
  on_devices(
      {&device}, "dgemm",
      {flag('N'), flag('N'), integer(2), integer(2), integer(2), scalar(1),
       host(const_cast<double*>(a), 2), host(const_cast<double*>(a), 2), scalar(0), host(c, 2)});
  expect(c[0] == 7 && c[1] == 10 && c[2] == 15 && c[3] == 22, "a product on devices");
  std::int64_t info = 5;
  double one = 1;
  on_devices({&device, &other}, "dpotrf", {flag('L'), integer(0), host(&one, 1), host(&info)});
  expect(info == 0, "nothing to factor");
  try {
    ob_request request{};
    request.count = 1;
    const Lease lease(request);
    expect(false, "no pool gives leases");
  } catch (const Error& error) {
    expect(error.code() == OB_INVALID_ARGUMENT, "no pool is named");
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    Device opened(count > 1 ? arguments[1] : "");
    const Device device = std::move(opened);
    expect(opened.get() == nullptr, "a device is moved");  // NOLINT(bugprone-use-after-move)
    expect(device.facts().memory_bytes > 0, "facts");
    expect(ob_api() >> 16 == OB_API >> 16, "the library fits the header");
    multiply<float>(device);
    multiply<double>(device);
    multiply<std::complex<float>>(device);
    multiply<std::complex<double>>(device);
    read_block(device);
    report_failures(device);
    order_queues(device);
    use_several_devices(device);
    bool thrown = false;
    try {
      const Device none("127.0.0.1:1");
    } catch (const Error& error) {
      thrown = error.code() == OB_UNAVAILABLE;
    }
    expect(thrown, "nobody answers");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "unexpected: %s\n", error.what());
    return 1;
  }
  return failures == 0 ? 0 : 1;
}
