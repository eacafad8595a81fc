// The clients of hostile_storm_test.py:
//   hostile_clients attack ADDRESS SEED FIRST CALLS [DAEMON]   sends hostile calls
//   hostile_clients show SEED FIRST CALLS                      prints these calls
//   hostile_clients victim ADDRESS                             computes until stdin ends
// DAEMON is a process id: the attacker then also kills the executor that serves it. Attackers and
// victims print one line of JSON at their end. Its numbers are counts, and milliseconds.

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "client/remote_device.hpp"
#include "faults/own_executor.hpp"
#include "faults/raw_way.hpp"
#include "support/victim_work.hpp"

namespace ob::test {
namespace {

using Clock = std::chrono::steady_clock;

// Between two executors that are killed on purpose.
constexpr std::uint64_t kCallsToAKill = 250;
// A session whose executors ended so often is left for a new one: the daemon then replaces no more.
constexpr int kMostEnds = 15;
constexpr int kMostViolations = 20;
// Calls of the victim that take longer are worth a line.
constexpr double kLongMs = 400;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Writes a line with the time, so that lines of several clients can be compared.
void say(const std::string& what) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const double seconds = std::chrono::duration<double>(now).count();
  std::fprintf(stderr, "%.3f [%d] %s\n", seconds, getpid(), what.c_str());
}

std::string in_ms(double ms) { return std::to_string(static_cast<long>(ms)) + " ms"; }

int fail(const std::string& what) {
  std::fprintf(stderr, "hostile_clients: %s\n", what.c_str());
  return 1;
}

std::string json(const std::map<std::string, std::uint64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += (text.empty() ? "" : ", ") + ("\"" + name + "\": " + std::to_string(count));
  return "{" + text + "}";
}

std::string json(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

// The bytes of one call, so that a call can be repeated without those before it.
std::vector<std::byte> bytes_of(std::uint64_t seed, std::uint64_t number) {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15 + number);
  std::vector<std::byte> bytes(kHostileCallBytes);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

class Attacker {
 public:
  Attacker(std::string address, std::uint64_t seed, pid_t daemon)
      : address_(std::move(address)), seed_(seed), daemon_(daemon) {}

  Status attack(std::uint64_t first, std::uint64_t calls) {
    OB_RETURN_IF_ERROR(connect());
    for (std::uint64_t number = first; number < first + calls; ++number) {
      OB_RETURN_IF_ERROR(one_call(number));
      if (daemon_ > 0 && (number + 1) % kCallsToAKill == 0) OB_RETURN_IF_ERROR(kill_executor());
      if (ends_ >= kMostEnds) OB_RETURN_IF_ERROR(connect());
    }
    return {};
  }

  void report() const {
    std::printf(
        "{\"codes\": %s, \"crashed\": %s, \"ended_ms\": %s, \"killed_ms\": %s, "
        "\"violations\": %d, \"own_damages\": %d, \"reconnects\": %d, \"longest_ms\": %f}\n",
        json(codes_).c_str(), json(crashed_).c_str(), json(ended_ms_).c_str(),
        json(killed_ms_).c_str(), violations_, own_damages_, reconnects_, longest_ms_);
  }
  int violations() const { return violations_; }

 private:
  Status connect() {
    session_.reset();
    way_.reset();
    device_.reset();
    OB_ASSIGN_OR_RETURN(device_, client::RemoteDevice::open(address_, {}));
    way_ = std::make_unique<RawWay>(*device_);
    // Not an own one: a session has fewer buffers.
    const BufferId foreign{100 + seed_ % 1000};
    OB_ASSIGN_OR_RETURN(session_, HostileSession::create(*device_, *way_, {}, foreign));
    ends_ = 0;
    return {};
  }

  Status one_call(std::uint64_t number) {
    const auto outcome = session_->run(bytes_of(seed_, number));
    if (!outcome.ok()) {
      ++codes_["connection ended"];
      ++reconnects_;
      say("call " + std::to_string(number) + ": " + outcome.status().message());
      return connect();
    }
    ++codes_[to_string(outcome->status.code())];
    longest_ms_ = std::max(longest_ms_, outcome->took_ms);
    note_violation(number, *outcome);
    own_damages_ += outcome->own_damage ? 1 : 0;
    if (!outcome->details.empty()) {
      say("call " + std::to_string(number) + ": " + outcome->details + ": " +
          in_ms(outcome->took_ms) + ", " + outcome->status.message());
    }
    if (!outcome->executor_ended) return {};
    ++crashed_[outcome->text];
    return await_replacement(ended_ms_);
  }

  void note_violation(std::uint64_t number, const HostileOutcome& outcome) {
    if (outcome.violation.empty() || ++violations_ > kMostViolations) return;
    say("violation: " + outcome.violation + " by call " + std::to_string(number) + " of seed " +
        std::to_string(seed_) + ", " + outcome.details + ": " + outcome.status.message());
  }

  Status await_replacement(std::vector<double>& times_ms) {
    ++ends_;
    const auto start = Clock::now();
    for (;;) {
      const Status status = session_->probe();
      if (status.ok()) break;
      if (status.code() == Code::connection_lost) return status;
      if (status.message().find("in a minute") != std::string::npos) return connect();
    }
    times_ms.push_back(ms_since(start));
    return {};
  }

  Status kill_executor() {
    OB_RETURN_IF_ERROR(session_->probe());
    const pid_t executor = own_executor(daemon_);
    if (executor < 0 || kill(executor, SIGKILL) != 0) return {};
    return await_replacement(killed_ms_);
  }

  const std::string address_;
  const std::uint64_t seed_;
  const pid_t daemon_;
  std::unique_ptr<client::RemoteDevice> device_;
  std::unique_ptr<RawWay> way_;
  std::unique_ptr<HostileSession> session_;
  std::map<std::string, std::uint64_t> codes_;
  std::map<std::string, std::uint64_t> crashed_;  // by the text of the call
  std::vector<double> ended_ms_;
  std::vector<double> killed_ms_;
  int violations_ = 0;
  int own_damages_ = 0;
  int reconnects_ = 0;
  int ends_ = 0;  // of this session's executors
  double longest_ms_ = 0;
};

bool stdin_ended() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) > 0;
}

int compute(const std::string& address) {
  auto device = client::RemoteDevice::open(address, {});
  if (!device.ok()) return fail(device.status().message());
  auto work = VictimWork::create(**device);
  if (!work.ok()) return fail(work.status().message());
  std::uint64_t calls = 0;
  std::uint64_t wrong = 0;
  std::uint64_t failed = 0;
  double longest_ms = 0;
  for (; !stdin_ended() && !(*device)->broken(); ++calls) {
    const auto start = Clock::now();
    const auto difference = (*work)->compute(calls);
    const double took_ms = ms_since(start);
    longest_ms = std::max(longest_ms, took_ms);
    if (took_ms > kLongMs)
      say("victim: round " + std::to_string(calls) + " took " + in_ms(took_ms));
    failed += difference.ok() ? 0 : 1;
    wrong += difference.ok() && !difference->empty() ? 1 : 0;
    if (!difference.ok()) say("victim: " + difference.status().message());
    if (difference.ok() && !difference->empty()) say("wrong: " + *difference);
  }
  std::printf("{\"calls\": %llu, \"wrong\": %llu, \"failed\": %llu, \"longest_ms\": %f}\n",
              static_cast<unsigned long long>(calls), static_cast<unsigned long long>(wrong),
              static_cast<unsigned long long>(failed), longest_ms);
  return wrong == 0 && failed == 0 ? 0 : 1;
}

// Prints calls without sending them, with the ids that their buffers have in an attack.
int show(std::uint64_t seed, std::uint64_t first, std::uint64_t calls) {
  HostileBuffers buffers;
  std::uint64_t id = 1;
  for (std::size_t i = 0; i < kMaxArguments; ++i) buffers.operands.push_back({++id});
  buffers.others = {{++id}, {++id}};
  for (std::uint64_t number = first; number < first + calls; ++number) {
    const HostileCall call = hostile_call(bytes_of(seed, number), buffers);
    std::printf("%llu: %s%s\n", static_cast<unsigned long long>(number), description(call).c_str(),
                call.scribbled ? ", scribbled" : "");
  }
  return 0;
}

int attack(const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t i) {
    return std::strtoull(arguments[i].c_str(), nullptr, 0);
  };
  Attacker attacker(arguments[1], number(2),
                    arguments.size() > 5 ? static_cast<pid_t>(number(5)) : 0);
  const Status status = attacker.attack(number(3), number(4));
  attacker.report();
  if (!status.ok()) return fail(status.message());
  return attacker.violations() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ob::test

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "victim") return ob::test::compute(arguments[1]);
  if (arguments.size() >= 5 && arguments[0] == "attack") return ob::test::attack(arguments);
  if (arguments.size() == 4 && arguments[0] == "show") {
    const auto number = [&](std::size_t i) {
      return std::strtoull(arguments[i].c_str(), nullptr, 0);
    };
    return ob::test::show(number(1), number(2), number(3));
  }
  std::fprintf(stderr,
               "usage: hostile_clients attack ADDRESS SEED FIRST CALLS [DAEMON] | show SEED FIRST "
               "CALLS | victim ADDRESS\n");
  return 2;
}
