# What is installed: the drop-in library and the daemon, as component "outboard", and the coverage page
# (docs/CMakeLists.txt). `cmake --install` puts them below its prefix; `pip install .` puts them into the Python
# package (pyproject.toml).

if(TARGET outboard_preload)
  install(TARGETS outboard_preload LIBRARY DESTINATION lib COMPONENT outboard)
endif()
if(TARGET outboardd)
  install(TARGETS outboardd RUNTIME DESTINATION bin COMPONENT outboard)
endif()
