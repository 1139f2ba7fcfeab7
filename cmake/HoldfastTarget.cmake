# holdfast_library(<name> [SOURCES ...] [PUBLIC ...] [PRIVATE ...])
#
# Makes the library holdfast_<name> and its alias holdfast::<name> (holdfast_library(holdfast ...)
# makes `holdfast` and holdfast::holdfast), with the public headers, and the warnings that we keep at
# zero. Without SOURCES it is an interface: a name for several others.
#
# Every library made here is installed and can be asked for with
# find_package(holdfast COMPONENTS <name>): see HoldfastInstall.cmake.

# Header-only: once we are compiled, whoever links us does not need them.
set(HOLDFAST_HEADER_ONLY Boost::headers Boost::boost)

function(holdfast_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  set(target holdfast_${name})
  if(name STREQUAL "holdfast")
    set(target holdfast)
  endif()

  if(NOT arg_SOURCES)
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE holdfast_headers ${arg_PUBLIC} ${arg_PRIVATE})
  else()
    add_library(${target} ${arg_SOURCES})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    foreach(library IN LISTS arg_PRIVATE)
      if(library IN_LIST HOLDFAST_HEADER_ONLY)
        set(library $<BUILD_INTERFACE:${library}>)
      endif()
      target_link_libraries(${target} PRIVATE ${library})
    endforeach()
    target_link_libraries(${target} PUBLIC holdfast_headers ${arg_PUBLIC})
    # No <target>_EXPORTS: all symbols are visible, and static and shared share one compiler cache.
    set_target_properties(${target} PROPERTIES DEFINE_SYMBOL ""
      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    holdfast_warnings(${target})
  endif()

  add_library(holdfast::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY HOLDFAST_LIBRARIES ${name})
endfunction()

function(holdfast_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast
    # GCC 12 sees it in std::stop_source and std::optional where there is none.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    # Several files as one: what they keep to themselves may look like another's. The preset
    # `warnings` compiles each file alone, with these warnings on; run it with tools/test warnings.
    $<$<BOOL:$<TARGET_PROPERTY:${target},UNITY_BUILD>>:-Wno-shadow>
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:$<TARGET_PROPERTY:${target},UNITY_BUILD>>>:-Wno-subobject-linkage>)
endfunction()
