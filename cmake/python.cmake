# SPDX-License-Identifier: MIT
# The extension of the Python package, for the limited API of 3.11 and so for every later version. The component `python`
# is what a wheel has: the package, and libleat and the command beside the extension (pyproject.toml).
find_package(Python 3.11 COMPONENTS Interpreter Development.SABIModule REQUIRED)
Python_add_library(leat_python MODULE USE_SABI 3.11 WITH_SOABI python/leat_module.c python/leat_plan.c
    python/leat_loader.c python/leat_device.c python/leat_batch.c python/leat_tensor.c python/leat_doctor.c)
set_target_properties(leat_python PROPERTIES OUTPUT_NAME _leat PREFIX "" INSTALL_RPATH "$ORIGIN"
    C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python)
target_compile_definitions(leat_python PRIVATE _GNU_SOURCE)
target_compile_options(leat_python PRIVATE -Wall -Wextra -Wshadow -Wconversion)
target_link_libraries(leat_python PRIVATE leat)
# A wheel has no links, and would have the library once for each of its names.
get_target_property(leat_soversion leat SOVERSION)
set_target_properties(leat PROPERTIES VERSION ${leat_soversion})
set_target_properties(leat_command PROPERTIES INSTALL_RPATH "$ORIGIN")
set(python_targets leat_python leat leat_command)
if(LEAT_HAVE_CUDA) # the plugin travels beside libleat
    add_dependencies(leat_python leat_cuda)
    list(APPEND python_targets leat_cuda)
endif()
install(TARGETS ${python_targets} LIBRARY DESTINATION leat_data NAMELINK_SKIP COMPONENT python
    EXCLUDE_FROM_ALL RUNTIME DESTINATION leat_data COMPONENT python EXCLUDE_FROM_ALL)
