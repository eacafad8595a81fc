# The benchmark of the operations on SIAL blocks, and its check; and the program of plain messages
# for each MPI library, which bench/outboard_bench/sial_messages.py runs. This folder's
# CMakeLists.txt includes this file.
add_executable(bench_sial_operations ${CMAKE_CURRENT_LIST_DIR}/sial_operations.cpp
                                     ${CMAKE_SOURCE_DIR}/apps/host_gemm.cpp)
target_link_libraries(bench_sial_operations PRIVATE ob_bench ob_sial ob_backend_cpu)
foreach(mpi IN LISTS OUTBOARD_MPIS)
  add_executable(mpi_messages_${mpi} ${CMAKE_CURRENT_LIST_DIR}/mpi_messages.cpp
                                        ${CMAKE_SOURCE_DIR}/src/sial/exchange/mpi/patient_finalize.cpp)
  target_include_directories(mpi_messages_${mpi} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(mpi_messages_${mpi} PRIVATE ob_mpi_${mpi} CLI11::CLI11)
  # bench/outboard_bench/overlap.py runs this program and makes the links.
  add_executable(overlap_exchange_${mpi} ${CMAKE_CURRENT_LIST_DIR}/overlap_exchange.cpp
                                         ${CMAKE_SOURCE_DIR}/src/sial/exchange/mpi/patient_finalize.cpp)
  target_include_directories(overlap_exchange_${mpi} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(overlap_exchange_${mpi} PRIVATE ob_mpi_${mpi} outboard_overlap_${mpi})
endforeach()
if(OUTBOARD_TESTS)
  add_test(NAME bench.sial_operations COMMAND bench_sial_operations --check)
  set_tests_properties(bench.sial_operations PROPERTIES LABELS bench TIMEOUT 60)
  if("mpich" IN_LIST OUTBOARD_MPIS)
    ob_add_python_benchmark_test(sial)
    ob_add_python_benchmark_test(overlap)
    # network namespaces need root
    set_tests_properties(bench.sial bench.overlap PROPERTIES SKIP_RETURN_CODE 77)
  endif()
  if("openmpi" IN_LIST OUTBOARD_MPIS AND OUTBOARD_SCALAPACK_openmpi)
    ob_add_python_benchmark_test(summa)
  endif()
endif()
