#include "sial/server/server.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sial/operations/copy.hpp"
#include "sial/operations/elements.hpp"
#include "sial/persist/block_file.hpp"

namespace ob::sial {
namespace {

BlockAccess access_of(MessageKind kind) noexcept {
  if (kind == MessageKind::get) return BlockAccess::get;
  const bool adds = kind == MessageKind::accumulate || kind == MessageKind::add;
  return adds ? BlockAccess::accumulate : BlockAccess::put;
}

// Returns the text of a failure with its number in docs/sial/runtime.md.
std::string error_text(const Status& status, const char* otherwise) {
  const char* code = otherwise;
  if (status.code() == Code::out_of_memory) code = "R10";
  if (status.code() == Code::unavailable) code = "R11";
  return std::string(code) + " " + status.message();
}

}  // namespace

BlockServer::BlockServer(const Options& options, Exchange& exchange)
    : options_(options),
      exchange_(exchange),
      store_({options.memory_bytes, options.spill_folder, "server" + std::to_string(options.rank)}),
      chunks_(options.workers) {}

void BlockServer::receive(const Message& message) {
  if (message.kind == MessageKind::next_chunk) return next_chunk(message);
  StoredArray& array = arrays_.try_emplace(message.array, message.array).first->second;
  if (message.kind == MessageKind::prefetch) return prefetch(array, message);
  if (!enter_generation(array, message)) return;
  switch (message.kind) {
    case MessageKind::get: return get(array, message);
    case MessageKind::touch:
      if (enter_access(array, array.blocks[message.number], BlockAccess::get, message)) {
        answer(message, MessageKind::done);
      }
      return;
    case MessageKind::put:
    case MessageKind::accumulate:
    case MessageKind::fill:
    case MessageKind::add:
    case MessageKind::scale: return write(array, message);
    case MessageKind::delete_array: return answer(message, MessageKind::done);
    case MessageKind::save: return save(array, message);
    case MessageKind::restore: return restore(array, message);
    default: return;  // not for servers
  }
}

bool BlockServer::enter_generation(StoredArray& array, const Message& message) {
  if (message.generation == array.generation) return true;
  if (message.generation < array.generation) {
    // The sender has not reached the delete that another worker has executed in the same epoch.
    report_race(message, array.delete_instruction, array.deleted_by);
    return false;
  }
  for (const auto& [number, stored] : array.blocks) {
    const bool touched = stored.epoch == message.epoch && stored.state != AccessState::untouched;
    const bool by_many = stored.state == AccessState::read_by_many ||
                         stored.state == AccessState::accumulated_by_many;
    if (touched && (by_many || stored.worker != message.from)) {
      report_race(message, stored.instruction, stored.worker);
      return false;
    }
  }
  forget_blocks(array);
  array.generation = message.generation;
  array.deleted_by = message.from;
  array.delete_instruction = message.instruction;
  return true;
}

bool BlockServer::enter_access(StoredArray& array, Stored& stored, BlockAccess access,
                               const Message& message) {
  const bool adds_on = access == BlockAccess::accumulate && stored.epoch == message.epoch;
  if (!adds_on && !settle(array, stored, message)) return false;
  if (stored.epoch != message.epoch) {
    stored.epoch = message.epoch;
    stored.state = AccessState::untouched;
  }
  bool same = stored.worker == message.from;
  if (options_.races_by_iteration) same = same && stored.iteration == message.iteration;
  const auto next = after_access(stored.state, access, same);
  if (!next) {
    report_race(message, stored.instruction, stored.worker);
    return false;
  }
  if (stored.state == AccessState::untouched) {
    stored.worker = message.from;
    stored.instruction = message.instruction;
    stored.iteration = message.iteration;
  }
  stored.state = *next;
  return true;
}

bool BlockServer::settle(StoredArray& array, Stored& stored, const Message& message) {
  if (!options_.deterministic) return true;
  const Status settled = settle_block(array, stored, message.number);
  if (!settled.ok()) refuse(message, error_text(settled, "R10"));
  return settled.ok();
}

Status BlockServer::settle_block(StoredArray& array, Stored& stored, std::uint64_t number) {
  return array.sums.settle(store_, number, [&](const Block& sum) -> Status {
    Block* target = nullptr;
    if (stored.entry.present()) {
      OB_ASSIGN_OR_RETURN(target, store_.modify(array.stored, stored.entry, number));
    } else {
      OB_ASSIGN_OR_RETURN(target, made_of_zeros(array, stored, number, sum.shape()));
    }
    return copy(view_of(*target), view_of(sum), 1.0, Assign::add, scratch_);
  });
}

bool BlockServer::ready_for(const Message& message) const {
  if (message.kind == MessageKind::next_chunk) return true;
  const auto array = arrays_.find(message.array);
  const bool known = array != arrays_.end() && array->second.blocks.contains(message.number);
  std::uint64_t bytes = 0;
  if (known) {
    const Stored& stored = array->second.blocks.at(message.number);
    bytes = store_.bytes_to_load(array->second.stored, stored.entry);
    bytes = std::max(bytes, array->second.sums.block_bytes(message.number));
  }
  if (message.block != nullptr) bytes = std::max(bytes, message.block->bytes());
  bytes = std::max(bytes, static_cast<std::uint64_t>(message.shape.elements()) * sizeof(double));
  // Blocks in files may be larger than those of the messages before.
  const bool of_array = message.kind == MessageKind::save || message.kind == MessageKind::restore;
  return store_.has_room(of_array ? options_.memory_bytes : bytes);
}

void BlockServer::announce(const Message& message) const {
  if (message.kind == MessageKind::next_chunk) return;
  const bool replaces = message.kind == MessageKind::put || message.kind == MessageKind::fill;
  const auto array = arrays_.find(message.array);
  if (replaces || array == arrays_.end()) return;
  const auto stored = array->second.blocks.find(message.number);
  if (stored == array->second.blocks.end()) return;
  store_.read_ahead(array->second.stored, stored->second.entry);
}

void BlockServer::forget_blocks(StoredArray& array) {
  array.sums.clear(store_);
  store_.clear(array.stored);
  array.blocks.clear();
}

void BlockServer::get(StoredArray& array, const Message& message) {
  Stored& stored = array.blocks[message.number];
  if (!enter_access(array, stored, BlockAccess::get, message)) return;
  if (!stored.entry.present()) return answer(message, MessageKind::absent);
  auto block = store_.lend(array.stored, stored.entry, message.number);
  if (!block.ok()) return refuse(message, error_text(block.status(), "R10"));
  Message reply = answer_to(message, MessageKind::data);
  reply.block = std::move(*block);
  exchange_.send(std::move(reply));
}

// A prefetch is no access, so it meets no race; the touch that follows when the block is used does.
void BlockServer::prefetch(StoredArray& array, const Message& message) {
  const auto found = array.blocks.find(message.number);
  // Sums of this epoch are nobody's to read, except where one worker alone uses the block.
  const bool complete =
      found != array.blocks.end() && (found->second.epoch != message.epoch ||
                                      (found->second.worker == message.from &&
                                       found->second.state != AccessState::accumulated_by_many));
  if (complete && !settle(array, found->second, message)) return;
  Message reply = answer_to(message, MessageKind::absent);
  if (message.generation == array.generation && found != array.blocks.end() &&
      found->second.entry.present()) {
    auto block = store_.lend(array.stored, found->second.entry, message.number);
    if (!block.ok()) return refuse(message, error_text(block.status(), "R10"));
    reply.kind = MessageKind::data;
    reply.block = std::move(*block);
  }
  reply.ahead = true;
  exchange_.send(std::move(reply));
}

void BlockServer::write(StoredArray& array, const Message& message) {
  Stored& stored = array.blocks[message.number];
  const BlockAccess access = access_of(message.kind);
  if (!enter_access(array, stored, access, message)) return;
  const bool sums = options_.deterministic && access == BlockAccess::accumulate;
  const Status applied =
      sums ? array.sums.add(store_, message, scratch_) : apply(array, stored, message);
  if (!applied.ok()) {
    return refuse(message, error_text(applied, "R03"));
  }
  answer(message, MessageKind::done);
}

// Returns the block that a message changes. A block that was never put begins with zeros.
Result<Block*> BlockServer::target_of(StoredArray& array, Stored& stored, const Message& message) {
  if (stored.entry.present() && message.kind != MessageKind::fill) {
    return store_.modify(array.stored, stored.entry, message.number);
  }
  if (message.kind == MessageKind::scale) {
    return Status(Code::invalid_argument, "the block was never put, so it cannot be scaled");
  }
  const Shape& shape = message.block != nullptr ? message.block->shape() : message.shape;
  return made_of_zeros(array, stored, message.number, shape);
}

Result<Block*> BlockServer::made_of_zeros(StoredArray& array, Stored& stored, std::uint64_t number,
                                          const Shape& shape) {
  OB_ASSIGN_OR_RETURN(Block* const made, store_.replace(array.stored, stored.entry, number, shape));
  fill(view_of(*made), 0.0, Assign::set);
  return made;
}

Status BlockServer::apply(StoredArray& array, Stored& stored, const Message& message) {
  if (message.kind == MessageKind::put) {
    // The block lies in the memory of its sender or of the exchange, and this server has a limit.
    const Block& from = *message.block;
    OB_ASSIGN_OR_RETURN(Block* const made,
                        store_.replace(array.stored, stored.entry, message.number, from.shape()));
    std::memcpy(made->data(), from.data(), from.bytes());
    return {};
  }
  OB_ASSIGN_OR_RETURN(Block* const target, target_of(array, stored, message));
  const View view = view_of(*target);
  switch (message.kind) {
    case MessageKind::accumulate:
      if (message.block->elements() != target->elements()) {
        return {Code::invalid_argument, "the block has another shape"};
      }
      return copy(view, view_of(*message.block), message.factor, Assign::add, scratch_);
    case MessageKind::fill: fill(view, message.factor, Assign::set); break;
    case MessageKind::add: fill(view, message.factor, Assign::add); break;
    default: fill(view, message.factor, Assign::multiply); break;
  }
  return {};
}

void BlockServer::save(StoredArray& array, const Message& message) {
  for (const std::uint64_t number : array.sums.numbers()) {
    const Status settled = settle_block(array, array.blocks[number], number);
    if (!settled.ok()) return refuse(message, error_text(settled, "R10"));
  }
  std::vector<std::uint64_t> present;
  for (const auto& [number, stored] : array.blocks) {
    if (stored.entry.present()) present.push_back(number);
  }
  std::ranges::sort(present);
  const Status written = write_block_file(message.text, present, [&](std::uint64_t number) {
    return store_.peek(array.stored, array.blocks.at(number).entry, number);
  });
  if (written.ok()) return answer(message, MessageKind::done);
  refuse(message, error_text(written, "R11"));
}

void BlockServer::restore(StoredArray& array, const Message& message) {
  const std::uint64_t server = message.words.at(0);
  const std::uint64_t servers = message.words.at(1);
  forget_blocks(array);
  const auto mine = [&](std::uint64_t number) {
    const auto& server_of = options_.server_of;
    return (server_of ? server_of(message.array, number) : number % servers) == server;
  };
  const BlockReceiver receiver{mine, [&](const Shape& shape) { return store_.allocate(shape); },
                               [&](std::uint64_t number, BlockPtr block) {
                                 store_.adopt(array.stored, array.blocks[number].entry, number,
                                              std::move(block));
                               }};
  std::istringstream files(message.text);
  for (std::string file; std::getline(files, file);) {
    const Status got = read_block_file(file, receiver);
    if (!got.ok()) return refuse(message, error_text(got, "R12"));
  }
  answer(message, MessageKind::done);
}

void BlockServer::next_chunk(const Message& message) {
  const ChunkRequest request = chunk_request_of(message);
  const std::optional<Chunk> chunk = chunks_.next(request);
  if (!chunk) {
    const ChunkRequest first = chunks_.first(request);
    return refuse(message, kOtherPardo, {first.instruction, first.worker});
  }
  Message reply = answer_to(message, MessageKind::chunk);
  put_chunk(*chunk, reply);
  exchange_.send(std::move(reply));
}

Message BlockServer::answer_to(const Message& message, MessageKind kind) const {
  Message reply;
  reply.kind = kind;
  reply.from = options_.rank;
  reply.to = message.from;
  reply.request = message.request;
  reply.array = message.array;
  reply.number = message.number;
  reply.instruction = message.instruction;
  return reply;
}

void BlockServer::answer(const Message& message, MessageKind kind) {
  exchange_.send(answer_to(message, kind));
}

void BlockServer::refuse(const Message& message, std::string text,
                         std::vector<std::uint64_t> words) {
  Message reply = answer_to(message, MessageKind::failure);
  reply.text = std::move(text);
  reply.words = std::move(words);
  exchange_.send(std::move(reply));
}

void BlockServer::report_race(const Message& message, std::uint32_t instruction, Rank worker) {
  refuse(message, "R02", {instruction, worker});
}

}  // namespace ob::sial
