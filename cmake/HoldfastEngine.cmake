# HOLDFAST_ENGINE_<NAME> = AUTO | ON | OFF.
#   AUTO builds the engine when its dependencies are found, and says aloud when they are not;
#   ON makes a missing dependency an error; OFF leaves the engine out.

function(holdfast_engine_option name description)
  set(HOLDFAST_ENGINE_${name} AUTO CACHE STRING "Build ${description}: AUTO, ON or OFF")
  set_property(CACHE HOLDFAST_ENGINE_${name} PROPERTY STRINGS AUTO ON OFF)
endfunction()

# holdfast_engine_decide(<NAME> <out> [MISSING <what is missing>...])
function(holdfast_engine_decide name out)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "MISSING")
  set(wanted "${HOLDFAST_ENGINE_${name}}")
  if(NOT wanted STREQUAL "AUTO" AND NOT wanted)
    set(${out} OFF PARENT_SCOPE)
    return()
  endif()
  if(arg_MISSING)
    list(JOIN arg_MISSING ", " missing)
    if(NOT wanted STREQUAL "AUTO")
      message(FATAL_ERROR "HOLDFAST_ENGINE_${name} is ON but ${missing} was not found")
    endif()
    message(NOTICE "-- holdfast: engine ${name} is left out: ${missing} was not found")
    set(${out} OFF PARENT_SCOPE)
    return()
  endif()
  set(${out} ON PARENT_SCOPE)
endfunction()
