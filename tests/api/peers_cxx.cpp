// The cases of peers.c with the C++ header.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <outboard/device.hpp>
#include <outboard/device_peers.hpp>
#include <vector>

static_assert(__cplusplus < 202002L, "this program tests the header with C++17");

using namespace outboard;

namespace {

constexpr std::int64_t kCount = 4096;
constexpr std::uint64_t kBytes = kCount * 8;
constexpr ob_rect kWhole{kBytes, 1, kBytes, kBytes, 8, 0};

void expect(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

struct Side {
  explicit Side(const char* where) : device(where), queue(device), numbers(device, kCount) {}

  ob_place place() const { return numbers.view().place; }
  void set(double value) const { queue.fill(numbers, value); }
  void expect_all(double value, const char* what) const {
    std::vector<double> read(kCount, -7);
    queue.read(read.data(), numbers, OB_WAIT);
    expect(read == std::vector<double>(kCount, value), what);
  }

  Device device;
  Queue queue;
  Vector<double> numbers;
};

void copy_from_device_to_device(const Side& a, const Side& b) {
  a.set(3);
  b.set(-1);
  copy_between(a.queue, a.place(), b.queue, b.place(), kBytes);
  b.expect_all(3, "a copy between devices");
}

void hold_for_the_other(const Side& a, const Side& b) {
  const Event done(a.device);
  b.set(0);
  for (int i = 1; i <= 100; ++i) a.set(i);
  a.queue.record(done);
  b.queue.hold(done);
  copy_between(a.queue, a.place(), b.queue, b.place(), kWhole);
  b.expect_all(100, "an event of another device");
}

void send_and_receive(const Side& a, const Side& b) {
  const Mailbox mailbox(b.device);
  const Peer peer(a.device, mailbox.address());
  const Event sent(a.device);
  a.set(5);
  b.set(-1);
  mailbox.receive(b.queue, 7, b.place(), kWhole);
  peer.send(a.queue, 7, a.place(), kWhole, &sent);
  b.queue.flush();
  a.queue.hold(sent);
  a.set(6);  // behind the message
  b.expect_all(5, "a message");
}

void put_and_get(const Side& a, const Side& b) {
  Grant grant(b.numbers.buffer(), 0, kBytes, OB_MAY_READ | OB_MAY_WRITE, 60);
  const std::string address = grant.address();
  a.set(8);
  put(a.queue, address, 0, a.place(), kBytes);
  a.queue.synchronize();
  grant.hold(b.queue, 1);
  b.expect_all(8, "a put");
  b.set(9);
  b.queue.synchronize();
  get(a.queue, address, 0, a.place(), kBytes);
  a.expect_all(9, "a get");
  grant.end();
  get(a.queue, address, 0, a.place(), kBytes);
  expect(a.queue.try_synchronize().error.code == OB_DENIED, "a revoked grant");
}

// Devices of this process refuse messages and grants, and daemons reach each other over TCP only.
template <class Case>
void try_remote(Case tested, const Side& a, const Side& b) {
  try {
    tested(a, b);
  } catch (const Error& error) {
    if (error.code() != OB_UNSUPPORTED) throw;
  }
}

void compute_on_both(const Side& a, const Side& b) {
  constexpr int n = 48;
  std::vector<double> x(n * n), c(n * n, -7);
  for (int i = 0; i < n * n; ++i) x[i] = i % 7 - 3;
  on_devices({&a.device, &b.device}, "dgemm",
             {flag('N'), flag('N'), integer(n), integer(n), integer(n), scalar(2),
              host(x.data(), n), host(x.data(), n), scalar(0), host(c.data(), n)});
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += x[i + k * n] * x[k + j * n];
      expect(c[i + j * n] == 2 * sum, "a product on both devices");  // integers: exact
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  expect(count == 3, "two names of devices are needed");
  try {
    const Side a(arguments[1]), b(arguments[2]);
    copy_from_device_to_device(a, b);
    hold_for_the_other(a, b);
    try_remote(send_and_receive, a, b);
    try_remote(put_and_get, a, b);
    compute_on_both(a, b);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "unexpected: %s\n", error.what());
    return 1;
  }
  std::puts("all right");
}
