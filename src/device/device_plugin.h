/* SPDX-License-Identifier: MIT
 *
 * device_plugin.h: the interface between libleat and its CUDA plugin. The plugin is the file
 * LEAT_CUDA_PLUGIN; it exports the first two functions below, and the one that `leat watch` needs (watch_wire.h). */
#ifndef LEAT_DEVICE_PLUGIN_H
#define LEAT_DEVICE_PLUGIN_H

#include "device_table.h"

#define LEAT_CUDA_PLUGIN "libleat-cuda.so"

/* Plugin and library must be from the same release and have the same table. */
#define LEAT_CUDA_ABI                                                                              \
    ((LEAT_VERSION_MAJOR * 10000 + LEAT_VERSION_MINOR * 100 + LEAT_VERSION_PATCH) * 1000 +         \
     (int)sizeof(leat_device_table) + (int)sizeof(leat_device))

/* Returns the LEAT_CUDA_ABI that the plugin was built with. */
LEAT_API int leat_cuda_abi(void);
/* Returns the complete table of the plugin. Without a driver or GPU, its open and list report that. */
LEAT_API const leat_device_table *leat_cuda_device_table(void);

/* The plugin's file. Returns LEAT_OK, or LEAT_E_UNSUPPORTED: there is none, with the reason. */
int leat_device_plugin_path(char *path, size_t size, leat_error *err);

#endif
