# The compiled programs of `outboard bench programs`, and its check. This folder's CMakeLists.txt
# includes this file. The names have no bench_ in front, because they are no benchmarks by
# themselves.
find_library(OUTBOARD_PROGRAMS_FFTW fftw3)
find_library(OUTBOARD_PROGRAMS_FFTWF fftw3f)
if(OUTBOARD_PROGRAMS_FFTW AND OUTBOARD_PROGRAMS_FFTWF)
  foreach(program fft_filter fft_waves fft_channels fft_sizes)
    add_executable(${program} ${CMAKE_CURRENT_LIST_DIR}/programs/${program}.c)
    target_link_libraries(${program} PRIVATE ${OUTBOARD_PROGRAMS_FFTW} ${OUTBOARD_PROGRAMS_FFTWF} m)
  endforeach()
endif()
if(OUTBOARD_TESTS AND TARGET outboard_preload)
  ob_add_python_benchmark_test(programs)
  set_tests_properties(bench.programs PROPERTIES SKIP_RETURN_CODE 77)  # no program can run
endif()
