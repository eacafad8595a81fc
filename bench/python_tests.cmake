# ob_add_python_benchmark_test(NAME [ARGUMENT...]): the test bench.NAME runs `outboard bench NAME --check` and these, with
# what this build folder has. Included by this folder's CMakeLists.txt.
function(ob_add_python_benchmark_test name)
  add_test(NAME bench.${name} COMMAND ${OUTBOARD_PYTHON} -P -m outboard_bench ${name} --check ${ARGN})
  set_tests_properties(bench.${name} PROPERTIES LABELS bench TIMEOUT 300
    ENVIRONMENT "PYTHONPATH=${CMAKE_SOURCE_DIR}/python:${CMAKE_SOURCE_DIR}/bench;PYTHONDONTWRITEBYTECODE=1;OUTBOARD_NATIVE_DIR=${CMAKE_BINARY_DIR}")
endfunction()
