# Bugs on purpose: the libraries are compiled from copies of their sources in which each bug of
# mutants.cpp has a switch. Never for use.

# Each must be listed here; holdfast_mutate says which one is missing.
set(mutated
  src/core/acquire_machine.cpp src/core/keeper_book.cpp src/core/leave_queue.cpp
  src/core/validity.hpp src/lease/commands/known_servers.cpp src/lease/commands/lease_commands.cpp
  src/lease/commands/server_clocks.cpp src/lease/quorum/quorum_machine.cpp
  src/lease/quorum/quorum_owners.cpp src/lock/acquisition.cpp src/lock/background_release.cpp
  src/lock/lock_runtime.cpp sim/remote_store.cpp)

add_executable(holdfast_mutate mutants.cpp mutate.cpp source_mutants.cpp)
holdfast_warnings(holdfast_mutate)

set(copies ${PROJECT_BINARY_DIR}/mutated)
list(TRANSFORM mutated PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE originals)
list(TRANSFORM mutated PREPEND ${copies}/ OUTPUT_VARIABLE made)
add_custom_command(OUTPUT ${made}
  COMMAND holdfast_mutate ${PROJECT_SOURCE_DIR} ${copies} ${mutated}
  DEPENDS holdfast_mutate ${originals} VERBATIM)
add_custom_target(holdfast_mutated DEPENDS ${made})

# Every library sees the mutated headers first, and is compiled from what was mutated of its sources.
get_property(names GLOBAL PROPERTY HOLDFAST_LIBRARIES)
set(targets holdfast_simulation)
foreach(name IN LISTS names)
  get_target_property(target holdfast::${name} ALIASED_TARGET)
  list(APPEND targets ${target})
endforeach()
foreach(target IN LISTS targets)
  get_target_property(kind ${target} TYPE)
  if(kind STREQUAL "INTERFACE_LIBRARY")
    continue()
  endif()
  add_dependencies(${target} holdfast_mutated)
  target_include_directories(${target} BEFORE PRIVATE ${copies}/src)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE HOLDFAST_MUTANTS)
  get_target_property(directory ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  set(replaced)
  foreach(source IN LISTS sources)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${directory}/${source})
    if(path IN_LIST mutated)
      set(source ${copies}/${path})
    endif()
    list(APPEND replaced ${source})
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${replaced}")
endforeach()
target_sources(holdfast_core PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/mutation.cpp)
target_compile_definitions(holdfast_sim PRIVATE HOLDFAST_MUTANTS)
