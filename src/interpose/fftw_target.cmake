# FFTW's part of the drop-in library, included by this folder's CMakeLists.txt:
#   ob_fftw          plans and side table; uses fft_offload.hpp, gate.hpp and original.hpp
#   ob_fftw_entries  the emitted entry points (an OBJECT library: nothing refers to them)
#   OUTBOARD_FFTW_EXPORTS  file with the exported names, one a line
include_guard(GLOBAL)

set(OUTBOARD_FFTW_DIR ${OUTBOARD_GENERATED_DIR}/interpose)
set(OUTBOARD_FFTW_EXPORTS ${OUTBOARD_FFTW_DIR}/fftw_exports.txt CACHE INTERNAL "")
add_custom_command(
  OUTPUT ${OUTBOARD_FFTW_DIR}/fftw_entries.cpp ${OUTBOARD_FFTW_EXPORTS}
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/codegen/emit_fftw.py
          --output-dir ${OUTBOARD_FFTW_DIR} ${CMAKE_SOURCE_DIR}/routines/fftw.toml
  DEPENDS ${CMAKE_SOURCE_DIR}/codegen/emit_fftw.py ${CMAKE_SOURCE_DIR}/codegen/fftw_table.py
          ${CMAKE_SOURCE_DIR}/routines/fftw.toml
  COMMENT "Emitting FFTW entry points")

ob_add_library(ob_fftw
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/fftw_arrays.cpp ${CMAKE_CURRENT_LIST_DIR}/fftw_entry.cpp
          ${CMAKE_CURRENT_LIST_DIR}/fftw_plans.cpp
          ${CMAKE_CURRENT_LIST_DIR}/fftw_problem.cpp ${CMAKE_CURRENT_LIST_DIR}/fftw_provider.cpp
          ${OUTBOARD_SETTING_TABLE}
  LINK ob_routines ${CMAKE_DL_LIBS})
add_library(ob_fftw_entries OBJECT ${OUTBOARD_FFTW_DIR}/fftw_entries.cpp)
target_link_libraries(ob_fftw_entries PRIVATE ob_fftw)
