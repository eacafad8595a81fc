# FFTW's tests. This folder's CMakeLists.txt includes this file.
set(fftw_tests ${CMAKE_CURRENT_LIST_DIR})
add_test(NAME interpose.fftw_table COMMAND ${Python3_EXECUTABLE} -B ${fftw_tests}/fftw_table_test.py)
set_tests_properties(interpose.fftw_table PROPERTIES LABELS unit TIMEOUT 300)
foreach(part arrays problem plans)
  ob_add_test(interpose.fftw_${part} SOURCES ${fftw_tests}/fftw_${part}_test.cpp LINK ob_fftw)
endforeach()

find_library(OUTBOARD_FFTW_LIBRARY fftw3)
find_library(OUTBOARD_FFTWF_LIBRARY fftw3f)
if(NOT OUTBOARD_FFTW_LIBRARY OR NOT OUTBOARD_FFTWF_LIBRARY)
  message(STATUS "interpose.fftw_preload is left out (no libfftw3) install libfftw3-dev")
  return()
endif()

# The entry points as a preloadable library, with a stand-in instead of the connection to a daemon.
add_library(fftw_standin SHARED ${fftw_tests}/fftw_standin.cpp)
target_link_libraries(fftw_standin PRIVATE ob_fftw_entries ob_fftw ob_entries)

add_executable(fftw_program_double ${fftw_tests}/fftw_program.c)
target_link_libraries(fftw_program_double PRIVATE ${OUTBOARD_FFTW_LIBRARY} Threads::Threads m)
add_executable(fftw_program_single ${fftw_tests}/fftw_program.c)
target_compile_definitions(fftw_program_single PRIVATE SINGLE)
target_link_libraries(fftw_program_single PRIVATE ${OUTBOARD_FFTWF_LIBRARY} Threads::Threads m)

# A plugin that brings its own FFTW into a program without one, like Python's wheels.
add_library(fftw_plugin MODULE ${fftw_tests}/fftw_plugin.c)
target_link_libraries(fftw_plugin PRIVATE ${OUTBOARD_FFTW_LIBRARY})
add_executable(fftw_host ${fftw_tests}/fftw_host.c)
target_link_libraries(fftw_host PRIVATE ${CMAKE_DL_LIBS})

ob_add_test(interpose.fftw_preload SOURCES ${fftw_tests}/fftw_preload_test.cpp)
target_compile_definitions(interpose.fftw_preload PRIVATE
  OB_STANDIN_LIBRARY="$<TARGET_FILE:fftw_standin>"
  OB_PROGRAM_DOUBLE="$<TARGET_FILE:fftw_program_double>"
  OB_PROGRAM_SINGLE="$<TARGET_FILE:fftw_program_single>"
  OB_HOST="$<TARGET_FILE:fftw_host>" OB_PLUGIN="$<TARGET_FILE:fftw_plugin>")
add_dependencies(interpose.fftw_preload
  fftw_standin fftw_program_double fftw_program_single fftw_host fftw_plugin)

# Calls of real, guru and Fortran forms with chosen arguments.
add_executable(fftw_forms_program ${fftw_tests}/fftw_forms_program.c)
target_link_libraries(fftw_forms_program PRIVATE ${OUTBOARD_FFTW_LIBRARY} ${CMAKE_DL_LIBS})
ob_add_test(interpose.fftw_forms SOURCES ${fftw_tests}/fftw_forms_test.cpp)
target_compile_definitions(interpose.fftw_forms PRIVATE
  OB_FORMS_LIBRARY="$<TARGET_FILE:fftw_standin>"
  OB_FORMS_PROGRAM="$<TARGET_FILE:fftw_forms_program>")
add_dependencies(interpose.fftw_forms fftw_standin fftw_forms_program)

# Random problems over every maker.
foreach(precision double single)
  add_executable(fftw_random_${precision} ${fftw_tests}/fftw_random.c)
endforeach()
target_compile_definitions(fftw_random_single PRIVATE SINGLE)
target_link_libraries(fftw_random_double PRIVATE ${OUTBOARD_FFTW_LIBRARY} ${CMAKE_DL_LIBS} m)
target_link_libraries(fftw_random_single PRIVATE ${OUTBOARD_FFTWF_LIBRARY} ${CMAKE_DL_LIBS} m)
ob_add_test(interpose.fftw_random SOURCES ${fftw_tests}/fftw_random_test.cpp)
target_compile_definitions(interpose.fftw_random PRIVATE
  OB_STANDIN_LIBRARY="$<TARGET_FILE:fftw_standin>"
  OB_RANDOM_DOUBLE="$<TARGET_FILE:fftw_random_double>"
  OB_RANDOM_SINGLE="$<TARGET_FILE:fftw_random_single>")
add_dependencies(interpose.fftw_random fftw_standin fftw_random_double fftw_random_single)

# LD_PRELOAD gives the programs a sanitized library. The programs leave plans to fftw_cleanup on
# purpose.
if(OUTBOARD_SANITIZE MATCHES address)
  set_tests_properties(interpose.fftw_preload interpose.fftw_forms interpose.fftw_random PROPERTIES
    ENVIRONMENT "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0")
endif()
