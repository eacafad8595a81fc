#include "pool/lease_client.hpp"

#include <unistd.h>

#include <utility>

#include "pool/json.hpp"
#include "pool/registration.hpp"

namespace ob::pool {
namespace {

std::string path_of(std::string_view id) { return "/v1/leases/" + percent_encoded(id); }

std::string to_json(const LeaseWish& wish, double wait_s) {
  JsonWriter json;
  json.object().key("count").value(std::uint64_t{wish.devices});
  json.key("class").object().key("kind").value(wish.kind);
  json.key("min_gflops").value(wish.least_gflops);
  json.key("min_memory_bytes").value(wish.memory).end();
  json.key("exclusive").value(wish.exclusive).key("share").value(std::uint64_t{wish.share});
  json.key("memory_bytes").value(wish.memory).key("ttl_s").value(wish.seconds);
  json.key("static").value(wish.before_start).key("replace").value(wish.replaced);
  json.key("uid").value(std::uint64_t{::geteuid()}).key("wait_s").value(wait_s);
  json.key("near").object().key("machine").value(machine_name()).end();
  return json.end().text();
}

std::string to_json(std::string_view id, const Sightings& seen) {
  JsonWriter json;
  json.object().key("ids").array();
  if (!id.empty()) json.value(id);
  json.end().key("unreachable").array();
  for (const std::string& device : seen.unreachable) json.value(device);
  json.end().key("links").array();
  const std::string here = machine_name();
  for (const Sightings::MeasuredLink& link : seen.links) {
    json.object().key("machine").value(here).key("daemon").value(link.daemon);
    json.key("rtt_us").value(link.round_trip_s * 1e6);
    json.key("bytes_per_s").value(link.bytes_per_s).end();
  }
  return json.end().end().text();
}

Code code_of(const std::string& problem) noexcept {
  if (problem == "lease-over" || problem == "unknown") return Code::fenced;
  return problem == "can-never-fit" ? Code::unsupported : Code::unavailable;
}

}  // namespace

Result<LeaseClient> LeaseClient::at(const std::string& manager,
                                    const std::shared_ptr<const transport::Security>& security) {
  OB_ASSIGN_OR_RETURN(auto managers, parse_managers(manager));
  return LeaseClient(std::make_unique<ManagerLink>(std::move(managers), security));
}

Result<HttpResponse> LeaseClient::ask(std::string_view method, const std::string& target,
                                      std::string body, transport::Deadline deadline) {
  OB_ASSIGN_OR_RETURN(auto response, link_->ask(method, target, std::move(body), deadline));
  if (response.ok()) return response;
  const Problem problem = problem_of(response);
  return Status(code_of(problem.name), problem.detail);
}

Result<LeaseState> LeaseClient::ask_for_lease(std::string_view method, const std::string& target,
                                              std::string body, transport::Deadline deadline) {
  OB_ASSIGN_OR_RETURN(const auto response, ask(method, target, std::move(body), deadline));
  return read_lease(response.body);
}

Result<LeaseState> LeaseClient::put(std::string_view id, const LeaseWish& wish, double wait_s,
                                    transport::Deadline deadline) {
  return ask_for_lease("PUT", path_of(id), to_json(wish, wait_s), deadline);
}

Result<LeaseState> LeaseClient::get(std::string_view id, std::optional<LeaseRank> rank,
                                    double wait_s, transport::Deadline deadline) {
  std::string target = path_of(id) + "?uid=" + std::to_string(::geteuid());
  if (wait_s > 0) target += "&wait_s=" + std::to_string(wait_s);
  if (rank) {
    target += "&rank=" + std::to_string(rank->number);
    target += "&per_rank=" + std::to_string(rank->devices);
  }
  return ask_for_lease("GET", target, {}, deadline);
}

Status LeaseClient::report(std::string_view id, const Sightings& seen,
                           transport::Deadline deadline) {
  return ask("POST", "/v1/renew", to_json(id, seen), deadline).status();
}

Status LeaseClient::shrink(std::string_view id, std::string_view device,
                           transport::Deadline deadline) {
  return ask("DELETE", path_of(id) + "/handles/" + percent_encoded(device), {}, deadline).status();
}

Status LeaseClient::release(std::string_view id, transport::Deadline deadline) {
  return ask("DELETE", path_of(id), {}, deadline).status();
}

Status LeaseClient::release_early(std::string_view id, transport::Deadline deadline) {
  return ask("DELETE", path_of(id) + "?early=1", {}, deadline).status();
}

}  // namespace ob::pool
