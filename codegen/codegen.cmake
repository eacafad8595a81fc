# Runs emitters as build steps. Their output goes to OUTBOARD_GENERATED_DIR and is never committed.

# The list is sorted for every emitter: descriptors, thunks and entries are numbered in this order.
file(GLOB OUTBOARD_TABLES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/routines/blas*.toml
     ${CMAKE_SOURCE_DIR}/routines/lapack*.toml)

# The operations that only devices have.
set(OUTBOARD_DEVICE_TABLES ${CMAKE_SOURCE_DIR}/routines/block.toml)

# ob_emit(<emitter.py> <output relative to OUTBOARD_GENERATED_DIR> [DEVICES] [ARGUMENTS ...] [FILES ...]):
# runs codegen/<emitter.py> when a table, one of FILES or anything in codegen/ changed. With DEVICES,
# it reads the operations of devices, too.
function(ob_emit emitter output)
  cmake_parse_arguments(arg "DEVICES" "" "ARGUMENTS;FILES" ${ARGN})
  file(GLOB modules CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/codegen/*.py)
  set(tables ${OUTBOARD_TABLES})
  if(arg_DEVICES)
    list(APPEND tables ${OUTBOARD_DEVICE_TABLES})
  endif()
  add_custom_command(
    OUTPUT ${OUTBOARD_GENERATED_DIR}/${output}
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/codegen/${emitter} ${arg_ARGUMENTS}
            --output ${OUTBOARD_GENERATED_DIR}/${output} ${tables}
    DEPENDS ${modules} ${tables} ${arg_FILES}
    COMMENT "Emitting ${output}"
    VERBATIM)
endfunction()
