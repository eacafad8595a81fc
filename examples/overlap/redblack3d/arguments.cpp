#include "arguments.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace redblack3d {
namespace {

namespace overlap = outboard::overlap;

[[noreturn]] void usage() {
  std::fprintf(
      stderr,
      "usage: example_redblack3d [--n CELLS] [--iterations N] [--geometry ZxYxX]\n"
      "  [--mode automatic|sync|async|ticked|shared|proxy] [--threads N] [--proxies N]\n"
      "  [--periodic] [--boundary-first] [--changed-colour] [--relax-ms MS] [--check] [--verify]\n"
      "  [--explain]\n");
  std::exit(2);
}

overlap::Mode mode_named(const std::string& name) {
  try {
    return overlap::mode_named(name);
  } catch (const overlap::Error& error) {
    std::fprintf(stderr, "example_redblack3d: %s\n", error.what());
    usage();
  }
}

}  // namespace

Arguments parse(int argc, char** argv) {
  Arguments a;
  const std::map<std::string, bool*> flags{{"--periodic", &a.periodic},
                                           {"--boundary-first", &a.boundary_first},
                                           {"--changed-colour", &a.changed_colour},
                                           {"--verify", &a.verify},
                                           {"--explain", &a.explain},
                                           {"--check", &a.options.check}};
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    auto value = [&] { return i + 1 < argc ? argv[++i] : (usage(), nullptr); };
    if (const auto flag = flags.find(key); flag != flags.end())
      *flag->second = true;
    else if (key == "--n")
      a.n = std::atoll(value());
    else if (key == "--iterations")
      a.iterations = std::atoi(value());
    else if (key == "--threads")
      a.threads = std::atoi(value());
    else if (key == "--proxies")
      a.options.proxies = std::atoi(value());
    else if (key == "--relax-ms")
      a.relax_ms = std::atof(value());
    else if (key == "--mode")
      a.options.mode = mode_named(value());
    else if (key != "--geometry" ||
             std::sscanf(value(), "%dx%dx%d", &a.geometry[0], &a.geometry[1], &a.geometry[2]) != 3)
      usage();
  }
  if (a.n < 1 || a.iterations < 1 || a.threads < 1 || a.relax_ms < 0) usage();
  if (a.relax_ms > 0 && a.verify) {
    std::fprintf(stderr, "example_redblack3d: --relax-ms computes nothing that --verify checks\n");
    usage();
  }
  a.options.workers = a.threads;
  return a;
}

}  // namespace redblack3d
