#pragma once
// Helpers of the MPI tests. They run under mpiexec, so a failed check ends the whole job.

#include <mpi.h>
#include <outboard/overlap.hpp>

#include <cstdio>
#include <string>

namespace ob::overlap::test {

namespace api = outboard::overlap;

constexpr api::Mode kFixedModes[] = {api::Mode::sync, api::Mode::async, api::Mode::ticked,
                                     api::Mode::shared, api::Mode::proxy};

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::printf("rank %d: %s\n", world_rank(), what.c_str());
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// Requires that `action` fails with `code` and a message that contains `text`.
template <class Action>
void require_failure(ob_status code, const std::string& text, Action&& action) {
  try {
    action();
  } catch (const api::Error& error) {
    require(error.code() == code, "wrong code: " + std::string(error.what()));
    require(std::string(error.what()).find(text) != std::string::npos,
            "'" + std::string(error.what()) + "' does not contain '" + text + "'");
    return;
  }
  require(false, "no failure, expected: " + text);
}

void random_halos();
void random_moves();
void random_panels();
void panel_mismatches();
void panel_misuse();
void panel_checks();
void panel_patience();
void mismatches();
void masks();
void mode_names();
void misuse();
void checks();
void patience();
void proxies();
void shared_waits();
void choice_patience();
void stuck();
void killed();
void finalized();
void funneled();

}  // namespace ob::overlap::test
