#include "device/host_call.hpp"

#include <algorithm>
#include <utility>

#include "base/overlap.hpp"

namespace ob {
namespace {

// Names an argument for a message: "argument a of dgemm".
std::string place(const Descriptor& routine, std::size_t position) {
  return "argument " + std::string(routine.argument_names[position]) + " of " +
         std::string(routine.name);
}

// Libraries load elements whole: real numbers and integers must lie at multiples of their size.
std::uint64_t alignment(const Descriptor& routine, Kind kind) noexcept {
  switch (kind) {
    case Kind::matrix:
    case Kind::vector:
    case Kind::strided: return real_bytes(routine.precision);
    case Kind::character: return 1;
    default: return 8;
  }
}

Status resolve_operand(const MemoryTable& memory, const Operand& operand, int index,
                       HostCall& call) {
  const Descriptor& routine = *call.routine;
  Argument& argument = call.arguments[operand.argument];
  const DeviceOperand device = argument.device;
  HeldMemory buffer = memory.held(device.buffer);
  const bool exists = buffer.owner != nullptr;
  OB_RETURN_IF_ERROR(check_operand(routine, operand, device,
                                   exists ? std::optional(buffer.size_bytes) : std::nullopt));
  argument.host = {nullptr, device.ld};
  if (!exists) return {};
  argument.host.data = buffer.data + device.offset_bytes;
  call.operand_bytes +=
      packed_bytes(region_of(operand, routine.kinds[operand.argument], device.ld));
  call.buffers[index] = std::move(buffer.owner);
  return {};
}

// Libraries write to operands that they leave undefined, too.
bool changes(const Operand& operand) { return operand.written || operand.consumed; }

Region placed_region(const Descriptor& routine, const Operand& operand, const Argument* arguments) {
  const DeviceOperand& device = arguments[operand.argument].device;
  Region region = region_of(operand, routine.kinds[operand.argument], device.ld);
  region.offset_bytes = device.offset_bytes;
  return region;
}

// The bytes of an array of a transform, as a region of one column.
Region region_of(const BufferRef& ref, std::uint64_t size_bytes) {
  return {.offset_bytes = ref.offset_bytes, .rows = size_bytes, .cols = 1, .ld = size_bytes};
}

Status resolve_array(const MemoryTable& memory, const char* name, const BufferRef& ref,
                     std::uint64_t size_bytes, std::shared_ptr<const void>& buffer,
                     std::byte*& data) {
  HeldMemory found = memory.held(ref.buffer);
  if (found.owner == nullptr) {
    return {Code::invalid_argument, std::string("the ") + name +
                                        " of a transform is in no buffer (buffer " +
                                        std::to_string(ref.buffer.value) + " does not exist)"};
  }
  if (!fits(region_of(ref, size_bytes), found.size_bytes)) {
    return {Code::invalid_argument,
            std::string("the ") + name + " of a transform reaches beyond its buffer (" +
                std::to_string(size_bytes) + " bytes at byte " + std::to_string(ref.offset_bytes) +
                " of " + std::to_string(found.size_bytes) + ")"};
  }
  data = found.data + ref.offset_bytes;
  buffer = std::move(found.owner);
  return {};
}

Status check_plan_header(const FftPlan& plan) {
  const bool complex_precision = plan.precision == Precision::c || plan.precision == Precision::z;
  if (plan.rank <= FftPlan::kMaxRank && complex_precision && (plan.sign == -1 || plan.sign == 1) &&
      static_cast<std::size_t>(plan.kind) < kFftKinds) {
    return {};
  }
  return {Code::invalid_argument, "impossible transform plan (rank " + std::to_string(plan.rank) +
                                      ", sign " + std::to_string(plan.sign) +
                                      "; at most rank 7, sign -1 or 1, precision c or z)"};
}

Status check_plan_sizes(const FftPlan& plan) {
  const bool zero = std::any_of(plan.n.begin(), plan.n.begin() + plan.rank,
                                [](std::uint64_t n) { return n == 0; });
  // Libraries use signed numbers for strides and sizes in bytes.
  if (zero || plan.batch == 0 || std::max(input_bytes(plan), output_bytes(plan)) > INT64_MAX) {
    return {Code::invalid_argument,
            "impossible transform plan (a size is zero or beyond 2^63 bytes)"};
  }
  if (plan.kind != FftKind::c2c && plan.rank == 0) {
    return {Code::invalid_argument, "impossible transform plan (real transforms need a dimension)"};
  }
  return {};
}

Status check_real_kinds(const FftPlan& plan) {
  for (std::size_t i = 0; plan.kind == FftKind::r2r && i < plan.rank; ++i) {
    if (plan.real[i] > RealTransform::rodft11 ||
        (plan.real[i] == RealTransform::redft00 && plan.n[i] == 1)) {
      return {Code::invalid_argument,
              "impossible transform plan (an unknown real kind, or REDFT00 of one point)"};
    }
  }
  return {};
}

}  // namespace

Status check_legal(const Descriptor& routine, const Argument* arguments) {
  if (routine.kinds.size() > kMaxArguments) {
    return {Code::unsupported, std::string(routine.name) + " has too many arguments"};
  }
  // The largest n with n (n + 1) below 2^63: up to it the table's expressions do not overflow.
  constexpr std::int64_t kLargestDim = 3037000498;
  std::int64_t lds[kMaxArguments] = {};
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (has_ld(routine.kinds[i])) lds[i] = arguments[i].device.ld;
    const std::int64_t dim = routine.kinds[i] == Kind::dim ? arguments[i].dim : 0;
    if (dim < -kLargestDim || dim > kLargestDim) {
      return {Code::unsupported, place(routine, i) + " is " + std::to_string(dim) +
                                     " (beyond what a device can hold); cut the problem"};
    }
  }
  if (routine.legal(arguments, lds)) return {};
  return {Code::invalid_argument,
          "illegal arguments of " + std::string(routine.name) +
              " (a flag, dimension, leading dimension or increment that the reference"
              " implementation refuses)"};
}

Status check_operand(const Descriptor& routine, const Operand& operand,
                     const DeviceOperand& place_in, std::optional<std::uint64_t> buffer_bytes) {
  const Kind kind = routine.kinds[operand.argument];
  Region region = region_of(operand, kind, place_in.ld);
  region.offset_bytes = place_in.offset_bytes;
  if (!buffer_bytes) {
    if (extent_bytes(region) == 0) return {};
    return {Code::invalid_argument, place(routine, operand.argument) + " is in no buffer (buffer " +
                                        std::to_string(place_in.buffer.value) + " does not exist)"};
  }
  if (!fits(region, *buffer_bytes)) {
    return {Code::invalid_argument,
            place(routine, operand.argument) + " reaches beyond its buffer (" +
                std::to_string(region.rows) + " x " + std::to_string(region.cols) +
                " elements at byte " + std::to_string(region.offset_bytes) +
                ", leading dimension " + std::to_string(place_in.ld) + ", in " +
                std::to_string(*buffer_bytes) + " bytes)"};
  }
  if (place_in.offset_bytes % alignment(routine, kind) != 0) {
    return {Code::invalid_argument, place(routine, operand.argument) + " is not aligned (byte " +
                                        std::to_string(place_in.offset_bytes) + " of its buffer)"};
  }
  return {};
}

// A routine must write to no memory of another operand: it uses results of the one as indices of
// the other. Most operands have buffers of their own, so those are compared first.
Status check_overlaps(const Descriptor& routine, const Operands& operands,
                      const Argument* arguments) {
  for (int i = 1; i < operands.count; ++i) {
    const Operand& one = operands.items[i];
    for (int j = 0; j < i; ++j) {
      const Operand& other = operands.items[j];
      if (arguments[one.argument].device.buffer != arguments[other.argument].device.buffer)
        continue;
      if (!changes(one) && !changes(other)) continue;
      if (!overlap(placed_region(routine, one, arguments),
                   placed_region(routine, other, arguments))) {
        continue;
      }
      return {Code::invalid_argument, place(routine, one.argument) + " overlaps argument " +
                                          std::string(routine.argument_names[other.argument]) +
                                          " (the routine writes to one of them); copy it first"};
    }
  }
  return {};
}

Status resolve_call(const MemoryTable& memory, const Descriptor& routine, const Argument* arguments,
                    HostCall& call) {
  OB_RETURN_IF_ERROR(check_legal(routine, arguments));
  call.routine = &routine;
  call.operand_bytes = 0;
  const std::size_t count = routine.kinds.size();
  std::copy(arguments, arguments + count, call.arguments);
  const Operands operands = routine.operands(arguments);
  bool resolved[kMaxArguments] = {};
  for (int i = 0; i < operands.count; ++i) {
    OB_RETURN_IF_ERROR(resolve_operand(memory, operands.items[i], i, call));
    resolved[operands.items[i].argument] = true;
  }
  OB_RETURN_IF_ERROR(check_overlaps(routine, operands, arguments));
  // Operands that the table does not list are not referenced. They become null, because no device
  // id may reach a library as a pointer.
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_memory(routine.kinds[i]) || resolved[i]) continue;
    const std::int64_t ld = has_ld(routine.kinds[i]) ? arguments[i].device.ld : 0;
    call.arguments[i].host = {nullptr, ld};
  }
  return {};
}

Status check_plan(const FftPlan& plan) {
  OB_RETURN_IF_ERROR(check_plan_header(plan));
  OB_RETURN_IF_ERROR(check_plan_sizes(plan));
  return check_real_kinds(plan);
}

Status resolve_transform(const MemoryTable& memory, const FftPlan& plan, const BufferRef& input,
                         const BufferRef& output, HostTransform& transform) {
  const std::uint64_t read_bytes = input_bytes(plan);
  const std::uint64_t written_bytes = output_bytes(plan);
  HostTransform& t = transform;
  OB_RETURN_IF_ERROR(resolve_array(memory, "input", input, read_bytes, t.input_buffer, t.input));
  OB_RETURN_IF_ERROR(
      resolve_array(memory, "output", output, written_bytes, t.output_buffer, t.output));
  const std::uint64_t real_bytes = plan.precision == Precision::c ? 4 : 8;
  if ((input.offset_bytes | output.offset_bytes) % real_bytes != 0) {
    return {Code::invalid_argument, "an array of a transform is not aligned (bytes " +
                                        std::to_string(input.offset_bytes) + " and " +
                                        std::to_string(output.offset_bytes) + " of its buffers)"};
  }
  if (plan.in_place != (t.input == t.output)) {
    return {Code::invalid_argument, plan.in_place
                                        ? "input and output of an in-place plan differ"
                                        : "input and output of an out-of-place plan are equal"};
  }
  if (!plan.in_place && input.buffer == output.buffer &&
      overlap(region_of(input, read_bytes), region_of(output, written_bytes))) {
    return {Code::invalid_argument, "input and output of a transform overlap"};
  }
  return {};
}

}  // namespace ob
