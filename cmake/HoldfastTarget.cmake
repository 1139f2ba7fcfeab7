# holdfast_library(<name> SOURCES ... [PUBLIC ...] [PRIVATE ...])
# Makes holdfast_<name>, its alias holdfast::<name>, and the warnings that we keep at zero.

function(holdfast_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(holdfast_${name} ${arg_SOURCES})
  add_library(holdfast::${name} ALIAS holdfast_${name})
  set_target_properties(holdfast_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(holdfast_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
           $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(holdfast_${name} PUBLIC cxx_std_23)
  target_link_libraries(holdfast_${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  holdfast_warnings(holdfast_${name})
endfunction()

function(holdfast_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast)
endfunction()
