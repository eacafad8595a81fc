#pragma once
// The connection of another daemon whose session uses grants of this one.

#include <memory>
#include <string>

#include "base/status.hpp"
#include "daemon/io/channel.hpp"
#include "daemon/io/life_signs.hpp"
#include "daemon/io/served_connection.hpp"
#include "daemon/peers/grants.hpp"

namespace ob::daemon {

/// Answers store and fetch, one after another. Each is checked against its own grant.
class GrantConnection final : public ServedConnection {
 public:
  /// @param user the proven one for whom the other daemon asks; empty: none
  /// @param same_order true if both daemons store numbers in the same byte order
  GrantConnection(std::shared_ptr<Channel> channel, Grants& grants, LifeSigns& signs,
                  std::string user, bool same_order);

  Status serve() override;
  void close() override {}

 private:
  Status store(const session::Message& message);
  Status fetch(const session::Message& message);
  Result<std::unique_ptr<Grant::Use>> begin(std::uint32_t may, const wire::GrantRange& range);
  Status take(Grant::Use& use);
  Status give(const Grant::Use& use, std::uint64_t sequence, bool& begun);

  const std::shared_ptr<Channel> channel_;
  Grants& grants_;
  LifeSigns& signs_;
  const std::string user_;
  const bool same_order_;
};

}  // namespace ob::daemon
