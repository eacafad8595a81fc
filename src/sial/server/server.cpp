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
      chunks_(options.workers),
      credit_(PutCredit::of(options.memory_bytes, options.workers)),
      grants_(credit_.grants) {}

void BlockServer::receive(const Message& message) {
  if (message.kind == MessageKind::next_chunk) return next_chunk(message);
  if (message.kind == MessageKind::ask_credit) {
    grants_.ask(message);
    return grant_puts();
  }
  StoredArray& array = arrays_.try_emplace(message.array, store_, message.array).first->second;
  handle(array, message);
  if (message.block == nullptr || message.block->bytes() <= credit_.share) return;
  grants_.end(message.block->bytes());
  grant_puts();
}

void BlockServer::grant_puts() {
  while (const auto wish = grants_.next()) answer(*wish, MessageKind::credit);
}

void BlockServer::handle(StoredArray& array, const Message& message) {
  if (message.kind == MessageKind::prefetch) return prefetch(array, message);
  if (!enter_generation(array, message)) return;
  switch (message.kind) {
    case MessageKind::get: return get(array, message);
    case MessageKind::touch:
      if (enter_access(array, array.index.find_or_add(message.number), BlockAccess::get, message)) {
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
  const EpochAccesses& accesses = array.accesses;
  const std::uint32_t touched = accesses.epoch() == message.epoch ? accesses.size() : 0;
  for (std::uint32_t at = 0; at < touched; ++at) {
    const BlockAccesses& one = accesses[at];
    const bool by_many =
        one.state == AccessState::read_by_many || one.state == AccessState::accumulated_by_many;
    if (by_many || one.worker != message.from) {
      report_race(message, one.instruction, one.worker);
      return false;
    }
  }
  forget_blocks(array);
  array.generation = message.generation;
  array.deleted_by = message.from;
  array.delete_instruction = message.instruction;
  return true;
}

bool BlockServer::enter_access(StoredArray& array, RecordId block, BlockAccess access,
                               const Message& message) {
  // A get whose answer the worker no longer wants may arrive after a barrier.
  if (message.epoch < array.accesses.epoch()) return true;
  const bool adds_on =
      access == BlockAccess::accumulate && array.accesses.find(block, message.epoch) != nullptr;
  if (!adds_on && !settle(array, block, message)) return false;
  BlockAccesses& before = array.accesses.enter(block, message.epoch);
  bool same = before.worker == message.from;
  if (options_.races_by_iteration) same = same && before.iteration == message.iteration;
  const auto next = after_access(before.state, access, same);
  if (!next) {
    report_race(message, before.instruction, before.worker);
    return false;
  }
  if (before.state == AccessState::untouched) {
    before.worker = message.from;
    before.instruction = message.instruction;
    before.iteration = message.iteration;
  }
  before.state = *next;
  return true;
}

bool BlockServer::settle(StoredArray& array, RecordId block, const Message& message) {
  if (!options_.deterministic) return true;
  const Status settled = settle_block(array, block);
  if (!settled.ok()) refuse(message, error_text(settled, "R10"));
  return settled.ok();
}

Status BlockServer::settle_block(StoredArray& array, RecordId block) {
  return array.sums.settle(array.blocks.number(block), [&](const Block& sum) -> Status {
    View target;
    if (array.blocks.present(block)) {
      OB_ASSIGN_OR_RETURN(target, store_.modify(array.blocks, block));
    } else {
      OB_ASSIGN_OR_RETURN(target, made_of_zeros(array, block, sum.shape()));
    }
    return copy(target, view_of(sum), 1.0, Assign::add, scratch_);
  });
}

bool BlockServer::ready_for(const Message& message) const {
  if (message.kind == MessageKind::save || message.kind == MessageKind::restore) {
    // Blocks in files may be larger than those of the messages before.
    return store_.has_room(options_.memory_bytes);
  }
  if (concerns_of(message.kind) != Concerns::block) return true;
  std::uint64_t bytes = 0;
  if (const auto array = arrays_.find(message.array); array != arrays_.end()) {
    const RecordId block = array->second.index.find(message.number);
    if (block != kNoRecord) bytes = store_.bytes_to_load(array->second.blocks, block);
    bytes = std::max(bytes, array->second.sums.block_bytes(message.number));
  }
  if (message.block != nullptr) bytes = std::max(bytes, message.block->bytes());
  bytes = std::max(bytes, static_cast<std::uint64_t>(message.shape.elements()) * sizeof(double));
  return store_.has_room(bytes);
}

// Returns the array of a message that needs the present elements of a block, and the block; nullptr
// if there is none.
const BlockServer::StoredArray* BlockServer::array_to_read(const Message& message,
                                                           RecordId& block) const {
  switch (message.kind) {
    case MessageKind::get:
    case MessageKind::prefetch:
    case MessageKind::accumulate:
    case MessageKind::add:
    case MessageKind::scale: break;
    default: return nullptr;
  }
  const auto array = arrays_.find(message.array);
  if (array == arrays_.end()) return nullptr;
  block = array->second.index.find(message.number);
  return block == kNoRecord ? nullptr : &array->second;
}

bool BlockServer::waits_for_disk(const Message& message) const {
  RecordId block = kNoRecord;
  const StoredArray* const array = array_to_read(message, block);
  return array != nullptr && store_.waits_for_disk(array->blocks, block);
}

void BlockServer::announce(const Message& message) const {
  RecordId block = kNoRecord;
  const StoredArray* const array = array_to_read(message, block);
  if (array != nullptr) store_.read_ahead(array->blocks, block);
}

void BlockServer::forget_blocks(StoredArray& array) {
  array.sums.clear();
  array.index.clear();
  array.accesses.clear();
  store_.clear(array.blocks);
}

void BlockServer::get(StoredArray& array, const Message& message) {
  const RecordId id = array.index.find_or_add(message.number);
  if (!enter_access(array, id, BlockAccess::get, message)) return;
  if (!array.blocks.present(id)) return answer(message, MessageKind::absent);
  auto block = store_.lend(array.blocks, id);
  if (!block.ok()) return refuse(message, error_text(block.status(), "R10"));
  Message reply = answer_to(message, MessageKind::data);
  reply.block = std::move(*block);
  exchange_.send(std::move(reply));
}

// A prefetch is no access, so it meets no race; the touch that follows when the block is used does.
void BlockServer::prefetch(StoredArray& array, const Message& message) {
  const RecordId id = array.index.find(message.number);
  // Sums of this epoch are nobody's to read, except where one worker alone uses the block.
  // A request of the look-ahead may arrive after a barrier, when others touch the block again.
  const std::uint64_t epoch = std::max(message.epoch, array.accesses.epoch());
  const BlockAccesses* const now = array.accesses.find(id, epoch);
  const bool complete = now == nullptr || (now->worker == message.from &&
                                           now->state != AccessState::accumulated_by_many);
  if (id != kNoRecord && complete && !settle(array, id, message)) return;
  Message reply = answer_to(message, MessageKind::absent);
  if (message.generation == array.generation && id != kNoRecord && array.blocks.present(id)) {
    auto block = store_.lend(array.blocks, id);
    if (!block.ok()) return refuse(message, error_text(block.status(), "R10"));
    reply.kind = MessageKind::data;
    reply.block = std::move(*block);
  }
  reply.ahead = true;
  exchange_.send(std::move(reply));
}

void BlockServer::write(StoredArray& array, const Message& message) {
  const RecordId block = array.index.find_or_add(message.number);
  const BlockAccess access = access_of(message.kind);
  if (!enter_access(array, block, access, message)) return;
  const bool sums = options_.deterministic && access == BlockAccess::accumulate;
  const Status applied = sums ? array.sums.add(message, scratch_) : apply(array, block, message);
  if (!applied.ok()) return refuse(message, error_text(applied, "R03"));
  answer(message, MessageKind::done);
}

// Returns the block that a message changes. A block that was never put begins with zeros.
Result<View> BlockServer::target_of(StoredArray& array, RecordId block, const Message& message) {
  if (array.blocks.present(block) && message.kind != MessageKind::fill) {
    return store_.modify(array.blocks, block);
  }
  if (message.kind == MessageKind::scale) {
    return Status(Code::invalid_argument, "the block was never put, so it cannot be scaled");
  }
  const Shape& shape = message.block != nullptr ? message.block->shape() : message.shape;
  return made_of_zeros(array, block, shape);
}

Result<View> BlockServer::made_of_zeros(StoredArray& array, RecordId block, const Shape& shape) {
  OB_ASSIGN_OR_RETURN(const View made, store_.replace(array.blocks, block, shape));
  fill(made, 0.0, Assign::set);
  return made;
}

Status BlockServer::apply(StoredArray& array, RecordId block, const Message& message) {
  if (message.kind == MessageKind::put) {
    // The block lies in the memory of its sender or of the exchange, and this server has a limit.
    const Block& from = *message.block;
    OB_ASSIGN_OR_RETURN(const View made, store_.replace(array.blocks, block, from.shape()));
    std::memcpy(made.data, from.data(), from.bytes());
    return {};
  }
  OB_ASSIGN_OR_RETURN(const View target, target_of(array, block, message));
  switch (message.kind) {
    case MessageKind::accumulate:
      if (message.block->elements() != target.elements()) {
        return {Code::invalid_argument, "the block has another shape"};
      }
      return copy(target, view_of(*message.block), message.factor, Assign::add, scratch_);
    case MessageKind::fill: fill(target, message.factor, Assign::set); break;
    case MessageKind::add: fill(target, message.factor, Assign::add); break;
    default: fill(target, message.factor, Assign::multiply); break;
  }
  return {};
}

void BlockServer::save(StoredArray& array, const Message& message) {
  for (const std::uint64_t number : array.sums.numbers()) {
    const Status settled = settle_block(array, array.index.find_or_add(number));
    if (!settled.ok()) return refuse(message, error_text(settled, "R10"));
  }
  std::vector<std::uint64_t> present;
  array.blocks.for_each_present([&](RecordId id) { present.push_back(array.blocks.number(id)); });
  std::ranges::sort(present);
  const Status written = write_block_file(message.text, present, [&](std::uint64_t number) {
    return store_.peek(array.blocks, array.index.find(number));
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
                                 store_.adopt(array.blocks, array.index.find_or_add(number),
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
