# Runs emitters as build steps. Their output goes to OUTBOARD_GENERATED_DIR and is never committed.

# The list is sorted for every emitter: descriptors, thunks and entries are numbered in this order.
file(GLOB OUTBOARD_TABLES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/routines/blas*.toml
     ${CMAKE_SOURCE_DIR}/routines/lapack*.toml)

# ob_emit(<emitter.py> <output relative to OUTBOARD_GENERATED_DIR> [ARGUMENTS ...] [FILES ...]):
# runs codegen/<emitter.py> when a table, one of FILES or anything in codegen/ changed.
function(ob_emit emitter output)
  cmake_parse_arguments(arg "" "" "ARGUMENTS;FILES" ${ARGN})
  file(GLOB modules CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/codegen/*.py)
  add_custom_command(
    OUTPUT ${OUTBOARD_GENERATED_DIR}/${output}
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/codegen/${emitter} ${arg_ARGUMENTS}
            --output ${OUTBOARD_GENERATED_DIR}/${output} ${OUTBOARD_TABLES}
    DEPENDS ${modules} ${OUTBOARD_TABLES} ${arg_FILES}
    COMMENT "Emitting ${output}"
    VERBATIM)
endfunction()
