#include "pool/manager_link.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "pool/json.hpp"
#include "transport/address.hpp"

namespace ob::pool {
namespace {

using transport::Clock;

constexpr const char* kDefaultPort = ":7780";
// A manager that is up accepts at once; a host that is down does not answer at all.
constexpr std::chrono::seconds kLongestConnect{2};

Status no_manager(const std::string& url, const std::string& why) {
  return {Code::invalid_argument,
          "'" + url + "' is no address of a manager (" + why +
              "); write for example https://pool:7780 or unix:/run/pool.sock"};
}

// Takes `prefix` from the beginning of `text`.
bool take(std::string& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.erase(0, prefix.size());
  return true;
}

// Another manager may do what this one refuses.
bool leads_not(const HttpResponse& response) {
  if (response.status != 503) return false;
  const std::string name = problem_of(response).name;
  return name == "not-leader" || name == "starting" || name == "storage";
}

bool has_port(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  return colon != std::string::npos && place.find(']', colon) == std::string::npos;
}

}  // namespace

Problem problem_of(const HttpResponse& response) {
  const auto body = JsonObject::parse(response.body);
  if (!body.ok()) {
    return {"", "the manager answers with status " + std::to_string(response.status) +
                    " and no reason; is it one of Outboard?"};
  }
  std::string type = body->text("type");
  type.erase(0, type.rfind(':') + 1);
  return {std::move(type), body->text("detail")};
}

Result<ManagerAddress> ManagerAddress::parse(const std::string& url) {
  ManagerAddress parsed{url, url, false};
  std::string& place = parsed.address;
  if (!place.starts_with("unix:")) {
    parsed.secure = take(place, "https://");
    if (!parsed.secure && !take(place, "http://")) return no_manager(url, "https:, http:, unix:");
    if (place.ends_with('/')) place.pop_back();
    if (!has_port(place)) place += kDefaultPort;
  }
  const auto address = transport::parse_address(place);
  if (!address.ok() || std::holds_alternative<transport::UcxAddress>(*address)) {
    return no_manager(url, "that is no host and port");
  }
  if (!parsed.secure && !transport::stays_on_this_machine(place)) {
    return Status(Code::denied, url + " is on another machine (without TLS nobody there proves " +
                                    "who it is); write https: and give a key");
  }
  return parsed;
}

Result<std::vector<ManagerAddress>> parse_managers(const std::string& urls) {
  std::vector<ManagerAddress> managers;
  for (std::size_t begin = 0; begin <= urls.size();) {
    const std::size_t end = std::min(urls.find(',', begin), urls.size());
    OB_ASSIGN_OR_RETURN(auto manager, ManagerAddress::parse(urls.substr(begin, end - begin)));
    managers.push_back(std::move(manager));
    begin = end + 1;
  }
  return managers;
}

Result<std::unique_ptr<transport::Stream>> ManagerLink::connect(
    transport::Deadline deadline) const {
  if (manager().secure && security_ == nullptr) {
    return Status(Code::denied, "it needs a key (it is on the network); give --key FOLDER");
  }
  OB_ASSIGN_OR_RETURN(auto stream, transport::connect_plainly(manager().address, deadline));
  if (!manager().secure) return stream;
  return security_->connect_to_manager(std::move(stream), deadline);
}

Status ManagerLink::ensure_connected(transport::Deadline deadline) {
  std::unique_ptr<transport::Stream> fresh;
  if (stream_ == nullptr) {
    // A host that is down must leave time for the other managers.
    const auto now = Clock::now();
    const Clock::duration share = (deadline - now) / static_cast<int>(managers_.size());
    OB_ASSIGN_OR_RETURN(fresh, connect(now + std::min<Clock::duration>(share, kLongestConnect)));
  }
  const std::lock_guard lock(mutex_);
  if (interrupted_) return {Code::connection_lost, "interrupted"};
  if (fresh != nullptr) stream_ = std::move(fresh);
  return {};
}

void ManagerLink::disconnect() {
  const std::lock_guard lock(mutex_);
  stream_.reset();
}

void ManagerLink::interrupt() noexcept {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  if (stream_ != nullptr) stream_->shut_down();
}

bool ManagerLink::interrupted() {
  const std::lock_guard lock(mutex_);
  return interrupted_;
}

void ManagerLink::resume() {
  const std::lock_guard lock(mutex_);
  interrupted_ = false;
  stream_.reset();
}

Result<HttpResponse> ManagerLink::ask_once(const HttpRequest& request,
                                           transport::Deadline deadline) {
  OB_RETURN_IF_ERROR(ensure_connected(deadline));
  auto response = exchange(*stream_, request, deadline);
  // A manager that still sends must notice the end. Otherwise its system would probe the full
  // buffer of the closed connection for minutes, and its thread would wait.
  if (!response.ok()) stream_->discard_unsent_at_end();
  if (!response.ok() || response->closes) disconnect();
  return response;
}

void ManagerLink::move_on() {
  if (managers_.size() == 1) return;
  disconnect();
  at_ = (at_ + 1) % managers_.size();
}

Result<HttpResponse> ManagerLink::ask(std::string_view method, std::string_view target,
                                      std::string body, transport::Deadline deadline) {
  HttpRequest request{std::string(method), std::string(target), {}, std::move(body)};
  auto response = ask_manager(request, deadline);
  for (std::size_t asked = 1;; ++asked) {
    if (response.ok() && !leads_not(*response)) return response;
    move_on();
    if (asked >= managers_.size() || Clock::now() >= deadline || interrupted()) return response;
    response = ask_manager(request, deadline);
  }
}

// Asks one manager, once more if it had closed a kept connection.
Result<HttpResponse> ManagerLink::ask_manager(HttpRequest& request, transport::Deadline deadline) {
  const bool local = manager().address.starts_with("unix:");
  request.host = local ? "localhost" : manager().address;
  const bool kept = stream_ != nullptr;
  auto response = ask_once(request, deadline);
  if (kept && response.status().code() == Code::connection_lost) {
    response = ask_once(request, deadline);
  }
  if (response.ok()) return response;
  const Status& why = response.status();
  const bool silent = why.code() == Code::unavailable || why.code() == Code::deadline_exceeded;
  return Status(why.code(), "the manager at " + url() + " cannot be asked (" + why.message() + ")" +
                                (silent ? "; is it running there? `outboard pool serve`" : ""));
}

}  // namespace ob::pool
