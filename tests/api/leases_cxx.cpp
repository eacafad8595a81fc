// The steps of leases.c with the C++ header.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <outboard/device.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

static_assert(__cplusplus < 202002L, "this program tests the header with C++17");

using namespace outboard;

namespace {

using Seen = std::array<std::atomic<int>, 5>;  // how often each OB_LEASE_... was reported

constexpr int kMostWaits = 3000;  // of 10 ms each; it ends a test that hangs
constexpr double kPoison = -77;

void expect(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

void wait_a_moment() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

void say_and_wait(const char* word) {
  std::string line;
  std::cout << word << std::endl;
  expect(bool(std::getline(std::cin, line)), "a line of the test");
}

/// Returns the code of the failure, or OB_OK.
template <class Use>
ob_status outcome(Use use) {
  try {
    use();
  } catch (const Error& error) {
    return error.code();
  }
  return OB_OK;
}

/// C <- A B of small whole numbers, where A depends on `salt`. The oracle is three loops.
void multiply(const Device& device, int salt) {
  constexpr int m = 23, n = 17, k = 31, padded = m + 3;
  std::vector<double> a(m * k), b(k * n), c(padded * n, kPoison);
  for (int i = 0; i < m * k; ++i) a[i] = (i + salt) % 7 - 3;
  for (int i = 0; i < k * n; ++i) b[i] = i % 5 - 2;
  const Queue queue = device.queue();
  const Matrix<double> on_a(device, m, k), on_b(device, k, n), on_c(device, padded, n);
  queue.write(on_a, a.data());
  queue.write(on_b, b.data());
  queue.write(on_c, c.data(), OB_CAPTURE);
  gemm(queue, 'N', 'N', 1.0, on_a.view(), on_b.view(), 0.0, on_c.block(0, 0, m, n));
  queue.read(c.data(), on_c);
  queue.synchronize();
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < padded; ++i) {
      double sum = 0;
      for (int p = 0; i < m && p < k; ++p) sum += a[i + p * m] * b[p + j * k];
      expect(c[i + j * padded] == (i < m ? sum : kPoison), "a product on a device of the lease");
    }
  }
}

ob_request request_of(std::uint32_t count) {
  ob_request request{};
  request.count = count;
  request.exclusive = 1;
  request.wait_ms = 20000;
  request.seconds = 6;
  return request;
}

void watch(const Lease& lease, Seen& seen) {
  const auto changed = [](void* user, std::int32_t what, ob_device /*device*/) {
    ++(*static_cast<Seen*>(user))[static_cast<std::size_t>(what)];
  };
  check(ob_lease_watch(lease.get(), changed, &seen));
}

void wait_until_seen(const Seen& seen, int what, int times) {
  const std::atomic<int>& count = seen[static_cast<std::size_t>(what)];
  for (int i = 0; i < kMostWaits && count < times; ++i) wait_a_moment();
  expect(count == times, "the number of reports of the lease");
}

void grow_and_shrink() {
  Seen seen{};
  {
    Lease lease(request_of(1));
    watch(lease, seen);
    Device first = lease.device(0);
    multiply(first, 1);
    expect(outcome([&] { (void)lease.device(1); }) == OB_INVALID_ARGUMENT, "it has one device");
    say_and_wait("one");
    multiply(first, 2);  // the test waited until the lease was renewed
    lease.grow(1, 20000);
    const Device second = lease.device(1);
    multiply(first, 3);
    multiply(second, 4);
    wait_until_seen(seen, OB_LEASE_GIVEN, 1);
    expect(outcome([&] { lease.grow(1, 0); }) == OB_BUSY, "no third device is free");
    expect(outcome([&] { lease.grow(3, 0); }) == OB_UNSUPPORTED, "the pool has fewer than five");
    say_and_wait("grown");
    const ob_device gone = first.get();
    lease.shrink(std::move(first));
    ob_queue none = nullptr;
    expect(ob_queue_create(gone, 0, &none) == OB_INVALID_ARGUMENT, "the device was given back");
    multiply(second, 5);
    say_and_wait("shrunk");
  }
  expect(seen[OB_LEASE_TAKEN] == 0 && seen[OB_LEASE_GONE] == 0, "nobody took anything");
  say_and_wait("released");
}

/// Computes on a device until it is refused. The daemon may close the connection before the library
/// knows why.
void expect_end(const Device& device) {
  ob_status status = OB_OK;
  for (int i = 0; i < kMostWaits && status == OB_OK; ++i) {
    status = outcome([&] { multiply(device, i); });
    wait_a_moment();
  }
  expect(status == OB_FENCED || status == OB_CONNECTION_LOST, "the device was taken back");
}

void lose_a_pair() {
  Seen seen{};
  Lease lease(request_of(2));
  Device first = lease.device(0);
  const Device second = lease.device(1);
  watch(lease, seen);
  multiply(first, 6);
  multiply(second, 7);
  ob_request other{};
  other.count = 1;
  expect(outcome([&] { const Lease none(other); }) == OB_BUSY, "this lease has both devices");
  say_and_wait("pair");
  lease.shrink(std::move(first));
  multiply(second, 8);
  say_and_wait("half");
  lease.grow(1, 20000);
  first = lease.device(1);
  multiply(first, 9);
  multiply(second, 10);
  say_and_wait("both");
  const std::array<const Device*, 2> both = {&first, &second};
  for (const Device* device : both) expect_end(*device);
  wait_until_seen(seen, OB_LEASE_TAKEN, 2);
  wait_until_seen(seen, OB_LEASE_GONE, 1);
  for (const Device* device : both) {
    expect(outcome([&] { multiply(*device, 1); }) == OB_FENCED, "it answers OB_FENCED");
  }
  expect(outcome([&] { (void)lease.device(0); }) == OB_INVALID_ARGUMENT, "no device is left");
  say_and_wait("lost");
}

}  // namespace

int main() {
  try {
    grow_and_shrink();
    lose_a_pair();
  } catch (const Error& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return 1;
  }
  std::printf("all right\n");
}
