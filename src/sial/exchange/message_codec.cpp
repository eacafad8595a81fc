#include "sial/exchange/message_codec.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace ob::sial {
namespace {

// The ranks of a job run one program file on machines of one byte order, so the members travel as
// they lie in memory.
struct MessageHeader {
  MessageKind kind;
  std::uint8_t rank;  // of the shape
  std::uint8_t has_block;
  Contribution contribution;
  Rank from, to;
  std::uint32_t array, generation, instruction;
  std::uint64_t request, number, epoch, iteration;
  double factor;
  std::array<std::int64_t, kMaxRank> extents;
  std::uint32_t text_bytes, numbers, words;
  std::uint32_t reserved_too;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool take(void* target, std::size_t bytes) noexcept {
    if (bytes > bytes_.size()) return false;
    if (bytes != 0) std::memcpy(target, bytes_.data(), bytes);
    bytes_ = bytes_.subspan(bytes);
    return true;
  }
  std::size_t left() const noexcept { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

void append(std::vector<std::byte>& bytes, const void* source, std::size_t count) {
  const auto* first = static_cast<const std::byte*>(source);
  bytes.insert(bytes.end(), first, first + count);
}

// Checks the extents of a block that a message brings.
bool possible(const MessageHeader& header) noexcept {
  if (header.rank > kMaxRank || header.kind > MessageKind::end) return false;
  std::int64_t product = 1;
  for (unsigned d = 0; d < header.rank; ++d) {
    const std::int64_t extent = header.extents[d];
    if (extent < 0) return false;
    if (extent != 0 && product > std::numeric_limits<std::int64_t>::max() / 16 / extent) {
      return false;
    }
    product *= extent;
  }
  return true;
}

Status malformed() {
  return {Code::protocol_error, "a message between ranks is malformed (a fault of this program)"};
}

}  // namespace

std::vector<std::byte> encode(const Message& message) {
  MessageHeader header{};
  const Shape& shape = message.block != nullptr ? message.block->shape() : message.shape;
  header.kind = message.kind;
  header.contribution = message.contribution;
  header.rank = static_cast<std::uint8_t>(shape.rank);
  header.has_block = message.block != nullptr ? 1 : 0;
  header.from = message.from;
  header.to = message.to;
  header.array = message.array;
  header.generation = message.generation;
  header.instruction = message.instruction;
  header.request = message.request;
  header.number = message.number;
  header.epoch = message.epoch;
  header.iteration = message.iteration;
  header.factor = message.factor;
  header.extents = shape.extents;
  header.text_bytes = static_cast<std::uint32_t>(message.text.size());
  header.numbers = static_cast<std::uint32_t>(message.numbers.size());
  header.words = static_cast<std::uint32_t>(message.words.size());
  std::vector<std::byte> bytes;
  append(bytes, &header, sizeof header);
  append(bytes, message.text.data(), message.text.size());
  append(bytes, message.numbers.data(), message.numbers.size() * sizeof(double));
  append(bytes, message.words.data(), message.words.size() * sizeof(std::uint64_t));
  if (message.block != nullptr && message.block->elements() <= kInlineElements) {
    append(bytes, message.block->data(), message.block->bytes());
  }
  return bytes;
}

Result<Decoded> decode(std::span<const std::byte> bytes, BlockPool& pool) {
  Reader reader(bytes);
  MessageHeader header{};
  if (!reader.take(&header, sizeof header) || !possible(header)) return malformed();
  const std::uint64_t variable =
      header.text_bytes + std::uint64_t{header.numbers} * 8 + std::uint64_t{header.words} * 8;
  if (variable > reader.left()) return malformed();
  Decoded decoded;
  Message& message = decoded.message;
  message.kind = header.kind;
  message.contribution = header.contribution;
  message.from = header.from;
  message.to = header.to;
  message.array = header.array;
  message.generation = header.generation;
  message.instruction = header.instruction;
  message.request = header.request;
  message.number = header.number;
  message.epoch = header.epoch;
  message.iteration = header.iteration;
  message.factor = header.factor;
  message.shape.rank = header.rank;
  message.shape.extents = header.extents;
  message.text.resize(header.text_bytes);
  message.numbers.resize(header.numbers);
  message.words.resize(header.words);
  reader.take(message.text.data(), header.text_bytes);
  reader.take(message.numbers.data(), message.numbers.size() * sizeof(double));
  reader.take(message.words.data(), message.words.size() * sizeof(std::uint64_t));
  if (header.has_block == 0) return decoded;
  OB_ASSIGN_OR_RETURN(BlockPtr block, pool.allocate(message.shape));
  message.block = block;
  if (block->elements() > kInlineElements) {
    decoded.following = std::move(block);
  } else if (!reader.take(block->data(), block->bytes())) {
    return malformed();
  }
  return decoded;
}

}  // namespace ob::sial
