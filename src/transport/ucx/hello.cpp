#include "transport/ucx/hello.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "transport/detail/system_error.hpp"

namespace ob::transport::ucx {
namespace {

// A worker's address takes some hundred bytes for each network device of its machine.
constexpr std::size_t kMaxAddressBytes = std::size_t{64} << 10;

/// Receives until `bytes` holds `wanted` bytes; false while some are missing.
Result<bool> fill(Stream& control, std::vector<std::byte>& bytes, std::size_t wanted) {
  while (bytes.size() < wanted) {
    const std::size_t had = bytes.size();
    bytes.resize(wanted);
    const iovec rest{bytes.data() + had, wanted - had};
    const auto received = control.try_receive(std::span(&rest, 1));
    bytes.resize(had + (received.ok() ? *received : 0));
    if (!received.ok()) return received.status();
    if (*received == 0) return false;
  }
  return true;
}

}  // namespace

Result<Token> random_token() {
  Token token;
  if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size()))
    return detail::system_error(Code::internal, "no random numbers", errno);
  return token;
}

HelloSender::HelloSender(const Hello& hello) {
  if (hello.address.size() > kMaxAddressBytes || hello.version.size() >= sizeof(HelloHead::version))
    return;
  HelloHead head{};
  head.magic = kHelloMagic;
  head.protocol = kProtocol;
  head.address_bytes = static_cast<std::uint32_t>(hello.address.size());
  head.token = hello.token;
  std::memcpy(head.version, hello.version.data(), hello.version.size());
  bytes_.resize(sizeof head + hello.address.size());
  std::memcpy(bytes_.data(), &head, sizeof head);
  std::memcpy(bytes_.data() + sizeof head, hello.address.data(), hello.address.size());
}

Status HelloSender::advance(Stream& control) {
  if (bytes_.empty())
    return {Code::internal, "cannot introduce ourselves (UCX's address or version is too long)"};
  if (done()) return {};
  const iovec rest{bytes_.data() + sent_, bytes_.size() - sent_};
  OB_ASSIGN_OR_RETURN(const std::size_t sent, control.try_send(std::span(&rest, 1)));
  sent_ += sent;
  return {};
}

Status HelloReceiver::check(const HelloHead& head, const std::string& peer) const {
  if (head.magic == __builtin_bswap64(kHelloMagic)) {
    return {Code::unsupported, peer +
                                   " has the other byte order (UCX does not swap its own words) "
                                   "write HOST:PORT for TCP"};
  }
  if (head.magic != kHelloMagic || head.version[sizeof head.version - 1] != 0)
    return {Code::protocol_error, peer + " does not speak this protocol (no hello for ucx came)"};
  if (head.protocol != kProtocol) {
    return {Code::version_mismatch, peer + " speaks version " + std::to_string(head.protocol) +
                                        " of the ucx transport (this side " +
                                        std::to_string(kProtocol) +
                                        ") use one release on both sides"};
  }
  if (version_ != head.version) {
    return {Code::version_mismatch, peer + " has UCX " + head.version + " (this side " + version_ +
                                        ", and releases of UCX cannot connect to each other) "
                                        "install one release, or write HOST:PORT for TCP"};
  }
  if (head.address_bytes == 0 || head.address_bytes > kMaxAddressBytes)
    return {Code::protocol_error, peer + " gave an impossible UCX address"};
  return {};
}

Result<std::optional<Hello>> HelloReceiver::poll(Stream& control) {
  HelloHead head;
  OB_ASSIGN_OR_RETURN(bool whole, fill(control, received_, sizeof head));
  if (!whole) return std::optional<Hello>();
  std::memcpy(&head, received_.data(), sizeof head);
  OB_RETURN_IF_ERROR(check(head, control.peer()));
  OB_ASSIGN_OR_RETURN(whole, fill(control, received_, sizeof head + head.address_bytes));
  if (!whole) return std::optional<Hello>();
  Hello hello{head.version, head.token, {}};
  hello.address.assign(received_.begin() + sizeof head, received_.end());
  return std::optional<Hello>(std::move(hello));
}

}  // namespace ob::transport::ucx
