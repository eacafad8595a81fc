// A link with delay, for kernels without netem. It forwards the bytes of every connection after a
// fixed time. In each direction of a connection, at most `window` bytes are in flight or
// unacknowledged, and an acknowledgement takes the delay again. Two sockets with buffers of that
// size on a long link behave in this way: a stream passes at most one window per round trip.

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/command_line.hpp"
#include "bench/or_exit.hpp"
#include "transport/stream.hpp"

namespace {

using ob::transport::Clock;
using ob::transport::Stream;
using Time = Clock::time_point;

// The smallest read. Smaller reads would fill the ring with very small pieces.
constexpr std::size_t kLeastRead = std::size_t{64} << 10;
constexpr auto kLookForFresh = std::chrono::milliseconds(5);

struct Options {
  std::string listen = "127.0.0.1:0";
  std::string target;
  double delay_ms = 5;
  std::size_t window_bytes = std::size_t{4} << 20;
};

/// One direction of a connection: a ring of the bytes that are in flight, in the order of their
/// times.
class Way {
 public:
  Way(Stream& from, Stream& to, const Options& options)
      : from_(from),
        to_(to),
        delay_(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double, std::milli>(options.delay_ms))),
        ring_(std::max(options.window_bytes, kLeastRead)) {}

  /// Moves the bytes that can move now. False once the connection has ended.
  bool move(Time now) {
    acknowledge(now);
    return receive(now) && send(now);
  }
  /// The time of the next action that needs no input.
  Time next() const noexcept {
    Time at = Time::max();
    if (!arriving_.empty() && !held_back_) at = arriving_.front().due;
    return unacknowledged_.empty() ? at : std::min(at, unacknowledged_.front().due);
  }
  bool wants_to_receive() const noexcept { return free_bytes() >= kLeastRead; }
  bool wants_to_send() const noexcept { return held_back_; }

 private:
  struct Piece {
    std::size_t bytes;
    Time due;
  };

  std::size_t free_bytes() const noexcept { return ring_.size() - (received_ - acknowledged_); }

  void acknowledge(Time now) {
    while (!unacknowledged_.empty() && unacknowledged_.front().due <= now) {
      acknowledged_ += unacknowledged_.front().bytes;
      unacknowledged_.pop_front();
    }
  }

  bool receive(Time now) {
    while (wants_to_receive()) {
      const std::size_t at = received_ % ring_.size();
      const iovec part{ring_.data() + at, std::min(free_bytes(), ring_.size() - at)};
      const auto got = from_.try_receive({&part, 1});
      if (!got.ok()) return false;
      if (*got == 0) return true;
      received_ += *got;
      arriving_.push_back({*got, now + delay_});
    }
    return true;
  }

  bool send(Time now) {
    held_back_ = false;
    while (!arriving_.empty() && arriving_.front().due <= now) {
      Piece& piece = arriving_.front();
      const std::size_t at = sent_ % ring_.size();
      const iovec part{ring_.data() + at, std::min(piece.bytes, ring_.size() - at)};
      const auto sent = to_.try_send({&part, 1});
      if (!sent.ok()) return false;
      if (*sent == 0) {
        held_back_ = true;
        return true;
      }
      sent_ += *sent;
      unacknowledged_.push_back({*sent, now + delay_});
      piece.bytes -= *sent;
      if (piece.bytes == 0) arriving_.pop_front();
    }
    return true;
  }

  Stream& from_;
  Stream& to_;
  const Clock::duration delay_;
  std::vector<std::byte> ring_;
  std::uint64_t received_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::deque<Piece> arriving_;
  std::deque<Piece> unacknowledged_;
  bool held_back_ = false;  // the receiver accepts no more bytes at the moment
};

/// A client and the server to which the relay connects it.
struct Pair {
  Pair(std::unique_ptr<Stream> from, std::unique_ptr<Stream> to, const Options& options)
      : client(std::move(from)),
        server(std::move(to)),
        up(*client, *server, options),
        down(*server, *client, options) {}

  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> server;
  Way up;
  Way down;
};
using Pairs = std::vector<std::unique_ptr<Pair>>;

pollfd watched(const Stream& stream, const Way& from_it, const Way& to_it) {
  return {stream.descriptor(),
          static_cast<short>((from_it.wants_to_receive() ? POLLIN : 0) |
                             (to_it.wants_to_send() ? POLLOUT : 0)),
          0};
}

/// Pairs that the accepting thread has made and the moving one has not taken yet.
class Fresh {
 public:
  void accept_from(ob::transport::Listener& listener, const Options& options) {
    for (;;) {
      const auto soon = [](int seconds) { return Clock::now() + std::chrono::seconds(seconds); };
      auto client = listener.accept(soon(3600));
      if (!client.ok()) continue;
      auto server = ob::transport::connect(options.target, soon(5));
      if (!server.ok()) continue;
      const std::lock_guard lock(mutex_);
      pairs_.push_back(std::make_unique<Pair>(std::move(*client), std::move(*server), options));
    }
  }
  void move_to(Pairs& pairs) {
    const std::lock_guard lock(mutex_);
    std::move(pairs_.begin(), pairs_.end(), std::back_inserter(pairs));
    pairs_.clear();
  }

 private:
  std::mutex mutex_;
  Pairs pairs_;
};

void sleep_until_something_happens(const Pairs& pairs) {
  std::vector<pollfd> all;
  Time next = Clock::now() + kLookForFresh;
  for (const auto& pair : pairs) {
    all.push_back(watched(*pair->client, pair->up, pair->down));
    all.push_back(watched(*pair->server, pair->down, pair->up));
    next = std::min({next, pair->up.next(), pair->down.next()});
  }
  const auto left = std::max(next - Clock::now(), Clock::duration::zero());
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
  const timespec time{0, static_cast<long>(ns)};  // less than a second
  (void)::ppoll(all.data(), all.size(), &time, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  ob::bench::CommandLine line(
      "Passes connections on with a delay each way; prints where it listens.");
  Options options;
  line.add("--listen", &options.listen, "address to listen on");
  line.add("--target", &options.target, "address to connect to", {.required = true});
  line.add("--delay-ms", &options.delay_ms, "one way");
  line.add("--window", &options.window_bytes, "bytes of a stream per round trip", {.sizes = true});
  line.parse_or_exit(argc, argv);
  (void)::prctl(PR_SET_TIMERSLACK, 1);
  (void)::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const auto listener = ob::bench::or_exit(ob::transport::listen(options.listen));
  std::printf("listening on %s\n", listener->address().c_str());
  std::fflush(stdout);
  Fresh fresh;
  std::thread([&] { fresh.accept_from(*listener, options); }).detach();
  for (Pairs pairs;;) {
    fresh.move_to(pairs);
    const Time now = Clock::now();
    std::erase_if(pairs,
                  [&](const auto& pair) { return !pair->up.move(now) || !pair->down.move(now); });
    sleep_until_something_happens(pairs);
  }
}
