#include "offload/work.hpp"

#include <algorithm>
#include <bit>

#include "algorithms/factor/call.hpp"
#include "algorithms/fft/traffic.hpp"
#include "offload/call_cut.hpp"
#include "offload/factor_memory.hpp"
#include "routines/cost.hpp"

namespace ob::offload {
namespace {

// FNV-1a by words, with a final mix; never 0.
class Hash {
 public:
  Hash& add(std::uint64_t word) noexcept {
    value_ = (value_ ^ word) * 0x100000001b3ULL;
    value_ ^= value_ >> 29;
    return *this;
  }
  std::uint64_t value() const noexcept { return value_ | 1; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

// Bytes of panels that come back to the device, because it has not the memory for the matrix.
double brought_to_factor(const Descriptor& routine, const Argument* arguments,
                         std::uint64_t memory_bytes) {
  if (!algorithms::can_be_factored(routine)) return 0;
  if (fits_to_factor(routine, arguments, memory_bytes)) return 0;
  const algorithms::FactorShape shape = algorithms::factor_shape(routine, arguments);
  const std::uint64_t memory = memory_to_factor(memory_bytes);
  return algorithms::reloaded_bytes(shape, algorithms::default_block(shape, memory), memory);
}

// Adds the memory of the operands, and names that of the operands that the call reads. Those after
// the fourth have no names.
void add_memory(const Descriptor& routine, const Argument* arguments, policy::Work& work) {
  std::size_t count = 0;
  const Operands operands = routine.operands(arguments);
  for (const Operand& operand : operands.span()) {
    const HostOperand& host = arguments[operand.argument].host;
    const Region region = region_of(operand, routine.kinds[operand.argument], host.ld);
    const auto bytes = static_cast<double>(packed_bytes(region));
    work.memory_bytes += bytes * work.calls;
    if (!work.may_stay || !operand.read || count == work.operands.size()) continue;
    policy::OperandMemory& memory = work.operands[count++];
    memory.bytes = bytes;
    const bool is_replaced = operand.written || operand.consumed;
    memory.address = is_replaced ? 0 : std::bit_cast<std::uintptr_t>(host.data);
  }
}

// Names the call by its shape.
std::uint64_t shape_of(const Descriptor& routine, const Argument* arguments, std::size_t batch) {
  Hash shape;
  shape.add(batch);
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    const Argument& argument = arguments[i];
    switch (routine.kinds[i]) {
      case Kind::flag: shape.add(static_cast<unsigned char>(argument.flag)); break;
      case Kind::dim: shape.add(static_cast<std::uint64_t>(argument.dim)); break;
      case Kind::scalar:
      case Kind::real_scalar:  // C is not read if beta is 0
        shape.add(argument.scalar.re == 0 && argument.scalar.im == 0 ? 1 : 2);
        break;
      case Kind::matrix:
      case Kind::vector:
      case Kind::strided:
      case Kind::index_vector:
      case Kind::info:
      case Kind::character:
      case Kind::result: break;
    }
  }
  return shape.value();
}

}  // namespace

policy::Work work_of(const Descriptor& routine, const Argument* arguments, std::size_t batch,
                     std::uint64_t memory_bytes) noexcept {
  const auto calls = static_cast<double>(batch);
  const Cost cost = cost_of(routine, arguments);
  policy::Work work;
  work.calls = calls;
  work.flop = cost.flop * calls;
  work.bytes_to = cost.bytes_to * calls;
  work.bytes_from = cost.bytes_from * calls;
  work.may_stay = batch == 1;
  if (batch == 1) {
    if (const auto bytes = bytes_in_panels(routine, arguments)) {
      work.overlaps = true;
      work.bytes_to = *bytes;
    }
    const double brought = brought_to_factor(routine, arguments, memory_bytes);
    if (brought > 0) {
      work.overlaps = true;
      work.may_stay = false;
      work.bytes_to += brought;
    }
  }
  work.shape = shape_of(routine, arguments, batch);
  add_memory(routine, arguments, work);
  return work;
}

policy::Work work_of(const FftPlan& plan, std::uint64_t memory_bytes) noexcept {
  const auto [bytes_to, bytes_from] = algorithms::bytes_moved(plan, memory_bytes);
  policy::Work work;
  work.flop = flops(plan);
  work.bytes_to = bytes_to;
  work.bytes_from = bytes_from;
  const auto in = static_cast<double>(input_bytes(plan));
  const auto out = static_cast<double>(output_bytes(plan));
  work.memory_bytes = plan.in_place ? std::max(in, out) : in + out;
  Hash shape;
  shape.add(static_cast<std::uint64_t>(plan.sign + 2)).add(plan.batch);
  for (unsigned i = 0; i < plan.rank; ++i)
    shape.add(plan.n[i]).add(static_cast<std::uint64_t>(plan.real[i]));
  work.shape = shape.value();
  return work;
}

}  // namespace ob::offload
