// The exported functions that take communicators of Fortran.
#include <outboard/overlap.h>

extern "C" {

ob_status ob_overlap_attach_f(MPI_Fint comm, const ob_overlap_options* options,
                              ob_overlap_runtime* runtime) {
  return ob_overlap_attach(MPI_Comm_f2c(comm), options, runtime);
}

ob_status ob_overlap_halo_f(ob_overlap_runtime runtime, MPI_Fint cart,
                            const ob_overlap_halo_options* options, ob_overlap_plan* plan) {
  return ob_overlap_halo(runtime, MPI_Comm_f2c(cart), options, plan);
}

ob_status ob_overlap_moves_f(ob_overlap_runtime runtime, MPI_Fint comm, const char* name,
                             ob_overlap_plan* plan) {
  return ob_overlap_moves(runtime, MPI_Comm_f2c(comm), name, plan);
}

ob_status ob_overlap_panels_f(ob_overlap_runtime runtime, MPI_Fint group,
                              const ob_overlap_panel_options* options, ob_overlap_plan* plan) {
  return ob_overlap_panels(runtime, MPI_Comm_f2c(group), options, plan);
}

}  // extern "C"
