#include "conformance/device/routine_run.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace ob::test {
namespace {

constexpr std::string_view kFlagValues = "NTCLRU";

// Rounded to what the precision can hold, so that oracle and device see the same number.
Wide rounded(Precision precision, Wide value) {
  std::byte memory[16];
  store(precision, memory, is_complex(precision) ? value : Wide(value.real()));
  return load(precision, memory);
}

void set_scalars(const Descriptor& routine, const RoutineInput& input, Argument* arguments) {
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    const std::string_view name = routine.argument_names[i];
    if (routine.kinds[i] == Kind::flag) arguments[i].flag = input.flags.find(name)->second;
    if (routine.kinds[i] == Kind::dim) arguments[i].dim = input.dims.find(name)->second;
    if (routine.kinds[i] == Kind::scalar || routine.kinds[i] == Kind::real_scalar) {
      arguments[i].scalar = input.scalars.find(name)->second;
    }
  }
}

}  // namespace

// One operand in its buffer.
struct RoutineTest::Placed {
  Operand operand;
  Region region;
  BufferId buffer;
  Bytes before;
};

std::string RoutineInput::describe() const {
  std::ostringstream text;
  for (const auto& [name, value] : flags) text << name << "=" << value << " ";
  for (const auto& [name, value] : dims) text << name << "=" << value << " ";
  for (const auto& [name, value] : scalars)
    text << name << "=(" << value.re << "," << value.im << ") ";
  return text.str();
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
  Argument arguments[kMaxArguments];
  std::int64_t lds[kMaxArguments];
  std::fill(lds, lds + kMaxArguments, 1000);
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    const std::string name(routine.argument_names[i]);
    std::vector<RoutineInput> longer;
    for (const RoutineInput& input : all) {
      if (routine.kinds[i] != Kind::flag) {
        longer.push_back(input);
        if (routine.kinds[i] == Kind::dim) longer.back().dims[name] = 1;
        if (routine.kinds[i] == Kind::scalar || routine.kinds[i] == Kind::real_scalar) {
          longer.back().scalars[name] = {1, 0};
        }
        continue;
      }
      for (const char value : kFlagValues) {
        longer.push_back(input);
        longer.back().flags[name] = value;
      }
    }
    all = std::move(longer);
  }
  std::erase_if(all, [&](const RoutineInput& input) {
    set_scalars(routine, input, arguments);
    return !routine.legal(arguments, lds);
  });
  return all;
}

Dense RoutineTest::random_matrix(Precision precision, std::uint64_t rows, std::uint64_t cols) {
  Dense matrix(rows, cols);
  for (Wide& x : matrix.elements) x = rounded(precision, {uniform(-1, 1), uniform(-1, 1)});
  return matrix;
}

Complex RoutineTest::random_scalar(Precision precision, std::uint64_t choice) {
  constexpr double kSpecial[] = {0, 1, -1};
  if (choice < 3) return {kSpecial[choice], 0};
  const Wide value = rounded(precision, {uniform(-2, 2), uniform(-2, 2)});
  return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
}

RoutineTest::Placed RoutineTest::place(const Descriptor& routine, const Operand& operand,
                                       const RoutineInput& input, Argument* arguments) {
  const std::string_view name = routine.argument_names[operand.argument];
  const bool matrix = routine.kinds[operand.argument] == Kind::matrix;
  Placed placed{.operand = operand, .region = {}, .buffer = {}, .before = {}};
  Region& region = placed.region;
  region = {
      .offset_bytes = 16 * random(0, 5),
      .element_bytes = operand.element_bytes,
      .triangle = operand.triangle,
      .rows = operand.rows,
      .cols = operand.cols,
      .ld = std::max<std::uint64_t>(1, operand.rows) + (matrix ? random(0, 1) * random(0, 5) : 0)};
  placed.before = Bytes(region.offset_bytes + region.ld * std::max<std::uint64_t>(1, region.cols) *
                                                  region.element_bytes,
                        kPoison);
  std::byte* const first = placed.before.data() + region.offset_bytes;
  for (std::uint64_t j = 0; operand.read && j < region.cols; ++j) {
    for (std::uint64_t i = 0; i < region.rows; ++i) {
      if (!in_triangle(region.triangle, i, j)) continue;
      std::byte* const at = first + (j * region.ld + i) * region.element_bytes;
      if (matrix) {
        store(routine.precision, at, input.matrices.find(name)->second(i, j));
      } else {
        std::memcpy(at, &input.indices.find(name)->second[i], sizeof(std::int64_t));
      }
    }
  }
  placed.buffer = allocate(placed.before);
  arguments[operand.argument].device = {placed.buffer, region.offset_bytes,
                                        matrix ? static_cast<std::int64_t>(region.ld) : 0};
  return placed;
}

void RoutineTest::collect(const Descriptor& routine, const Placed& placed, RoutineOutput& output) {
  const Region& region = placed.region;
  const std::string name(routine.argument_names[placed.operand.argument]);
  Bytes after = download(placed.buffer, placed.before.size());
  const std::byte* const first = after.data() + region.offset_bytes;
  Dense matrix(region.rows, region.cols);
  std::vector<std::int64_t> indices(region.rows);
  Bytes expected = placed.before;
  for (std::uint64_t j = 0; j < region.cols; ++j) {
    for (std::uint64_t i = 0; i < region.rows; ++i) {
      const std::uint64_t at = (j * region.ld + i) * region.element_bytes;
      if (routine.kinds[placed.operand.argument] == Kind::matrix) {
        matrix(i, j) = load(routine.precision, first + at);
      } else {
        std::memcpy(&indices[i], first + at, sizeof(std::int64_t));
      }
      if (!placed.operand.written || !in_triangle(region.triangle, i, j)) continue;
      std::copy_n(first + at, region.element_bytes, expected.data() + region.offset_bytes + at);
    }
  }
  if (after != expected) {
    const auto differing = std::mismatch(after.begin(), after.end(), expected.begin()).first;
    output.damage += name + ": byte " + std::to_string(differing - after.begin()) + " changed; ";
  }
  if (routine.kinds[placed.operand.argument] == Kind::info && !indices.empty())
    output.info = indices[0];
  output.matrices[name] = std::move(matrix);
  output.indices[name] = std::move(indices);
}

RoutineOutput RoutineTest::run(const Descriptor& routine, const RoutineInput& input) {
  Argument arguments[kMaxArguments];
  set_scalars(routine, input, arguments);
  std::vector<Placed> all;
  const Operands operands = routine.operands(arguments);
  for (const Operand& operand : operands.span()) {
    all.push_back(place(routine, operand, input, arguments));
  }
  RoutineOutput output;
  output.status = outcome(device().call(queue(), routine, arguments));
  for (const Placed& placed : all) {
    if (output.status.ok()) collect(routine, placed, output);
    EXPECT_TRUE(device().free(placed.buffer).ok());
  }
  return output;
}

}  // namespace ob::test
