#include "device/self_test.hpp"

#include <chrono>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "device/square_product.hpp"

namespace ob {
namespace {

using Verdict = SelfTest::Verdict;
using Numbers = std::vector<double>;

constexpr std::int64_t kOrder = 256;
constexpr std::size_t kElements = static_cast<std::size_t>(kOrder * kOrder);
constexpr std::chrono::milliseconds kLook{100};

SelfTest failed(const Status& status) {
  // A device without room, or with too much to do, has not shown that it computes wrongly.
  const bool is_wrong = status.code() == Code::device_error;
  return {is_wrong ? Verdict::wrong : Verdict::unknown, status.message()};
}

Numbers whole_numbers(std::mt19937_64& random, std::size_t count, int least, int most) {
  std::uniform_int_distribution<int> distribution(least, most);
  Numbers numbers(count);
  for (double& each : numbers) each = distribution(random);
  return numbers;
}

// Returns M x; M is column-major, of order kOrder.
Numbers times(const double* matrix, const Numbers& x) {
  Numbers y(static_cast<std::size_t>(kOrder));
  for (const double factor : x) {
    for (double& each : y) each += *matrix++ * factor;
  }
  return y;
}

// The queue and the buffer of a test.
class Product {
 public:
  explicit Product(Device& device) : device_(device) {}
  ~Product() {
    if (queue_) (void)device_.destroy_queue(queue_);
    if (matrices_) (void)device_.free(matrices_);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  // Computes on A, B and C, which follow each other in `elements`.
  Status run(Numbers& elements, const std::function<bool()>& gives_up) {
    const std::uint64_t bytes = 3 * square_bytes(kOrder);
    OB_ASSIGN_OR_RETURN(queue_, device_.create_queue());
    OB_ASSIGN_OR_RETURN(matrices_, device_.allocate(bytes));
    const Region all{.element_bytes = sizeof(double),
                     .rows = 3 * kElements,
                     .cols = 1,
                     .ld = 3 * kElements,
                     .word_bytes = sizeof(double)};
    const Layout host = Layout::bytes(elements.data(), bytes);
    Status status = device_.write(queue_, matrices_, all, host);
    if (status.ok()) status = submit_square_product(device_, queue_, matrices_, kOrder);
    if (status.ok()) status = device_.read(queue_, matrices_, all, host);
    const Status done = await(gives_up);  // in any case: the commands use the elements
    return status.ok() ? done : status;
  }

 private:
  Status await(const std::function<bool()>& gives_up) {
    for (;;) {
      const auto report = device_.await(queue_, true, std::chrono::steady_clock::now() + kLook);
      if (report) return report->status;
      if (gives_up()) (void)device_.abandon(queue_);  // what has begun must end all the same
    }
  }

  Device& device_;
  QueueId queue_;
  BufferId matrices_;
};

}  // namespace

SelfTest self_test(Device& device, const std::function<bool()>& gives_up) {
  std::mt19937_64 random(std::random_device{}());
  const Numbers factors = whole_numbers(random, 2 * kElements, -8, 8);
  Numbers elements = factors;
  elements.resize(3 * kElements, std::numeric_limits<double>::quiet_NaN());
  if (const Status status = Product(device).run(elements, gives_up); !status.ok()) {
    return failed(status);
  }
  // Without a zero, x finds each single wrong element.
  const Numbers x = whole_numbers(random, static_cast<std::size_t>(kOrder), 1, 1000);
  const double* const a = factors.data();
  if (times(&elements[2 * kElements], x) != times(a, times(a + kElements, x))) {
    return {Verdict::wrong, "a product of matrices is wrong"};
  }
  return {Verdict::right, {}};
}

}  // namespace ob
