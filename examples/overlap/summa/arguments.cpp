#include "arguments.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace summa {
namespace {

namespace overlap = outboard::overlap;

const char* const kHelp =
    R"(Multiplies C = A B on a mesh of ranks by SUMMA: panels of A travel along the rows of the mesh
and panels of B along its columns, while earlier panels are multiplied.

usage: mpirun -n RANKS example_summa [options]

  --m ROWS, --n COLUMNS, --k INNER   C is m x n, A is m x k and B is k x n (1024 each)
  --mesh RxC        ranks along rows and columns (chosen by MPI)
  --panel NB        the most columns of A and rows of B in a panel (128)
  --look-ahead D    panels under way while one is multiplied (1)
  --mode MODE       automatic, sync, async, ticked, shared or proxy (automatic)
  --proxies N       threads that move messages in modes shared and proxy (1)
  --broadcast WAY   automatic, ring or tree (automatic)
  --tile COLUMNS    columns of C in one call of dgemm; between calls the program ticks (256)
  --uneven SEED     cuts the matrices at random, so that ranks have parts of different sizes
  --turns N         multiplications that are timed (3)
  --scalapack       times pdgemm of ScaLAPACK in turns with SUMMA, with blocks of NB
  --verify          checks a product of real numbers by Freivalds' method and one of small integers
                    exactly
  --damage          spoils an element before the checks, which then must fail
  --check           finds wrong accesses to panels
  --explain         prints what rank 0 measured and chose

examples:
  mpirun -n 4 example_summa --m 2000 --n 3000 --k 2500 --verify
  mpirun -n 4 example_summa --n 4096 --m 4096 --k 4096 --mesh 2x2 --mode ticked --explain
  mpirun -n 2 example_summa --mesh 1x2 --look-ahead 2 --scalapack --turns 5

Set OPENBLAS_NUM_THREADS=1, or dgemm takes the cores of other ranks.
)";

/// Returns a number of at least `least`, or throws std::invalid_argument.
std::int64_t number(const std::string& key, const std::string& text, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least ||
      value > (std::int64_t{1} << 31) - 1)
    throw std::invalid_argument(key + " " + text + " (no number from " + std::to_string(least) +
                                " to 2147483647)");
  return value;
}

/// Returns the place of `text` in `names`, or throws std::invalid_argument.
template <std::size_t count>
int choice(const std::string& key, const std::string& text, const char* const (&names)[count]) {
  std::string known;
  for (std::size_t i = 0; i < count; ++i) {
    if (text == names[i]) return int(i);
    known += std::string(i == 0 ? "" : ", ") + names[i];
  }
  throw std::invalid_argument(key + " " + text + " (unknown) use one of " + known);
}

std::array<int, 2> mesh_of(const std::string& text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos)
    throw std::invalid_argument("--mesh " + text + " (no mesh) use e.g. 2x3");
  return {int(number("--mesh", text.substr(0, cross), 1)),
          int(number("--mesh", text.substr(cross + 1), 1))};
}

Arguments parsed(int argc, char** argv) {
  Arguments a;
  const std::map<std::string_view, bool*> flags{{"--verify", &a.verify},
                                                {"--damage", &a.damage},
                                                {"--scalapack", &a.scalapack},
                                                {"--explain", &a.explain},
                                                {"--check", &a.options.check}};
  const std::map<std::string_view, std::function<void(const std::string&)>> values{
      {"--m", [&](const std::string& v) { a.m = number("--m", v, 1); }},
      {"--n", [&](const std::string& v) { a.n = number("--n", v, 1); }},
      {"--k", [&](const std::string& v) { a.k = number("--k", v, 1); }},
      {"--mesh", [&](const std::string& v) { a.mesh = mesh_of(v); }},
      {"--panel", [&](const std::string& v) { a.panel = number("--panel", v, 1); }},
      {"--tile", [&](const std::string& v) { a.tile = number("--tile", v, 1); }},
      {"--turns", [&](const std::string& v) { a.turns = int(number("--turns", v, 1)); }},
      {"--look-ahead",
       [&](const std::string& v) { a.look_ahead = int(number("--look-ahead", v, 0)); }},
      {"--uneven",
       [&](const std::string& v) { a.uneven = std::uint64_t(number("--uneven", v, 0)); }},
      {"--mode", [&](const std::string& v) { a.options.mode = overlap::mode_named(v); }},
      {"--proxies",
       [&](const std::string& v) { a.options.proxies = int(number("--proxies", v, 1)); }},
      {"--broadcast", [&](const std::string& v) {
         a.broadcast = overlap::Broadcast(choice("--broadcast", v, {"automatic", "ring", "tree"}));
       }}};
  for (int i = 1; i < argc; ++i) {
    const std::string_view key = argv[i];
    if (const auto flag = flags.find(key); flag != flags.end()) {
      *flag->second = true;
    } else if (const auto value = values.find(key); value != values.end()) {
      if (++i == argc) throw std::invalid_argument(std::string(key) + " without a value");
      value->second(argv[i]);
    } else {
      throw std::invalid_argument("unknown option " + std::string(key));
    }
  }
  return a;
}

[[noreturn]] void leave(int code) {
  MPI_Finalize();
  std::exit(code);
}

}  // namespace

Arguments parse(int argc, char** argv, int rank) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--help") != 0) continue;
    if (rank == 0) std::fputs(kHelp, stdout);
    leave(0);
  }
  try {
    return parsed(argc, argv);
  } catch (const std::exception& mistake) {
    if (rank == 0) std::fprintf(stderr, "example_summa: %s, see --help\n", mistake.what());
    leave(2);
  }
}

}  // namespace summa
