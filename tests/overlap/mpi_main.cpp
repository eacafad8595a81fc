// The tests of the overlap library that need ranks: mpiexec -n RANKS PROGRAM CASE.
#include <map>

#include "mpi_support.hpp"

int main(int argc, char** argv) {
  using namespace ob::overlap::test;
  const std::map<std::string, void (*)()> cases{{"random_halos", random_halos},
                                                {"random_moves", random_moves},
                                                {"random_panels", random_panels},
                                                {"panel_mismatches", panel_mismatches},
                                                {"panel_misuse", panel_misuse},
                                                {"panel_checks", panel_checks},
                                                {"panel_patience", panel_patience},
                                                {"mismatches", mismatches},
                                                {"masks", masks},
                                                {"mode_names", mode_names},
                                                {"misuse", misuse},
                                                {"checks", checks},
                                                {"patience", patience},
                                                {"proxies", proxies},
                                                {"shared_waits", shared_waits},
                                                {"choice_patience", choice_patience},
                                                {"stuck", stuck},
                                                {"killed", killed},
                                                {"finalized", finalized},
                                                {"funneled", funneled}};
  const std::string name = argc > 1 ? argv[1] : "";
  int provided = 0;
  MPI_Init_thread(&argc, &argv, name == "funneled" ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE,
                  &provided);
  try {
    cases.at(name)();
  } catch (const std::exception& error) {
    require(false, error.what());
  }
  MPI_Finalize();
}
