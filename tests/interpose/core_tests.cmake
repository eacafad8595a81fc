# Tests of the process state's parts, included by this folder's CMakeLists.txt.
ob_add_test(interpose.core SOURCES ${CMAKE_CURRENT_LIST_DIR}/pipelined_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/device_shares_test.cpp ${CMAKE_CURRENT_LIST_DIR}/device_trials_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/factor_plans_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/settings_test.cpp ${CMAKE_CURRENT_LIST_DIR}/work_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/report_test.cpp ${CMAKE_CURRENT_LIST_DIR}/trace_test.cpp LINK ob_interpose)
