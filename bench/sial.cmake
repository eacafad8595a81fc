# The benchmark of the operations on SIAL blocks, and its check. This folder's CMakeLists.txt
# includes this file.
add_executable(bench_sial_operations ${CMAKE_CURRENT_LIST_DIR}/sial_operations.cpp
                                     ${CMAKE_SOURCE_DIR}/apps/host_gemm.cpp)
target_link_libraries(bench_sial_operations PRIVATE ob_bench ob_sial ob_backend_cpu)
if(OUTBOARD_TESTS)
  add_test(NAME bench.sial_operations COMMAND bench_sial_operations --check)
  set_tests_properties(bench.sial_operations PROPERTIES LABELS bench TIMEOUT 60)
endif()
