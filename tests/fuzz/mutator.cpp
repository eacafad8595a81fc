#include "fuzz/mutator.hpp"

#include <array>
#include <random>

#include "fuzz/body_fields.hpp"

// The mutations of libFuzzer itself, or their replacement in replay_main.cpp.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace ob::fuzz {
namespace {

using wire::Opcode;

constexpr std::size_t kLongestPayload = 4096;

struct Mutant {
  Delivery delivery;
  Bytes script;
  std::vector<RawMessage> messages;
  std::minstd_rand random;
  const std::vector<RawMessage>& vocabulary;

  std::size_t below(std::size_t n) { return n == 0 ? 0 : random() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  RawMessage& any() { return messages[below(messages.size())]; }
};

std::uint64_t interesting(Mutant& mutant) {
  constexpr std::array<std::uint64_t, 6> kLarge{
      std::uint64_t{1} << 31,       std::uint64_t{1} << 32,
      std::uint64_t{1} << 63,       UINT64_MAX,
      (std::uint64_t{1} << 63) - 1, UINT32_MAX};
  switch (mutant.below(8)) {
    case 0: return kLarge[mutant.below(kLarge.size())];
    case 1: return kLarge[mutant.below(kLarge.size())] - mutant.below(9);
    case 2: return std::uint64_t{1} << mutant.below(64);
    case 3: return std::uint64_t{8} << mutant.below(18);
    case 4: return mutant.below(4096);
    default: return mutant.below(6);
  }
}

void mutate_bytes(Bytes& bytes, std::size_t longest) {
  const std::size_t size = bytes.size();
  bytes.resize(std::max(size, longest));
  if (bytes.empty()) return;
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
}

// Mutates a field from the message's field list. Returns false if there is none.
bool mutate_field(Mutant& mutant, RawMessage& piece) {
  const std::vector<BodyField> fields = body_fields(piece.opcode());
  if (fields.empty()) return false;
  const BodyField field = fields[mutant.below(fields.size())];
  const std::uint64_t value = interesting(mutant);
  const std::size_t bytes = std::min(field.bytes, sizeof value);
  if (field.offset + bytes > piece.body.size()) return false;
  std::memcpy(piece.body.data() + field.offset, &value, bytes);
  return true;
}

void mutate_body(Mutant& mutant, RawMessage& piece) {
  if (mutant.one_in(2) && mutate_field(mutant, piece)) return;
  if (piece.body.size() < 8 || mutant.one_in(8)) {
    mutate_bytes(piece.body, std::max<std::size_t>(piece.body.size(), 64));
  } else if (mutant.one_in(4)) {
    mutate_bytes(piece.body, piece.body.size());
  } else {
    const bool narrow = mutant.one_in(4);  // 32 bits wide, else 64
    const std::size_t width = narrow ? 4 : 8;
    const std::size_t at = width * mutant.below(piece.body.size() / width);
    const std::uint64_t value = interesting(mutant);
    std::memcpy(piece.body.data() + at, &value, width);
  }
}

Opcode any_opcode(Mutant& mutant) {
  return wire::kOpcodes[mutant.below(wire::kOpcodes.size())].opcode;
}

void mutate_header(Mutant& mutant, RawMessage& piece) {
  if (!piece.whole()) return mutate_bytes(piece.header, wire::kHeaderBytes);
  switch (mutant.below(5)) {
    case 0: piece.set_number(kOpcodeAt, static_cast<std::uint16_t>(any_opcode(mutant))); break;
    case 1: piece.set_number(kQueueAt, std::uint64_t{mutant.below(4)}); break;
    case 2: piece.set_number(kSequenceAt, std::uint64_t{mutant.below(24)}); break;
    case 3: piece.set_number(kSequenceAt, interesting(mutant)); break;
    default: mutate_bytes(piece.header, piece.header.size()); break;
  }
}

void mutate_delivery(Mutant& mutant) {
  std::uint8_t* const fields[] = {&mutant.delivery.pieces, &mutant.delivery.sends,
                                  &mutant.delivery.flags};
  std::uint8_t& field = *fields[mutant.below(3)];
  field = mutant.one_in(3) ? 0 : static_cast<std::uint8_t>(mutant.random());
}

void mutate_script(Mutant& mutant) {
  if (mutant.script.empty() && !mutant.one_in(8)) return;  // this target needs no script
  mutate_bytes(mutant.script, std::min<std::size_t>(mutant.script.size() + 4, 255));
}

void insert(Mutant& mutant, const RawMessage& piece) {
  const auto at = static_cast<long>(mutant.below(mutant.messages.size() + 1));
  mutant.messages.insert(mutant.messages.begin() + at, piece);
}

void mutate_order(Mutant& mutant) {
  switch (mutant.below(6)) {
    case 0: insert(mutant, RawMessage(mutant.any())); break;
    case 1:
      mutant.messages.erase(mutant.messages.begin() +
                            static_cast<long>(mutant.below(mutant.messages.size())));
      break;
    case 2: std::swap(mutant.any(), mutant.any()); break;
    case 3: {  // enough copies to reach limits
      const RawMessage piece = mutant.any();
      const std::size_t many = piece.size() < 128 ? 1 + mutant.below(16) : 1;
      for (std::size_t i = 0; i < many; ++i) insert(mutant, piece);
      break;
    }
    default: insert(mutant, mutant.vocabulary[mutant.below(mutant.vocabulary.size())]); break;
  }
}

void mutate_once(Mutant& mutant) {
  if (mutant.messages.empty()) return insert(mutant, mutant.vocabulary.front());
  switch (mutant.below(12)) {
    case 0: mutate_delivery(mutant); break;
    case 1: mutate_script(mutant); break;
    case 2:
    case 3: mutate_header(mutant, mutant.any()); break;
    case 4: mutate_bytes(mutant.any().payload, 256); break;
    case 5:
    case 6:
    case 7: mutate_order(mutant); break;
    default: mutate_body(mutant, mutant.any()); break;
  }
}

// Adapts the payload of a write to its region: a mismatch ends the connection.
void fit_payload(RawMessage& piece) {
  const auto write = wire::decode<wire::Write>(View(piece.body));
  if (!write.ok()) return;
  const std::uint64_t bytes = packed_bytes(write->region);
  if (bytes <= kLongestPayload) piece.payload.resize(bytes, std::byte{0x3F});
}

void fit(Mutant& mutant, RawMessage& piece) {
  if (!piece.whole() || mutant.one_in(64)) return;
  piece.body.resize(std::min<std::size_t>((piece.body.size() + 7) / 8 * 8, wire::kMaxBodyBytes));
  const Opcode opcode = piece.opcode();
  if (opcode == Opcode::write && !mutant.one_in(16)) fit_payload(piece);
  if (opcode != Opcode::write && opcode != Opcode::data && !mutant.one_in(16))
    piece.payload.clear();
  piece.set_number(kBodyBytesAt, static_cast<std::uint32_t>(piece.body.size()));
  piece.set_number(kPayloadBytesAt, std::uint64_t{piece.payload.size()});
}

std::size_t put(const Bytes& bytes, std::span<std::uint8_t> out) {
  const std::size_t size = std::min(bytes.size(), out.size());
  if (size > 0) std::memcpy(out.data(), bytes.data(), size);
  return size;
}

}  // namespace

std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                   const std::vector<RawMessage>& vocabulary) {
  const Input input = parse({reinterpret_cast<const std::byte*>(data), size});
  Mutant mutant{input.delivery, Bytes(input.script.begin(), input.script.end()),
                split(input.stream), std::minstd_rand(seed), vocabulary};
  if (mutant.one_in(32)) return LLVMFuzzerMutate(data, size, max_size);
  for (std::size_t left = 1 + mutant.below(3); left > 0; --left) mutate_once(mutant);
  for (RawMessage& piece : mutant.messages) fit(mutant, piece);
  return put(assemble(mutant.delivery, mutant.script, join(mutant.messages)), {data, max_size});
}

std::size_t cross_over(View first, View second, std::span<std::uint8_t> out, unsigned seed) {
  std::minstd_rand random(seed);
  const Input base = parse(first);
  std::vector<RawMessage> messages = split(base.stream);
  const std::vector<RawMessage> others = split(parse(second).stream);
  if (!others.empty()) {
    const std::size_t from = random() % others.size();
    const std::size_t count = 1 + random() % (others.size() - from);
    const auto at = static_cast<long>(random() % (messages.size() + 1));
    const auto begin = others.begin() + static_cast<long>(from);
    messages.insert(messages.begin() + at, begin, begin + static_cast<long>(count));
  }
  return put(assemble(base.delivery, base.script, join(messages)), out);
}

}  // namespace ob::fuzz
