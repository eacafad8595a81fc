#pragma once
// Calls of built-in super-instructions with arguments that tests make.

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "sial/builtins/builtins.hpp"

namespace ob::sial::test {

/// A block with a gap behind each column, as a part of a larger array has; the gaps are poison.
struct Operand {
  Operand(std::vector<std::int64_t> sizes, std::vector<std::int64_t> first_elements = {}) {
    view.rank = static_cast<unsigned>(sizes.size());
    std::int64_t stride = 1;
    for (unsigned d = 0; d < view.rank; ++d) {
      view.extents[d] = sizes[d];
      view.strides[d] = stride;
      stride *= sizes[d] + 1;
      first[d] = d < first_elements.size() ? first_elements[d] : 1;
    }
    memory.assign(static_cast<std::size_t>(stride), kPoison);
  }
  CallArgument argument() {
    CallArgument made;
    made.kind = ArgumentKind::block;
    made.view = view;
    made.view.data = memory.data();
    made.first_elements = first;
    return made;
  }
  double& operator()(std::int64_t i, std::int64_t j = 0, std::int64_t k = 0, std::int64_t l = 0) {
    const auto& s = view.strides;
    return memory[static_cast<std::size_t>(i * s[0] + j * s[1] + k * s[2] + l * s[3])];
  }
  /// Draws the elements from [-1, 1].
  void draw(std::mt19937_64& random) {
    std::uniform_real_distribution<double> value(-1, 1);
    for_each([&](double& element) { element = value(random); });
  }
  template <class Body>
  void for_each(Body&& body) {
    std::int64_t total = view.elements();
    for (std::int64_t n = 0; n < total; ++n) {
      std::int64_t rest = n;
      std::int64_t at = 0;
      for (unsigned d = 0; d < view.rank; ++d) {
        at += rest % view.extents[d] * view.strides[d];
        rest /= view.extents[d];
      }
      body(memory[static_cast<std::size_t>(at)]);
    }
  }
  /// The number of poisoned places: it stays the number of gaps.
  std::int64_t gaps() const {
    std::int64_t count = 0;
    for (const double element : memory) count += element == kPoison ? 1 : 0;
    return count;
  }
  bool gaps_intact() const {
    return gaps() == static_cast<std::int64_t>(memory.size()) - view.elements();
  }

  static constexpr double kPoison = -987654321.0;
  View view;
  std::array<std::int64_t, kMaxRank> first{};
  std::vector<double> memory;
};

inline CallArgument number(double& value) {
  CallArgument argument;
  argument.kind = ArgumentKind::scalar;
  argument.scalar = &value;
  return argument;
}

inline CallArgument number(std::int64_t& value) {
  CallArgument argument;
  argument.kind = ArgumentKind::integer;
  argument.integer = &value;
  return argument;
}

inline CallArgument text(const std::string& value) {
  CallArgument argument;
  argument.kind = ArgumentKind::text;
  argument.text = value;
  return argument;
}

/// Calls a super-instruction of the table with these arguments.
inline Status call(const SuperFunctions& functions, const std::string& name,
                   std::vector<CallArgument> arguments, CallContext context = {}) {
  const auto found = functions.find(name);
  if (found == functions.end()) return {Code::internal, "there is no " + name};
  if (found->second.intents.size() != arguments.size()) {
    return {Code::internal, name + " takes another number of arguments"};
  }
  return found->second.function(context, arguments);
}

}  // namespace ob::sial::test
