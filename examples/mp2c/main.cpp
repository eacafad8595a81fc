// mp2c: molecular dynamics of chains in a particle fluid, with MPI and a device for each rank.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <exception>

#include "command_line.hpp"
#include "report.hpp"
#include "simulation.hpp"

namespace {

static_assert(std::is_trivially_copyable_v<mp2c::Costs>, "ranks send it as bytes");

std::vector<mp2c::Costs> gather(const mp2c::Costs& mine, int ranks) {
  std::vector<mp2c::Costs> all(static_cast<std::size_t>(ranks));
  MPI_Gather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
  return all;
}

// Prints at most one line per second.
class Progress {
 public:
  explicit Progress(const mp2c::Parameters& parameters) : collisions_(parameters.collisions()) {}
  void operator()(int number) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(1) && number < collisions_) return;
    last_ = now;
    std::fprintf(stderr, "mp2c: collision %d of %d\n", number, collisions_);
  }

 private:
  int collisions_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void run(const mp2c::Parameters& parameters) {
  mp2c::Neighbours neighbours;
  const auto rank = static_cast<std::size_t>(neighbours.rank());
  const outboard::Device device(parameters.devices[rank % parameters.devices.size()]);
  mp2c::Simulation simulation(parameters, device, neighbours);
  if (parameters.progress && rank == 0) {
    simulation.run(Progress(parameters));
  } else {
    simulation.run();
  }
  const auto costs = gather(simulation.costs(), neighbours.ranks());
  if (rank != 0) return;
  print_report(stdout, parameters, simulation.measurements(), costs);
  if (!parameters.json_file.empty()) {
    write_json(parameters.json_file, parameters, simulation, costs);
  }
}

}  // namespace

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank = 0, exit_code = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto parameters = mp2c::read_command_line(count, arguments, rank == 0, exit_code);
  try {
    if (parameters) run(*parameters);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mp2c: %s (rank %d)\n", error.what(), rank);
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);  // the other ranks wait for this one
  }
  MPI_Finalize();
  return exit_code;
}
