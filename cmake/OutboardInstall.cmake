# Installs the component "outboard": the drop-in library, the daemon, the library of the device API
# with its headers, the overlap libraries with theirs, the runtime of SIAL with the headers of plug-ins, the coverage page (docs/CMakeLists.txt), and the table of settings, which the
# Python package reads. `cmake --install` puts them below its prefix; `pip install .` puts them into
# the Python package (pyproject.toml).

if(TARGET outboard_preload)
  install(TARGETS outboard_preload LIBRARY DESTINATION lib COMPONENT outboard)
endif()
if(TARGET outboardd)
  install(TARGETS outboardd outboard_executor outboard_run RUNTIME DESTINATION bin COMPONENT outboard)
endif()
if(TARGET outboard)
  install(TARGETS outboard LIBRARY DESTINATION lib NAMELINK_COMPONENT development COMPONENT outboard)
  install(FILES ${CMAKE_SOURCE_DIR}/include/outboard/device.h ${CMAKE_SOURCE_DIR}/include/outboard/device.hpp
                ${CMAKE_SOURCE_DIR}/include/outboard/device_kernels.hpp
                ${CMAKE_SOURCE_DIR}/include/outboard/device_peers.hpp ${CMAKE_SOURCE_DIR}/include/outboard/device.f90
                ${OUTBOARD_GENERATED_DIR}/outboard/device_routines.h ${OUTBOARD_GENERATED_DIR}/outboard/device_routines.hpp
                ${OUTBOARD_GENERATED_DIR}/outboard/device_routines.f90
          DESTINATION include/outboard COMPONENT outboard)
endif()
foreach(program outboard_sial outboard_sial_openmpi outboard_sial_mpich)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION bin COMPONENT outboard)
  endif()
endforeach()
foreach(library outboard_mpi outboard_mpi_layer_openmpi outboard_mpi_layer_mpich)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION lib COMPONENT outboard)
  endif()
endforeach()
foreach(library outboard_overlap_openmpi outboard_overlap_mpich)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION lib NAMELINK_COMPONENT development COMPONENT outboard)
  endif()
endforeach()
if(OUTBOARD_MPIS)
  install(FILES ${CMAKE_SOURCE_DIR}/include/outboard/overlap.h ${CMAKE_SOURCE_DIR}/include/outboard/overlap.hpp
                ${CMAKE_SOURCE_DIR}/include/outboard/overlap.f90
          DESTINATION include/outboard COMPONENT outboard)
endif()
if(TARGET outboard_sial_python)
  install(TARGETS outboard_sial_python LIBRARY DESTINATION lib COMPONENT outboard)
  install(FILES ${CMAKE_SOURCE_DIR}/python/outboard/__init__.py ${CMAKE_SOURCE_DIR}/python/outboard/sial_plugin.py
                ${CMAKE_SOURCE_DIR}/python/outboard/sial_plugin_host.py
          DESTINATION share/outboard/python/outboard COMPONENT outboard)
endif()
install(FILES ${CMAKE_SOURCE_DIR}/include/outboard/sial.h ${CMAKE_SOURCE_DIR}/include/outboard/sial.hpp
              ${CMAKE_SOURCE_DIR}/include/outboard/sial.f90
        DESTINATION include/outboard COMPONENT outboard)
install(FILES ${CMAKE_SOURCE_DIR}/settings/settings.toml DESTINATION share/outboard COMPONENT outboard)
