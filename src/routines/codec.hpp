#pragma once
// Bodies of the call and make_plan commands, whose contents depend on the routine table.
//
// call: u32 routine id, u32 argument count, then per argument by its Kind: flag u64; dim i64;
// scalar and real_scalar 2 x f64; matrix {u64 buffer, u64 offset_bytes, i64 ld}; strided the same
// with its increment; the other operands {u64 buffer, u64 offset_bytes}.

#include "base/ids.hpp"
#include "base/status.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"
#include "wire/codec.hpp"

namespace ob {

/// Encodes a call.
/// @param arguments memory operands as Argument::device
void encode_call(const Descriptor& routine, const Argument* arguments, wire::Body& body) noexcept;

struct DecodedCall {
  const Descriptor* routine = nullptr;
  Argument arguments[kMaxArguments];
};
/// Decodes a call. The executor checks later that the arguments are legal and inside their buffers.
/// Errors: unsupported for an unknown routine (names its id); protocol_error if the arguments do
///         not match its kinds
Result<DecodedCall> decode_call(std::span<const std::byte> body);

void encode_plan(PlanId id, const FftPlan& plan, wire::Body& body) noexcept;
struct DecodedPlan {
  PlanId id;
  FftPlan plan;
};
/// Decodes a plan.
/// Errors: protocol_error for impossible plans (rank, precision, sign, zero or overflowing sizes)
Result<DecodedPlan> decode_plan(std::span<const std::byte> body);

}  // namespace ob
