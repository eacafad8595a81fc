#include "sial/server/server.hpp"

#include <algorithm>
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

}  // namespace

BlockServer::BlockServer(const Options& options, Exchange& exchange)
    : options_(options), exchange_(exchange), pool_(options.memory_bytes) {}

void BlockServer::receive(const Message& message) {
  StoredArray& array = arrays_[message.array];
  if (message.kind == MessageKind::prefetch) return prefetch(array, message);
  if (!enter_generation(array, message)) return;
  switch (message.kind) {
    case MessageKind::get: return get(array, message);
    case MessageKind::touch:
      if (enter_access(array.blocks[message.number], BlockAccess::get, message)) {
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
  array.blocks.clear();
  array.generation = message.generation;
  array.deleted_by = message.from;
  array.delete_instruction = message.instruction;
  return true;
}

bool BlockServer::enter_access(Stored& stored, BlockAccess access, const Message& message) {
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

void BlockServer::get(StoredArray& array, const Message& message) {
  Stored& stored = array.blocks[message.number];
  if (!enter_access(stored, BlockAccess::get, message)) return;
  if (stored.block == nullptr) return answer(message, MessageKind::absent);
  Message reply = answer_to(message, MessageKind::data);
  reply.block = stored.block;
  exchange_.send(std::move(reply));
}

// A prefetch is no access, so it meets no race; the touch that follows when the block is used does.
void BlockServer::prefetch(const StoredArray& array, const Message& message) {
  const auto found = array.blocks.find(message.number);
  const bool there = message.generation == array.generation && found != array.blocks.end() &&
                     found->second.block != nullptr;
  Message reply = answer_to(message, there ? MessageKind::data : MessageKind::absent);
  if (there) reply.block = found->second.block;
  reply.ahead = true;
  exchange_.send(std::move(reply));
}

void BlockServer::write(StoredArray& array, const Message& message) {
  Stored& stored = array.blocks[message.number];
  if (!enter_access(stored, access_of(message.kind), message)) return;
  if (const Status applied = apply(stored, message); !applied.ok()) {
    const char* const code = applied.code() == Code::out_of_memory ? "R10 " : "R03 ";
    return refuse(message, code + applied.message());
  }
  answer(message, MessageKind::done);
}

Status BlockServer::apply(Stored& stored, const Message& message) {
  if (message.kind == MessageKind::put) {
    // The block lies in the memory of its sender or of the exchange, and this server has a limit.
    OB_ASSIGN_OR_RETURN(stored.block, pool_.copy(*message.block));
    return {};
  }
  if (message.kind == MessageKind::scale && stored.block == nullptr) {
    return {Code::invalid_argument, "the block was never put, so it cannot be scaled"};
  }
  if (stored.block == nullptr) {
    const Shape shape = message.block != nullptr ? message.block->shape() : message.shape;
    OB_ASSIGN_OR_RETURN(stored.block, pool_.allocate(shape));
    fill(view_of(*stored.block), 0.0, Assign::set);
  }
  OB_RETURN_IF_ERROR(pool_.make_writable(stored.block));
  const View view = view_of(*stored.block);
  switch (message.kind) {
    case MessageKind::accumulate:
      if (message.block->elements() != stored.block->elements()) {
        return {Code::invalid_argument, "the block has another shape"};
      }
      return copy(view, view_of(*message.block), message.factor, Assign::add, scratch_);
    case MessageKind::fill: fill(view, message.factor, Assign::set); break;
    case MessageKind::add: fill(view, message.factor, Assign::add); break;
    default: fill(view, message.factor, Assign::multiply); break;
  }
  return {};
}

void BlockServer::save(const StoredArray& array, const Message& message) {
  std::vector<NumberedBlock> present;
  for (const auto& [number, stored] : array.blocks) {
    if (stored.block != nullptr) present.emplace_back(number, stored.block);
  }
  std::ranges::sort(present, {}, [](const auto& entry) { return entry.first; });
  const Status written = write_block_file(message.text, present);
  if (written.ok()) return answer(message, MessageKind::done);
  refuse(message, "R11 " + written.message());
}

void BlockServer::restore(StoredArray& array, const Message& message) {
  const std::uint64_t server = message.words.at(0);
  const std::uint64_t servers = message.words.at(1);
  array.blocks.clear();
  std::istringstream files(message.text);
  for (std::string file; std::getline(files, file);) {
    const Status got = read_block_file(
        file, pool_, [&](std::uint64_t number) { return number % servers == server; },
        [&](std::uint64_t number, BlockPtr block) {
          array.blocks[number].block = std::move(block);
        });
    if (got.ok()) continue;
    return refuse(message, (got.code() == Code::out_of_memory ? "R10 " : "R12 ") + got.message());
  }
  answer(message, MessageKind::done);
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
