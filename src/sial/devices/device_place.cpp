#include "sial/devices/device_place.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/layout.hpp"
#include "device/permute/permute.hpp"

namespace ob::sial {
namespace {

// The queue of the device never holds more contractions than this.
constexpr std::uint64_t kMostSubmitted = 256;
// A hint of the program is followed if the device takes no more than this many times longer.
constexpr double kHintedFactor = 1.25;

const Descriptor& dgemm() {
  static const Descriptor& routine = *routines::find("dgemm");
  return routine;
}

const Descriptor& dpermute() {
  static const Descriptor& routine = *routines::find("dpermute");
  return routine;
}

// The places of dgemm's arguments, found once.
struct DgemmPlaces {
  std::size_t transa = 0, transb = 0, m = 0, n = 0, k = 0, alpha = 0, a = 0, b = 0, beta = 0, c = 0;

  DgemmPlaces() {
    const auto place = [](std::string_view name) {
      const auto& names = dgemm().argument_names;
      return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    };
    transa = place("transa"), transb = place("transb");
    m = place("m"), n = place("n"), k = place("k");
    alpha = place("alpha"), a = place("a"), b = place("b"), beta = place("beta"), c = place("c");
  }
};

struct DeviceMatrix {
  BufferId buffer;
  std::int64_t offset = 0, ld = 1;
};

// Submits C = alpha op(A) op(B) + beta C.
Status submit(Device& device, QueueId queue, const ContractionProduct& product, double alpha,
              double beta, const DeviceMatrix& a, const DeviceMatrix& b, const DeviceMatrix& c) {
  static const DgemmPlaces at;
  Argument arguments[kMaxArguments];
  const auto matrix = [](const DeviceMatrix& of) {
    return ::ob::DeviceOperand{of.buffer, static_cast<std::uint64_t>(of.offset) * sizeof(double),
                               of.ld};
  };
  arguments[at.transa].flag = product.transa;
  arguments[at.transb].flag = product.transb;
  arguments[at.m].dim = product.m;
  arguments[at.n].dim = product.n;
  arguments[at.k].dim = product.k;
  arguments[at.alpha].scalar = {alpha, 0};
  arguments[at.beta].scalar = {beta, 0};
  arguments[at.a].device = matrix(a);
  arguments[at.b].device = matrix(b);
  arguments[at.c].device = matrix(c);
  return device.call(queue, dgemm(), arguments);
}

// Returns the bytes that a permutation reads and writes per second at this order of contents: the
// time on the host, and then to the device.
double by_host_bytes(const PlaceRates& rates) {
  return 2 / (2 / rates.host_copy_bytes + 1 / rates.to_device_bytes);
}

// True if the device permutes, and no slower than the host together with an upload.
bool permutes_there(const PlaceRates& rates) {
  return rates.device_copy_bytes >= by_host_bytes(rates);
}

double elapsed_s(const std::function<Status()>& work, Status& status) {
  const auto begin = std::chrono::steady_clock::now();
  const Status done = work();
  if (status.ok()) status = done;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Returns the bytes that a permutation on the device reads and writes per second; 0 if it does not
// permute, as one of an older release.
double measure_permutation(Device& device, QueueId queue, std::int64_t order, BufferId buffer,
                           std::uint64_t to_bytes) {
  const CallArguments call =
      permutation(2, {order, order}, {1, order}, {order, 1}, {buffer, 0, 0}, {buffer, to_bytes, 0});
  const auto permute = [&](int times) -> Status {
    for (int i = 0; i < times; ++i) {
      OB_RETURN_IF_ERROR(device.call(queue, dpermute(), call.items));
    }
    return device.synchronize(queue).status;
  };
  Status status;
  double one_s = 1e9;
  double nine_s = 1e9;
  for (int i = 0; i < 3; ++i) {
    one_s = std::min(one_s, elapsed_s([&] { return permute(1); }, status));
    if (!status.ok()) return 0;
    nine_s = std::min(nine_s, elapsed_s([&] { return permute(9); }, status));
  }
  if (!status.ok()) return 0;
  const double moved_bytes = 2.0 * 8 * static_cast<double>(order * order) * sizeof(double);
  return moved_bytes / std::max({nine_s - one_s, nine_s / 10, 1e-9});
}

// Returns the strides, per dimension of a block with strides `own`, of the dense copy that a layout
// gives to it. `own_first`: axes are (operand, copy), else (copy, operand).
Strides strides_of_copy(const Shape& shape, const Strides& own, const OperandLayout& layout,
                        bool own_first) {
  Strides strides = own;
  for (unsigned d = 0; d < shape.rank; ++d) {
    if (shape.extents[d] == 1) continue;
    for (unsigned i = 0; i < layout.axes.rank; ++i) {
      const Axis<2>& axis = layout.axes.axis[i];
      const std::int64_t from = axis.strides[own_first ? 0 : 1];
      // An axis is a group of neighbouring dimensions.
      if (own[d] < from || own[d] >= from * axis.extent) continue;
      strides[d] = axis.strides[own_first ? 1 : 0] * (own[d] / from);
    }
  }
  return strides;
}

}  // namespace

Result<PlaceRates> measure_rates(Device& device, Gemm& host) {
  constexpr std::int64_t kOrder = 256;
  constexpr std::uint64_t kBytes = kOrder * kOrder * sizeof(double);
  constexpr std::uint64_t kTransfer = 4 * kBytes;
  const double flops = 2.0 * kOrder * kOrder * kOrder;
  std::vector<double> elements(kTransfer / sizeof(double), 1.0);
  PlaceRates rates;
  Status status;
  const auto best_of_3 = [&](const std::function<Status()>& work) {
    double best = 1e9;
    for (int i = 0; i < 3 && status.ok(); ++i) best = std::min(best, elapsed_s(work, status));
    return std::max(best, 1e-9);
  };
  rates.host_flops = flops / best_of_3([&]() -> Status {
                       double* const a = elements.data();
                       host.run('N', 'N', kOrder, kOrder, kOrder, 1, a, kOrder, a + kOrder * kOrder,
                                kOrder, 0, a + 2 * kOrder * kOrder, kOrder);
                       return {};
                     });
  OB_ASSIGN_OR_RETURN(const QueueId queue, device.create_queue());
  OB_ASSIGN_OR_RETURN(const BufferId buffer, device.allocate(kTransfer));
  const auto region = [](std::uint64_t bytes) {
    return ::ob::Region{.element_bytes = sizeof(double),
                        .rows = bytes / sizeof(double),
                        .cols = 1,
                        .ld = bytes / sizeof(double),
                        .word_bytes = sizeof(double)};
  };
  const auto write = [&](std::uint64_t bytes) -> Status {
    OB_RETURN_IF_ERROR(
        device.write(queue, buffer, region(bytes), ::ob::Layout::bytes(elements.data(), bytes)));
    return device.synchronize(queue).status;
  };
  const auto read = [&](std::uint64_t bytes) -> Status {
    OB_RETURN_IF_ERROR(
        device.read(queue, buffer, region(bytes), ::ob::Layout::bytes(elements.data(), bytes)));
    return device.synchronize(queue).status;
  };
  const ContractionProduct square{'N', 'N', kOrder, kOrder, kOrder};
  const auto multiply = [&](int times) -> Status {
    for (int i = 0; i < times; ++i) {
      OB_RETURN_IF_ERROR(submit(device, queue, square, 1, 0, {buffer, 0, kOrder},
                                {buffer, kOrder * kOrder, kOrder},
                                {buffer, 2 * kOrder * kOrder, kOrder}));
    }
    return device.synchronize(queue).status;
  };
  const double start_s = best_of_3([&] { return write(sizeof(double)); });
  const double write_s = best_of_3([&] { return write(kTransfer); });
  rates.request_s = best_of_3([&] { return read(sizeof(double)); });
  const double read_s = best_of_3([&] { return read(kTransfer); });
  const double one_s = best_of_3([&] { return multiply(1); });
  const double four_s = best_of_3([&] { return multiply(4); });
  if (status.ok()) {
    rates.device_copy_bytes = measure_permutation(device, queue, kOrder, buffer, kBytes);
  }
  (void)device.free(buffer);
  (void)device.destroy_queue(queue);
  if (!status.ok()) return status;
  const auto transfer = static_cast<double>(kTransfer);
  rates.to_device_bytes = transfer / std::max(write_s - start_s, write_s / 10);
  rates.to_host_bytes = transfer / std::max(read_s - rates.request_s, read_s / 10);
  rates.device_flops = 3 * flops / std::max(four_s - one_s, four_s / 10);
  rates.device_flops = std::max(rates.device_flops, device.info().gflops_double * 1e9);
  return rates;
}

Result<std::unique_ptr<DevicePlace>> DevicePlace::open(std::shared_ptr<Device> device,
                                                       const PlaceRates& rates,
                                                       const DevicePlaceOptions& options,
                                                       Gemm& host) {
  OB_ASSIGN_OR_RETURN(
      auto memory, DeviceMemory::open(std::move(device), options.memory_bytes, options.held_bytes,
                                      permutes_there(rates), host));
  return std::unique_ptr<DevicePlace>(new DevicePlace(std::move(memory), rates, options));
}

struct DevicePlace::Statement {
  Block* target = nullptr;
  std::array<LabelledBlock, 3> operands;  // D, B1, B2
  Assign how = Assign::set;
  const DevicePlan* plan = nullptr;

  bool updates() const noexcept { return how != Assign::set; }
  const Block& block(std::size_t i) const noexcept { return *operands[i].block; }
};

bool DevicePlace::contract(Block& target, const LabelledBlock& d, const LabelledBlock& b1,
                           const LabelledBlock& b2, Assign how, std::uint64_t repeats, bool hinted,
                           DevicePlan& plan) {
  if (options_.place == Place::host || !memory_->lost().ok()) return false;
  if (options_.place == Place::hints && !hinted) return false;
  if (&target == b1.block.get() || &target == b2.block.get()) return false;
  Statement statement{&target, {d, b1, b2}, how, &plan};
  make_plan(statement, plan);
  if (!prefers(statement, repeats, hinted)) return false;
  const bool ran = run(statement).ok();
  memory_->unpin();
  return ran;
}

// Makes the plan of a statement, unless it has the right one.
void DevicePlace::make_plan(const Statement& statement, DevicePlan& plan) {
  // The copies that are there already decide which layout permutes least.
  std::array<Strides, 3> strides{};
  bool same = plan.made;
  for (std::size_t i = 0; i < 3; ++i) {
    const Block& block = statement.block(i);
    const DeviceCopies& copies = memory_->copies_of(block);
    const bool there = copies.any() && (i != kD || statement.updates());
    strides[i] = there ? copies.strides() : dense_strides(block.shape());
    same = same && plan.shapes[i] == block.shape() &&
           same_order(block.shape(), plan.strides[i], strides[i]);
  }
  if (same) return;
  plan.made = true;
  plan.strides = strides;
  const auto view = [&](std::size_t i) {
    return view_of(statement.operands[i], strides[i], nullptr);
  };
  const ConstView shape = view(kD);
  const View to{nullptr, shape.rank, shape.extents, shape.strides, shape.labels, shape.simple};
  // If the device does not permute, the host does, and the permuted block travels.
  const double copy_bytes = memory_->permutes() ? rates_.device_copy_bytes : by_host_bytes(rates_);
  plan.layout = ContractionLayout::choose(
      ContractionLabels::of(to, view(kB1), view(kB2)),
      {rates_.device_flops, copy_bytes, rates_.command_s * 10, rates_.command_s});
  for (std::size_t i = 0; i < 3; ++i) {
    const OperandLayout& layout = plan.layout.operands[i];
    plan.shapes[i] = statement.block(i).shape();
    plan.wanted[i] =
        layout.permuted ? strides_of_copy(plan.shapes[i], strides[i], layout, i == kD) : strides[i];
  }
}

bool DevicePlace::prefers(Statement& statement, std::uint64_t repeats, bool hinted) {
  if (options_.place != Place::automatic) return true;
  const ContractionLayout& layout = statement.plan->layout;
  const double flops = 2 * static_cast<double>(layout.m) * static_cast<double>(layout.n) *
                       static_cast<double>(layout.k) *
                       static_cast<double>(layout.outer_extents[0] * layout.outer_extents[1]);
  double moved_elements = 0;
  double host_s = 0;
  double device_s = flops / rates_.device_flops + 4 * rates_.command_s;
  std::array<double, 3> upload_s{};
  for (const ContractionOperand i : {kD, kB1, kB2}) {
    const Block& block = statement.block(i);
    const DeviceCopies& copies = memory_->copies_of(block);
    const auto bytes = static_cast<double>(block.bytes());
    moved_elements += static_cast<double>(block.elements());
    const bool read = i != kD || statement.updates();
    if (read && !copies.host_is_latest()) {
      host_s += rates_.request_s + bytes / rates_.to_host_bytes;
    }
    const bool permuted = layout.operands[i].permuted;
    const bool there = copies.any() && (!permuted || memory_->permutes());
    if (read && permuted && memory_->permutes()) device_s += 2 * bytes / rates_.device_copy_bytes;
    if (read && !there && !block.value()) upload_s[i] = bytes / rates_.to_device_bytes;
    if (i != kD) continue;
    // The result goes back once for all statements that add to it.
    const auto shared = static_cast<double>(std::max<std::uint64_t>(repeats, 1));
    if (copies.host_is_latest()) {
      device_s += (rates_.request_s + bytes / rates_.to_host_bytes + upload_s[kD]) / shared;
    }
    upload_s[kD] = 0;
  }
  host_s += flops / rates_.host_flops + 8 * moved_elements / rates_.host_copy_bytes;
  // An operand that would have saved more time than its upload takes is worth the upload: as for
  // hired skis, that never takes more than twice the time of the best choice.
  const double saved = host_s - device_s;
  double uploads_s = 0;
  for (const ContractionOperand i : {kB1, kB2}) {
    if (upload_s[i] == 0) continue;
    DeviceCopies& copies = memory_->copies_of(statement.block(i));
    if (saved > 0) copies.missed_s += saved;
    uploads_s += std::max(0.0, upload_s[i] - copies.missed_s);
  }
  return device_s + uploads_s <= host_s * (hinted ? kHintedFactor : 1);
}

Status DevicePlace::run(Statement& statement) {
  Device& device = memory_->device();
  std::array<BufferId, 3> buffers{};
  for (const ContractionOperand i : {kB1, kB2}) {
    OB_ASSIGN_OR_RETURN(buffers[i],
                        memory_->read(statement.operands[i].block, statement.plan->wanted[i]));
  }
  OB_ASSIGN_OR_RETURN(buffers[kD], memory_->write(*statement.target, statement.plan->wanted[kD],
                                                  statement.updates()));
  OB_RETURN_IF_ERROR(memory_->await_uploads());
  PastContraction past{statement.operands[kD].labels, statement.operands[kD].simple,
                       statement.operands[kB1], statement.operands[kB2], statement.how};
  const double alpha = statement.how == Assign::subtract ? -1 : 1;
  const double beta = statement.updates() ? 1 : 0;
  Status status;
  statement.plan->layout.for_each_product([&](const ContractionProduct& product) {
    if (!status.ok()) return;
    status = submit(device, memory_->compute_queue(), product, alpha, product.later ? 1 : beta,
                    {buffers[product.a], product.a_offset, product.lda},
                    {buffers[product.b], product.b_offset, product.ldb},
                    {buffers[kD], product.c_offset, product.ldc});
  });
  // From here on a device that fails is a device that is lost: the host repeats the contraction.
  if (!status.ok()) memory_->lose(status);
  memory_->wrote(*statement.target, buffers[kD], statement.plan->wanted[kD], std::move(past));
  if (++since_wait_ >= kMostSubmitted) {
    since_wait_ = 0;
    memory_->await_compute();
  }
  return {};
}

}  // namespace ob::sial
