#include "client/lease_request.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "pool/json.hpp"
#include "pool/random_name.hpp"
#include "pool/registration.hpp"

namespace ob::client {
namespace {

// An own lease ends so long after the program's last call.   Source: docs/pool.md, lease time
constexpr std::uint64_t kLeaseTimeS = 30;

Code code_of(const std::string& problem) noexcept {
  if (problem == "lease-over" || problem == "unknown") return Code::fenced;
  return problem == "can-never-fit" ? Code::unsupported : Code::unavailable;
}

}  // namespace

std::string LeaseRequest::name() const {
  return is_own() ? "the pool at " + source_.manager : "lease " + source_.id;
}

Status LeaseRequest::too_slow() const {
  std::array<char, 32> rate{};
  std::snprintf(rate.data(), rate.size(), "%.3g", source_.least_gflops);
  return {Code::unsupported, name() + " has no device with " + rate.data() +
                                 " GFLOP/s or more (slower ones gain little over this machine's "
                                 "cores); OUTBOARD_POOL_GFLOPS=0 takes any"};
}

std::string LeaseRequest::wish(std::size_t devices) const {
  pool::JsonWriter json;
  json.object().key("count").value(std::uint64_t{devices});
  json.key("class").object().key("min_gflops").value(source_.least_gflops).end();
  json.key("ttl_s").value(kLeaseTimeS).key("uid").value(std::uint64_t{::geteuid()});
  json.key("near").object().key("machine").value(pool::machine_name()).end();
  return json.end().text();
}

Result<pool::LeaseState> LeaseRequest::answer(pool::ManagerLink& link, std::string_view method,
                                              std::string body,
                                              transport::Deadline deadline) const {
  std::string target = "/v1/leases/" + pool::percent_encoded(id_);
  if (method == "GET") target += "?uid=" + std::to_string(::geteuid());
  OB_ASSIGN_OR_RETURN(const auto response, link.ask(method, target, std::move(body), deadline));
  if (!response.ok()) {
    const pool::Problem problem = pool::problem_of(response);
    return Status(code_of(problem.name), problem.detail);
  }
  OB_ASSIGN_OR_RETURN(pool::LeaseState lease, pool::read_lease(response.body));
  if (lease.state != "queued") return lease;
  return Status(Code::busy, name() + " has no free device now (others hold them)");
}

// The manager grants all devices of a request or none.
Result<pool::LeaseState> LeaseRequest::take(pool::ManagerLink& link, transport::Deadline deadline) {
  for (std::size_t devices = std::max<std::size_t>(1, source_.devices);; --devices) {
    id_ = pool::random_name();
    if (id_.empty()) return Status(Code::internal, "no random numbers for the name of a lease");
    auto lease = answer(link, "PUT", wish(devices), deadline);
    const Code code = lease.status().code();
    const bool may_ask_for_less = code == Code::unsupported || code == Code::busy;
    if (code == Code::unsupported) id_.clear();
    if (code == Code::unsupported && devices == 1) return too_slow();
    if (!may_ask_for_less || devices == 1) return lease;
    if (code == Code::busy) {
      const std::string target = "/v1/leases/" + id_;
      OB_RETURN_IF_ERROR(link.ask("DELETE", target, {}, deadline).status());
    }
  }
}

Result<pool::LeaseState> LeaseRequest::ask(
    const std::shared_ptr<const transport::Security>& security, transport::Deadline deadline) {
  OB_ASSIGN_OR_RETURN(auto manager, pool::ManagerAddress::parse(source_.manager));
  pool::ManagerLink link(std::move(manager), security);
  if (!id_.empty()) {
    auto lease = answer(link, "GET", {}, deadline);
    const bool ends = lease.ok() && lease->state != "held";
    const bool is_over = ends || lease.status().code() == Code::fenced;
    if (!is_own() || !is_over) return lease;
  }
  return take(link, deadline);
}

void LeaseRequest::give_back(const std::shared_ptr<const transport::Security>& security,
                             transport::Deadline deadline) {
  if (!is_own() || id_.empty()) return;
  auto manager = pool::ManagerAddress::parse(source_.manager);
  if (!manager.ok()) return;
  pool::ManagerLink link(std::move(manager).value(), security);
  (void)link.ask("DELETE", "/v1/leases/" + id_, {}, deadline);
  id_.clear();
}

}  // namespace ob::client
