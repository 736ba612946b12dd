# SPDX-License-Identifier: MIT
# The CUDA plugin: built when a CUDA compiler is there (LEAT_CUDA=AUTO), always (ON) or never (OFF).
# It is a module that libleat opens at run time, so one build runs with and without a GPU. It links
# the CUDA runtime statically and needs nothing but libc, so it also opens where there is no driver.
set(LEAT_HAVE_CUDA OFF)
if(NOT LEAT_CUDA MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "LEAT_CUDA is '${LEAT_CUDA}'; it must be AUTO, ON or OFF")
endif()
if(LEAT_CUDA STREQUAL "ON")
    find_package(CUDAToolkit REQUIRED)
elseif(LEAT_CUDA STREQUAL "AUTO")
    find_package(CUDAToolkit QUIET)
endif()
if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
    set(LEAT_HAVE_CUDA ON)
endif()
message(STATUS "CUDA plugin: ${LEAT_HAVE_CUDA} (LEAT_CUDA=${LEAT_CUDA})")

if(LEAT_HAVE_CUDA)
    file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cuda/*.c
        ${CMAKE_SOURCE_DIR}/src/cuda/*/*.c)
    # The kernels become bytes in the plugin, so that no C++ is linked. No contraction of a * b + c,
    # so that kernels give the bytes that the plain C gives. Code for compute capability 8.0 and 9.0,
    # and PTX that a driver compiles for what comes later.
    set(fatbin ${CMAKE_BINARY_DIR}/generated/gpu_kernels.fatbin)
    add_custom_command(OUTPUT ${fatbin}
        COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -fatbin -std=c++17 -O3 -fmad=false
                -gencode arch=compute_80,code=sm_80
                "-gencode=arch=compute_90,code=[sm_90,compute_90]"
                -I${CMAKE_SOURCE_DIR}/include -I${CMAKE_SOURCE_DIR}/src
                -MMD -MF ${fatbin}.d -MT ${fatbin}
                -o ${fatbin} ${CMAKE_SOURCE_DIR}/src/cuda/kernels/gpu_kernels.cu
        DEPENDS src/cuda/kernels/gpu_kernels.cu DEPFILE ${fatbin}.d VERBATIM)
    add_library(leat_cuda MODULE ${cuda_sources})
    set_source_files_properties(src/cuda/gpu_fatbin.c PROPERTIES
        COMPILE_DEFINITIONS LEAT_FATBIN="${fatbin}" OBJECT_DEPENDS ${fatbin})
    set_target_properties(leat_cuda PROPERTIES OUTPUT_NAME leat-cuda LINKER_LANGUAGE C)
    target_include_directories(leat_cuda PRIVATE include src)
    # CUPTI's headers stand beside the others or in a folder of their own; without them the plugin
    # cannot record and says so.
    set(cuda_includes ${CUDAToolkit_INCLUDE_DIRS}
        ${CUDAToolkit_TARGET_DIR}/extras/CUPTI/include)
    target_include_directories(leat_cuda SYSTEM PRIVATE ${cuda_includes})
    target_compile_definitions(leat_cuda PRIVATE _GNU_SOURCE)
    target_link_libraries(leat_cuda PRIVATE CUDA::cudart_static)
    target_link_options(leat_cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,--as-needed)
    set(own_flags "$<TARGET_PROPERTY:leat_flags,INTERFACE_COMPILE_OPTIONS>")
    target_compile_options(leat_cuda PRIVATE "$<$<COMPILE_LANGUAGE:C>:${own_flags}>")
    if(LEAT_SANITIZE)
        target_link_options(leat_cuda PRIVATE -fsanitize=${LEAT_SANITIZE})
    else()
        target_link_options(leat_cuda PRIVATE -Wl,--no-undefined)
    endif()
    install(TARGETS leat_cuda DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
