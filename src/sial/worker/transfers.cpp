// Gets, puts and deletes of distributed blocks.

#include <algorithm>
#include <utility>

#include "sial/operations/copy.hpp"
#include "sial/worker/worker.hpp"

namespace ob::sial {

Worker::Step Worker::execute_transfer() {
  switch (instruction().op) {
    case Opcode::get: return get();
    case Opcode::put_block: return put_block();
    case Opcode::put_scalar: return put_scalar();
    case Opcode::create: return Step::next;
    case Opcode::delete_: return delete_array();
    default: return fail("internal: an instruction is out of place");
  }
}

// Returns a message to one of all servers, about its blocks of an array.
Message Worker::message_about_array(MessageKind kind, std::uint32_t array, Rank server) {
  Message message;
  message.kind = kind;
  message.from = rank_;
  message.to = setting_.workers + server;
  message.request = next_request_++;
  message.array = array;
  message.generation = generations_[array];
  message.number = server;
  message.epoch = epoch_;
  message.instruction = at_;
  message.iteration = iteration_;
  return message;
}

// Returns a message about a block.
Message Worker::message_to_server(MessageKind kind, std::uint32_t array, std::uint64_t number) {
  Message message = message_about_array(kind, array, placement_.server_of(array, number));
  message.number = number;
  return message;
}

Worker::Step Worker::get() {
  BlockPlace place;
  if (const Status found = geometry_.resolve(instruction().a, values_, place); !found.ok()) {
    return fail(found);
  }
  due_.push_back({instruction().b, place.number});
  FetchedBlock& fetched = fetched_.entry(place.array, place.number);
  const bool asked = fetched.pending || fetched.request != 0;
  const bool first = fetched.epoch == FetchedBlock::kNever;
  if (!fetched.granted) {
    fetched.granted = true;
    if (!loops_.empty()) {
      if (granted_.size() < loops_.size()) granted_.resize(loops_.size());
      granted_[loops_.size() - 1].emplace_back(place.array, place.number);
    }
  }
  if (asked && fetched.epoch == epoch_) return Step::next;
  fetched.epoch = epoch_;
  fetched.instruction = at_;
  if (!asked || first) pending_.emplace_back(place.array, place.number);
  if (!asked) {
    request_block(place, fetched, instruction().b, false);
    return Step::next;
  }
  // The block was fetched ahead, or in an earlier epoch and nobody has changed the array since. The
  // server must know of the access all the same, to find races.
  ++open_requests_;
  exchange_.send(message_to_server(MessageKind::touch, place.array, place.number));
  return Step::next;
}

void Worker::request_block(const BlockPlace& place, FetchedBlock& fetched, std::uint32_t access,
                           bool ahead) {
  const MessageKind kind = ahead ? MessageKind::prefetch : MessageKind::get;
  Message message = message_to_server(kind, place.array, place.number);
  message.instruction = program_.accesses[access].instruction;
  fetched.pending = true;
  fetched.request = message.request;
  fetched.ahead = ahead;
  fetched.access = access;
  fetched.sent_ns = steady_ns();
  GetCounts& counts = counts_.gets[fetched.access];
  ++(ahead ? counts.ahead : counts.requests);
  ++open_fetches_;
  exchange_.send(std::move(message));
}

// Finds a block that a get of this iteration has fetched.
Worker::Step Worker::granted_block(const BlockPlace& place, ConstBlockPtr& block) {
  FetchedBlock* fetched = fetched_.find(place.array, place.number);
  if (fetched == nullptr || !fetched->granted) {
    return fail("R01 " + name_of(place) +
                " is used without a get (in this epoch and iteration); get it before");
  }
  if (fetched->pending) {
    if (fetched->wait_from_ns == 0) fetched->wait_from_ns = steady_ns();
    return Step::wait;
  }
  if (fetched->block == nullptr) {
    return fail("R01 " + name_of(place) + " is used, but was never put");
  }
  count_use(*fetched);
  block = fetched->block;
  return Step::next;
}

Worker::Step Worker::put_block() {
  const Instruction& now = instruction();
  BlockPlace place;
  if (const Status found = geometry_.resolve(now.a, values_, place); !found.ok()) {
    return fail(found);
  }
  if (!may_write(place, true)) return Step::wait;
  BlockPlace from;
  if (const Status found = geometry_.resolve(now.b, values_, from); !found.ok()) {
    return fail(found);
  }
  const auto how = static_cast<Assign>(now.x);
  ConstBlockPtr block;
  const BlockPtr* own = nullptr;
  if (program_.arrays[from.array].storage == Storage::temp ||
      program_.arrays[from.array].storage == Storage::local) {
    own = store_.find(from.array, from.number);
  }
  if (own != nullptr && (*own)->shape() == place.shape) {
    block = *own;         // the worker copies it before it changes it
    (void)block->data();  // the exchange sends what is in host memory
    if (device_failed()) return Step::failed;
  } else {
    ConstView source;
    if (const Step found = operand_at(from, source); found != Step::next) return found;
    auto copied = pool_.allocate(place.shape);
    if (!copied.ok()) return out_of_memory(copied.status());
    View target;
    Geometry::alone(place, (*copied)->data(), target);
    if (source.elements() != target.elements()) {
      return fail("R05 the block that is put has other extents than its place");
    }
    const Step done_copying = done(copy(target, source, 1.0, Assign::set, scratch_));
    if (done_copying != Step::next) return done_copying;
    block = std::move(*copied);
  }
  const auto kind = how == Assign::set ? MessageKind::put : MessageKind::accumulate;
  Message message = message_to_server(kind, place.array, place.number);
  message.factor = how == Assign::subtract ? -1.0 : 1.0;
  message.block = std::move(block);
  send_write(std::move(message));
  return Step::next;
}

Worker::Step Worker::put_scalar() {
  const Instruction& now = instruction();
  BlockPlace place;
  if (const Status found = geometry_.resolve(now.a, values_, place); !found.ok()) {
    return fail(found);
  }
  if (!may_write(place, false)) return Step::wait;
  const auto how = static_cast<Assign>(now.x);
  MessageKind kind = MessageKind::add;
  if (how == Assign::set) kind = MessageKind::fill;
  if (how == Assign::multiply) kind = MessageKind::scale;
  Message message = message_to_server(kind, place.array, place.number);
  message.shape = place.shape;
  message.factor = pop_scalar();
  if (how == Assign::subtract) message.factor = -message.factor;
  send_write(std::move(message));
  return Step::next;
}

// Says whether a write may leave now. If its block is large, the server is asked first.
bool Worker::may_write(const BlockPlace& place, bool with_block) {
  const Rank server = placement_.server_of(place.array, place.number);
  const std::uint64_t bytes =
      with_block ? static_cast<std::uint64_t>(place.shape.elements()) * sizeof(double) : 0;
  const OpenWrites::Next next = open_writes_.next(server, bytes);
  if (next == OpenWrites::Next::ask) {
    Message wish = message_to_server(MessageKind::ask_credit, place.array, place.number);
    wish.words = {bytes};
    exchange_.send(std::move(wish));
  }
  const bool waits = next != OpenWrites::Next::send;
  if (waits && !waits_for_credit_) ++counts_.credit_waits;
  waits_for_credit_ = waits;
  return !waits;
}

void Worker::send_write(Message message) {
  fetched_.forget(message.array, message.number);
  changed_[message.array] = true;
  ++open_requests_;
  const std::uint64_t bytes = message.block != nullptr ? message.block->bytes() : 0;
  open_writes_.sent(message.to - setting_.workers, message.request, bytes);
  if (setting_.trace != nullptr) trace_write_begin(message);
  exchange_.send(std::move(message));
}

Worker::Step Worker::delete_array() {
  const std::uint32_t array = instruction().a;
  ++generations_[array];
  fetched_.forget_all(array);
  changed_[array] = true;
  for (Rank server = 0; server < setting_.servers; ++server) {
    Message message = message_about_array(MessageKind::delete_array, array, server);
    ++open_requests_;
    exchange_.send(std::move(message));
  }
  return Step::next;
}

void Worker::receive(Message message) {
  switch (message.kind) {
    case MessageKind::data:
    case MessageKind::absent: take_answer(message); break;
    case MessageKind::done:
      --open_requests_;
      open_writes_.answered(message.from - setting_.workers, message.request);
      if (setting_.trace != nullptr) trace_write_end(message);
      break;
    case MessageKind::credit: open_writes_.granted(message.from - setting_.workers); break;
    case MessageKind::failure: take_failure(message); break;
    case MessageKind::contribution: {
      auto result = hub_->add(std::move(message));
      if (!result) break;
      if (result->kind == MessageKind::failure) {  // one report is enough
        take_failure(*result);
        break;
      }
      begin_checkpoint(*result);
      for (Rank worker = 0; worker < setting_.workers; ++worker) {
        Message copy = *result;
        copy.from = rank_;
        copy.to = worker;
        exchange_.send(std::move(copy));
      }
      break;
    }
    case MessageKind::chunk: take_chunk(message); break;
    case MessageKind::result: result_ = std::move(message); break;
    default: break;  // not for workers
  }
}

void Worker::take_answer(const Message& message) {
  const std::int64_t arrived = message.arrived_ns != 0 ? message.arrived_ns : steady_ns();
  const bool others = --open_fetches_ != 0;
  FetchedBlock* const fetched = fetched_.find(message.array, message.number);
  // A put or delete of this worker has made an older request void.
  if (fetched == nullptr || fetched->request != message.request) return;
  fetched->arrived_ns = arrived;
  look_ahead_.arrived(fetched->sent_ns, arrived, answers_overlap_);
  answers_overlap_ = others;
  if (setting_.trace != nullptr) trace_fetch(message, *fetched);
  fetched_.arrive(*fetched, message.block);
}

void Worker::take_failure(const Message& message) {
  if (!failure_.empty()) return;
  if (message.text == "R09") {
    failure_ = where_text(static_cast<std::uint32_t>(message.words[0])) +
               ": error R09 worker 0 waits here, worker " + std::to_string(message.words[2]) +
               " at " + where_text(static_cast<std::uint32_t>(message.words[1])) +
               "; all workers must execute the same barriers and collective statements";
    return;
  }
  failure_ = where_text(message.instruction) + ": error ";
  if (message.text == kOtherPardo) {
    failure_ += "R09 worker " + std::to_string(rank_) + " begins this pardo, worker " +
                std::to_string(message.words[1]) + " the one at " +
                where_text(static_cast<std::uint32_t>(message.words[0])) +
                "; all workers must execute the same pardos with the same ranges";
    return;
  }
  const Opcode op = code_[message.instruction].op;
  const bool of_block = op == Opcode::get || op == Opcode::put_block || op == Opcode::put_scalar;
  const std::string block =
      of_block ? name_of(message.array, geometry_.segments(message.array, message.number))
               : program_.arrays[message.array].name;
  if (message.text == "R02") {
    const bool other_worker = std::cmp_not_equal(message.words[1], rank_);
    failure_ +=
        "R02 worker " + std::to_string(rank_) + " accesses " + block + " while " +
        (other_worker ? "worker " + std::to_string(message.words[1]) : "another iteration of it") +
        " accesses it at " + where_text(static_cast<std::uint32_t>(message.words[0])) +
        (message.instruction == message.words[0] && op != Opcode::get
             ? " (both execute one statement); let one iteration put each block, or add with `+=`"
             : " (there is no barrier between the two); put a sip_barrier between them");
  } else {
    failure_ += message.text + " (" + block + ")";
  }
}

}  // namespace ob::sial
