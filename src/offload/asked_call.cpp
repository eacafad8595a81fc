#include "offload/asked_call.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

namespace ob::offload {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = error == std::errc() && end == text.data() + text.size();
  return all && value > 0 ? std::optional(value) : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text = text.substr(end + 1);
  }
}

std::string dimension_names(const Descriptor& routine) {
  std::string names;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.kinds[i] != Kind::dim) continue;
    names.append(names.empty() ? "" : ", ").append(routine.argument_names[i]);
  }
  return names;
}

// The position of the dimension that "NAME=2000" sets; empty if there is none.
std::optional<std::size_t> dimension_of(const Descriptor& routine, std::string_view name) {
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.kinds[i] == Kind::dim && routine.argument_names[i] == name) return i;
  }
  return std::nullopt;
}

// Flags get the first value of the table, dimensions that are 0 get the largest; alpha is 1 and
// beta is 0.
void complete_arguments(const Descriptor& routine, std::int64_t largest, Argument* arguments) {
  int scalars = 0;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    Argument& argument = arguments[i];
    const Kind kind = routine.kinds[i];
    if (kind == Kind::flag) {
      argument.flag = routine.values[i].empty() ? 'N' : routine.values[i].front();
    } else if (kind == Kind::dim) {
      argument.dim = argument.dim != 0 ? argument.dim : largest;
    } else if (kind == Kind::scalar || kind == Kind::real_scalar) {
      argument.scalar = {scalars++ == 0 ? 1.0 : 0.0, 0};
    } else if (is_memory(kind)) {
      argument.host = {nullptr, largest};
    }
  }
}

// "2000", or "m=2000,n=64".
void read_dimensions(std::string_view sizes, AskedCall& asked) {
  const Descriptor& routine = *asked.routine;
  Argument* const arguments = asked.arguments.items;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.kinds[i] == Kind::dim) arguments[i].dim = 0;
  }
  std::int64_t largest = 0;
  for (const std::string_view part : split(sizes, ',')) {
    const std::size_t equals = part.find('=');
    const bool is_named = equals != std::string_view::npos;
    const auto value = whole_number(is_named ? part.substr(equals + 1) : part);
    const auto at = is_named ? dimension_of(routine, part.substr(0, equals)) : std::nullopt;
    if (!value || (is_named && !at)) {
      asked.wrong.append("'").append(part).append("' is no size of ").append(routine.name);
      asked.wrong.append(" (write 2000, or NAME=2000 with names of ");
      asked.wrong.append(dimension_names(routine)).append(")");
      return;
    }
    if (at) arguments[*at].dim = *value;
    largest = std::max(largest, *value);
  }
  complete_arguments(routine, largest, arguments);
}

// 8 PiB with 16 bytes per element, more than any machine has. Below it no size overflows, and the
// searches for divisors in work_of() take at most some 10^8 steps: sqrt(n) for a prime n, and
// sqrt(4 n) for the convolution that computes its transform.
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 49;

// "1048576", "512x512", "256*100".
void read_points(std::string_view sizes, AskedCall& asked) {
  const auto by_batch = split(sizes, '*');
  const auto edges = split(by_batch.front(), 'x');
  const auto batch =
      by_batch.size() == 2 ? whole_number(by_batch.back()) : std::optional(std::int64_t{1});
  bool good = batch && by_batch.size() <= 2 && edges.size() <= FftPlan::kMaxRank;
  for (std::size_t i = 0; i < edges.size() && good; ++i) {
    const auto edge = whole_number(edges[i]);
    good = edge.has_value();
    asked.plan.n[i] = static_cast<std::uint64_t>(edge.value_or(1));
  }
  asked.plan.rank = static_cast<std::uint8_t>(edges.size());
  asked.plan.batch = static_cast<std::uint64_t>(batch.value_or(1));
  if (!good) {
    asked.wrong.append("'").append(sizes).append(
        "' is no size of a transform (write 1048576, 512x512, or 256*100 for 100 of 256)");
  } else if (points(asked.plan) > kMostElements / asked.plan.batch) {
    asked.wrong.append("'").append(sizes).append(
        "' is too large for a transform (it has more than 2^49 elements; ask about a smaller one)");
  }
}

}  // namespace

AskedCall read_asked_call(RoutineRecords& records, std::string_view name, std::string_view sizes) {
  AskedCall asked;
  if (const Descriptor* routine = routines::find(name)) {
    asked.routine = routine;
    asked.name = routine->name;
    asked.record = &records.of(*routine);
    read_dimensions(sizes, asked);
    return asked;
  }
  for (const bool is_double : {true, false}) {
    for (const FftKind kind : {FftKind::c2c, FftKind::r2c, FftKind::c2r, FftKind::r2r}) {
      if (name != fft_name(kind, is_double)) continue;
      asked.plan.kind = kind;
      const bool complex = kind == FftKind::c2c;
      asked.plan.precision = is_double ? (complex ? Precision::z : Precision::d)
                                       : (complex ? Precision::c : Precision::s);
      asked.name = fft_name(kind, is_double);
      asked.record = &records.of(asked.plan);
      read_points(sizes, asked);
      return asked;
    }
  }
  asked.wrong.append("there is no routine '").append(name);
  asked.wrong.append(
      "' (names are those of `outboard coverage`, or \"fftw c2c\", \"fftwf r2c\" ...)");
  return asked;
}

}  // namespace ob::offload
