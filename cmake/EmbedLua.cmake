# Expands one Lua script and writes it as a C++ raw string literal, at build time:
#   cmake -D SCRIPT=acquire.lua -D OUT=acquire.lua -D EMBED=acquire.inc -P EmbedLua.cmake
# A line `--@include other.lua` is replaced by that file; comments and blank lines are dropped, since a
# server keeps and hashes every byte.

get_filename_component(directory "${SCRIPT}" DIRECTORY)
file(READ "${SCRIPT}" text)
while(text MATCHES "--@include ([a-z_]+\\.lua)")
  set(other "${CMAKE_MATCH_1}")
  file(READ "${directory}/${other}" included)
  string(REPLACE "--@include ${other}" "${included}" text "${text}")
endwhile()
file(WRITE "${OUT}" "${text}")
string(REGEX REPLACE "(^|\n)[ \t]*--[^\n]*" "\\1" text "${text}")
string(REGEX REPLACE "\n[\n \t]*\n" "\n" text "${text}")
string(REGEX REPLACE "\n +" "\n" text "${text}")
string(REGEX REPLACE "^\n+" "" text "${text}")
file(WRITE "${EMBED}" "R\"lua(${text})lua\"\n")
