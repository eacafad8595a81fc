#include "conformance/device/routine_run.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace ob::test {
namespace {

void set_values(const Descriptor& routine, const RoutineInput& input, Argument* arguments) {
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    const std::string_view name = routine.argument_names[i];
    if (routine.kinds[i] == Kind::flag) arguments[i].flag = input.flags.find(name)->second;
    if (routine.kinds[i] == Kind::dim) arguments[i].dim = input.dims.find(name)->second;
    if (routine.kinds[i] == Kind::scalar || routine.kinds[i] == Kind::real_scalar) {
      arguments[i].scalar = input.scalars.find(name)->second;
    }
  }
}

enum class Stored { numbers, integers, character };

Stored stored_as(const Descriptor& routine, Kind kind) {
  if (kind == Kind::index_vector || kind == Kind::info) return Stored::integers;
  if (kind == Kind::result && routine.base == "iamax") return Stored::integers;
  return kind == Kind::character ? Stored::character : Stored::numbers;
}

// Returns the precision of numbers: the routine's elements, real numbers of it, or double (dsdot).
Precision number_precision(const Descriptor& routine, const Operand& operand) {
  if (operand.element_bytes == element_bytes(routine.precision)) return routine.precision;
  if (operand.element_bytes == real_bytes(routine.precision)) {
    return real_precision(routine.precision);
  }
  return Precision::d;
}

// Returns the alignment that devices require: the size of the operand's real numbers or integers.
std::uint64_t alignment(const Descriptor& routine, Kind kind) {
  if (kind == Kind::character) return 1;
  const bool numbers = kind == Kind::matrix || kind == Kind::vector || kind == Kind::strided;
  return numbers ? real_bytes(routine.precision) : 8;
}

bool may_change(const Operand& operand, std::uint64_t i, std::uint64_t j) {
  return (operand.written && in_triangle(operand.written_triangle, i, j)) ||
         (operand.consumed && in_triangle(operand.triangle, i, j));
}

// Each remote device gets one in so many combinations of flags. The cpu backend has five of them.
constexpr std::size_t kRemotePart = 5;

}  // namespace

// One operand in its buffer.
struct RoutineTest::Placed {
  std::string name;
  Kind kind;
  Stored stored;
  Precision precision;  // of numbers
  Operand operand;
  Region region;
  bool backwards;  // true: a negative increment
  BufferId buffer;
  Bytes before;

  std::uint64_t rows() const { return kind == Kind::strided ? region.cols : region.rows; }
  std::uint64_t cols() const { return kind == Kind::strided ? region.rows : region.cols; }
  // Returns the place of element (i, j).
  std::uint64_t at(std::uint64_t i, std::uint64_t j) const {
    const std::uint64_t k = backwards ? rows() - 1 - i : i;
    const std::uint64_t elements = kind == Kind::strided ? k * region.ld : j * region.ld + i;
    return region.offset_bytes + elements * region.element_bytes;
  }
};

std::string RoutineInput::describe() const {
  std::ostringstream text;
  for (const auto& [name, value] : flags) text << name << "=" << value << " ";
  for (const auto& [name, value] : dims) text << name << "=" << value << " ";
  for (const auto& [name, value] : scalars)
    text << name << "=(" << value.re << "," << value.im << ") ";
  return text.str();
}

std::vector<Real> RoutineOutput::reals(std::string_view name) const {
  std::vector<Real> values;
  for (const Wide x : matrix(name).elements) values.push_back(x.real());
  return values;
}

std::vector<const Descriptor*> routines_named(std::string_view base) {
  std::vector<const Descriptor*> found;
  for (const Descriptor& routine : routines::all()) {
    if (routine.base == base) found.push_back(&routine);
  }
  return found;
}

void RoutineTest::SetUp() {
  DeviceTest::SetUp();
  if (!IsSkipped() && !GetParam().computes) GTEST_SKIP() << GetParam().name << " computes nothing";
}

std::vector<RoutineInput> RoutineTest::flag_combinations(const Descriptor& routine) {
  std::vector<RoutineInput> all(1);
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    const std::string name(routine.argument_names[i]);
    std::vector<RoutineInput> longer;
    for (RoutineInput& input : all) {
      if (routine.kinds[i] == Kind::dim) input.dims[name] = 1;
      if (routine.kinds[i] == Kind::scalar || routine.kinds[i] == Kind::real_scalar) {
        input.scalars[name] = {1, 0};
      }
      if (routine.kinds[i] != Kind::flag) continue;
      for (const char value : routine.values[i]) {
        longer.push_back(input);
        longer.back().flags[name] = value;
      }
    }
    if (routine.kinds[i] == Kind::flag) all = std::move(longer);
  }
  Argument arguments[kMaxArguments];
  std::int64_t lds[kMaxArguments];
  std::fill(lds, lds + kMaxArguments, 1000);
  std::erase_if(all, [&](const RoutineInput& input) {
    set_values(routine, input, arguments);
    return !routine.legal(arguments, lds);
  });
  if (draws_flags()) {
    const std::size_t kept = (all.size() + kRemotePart - 1) / kRemotePart;
    for (std::size_t i = 0; i < kept; ++i) std::swap(all[i], all[random(i, all.size() - 1)]);
    all.resize(kept);
  }
  return all;
}

bool RoutineTest::draws_flags() { return GetParam().remote && !wants_all(); }

Dense RoutineTest::random_matrix(Precision precision, std::uint64_t rows, std::uint64_t cols) {
  Dense matrix(rows, cols);
  for (Wide& x : matrix.elements) x = rounded(precision, Wide(uniform(-1, 1), uniform(-1, 1)));
  return matrix;
}

Complex RoutineTest::random_scalar(Precision precision, std::uint64_t choice) {
  constexpr double kSpecial[] = {0, 1, -1};
  if (choice < 3) return {kSpecial[choice], 0};
  const Wide value = rounded(precision, Wide(uniform(-2, 2), uniform(-2, 2)));
  return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
}

std::int64_t RoutineTest::some_size(std::uint64_t largest) {
  return static_cast<std::int64_t>(random(0, 2) == 0 ? random(1, 4) : random(5, largest));
}

void RoutineTest::draw_strides(const Descriptor& routine, const RoutineInput& input,
                               Argument* arguments, std::string& what) {
  constexpr std::int64_t kIncrements[] = {1, 1, 2, 3, -1, -2};
  const Operands operands = routine.operands(arguments);
  std::int64_t lds[kMaxArguments] = {};
  for (int attempt = 0; attempt < 100; ++attempt) {
    for (const Operand& operand : operands.span()) {
      const Kind kind = routine.kinds[operand.argument];
      const auto given = input.increments.find(routine.argument_names[operand.argument]);
      std::int64_t& ld = lds[operand.argument];
      if (kind == Kind::matrix) {
        ld = static_cast<std::int64_t>(std::max<std::uint64_t>(1, operand.rows) +
                                       random(0, 1) * random(0, 5));
      } else if (kind == Kind::strided) {
        ld = given == input.increments.end() ? kIncrements[random(0, 5)] : given->second;
      }
      arguments[operand.argument].device.ld = ld;
    }
    if (routine.legal(arguments, lds)) break;  // otherwise an increment is illegal
  }
  for (const Operand& operand : operands.span()) {
    if (!has_ld(routine.kinds[operand.argument])) continue;
    what += "ld(" + std::string(routine.argument_names[operand.argument]) +
            ")=" + std::to_string(lds[operand.argument]) + " ";
  }
}

RoutineTest::Placed RoutineTest::place(const Descriptor& routine, const Operand& operand,
                                       const RoutineInput& input, Argument* arguments) {
  const Kind kind = routine.kinds[operand.argument];
  DeviceOperand& device = arguments[operand.argument].device;
  const Stored stored = stored_as(routine, kind);
  Placed placed{.name = std::string(routine.argument_names[operand.argument]),
                .kind = kind,
                .stored = stored,
                .precision = number_precision(routine, operand),
                .operand = operand,
                .region = region_of(operand, kind, device.ld),
                .backwards = kind == Kind::strided && device.ld < 0,
                .buffer = {},
                .before = {}};
  placed.region.offset_bytes = alignment(routine, kind) * random(0, 10);
  constexpr std::uint64_t kGuardBytes =
      300;  // in half of the cases; otherwise nothing is behind the operand
  const std::uint64_t rest = random(0, 1) * kGuardBytes;
  placed.before = Bytes(
      std::max<std::uint64_t>(8, extent_bytes(placed.region) + placed.region.offset_bytes + rest),
      kPoison);
  const auto numbers = input.matrices.find(placed.name);
  const auto integers = input.indices.find(placed.name);
  for (std::uint64_t j = 0; operand.read && j < placed.cols(); ++j) {
    for (std::uint64_t i = 0; i < placed.rows(); ++i) {
      std::byte* const at = placed.before.data() + placed.at(i, j);
      if (!in_triangle(operand.triangle, i, j)) continue;
      if (stored == Stored::numbers && numbers != input.matrices.end()) {
        store(placed.precision, at, numbers->second(i, j));
      } else if (stored == Stored::integers && integers != input.indices.end()) {
        std::memcpy(at, &integers->second[i], sizeof(std::int64_t));
      }
    }
  }
  placed.buffer = allocate(placed.before);
  device = {placed.buffer, placed.region.offset_bytes, device.ld};
  return placed;
}

void RoutineTest::collect(const Placed& placed, RoutineOutput& output) {
  const Bytes after = download(placed.buffer, placed.before.size());
  Dense matrix(placed.rows(), placed.cols());
  std::vector<std::int64_t> integers(placed.rows());
  Bytes expected = placed.before;
  for (std::uint64_t j = 0; j < placed.cols(); ++j) {
    for (std::uint64_t i = 0; i < placed.rows(); ++i) {
      const std::uint64_t at = placed.at(i, j);
      switch (placed.stored) {
        case Stored::numbers: matrix(i, j) = load(placed.precision, after.data() + at); break;
        case Stored::integers: std::memcpy(&integers[i], after.data() + at, 8); break;
        case Stored::character:
          output.characters[placed.name] = static_cast<char>(after[at]);
          break;
      }
      if (!may_change(placed.operand, i, j)) continue;
      std::copy_n(after.data() + at, placed.region.element_bytes, expected.data() + at);
    }
  }
  if (after != expected) {
    const auto differing = std::mismatch(after.begin(), after.end(), expected.begin()).first;
    output.damage +=
        placed.name + ": byte " + std::to_string(differing - after.begin()) + " changed; ";
  }
  if (placed.kind == Kind::info) output.info = integers[0];
  if (placed.stored == Stored::integers) {
    output.indices[placed.name] = std::move(integers);
  } else if (placed.stored == Stored::numbers) {
    output.matrices[placed.name] = std::move(matrix);
  }
}

RoutineOutput RoutineTest::run(const Descriptor& routine, const RoutineInput& input) {
  RoutineOutput output;
  output.what = std::string(routine.name) + " " + input.describe();
  Argument arguments[kMaxArguments];
  set_values(routine, input, arguments);
  draw_strides(routine, input, arguments, output.what);
  std::vector<Placed> all;
  const Operands operands = routine.operands(arguments);
  for (const Operand& operand : operands.span()) {
    all.push_back(place(routine, operand, input, arguments));
  }
  output.status = outcome(device().call(queue(), routine, arguments));
  for (const Placed& placed : all) {
    collect(placed, output);
    EXPECT_TRUE(device().free(placed.buffer).ok());
  }
  latest_ = output.what;
  return output;
}

RoutineOutput RoutineTest::call(const Descriptor& routine, const RoutineInput& input,
                                std::int64_t info) {
  RoutineOutput output = run(routine, input);
  require_success(output, info);
  return output;
}

void RoutineTest::require_success(const RoutineOutput& output, std::int64_t info) const {
  require(output.status.ok(), output.status.message());
  require(output.damage.empty(), output.damage);
  require(output.info == info,
          "info is " + std::to_string(output.info) + ", not " + std::to_string(info));
}

void RoutineTest::at_most(Real value, Real limit, const std::string& what) const {
  if (value <= limit) return;
  ADD_FAILURE() << latest_ << ": " << what << " is " << value << ", more than " << limit;
  throw Abandoned();
}

void RoutineTest::require(bool holds, const std::string& what) const {
  if (holds) return;
  ADD_FAILURE() << latest_ << ": " << what;
  throw Abandoned();
}

}  // namespace ob::test
