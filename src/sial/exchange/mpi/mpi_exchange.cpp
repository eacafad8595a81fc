#include "sial/exchange/mpi/mpi_exchange.hpp"

#include <mpi.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "sial/exchange/message_codec.hpp"
#include "sial/exchange/mpi/patient_finalize.hpp"
#include "sial/exchange/steady_time.hpp"

namespace ob::sial {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMessageTag = 1;
constexpr int kElementsTag = 2;
// A thread that shares its core with an interpreter must not spin longer than this. While requests
// are under way it sleeps for the short time, else for the long one.
// Source: measured with 4 MiB messages over 1 Gb/s; naps of 1 ms cost the fewest switches
constexpr std::chrono::microseconds kSpin{50};
constexpr std::chrono::microseconds kShortNap{50};
constexpr std::chrono::microseconds kLongNap{1000};
// A thread that waits sleeps for less than another one spins at first: two ranks that wait for each
// other in turns would else miss each other each time.
constexpr std::chrono::microseconds kFirstNap{10};
constexpr std::chrono::milliseconds kRecent{5};  // after the last message, naps are short
// Answers to prefetches that are on their way to one rank. A second one keeps the link busy; more
// would delay the answers that somebody waits for.
constexpr std::ptrdiff_t kAnswersAhead = 2;
// Messages that MPI has at once. The others wait here: MPICH ends the process when it has about a
// million requests, and each step looks at all of them.
constexpr std::size_t kMostSends = 1024;
// Elements of one MPI message: 1 GiB.
constexpr std::int64_t kMostElements = std::int64_t{1} << 27;

// Lets this thread sleep for as long as it says. Linux adds up to 50 us, as long as a short nap.
bool sleep_exactly() noexcept { return prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL) == 0; }

}  // namespace

// Decides when a thread that moves messages sleeps, and for how long.
class MpiExchange::Pace {
 public:
  void moved() noexcept { last_move_ = Clock::now(); }
  /// Looks once before it sleeps again.
  void spin_no_more() noexcept { last_move_ = std::min(last_move_, Clock::now() - kSpin); }
  /// Returns the time to sleep for a thread whose rank computes.
  /// @param under_way messages have begun to move
  std::chrono::microseconds beside_work(bool under_way) const noexcept {
    const auto idle = Clock::now() - last_move_;
    if (idle < kSpin) return {};
    return under_way || idle < kRecent ? kShortNap : kLongNap;
  }
  /// The same for a thread whose rank waits. The longer it has waited, the less does it matter how
  /// long it sleeps, and the more ranks may be waiting on its core.
  std::chrono::microseconds instead_of_work(bool under_way) const noexcept {
    const auto idle =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - last_move_);
    if (idle < kSpin) return {};
    return under_way ? kShortNap : std::clamp(idle / 8, kFirstNap, kLongNap);
  }

 private:
  Clock::time_point last_move_ = Clock::now();
};

struct MpiExchange::Mpi {
  MPI_Comm comm = MPI_COMM_NULL;
  Pace pace;
};

struct MpiExchange::Sending {
  Rank to = 0;
  bool ahead = false;
  std::vector<std::byte> bytes;
  ConstBlockPtr block;
  std::vector<MPI_Request> requests;
};

struct MpiExchange::Arriving {
  Message message;
  BlockPtr block;
  std::vector<MPI_Request> requests;
};

MpiExchange::MpiExchange() : mpi_(std::make_unique<Mpi>()) {}

Result<std::unique_ptr<MpiExchange>> MpiExchange::create(int* argc, char*** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
  if (provided < MPI_THREAD_FUNNELED) {
    MPI_Finalize();
    return Status(
        Code::unavailable,
        "this MPI has no MPI_THREAD_FUNNELED (it was built without threads); use another");
  }
  std::unique_ptr<MpiExchange> made(new MpiExchange);
  made->any_thread_ = provided >= MPI_THREAD_SERIALIZED;
  MPI_Comm_dup(MPI_COMM_WORLD, &made->mpi_->comm);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(made->mpi_->comm, &rank);
  MPI_Comm_size(made->mpi_->comm, &ranks);
  made->rank_ = static_cast<Rank>(rank);
  made->ranks_ = static_cast<Rank>(ranks);
  made->arriving_.resize(made->ranks_);
  return made;
}

MpiExchange::~MpiExchange() {
  MPI_Comm_free(&mpi_->comm);
  finalize(status_);
}

Status MpiExchange::compare(std::uint64_t digest) {
  std::uint64_t lowest = digest;
  std::uint64_t highest = digest;
  MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_UINT64_T, MPI_MIN, mpi_->comm);
  MPI_Allreduce(MPI_IN_PLACE, &highest, 1, MPI_UINT64_T, MPI_MAX, mpi_->comm);
  if (lowest == highest) return {};
  return {Code::version_mismatch,
          "the ranks do not run the same program (version, byte order or byte code differ); "
          "install one version on all nodes and share the job's folder"};
}

void MpiExchange::send(Message message) {
  // The elements of a large block are better sent by the thread that does not compute.
  const bool small = message.block == nullptr || message.block->elements() <= kInlineElements;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (message.to == rank_) {
      incoming_.push_back(std::move(message));
      arrived_.notify_all();
      return;
    }
    first = outgoing_.empty();
    outgoing_.push_back(std::move(message));
    wake_ = true;
  }
  if (any_thread_ && small && first && sends_now()) return;
  woken_.notify_all();
}

// Sends what is queued, unless another thread is at it. Returns whether all of it has left, so that
// nobody has to be woken.
bool MpiExchange::sends_now() {
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn.owns_lock()) return false;
  start_sends();
  finish_sends();
  const std::lock_guard lock(mutex_);
  return outgoing_.empty() && waiting_.empty() && sending_.empty();
}

std::optional<Message> MpiExchange::receive() {
  const std::lock_guard lock(mutex_);
  if (incoming_.empty()) return std::nullopt;
  Message message = std::move(incoming_.front());
  incoming_.pop_front();
  return message;
}

void MpiExchange::wait_for_message() {
  std::unique_lock lock(mutex_);
  if (!incoming_.empty()) return;
  if (!any_thread_) {
    arrived_.wait(lock, [this] { return !incoming_.empty(); });
    return;
  }
  waits_ = true;  // the other thread sleeps from its next step on
  lock.unlock();
  move_until_message();
  lock.lock();
  waits_ = false;
  resting_ = true;
}

void MpiExchange::go_on_moving() {
  resting_ = false;
  woken_.notify_all();
}

void MpiExchange::move_until_message() {
  thread_local const bool exact = sleep_exactly();
  (void)exact;
  Pace pace;
  for (;;) {
    bool moved = false;
    bool under_way = false;
    {
      const std::lock_guard turn(turn_);
      moved = move();
      under_way = !sending_.empty() || arriving_count_ != 0;
    }
    if (moved) pace.moved();
    std::unique_lock lock(mutex_);
    if (!incoming_.empty()) return;
    const std::chrono::microseconds nap = pace.instead_of_work(under_way);
    if (nap.count() != 0) arrived_.wait_for(lock, nap);
  }
}

void MpiExchange::wake() {
  const std::lock_guard lock(mutex_);
  wake_ = true;
  woken_.notify_all();
}

bool MpiExchange::start_sends() {
  std::deque<Message> queue;
  {
    const std::lock_guard lock(mutex_);
    while (!outgoing_.empty() && sending_.size() + queue.size() < kMostSends) {
      queue.push_back(std::move(outgoing_.front()));
      outgoing_.pop_front();
    }
  }
  const bool any = !queue.empty();
  for (Message& message : queue) {
    if (message.ahead) {
      waiting_.push_back(std::move(message));
    } else {
      start_send(std::move(message));
    }
  }
  for (auto message = waiting_.begin(); message != waiting_.end();) {
    const auto on_its_way = [&](const Sending& one) { return one.ahead && one.to == message->to; };
    if (std::ranges::count_if(sending_, on_its_way) >= kAnswersAhead) {
      ++message;
      continue;
    }
    start_send(std::move(*message));
    message = waiting_.erase(message);
  }
  return any;
}

void MpiExchange::start_send(Message message) {
  Sending& sending = sending_.emplace_back();
  sending.to = message.to;
  sending.ahead = message.ahead;
  const int to = static_cast<int>(message.to);
  sending.bytes = encode(message);
  MPI_Isend(sending.bytes.data(), static_cast<int>(sending.bytes.size()), MPI_BYTE, to, kMessageTag,
            mpi_->comm, &sending.requests.emplace_back());
  if (message.block == nullptr || message.block->elements() <= kInlineElements) return;
  sending.block = std::move(message.block);
  for (std::int64_t from = 0; from < sending.block->elements(); from += kMostElements) {
    const std::int64_t count = std::min(kMostElements, sending.block->elements() - from);
    MPI_Isend(sending.block->data() + from, static_cast<int>(count), MPI_DOUBLE, to, kElementsTag,
              mpi_->comm, &sending.requests.emplace_back());
  }
}

bool MpiExchange::finish_sends() {
  bool moved = false;
  for (auto sending = sending_.begin(); sending != sending_.end();) {
    int complete = 0;
    MPI_Testall(static_cast<int>(sending->requests.size()), sending->requests.data(), &complete,
                MPI_STATUSES_IGNORE);
    moved = moved || complete != 0;
    sending = complete != 0 ? sending_.erase(sending) : std::next(sending);
  }
  return moved;
}

bool MpiExchange::probe() {
  int found = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kMessageTag, mpi_->comm, &found, &status);
  if (found == 0) return false;
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  MPI_Recv(bytes.data(), count, MPI_BYTE, status.MPI_SOURCE, kMessageTag, mpi_->comm,
           MPI_STATUS_IGNORE);
  auto decoded = decode(bytes, pool_);
  if (!decoded.ok()) {
    std::fprintf(stderr, "outboard-sial: rank %u: %s\n", rank_, decoded.status().message().c_str());
    abort(5);
  }
  const auto from = static_cast<Rank>(status.MPI_SOURCE);
  Arriving& arriving = arriving_[from].emplace_back();
  ++arriving_count_;
  arriving.message = std::move(decoded->message);
  arriving.block = std::move(decoded->following);
  if (arriving.block != nullptr) {
    for (std::int64_t at = 0; at < arriving.block->elements(); at += kMostElements) {
      const std::int64_t elements = std::min(kMostElements, arriving.block->elements() - at);
      MPI_Irecv(arriving.block->data() + at, static_cast<int>(elements), MPI_DOUBLE,
                status.MPI_SOURCE, kElementsTag, mpi_->comm, &arriving.requests.emplace_back());
    }
  }
  deliver_complete(from);
  return true;
}

// Hands over the messages of a rank in the order in which they were sent.
void MpiExchange::deliver_complete(Rank from) {
  std::deque<Arriving>& queue = arriving_[from];
  while (!queue.empty()) {
    Arriving& first = queue.front();
    if (!first.requests.empty()) {
      int complete = 0;
      MPI_Testall(static_cast<int>(first.requests.size()), first.requests.data(), &complete,
                  MPI_STATUSES_IGNORE);
      if (complete == 0) return;
    }
    if (first.message.kind == MessageKind::end) {
      ++ended_;
    } else {
      first.message.arrived_ns = steady_ns();
      const std::lock_guard lock(mutex_);
      incoming_.push_back(std::move(first.message));
      arrived_.notify_all();
    }
    queue.pop_front();
    --arriving_count_;
  }
}

bool MpiExchange::finish_arrivals() {
  const std::size_t before = arriving_count_;
  if (before == 0) return false;
  for (Rank from = 0; from < ranks_; ++from) deliver_complete(from);
  return arriving_count_ != before;
}

void MpiExchange::step() {
  Pace& pace = mpi_->pace;
  {
    std::unique_lock lock(mutex_);
    if (waits_) {
      woken_.wait(lock, [this] { return !waits_; });
      pace.spin_no_more();  // the rank computes, and may need this core
    }
  }
  bool under_way = false;
  {
    const std::lock_guard turn(turn_);
    if (move()) pace.moved();
    under_way = !sending_.empty() || arriving_count_ != 0;
  }
  const std::chrono::microseconds nap = pace.beside_work(under_way);
  if (nap.count() == 0) return;
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, nap, [this] { return wake_; });
  wake_ = false;
}

// Moves the messages that can move. Returns whether there were any.   Call it with the turn.
bool MpiExchange::move() {
  bool moved = start_sends();
  moved = probe() || moved;
  moved = finish_arrivals() || moved;
  return finish_sends() || moved;
}

void MpiExchange::flush() {
  progress_until([this] {
    const std::lock_guard lock(mutex_);
    return outgoing_.empty() && waiting_.empty() && sending_.empty();
  });
}

bool MpiExchange::close(unsigned patience_ms, int status) {
  status_ = status;
  for (Rank to = 0; to < ranks_; ++to) {
    if (to == rank_) continue;
    Message message;
    message.kind = MessageKind::end;
    message.from = rank_;
    message.to = to;
    send(std::move(message));
  }
  const Clock::time_point last = Clock::now() + std::chrono::milliseconds(patience_ms);
  bool all = false;
  progress_until([&] {
    while (receive()) {
    }
    const std::lock_guard lock(mutex_);
    all = ended_ + 1 == ranks_ && sending_.empty() && waiting_.empty() && outgoing_.empty();
    return all || Clock::now() > last;
  });
  return all;
}

void MpiExchange::abort(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

}  // namespace ob::sial
