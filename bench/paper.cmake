# The programs that `outboard bench paper` measures besides the others here, and the tests of the
# benchmarks in Python. This folder's CMakeLists.txt includes this file.
add_executable(bench_byte_swap ${CMAKE_CURRENT_LIST_DIR}/byte_swap.cpp)
target_link_libraries(bench_byte_swap PRIVATE ob_bench ob_wire Threads::Threads)

# The names have no bench_ in front, because the programs are no benchmarks by themselves.
add_executable(copy_blocks ${CMAKE_CURRENT_LIST_DIR}/copy_blocks.cpp)
target_link_libraries(copy_blocks PRIVATE ob_bench ob_client CLI11::CLI11)
add_dependencies(copy_blocks outboardd)

# OpenBLAS comes first, as in the papers, because the reference library is too slow to compare with.
find_library(OUTBOARD_BENCH_BLAS NAMES openblas blas)
if(TARGET outboard_preload AND OUTBOARD_BENCH_BLAS)
  add_executable(blas_calls ${CMAKE_CURRENT_LIST_DIR}/blas_calls.cpp
                            ${CMAKE_CURRENT_LIST_DIR}/routine_call.cpp
                            ${CMAKE_CURRENT_LIST_DIR}/fft_input.cpp)
  target_include_directories(blas_calls PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(blas_calls PRIVATE ob_base ${OUTBOARD_BENCH_BLAS})
  add_dependencies(blas_calls outboardd outboard_preload)
  if(TARGET outboard_preload_testing)
    add_dependencies(blas_calls outboard_preload_testing)
  endif()
endif()

if(OUTBOARD_TESTS)
  add_test(NAME bench.byte_swap
           COMMAND bench_byte_swap --check --json ${CMAKE_CURRENT_BINARY_DIR}/byte_swap_check.json)
  set_tests_properties(bench.byte_swap PROPERTIES LABELS bench TIMEOUT 60)
  ob_add_python_benchmark_test(devices)
  ob_add_python_benchmark_test(products --loopback)
  if(TARGET ob_backend_opencl)
    ob_add_python_benchmark_test(mp2c --links none)
    # The machine code of kernels, as for the tests (tests/CMakeLists.txt).
    set_property(TEST bench.mp2c APPEND PROPERTY
                 ENVIRONMENT POCL_CACHE_DIR=${CMAKE_BINARY_DIR}/pocl)
  endif()
  if(TARGET blas_calls)
    ob_add_python_benchmark_test(ring)
    set_tests_properties(bench.ring PROPERTIES SKIP_RETURN_CODE 77)  # network namespaces need root
  endif()
  if(TARGET blas_calls AND TARGET fft_transforms)
    ob_add_python_benchmark_test(decide)
    ob_add_python_benchmark_test(paper --out ${CMAKE_CURRENT_BINARY_DIR}/paper_check)
    set_property(TEST bench.paper APPEND PROPERTY
                 ENVIRONMENT POCL_CACHE_DIR=${CMAKE_BINARY_DIR}/pocl)
  endif()
endif()
