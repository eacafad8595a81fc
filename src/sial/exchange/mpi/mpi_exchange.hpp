#pragma once
// Messages between ranks that are MPI processes. The only header that knows of MPI; its source is
// compiled once for each MPI library.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "sial/exchange/message.hpp"

namespace ob::sial {

/// The MPI processes of a job. One thread at a time calls MPI, and none waits inside of it. That is
/// the thread that creates the exchange, one that sends a small message, or one that waits for a
/// message and so has nothing else to do: then no other thread has to be woken for it. MPI must
/// offer MPI_THREAD_SERIALIZED for that; with MPI_THREAD_FUNNELED only the first thread calls it.
class MpiExchange final : public Exchange {
 public:
  /// Initialises MPI.   Errors: unavailable if MPI does not offer MPI_THREAD_FUNNELED
  static Result<std::unique_ptr<MpiExchange>> create(int* argc, char*** argv);
  /// Finalises MPI.
  ~MpiExchange() override;

  Rank rank() const noexcept { return rank_; }
  Rank ranks() const noexcept { return ranks_; }

  /// Checks that all ranks run the same thing.   Threads: the one that created this
  /// Errors: version_mismatch, on every rank
  Status compare(std::uint64_t digest);

  /// Queues a message. A small one leaves at once if MPI_THREAD_SERIALIZED allows it, and no other
  /// thread uses MPI.   Threads: any
  void send(Message message) override;
  /// Takes a message that has arrived.   Threads: any
  std::optional<Message> receive();
  /// Waits until a message has arrived. Messages may rest afterwards, see moves_nothing().
  /// Threads: not the one that progresses
  void wait_for_message();
  /// True from the end of wait_for_message() to go_on_moving(). In between, messages may move only
  /// in send().
  /// Threads: the one that waits for messages
  bool moves_nothing() const noexcept { return resting_; }
  /// Lets the other thread move messages: this one is going to compute.   Threads: the same
  void go_on_moving();
  /// Moves messages until `done()` returns true; it is asked after each step.
  /// Threads: the one that created this
  template <class Done>
  void progress_until(Done done) {
    while (!done()) step();
  }
  /// Moves messages until all queued ones have left.   Threads: the one that created this
  void flush();
  /// Wakes the thread that progresses, so that it asks `done()`.   Threads: any
  void wake();
  /// Sends what is queued, tells all ranks that nothing follows, and drops what they still send.
  /// Returns false if a rank has not answered after `patience_ms`.
  /// Threads: the one that created this
  /// @param status of the process if MPI does not end by itself
  bool close(unsigned patience_ms, int status);
  /// Ends all ranks of the job at once.
  [[noreturn]] void abort(int status);

 private:
  struct Sending;
  struct Arriving;
  struct Mpi;

  MpiExchange();
  class Pace;

  void step();
  bool move();
  void move_until_message();
  bool sends_now();
  bool start_sends();
  void start_send(Message message);
  bool finish_sends();
  bool probe();
  bool finish_arrivals();
  void deliver_complete(Rank from);

  std::unique_ptr<Mpi> mpi_;
  bool any_thread_ = false;  // MPI_THREAD_SERIALIZED
  std::mutex turn_;          // of the thread that calls MPI. Taken before mutex_
  Rank rank_ = 0, ranks_ = 1;
  BlockPool pool_;
  std::mutex mutex_;
  std::condition_variable arrived_, woken_;
  std::deque<Message> outgoing_, incoming_;
  bool wake_ = false;
  bool waits_ = false;           // a thread waits for a message, and calls MPI meanwhile
  bool resting_ = false;         // it has the message, and the other thread still sleeps
  std::deque<Message> waiting_;  // answers to prefetches, which others overtake
  std::list<Sending> sending_;
  std::vector<std::deque<Arriving>> arriving_;  // per rank, in the order of their headers
  std::size_t arriving_count_ = 0;
  Rank ended_ = 0;  // ranks that send nothing more
  int status_ = 0;
};

}  // namespace ob::sial
