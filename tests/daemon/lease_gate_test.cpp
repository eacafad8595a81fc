// The lease gate: the vectors that its model in Python answers, too, random histories beside an
// oracle, and what its owner relies on.

#include "daemon/lease_gate/lease_gate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "daemon/lease_gate/lease_rules.hpp"
#include "daemon/lease_history.hpp"
#include "support/random.hpp"

namespace ob::daemon::test {
namespace {

using nlohmann::json;
using pool::DesiredState;
using pool::LeaseClaims;

// --- vectors -------------------------------------------------------------------------------------

const json& vectors() {
  static const json file = [] {
    std::ifstream in(OB_POOL_VECTORS "/gate_vectors.json");
    return json::parse(in);
  }();
  return file;
}

LeaseClaims claims_of(const json& token) {
  LeaseClaims claims{token.value("pool", vectors()["gate"]["pool"].get<std::string>()),
                     token["daemon"],
                     token["device"],
                     token["holder"],
                     token.value("lease", ""),
                     token["epoch"],
                     token["floor"],
                     token["exclusive"],
                     token["memory_bytes"],
                     token["share"],
                     token["sessions"],
                     "calls",
                     token.value("issued_ms", std::int64_t{0}),
                     token["exp_ms"],
                     token["rev"],
                     {}};
  if (token.value("uid", -1) >= 0) claims.uid = token["uid"].get<std::uint32_t>();
  return claims;
}

DesiredState state_of(const json& step) {
  const json& told = step["apply"];
  DesiredState state{told["rev"], told["now_ms"], {}};
  for (const json& device : told["devices"]) {
    pool::DesiredDevice wanted{device["id"], device["floor"], {}, device.value("closed", false)};
    for (const json& lease : device["leases"]) {
      wanted.leases.push_back(
          {lease["epoch"], lease["end_ms"], lease["memory_bytes"], lease["share"]});
    }
    if (step.contains("fill") && step["fill"]["device"] == wanted.id) {
      for (std::uint64_t i = 0; i < step["fill"]["leases"]; ++i) {
        wanted.leases.push_back({1'000'000 + i, 30'000, 1, 1});
      }
    }
    state.devices.push_back(std::move(wanted));
  }
  return state;
}

// Plays the steps of a vector, and the owner of the gate: sessions leave when they have ended.
class VectorPlayer {
 public:
  VectorPlayer() : gate_(config()) {
    EXPECT_TRUE(gate_.set_pool(vectors()["gate"]["pool"].get<std::string>()).ok());
  }

  void play(const json& step) {
    if (step.contains("apply")) {
      EXPECT_EQ(gate_.apply(state_of(step), step["at_ms"]).ok(), step.value("expect", true));
    } else if (step.contains("admit")) {
      admit(step);
    } else if (step.contains("without_lease")) {
      note(gate_.admit_unleased(), step, step["without_lease"]);
    } else if (step.contains("begin")) {
      Session& session = sessions_.at(step["begin"]);
      EXPECT_EQ(session.shared->begin_command(), step["expect"].get<bool>());
    } else if (step.contains("end")) {
      sessions_.at(step["end"]).shared->end_command();
    } else if (step.contains("close")) {
      sessions_.at(step["close"]).closed = true;
    } else if (step.contains("tick")) {
      gate_.tick(step["tick"]);
    } else {
      compare(step["report"]);
    }
    leave();
  }

 private:
  struct Session {
    LeaseSessionId id;
    std::shared_ptr<LeaseSession> shared;
    bool closed = false;
  };

  static LeaseGate::Config config() {
    const json& about = vectors()["gate"];
    LeaseGate::Config config{about["daemon"], {}, about["grace_ms"], about["contact_ms"]};
    for (const auto& [id, bytes] : about["memory_bytes"].items())
      config.devices.push_back({id, bytes});
    return config;
  }

  // The owner lets sessions without commands end, and asks again.
  void admit(const json& step) {
    LeaseGate::Answer answer = ask(step);
    if (said(answer) == "fencing") {
      leave();
      answer = ask(step);
    }
    note(answer, step, step["session"]);
  }

  void note(const LeaseGate::Answer& answer, const json& step, const std::string& session) {
    EXPECT_EQ(said(answer), step["expect"].get<std::string>());
    if (const auto* const admission = std::get_if<Admission>(&answer)) {
      sessions_[session] = {admission->id, admission->session};
    }
  }

  LeaseGate::Answer ask(const json& step) {
    const auto user = step["user"].get<std::string>();
    return gate_.admit(claims_of(step["admit"]), user, step["at_ms"]);
  }

  static std::string said(const LeaseGate::Answer& answer) {
    const auto* const refused = std::get_if<Refused>(&answer);
    return refused != nullptr ? to_string(refused->why) : "admitted";
  }

  void compare(const json& expected) {
    const LeaseReport report = gate_.report();
    ASSERT_EQ(report.devices.size(), expected.size());
    for (const LeaseReport::Device& device : report.devices) {
      const json& told = expected.at(device.id);
      EXPECT_EQ(device.floor, told["floor"].get<std::uint64_t>());
      json epochs = json::array();
      json busy = json::array();
      for (const auto& session : device.sessions) {
        epochs.push_back(session.epoch);
        busy.push_back(session.busy);
      }
      EXPECT_EQ(epochs, told["epochs"]);
      EXPECT_EQ(busy, told.value("busy", busy));
    }
  }

  void leave() {
    for (auto& [name, session] : sessions_) {
      const bool ends = session.closed || !session.shared->valid();
      if (ends && session.shared->running() == 0) gate_.leave(session.id);
    }
  }

  LeaseGate gate_;
  std::map<std::string, Session> sessions_;
};

TEST(LeaseGate, AnswersTheVectors) {
  for (const json& vector : vectors()["vectors"]) {
    VectorPlayer player;
    int number = 0;
    for (const json& step : vector["steps"]) {
      SCOPED_TRACE(vector["name"].get<std::string>() + ", step " + std::to_string(number++) + ": " +
                   step.dump());
      player.play(step);
    }
  }
}

// --- random histories ----------------------------------------------------------------------------

constexpr int kEvents = 300;

// Enough for the choices of all events.
std::vector<std::byte> choices_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(100 * kEvents);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(LeaseGate, AnswersRandomHistoriesAsTheOracleDoes) {
  auto random = ob::test::fresh_random();
  std::map<std::string, int> answers;
  for (int history = 0; history < 1000; ++history) {
    const std::uint64_t seed = random();
    const std::vector<std::byte> choices = choices_of(seed);
    LeaseHistory player(choices, Mistake::none);
    ASSERT_EQ(player.run(kEvents), "") << "history " << seed;
    for (const auto& [answer, times] : player.answers()) answers[answer] += times;
  }
  for (const char* answer :
       {"admitted", "starting", "denied", "fenced", "expired", "fencing", "full",
        "no lease: admitted", "no lease: starting", "no lease: held"}) {
    EXPECT_GT(answers[answer], 50) << answer << ": the histories do not reach it";
  }
}

TEST(LeaseGate, HistoriesFindEveryMistake) {
  auto random = ob::test::fresh_random();
  for (int mistake = 1; mistake < kMistakes; ++mistake) {
    bool found = false;
    int histories = 0;
    while (!found && histories < 2000) {
      const std::vector<std::byte> choices = choices_of(random());
      LeaseHistory player(choices, static_cast<Mistake>(mistake));
      found = !player.run(kEvents).empty();
      ++histories;
    }
    EXPECT_TRUE(found) << "mistake " << mistake << " is not found";
  }
}

// --- what its owner relies on --------------------------------------------------------------------

LeaseClaims good_claims() {
  LeaseClaims claims;
  claims.pool = "p";
  claims.daemon = "n";
  claims.device = "d1";
  claims.holder = "certificate ada";
  claims.lease = "l";
  claims.epoch = claims.floor = 5;
  claims.memory_bytes = 1 << 20;
  claims.share = 1000;
  claims.sessions = 2;
  claims.rights = "calls";
  claims.end_ms = 30'000;
  claims.rev = 1;
  return claims;
}

constexpr std::string_view kAda = "certificate ada";

LeaseGate made_gate() {
  return LeaseGate({"n", {{"d0", 1 << 20}, {"d1", 1 << 20}}, 600'000, 4'000});
}

LeaseGate ready_gate() {
  LeaseGate gate = made_gate();
  EXPECT_TRUE(gate.set_pool("p").ok());
  EXPECT_TRUE(gate.apply({0, 0, {}}, 0).ok());
  return gate;
}

Refused refused(const LeaseGate::Answer& answer) { return std::get<Refused>(answer); }

TEST(LeaseGate, StartsWithThePoolAndAState) {
  LeaseGate gate = made_gate();
  EXPECT_EQ(refused(gate.admit(good_claims(), kAda, 0)).why, Refusal::starting);
  EXPECT_EQ(gate.report().rev, -1);
  EXPECT_TRUE(gate.apply({0, 0, {}}, 0).ok());
  EXPECT_EQ(refused(gate.admit(good_claims(), kAda, 0)).why, Refusal::starting);
  EXPECT_FALSE(gate.set_pool("").ok());
  EXPECT_TRUE(gate.set_pool("p").ok());
  EXPECT_TRUE(gate.set_pool("p").ok());
  EXPECT_EQ(gate.set_pool("q").code(), Code::denied);
  EXPECT_TRUE(std::holds_alternative<Admission>(gate.admit(good_claims(), kAda, 0)));
}

TEST(LeaseGate, AdmitsToTheDeviceOfTheToken) {
  LeaseGate gate = ready_gate();
  const auto one = std::get<Admission>(gate.admit(good_claims(), kAda, 0));
  const auto two = std::get<Admission>(gate.admit(good_claims(), kAda, 0));
  EXPECT_EQ(one.device, 1U);
  EXPECT_NE(one.id, two.id);
  EXPECT_EQ(one.account, two.account) << "the sessions of a lease share its account";
  EXPECT_EQ(one.account->terms(), terms_of(good_claims()));
  EXPECT_EQ(refused(gate.admit(good_claims(), kAda, 0)).why, Refusal::full);
}

TEST(LeaseGate, TellsEachSessionToCutOffOnce) {
  LeaseGate gate = ready_gate();
  const auto one = std::get<Admission>(gate.admit(good_claims(), kAda, 0));
  const auto two = std::get<Admission>(gate.admit(good_claims(), kAda, 0));
  EXPECT_TRUE(gate.take_cut_off().empty());
  LeaseClaims next = good_claims();
  next.epoch = next.floor = 6;
  const Refused first = refused(gate.admit(next, kAda, 0));
  EXPECT_EQ(first.why, Refusal::fencing);
  EXPECT_FALSE(one.session->valid() || two.session->valid());
  gate.leave(two.id);  // it has ended before the owner looked
  EXPECT_EQ(gate.take_cut_off(), std::vector{CutOff{one.id}});
  EXPECT_EQ(refused(gate.admit(next, kAda, 0)).why, Refusal::fencing);
  EXPECT_TRUE(gate.take_cut_off().empty());
  gate.leave(one.id);
  gate.leave(one.id);
  EXPECT_TRUE(std::holds_alternative<Admission>(gate.admit(next, kAda, 0)));
}

TEST(LeaseGate, ServesClientsWithoutALeaseOnFreeDevices) {
  LeaseGate gate = made_gate();
  EXPECT_EQ(refused(gate.admit_unleased()).why, Refusal::starting);
  EXPECT_TRUE(gate.set_pool("p").ok());
  EXPECT_TRUE(gate.apply({0, 0, {}}, 0).ok());
  EXPECT_EQ(refused(gate.admit_unleased()).why, Refusal::held) << "the manager lists no device";
  EXPECT_TRUE(gate.apply({0, 1, {{"d0", 1, {}}, {"d1", 1, {}}}}, 1).ok());
  const auto one = std::get<Admission>(gate.admit_unleased());
  const auto two = std::get<Admission>(gate.admit_unleased());
  EXPECT_NE(one.device, two.device) << "each gets a device of its own while there are some";
  EXPECT_EQ(one.account, nullptr);
  const auto of_d0 = one.device == 0 ? one : two;
  const auto of_d1 = one.device == 0 ? two : one;
  EXPECT_EQ(refused(gate.admit(good_claims(), kAda, 0)).why, Refusal::fencing);
  EXPECT_EQ(gate.take_cut_off(), std::vector({CutOff{of_d1.id, false}}));
  EXPECT_TRUE(of_d0.session->begin_command()) << "nobody wants its device";
  EXPECT_FALSE(of_d1.session->begin_command());
  EXPECT_EQ(of_d1.session->over().code(), Code::fenced);
  EXPECT_EQ(std::get<Admission>(gate.admit_unleased()).device, 0U)
      << "the other one waits for a lease";
  gate.leave(of_d1.id);
  EXPECT_TRUE(std::holds_alternative<Admission>(gate.admit(good_claims(), kAda, 0)));
  for (const LeaseReport::Device& device : gate.report().devices) {
    EXPECT_EQ(device.sessions.size(), device.id == "d1" ? 1U : 0U) << "only leases are reported";
  }
}

TEST(LeaseGate, SaysWhyAndWhatToDo) {
  const std::map<Refusal, Code> codes{{Refusal::starting, Code::unavailable},
                                      {Refusal::denied, Code::denied},
                                      {Refusal::fenced, Code::fenced},
                                      {Refusal::expired, Code::fenced},
                                      {Refusal::fencing, Code::busy},
                                      {Refusal::full, Code::busy},
                                      {Refusal::held, Code::busy}};
  for (const auto& [why, code] : codes) {
    const Status status = Refused{why, "the lease is refused"}.status();
    EXPECT_EQ(status.code(), code) << to_string(why);
    EXPECT_EQ(status.message(), "the lease is refused");
  }
  LeaseGate gate = ready_gate();
  LeaseClaims claims = good_claims();
  claims.daemon = "\033[31m";
  const std::string sentence = refused(gate.admit(claims, kAda, 0)).sentence;
  EXPECT_EQ(sentence.find('\033'), std::string::npos) << "a token's text is not quoted";
  EXPECT_NE(sentence.find("not for daemon n"), std::string::npos) << sentence;
}

TEST(LeaseGate, EndsForHugeStates) {
  LeaseGate gate = ready_gate();
  DesiredState huge{1, 0, {{"d1", 0, {}}}};
  for (std::uint64_t i = 0; i < 1'000'000; ++i) huge.devices[0].leases.push_back({i, 0, 0, 1});
  EXPECT_EQ(gate.apply(huge, 0).code(), Code::invalid_argument);
  huge.devices[0].leases.clear();
  for (int i = 0; i < 100'000; ++i) huge.devices.push_back({"other" + std::to_string(i), 1, {}});
  EXPECT_TRUE(gate.apply(huge, 0).ok());
}

// --- a session and its commands ------------------------------------------------------------------

// The gate fences while threads begin commands: none begins after a count of 0 was seen.
TEST(LeaseSession, FencesCommandsOfOtherThreads) {
  for (int round = 0; round < 200; ++round) {
    LeaseGate gate = ready_gate();
    const auto admission = std::get<Admission>(gate.admit(good_claims(), kAda, 0));
    std::atomic<bool> over{false};
    std::atomic<int> late{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        while (admission.session->begin_command()) {
          if (over.load()) ++late;
          admission.session->end_command();
        }
      });
    }
    EXPECT_TRUE(gate.apply({1, 0, {}}, 0).ok());
    while (admission.session->running() != 0) std::this_thread::yield();
    over = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(late.load(), 0);
    EXPECT_FALSE(admission.session->begin_command());
  }
}

// --- the account of a lease ----------------------------------------------------------------------

TEST(LeaseAccount, CountsTheMemoryOfAllSessions) {
  const LeaseAccount account(terms_of(good_claims()));
  const auto one = account.open_memory();
  const auto two = account.open_memory();
  auto half = ResourceAccount::reserve(one, 1 << 19);
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(one->room(), std::uint64_t{1} << 19);
  EXPECT_EQ(two->room(), std::uint64_t{1} << 19);
  EXPECT_EQ(two->equal_part(), std::uint64_t{1} << 19) << "what a session should keep";
  EXPECT_EQ(two->missing_share(1 << 19), 0U) << "nothing is kept for others";
  auto rest = ResourceAccount::reserve(two, 1 << 19);
  ASSERT_TRUE(rest.ok());
  const auto more = ResourceAccount::reserve(two, 1).status();
  EXPECT_EQ(more.code(), Code::out_of_memory);
  EXPECT_NE(more.message().find("all sessions of this lease"), std::string::npos) << more.message();
  *half = Reservation();
  EXPECT_TRUE(ResourceAccount::reserve(two, 1 << 19).ok());
}

TEST(LeaseAccount, HasItsShareAsWeight) {
  LeaseClaims claims = good_claims();
  claims.share = 250;
  const LeaseWeight weight = LeaseAccount(terms_of(claims)).weight();
  EXPECT_EQ(weight.lease, LeaseId{5});
  EXPECT_EQ(weight.share, 250U);
}

TEST(LeaseAccount, GivesNothingWithoutMemory) {
  LeaseClaims claims = good_claims();
  claims.memory_bytes = 0;
  const LeaseAccount account(terms_of(claims));
  EXPECT_EQ(ResourceAccount::reserve(account.open_memory(), 1 << 20).status().code(),
            Code::out_of_memory);
}

}  // namespace
}  // namespace ob::daemon::test
