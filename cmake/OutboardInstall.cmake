# Installs the component "outboard": the drop-in library, the daemon, the library of the device API
# with its headers, the overlap libraries with theirs, the runtime of SIAL with the headers of
# plug-ins, the coverage page (docs/CMakeLists.txt), and the table of settings, which the Python
# package reads. `cmake --install` puts them below its prefix; `pip install .` builds the target
# `installation`, and puts them into the Python package (pyproject.toml).

set(OUTBOARD_INSTALLED coverage_page)
# Installs those of the targets that this build has.
macro(ob_install)
  foreach(target ${ARGN})
    if(TARGET ${target})
      install(TARGETS ${target} RUNTIME DESTINATION bin COMPONENT outboard
              LIBRARY DESTINATION lib COMPONENT outboard NAMELINK_COMPONENT development)
      list(APPEND OUTBOARD_INSTALLED ${target})
    endif()
  endforeach()
endmacro()

ob_install(outboard_preload outboardd outboard_executor outboard_run outboard
           outboard_overlap_openmpi outboard_overlap_mpich
           outboard_mpi outboard_mpi_layer_openmpi outboard_mpi_layer_mpich
           outboard_sial outboard_sial_openmpi outboard_sial_mpich outboard_sial_python)
add_custom_target(installation DEPENDS ${OUTBOARD_INSTALLED})

set(headers ${CMAKE_SOURCE_DIR}/include/outboard)
if(TARGET outboard)
  install(FILES ${headers}/device.h ${headers}/device.hpp ${headers}/device_kernels.hpp ${headers}/device_peers.hpp
                ${headers}/device.f90 ${OUTBOARD_GENERATED_DIR}/outboard/device_routines.h
                ${OUTBOARD_GENERATED_DIR}/outboard/device_routines.hpp
                ${OUTBOARD_GENERATED_DIR}/outboard/device_routines.f90
          DESTINATION include/outboard COMPONENT outboard)
endif()
if(OUTBOARD_MPIS)
  install(FILES ${headers}/overlap.h ${headers}/overlap.hpp ${headers}/overlap.f90
          DESTINATION include/outboard COMPONENT outboard)
endif()
if(TARGET outboard_sial_python)
  install(FILES ${CMAKE_SOURCE_DIR}/python/outboard/__init__.py ${CMAKE_SOURCE_DIR}/python/outboard/sial_plugin.py
                ${CMAKE_SOURCE_DIR}/python/outboard/sial_plugin_host.py
          DESTINATION share/outboard/python/outboard COMPONENT outboard)
endif()
install(FILES ${headers}/sial.h ${headers}/sial.hpp ${headers}/sial.f90
        DESTINATION include/outboard COMPONENT outboard)
install(FILES ${CMAKE_SOURCE_DIR}/settings/settings.toml DESTINATION share/outboard COMPONENT outboard)
