#include "pool/lease_claims.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>

#include "pool/parsed_json.hpp"

namespace ob::pool {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostNumber = std::numeric_limits<std::int64_t>::max();
// Later ends do not fit into milliseconds. They are far enough away.
constexpr std::int64_t kMostSeconds = std::numeric_limits<std::int64_t>::max() / 1000;

// Reads claims one after the other, and notes the first one that is missing or wrong.
class ClaimReader {
 public:
  explicit ClaimReader(const json& object) : object_(object) {}

  std::string text(const char* name) {
    const json* const value = find(name);
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    return note(name, "is no text"), std::string();
  }

  std::uint64_t number(const char* name, std::uint64_t most = kMostNumber) {
    const json* const value = find(name);
    if (value == nullptr || !value->is_number_unsigned()) return note(name, "is no number"), 0;
    const auto number = value->get<std::uint64_t>();
    if (number > most) return note(name, "is too large"), 0;
    return number;
  }

  std::int64_t time_ms(const char* name) {
    return std::min(static_cast<std::int64_t>(number(name)), kMostSeconds) * 1000;
  }

  // "x": true, "s": false.
  bool is_exclusive(const char* name) {
    const std::string mode = text(name);
    if (mode != "x" && mode != "s") note(name, "is no mode");
    return mode == "x";
  }

  // The signer writes -1, or nothing, for anybody.
  std::optional<std::uint32_t> uid(const char* name) {
    const json* const value = find(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_number_integer() && value->get<std::int64_t>() == -1) return std::nullopt;
    return static_cast<std::uint32_t>(number(name, std::numeric_limits<std::uint32_t>::max()));
  }

  Status status() const {
    if (problem_.empty()) return {};
    return {Code::denied, "the lease token is refused (its claim " + problem_ +
                              ") manager and daemon must be of matching releases"};
  }

 private:
  const json* find(const char* name) const {
    const auto at = object_.find(name);
    return at == object_.end() ? nullptr : &*at;
  }

  void note(const char* name, const char* what) {
    if (problem_.empty()) problem_ = std::string(name) + ' ' + what;
  }

  const json& object_;
  std::string problem_;
};

Result<LeaseClaims> read_claims(const json& object) {
  ClaimReader reader(object);
  LeaseClaims claims;
  claims.pool = reader.text("iss");
  claims.daemon = reader.text("aud");
  claims.device = reader.text("dev");
  claims.holder = reader.text("sub");
  claims.lease = reader.text("jti");
  claims.epoch = reader.number("epo");
  claims.floor = reader.number("flo");
  claims.exclusive = reader.is_exclusive("mod");
  claims.memory_bytes = reader.number("mem");
  claims.share = reader.number("shr");
  claims.sessions = reader.number("ses");
  claims.rights = reader.text("rgt");
  claims.issued_ms = reader.time_ms("iat");
  claims.end_ms = reader.time_ms("exp");
  claims.rev = static_cast<std::int64_t>(reader.number("rev"));
  claims.uid = reader.uid("uid");
  OB_RETURN_IF_ERROR(reader.status());
  return claims;
}

}  // namespace

// The library's exceptions end here: it throws without memory, too.
Result<LeaseClaims> parse_lease_claims(std::string_view text) try {
  const json object = parsed_json(text);
  if (!object.is_object()) {
    return Status(Code::denied,
                  "the lease token is refused (its claims are no JSON object) manager and daemon "
                  "must be of matching releases");
  }
  return read_claims(object);
} catch (const std::exception& error) {
  return Status(Code::denied, std::string("the lease token is refused (") + error.what() + ")");
}

}  // namespace ob::pool
