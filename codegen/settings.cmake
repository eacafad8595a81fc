# The header with the settings of src/interpose, emitted from settings/settings.toml.
set(OUTBOARD_SETTING_TABLE ${OUTBOARD_GENERATED_DIR}/interpose/setting_table.hpp)
add_custom_command(
  OUTPUT ${OUTBOARD_SETTING_TABLE}
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/codegen/emit_settings.py --output ${OUTBOARD_SETTING_TABLE}
          ${CMAKE_SOURCE_DIR}/settings/settings.toml
  DEPENDS ${CMAKE_SOURCE_DIR}/codegen/emit_settings.py ${CMAKE_SOURCE_DIR}/codegen/settings_source.py
          ${CMAKE_SOURCE_DIR}/codegen/emit.py ${CMAKE_SOURCE_DIR}/python/outboard/settings_table.py
          ${CMAKE_SOURCE_DIR}/settings/settings.toml
  COMMENT "Emitting interpose/setting_table.hpp"
  VERBATIM)
