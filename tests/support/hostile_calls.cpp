#include "support/hostile_calls.hpp"

#include <cstring>
#include <sstream>
#include <string_view>
#include <utility>

#include "routines/random_problem.hpp"
#include "support/call_damages.hpp"
#include "support/choices.hpp"

namespace ob::test {
namespace {

// The order of a call: most are small, some use the blocked code of libraries.
std::int64_t largest_of(Choices& choices) {
  constexpr std::int64_t kLargest[] = {3, 6, 6, 9, 12, 40};
  return choices.of(kLargest);
}

// Moves a problem's operands to the session's buffers, one each.
void place(const Problem& problem, const HostileBuffers& buffers, HostileCall& call) {
  const Descriptor& routine = *problem.routine;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    call.arguments[i] = problem.arguments[i];
    if (!is_memory(routine.kinds[i])) continue;
    const BufferId buffer = buffers.operands[i];
    const std::int64_t ld = has_ld(routine.kinds[i]) ? problem.lds[i] : 0;
    call.arguments[i].device = {buffer, 0, ld == INT64_MAX ? 1 << 20 : ld};
    const std::vector<unsigned char>& memory = problem.memory[i];
    if (memory.size() > HostileBuffers::kBytes || memory.empty()) continue;
    const auto* from = reinterpret_cast<const std::byte*>(memory.data());
    call.contents.push_back({buffer, 0, {from, from + memory.size()}});
  }
}

// Rows with conditions on elements: few, and the most dangerous ones.
const std::vector<const Descriptor*>& rows_with_conditions() {
  static const std::vector<const Descriptor*> rows = [] {
    std::vector<const Descriptor*> found;
    for (const Descriptor& row : routines::all()) {
      for (std::size_t i = 0; i < row.kinds.size(); ++i) {
        const std::string_view values = row.values[i];
        if (is_memory(row.kinds[i]) && !values.empty() && values != "any") {
          found.push_back(&row);
          break;
        }
      }
    }
    return found;
  }();
  return rows;
}

void make_call(Choices& choices, const HostileBuffers& buffers, HostileCall& call) {
  const auto rows = routines::all();
  const auto operations = routines::device_operations();
  const auto& conditional = rows_with_conditions();
  call.routine = choices.chance(96)   ? conditional[choices.below(conditional.size())]
                 : choices.chance(16) ? &operations[choices.below(operations.size())]
                                      : &rows[choices.below(rows.size())];
  call.text = call.routine->name;
  const std::int64_t largest = largest_of(choices);
  std::mt19937_64 random(choices.word());
  place(random_problem(*call.routine, random, largest), buffers, call);
  // Most have one damage, because the first that is found hides the others.
  constexpr std::size_t kDamages[] = {0, 1, 1, 1, 1, 1, 2, 3};
  damage_call(call, buffers, choices, choices.of(kDamages));
}

FftPlan small_plan(Choices& choices) {
  FftPlan plan;
  plan.kind = static_cast<FftKind>(choices.below(kFftKinds));
  plan.precision = choices.chance(128) ? Precision::z : Precision::c;
  plan.sign = choices.chance(128) ? std::int8_t{-1} : std::int8_t{1};
  if (plan.kind == FftKind::r2c) plan.sign = -1;
  if (plan.kind == FftKind::c2r) plan.sign = 1;
  plan.in_place = choices.chance(128);
  plan.rank = static_cast<std::uint8_t>(choices.below(4));
  if (plan.rank == 0 && plan.kind != FftKind::c2c) plan.rank = 1;
  for (std::size_t i = 0; i < plan.rank; ++i) {
    plan.n[i] = 1 + choices.below(9);
    plan.real[i] = static_cast<RealTransform>(choices.below(11));
  }
  plan.batch = 1 + choices.below(3);
  return plan;
}

void damage_plan(Choices& choices, FftPlan& plan) {
  constexpr std::uint64_t kSizes[] = {0,          1,          2,          1 << 10,    8191,
                                      1 << 20,    1ULL << 31, 1ULL << 32, 1ULL << 61, 1ULL << 62,
                                      1ULL << 63, UINT64_MAX, 1000003,    16384};
  switch (choices.below(6)) {
    case 0: plan.n[choices.below(3)] = choices.of(kSizes); break;
    case 1: plan.batch = choices.of(kSizes); break;
    case 2: plan.rank = static_cast<std::uint8_t>(choices.below(8)); break;
    case 3: plan.sign = static_cast<std::int8_t>(choices.below(4)) - 2; break;
    case 4: plan.real[choices.below(3)] = static_cast<RealTransform>(choices.below(11)); break;
    default: plan.kind = static_cast<FftKind>(choices.below(kFftKinds)); break;
  }
}

void damage_arrays(Choices& choices, const HostileBuffers& buffers, HostileCall& call) {
  constexpr std::uint64_t kOffsets[] = {4,     8,          16,         1,        32752,
                                        32768, 1ULL << 32, 1ULL << 63, 0 - 8ULL, 32760};
  BufferRef& array = choices.chance(128) ? call.input : call.output;
  switch (choices.below(4)) {
    case 0: array.offset_bytes = choices.of(kOffsets); break;
    case 1:
      call.output = {call.input.buffer, call.input.offset_bytes + choices.of(kOffsets)};
      break;
    case 2: array.buffer = choices.chance(128) ? buffers.foreign : buffers.freed; break;
    default: array.buffer = buffers.doomed; call.frees_doomed = true;
  }
}

void make_transform(Choices& choices, const HostileBuffers& buffers, HostileCall& call) {
  call.text = "transform";
  call.plan = small_plan(choices);
  if (choices.chance(110)) {
    damage_plan(choices, call.plan);
    call.text += ", a plan";
  }
  call.input = {buffers.operands[0], 0};
  call.output = call.plan.in_place ? call.input : BufferRef{buffers.operands[1], 0};
  if (choices.chance(110)) {
    damage_arrays(choices, buffers, call);
    call.text += ", arrays";
  }
  std::vector<std::byte> numbers(4096);
  const std::uint64_t word = odd_number(choices);
  for (std::size_t at = 0; at < numbers.size(); at += sizeof word)
    std::memcpy(numbers.data() + at, &word, sizeof word);
  call.contents.push_back({buffers.operands[0], 0, std::move(numbers)});
}

}  // namespace

HostileCall hostile_call(std::span<const std::byte> bytes, const HostileBuffers& buffers) {
  Choices choices(bytes);
  HostileCall call;
  if (choices.chance(24)) {
    make_transform(choices, buffers, call);
  } else {
    make_call(choices, buffers, call);
  }
  return call;
}

std::string description(const HostileCall& call) {
  std::ostringstream text;
  text << call.text << ":";
  for (std::size_t i = 0; call.routine != nullptr && i < call.routine->kinds.size(); ++i) {
    const Argument& argument = call.arguments[i];
    const Kind kind = call.routine->kinds[i];
    text << " " << call.routine->argument_names[i] << "=";
    if (is_memory(kind)) {
      text << "[" << argument.device.buffer.value << "+" << argument.device.offset_bytes << " ld "
           << argument.device.ld << "]";
    } else if (kind == Kind::flag) {
      text << argument.flag;
    } else if (kind == Kind::dim) {
      text << argument.dim;
    } else {
      text << argument.scalar.re;
    }
  }
  if (call.routine != nullptr) return text.str();
  const FftPlan& plan = call.plan;
  text << " kind " << static_cast<int>(plan.kind) << " precision "
       << static_cast<int>(plan.precision) << " sign " << int{plan.sign} << " batch " << plan.batch
       << (plan.in_place ? " in place" : "") << " n";
  for (std::size_t i = 0; i < plan.rank; ++i)
    text << " " << plan.n[i] << "/" << static_cast<int>(plan.real[i]);
  text << " [" << call.input.buffer.value << "+" << call.input.offset_bytes << "] ["
       << call.output.buffer.value << "+" << call.output.offset_bytes << "]";
  return text.str();
}

}  // namespace ob::test
