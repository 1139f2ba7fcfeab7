# holdfast_embed_lua(<out> scripts/<name>.lua... [INCLUDED scripts/<name>.lua...]
#                    [CONSTANTS <header of numbers that scripts and C++ share>...])
#
# Makes scripts/<name>.inc in the build directory from scripts/<name>.lua of this directory, with what
# it includes (EmbedLua.cmake), and lists the files in <out> for the library's sources.
function(holdfast_embed_lua out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "INCLUDED;CONSTANTS")
  list(TRANSFORM arg_INCLUDED PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM arg_CONSTANTS PREPEND ${PROJECT_SOURCE_DIR}/src/)
  list(JOIN arg_CONSTANTS "," constants)
  set(embedded)
  foreach(file IN LISTS arg_UNPARSED_ARGUMENTS)
    get_filename_component(name ${file} NAME_WE)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    set(expanded ${CMAKE_CURRENT_BINARY_DIR}/${file})
    set(literal ${CMAKE_CURRENT_BINARY_DIR}/scripts/${name}.inc)
    add_custom_command(OUTPUT ${literal} BYPRODUCTS ${expanded}
      COMMAND ${CMAKE_COMMAND} -D SCRIPT=${source} -D OUT=${expanded} -D EMBED=${literal}
              -D CONSTANTS=${constants} -P ${PROJECT_SOURCE_DIR}/cmake/EmbedLua.cmake
      DEPENDS ${source} ${arg_INCLUDED} ${arg_CONSTANTS}
              ${PROJECT_SOURCE_DIR}/cmake/EmbedLua.cmake
      VERBATIM)
    list(APPEND embedded ${literal})
  endforeach()
  # All that the build generates, for what reads the sources without compiling them.
  if(NOT TARGET holdfast_generated)
    add_custom_target(holdfast_generated)
  endif()
  file(RELATIVE_PATH directory ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(MAKE_C_IDENTIFIER "generated_${directory}" generated)
  add_custom_target(${generated} DEPENDS ${embedded})
  add_dependencies(holdfast_generated ${generated})
  set(${out} ${embedded} PARENT_SCOPE)
endfunction()
