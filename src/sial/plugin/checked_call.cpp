#include "sial/plugin/checked_call.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "base/aligned_memory.hpp"
#include "base/checksum.hpp"
#include "sial/builtins/arguments.hpp"

namespace ob::sial {
namespace {

constexpr std::size_t kGuardWords = 64;  // on both sides; a multiple of 8 keeps the alignment
constexpr std::int64_t kGapWords = 8;    // between columns
// Two NaNs that no computation has as its result.
constexpr std::uint64_t kGuardBits = 0x7ff8a55a12345678;
constexpr std::uint64_t kUnwrittenBits = 0x7ff85aa587654321;

std::string argument_text(Arguments arguments, std::size_t number) {
  const CallArgument& argument = arguments[number];
  std::string text = "argument " + std::to_string(number + 1) + " (" + argument.intent;
  if (!argument.name.empty()) text += ", " + argument.name;
  return text + ")";
}

// A watched argument.
struct Watched {
  View block;                         // of the worker
  std::shared_ptr<std::byte> memory;  // of the guarded copy; nullptr: there is none
  std::size_t words = 0;
  View copy;
  std::uint64_t digest = 0;  // of an r argument
};

bool has_gaps(const View& view) noexcept {
  std::int64_t dense = 1;
  for (unsigned d = 0; d < view.rank; ++d) {
    if (view.extents[d] != 1 && view.strides[d] != dense) return true;
    dense *= view.extents[d];
  }
  return false;
}

std::uint64_t digest_of(const View& view) {
  const std::vector<double> elements = elements_of(view);
  return checksum(std::as_bytes(std::span(elements)));
}

std::span<double> words_of(const Watched& watched) {
  return {reinterpret_cast<double*>(watched.memory.get()), watched.words};
}

Status guard(Watched& watched, bool strides, bool unwritten) {
  View& copy = watched.copy;
  std::int64_t stride = 1, span = 1;
  for (unsigned d = 0; d < copy.rank; ++d) {
    copy.strides[d] = stride;
    span += (copy.extents[d] - 1) * stride;
    stride = stride * copy.extents[d] + (strides ? kGapWords : 0);
  }
  watched.words = 2 * kGuardWords + static_cast<std::size_t>(span);
  OB_ASSIGN_OR_RETURN(watched.memory, aligned_memory(watched.words * sizeof(double)));
  std::ranges::fill(words_of(watched), std::bit_cast<double>(kGuardBits));
  copy.data = words_of(watched).data() + kGuardWords;
  std::vector<double> elements = elements_of(watched.block);
  if (unwritten) std::ranges::fill(elements, std::bit_cast<double>(kUnwrittenBits));
  store_elements(copy, elements);
  return {};
}

// Looks at the copy after the call, and stores its elements into the block.
Status release(const Watched& watched, const std::string& what) {
  const std::vector<double> elements = elements_of(watched.copy);
  for_each_element(watched.copy, [](const auto&, double& element) {
    element = std::bit_cast<double>(kGuardBits);
  });
  const auto differs = [](double word) { return std::bit_cast<std::uint64_t>(word) != kGuardBits; };
  if (std::ranges::any_of(words_of(watched), differs)) {
    return {Code::invalid_argument, "the function writes outside of " + what};
  }
  const auto left = std::ranges::find_if(elements, [](double element) {
    return std::bit_cast<std::uint64_t>(element) == kUnwrittenBits;
  });
  if (left != elements.end()) {
    return {Code::invalid_argument, "the function leaves element " +
                                        std::to_string(left - elements.begin() + 1) + " of " +
                                        what + " unwritten, and it promises to overwrite all"};
  }
  store_elements(watched.block, elements);
  return {};
}

// True if two arguments have an object, or a part of one, in common.
bool overlap(const CallArgument& one, const CallArgument& other) {
  if (one.kind != other.kind) return false;
  if (one.kind == ArgumentKind::scalar) return one.scalar == other.scalar;
  if (one.kind == ArgumentKind::integer) return one.integer == other.integer;
  if (one.kind != ArgumentKind::block || one.name != other.name) return false;
  for (unsigned d = 0; d < one.view.rank; ++d) {
    const std::int64_t from = std::max(one.first_elements[d], other.first_elements[d]);
    const std::int64_t to = std::min(one.first_elements[d] + one.view.extents[d],
                                     other.first_elements[d] + other.view.extents[d]);
    if (from >= to) return false;
  }
  return true;
}

Status check_distinct(Arguments arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (arguments[i].intent == 'r' && arguments[j].intent == 'r') continue;
      if (!overlap(arguments[i], arguments[j])) continue;
      return {Code::invalid_argument, argument_text(arguments, j) + " and " +
                                          argument_text(arguments, i) +
                                          " are the same (one is written); pass a copy"};
    }
  }
  return {};
}

}  // namespace

Status checked_call(const KnownFunction& known, CallContext& context,
                    std::span<CallArgument> arguments) {
  OB_RETURN_IF_ERROR(check_distinct(arguments));
  std::vector<Watched> all(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    CallArgument& argument = arguments[i];
    if (argument.kind != ArgumentKind::block) continue;
    Watched& watched = all[i];
    watched.block = watched.copy = argument.view;
    if (argument.intent == 'r') {
      // A function without strides gets a copy of a block with gaps, which would hide its writes.
      if (!known.takes_strides && has_gaps(watched.block)) {
        OB_RETURN_IF_ERROR(guard(watched, false, false));
        argument.view = watched.block = watched.copy;
      }
      watched.digest = digest_of(watched.block);
      continue;
    }
    OB_RETURN_IF_ERROR(guard(watched, known.takes_strides && has_gaps(watched.block),
                             known.overwrites && argument.intent == 'w'));
    argument.view = watched.copy;
  }
  OB_RETURN_IF_ERROR(known.function(context, arguments));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind != ArgumentKind::block) continue;
    const std::string what = argument_text(arguments, i);
    if (arguments[i].intent == 'r' && digest_of(all[i].block) != all[i].digest) {
      return {Code::invalid_argument, "the function changes " + what + ", which it may only read"};
    }
    if (all[i].memory != nullptr) OB_RETURN_IF_ERROR(release(all[i], what));
  }
  return {};
}

}  // namespace ob::sial
