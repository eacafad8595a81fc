#include "routines/codec.hpp"

#include <string>

#include "wire/fields.hpp"

namespace ob {
namespace {

using wire::Body;
using wire::Fields;

void put(Body& body, const DeviceOperand& operand) noexcept {
  body.u64(operand.buffer.value);
  body.u64(operand.offset_bytes);
}

void put(Body& body, Kind kind, const Argument& argument) noexcept {
  switch (kind) {
    case Kind::flag: body.u64(static_cast<unsigned char>(argument.flag)); return;
    case Kind::dim: body.u64(static_cast<std::uint64_t>(argument.dim)); return;
    case Kind::scalar:
      body.f64(argument.scalar.re);
      body.f64(argument.scalar.im);
      return;
    case Kind::real_scalar:
      body.f64(argument.scalar.re);
      body.f64(0);
      return;
    case Kind::matrix:
    case Kind::strided:
      put(body, argument.device);
      body.u64(static_cast<std::uint64_t>(argument.device.ld));
      return;
    case Kind::index_vector:
    case Kind::info:
    case Kind::vector:
    case Kind::character:
    case Kind::result: put(body, argument.device); return;
  }
}

Argument take_flag(Fields& fields, std::string_view name) {
  const std::uint64_t value = fields.u64(name);
  if (value > 0x7F)
    fields.refuse(name, "is " + std::to_string(value) + " (a flag is one ASCII letter)");
  Argument argument;
  argument.flag = static_cast<char>(value & 0x7F);
  return argument;
}

Argument take_scalar(Fields& fields, std::string_view name) {
  Argument argument;
  argument.scalar.re = fields.f64(name);
  argument.scalar.im = fields.f64(name);
  return argument;
}

Argument take_operand(Fields& fields, std::string_view name, bool has_ld) {
  DeviceOperand operand{};
  operand.buffer = fields.id<BufferId>(name);
  operand.offset_bytes = fields.u64(name);
  if (has_ld) operand.ld = fields.i64(name);
  Argument argument;
  argument.device = operand;
  return argument;
}

Argument take(Fields& fields, Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::flag: return take_flag(fields, name);
    case Kind::dim: {
      Argument argument;
      argument.dim = fields.i64(name);
      return argument;
    }
    case Kind::scalar: return take_scalar(fields, name);
    case Kind::real_scalar: {
      Argument argument;
      argument.scalar = {fields.f64(name), 0};
      if (fields.u64(name) != 0) fields.refuse(name, "has an imaginary part (it is real)");
      return argument;
    }
    case Kind::matrix:
    case Kind::strided: return take_operand(fields, name, true);
    case Kind::index_vector:
    case Kind::info:
    case Kind::vector:
    case Kind::character:
    case Kind::result: return take_operand(fields, name, false);
  }
  return {};
}

}  // namespace

void encode_call(const Descriptor& routine, const Argument* arguments, Body& body) noexcept {
  body.u32(routine.id);
  body.u32(static_cast<std::uint32_t>(routine.kinds.size()));
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) put(body, routine.kinds[i], arguments[i]);
}

Result<DecodedCall> decode_call(std::span<const std::byte> bytes) {
  Fields fields("call", bytes);
  const std::uint32_t id = fields.u32("routine");
  const std::uint32_t count = fields.u32("argument_count");
  if (!fields.ok()) return fields.finish();
  DecodedCall call;
  call.routine = routines::find(id);
  if (call.routine == nullptr) {
    return Status(Code::unsupported,
                  "call: routine id " + std::to_string(id) +
                      " is unknown (client and daemon were built from different tables) "
                      "use the same release on both sides");
  }
  const std::span<const Kind> kinds = call.routine->kinds;
  if (count != kinds.size() || count > kMaxArguments) {
    fields.refuse("argument_count", "is " + std::to_string(count) + " (" +
                                        std::string(call.routine->name) + " has " +
                                        std::to_string(kinds.size()) + ")");
    return fields.finish();
  }
  for (std::size_t i = 0; i < count; ++i) {
    call.arguments[i] = take(fields, kinds[i], call.routine->argument_names[i]);
  }
  if (Status status = fields.finish(); !status.ok())
    return status.in(std::string(call.routine->name));
  return call;
}

void encode_plan(PlanId id, const FftPlan& plan, Body& body) noexcept {
  body.u64(id.value);
  body.u8(static_cast<std::uint8_t>(plan.kind));
  body.u8(static_cast<std::uint8_t>(plan.precision));
  body.u8(static_cast<std::uint8_t>(plan.sign));
  body.u8(plan.in_place ? 1 : 0);
  body.u8(plan.rank);
  body.pad_to_8();
  body.u64(plan.batch);
  for (int i = 0; i < plan.rank && i < FftPlan::kMaxRank; ++i) body.u64(plan.n[i]);
  if (plan.kind != FftKind::r2r) return;
  for (int i = 0; i < plan.rank && i < FftPlan::kMaxRank; ++i)
    body.u64(static_cast<std::uint64_t>(plan.real[i]));
}

namespace {

void check_plan_kind(Fields& fields, const FftPlan& plan) {
  if (plan.precision != Precision::c && plan.precision != Precision::z) {
    fields.refuse("precision", "is real (a transform has precision c = 2 or z = 3)");
  }
  if (plan.sign != -1 && plan.sign != 1) fields.refuse("sign", "is neither -1 nor +1");
  if (plan.kind == FftKind::r2c && plan.sign != -1) fields.refuse("sign", "of r2c is not -1");
  if (plan.kind == FftKind::c2r && plan.sign != 1) fields.refuse("sign", "of c2r is not +1");
  if (plan.kind != FftKind::c2c && plan.rank == 0)
    fields.refuse("rank", "of a real transform is 0");
}

void check_plan_sizes(Fields& fields, const FftPlan& plan) {
  if (plan.batch == 0) fields.refuse("batch", "is 0 (nothing to transform)");
  for (int i = 0; i < plan.rank; ++i) {
    if (plan.n[i] == 0) fields.refuse("n", "has a dimension of size 0");
  }
  // At most half of the address space: then sums of offsets cannot overflow.
  if (input_bytes(plan) > INT64_MAX || output_bytes(plan) > INT64_MAX) {
    fields.refuse("n", "and batch give more bytes than memory can have");
  }
}

}  // namespace

Result<DecodedPlan> decode_plan(std::span<const std::byte> bytes) {
  Fields fields("make_plan", bytes);
  DecodedPlan decoded;
  FftPlan& plan = decoded.plan;
  decoded.id = fields.id<PlanId>("plan");
  plan.kind = fields.up_to("kind", FftKind::r2r);
  plan.precision = fields.up_to("precision", Precision::z);
  plan.sign = static_cast<std::int8_t>(fields.u8("sign"));
  plan.in_place = fields.flag("in_place");
  plan.rank = fields.up_to("rank", static_cast<std::uint8_t>(FftPlan::kMaxRank));
  fields.padding();
  plan.batch = fields.u64("batch");
  for (int i = 0; i < plan.rank; ++i) plan.n[i] = fields.u64("n");
  for (int i = 0; plan.kind == FftKind::r2r && i < plan.rank; ++i) {
    const std::uint64_t real = fields.u64("real");
    if (real > static_cast<std::uint64_t>(RealTransform::rodft11))
      fields.refuse("real", "is " + std::to_string(real) + " (kinds are 0 to 10)");
    plan.real[i] = static_cast<RealTransform>(real & 0xF);
  }
  if (fields.ok()) {
    check_plan_kind(fields, plan);
    check_plan_sizes(fields, plan);
  }
  OB_RETURN_IF_ERROR(fields.finish());
  return decoded;
}

}  // namespace ob
