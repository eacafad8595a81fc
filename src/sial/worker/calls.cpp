// Super-instructions: their arguments and their calls.

#include <algorithm>
#include <utility>

#include "sial/operations/elements.hpp"
#include "sial/plugin/checked_call.hpp"
#include "sial/worker/worker.hpp"

namespace ob::sial {
namespace {

// Read-only arguments have the type of the others. The function promises not to write to them.
View promised_read_only(const ConstView& view) noexcept {
  return {const_cast<double*>(view.data),
          view.rank,
          view.extents,
          view.strides,
          view.labels,
          view.simple};
}

}  // namespace

Worker::Step Worker::execute_call() {
  const Instruction& now = instruction();
  switch (now.op) {
    case Opcode::argument_block: return block_argument();
    case Opcode::argument_array: return array_argument();
    case Opcode::argument_region: return region_argument();
    case Opcode::execute: return call_function();
    default: break;
  }
  CallArgument argument;
  argument.kind = ArgumentKind::scalar;
  switch (now.op) {
    case Opcode::argument_scalar: argument.scalar = &scalars_[now.a]; break;
    case Opcode::argument_scalar_constant:
      argument.literal = program_.scalar_constants[now.a];
      break;
    case Opcode::argument_int:
      argument.kind = ArgumentKind::integer;
      argument.integer = &ints_[now.a];
      break;
    case Opcode::argument_index:
      argument.kind = ArgumentKind::integer;
      argument.int_literal = values_[now.a];
      break;
    case Opcode::argument_int_constant:
      argument.kind = ArgumentKind::integer;
      argument.int_literal = program_.int_constants[now.a];
      break;
    case Opcode::argument_string:
      argument.kind = ArgumentKind::text;
      argument.text = program_.strings[now.a];
      break;
    default: return fail("internal: an instruction is out of place");
  }
  arguments_.push_back(std::move(argument));
  return Step::next;
}

// Returns the super-instruction of the `execute` that follows.
const SuperInstruction& Worker::next_called() const {
  std::uint32_t at = at_;
  while (code_[at].op != Opcode::execute) ++at;
  return program_.super_instructions[code_[at].a];
}

// Returns the intent of its next argument.
char Worker::next_intent() const { return next_called().intents[arguments_.size()]; }

// Returns nullptr if the job has no such super-instruction.
const KnownFunction* Worker::known_function(const std::string& name) const {
  if (setting_.functions == nullptr) return nullptr;
  const auto found = setting_.functions->find(name);
  return found == setting_.functions->end() ? nullptr : &found->second;
}

// Sets a w argument to zero, unless the function writes all of it.
void Worker::clear(const CallArgument& argument) {
  if (argument.intent != 'w') return;
  const KnownFunction* const known = known_function(next_called().name);
  if (known == nullptr || known->overwrites) return;
  fill(argument.view, 0.0, Assign::set);
}

Worker::Step Worker::block_argument() {
  BlockPlace place;
  if (const Status found = geometry_.resolve(instruction().a, values_, place); !found.ok()) {
    return fail(found);
  }
  CallArgument argument;
  argument.intent = next_intent();
  argument.name = program_.arrays[place.array].name;
  argument.segments = place.segments;
  for (unsigned d = 0; d < place.shape.rank; ++d) {
    argument.first_elements[d] =
        geometry_.first_element(place.array, d, place.segments[d]) + place.part_offsets[d];
  }
  if (argument.intent == 'r') {
    ConstView view;
    if (const Step found = operand_at(place, view); found != Step::next) return found;
    argument.view = promised_read_only(view);
  } else {
    const Step found = destination_at(place, argument.intent == 'u', argument.view);
    if (found != Step::next) return found;
    clear(argument);
  }
  arguments_.push_back(std::move(argument));
  return Step::next;
}

Worker::Step Worker::array_argument() {
  const std::uint32_t array = instruction().a;
  CallArgument argument;
  argument.intent = next_intent();
  argument.name = program_.arrays[array].name;
  argument.array = array;
  if (program_.arrays[array].storage != Storage::static_) {
    const KnownFunction* const known = known_function(next_called().name);
    if (known != nullptr && known->task == WorkerTask::none) {
      return fail("R08 " + argument.name +
                  " is passed as a whole, which only blocks_to_list and list_to_blocks take");
    }
    argument.kind = ArgumentKind::array;
    arguments_.push_back(std::move(argument));
    return Step::next;
  }
  Block& whole = *store_.whole_static(array);
  argument.view = view_of(whole);
  for (unsigned d = 0; d < argument.view.rank; ++d) {
    argument.segments[d] = geometry_.lowest(array, d);
    argument.first_elements[d] = geometry_.first_element(array, d, argument.segments[d]);
  }
  clear(argument);
  arguments_.push_back(std::move(argument));
  return Step::next;
}

Worker::Step Worker::region_argument() {
  const std::uint32_t array = instruction().a;
  const std::size_t count = 2 * program_.arrays[array].indices.size();
  std::array<std::int64_t, 2 * kMaxRank> bounds{};
  for (std::size_t i = 0; i < count; ++i) bounds[i] = stack_[depth_ - count + i].i;
  if (auto checked = geometry_.region(array, bounds.data()); !checked.ok()) {
    return fail(checked.status());
  }
  LocalRegion* region = store_.region_around(array, bounds.data());
  if (region == nullptr) {
    return fail("R06 the region of " + program_.arrays[array].name +
                " lies in no allocated region");
  }
  CallArgument argument;
  argument.intent = next_intent();
  argument.name = program_.arrays[array].name;
  argument.view = store_.region_view(array, *region, bounds.data());
  for (unsigned d = 0; d < argument.view.rank; ++d) {
    argument.segments[d] = bounds[2 * d];
    argument.first_elements[d] = geometry_.first_element(array, d, bounds[2 * d]);
  }
  clear(argument);
  depth_ -= count;
  arguments_.push_back(std::move(argument));
  return Step::next;
}

Worker::Step Worker::call_function() {
  const SuperInstruction& special = program_.super_instructions[instruction().a];
  const KnownFunction* const known = known_function(special.name);
  if (known == nullptr) return fail("R08 " + no_function(special.name));
  if (known->task != WorkerTask::none) return list_statement(known->task);
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    CallArgument& argument = arguments_[i];
    argument.intent = special.intents[i];
    if (argument.kind == ArgumentKind::scalar && argument.scalar == nullptr) {
      argument.scalar = &argument.literal;
    }
    if (argument.kind == ArgumentKind::integer && argument.integer == nullptr) {
      argument.integer = &argument.int_literal;
    }
  }
  CallContext context;
  context.rank = rank_;
  context.workers = setting_.workers;
  context.line = program_.lines[at_].line;
  context.program = program_.name;
  context.blocks = &inventory_;
  if (setting_.saved != nullptr) context.folder = setting_.saved->folder();
  context.print_all = &print_all_;
  context.print = [this](const std::string& text) {
    if (prints() && setting_.print) setting_.print(text);
  };
  if (setting_.last_line != nullptr) setting_.last_line->set_call(special.name);
  const Status called = setting_.check ? checked_call(*known, context, arguments_)
                                       : known->function(context, arguments_);
  if (setting_.last_line != nullptr) setting_.last_line->set_call("");
  arguments_.clear();
  if (!called.ok()) return fail("R08 " + special.name + ": " + called.message());
  return Step::next;
}

}  // namespace ob::sial
