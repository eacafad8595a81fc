# Tests the coverage page. Then follows docs/adding-a-routine.md: emits code from the tables with
# the row of that page.
add_test(NAME routines.coverage
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/coverage_test.py)
set_tests_properties(routines.coverage PROPERTIES LABELS unit TIMEOUT 300)

# The stand-in for a device opens its library with RTLD_DEEPBIND, which sanitizers do not support.
if(OUTBOARD_SANITIZE)
  message(STATUS "routines.adding is left out (sanitizers and RTLD_DEEPBIND exclude each other)")
  return()
endif()
find_library(OUTBOARD_LAPACK_LIBRARY NAMES lapack liblapack.so.3)
find_library(OUTBOARD_LAPACKE_LIBRARY NAMES lapacke liblapacke.so.3)
add_test(NAME routines.adding
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/adding_a_routine_test.py
    --build ${CMAKE_BINARY_DIR} --work ${CMAKE_BINARY_DIR}/tests/adding_a_routine
    --cc ${CMAKE_C_COMPILER} --cxx ${CMAKE_CXX_COMPILER} "--launcher=${CMAKE_CXX_COMPILER_LAUNCHER}"
    "--flags=${CMAKE_CXX_FLAGS}" --lapack ${OUTBOARD_LAPACK_LIBRARY}
    --lapacke ${OUTBOARD_LAPACKE_LIBRARY})
set_tests_properties(routines.adding PROPERTIES LABELS conformance TIMEOUT 300
                     ENVIRONMENT OPENBLAS_NUM_THREADS=1)
