# holdfast_install(): everything that holdfast_library() made, the public headers, and the command
# line, for find_package(holdfast COMPONENTS ...) and for pkg-config.
#
# What a consumer must find is read off what each library links, so the two cannot drift apart: a
# dependency that we do not know how to find from outside stops the configuration here.
include(CMakePackageConfigHelpers)

# How a consumer finds what a library links: <find> is CMake code, <pc> a module of pkg-config,
# <flag> a plain linker flag. Empty when there is no such thing.
function(holdfast_external library out_find out_pc out_flag)
  set(find "")
  set(pc "")
  set(flag "")
  if(library STREQUAL "Threads::Threads")
    set(find "find_dependency(Threads)")
    set(flag "-pthread")
  elseif(library MATCHES "^fmt::")
    set(find "find_dependency(fmt)")
    set(pc fmt)
  elseif(library MATCHES "^OpenSSL::")
    set(find "find_dependency(OpenSSL)")
    set(pc openssl)
  elseif(library MATCHES "^Boost::(headers|boost)$")
    set(find "find_dependency(Boost)")
  elseif(library MATCHES "^PkgConfig::(.+)$")
    # Called after its module, in capitals: PkgConfig::HIREDIS is hiredis.
    string(TOLOWER ${CMAKE_MATCH_1} pc)
    set(find "find_dependency(PkgConfig)\npkg_check_modules(${CMAKE_MATCH_1} REQUIRED IMPORTED_TARGET ${pc})")
  elseif(library MATCHES "::")
    message(FATAL_ERROR "say in HoldfastInstall.cmake how a consumer finds ${library}")
  elseif(library MATCHES "^-")
    set(flag ${library})
  else()
    set(flag -l${library})
  endif()
  set(${out_find} "${find}" PARENT_SCOPE)
  set(${out_pc} "${pc}" PARENT_SCOPE)
  set(${out_flag} "${flag}" PARENT_SCOPE)
endfunction()

# Sorts what a library links into our own components and what must be found elsewhere.
function(holdfast_links name needs finds modules flags)
  foreach(list IN ITEMS libraries own all_finds all_modules all_flags)
    set(${list} "")
  endforeach()
  foreach(property IN ITEMS LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
    get_target_property(linked holdfast::${name} ${property})
    if(linked)
      list(APPEND libraries ${linked})
    endif()
  endforeach()
  list(TRANSFORM libraries REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1")
  list(FILTER libraries EXCLUDE REGEX "BUILD_INTERFACE|^::@|holdfast_headers|holdfast::headers")
  list(REMOVE_DUPLICATES libraries)
  foreach(library IN LISTS libraries)
    if(library MATCHES "^holdfast(::|_)(.+)$")
      list(APPEND own ${CMAKE_MATCH_2})
    else()
      holdfast_external(${library} find pc flag)
      list(APPEND all_finds "${find}")
      list(APPEND all_modules ${pc})
      list(APPEND all_flags ${flag})
    endif()
  endforeach()
  foreach(list IN ITEMS own all_finds all_modules all_flags)
    list(REMOVE_DUPLICATES ${list})
  endforeach()
  set(${needs} "${own}" PARENT_SCOPE)
  set(${finds} "${all_finds}" PARENT_SCOPE)
  set(${modules} "${all_modules}" PARENT_SCOPE)
  set(${flags} "${all_flags}" PARENT_SCOPE)
endfunction()

# One .pc file for a library: holdfast-core.pc; holdfast.pc for the library of that name.
#
# In a static installation what is private to link is everybody's to link, so it is not hidden behind
# --static: `pkg-config --libs holdfast-core` is always enough.
function(holdfast_pkg_config name needs modules flags)
  holdfast_pc_name(${name} pc_name)
  get_target_property(kind holdfast::${name} TYPE)
  set(requires "")
  foreach(need IN LISTS needs)
    holdfast_pc_name(${need} need)
    list(APPEND requires "${need} = ${PROJECT_VERSION}")
  endforeach()
  if(kind STREQUAL "SHARED_LIBRARY")
    set(modules "")
  endif()
  list(APPEND requires ${modules})
  list(JOIN requires ", " pc_requires)
  list(JOIN flags " " pc_flags)
  set(pc_libs "")
  if(NOT kind STREQUAL "INTERFACE_LIBRARY")
    get_target_property(target holdfast::${name} ALIASED_TARGET)
    set(pc_libs "-L\${libdir} -l${target}")
  endif()
  file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/holdfast.pc.in
                 ${PROJECT_BINARY_DIR}/install/${pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/install/${pc_name}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

function(holdfast_pc_name name out)
  string(REPLACE "_" "-" text "holdfast-${name}")
  string(REGEX REPLACE "^holdfast-holdfast$" "holdfast" text ${text})
  set(${out} ${text} PARENT_SCOPE)
endfunction()

function(holdfast_install)
  get_property(names GLOBAL PROPERTY HOLDFAST_LIBRARIES)
  set(components "")
  foreach(name IN LISTS names)
    get_target_property(target holdfast::${name} ALIASED_TARGET)
    install(TARGETS ${target} EXPORT holdfast)
    holdfast_links(${name} needs finds modules flags)
    holdfast_pkg_config(${name} "${needs}" "${modules}" "${flags}")
    list(JOIN finds "\n" finds)
    string(APPEND components "set(holdfast_${name}_needs \"${needs}\")\n"
                             "macro(holdfast_${name}_find)\n${finds}\nendmacro()\n")
  endforeach()
  install(TARGETS holdfast_headers EXPORT holdfast FILE_SET HEADERS)

  set(where ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
  install(EXPORT holdfast FILE holdfast-targets.cmake NAMESPACE holdfast:: DESTINATION ${where})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/holdfast-config.cmake.in
    ${PROJECT_BINARY_DIR}/install/holdfast-config.cmake INSTALL_DESTINATION ${where}
    NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  # Before 1.0 a minor version may break its users.
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/holdfast-config-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/install/holdfast-config.cmake
                ${PROJECT_BINARY_DIR}/install/holdfast-config-version.cmake DESTINATION ${where})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

  if(TARGET holdfast_app)
    if(BUILD_SHARED_LIBS)
      set_target_properties(holdfast_app PROPERTIES
        INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    endif()
    install(TARGETS holdfast_app)
  endif()
endfunction()
