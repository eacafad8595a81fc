# ob_add_python_benchmark_test(NAME [ARGUMENT...]): the test bench.NAME runs `outboard bench NAME
# --check` with these arguments and the programs of this build folder. This folder's CMakeLists.txt
# includes this file.
function(ob_add_python_benchmark_test name)
  add_test(NAME bench.${name} COMMAND ${OUTBOARD_PYTHON} -P -m outboard_bench ${name} --check ${ARGN})
  set_tests_properties(bench.${name} PROPERTIES LABELS bench TIMEOUT 300
    ENVIRONMENT "PYTHONPATH=${CMAKE_SOURCE_DIR}/python:${CMAKE_SOURCE_DIR}/bench;PYTHONDONTWRITEBYTECODE=1;OUTBOARD_NATIVE_DIR=${CMAKE_BINARY_DIR}")
endfunction()
