/* SPDX-License-Identifier: MIT
 *
 * gpu_libs.c: finds and opens cuBLASLt and cuDNN; see gpu_libs.h. */
#include "gpu_libs.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu.h"

enum {
    CUDA_MAJOR = CUDART_VERSION / 1000,
    OLDEST_CUDNN = 91100,
    MAX_FOLDERS = 64,
    FOLDERS_SIZE = 16384,
};

static struct {
    pthread_mutex_t lock;
    bool loaded; /* stays true */
    leat_gpu_libs libs;
} opened = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Where to look. "" is where the system looks. */
typedef struct places {
    const char *folders[MAX_FOLDERS];
    int n;
    bool only_named;   /* LEAT_CUDA_LIBS is set */
    bool asked_python; /* its folders are among them */
    size_t used;
    char memory[FOLDERS_SIZE];
    char trouble[512]; /* why the last file that exists does not open */
} places;

/* --- folders ----------------------------------------------------------------------------------- */

static void add_folder(places *p, const char *folder, size_t length, const char *below)
{
    const size_t room = sizeof p->memory - p->used;
    char *const at = p->memory + p->used;
    const int n = snprintf(at, room, "%.*s%s", (int)length, folder, below);
    if (n < 0 || (size_t)n >= room || p->n == MAX_FOLDERS)
        return;
    p->used += (size_t)n + 1;
    p->folders[p->n++] = at;
}

static void add_list(places *p, const char *list)
{
    while (*list) {
        const size_t length = strcspn(list, ":");
        if (length)
            add_folder(p, list, length, "");
        list += length + (list[length] == ':');
    }
}

static void add_own_folder(places *p)
{
    Dl_info info;
    const char *const slash =
        dladdr(&opened, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    if (slash && slash > info.dli_fname)
        add_folder(p, info.dli_fname, (size_t)(slash - info.dli_fname), "");
}

/* NVIDIA's packages for Python have a folder each, or one for all of a CUDA version. */
static void add_python_folders(places *p)
{
    char line[LEAT_GPU_LIBS_PATH], versioned[32];
    snprintf(versioned, sizeof versioned, "/nvidia/cu%d/lib", CUDA_MAJOR);
    const char *const below[] = { "/nvidia/cudnn/lib",      versioned,
                                  "/nvidia/cublas/lib",     "/nvidia/cuda_nvrtc/lib",
                                  "/nvidia/cuda_cupti/lib", "/nvidia/nvjpeg/lib" };
    p->asked_python = true;
    FILE *const out = popen("python3 -c \"import sys\nfor p in sys.path:\n"
                            "    if p.endswith('-packages'): print(p)\" 2>/dev/null",
                            "re");
    while (out && fgets(line, sizeof line, out))
        for (size_t i = 0; line[0] == '/' && i < sizeof below / sizeof *below; i++)
            add_folder(p, line, strcspn(line, "\n"), below[i]);
    if (out)
        pclose(out);
}

static void add_usual_folders(places *p)
{
    add_own_folder(p);
    add_folder(p, "", 0, "");
    add_list(p, "/usr/local/cuda/lib64:/usr/local/cuda/extras/CUPTI/lib64");
}

static void find_places(places *p)
{
    const char *const named = getenv("LEAT_CUDA_LIBS");
    *p = (places){ .only_named = named && *named };
    if (p->only_named)
        add_list(p, named);
    else
        add_usual_folders(p);
}

/* --- files ------------------------------------------------------------------------------------- */

static void *open_in(places *p, const char *folder, const char *name)
{
    char path[LEAT_GPU_LIBS_PATH];
    const int n = snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", name);
    if (n < 0 || (size_t)n >= sizeof path || (*folder && access(path, R_OK) != 0))
        return NULL;
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *const why = library ? NULL : dlerror();
    if (*folder && why)
        snprintf(p->trouble, sizeof p->trouble, "; %s", why);
    return library;
}

/* The path that was taken; the name where the system does not tell. */
static void path_of(void *library, const char *name, char path[LEAT_GPU_LIBS_PATH])
{
    struct link_map *map = NULL;
    const bool known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && *map->l_name;
    snprintf(path, LEAT_GPU_LIBS_PATH, "%s", known ? map->l_name : name);
}

static void *open_library(places *p, const char *name, char path[LEAT_GPU_LIBS_PATH])
{
    void *library = NULL;
    int i = 0;
    p->trouble[0] = 0;
    do {
        if (i == p->n && !p->asked_python && !p->only_named)
            add_python_folders(p);
        if (i < p->n)
            library = open_in(p, p->folders[i++], name);
    } while (!library && (i < p->n || (!p->asked_python && !p->only_named)));
    path[0] = 0;
    if (library)
        path_of(library, name, path);
    return library;
}

void *leat_gpu_libs_find(const char *name, bool in_packages, char path[LEAT_GPU_LIBS_PATH])
{
    const char *const named = getenv("LEAT_CUDA_LIBS");
    places *const p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    add_list(p, named ? named : "");
    add_usual_folders(p);
    p->asked_python = !in_packages;
    void *const library = open_library(p, name, path);
    free(p);
    return library;
}

static int missing(const places *p, const char *name, const char *package, leat_error *err)
{
    if (p->only_named)
        return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                             "training on the GPU needs %s, and no folder of LEAT_CUDA_LIBS=%.300s "
                             "has one that opens%s",
                             name, getenv("LEAT_CUDA_LIBS"), p->trouble);
    return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                         "training on the GPU needs %s, which is not beside the plugin, on the "
                         "library path, in /usr/local/cuda/lib64 or in python3's packages%s: "
                         "install it (pip install %s), or name its folder in LEAT_CUDA_LIBS",
                         name, p->trouble, package);
}

/* --- the libraries ----------------------------------------------------------------------------- */

/* NVRTC looks for its built-in headers by name alone, in no folder of its own. */
static void open_nvrtc(places *p, leat_gpu_libs *libs)
{
    char name[64], builtins[LEAT_GPU_LIBS_PATH + 64];
    int major = 0, minor = 0;
    int (*version)(int *, int *);
    snprintf(name, sizeof name, "libnvrtc.so.%d", CUDA_MAJOR);
    void *const library = open_library(p, name, libs->nvrtc_path);
    if (!library)
        return;
    *(void **)&version = dlsym(library, "nvrtcVersion");
    if (!version || version(&major, &minor) != 0)
        return;
    const char *const slash = strrchr(libs->nvrtc_path, '/');
    const int folder = slash ? (int)(slash - libs->nvrtc_path) + 1 : 0;
    snprintf(builtins, sizeof builtins, "%.*slibnvrtc-builtins.so.%d.%d", folder, libs->nvrtc_path,
             major, minor);
    dlopen(builtins, RTLD_NOW | RTLD_LOCAL); /* without it cuDNN itself reports what fails */
}

static int open_cublaslt(places *p, leat_gpu_libs *libs, leat_error *err)
{
    char name[64], package[64];
    snprintf(name, sizeof name, "libcublasLt.so.%d", CUDA_MAJOR);
    snprintf(package, sizeof package, "nvidia-cublas%s", CUDA_MAJOR < 13 ? "-cu12" : "");
    void *const library = open_library(p, name, libs->cublaslt_path);
    if (!library)
        return missing(p, name, package, err);
#define LOAD(function, result, parameters)                                                         \
    *(void **)&libs->cublaslt.function = dlsym(library, #function);                                \
    if (!libs->cublaslt.function)                                                                  \
        return leat_gpu_fail(err, LEAT_E_UNSUPPORTED, "%.300s has no function %s",                 \
                             libs->cublaslt_path, #function);
    CUBLASLT_CALLS(LOAD)
#undef LOAD
    libs->cublaslt_version = libs->cublaslt.cublasLtGetVersion();
    return LEAT_OK;
}

static int open_cudnn(places *p, leat_gpu_libs *libs, leat_error *err)
{
    char package[64];
    snprintf(package, sizeof package, "nvidia-cudnn-cu%d", CUDA_MAJOR);
    void *const library = open_library(p, "libcudnn_graph.so.9", libs->cudnn_path);
    if (!library)
        return missing(p, "libcudnn_graph.so.9", package, err);
#define LOAD(function, result, parameters)                                                         \
    *(void **)&libs->cudnn.function = dlsym(library, #function);                                   \
    if (!libs->cudnn.function)                                                                     \
        return leat_gpu_fail(err, LEAT_E_UNSUPPORTED, "%.300s has no function %s",                 \
                             libs->cudnn_path, #function);
    CUDNN_CALLS(LOAD)
#undef LOAD
    const size_t v = libs->cudnn_version = libs->cudnn.cudnnGetVersion();
    const int cuda = (int)(libs->cudnn.cudnnGetCudartVersion() / 1000);
    if (v < OLDEST_CUDNN || v >= 100000)
        return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                             "%.300s is cuDNN %zu.%zu.%zu; 9.11 or a later 9.x is needed",
                             libs->cudnn_path, v / 10000, v / 100 % 100, v % 100);
    if (cuda != CUDA_MAJOR) /* it would end the process when it does not find its cuBLASLt */
        return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                             "%.300s is for CUDA %d, and this plugin is for CUDA %d: install %s, "
                             "or name its folder in LEAT_CUDA_LIBS",
                             libs->cudnn_path, cuda, CUDA_MAJOR, package);
    return LEAT_OK;
}

const leat_gpu_libs *leat_gpu_libs_open(leat_error *err)
{
    int rc = LEAT_OK;
    pthread_mutex_lock(&opened.lock);
    if (!opened.loaded) {
        places *const p = malloc(sizeof *p);
        rc = p ? LEAT_OK : leat_gpu_fail(err, LEAT_E_NOMEM, "%zu bytes for a list", sizeof *p);
        if (p) {
            find_places(p);
            open_nvrtc(p, &opened.libs);
            rc = open_cublaslt(p, &opened.libs, err);
            if (rc == LEAT_OK)
                rc = open_cudnn(p, &opened.libs, err);
        }
        free(p);
        opened.loaded = rc == LEAT_OK;
    }
    pthread_mutex_unlock(&opened.lock);
    return rc == LEAT_OK ? &opened.libs : NULL;
}

void leat_gpu_libs_describe(const leat_gpu_libs *libs, char *text, size_t size)
{
    const size_t d = libs->cudnn_version, b = libs->cublaslt_version;
    snprintf(text, size, "cuDNN %zu.%zu.%zu (%s), cuBLASLt %zu.%zu.%zu (%s), %s%s", d / 10000,
             d / 100 % 100, d % 100, libs->cudnn_path, b / 10000, b / 100 % 100, b % 100,
             libs->cublaslt_path, *libs->nvrtc_path ? "NVRTC " : "no NVRTC", libs->nvrtc_path);
}
