# Settings and helpers shared by every folder.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(OUTBOARD_CCACHE ccache)
if(OUTBOARD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${OUTBOARD_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${OUTBOARD_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
# A square root then is an instruction and not a call of libm, which the drop-in library must not
# load.
add_compile_options(-fno-math-errno)
# The daemon's log. Its compiled library contains no sanitizer code, so that the thread sanitizer
# would see races in it.
set(OUTBOARD_SPDLOG spdlog::spdlog)
if(OUTBOARD_SANITIZE)
  set(OUTBOARD_SPDLOG spdlog::spdlog_header_only)
  add_compile_options(-fsanitize=${OUTBOARD_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${OUTBOARD_SANITIZE})
endif()

# Tests that use our command line run with this Python: the launcher's environment has all packages.
set(OUTBOARD_PYTHON ${Python3_EXECUTABLE})
if(EXISTS ${CMAKE_SOURCE_DIR}/.venv/bin/python)
  set(OUTBOARD_PYTHON ${CMAKE_SOURCE_DIR}/.venv/bin/python)
endif()

# Emitted code goes here; nothing generated is committed.
set(OUTBOARD_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)

# The headers take most of a file's compile time. Builds for users are unity builds: the compiler gets
# many files of a library as one, which takes a third of the time. Builds for developers compile each
# file alone, so that a change compiles one file.
set(unity OFF)
if(CMAKE_BUILD_TYPE STREQUAL Release)
  set(unity ON)
endif()
option(OUTBOARD_UNITY "Compile many files of a library as one (unity build)" ${unity})
# Enough files to share headers, and few enough to keep all cores busy.
set(OUTBOARD_UNITY_FILES 24)

# ob_add_kernels(<target> <name>): inner loops in C, `<name>_baseline.c` for every processor and, on x86-64,
# `<name>_avx2.c` for those with AVX2 and FMA (src/base/instruction_set.hpp chooses).
function(ob_add_kernels target name)
  target_sources(${target} PRIVATE ${name}_baseline.c)
  # The vectors of the loops are no arguments of functions that other files call.
  set_source_files_properties(${name}_baseline.c PROPERTIES COMPILE_OPTIONS -Wno-psabi)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    target_sources(${target} PRIVATE ${name}_avx2.c)
    set_source_files_properties(${name}_avx2.c PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
  endif()
endfunction()

# ob_add_library(<target> SOURCES <files...> [LINK <targets...>] [UNITY]): the static library of one src/ folder. With
# UNITY, release builds compile many of its files as one. Then a name in an unnamed namespace must be unique in the
# library (tools/check_unity_names.py). Libraries of which tests link single files leave it out.
function(ob_add_library target)
  cmake_parse_arguments(arg "UNITY" "" "SOURCES;LINK" ${ARGN})
  add_library(${target} STATIC ${arg_SOURCES})
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src ${OUTBOARD_GENERATED_DIR})
  target_link_libraries(${target} PUBLIC ${arg_LINK} Threads::Threads)
  if(arg_UNITY AND OUTBOARD_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${OUTBOARD_UNITY_FILES})
  endif()
endfunction()

# ob_test_program(<target>): settings that all GoogleTest programs share. Optimised builds
# precompile the headers of nearly every test. ccache cannot share precompiled headers between
# checkouts, so debug builds do not use them.
function(ob_test_program target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE GTest::gtest Threads::Threads)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(NOT CMAKE_BUILD_TYPE STREQUAL Release)
    return()
  endif()
  if(target STREQUAL ob_test_headers)
    target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/precompiled.hpp)
  else()
    target_precompile_headers(${target} REUSE_FROM ob_test_headers)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # for ccache
  endif()
  if(OUTBOARD_CCACHE AND CMAKE_CXX_COMPILER_LAUNCHER STREQUAL OUTBOARD_CCACHE)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${OUTBOARD_CCACHE}")
  endif()
endfunction()

# ob_add_test(<folder.name> SOURCES <files...> [PROGRAM <program>] [LINK <targets...>] [LABELS
# <labels...>] [TIMEOUT <s>]): adds a GoogleTest program with one ctest entry, named like its place
# in tests/. Default label: unit. With PROGRAM the tests become part of the program tests.<program>,
# which has the tests of several entries: this saves link and header time. A test that needs
# settings of its own target stays in a program of its own.
function(ob_add_test name)
  cmake_parse_arguments(arg "" "PROGRAM;TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)  # a guard against hangs, wide enough for a busy machine
  endif()
  if(NOT arg_PROGRAM)
    add_executable(${name} ${arg_SOURCES})
    ob_test_program(${name})
    target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name})
  else()
    set(program tests.${arg_PROGRAM})
    if(NOT TARGET ${program})
      add_executable(${program} ${CMAKE_SOURCE_DIR}/tests/support/files_main.cpp)
      ob_test_program(${program})
    endif()
    target_sources(${program} PRIVATE ${arg_SOURCES})
    target_link_libraries(${program} PRIVATE ${arg_LINK})
    list(JOIN arg_SOURCES "," files)
    add_test(NAME ${name} COMMAND ${program} --files=${files})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()

# ob_add_skipping_test(<ctest name> <program> FILTER <gtest filter> [LABELS <labels...>] [TIMEOUT
# <s>] [ENVIRONMENT <...>]): adds the filtered cases of a program that has
# support/skipping_main.cpp. The test counts as skipped if no case could run.
function(ob_add_skipping_test name program)
  cmake_parse_arguments(arg "" "FILTER;TIMEOUT" "LABELS;ENVIRONMENT" ${ARGN})
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)  # a guard against hangs, wide enough for a busy machine
  endif()
  add_test(NAME ${name} COMMAND ${program} --gtest_filter=${arg_FILTER})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77
                       ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()
