// Measures plain MPI messages of given sizes between the first ranks and the last one, the server.
// Prints "WHAT,BYTES,SECONDS" for each message or barrier:
//
//   round     rank 0 asks the server with 8 bytes, which answers with so many; the least of all
//   from, to, both  streams of messages from the server to all others at once, to it, and both at
//             once; the seconds are those of one message each way, at the server's end of the link
//   barrier   MPI_Barrier() of all ranks but the last, with --barriers
//
// bench/outboard_bench/sial_messages.py runs it, over emulated links.

#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sial/exchange/mpi/patient_finalize.hpp"

namespace {

// Messages of a stream that are under way: one fills the link while the next one starts.
constexpr int kUnderWay = 2;

struct Ranks {
  int rank = 0;
  int count = 0;
  int server() const { return count - 1; }
  bool serves() const { return rank == server(); }
};

using Buffer = std::vector<char>;

// Moves messages of one size over one way, up to kUnderWay at once.
class Way {
 public:
  Way(int other, std::size_t bytes, bool sends) : other_(other), sends_(sends) {
    for (Buffer& buffer : buffers_) buffer.resize(bytes);
    requests_.fill(MPI_REQUEST_NULL);
  }
  void move(int number) {
    const auto at = static_cast<std::size_t>(number % kUnderWay);
    MPI_Wait(&requests_[at], MPI_STATUS_IGNORE);
    const int bytes = static_cast<int>(buffers_[at].size());
    if (sends_) {
      MPI_Isend(buffers_[at].data(), bytes, MPI_BYTE, other_, 1, MPI_COMM_WORLD, &requests_[at]);
    } else {
      MPI_Irecv(buffers_[at].data(), bytes, MPI_BYTE, other_, 1, MPI_COMM_WORLD, &requests_[at]);
    }
  }
  void wait() { MPI_Waitall(kUnderWay, requests_.data(), MPI_STATUSES_IGNORE); }

 private:
  int other_;
  bool sends_;
  std::array<Buffer, kUnderWay> buffers_;
  std::array<MPI_Request, kUnderWay> requests_{};
};

void round_trips(const Ranks& ranks, std::size_t bytes, int count) {
  if (ranks.rank != 0 && !ranks.serves()) return;
  std::array<char, 8> request{};
  Buffer answer(bytes);
  const int size = static_cast<int>(bytes);
  double least = 0;  // MPI spins while it waits, so other load disturbs the usual one
  for (int i = 0; i < count; ++i) {
    const double began = MPI_Wtime();
    if (ranks.serves()) {
      MPI_Recv(request.data(), 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(answer.data(), size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    } else {
      MPI_Send(request.data(), 8, MPI_BYTE, ranks.server(), 1, MPI_COMM_WORLD);
      MPI_Recv(answer.data(), size, MPI_BYTE, ranks.server(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    const double seconds = MPI_Wtime() - began;
    least = i == 0 ? seconds : std::min(least, seconds);
  }
  if (ranks.rank != 0) return;
  std::printf("round,%zu,%.9g\n", bytes, least);
}

// The directions of a stream. Both at once show whether the library uses the link both ways.
struct Direction {
  const char* name;
  bool from_server;
  bool to_server;
};
constexpr Direction kDirections[] = {
    {"from", true, false}, {"to", false, true}, {"both", true, true}};

void stream(const Ranks& ranks, std::size_t bytes, int count, const Direction& direction) {
  std::vector<Way> ways;
  const auto add = [&](int other) {
    if (direction.from_server) ways.emplace_back(other, bytes, ranks.serves());
    if (direction.to_server) ways.emplace_back(other, bytes, !ranks.serves());
  };
  if (ranks.serves()) {
    for (int other = 0; other < ranks.server(); ++other) add(other);
  } else {
    add(ranks.server());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (int i = 0; i < count; ++i) {
    for (Way& way : ways) way.move(i);
  }
  for (Way& way : ways) way.wait();
  MPI_Barrier(MPI_COMM_WORLD);  // the receivers have all of it
  const double each = (MPI_Wtime() - began) / count / std::max(1, ranks.count - 1);
  if (ranks.rank == 0) std::printf("%s,%zu,%.9g\n", direction.name, bytes, each);
}

void barriers(const Ranks& ranks, int count) {
  MPI_Comm others = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, ranks.serves() ? MPI_UNDEFINED : 0, ranks.rank, &others);
  if (ranks.serves()) return;
  MPI_Barrier(others);
  const double began = MPI_Wtime();
  for (int i = 0; i < count; ++i) MPI_Barrier(others);
  const double each = (MPI_Wtime() - began) / count;
  if (ranks.rank == 0) std::printf("barrier,0,%.9g\n", each);
  MPI_Comm_free(&others);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
  CLI::App app{"Plain MPI messages between the first ranks and the last one."};
  std::vector<std::size_t> sizes;
  int count = 20;
  int barrier_count = 0;
  app.add_option("--sizes", sizes, "of messages [bytes]")->delimiter(',');
  app.add_option("--count", count, "messages of each size to each rank")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--barriers", barrier_count, "how many of them [0]")
      ->check(CLI::Range(0, 1000000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& mistake) {
    const int status = ranks.rank == 0 ? app.exit(mistake) : 2;
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  if (ranks.count < 2) {
    std::fprintf(stderr, "mpi_messages: one rank has nobody to talk to; start two or more\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (const std::size_t bytes : sizes) {
    round_trips(ranks, bytes, count);
    for (const Direction& direction : kDirections) stream(ranks, bytes, count, direction);
  }
  if (barrier_count > 0) barriers(ranks, barrier_count);
  std::fflush(stdout);
  ob::sial::finalize(0);
  return 0;
}
