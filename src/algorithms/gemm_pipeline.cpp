#include "algorithms/gemm_pipeline.hpp"

#include <algorithm>
#include <complex>
#include <deque>
#include <optional>
#include <string>

#include "algorithms/device_buffer.hpp"
#include "algorithms/host_scratch.hpp"
#include "device/stopwatch.hpp"

namespace ob::algorithms {
namespace {

// Where gemm's arguments are: ?GEMM(TRANSA, TRANSB, M, N, K, ALPHA, A, LDA, B, LDB, BETA, C, LDC),
// leading dimensions with their matrices.
enum Position { kTransA, kTransB, kM, kN, kK, kAlpha, kA, kB, kBeta, kC };

// op(A) or op(B): blocks are counted in the transposed matrix, memory in the stored one.
struct Factor {
  const HostOperand& host;
  bool transposed;
  std::uint32_t element_bytes;
  std::uint8_t word_bytes;

  Block stored(const Block& block) const {
    return transposed ? Block{block.col, block.row, block.cols, block.rows} : block;
  }
  // In the program's memory, and by itself in a buffer.
  PlacedOperand placed(const Block& block) const {
    const Block s = stored(block);
    const auto ld = static_cast<std::uint64_t>(host.ld);
    PlacedOperand operand;
    operand.data = static_cast<std::byte*>(host.data) + (s.col * ld + s.row) * element_bytes;
    operand.there = {0, element_bytes, Triangle::full, s.rows, s.cols, s.rows, word_bytes};
    operand.home = operand.there;
    if (s.cols > 1) operand.home.ld = ld;
    operand.read = true;
    return operand;
  }
  // A row of op(X) inside a block that lies densely in a buffer.
  std::uint64_t offset_bytes(const Block& block, std::uint64_t row) const {
    const Block s = stored(block);
    return (transposed ? row * s.rows : row) * element_bytes;
  }
};

// C = beta C + product, in the memory of the program.
template <class T>
void add_scaled(const HostOperand& c, const std::byte* product, std::uint64_t rows,
                std::uint64_t cols, T beta) {
  const T* from = reinterpret_cast<const T*>(product);
  for (std::uint64_t j = 0; j < cols; ++j, from += rows) {
    T* to = static_cast<T*>(c.data) + j * static_cast<std::uint64_t>(c.ld);
    for (std::uint64_t i = 0; i < rows; ++i) to[i] = beta * to[i] + from[i];
  }
}

class Product {
 public:
  Product(Device& device, QueueId queue, const Descriptor& gemm, const Argument* arguments,
          const ProductSchedule& schedule, Residency* residency, Stages& stages)
      : device_(device),
        queue_(queue),
        gemm_(gemm),
        arguments_(arguments),
        schedule_(schedule),
        stages_(stages),
        shape_(product_shape(gemm, arguments)),
        a_(factor(kA, kTransA)),
        b_(factor(kB, kTransB)) {
    if (residency != nullptr) resident_.emplace(*residency);
  }

  Status run() {
    const Stopwatch watch;
    const Status status = submit();
    stages_.to_server_ns = watch.elapsed_ns();
    if (!status.ok()) return abandon(status);
    const QueueReport back = device_.synchronize(back_);
    const QueueReport report = device_.synchronize(queue_);
    OB_RETURN_IF_ERROR(report.status);
    OB_RETURN_IF_ERROR(back.status);
    if (scratch_) add_all();
    if (resident_) resident_->succeeded();
    const std::uint64_t after_ns = watch.elapsed_ns() - stages_.to_server_ns;
    stages_.compute_ns += report.compute_ns;
    stages_.from_server_ns = after_ns - std::min(after_ns, report.compute_ns);
    return {};
  }

  ~Product() {
    // Nothing is under way any more.
    try {
      if (event_) (void)device_.destroy_event(event_);
      if (back_) (void)device_.destroy_queue(back_);
    } catch (...) {  // no memory to tell the device by: they go with the connection
    }
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

 private:
  // A block on the device.
  struct OnDevice {
    BufferId buffer;
    std::optional<DeviceBuffer> own;  // for this call only
  };

  Factor factor(Position matrix, Position flag) const {
    return {arguments_[matrix].host, arguments_[flag].flag != 'N' && arguments_[flag].flag != 'n',
            element_bytes(gemm_.precision), static_cast<std::uint8_t>(real_bytes(gemm_.precision))};
  }

  // Says at once, not after the operands travelled, that they are too large for the device.
  Status check_room() const {
    const double elements = static_cast<double>(shape_.m) * static_cast<double>(shape_.k) +
                            static_cast<double>(shape_.k) * static_cast<double>(shape_.n) +
                            static_cast<double>(shape_.m) * static_cast<double>(shape_.n);
    const double needed = elements * shape_.element_bytes;
    const auto there = static_cast<double>(device_.info().memory_bytes);
    return needed <= there ? Status() : no_room(device_, static_cast<std::uint64_t>(needed));
  }

  Status submit() {
    OB_RETURN_IF_ERROR(check_room());
    OB_ASSIGN_OR_RETURN(back_, device_.create_queue());
    OB_ASSIGN_OR_RETURN(event_, device_.create_event());
    a_blocks_.resize(schedule_.a.size());
    b_blocks_.resize(schedule_.b.size());
    OB_RETURN_IF_ERROR(place_c());
    for (const ProductStep& step : schedule_.steps) {
      switch (step.kind) {
        case ProductStep::Kind::send_a:
          OB_RETURN_IF_ERROR(send(a_, schedule_.a[step.a], a_blocks_[step.a]));
          break;
        case ProductStep::Kind::send_b:
          OB_RETURN_IF_ERROR(send(b_, schedule_.b[step.b], b_blocks_[step.b]));
          break;
        case ProductStep::Kind::multiply: OB_RETURN_IF_ERROR(multiply(step)); break;
        case ProductStep::Kind::fetch: OB_RETURN_IF_ERROR(fetch(step.c)); break;
      }
    }
    return {};
  }

  // After a failure nothing may land any more.
  Status abandon(const Status& failure) {
    const Status first = settle(device_, queue_, failure);
    return back_ ? settle(device_, back_, first) : first;
  }

  Status place(const PlacedOperand& operand, OnDevice& block) {
    if (resident_) {
      OB_ASSIGN_OR_RETURN(const auto placement, resident_->place(queue_, operand));
      if (placement) {
        block.buffer = placement->buffer;
        stages_.bytes_to += placement->sent_bytes;
        stages_.bytes_kept += placement->kept_bytes;
        stages_.compute_ns += placement->compute_ns;
        return {};
      }
    }
    OB_RETURN_IF_ERROR(block.own.emplace(device_).allocate(extent_bytes(operand.there)));
    block.buffer = block.own->id();
    if (!operand.read) return {};
    const Layout home = Layout::matrix(operand.data, operand.home);
    stages_.bytes_to += home.total_bytes();
    return device_.write(queue_, block.buffer, operand.there, home);
  }

  Status send(const Factor& factor, const Block& block, OnDevice& on_device) {
    return place(factor.placed(block), on_device);
  }

  bool adds_c() const {
    const Complex beta = arguments_[kBeta].scalar;
    return beta.re != 0 || beta.im != 0;
  }

  // The product alone stays on the device where it is all of C; else nobody could use it there.
  Status place_c() {
    const HostOperand& host = arguments_[kC].host;
    PlacedOperand c;
    c.data = static_cast<std::byte*>(host.data);
    c.there = {0,        shape_.element_bytes, Triangle::full, shape_.m, shape_.n,
               shape_.m, a_.word_bytes};
    c.home = c.there;
    if (shape_.n > 1) c.home.ld = static_cast<std::uint64_t>(host.ld);
    c.written = true;
    if (!adds_c()) return place(c, c_block_);
    OB_RETURN_IF_ERROR(c_block_.own.emplace(device_).allocate(extent_bytes(c.there)));
    c_block_.buffer = c_block_.own->id();
    scratch_.emplace(packed_bytes(c.there));
    if (scratch_->data() != nullptr) return {};
    return {Code::out_of_memory, "no memory for " + std::to_string(packed_bytes(c.there)) +
                                     " bytes of a product on this side"};
  }

  std::uint64_t c_offset(const Block& c) const {
    return (c.col * shape_.m + c.row) * shape_.element_bytes;
  }

  Status multiply(const ProductStep& step) {
    Argument arguments[kMaxArguments];
    std::copy_n(arguments_, gemm_.kinds.size(), arguments);
    const Block& a = schedule_.a[step.a];
    const Block& b = schedule_.b[step.b];
    arguments[kM].dim = static_cast<std::int64_t>(step.c.rows);
    arguments[kN].dim = static_cast<std::int64_t>(step.c.cols);
    arguments[kK].dim = static_cast<std::int64_t>(a.cols);
    arguments[kBeta].scalar = {step.adds ? 1.0 : 0.0, 0};
    arguments[kA].device = {a_blocks_[step.a].buffer, a_.offset_bytes(a, step.c.row - a.row),
                            ld(a_, a)};
    arguments[kB].device = {b_blocks_[step.b].buffer, 0, ld(b_, b)};
    arguments[kC].device = {c_block_.buffer, c_offset(step.c),
                            static_cast<std::int64_t>(std::max<std::uint64_t>(1, shape_.m))};
    return device_.call(queue_, gemm_, arguments);
  }

  static std::int64_t ld(const Factor& factor, const Block& block) {
    return static_cast<std::int64_t>(std::max<std::uint64_t>(1, factor.stored(block).rows));
  }

  // On a queue of its own, so that products do not wait for results to be on their way.
  Status fetch(const Block& c) {
    OB_RETURN_IF_ERROR(device_.record(queue_, event_));
    OB_RETURN_IF_ERROR(device_.wait(back_, event_));
    const std::uint32_t bytes = shape_.element_bytes;
    const Region there{c_offset(c), bytes, Triangle::full, c.rows, c.cols, shape_.m, a_.word_bytes};
    Region home = there;
    if (!scratch_) {
      const auto ld = static_cast<std::uint64_t>(arguments_[kC].host.ld);
      home.ld = c.cols > 1 ? ld : std::max<std::uint64_t>(1, c.rows);
      home.offset_bytes = (c.col * ld + c.row) * bytes;
    }
    void* const base = scratch_ ? scratch_->data() : arguments_[kC].host.data;
    const Layout landing = Layout::matrix(base, home);
    stages_.bytes_from += landing.total_bytes();
    return device_.read(back_, c_block_.buffer, there, landing);
  }

  void add_all() {
    const HostOperand& c = arguments_[kC].host;
    const Complex beta = arguments_[kBeta].scalar;
    const auto add = [&](auto scale) {
      add_scaled(c, scratch_->data(), shape_.m, shape_.n, scale);
    };
    switch (gemm_.precision) {
      case Precision::s: add(static_cast<float>(beta.re)); break;
      case Precision::d: add(beta.re); break;
      case Precision::c:
        add(std::complex<float>(static_cast<float>(beta.re), static_cast<float>(beta.im)));
        break;
      case Precision::z: add(std::complex<double>(beta.re, beta.im)); break;
    }
  }

  Device& device_;
  const QueueId queue_;
  const Descriptor& gemm_;
  const Argument* const arguments_;
  const ProductSchedule& schedule_;
  Stages& stages_;
  const ProductShape shape_;
  const Factor a_;
  const Factor b_;
  QueueId back_;
  EventId event_;
  std::optional<HostScratch> scratch_;  // the product, where C is added to it
  std::deque<OnDevice> a_blocks_;
  std::deque<OnDevice> b_blocks_;
  OnDevice c_block_;
  std::optional<Residency::Call> resident_;
};

}  // namespace

ProductShape product_shape(const Descriptor& gemm, const Argument* arguments) {
  ProductShape shape;
  shape.m = static_cast<std::uint64_t>(arguments[kM].dim);
  shape.n = static_cast<std::uint64_t>(arguments[kN].dim);
  shape.k = static_cast<std::uint64_t>(arguments[kK].dim);
  shape.element_bytes = element_bytes(gemm.precision);
  shape.flop_per_term = gemm.precision == Precision::c || gemm.precision == Precision::z ? 8 : 2;
  return shape;
}

Status offload_product(Device& device, QueueId queue, const Descriptor& gemm,
                       const Argument* arguments, const ProductSchedule& schedule,
                       Residency* residency, Stages& stages) {
  return Product(device, queue, gemm, arguments, schedule, residency, stages).run();
}

}  // namespace ob::algorithms
