// Decodes arbitrary bytes as every header and body. Besides what the sanitizers see it checks that
// each message has one encoding: what decodes encodes to the same bytes.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "routines/codec.hpp"
#include "wire/codec.hpp"

namespace {

using Bytes = std::span<const std::byte>;

void expect_equal(Bytes decoded, Bytes again) {
  if (!std::equal(decoded.begin(), decoded.end(), again.begin(), again.end())) std::abort();
}

template <class Message>
void body(Bytes bytes) {
  const auto message = ob::wire::decode<Message>(bytes);
  if (!message.ok()) return;
  if constexpr (requires { message->big_endian; }) {
    if (message->version != ob::wire::kVersion) return;  // only the version was decoded
  }
  ob::wire::Body again;
  ob::wire::encode(*message, again);
  expect_equal(bytes, again.bytes());
}

void call(Bytes bytes) {
  const auto decoded = ob::decode_call(bytes);
  if (!decoded.ok()) return;
  ob::wire::Body again;
  ob::encode_call(*decoded->routine, decoded->arguments, again);
  expect_equal(bytes, again.bytes());
}

void plan(Bytes bytes) {
  const auto decoded = ob::decode_plan(bytes);
  if (!decoded.ok()) return;
  ob::wire::Body again;
  ob::encode_plan(decoded->id, decoded->plan, again);
  expect_equal(bytes, again.bytes());
}

void header(Bytes bytes) {
  if (bytes.size() < ob::wire::kHeaderBytes) return;
  const auto fixed = bytes.first<ob::wire::kHeaderBytes>();
  const auto decoded = ob::wire::decode_header(fixed);
  if (!decoded.ok()) return;
  std::array<std::byte, ob::wire::kHeaderBytes> again;
  ob::wire::encode_header(*decoded, again);
  expect_equal(fixed, again);
}

template <class... Message>
void bodies(Bytes bytes) {
  (body<Message>(bytes), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ob::wire;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  header(bytes);
  call(bytes);
  plan(bytes);
  bodies<Hello, Welcome, Refused, Stripes, JoinStream, Allocate, Free, Locate, Write, Read, Digest,
         Copy, DestroyPlan, ExecutePlan, Record, Wait, Location, Outcome, Credit>(bytes);
  return 0;
}
