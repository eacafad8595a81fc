// Decodes arbitrary bytes as every header and body. The sanitizers check memory. This target also
// checks that each message has one encoding (a decoded message encodes to the same bytes), and
// makes the checks that a daemon makes on calls, plans and regions before it looks at their
// buffers.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/chunks.hpp"
#include "fuzz/failure.hpp"
#include "fuzz/input.hpp"
#include "routines/codec.hpp"
#include "wire/codec.hpp"
#include "wire/message_fields.hpp"

namespace ob::fuzz {
namespace {

void expect_equal(View decoded, View again) {
  expect(std::equal(decoded.begin(), decoded.end(), again.begin(), again.end()),
         "a message has one encoding");
}

constexpr std::uint64_t kBufferBytes = 1 << 20;

// Checks the sizes of a region: exact if it fits in a buffer, and defined in any case.
void look_at(const Region& region, std::uint64_t chunk_bytes) {
  const std::uint64_t extent = extent_bytes(region);
  const std::uint64_t packed = packed_bytes(region);
  const Chunks chunks(region, chunk_bytes);
  if (!fits(region, kBufferBytes)) return;
  expect(packed <= extent && extent <= kBufferBytes - region.offset_bytes,
         "what fits lies in the buffer");
  std::uint64_t in_chunks = 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(chunks.count(), 1000); ++i) {
    const ChunkParts parts = chunks.at(i);
    for (const Region& part : parts.span()) {
      expect(fits(part, kBufferBytes), "a chunk lies where its region does");
      in_chunks += packed_bytes(part);
    }
  }
  if (chunks.count() <= 1000) expect(in_chunks == packed, "chunks are the region");
}

template <class Message>
void body(View bytes) {
  const auto message = wire::decode<Message>(bytes);
  if (!message.ok()) return;
  if constexpr (requires { message->version; }) {
    if (!wire::is_known_version(message->version) && !std::is_same_v<Message, wire::Refused>)
      return;  // only the version was decoded
  }
  wire::Body again;
  wire::encode(*message, again);
  expect_equal(bytes, again.bytes());
  if constexpr (requires { message->chunk_bytes; }) {
    look_at(message->region, message->chunk_bytes);
  } else if constexpr (requires { message->region; }) {
    look_at(message->region, 4096);
  } else if constexpr (requires { message->from; }) {
    look_at(message->from, 4096);
    look_at(message->to, 64);
  }
}

void call(View bytes) {
  const auto decoded = decode_call(bytes);
  if (!decoded.ok()) return;
  const Descriptor& routine = *decoded->routine;
  wire::Body again;
  encode_call(routine, decoded->arguments, again);
  expect_equal(bytes, again.bytes());
  std::int64_t lds[kMaxArguments] = {};
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (has_ld(routine.kinds[i])) lds[i] = decoded->arguments[i].device.ld;
  }
  if (!routine.legal(decoded->arguments, lds)) return;
  (void)routine.trivial(decoded->arguments);
  expect(!(routine.flops(decoded->arguments) < 0), "work is not negative");
  const Operands operands = routine.operands(decoded->arguments);
  for (const Operand& operand : operands.span()) {
    const Kind kind = routine.kinds[operand.argument];
    look_at(ob::region_of(operand, kind, lds[operand.argument], operand.written), 4096);
  }
}

void plan(View bytes) {
  const auto decoded = decode_plan(bytes);
  if (!decoded.ok()) return;
  wire::Body again;
  encode_plan(decoded->id, decoded->plan, again);
  expect_equal(bytes, again.bytes());
  constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 63;  // docs/wire.md, section 4.9
  expect(input_bytes(decoded->plan) < kTooLarge && output_bytes(decoded->plan) < kTooLarge,
         "a plan's arrays have a size");
  expect(std::isfinite(flops(decoded->plan)), "a plan's work is finite");
}

void header(View bytes) {
  if (bytes.size() < wire::kHeaderBytes) return;
  const auto fixed = bytes.first<wire::kHeaderBytes>();
  const auto decoded = wire::decode_header(fixed);
  if (!decoded.ok()) return;
  std::array<std::byte, wire::kHeaderBytes> again;
  wire::encode_header(*decoded, again);
  expect_equal(fixed, again);
}

}  // namespace
}  // namespace ob::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ob::fuzz;
  const View bytes(reinterpret_cast<const std::byte*>(data), size);
  header(bytes);
  call(bytes);
  plan(bytes);
  ob::wire::for_each_body([&]<class Message>() { body<Message>(bytes); });
  return 0;
}
