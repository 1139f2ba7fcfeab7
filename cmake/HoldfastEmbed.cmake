# holdfast_embed_files(<out> <file>...)
#
# Makes web/<file>.inc in the build directory, a string literal, from each file of web/ of the
# project, and lists them in <out> for a target's sources.
function(holdfast_embed_files out)
  set(embedded)
  foreach(name IN LISTS ARGN)
    set(source ${PROJECT_SOURCE_DIR}/web/${name})
    set(literal ${CMAKE_CURRENT_BINARY_DIR}/web/${name}.inc)
    add_custom_command(OUTPUT ${literal}
      COMMAND ${CMAKE_COMMAND} -D FILE=${source} -D EMBED=${literal}
              -P ${PROJECT_SOURCE_DIR}/cmake/EmbedFile.cmake
      DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/EmbedFile.cmake
      VERBATIM)
    list(APPEND embedded ${literal})
  endforeach()
  set(${out} ${embedded} PARENT_SCOPE)
endfunction()
