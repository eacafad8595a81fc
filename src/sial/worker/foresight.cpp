// The worker's part of the look-ahead: it evaluates loops and conditions for iterations to come.

#include <string_view>
#include <utility>

#include "sial/code/instruction_table.hpp"
#include "sial/worker/worker.hpp"

namespace ob::sial {

// Requests of the look-ahead leave after those of all gets that stand together.
void Worker::look_ahead() {
  const std::int64_t now = steady_ns();
  const std::uint32_t at = at_;
  const std::size_t depth = depth_;
  for (const Foreseen& get : due_) {
    look_ahead_.after_get(get.access, get.number, loops_, values_, now);
  }
  due_.clear();
  at_ = at;
  depth_ = depth;
  failure_.clear();  // the interpreter meets the error itself if it gets there
}

std::optional<std::uint64_t> Worker::fetch_ahead(std::uint32_t access) {
  BlockPlace place;
  const bool found = geometry_.resolve(program_.accesses[access].selector, values_, place).ok();
  if (!found || !fetched_.has_room()) return std::nullopt;
  FetchedBlock& fetched = fetched_.entry(place.array, place.number);
  if (fetched.request == 0) {
    request_block(place, fetched, access, true);
  }
  return place.number;
}

bool Worker::reaches(std::uint32_t from, std::uint32_t to) {
  const std::uint32_t at = at_;
  const std::size_t depth = depth_;
  at_ = from;
  bool known = true;
  while (at_ < to && foresee_step(to, known)) {
  }
  const bool reached = at_ == to;
  at_ = at;
  depth_ = depth;
  return reached;
}

// Follows one instruction without its effects. `known`: the values on the stack are those that the
// program will have. Returns false where nobody knows how it goes on.
bool Worker::foresee_step(std::uint32_t to, bool& known) {
  const Instruction& now = instruction();
  const auto forward = [&](std::uint32_t target) {
    const bool goes_on = at_ < target && target <= to;
    if (goes_on) at_ = target;
    return goes_on;
  };
  switch (now.op) {
    case Opcode::jump: return forward(now.a);
    case Opcode::jump_if_false:
      if (!known) return false;
      return forward(pop_int() != 0 ? at_ + 1 : now.a);
    case Opcode::loop_begin: return forward(program_.loops[now.a].end + 1);
    default: break;
  }
  const InstructionRow& row = *find_row(now.op);
  const auto op = static_cast<std::uint16_t>(now.op);
  if (!row.falls_through || op < 0x10 || (op >= 0x60 && op < 0x70)) return false;
  const bool reads_blocks = now.op == Opcode::push_element || now.op == Opcode::push_contraction;
  if (is_expression(now.op) && !reads_blocks) {
    if (execute_expression() != Step::next) return false;
    ++at_;
    return true;
  }
  if (std::string_view(row.pops).find('R') != std::string_view::npos) return false;
  depth_ -= std::string_view(row.pops).size();
  for (const char type : std::string_view(row.pushes)) {
    known = false;
    type == 'i' ? push_int(0) : push_scalar(0);
  }
  if (depth_ == 0) known = true;
  ++at_;
  return true;
}

}  // namespace ob::sial
