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

/// The MPI processes of a job. The thread that creates it is the only one that calls MPI
/// (MPI_THREAD_FUNNELED); it never waits inside MPI.
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

  /// Queues a message.   Threads: any
  void send(Message message) override;
  /// Takes a message that has arrived.   Threads: any
  std::optional<Message> receive();
  /// Returns the most bytes of blocks that had arrived and that somebody still held.
  std::uint64_t received_peak_bytes() const { return pool_.peak_bytes(); }
  /// Waits until a message has arrived, or stop() was called.   Threads: not the one that
  /// progresses
  void wait_for_message();
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
  void step();
  bool start_sends();
  void start_send(Message message);
  bool finish_sends();
  bool probe();
  bool finish_arrivals();
  void deliver_complete(Rank from);
  void rest(bool moved);

  std::unique_ptr<Mpi> mpi_;
  Rank rank_ = 0, ranks_ = 1;
  BlockPool pool_;
  std::mutex mutex_;
  std::condition_variable arrived_, woken_;
  std::deque<Message> outgoing_, incoming_;
  bool wake_ = false;
  std::deque<Message> waiting_;  // answers to prefetches, which others overtake
  std::list<Sending> sending_;
  std::vector<std::deque<Arriving>> arriving_;  // per rank, in the order of their headers
  std::size_t arriving_count_ = 0;
  Rank ended_ = 0;  // ranks that send nothing more
  int status_ = 0;
};

}  // namespace ob::sial
