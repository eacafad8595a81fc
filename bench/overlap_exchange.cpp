// Measures how much of an exchange a computation hides: two ranks start a message each way,
// compute, and wait. Prints "exchange,MS" for the exchange alone and "iteration,MS" for each
// iteration with a computation, as rank 0 sees it.
//
//   overlap_exchange BYTES COMPUTE_MS busy|idle ROUNDS MODE WARMUPS
//
// WARMUPS iterations with a computation come first, without a line: what chooses by measurement
// needs some. MODE `mpi` is plain MPI, with or without the layer of `outboard run --overlap`. The
// others are those of the overlap library. `idle` leaves the core idle, as while an accelerator
// computes. bench/outboard_bench/overlap.py runs it, over emulated links.

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "outboard/overlap.h"
#include "sial/exchange/mpi/patient_finalize.hpp"

namespace {

// The longest computation between two ticks [s].
constexpr double kTile = 0.5e-3;
constexpr int kExchangeWarmups = 2;

struct Options {
  std::int64_t bytes = 4 << 20;
  double compute_ms = 30;
  bool sleeps = false;
  int rounds = 20;
  int warmups = 2;
  std::string mode;
  std::int32_t number = 0;  ///< of the mode, if the library moves the message

  bool plain() const { return mode == "mpi"; }
};

bool read(int count, char** words, Options& options) {
  if (count != 7) return false;
  options = {std::atoll(words[1]), std::atof(words[2]), std::string(words[3]) == "idle",
             std::atoi(words[4]),  std::atoi(words[6]), words[5]};
  return options.bytes > 0 && options.bytes <= 1 << 30 && options.compute_ms >= 0 &&
         options.rounds > 0 && options.warmups >= 0 &&
         (options.plain() || ob_overlap_mode_named(options.mode.c_str(), &options.number) == OB_OK);
}

void or_abort(ob_status status) {
  if (status == OB_OK) return;
  ob_overlap_error error{};
  error.struct_bytes = sizeof error;
  ob_overlap_last_error(&error);
  std::fprintf(stderr, "overlap_exchange: %s\n", error.message);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// Takes this time: a core is busy, or idle as if an accelerator computed.
void compute_for(double seconds, bool sleeps) {
  const double end = MPI_Wtime() + seconds;
  if (sleeps) {
    const timespec time{time_t(seconds), long(1e9 * (seconds - double(time_t(seconds))))};
    ::nanosleep(&time, nullptr);
  }
  while (MPI_Wtime() < end) {
  }
}

/// One message each way between two ranks.
class Exchange {
 public:
  Exchange(const Options& options, int other)
      : options_(options), other_(other), out_(options.bytes), in_(options.bytes) {
    if (options.plain()) return;
    ob_overlap_options wanted{};
    wanted.struct_bytes = sizeof wanted;
    wanted.core = -1;
    wanted.mode = options.number;
    or_abort(ob_overlap_attach(MPI_COMM_WORLD, &wanted, &runtime_));
    or_abort(ob_overlap_moves(runtime_, MPI_COMM_WORLD, "exchange", &plan_));
    const ob_overlap_field out{out_.data(), 1, 1, {options.bytes}, {}};
    const ob_overlap_field in{in_.data(), 1, 1, {options.bytes}, {}};
    const ob_overlap_box all{{0, 0, 0, 0}, {options.bytes, 1, 1, 1}};
    or_abort(ob_overlap_send(plan_, &out, &all, other, 0));
    or_abort(ob_overlap_receive(plan_, &in, &all, other, 0));
    or_abort(ob_overlap_commit(plan_));
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() {
    if (runtime_ == nullptr) return;
    or_abort(ob_overlap_plan_destroy(plan_));
    or_abort(ob_overlap_detach(runtime_));
  }

  void run(double seconds, char mark) {
    out_.front() = out_.back() = mark;
    start();
    compute(seconds);
    wait();
    if (in_.front() == mark && in_.back() == mark) return;
    std::fprintf(stderr, "overlap_exchange: the message that arrived is wrong\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

 private:
  void start() {
    if (plan_ != nullptr) return or_abort(ob_overlap_start(plan_, 0));
    const int bytes = int(options_.bytes);
    MPI_Irecv(in_.data(), bytes, MPI_BYTE, other_, 0, MPI_COMM_WORLD, &requests_[0]);
    MPI_Isend(out_.data(), bytes, MPI_BYTE, other_, 0, MPI_COMM_WORLD, &requests_[1]);
  }
  void compute(double seconds) {
    if (plan_ == nullptr || ob_overlap_ticks(plan_) == 0)
      return compute_for(seconds, options_.sleeps);
    for (double left = seconds; left > 0; left -= kTile) {
      compute_for(std::min(left, kTile), options_.sleeps);
      or_abort(ob_overlap_tick(runtime_));
    }
  }
  void wait() {
    if (plan_ != nullptr) return or_abort(ob_overlap_wait(plan_));
    MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE);
  }

  const Options& options_;
  const int other_;
  std::vector<char> out_;
  std::vector<char> in_;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  ob_overlap_runtime runtime_ = nullptr;
  ob_overlap_plan plan_ = nullptr;
};

void measure(Exchange& exchange, const char* what, double seconds, int warmups, int rounds,
             bool prints) {
  for (int i = -warmups; i < rounds; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    exchange.run(seconds, char('a' + (i + warmups) % 26));
    if (prints && i >= 0) std::printf("%s,%.4f\n", what, 1e3 * (MPI_Wtime() - began));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!read(argc, argv, options)) {
    std::fputs("overlap_exchange BYTES COMPUTE_MS busy|idle ROUNDS MODE WARMUPS\n", stderr);
    return 2;
  }
  int provided = 0;
  int rank = 0;
  int ranks = 0;
  const int level = options.plain() ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
  MPI_Init_thread(&argc, &argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    std::fprintf(stderr, "overlap_exchange: there are %d ranks, not 2; take -n 2\n", ranks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  {
    Exchange exchange(options, 1 - rank);
    measure(exchange, "exchange", 0, kExchangeWarmups, options.rounds, rank == 0);
    measure(exchange, "iteration", 1e-3 * options.compute_ms, options.warmups, options.rounds,
            rank == 0);
  }
  std::fflush(stdout);
  ob::sial::finalize(EXIT_SUCCESS);
  return EXIT_SUCCESS;
}
