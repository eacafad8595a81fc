// Sends hostile calls, which the bytes describe (support/hostile_calls.hpp), to a cpu device that
// runs them in executors. The sanitizers check the device's own code, also that of the executors.
// This target checks that the device accepts nothing that it must refuse, that nothing changes but
// the results of accepted calls, and that another client computes correctly all the time. A call
// may end the executor of its own client.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "backend/cpu/backend.hpp"
#include "fuzz/failure.hpp"
#include "fuzz/input.hpp"
#include "support/hostile_session.hpp"
#include "support/victim_work.hpp"

namespace ob::fuzz {
namespace {

constexpr std::size_t kMostCalls = 2;
constexpr Account kVictim{UserId{1}, SessionId{1}};
// The victim computes after this many inputs.
constexpr std::uint64_t kInputsToAVictim = 4;
// A client whose executors end more often is refused for a minute.
constexpr int kMostEnds = 15;

template <class T>
T require(Result<T> result, const char* what) {
  if (!result.ok()) fail((what + (": " + result.status().message())).c_str());
  return std::move(result).value();
}

/// Lives as long as the program: each input reaches a device that earlier inputs have used.
class Bench {
 public:
  Bench()
      : device_(require(cpu::create({.memory_bytes = std::uint64_t{64} << 20,
                                     .threads = 1,
                                     .isolation = cpu::Isolation::session,
                                     .executor = OUTBOARD_EXECUTOR,
                                     .executor_bytes = std::uint64_t{256} << 20,
                                     .gflops_double = 1}),
                        "a device")),
        victim_(require(test::VictimWork::create(*device_, kVictim), "a victim")) {}

  void run(View bytes) {
    for (std::size_t i = 0; i < kMostCalls && !bytes.empty(); ++i) {
      const std::size_t size = std::min(bytes.size(), test::kHostileCallBytes);
      call(bytes.first(size));
      bytes = bytes.subspan(size);
    }
    if (++inputs_ % kInputsToAVictim != 0) return;
    const std::string difference = require(victim_->compute(inputs_), "the victim's call");
    expect(difference.empty(), difference.c_str());
  }

 private:
  void call(View bytes) {
    if (session_ == nullptr || ends_ >= kMostEnds) renew();
    const auto outcome = session_->run(bytes);
    if (!outcome.ok()) {
      const std::string why = "a session ended: " + outcome.status().message();
      expect(way_->abandoned(), why.c_str());
      return renew();
    }
    ends_ += outcome->executor_ended ? 1 : 0;
    if (outcome->violation.empty()) return;
    fail((outcome->details + ": " + outcome->violation + " (" + outcome->status.message() + ")")
             .c_str());
  }

  void renew() {
    session_.reset();
    const Account account{UserId{2}, SessionId{++last_session_}};
    way_ = std::make_unique<test::DirectWay>(*device_, account);
    // Sessions have names of their own for buffers. A device's names are those of all sessions.
    const BufferId nobodys{UINT64_MAX - 1};
    session_ =
        require(test::HostileSession::create(*device_, *way_, account, nobodys), "a session");
    ends_ = 0;
  }

  const std::unique_ptr<Device> device_;
  const std::unique_ptr<test::VictimWork> victim_;
  std::unique_ptr<test::DirectWay> way_;
  std::unique_ptr<test::HostileSession> session_;
  std::uint64_t last_session_ = 1;
  std::uint64_t inputs_ = 0;
  int ends_ = 0;
};

}  // namespace
}  // namespace ob::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ob::fuzz::Bench& bench = *new ob::fuzz::Bench;  // its threads may run until the end
  bench.run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
