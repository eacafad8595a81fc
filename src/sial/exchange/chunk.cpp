#include "sial/exchange/chunk.hpp"

namespace ob::sial {

Message message_of(const ChunkRequest& request) {
  Message message;
  message.kind = MessageKind::next_chunk;
  message.from = request.worker;
  message.epoch = request.epoch;
  message.number = request.pardo;
  message.instruction = request.instruction;
  message.words = {request.total, request.least, request.counted.raw, request.counted.survivors};
  return message;
}

ChunkRequest chunk_request_of(const Message& message) {
  ChunkRequest request;
  request.worker = message.from;
  request.epoch = message.epoch;
  request.pardo = message.number;
  request.instruction = message.instruction;
  request.total = message.words.at(0);
  request.least = message.words.at(1);
  request.counted = {message.words.at(2), message.words.at(3)};
  return request;
}

void put_chunk(const Chunk& chunk, Message& answer) {
  answer.words = {chunk.begin,          chunk.end,         chunk.from.raw,
                  chunk.from.survivors, chunk.counted.raw, chunk.counted.survivors};
}

Chunk chunk_of(const Message& message) {
  const auto& words = message.words;
  return {words.at(0), words.at(1), {words.at(2), words.at(3)}, {words.at(4), words.at(5)}};
}

}  // namespace ob::sial
