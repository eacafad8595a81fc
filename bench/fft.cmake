# The program that `outboard bench fft` runs, and its check. This folder's CMakeLists.txt includes
# this file.
find_library(OUTBOARD_FFTW_LIBRARY fftw3)
if(NOT OUTBOARD_FFTW_LIBRARY OR NOT TARGET outboard_preload)
  return()
endif()
foreach(part fftw3 fftw3_threads fftw3f fftw3f_threads)
  find_library(OUTBOARD_BENCH_${part} ${part} REQUIRED)
endforeach()
# The name has no bench_ in front, because the program is no benchmark by itself.
add_executable(fft_transforms ${CMAKE_CURRENT_LIST_DIR}/fft_transforms.cpp
                              ${CMAKE_CURRENT_LIST_DIR}/fft_input.cpp)
target_include_directories(fft_transforms PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(fft_transforms PRIVATE ob_base
                      ${OUTBOARD_BENCH_fftw3_threads} ${OUTBOARD_BENCH_fftw3}
                      ${OUTBOARD_BENCH_fftw3f_threads} ${OUTBOARD_BENCH_fftw3f})
add_dependencies(fft_transforms outboardd outboard_preload)
if(OUTBOARD_TESTS)
  ob_add_python_benchmark_test(fft)
endif()
