# The tests of entries and of the search for originals. This folder's CMakeLists.txt includes this
# file.

include(${CMAKE_SOURCE_DIR}/codegen/codegen.cmake)
find_library(OUTBOARD_OPENBLAS NAMES libopenblas.so.0)
find_library(OUTBOARD_OPENBLAS64 NAMES libopenblas64.so.0)
find_library(OUTBOARD_BLAS_LIBRARY blas)
find_library(OUTBOARD_LAPACK_LIBRARY lapack)
find_library(OUTBOARD_LAPACKE_LIBRARY NAMES lapacke liblapacke.so.3)
foreach(library OPENBLAS OPENBLAS64 BLAS_LIBRARY LAPACK_LIBRARY LAPACKE_LIBRARY)
  if(NOT OUTBOARD_${library})
    message(WARNING "entry tests are left out (${library} not found) install libopenblas-dev libopenblas64-0-pthread "
                    "liblapack-dev liblapacke-dev")
    return()
  endif()
endforeach()

# The entries as a preloadable library, with a stand-in instead of the connection to a daemon.
add_library(entry_standin SHARED ${CMAKE_CURRENT_LIST_DIR}/entry_standin.cpp $<TARGET_OBJECTS:ob_entry_points>
  $<TARGET_OBJECTS:ob_vector_entry_points>)
target_link_libraries(entry_standin PRIVATE ob_entries ob_backend_cpu ob_cpu_thunks ${CMAKE_DL_LIBS})

file(GLOB OUTBOARD_EMITTERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/codegen/*.py)

# A library that has every name in every affix.
set(provider_source ${CMAKE_CURRENT_BINARY_DIR}/affixed_provider.c)
add_custom_command(
  OUTPUT ${provider_source}
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/affixed_provider.py ${provider_source} ${OUTBOARD_TABLES}
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/affixed_provider.py ${OUTBOARD_EMITTERS} ${OUTBOARD_TABLES}
  COMMENT "Emitting affixed_provider.c")
add_library(affixed_provider SHARED ${provider_source})
# The link with OpenBLAS lets the entries ask for the size of its integers.
target_link_options(affixed_provider PRIVATE -Wl,--no-as-needed)
target_link_libraries(affixed_provider PRIVATE ${OUTBOARD_OPENBLAS} ${CMAKE_DL_LIBS})

# The thunks with 64-bit integers call ILP64 names.
add_library(ilp64_thunks OBJECT ${OUTBOARD_GENERATED_DIR}/backend/cpu/thunks.cpp)
target_compile_definitions(ilp64_thunks PRIVATE OB_THUNK_ILP64)
target_include_directories(ilp64_thunks PRIVATE ${CMAKE_SOURCE_DIR}/src)
add_dependencies(ilp64_thunks ob_cpu_thunks)

# Calls of every row's functions in every calling convention.
foreach(table IN LISTS OUTBOARD_TABLES)
  cmake_path(GET table STEM file)
  list(APPEND call_files ${file})
endforeach()
foreach(file IN LISTS call_files ITEMS list)
  set(options)
  if(NOT file STREQUAL list)
    set(options --file ${file})
  endif()
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${file}_calls.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/emit_calls.py --output ${output} ${options} ${OUTBOARD_TABLES}
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/emit_calls.py ${OUTBOARD_EMITTERS} ${OUTBOARD_TABLES}
    COMMENT "Emitting ${file}_calls.cpp")
  list(APPEND call_sources ${output})
endforeach()
add_library(entry_calls STATIC ${call_sources})
target_link_libraries(entry_calls PUBLIC ob_test_problems)

# entry_program(<name> SOURCES <files...> [LINK ...]): a test program that runs under the stand-in.
function(entry_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/)
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
  # The program finds the functions that it calls with dlsym, so --as-needed must not drop the
  # library.
  target_link_options(${name} PRIVATE -Wl,--no-as-needed -rdynamic)
  target_link_libraries(${name} PRIVATE ${arg_LINK} entry_calls GTest::gtest GTest::gtest_main Threads::Threads
                        ${CMAKE_DL_LIBS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(${name} entry_standin)
endfunction()

# OpenBLAS 0.3.21 takes every processor with bfloat16 for a Cooperlake, and its scasum for these is
# wrong for 9 to 15 elements. The tests check the entries, not these kernels.
set(entry_kernels "")
if(EXISTS /proc/cpuinfo)
  file(STRINGS /proc/cpuinfo fma_processors REGEX "^flags.* avx2 ")
  if(fma_processors)
    set(entry_kernels OPENBLAS_CORETYPE=Haswell)
  endif()
endif()

# entry_test(<ctest name> <program> [MODES ...] [ENVIRONMENT ...]): one ctest entry per mode of the
# stand-in.
function(entry_test name program)
  cmake_parse_arguments(arg "" "" "MODES;ENVIRONMENT" ${ARGN})
  if(NOT arg_MODES)
    set(arg_MODES small local compute)
  endif()
  foreach(mode IN LISTS arg_MODES)
    add_test(NAME ${name}.${mode} COMMAND ${program})
    set_tests_properties(${name}.${mode} PROPERTIES LABELS unit TIMEOUT 300 ENVIRONMENT
      "LD_PRELOAD=$<TARGET_FILE:entry_standin>;OB_STANDIN=${mode};OPENBLAS_NUM_THREADS=1;${entry_kernels};${arg_ENVIRONMENT}")
  endforeach()
endfunction()

set(fortran_sources fortran_entry_test.cpp workspace_entry_test.cpp xerbla.cpp)
entry_program(fortran_linked SOURCES ${fortran_sources}
  LINK ${OUTBOARD_BLAS_LIBRARY} ${OUTBOARD_LAPACK_LIBRARY} ob_cpu_thunks)
entry_test(interpose.fortran_linked fortran_linked MODES small local compute share
  ENVIRONMENT OB_ABI=fortran OB_PATTERNS=%s_ OB_REFERENCE=${OUTBOARD_OPENBLAS})
# Integers of 64 bits under plain names. Reading them as 32-bit integers would corrupt memory.
entry_program(fortran_plain_ilp64 SOURCES ${fortran_sources}
  LINK ${OUTBOARD_OPENBLAS64} $<TARGET_OBJECTS:ilp64_thunks>)
entry_test(interpose.fortran_plain_ilp64 fortran_plain_ilp64 MODES small local compute share
  ENVIRONMENT OB_ABI=fortran OB_PATTERNS=%s_ OB_REFERENCE=${OUTBOARD_OPENBLAS64} OB_ILP64=1)
entry_program(fortran_affixed_lp64 SOURCES ${fortran_sources} LINK affixed_provider ob_cpu_thunks)
entry_test(interpose.fortran_affixed_lp64 fortran_affixed_lp64
  ENVIRONMENT OB_ABI=fortran "OB_PATTERNS=%s_ scipy_%s_ %s %S %S_" OB_REFERENCE=${OUTBOARD_OPENBLAS})
entry_program(fortran_affixed_ilp64 SOURCES ${fortran_sources} LINK affixed_provider $<TARGET_OBJECTS:ilp64_thunks>)
entry_test(interpose.fortran_affixed_ilp64 fortran_affixed_ilp64
  ENVIRONMENT OB_ABI=fortran "OB_PATTERNS=%s_64_ scipy_%s_64_" OB_REFERENCE=${OUTBOARD_OPENBLAS64} OB_ILP64=1
              OB_HANDLER_HIDDEN=1)

set(cblas_sources cblas_entry_test.cpp xerbla.cpp)
entry_program(cblas_linked SOURCES ${cblas_sources} LINK ${OUTBOARD_BLAS_LIBRARY})
entry_test(interpose.cblas_linked cblas_linked MODES small local compute share ENVIRONMENT OB_PATTERNS=cblas_%s OB_REFERENCE=${OUTBOARD_OPENBLAS})
entry_program(cblas_plain_ilp64 SOURCES ${cblas_sources} LINK ${OUTBOARD_OPENBLAS64})
entry_test(interpose.cblas_plain_ilp64 cblas_plain_ilp64
  ENVIRONMENT OB_PATTERNS=cblas_%s OB_REFERENCE=${OUTBOARD_OPENBLAS64} OB_ILP64=1)
entry_program(cblas_affixed SOURCES ${cblas_sources} LINK affixed_provider)
entry_test(interpose.cblas_affixed_lp64 cblas_affixed
  ENVIRONMENT "OB_PATTERNS=cblas_%s scipy_cblas_%s" OB_REFERENCE=${OUTBOARD_OPENBLAS})
entry_test(interpose.cblas_affixed_ilp64 cblas_affixed MODES small local compute share
  ENVIRONMENT "OB_PATTERNS=cblas_%s64_ cblas_%s_64 scipy_cblas_%s64_" OB_REFERENCE=${OUTBOARD_OPENBLAS64} OB_ILP64=1
              OB_HANDLER_HIDDEN=1)

set(lapacke_sources lapacke_entry_test.cpp workspace_entry_test.cpp xerbla.cpp)
entry_program(lapacke_linked SOURCES ${lapacke_sources} LINK ${OUTBOARD_LAPACKE_LIBRARY})
entry_test(interpose.lapacke_linked lapacke_linked
  ENVIRONMENT OB_ABI=lapacke_work "OB_PATTERNS=LAPACKE_%s LAPACKE_%s_work")
entry_program(lapacke_affixed SOURCES lapacke_entry_test.cpp LINK affixed_provider)
entry_test(interpose.lapacke_affixed_lp64 lapacke_affixed
  ENVIRONMENT "OB_PATTERNS=LAPACKE_%s scipy_LAPACKE_%s scipy_LAPACKE_%s_work")
entry_test(interpose.lapacke_affixed_ilp64 lapacke_affixed MODES compute ENVIRONMENT OB_ILP64=1
  "OB_PATTERNS=LAPACKE_%s64_ LAPACKE_%s_64 LAPACKE_%s_work64_ scipy_LAPACKE_%s64_ scipy_LAPACKE_%s_work64_")

# The reference library may lack these routines.
entry_program(gemmt_entries SOURCES gemmt_entry_test.cpp LINK affixed_provider)
entry_test(interpose.gemmt_entries gemmt_entries MODES compute)

entry_program(large_entries SOURCES large_entry_test.cpp LINK affixed_provider)
entry_test(interpose.large_entries large_entries MODES local compute)

# Tests the search for originals: plugins bring their own library into a program without one.
foreach(tag 1 2)
  add_library(scope_blas_${tag} SHARED ${CMAKE_CURRENT_LIST_DIR}/scope_blas.c)
  target_compile_definitions(scope_blas_${tag} PRIVATE TAG=${tag})
  add_library(scope_plugin_${tag} MODULE ${CMAKE_CURRENT_LIST_DIR}/scope_plugin.c)
  target_link_libraries(scope_plugin_${tag} PRIVATE scope_blas_${tag})
endforeach()
add_library(scope_namesake MODULE ${CMAKE_CURRENT_LIST_DIR}/scope_namesake.c)
foreach(module scope_blas_1 scope_blas_2 scope_plugin_1 scope_plugin_2 scope_namesake)
  set_target_properties(${module} PROPERTIES C_VISIBILITY_PRESET default)
endforeach()
entry_program(original_scopes SOURCES original_scopes_test.cpp)
target_compile_definitions(original_scopes PRIVATE
  OB_BLAS_2="$<TARGET_FILE:scope_blas_2>" OB_PLUGIN_1="$<TARGET_FILE:scope_plugin_1>"
  OB_PLUGIN_2="$<TARGET_FILE:scope_plugin_2>" OB_NAMESAKE="$<TARGET_FILE:scope_namesake>")
add_dependencies(original_scopes scope_plugin_1 scope_plugin_2 scope_namesake)
entry_test(interpose.original_scopes original_scopes MODES small local)

if(TARGET outboard_preload)
  set(maps ${OUTBOARD_GENERATED_DIR}/interpose)
  add_test(NAME interpose.preload_library COMMAND ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_LIST_DIR}/preload_library_test.py $<TARGET_FILE:outboard_preload> ${maps}/outboard-preload.map
    $<TARGET_FILE:outboard_preload_testing> ${maps}/outboard-preload-testing.map ${OUTBOARD_TABLES})
  set_tests_properties(interpose.preload_library PROPERTIES LABELS unit TIMEOUT 300)
endif()
