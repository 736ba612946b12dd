# SPDX-License-Identifier: MIT
# oneDNN, 2.x or 3.x, by its header and library; -DCMAKE_PREFIX_PATH=DIR looks there first. Its own package file asks
# for OpenCL's headers, which nothing here uses.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h)
find_library(DNNL_LIBRARY dnnl HINTS ${DNNL_INCLUDE_DIR}/../lib)
if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
    add_library(DNNL::dnnl UNKNOWN IMPORTED)
    set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${DNNL_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR})
endif()
