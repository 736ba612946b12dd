/* SPDX-License-Identifier: MIT
 *
 * device_plugin.c: loads the CUDA plugin. It is loaded when a "cuda" device is first needed, so one
 * build runs with and without it. If the environment variable LEAT_CUDA_PLUGIN is set, only that file
 * is tried. Otherwise: the folder of this library, then the path of the dynamic loader. The plugin is
 * never unloaded, because CUDA libraries do not support that. */
#include "device_plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* [const after once] */
static struct {
    pthread_once_t once;
    const leat_device_table *table; /* NULL: not loaded, see `reason` */
    char path[4096];
    char reason[512];
} plugin = { .once = PTHREAD_ONCE_INIT };

static void *open_file(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *text = dlerror();
        snprintf(plugin.reason, sizeof plugin.reason,
                 "cannot open the CUDA plugin (%.400s); only a build with a CUDA toolkit has it",
                 text ? text : path);
    }
    return library;
}

/* Opens the plugin in the folder of the library or program with this code; NULL: it is not there. */
static void *open_beside(void)
{
    Dl_info info;
    char path[4096];
    if (!dladdr(&plugin, &info) || !info.dli_fname)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    const int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    const int n = snprintf(path, sizeof path, "%.*s%s", folder, info.dli_fname, LEAT_CUDA_PLUGIN);
    /* Without a slash, dlopen would search its own path, which comes next anyway. */
    return folder && n > 0 && (size_t)n < sizeof path ? open_file(path) : NULL;
}

static void *open_plugin(void)
{
    const char *named = getenv("LEAT_CUDA_PLUGIN");
    if (named && *named)
        return open_file(named);
    void *library = open_beside();
    return library ? library : open_file(LEAT_CUDA_PLUGIN);
}

static void load(void)
{
    void *library = open_plugin();
    if (!library)
        return;
    int (*abi)(void);
    const leat_device_table *(*table)(void);
    *(void **)&abi = dlsym(library, "leat_cuda_abi");
    *(void **)&table = dlsym(library, "leat_cuda_device_table");
    if (!abi || !table)
        snprintf(plugin.reason, sizeof plugin.reason, "the CUDA plugin does not export %s",
                 abi ? "leat_cuda_device_table" : "leat_cuda_abi");
    else if (abi() != LEAT_CUDA_ABI)
        snprintf(
            plugin.reason, sizeof plugin.reason,
            "the CUDA plugin is from another release (its ABI is %d, the library has %d): install "
            "both from one release",
            abi(), LEAT_CUDA_ABI);
    else
        plugin.table = table();
    Dl_info info;
    if (plugin.table && dladdr((void *)(uintptr_t)table, &info) && info.dli_fname)
        snprintf(plugin.path, sizeof plugin.path, "%s", info.dli_fname);
}

int leat_device_plugin_path(char *path, size_t size, leat_error *err)
{
    pthread_once(&plugin.once, load);
    char whole[PATH_MAX]; /* a watched program may change its folder */
    if (!plugin.table || !realpath(plugin.path, whole) || strlen(whole) >= size)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "%s",
                         *plugin.reason ? plugin.reason : "the CUDA plugin's file is not known");
    memcpy(path, whole, strlen(whole) + 1);
    return LEAT_OK;
}

static int cuda_open(const char *spec, leat_device **out, leat_error *err)
{
    pthread_once(&plugin.once, load);
    if (!plugin.table)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "%s", plugin.reason);
    return plugin.table->open(spec, out, err);
}

static size_t cuda_list(leat_device_info *out, size_t n)
{
    pthread_once(&plugin.once, load);
    if (plugin.table)
        return plugin.table->list(out, n);
    if (n) {
        *out = (leat_device_info){ .name = "cuda:0", .available = 0 };
        snprintf(out->text, sizeof out->text, "%.*s", (int)sizeof out->text - 1, plugin.reason);
    }
    return 1;
}

static void cuda_libraries(char *text, size_t size)
{
    pthread_once(&plugin.once, load);
    if (plugin.table)
        plugin.table->libraries(text, size);
}

const leat_device_table leat_device_cuda = {
    .kind = "cuda",
    .is_gpu = true,
    .help = "an NVIDIA GPU, through the plugin " LEAT_CUDA_PLUGIN,
    .open = cuda_open,
    .list = cuda_list,
    .libraries = cuda_libraries,
};
