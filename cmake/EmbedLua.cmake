# Expands one Lua script and writes it as a C++ raw string literal, at build time:
#   cmake -D SCRIPT=acquire.lua -D OUT=acquire.lua -D EMBED=acquire.inc -D CONSTANTS=a.hpp,b.hpp
#         -P EmbedLua.cmake
# A line `--@include other.lua` is replaced by that file; comments and blank lines are dropped, since a
# server keeps and hashes every byte.
#
# `constant.slack_ms` becomes the number that one of the headers gives to holdfast::constant::slack_ms,
# in a line `inline constexpr std::int64_t slack_ms = 3000;`; `code.busy` that of holdfast::code::busy.

string(REPLACE "," ";" headers "${CONSTANTS}")
foreach(header IN LISTS headers)
  set(space "")
  file(STRINGS "${header}" lines REGEX "^(namespace|inline constexpr std::int64_t) ")
  foreach(line IN LISTS lines)
    if(line MATCHES "^namespace holdfast::(constant|code) {")
      set(space "${CMAKE_MATCH_1}.")
    elseif(line MATCHES "^namespace")
      set(space "")
    elseif(space AND line MATCHES "^inline constexpr std::int64_t ([a-z_]+) = (-?[0-9']+);?$")
      set(name "${space}${CMAKE_MATCH_1}")
      if(DEFINED value_${name})
        message(FATAL_ERROR "${header}: ${name} has a value already")
      endif()
      string(REPLACE "'" "" value_${name} "${CMAKE_MATCH_2}")
    elseif(space)
      message(FATAL_ERROR "${header}: not a number in digits: ${line}")
    endif()
  endforeach()
endforeach()

get_filename_component(directory "${SCRIPT}" DIRECTORY)
file(READ "${SCRIPT}" text)
while(text MATCHES "--@include ([a-z_]+\\.lua)")
  set(other "${CMAKE_MATCH_1}")
  file(READ "${directory}/${other}" included)
  string(REPLACE "--@include ${other}" "${included}" text "${text}")
endwhile()
# The longest of several names that begin alike is matched, so one is never taken for another.
while(text MATCHES "(^|[^a-zA-Z_.])((constant|code)\\.[a-z_]+)")
  set(before "${CMAKE_MATCH_1}")
  set(name "${CMAKE_MATCH_2}")
  if(NOT DEFINED value_${name})
    message(FATAL_ERROR "${SCRIPT}: no header gives a value to ${name}: ${CONSTANTS}")
  endif()
  string(REGEX REPLACE "(^|[^a-zA-Z_.])${name}([^a-z_]|$)" "\\1${value_${name}}\\2" text "${text}")
endwhile()
file(WRITE "${OUT}" "${text}")
string(REGEX REPLACE "(^|\n)[ \t]*--[^\n]*" "\\1" text "${text}")
string(REGEX REPLACE "\n[\n \t]*\n" "\n" text "${text}")
string(REGEX REPLACE "\n +" "\n" text "${text}")
string(REGEX REPLACE "^\n+" "" text "${text}")
file(WRITE "${EMBED}" "R\"lua(${text})lua\"\n")
