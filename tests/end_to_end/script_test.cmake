include_guard()

# ob_add_script_test(<name> <script> [ARGUMENTS ...] [LABELS ...] [TIMEOUT <s>]): a Python script on
# harness.py as a ctest entry. Its exit status says that optional software is missing: then ctest
# skips it.
function(ob_add_script_test name script)
  cmake_parse_arguments(arg "" "TIMEOUT" "ARGUMENTS;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 900)  # a guard against hangs, wide enough for a busy machine
  endif()
  set(path ${CMAKE_SOURCE_DIR}/tests/end_to_end)
  add_test(NAME ${name}
           COMMAND ${Python3_EXECUTABLE} ${script} --build ${CMAKE_BINARY_DIR} ${arg_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES
                       LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77
                       ENVIRONMENT "PYTHONPATH=${path};PYTHONDONTWRITEBYTECODE=1")
endfunction()
