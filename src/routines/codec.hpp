#pragma once
// Bodies of the call and make_plan commands: the ones whose content the one table decides.
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

/// @pre memory arguments hold Argument::device
void encode_call(const Descriptor& routine, const Argument* arguments, wire::Body& body) noexcept;

struct DecodedCall {
  const Descriptor* routine = nullptr;
  Argument arguments[kMaxArguments];
};
/// Errors: unsupported for an unknown routine (names its id); protocol_error if arguments do not
/// match its kinds. Whether the arguments are legal and inside their buffers is for the executor to
/// check.
Result<DecodedCall> decode_call(std::span<const std::byte> body);

void encode_plan(PlanId id, const FftPlan& plan, wire::Body& body) noexcept;
struct DecodedPlan {
  PlanId id;
  FftPlan plan;
};
/// Errors: protocol_error for impossible plans (rank, precision, sign, zero or overflowing sizes).
Result<DecodedPlan> decode_plan(std::span<const std::byte> body);

}  // namespace ob
