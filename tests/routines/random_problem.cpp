#include "routines/random_problem.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "routines/operand_data.hpp"

namespace ob::test {
namespace {

// Enough tries for the rarest condition (1 <= il <= iu <= n with all other arguments legal). A
// condition that still does not hold cannot hold.
constexpr int kMostTries = 100000;

double pick(std::mt19937_64& random, std::initializer_list<double> values) {
  return values.begin()[uniform<std::size_t>(random, 0, values.size() - 1)];
}

std::int64_t random_dim(std::string_view name, std::mt19937_64& random, std::int64_t largest) {
  if (name == "itype") return uniform<std::int64_t>(random, 1, 3);
  const int kind = uniform(random, 0, 19);
  if (kind == 0) return 0;
  if (kind <= 2) return std::min<std::int64_t>(1, largest);
  return uniform<std::int64_t>(random, 0, largest);
}

double random_real(std::string_view name, std::mt19937_64& random) {
  // With other tolerances, results depend on the rounding of the computation.
  if (name == "abstol") return pick(random, {0, -1});
  if (name == "rcond") return pick(random, {0, -1, 0.01});
  const double other = std::uniform_real_distribution<double>(-1, 1)(random);
  return pick(random, {0, 1, -1, static_cast<float>(other)});  // all precisions hold a float
}

void draw_arguments(Problem& p, std::mt19937_64& random, std::int64_t largest) {
  const Descriptor& routine = *p.routine;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    const std::string_view name = routine.argument_names[i];
    const std::string_view values = routine.values[i];
    Argument& argument = p.arguments[i];
    switch (routine.kinds[i]) {
      case Kind::flag:
        argument.flag = values[uniform<std::size_t>(random, 0, values.size() - 1)];
        break;
      case Kind::dim: argument.dim = random_dim(name, random, largest); break;
      case Kind::real_scalar: argument.scalar = {random_real(name, random), 0}; break;
      case Kind::scalar:
        argument.scalar = {random_real(name, random), 0};
        if (is_complex(routine.precision)) argument.scalar.im = random_real(name, random);
        break;
      case Kind::strided:
        p.lds[i] = static_cast<std::int64_t>(pick(random, {1, 1, 2, -1, -3, 5}));
        break;
      case Kind::matrix: p.lds[i] = INT64_MAX; break;  // legal for any shape
      default: p.lds[i] = 0;
    }
  }
}

// Draws a permutation of a block of rank 1 to 8: independent numbers are hardly ever legal.
void draw_permutation(Problem& p, std::mt19937_64& random, std::int64_t largest) {
  std::array<std::int64_t, 8> positions{};
  std::iota(positions.begin(), positions.end(), std::int64_t{1});
  std::shuffle(positions.begin(), positions.end(), random);
  std::int64_t room = largest * largest;
  for (std::size_t d = 0; d < positions.size(); ++d) {
    const std::int64_t extent = random_dim("e", random, std::min(largest, room));
    p.arguments[d].dim = extent;
    p.arguments[d + positions.size()].dim = positions[d];
    room /= std::max<std::int64_t>(1, extent);
  }
}

void draw_legal_arguments(Problem& p, std::mt19937_64& random, std::int64_t largest) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    draw_arguments(p, random, largest);
    if (p.routine->base == "permute") draw_permutation(p, random, largest);
    if (p.routine->legal(p.arguments, p.lds)) return;
  }
  std::fprintf(stderr, "%s: no legal call found\n", std::string(p.routine->name).c_str());
  std::abort();
}

// Shapes are those of column-major memory; a row-major band is the band of the transposed matrix.
void take_operands(Problem& p) {
  p.operands = p.routine->operands(p.arguments);
  for (int i = 0; i < p.operands.count; ++i) {
    Operand& o = p.operands.items[i];
    if (p.row_major && p.is_band(o) && p.has("m")) o.cols = static_cast<std::uint64_t>(p.dim("m"));
  }
}

}  // namespace

Problem random_problem(const Descriptor& routine, std::mt19937_64& random, std::int64_t largest,
                       bool row_major) {
  Problem p;
  p.routine = &routine;
  p.row_major = row_major;
  p.memory.resize(routine.kinds.size());
  draw_legal_arguments(p, random, largest);
  take_operands(p);
  for (const Operand& o : p.operands.span()) {
    if (p.kind_of(o) == Kind::matrix) {
      std::uint64_t least = row_major && !p.is_band(o) ? o.cols : o.rows;
      // LAPACKE requires ldz >= n even if Z is not referenced.
      if (row_major && least == 0) least = static_cast<std::uint64_t>(p.size());
      p.lds[o.argument] =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(least)) + uniform(random, 0, 3);
    }
    // The memory is a little larger than the operand.
    p.memory[o.argument].resize(p.span(o) * o.element_bytes + 32);
    poison(p.memory[o.argument]);
    fill_operand(p, o, random);
  }
  p.point();
  return p;
}

Problem random_work(const Descriptor& routine, std::mt19937_64& random, std::int64_t largest,
                    bool row_major) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    Problem p = random_problem(routine, random, largest, row_major);
    if (!routine.trivial(p.arguments)) return p;
  }
  std::fprintf(stderr, "%s: only trivial calls found\n", std::string(routine.name).c_str());
  std::abort();
}

}  // namespace ob::test
