// Reads arbitrary bytes as an answer of the manager: in one piece, byte by byte, and its body as
// each of the bodies that are read. The sanitizers check memory.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz/failure.hpp"
#include "pool/http_exchange.hpp"
#include "pool/lease_handles.hpp"
#include "pool/manager_link.hpp"
#include "pool/registration.hpp"

namespace ob::fuzz {
namespace {

using pool::HttpResponse;

// Empty: it is refused, or not complete.
std::optional<HttpResponse> read(std::string_view bytes, std::size_t piece) {
  pool::HttpResponseReader reader;
  while (!bytes.empty()) {
    const std::string_view next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    auto response = reader.take(next);
    if (!response.ok()) return std::nullopt;
    if (*response) return bytes.empty() ? *response : std::nullopt;
  }
  return std::nullopt;
}

void look_at(const HttpResponse& response) {
  expect(response.status >= 200 && response.status <= 599, "a response has a status");
  expect(response.body.size() <= pool::kMostHttpBytes, "a body has a limit");
  (void)pool::problem_of(response);
  (void)pool::read_lease(response.body);
  (void)pool::read_registered(response.body);
  const auto state = pool::read_desired(response.body);
  if (!state.ok()) return;
  expect(state->rev >= 0 && state->now_ms >= 0, "numbers are not negative");
}

}  // namespace
}  // namespace ob::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ob::fuzz;  // NOLINT(google-build-using-namespace): the program is its own
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = read(bytes, bytes.size());
  const auto pieces = read(bytes, 1);
  expect(whole.has_value() == pieces.has_value(), "pieces do not matter");
  if (!whole) return 0;
  expect(whole->status == pieces->status && whole->body == pieces->body, "pieces do not matter");
  look_at(*whole);
  return 0;
}
