# Included by this folder's CMakeLists.txt.
add_executable(bench_operand_looks ${CMAKE_CURRENT_LIST_DIR}/operand_looks.cpp)
target_link_libraries(bench_operand_looks PRIVATE ob_bench ob_algorithms)
if(OUTBOARD_TESTS)
  add_test(NAME bench.operand_looks
           COMMAND bench_operand_looks --check --json ${CMAKE_CURRENT_BINARY_DIR}/operand_looks_check.json)
  set_tests_properties(bench.operand_looks PROPERTIES LABELS bench TIMEOUT 60)
endif()
