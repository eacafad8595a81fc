// Plays a history of a lease gate, in which bytes make the choices: a manager that errs, clients
// with any token, messages that are late (daemon/lease_history.hpp). The gate must answer as the
// oracle does, and no exclusive lease may compute beside another one.

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "daemon/lease_history.hpp"
#include "fuzz/failure.hpp"

namespace ob::fuzz {
namespace {

// The oracle looks through the whole history at each event.
constexpr int kMostEvents = 300;

void play(std::span<const std::byte> choices) {
  daemon::test::LeaseHistory history(choices, daemon::test::Mistake::none);
  const std::string difference = history.run(kMostEvents);
  if (difference.empty()) return;
  std::fprintf(stderr, "%s\n", difference.c_str());
  fail("the gate answers as the oracle does");
}

}  // namespace
}  // namespace ob::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ob::fuzz::play(std::as_bytes(std::span(data, size)));
  return 0;
}
