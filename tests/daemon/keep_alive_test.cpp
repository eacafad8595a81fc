// A daemon that waits for submitted commands sends its client signs of life.

#include <future>

#include "device/host_device.hpp"
#include "routines/codec.hpp"
#include "support/dgemm.hpp"
#include "support/in_process_daemon.hpp"
#include "support/raw_client.hpp"

namespace ob::test {
namespace {

using wire::Opcode;

constexpr QueueId kQueue{1};
constexpr std::uint64_t kMemoryBytes = 1 << 20;
constexpr std::uint64_t kMost = 700'000;  // two of them do not fit

// A device whose calls end when the test opens the gate.
class GatedDevice final : public HostDevice {
 public:
  explicit GatedDevice(std::shared_future<void> gate)
      : HostDevice({.backend = "gated", .memory_bytes = kMemoryBytes}), gate_(std::move(gate)) {}
  ~GatedDevice() override { finish_queues(); }

  Status call(QueueId id, const Descriptor&, const Argument*) override {
    const auto queue = find_queue(id);
    if (queue == nullptr) return no_such_queue(id);
    queue->submit({}, [gate = gate_](QueueReport&) {
      gate.wait();
      return Status();
    });
    return {};
  }
  Result<PlanId> make_plan(const FftPlan&) override { return no_such_plan({}); }
  Status destroy_plan(PlanId id) override { return no_such_plan(id); }
  Status execute(QueueId, PlanId id, BufferRef, BufferRef) override { return no_such_plan(id); }

 private:
  const std::shared_future<void> gate_;
};

class KeepAliveTest : public testing::Test {
 protected:
  void SetUp() override {
    client.shake_hands();
    client.command(Opcode::create_queue, kQueue);
    client.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, kMost});
    Argument arguments[kMaxArguments];
    square_dgemm_on_device(1, BufferId{1}, BufferId{1}, BufferId{1}, arguments);
    wire::Body body;
    encode_call(dgemm(), arguments, body);
    client.command(Opcode::call, kQueue, body.bytes());
  }
  void TearDown() override { open_gate(); }
  void open_gate() {
    if (!std::exchange(open_, true)) gate_.set_value();
  }
  void expect_sign_of_life() {
    for (;;) {
      const Received message = client.receive();
      ASSERT_TRUE(message.end.ok()) << message.end.message();
      if (message.opcode() == Opcode::pong && message.header.sequence == 0) return;
    }
  }

 private:
  std::promise<void> gate_;
  bool open_ = false;
  InProcessDaemon daemon_{Transport::tcp,
                          one(std::make_unique<GatedDevice>(gate_.get_future().share()))};

 protected:
  RawClient client{daemon_.address()};
};

// The device still uses the freed memory; the daemon holds no answer that uses it.
TEST_F(KeepAliveTest, WhileAnAllocationWaitsForFreedMemory) {
  client.command(Opcode::copy, kQueue, wire::Copy{BufferId{1}, BufferId{1}, line(8), line(8, 64)});
  client.command(Opcode::free, {}, wire::Free{BufferId{1}});
  client.command(Opcode::allocate, {}, wire::Allocate{BufferId{2}, kMost});
  expect_sign_of_life();
  open_gate();
  client.command(Opcode::write, kQueue, wire::Write{BufferId{2}, line(8)}, Bytes(8));
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
}

TEST_F(KeepAliveTest, WhileADestroyedQueueFinishesItsCommands) {
  client.command(Opcode::destroy_queue, kQueue);
  expect_sign_of_life();
  open_gate();
  constexpr QueueId kNext{2};
  client.command(Opcode::create_queue, kNext);
  EXPECT_EQ(client.synchronize(kNext).code, Code::ok);
}

}  // namespace
}  // namespace ob::test
