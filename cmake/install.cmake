# SPDX-License-Identifier: MIT
# What `cmake --install` puts where: library (shared, static), headers, leat.pc, a CMake package, the
# command with its man pages and completion (written by the command itself), the plugins for CUDA and MPI.
include(CMakePackageConfigHelpers)
set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/leat)

install(TARGETS leat EXPORT leat-targets)
install(TARGETS leat_static EXPORT leat-static-targets)
install(DIRECTORY include/leat DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Two export files, so that users of the shared library need none of the libraries behind it.
install(EXPORT leat-targets NAMESPACE leat:: DESTINATION ${cmake_dir})
install(EXPORT leat-static-targets NAMESPACE leat:: DESTINATION ${cmake_dir})
configure_package_config_file(cmake/leat-config.cmake.in ${CMAKE_BINARY_DIR}/leat-config.cmake
    INSTALL_DESTINATION ${cmake_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/leat-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/leat-config.cmake ${CMAKE_BINARY_DIR}/leat-config-version.cmake
    DESTINATION ${cmake_dir})

# leat.pc finds its prefix from its own place, so an installed tree can be moved.
file(RELATIVE_PATH LEAT_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" LEAT_PC_PREFIX "${LEAT_PC_PREFIX}")
configure_file(cmake/leat.pc.in ${CMAKE_BINARY_DIR}/leat.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/leat.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET leat_command)
    install(TARGETS leat_command)
    foreach(page IN ITEMS man completion)
        add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/leat.${page}
            COMMAND leat_command help --${page} > leat.${page}
            WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)
    endforeach()
    # A man page for each command: those of LEAT_COMMAND_LIST.
    file(READ tools/command.h rows)
    string(REGEX MATCHALL "    X\\([a-z]+\\)" rows "${rows}")
    set(man_pages)
    foreach(row IN LISTS rows)
        string(REGEX REPLACE "^    X\\(([a-z]+)\\)" "\\1" name "${row}")
        set(man_page ${CMAKE_BINARY_DIR}/leat-${name}.1)
        add_custom_command(OUTPUT ${man_page}
            COMMAND leat_command help --man ${name} > leat-${name}.1
            WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)
        list(APPEND man_pages ${man_page})
    endforeach()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/command.h)
    install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    add_custom_target(pages ALL
        DEPENDS ${CMAKE_BINARY_DIR}/leat.man ${CMAKE_BINARY_DIR}/leat.completion ${man_pages})
    install(FILES ${CMAKE_BINARY_DIR}/leat.man DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
        RENAME leat.1)
    install(FILES ${CMAKE_BINARY_DIR}/leat.completion
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME leat)
endif()

# `make deb`: a package for the Debian on which it is built, with the libraries that this one has.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME leat)
set(CPACK_PACKAGE_CONTACT "the leat project")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "input pipeline for training on images and rows, and its measuring")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/deb)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libdnnl-dev) # for the trainer, which opens oneDNN
# Not the component `mpi`: the package would need the MPI of the machine that made it.
set(CPACK_COMPONENTS_ALL Unspecified)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
include(CPack)
