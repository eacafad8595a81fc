#include "transport/shm/connect.hpp"
#include "transport/address.hpp"
#include "transport/security.hpp"
#include "transport/shm/listener.hpp"
#include "transport/stream.hpp"
#include "transport/tcp/connect.hpp"
#include "transport/tcp/listener.hpp"
#include "transport/ucx/open.hpp"

namespace ob::transport {
namespace {

/// Requires that peers prove their identity.
class SecureListener final : public Listener {
 public:
  SecureListener(std::unique_ptr<Listener> inner, std::shared_ptr<const Security> security)
      : inner_(std::move(inner)), security_(std::move(security)) {}

  Result<std::unique_ptr<Stream>> accept(Deadline deadline) override {
    OB_ASSIGN_OR_RETURN(auto bare, accept_bare(deadline));
    return open(std::move(bare));
  }
  Result<std::unique_ptr<Stream>> accept_bare(Deadline deadline) override {
    return inner_->accept_bare(deadline);
  }
  Result<std::unique_ptr<Stream>> open(std::unique_ptr<Stream> bare) override {
    OB_ASSIGN_OR_RETURN(auto stream, inner_->open(std::move(bare)));
    return security_->accept_over(std::move(stream));
  }
  std::string address() const override { return inner_->address(); }
  void close() noexcept override { inner_->close(); }

 private:
  const std::unique_ptr<Listener> inner_;
  const std::shared_ptr<const Security> security_;
};

Result<std::unique_ptr<Stream>> connect_tcp(const TcpAddress& address, Deadline deadline,
                                            const Security* security) {
  OB_ASSIGN_OR_RETURN(auto stream, tcp::connect(address, deadline));
  if (security == nullptr) return stream;
  return security->connect_over(std::move(stream), deadline);
}

Result<std::unique_ptr<Listener>> listen_tcp(const TcpAddress& address,
                                             std::shared_ptr<const Security> security) {
  OB_ASSIGN_OR_RETURN(auto listener, tcp::listen(address));
  if (security == nullptr) return listener;
  return std::unique_ptr<Listener>(
      std::make_unique<SecureListener>(std::move(listener), std::move(security)));
}

// Only the messages that set up a UCX stream pass through its control stream.
Status check_plain(const UcxAddress& address, const Security* security) {
  if (security == nullptr || security->plain()) return {};
  return {Code::unsupported, address.text() +
                                 " would carry data unencrypted; use --plain on both " +
                                 "sides if nobody else is on that network, or HOST:PORT"};
}

// Returns the failure of the control stream, with the address as the user wrote it.
Status named(const Status& status, const UcxAddress& address) {
  std::string message = status.message();
  const std::size_t at = message.find(address.control.text());
  if (at == std::string::npos) return status.in(address.text());
  message.insert(at, "ucx:");
  return {status.code(), message};
}

}  // namespace

Result<std::unique_ptr<Stream>> connect(const std::string& address, Deadline deadline,
                                        const Security* security) {
  OB_ASSIGN_OR_RETURN(const Address parsed, parse_address(address));
  if (const auto* unix_address = std::get_if<UnixAddress>(&parsed)) {
    return shm::connect(*unix_address, deadline);
  }
  if (const auto* ucx_address = std::get_if<UcxAddress>(&parsed)) {
    OB_RETURN_IF_ERROR(check_plain(*ucx_address, security));
    auto control = connect_tcp(ucx_address->control, deadline, security);
    if (!control.ok()) return named(control.status(), *ucx_address);
    return ucx::connect(std::move(*control), deadline);
  }
  return connect_tcp(std::get<TcpAddress>(parsed), deadline, security);
}

Result<std::unique_ptr<Listener>> listen(const std::string& address,
                                         std::shared_ptr<const Security> security) {
  OB_ASSIGN_OR_RETURN(const std::optional<int> inherited, inherited_socket(address));
  if (inherited) return shm::adopt(*inherited);
  OB_ASSIGN_OR_RETURN(const Address parsed, parse_address(address));
  if (const auto* unix_address = std::get_if<UnixAddress>(&parsed))
    return shm::listen(*unix_address);
  if (const auto* ucx_address = std::get_if<UcxAddress>(&parsed)) {
    OB_RETURN_IF_ERROR(check_plain(*ucx_address, security.get()));
    auto control = listen_tcp(ucx_address->control, std::move(security));
    if (!control.ok()) return named(control.status(), *ucx_address);
    return ucx::listen(std::move(*control));
  }
  return listen_tcp(std::get<TcpAddress>(parsed), std::move(security));
}

}  // namespace ob::transport
