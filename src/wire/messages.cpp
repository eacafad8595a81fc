// The bodies of docs/wire.md, in the order of wire/message.hpp; those of what goes from device to
// device are in peer_messages.cpp.

#include <cmath>
#include <string>

#include "wire/body_parts.hpp"

namespace ob::wire {

template <>
void encode(const Hello& message, Body& body) noexcept {
  body.u32(kMagic);
  body.u16(message.version);
  body.u8(message.big_endian);
  body.u8(message.extra_streams);
  put(body, message.join);
  body.u32(message.device);
  body.text(message.client, kMaxNameBytes);
  body.text(message.identity, kMaxTextBytes);
}

template <>
Result<Hello> decode(std::span<const std::byte> bytes) {
  Fields fields("hello", bytes);
  Hello message;
  if (!take_version(fields, message.version)) return only_version<Hello>(fields, message.version);
  message.big_endian = fields.flag("big_endian");
  message.extra_streams = fields.u8("extra_streams");
  message.join = take_token(fields, "join");
  message.device = fields.u32("device");
  message.client = fields.text("client", kMaxNameBytes);
  message.identity = fields.text("identity", kMaxTextBytes);
  return finish(fields, message);
}

template <>
void encode(const Welcome& message, Body& body) noexcept {
  body.u32(kMagic);
  body.u16(message.version);
  body.u8(message.big_endian);
  body.u8(message.host_visible);
  put(body, message.token);
  body.u32(message.device);
  body.u32(message.devices);
  body.u64(message.memory_bytes);
  body.f64(message.gflops_double);
  body.u8(message.accuracies);
  body.pad_to_8();
  body.text(message.backend, kMaxNameBytes);
  body.text(message.description, kMaxTextBytes);
}

template <>
Result<Welcome> decode(std::span<const std::byte> bytes) {
  Fields fields("welcome", bytes);
  Welcome message;
  if (!take_version(fields, message.version)) return only_version<Welcome>(fields, message.version);
  message.big_endian = fields.flag("big_endian");
  message.host_visible = fields.flag("host_visible");
  message.token = take_token(fields, "token");
  message.device = fields.u32("device");
  message.devices = fields.u32("devices");
  message.memory_bytes = fields.u64("memory_bytes");
  message.gflops_double = fields.f64("gflops_double");
  if (!std::isfinite(message.gflops_double) || message.gflops_double < 0) {
    fields.refuse("gflops_double", "is not a rate (finite and not negative; 0 if unknown)");
  }
  message.accuracies = fields.u8("accuracies");
  if (message.accuracies >> kAccuracies != 0) fields.refuse("accuracies", "names unknown modes");
  fields.padding();
  message.backend = fields.text("backend", kMaxNameBytes);
  message.description = fields.text("description", kMaxTextBytes);
  return finish(fields, message);
}

template <>
void encode(const Refused& message, Body& body) noexcept {
  body.u8(static_cast<std::uint8_t>(message.code));
  body.u8(0);
  body.u16(message.version);
  body.text(message.message, kMaxTextBytes);
}

template <>
Result<Refused> decode(std::span<const std::byte> bytes) {
  Fields fields("refused", bytes);
  Refused message;
  message.code = fields.up_to("code", kLastCode);
  if (message.code == Code::ok) fields.refuse("code", "is 0 (a refusal says why)");
  if (fields.u8("reserved") != 0) fields.refuse("reserved", "is not 0");
  message.version = fields.u16("version");
  message.message = fields.text("message", kMaxTextBytes);
  return finish(fields, message);
}

template <>
void encode(const Stripes& message, Body& body) noexcept {
  body.u8(message.extra_streams);
  body.u8(0);
  body.u16(0);
  body.u32(message.block_bytes);
  put(body, message.access_key);
}

template <>
Result<Stripes> decode(std::span<const std::byte> bytes) {
  Fields fields("stripes", bytes);
  Stripes message;
  message.extra_streams = fields.u8("extra_streams");
  if (fields.u8("reserved") != 0 || fields.u16("reserved") != 0) {
    fields.refuse("reserved", "is not 0");
  }
  message.block_bytes = fields.u32("block_bytes");
  message.access_key = take_token(fields, "access key");
  const bool striped = message.extra_streams != 0;
  if ((message.block_bytes != 0) != striped) {
    fields.refuse("block_bytes", striped ? "is 0" : "is not 0 (nothing is striped)");
  }
  if ((message.access_key != Token{}) != striped) {
    fields.refuse("access key", striped ? "is 0" : "is not 0 (nothing is striped)");
  }
  return finish(fields, message);
}

template <>
void encode(const JoinStream& message, Body& body) noexcept {
  body.u32(kMagic);
  body.u16(message.version);
  body.u8(message.index);
  body.u8(0);
  put(body, message.access_key);
  body.text(message.identity, kMaxTextBytes);
}

template <>
Result<JoinStream> decode(std::span<const std::byte> bytes) {
  Fields fields("join_stream", bytes);
  JoinStream message;
  if (!take_version(fields, message.version)) {
    return only_version<JoinStream>(fields, message.version);
  }
  message.index = fields.u8("index");
  if (fields.u8("reserved") != 0) fields.refuse("reserved", "is not 0");
  message.access_key = take_token(fields, "access key");
  message.identity = fields.text("identity", kMaxTextBytes);
  return finish(fields, message);
}

template <>
void encode(const SetAccuracy& message, Body& body) noexcept {
  body.u8(static_cast<std::uint8_t>(message.accuracy));
  body.pad_to_8();
}

template <>
Result<SetAccuracy> decode(std::span<const std::byte> bytes) {
  Fields fields("set_accuracy", bytes);
  SetAccuracy message;
  const std::uint8_t accuracy = fields.u8("accuracy");
  if (accuracy >= kAccuracies) fields.refuse("accuracy", "is no mode");
  message.accuracy = static_cast<Accuracy>(accuracy);
  fields.padding();
  return finish(fields, message);
}

template <>
void encode(const Allocate& message, Body& body) noexcept {
  body.u64(message.buffer.value);
  body.u64(message.bytes);
}

template <>
Result<Allocate> decode(std::span<const std::byte> bytes) {
  Fields fields("allocate", bytes);
  Allocate message;
  message.buffer = fields.id<BufferId>("buffer");
  message.bytes = fields.u64("bytes");
  return finish(fields, message);
}

template <>
void encode(const Free& message, Body& body) noexcept {
  body.u64(message.buffer.value);
}

template <>
Result<Free> decode(std::span<const std::byte> bytes) {
  Fields fields("free", bytes);
  Free message{fields.id<BufferId>("buffer")};
  return finish(fields, message);
}

template <>
void encode(const Locate& message, Body& body) noexcept {
  body.u64(message.buffer.value);
}

template <>
Result<Locate> decode(std::span<const std::byte> bytes) {
  Fields fields("locate", bytes);
  Locate message{fields.id<BufferId>("buffer")};
  return finish(fields, message);
}

template <>
void encode(const Write& message, Body& body) noexcept {
  body.u64(message.buffer.value);
  put(body, message.region);
}

template <>
Result<Write> decode(std::span<const std::byte> bytes) {
  Fields fields("write", bytes);
  Write message;
  message.buffer = fields.id<BufferId>("buffer");
  message.region = take_region(fields, "region");
  return finish(fields, message);
}

template <>
void encode(const Read& message, Body& body) noexcept {
  body.u64(message.buffer.value);
  put(body, message.region);
}

template <>
Result<Read> decode(std::span<const std::byte> bytes) {
  Fields fields("read", bytes);
  Read message;
  message.buffer = fields.id<BufferId>("buffer");
  message.region = take_region(fields, "region");
  return finish(fields, message);
}

template <>
void encode(const Digest& message, Body& body) noexcept {
  body.u64(message.buffer.value);
  put(body, message.region);
  body.u64(message.chunk_bytes);
}

template <>
Result<Digest> decode(std::span<const std::byte> bytes) {
  Fields fields("digest", bytes);
  Digest message;
  message.buffer = fields.id<BufferId>("buffer");
  message.region = take_region(fields, "region");
  message.chunk_bytes = fields.u64("chunk_bytes");
  return finish(fields, message);
}

template <>
void encode(const Copy& message, Body& body) noexcept {
  body.u64(message.source.value);
  body.u64(message.destination.value);
  put(body, message.from);
  put(body, message.to);
}

template <>
Result<Copy> decode(std::span<const std::byte> bytes) {
  Fields fields("copy", bytes);
  Copy message;
  message.source = fields.id<BufferId>("source");
  message.destination = fields.id<BufferId>("destination");
  message.from = take_region(fields, "from");
  message.to = take_region(fields, "to");
  return finish(fields, message);
}

template <>
void encode(const DestroyPlan& message, Body& body) noexcept {
  body.u64(message.plan.value);
}

template <>
Result<DestroyPlan> decode(std::span<const std::byte> bytes) {
  Fields fields("destroy_plan", bytes);
  DestroyPlan message{fields.id<PlanId>("plan")};
  return finish(fields, message);
}

template <>
void encode(const ExecutePlan& message, Body& body) noexcept {
  body.u64(message.plan.value);
  body.u64(message.input.value);
  body.u64(message.output.value);
  body.u64(message.input_offset_bytes);
  body.u64(message.output_offset_bytes);
}

template <>
Result<ExecutePlan> decode(std::span<const std::byte> bytes) {
  Fields fields("execute_plan", bytes);
  ExecutePlan message;
  message.plan = fields.id<PlanId>("plan");
  message.input = fields.id<BufferId>("input");
  message.output = fields.id<BufferId>("output");
  message.input_offset_bytes = fields.u64("input_offset_bytes");
  message.output_offset_bytes = fields.u64("output_offset_bytes");
  return finish(fields, message);
}

template <>
void encode(const Record& message, Body& body) noexcept {
  body.u64(message.event.value);
}

template <>
Result<Record> decode(std::span<const std::byte> bytes) {
  Fields fields("record", bytes);
  Record message{fields.id<EventId>("event")};
  return finish(fields, message);
}

template <>
void encode(const Wait& message, Body& body) noexcept {
  body.u64(message.event.value);
}

template <>
Result<Wait> decode(std::span<const std::byte> bytes) {
  Fields fields("wait", bytes);
  Wait message{fields.id<EventId>("event")};
  return finish(fields, message);
}

template <>
void encode(const Location& message, Body& body) noexcept {
  body.u8(static_cast<std::uint8_t>(message.code));
  body.pad_to_8();
  body.u64(message.offset_bytes);
  body.u64(message.segment_bytes);
}

template <>
Result<Location> decode(std::span<const std::byte> bytes) {
  Fields fields("location", bytes);
  Location message;
  message.code = fields.up_to("code", kLastCode);
  fields.padding();
  message.offset_bytes = fields.u64("offset_bytes");
  message.segment_bytes = fields.u64("segment_bytes");
  if (message.offset_bytes > message.segment_bytes) {
    fields.refuse("offset_bytes", "lies beyond segment_bytes");
  }
  return finish(fields, message);
}

template <>
void encode(const Outcome& message, Body& body) noexcept {
  body.u8(static_cast<std::uint8_t>(message.code));
  body.u8(0);
  body.u16(0);
  body.u32(message.credits);
  body.u64(message.failed_sequence);
  body.u64(message.compute_ns);
  body.u64(message.plan_ns);
  body.u64(message.waited_ns);
  body.u64(message.keep_bytes);
  body.text(message.message, kMaxTextBytes);
}

template <>
Result<Outcome> decode(std::span<const std::byte> bytes) {
  Fields fields("outcome", bytes);
  Outcome message;
  message.code = fields.up_to("code", kLastCode);
  if (fields.u8("reserved") != 0 || fields.u16("reserved") != 0) {
    fields.refuse("reserved", "is not 0");
  }
  message.credits = fields.u32("credits");
  message.failed_sequence = fields.u64("failed_sequence");
  message.compute_ns = fields.u64("compute_ns");
  message.plan_ns = fields.u64("plan_ns");
  message.waited_ns = fields.u64("waited_ns");
  message.keep_bytes = fields.u64("keep_bytes");
  message.message = fields.text("message", kMaxTextBytes);
  return finish(fields, message);
}

template <>
void encode(const Credit& message, Body& body) noexcept {
  body.u32(message.credits);
  body.pad_to_8();
}

template <>
Result<Credit> decode(std::span<const std::byte> bytes) {
  Fields fields("credit", bytes);
  Credit message;
  message.credits = fields.u32("credits");
  fields.padding();
  return finish(fields, message);
}

}  // namespace ob::wire
