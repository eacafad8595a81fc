# The MPI libraries of this machine, of which several may be installed side by side: sets
# OUTBOARD_MPIS to their names, and makes a target ob_mpi_NAME for each. Their compiler wrappers
# say which folders and libraries a program needs.
#
# Only MPI's C interface is used. A wrapper without a suffix belongs to whichever MPI is the default,
# so only those with a suffix are looked at (Debian: libopenmpi-dev, libmpich-dev).
set(OUTBOARD_MPIS)
option(OUTBOARD_MPI "Build what needs MPI, for each MPI that is installed" ON)
foreach(mpi IN ITEMS openmpi mpich)
  find_program(OUTBOARD_MPICC_${mpi} mpicc.${mpi})
  find_program(OUTBOARD_MPIEXEC_${mpi} mpiexec.${mpi})
  if(NOT OUTBOARD_MPI OR NOT OUTBOARD_MPICC_${mpi})
    continue()
  endif()
  # -show prints the compiler's command.
  execute_process(COMMAND ${OUTBOARD_MPICC_${mpi}} -show OUTPUT_VARIABLE command
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    message(WARNING "mpicc.${mpi} -show failed, so nothing is built for ${mpi}; reinstall its package")
    continue()
  endif()
  separate_arguments(command UNIX_COMMAND "${command}")
  set(folders ${command})
  list(FILTER folders INCLUDE REGEX "^-I")
  list(TRANSFORM folders REPLACE "^-I" "")
  set(libraries ${command})
  list(FILTER libraries INCLUDE REGEX "^-[lL]")
  add_library(ob_mpi_${mpi} INTERFACE)
  target_include_directories(ob_mpi_${mpi} SYSTEM INTERFACE ${folders})
  target_link_libraries(ob_mpi_${mpi} INTERFACE ${libraries})
  target_compile_definitions(ob_mpi_${mpi} INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  list(APPEND OUTBOARD_MPIS ${mpi})
endforeach()
message(STATUS "MPI libraries: ${OUTBOARD_MPIS}")
