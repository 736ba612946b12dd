/* SPDX-License-Identifier: MIT
 *
 * onednn_calls.c: opens oneDNN. See onednn_calls.h. */
#include "onednn_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/machine.h"

#define TEXT_OF(x)  #x
#define VALUE_OF(x) TEXT_OF(x)
#define MAJOR       VALUE_OF(DNNL_VERSION_MAJOR)
#define FILE_NAME   "libdnnl.so." MAJOR
#define FOLDERS_UP  8
#define MINORS      64

enum { LIBRARY_BYTES = 96 << 20 }; /* its file, 44 MB in Debian 13, and what it allocates */

leat_onednn_table leat_onednn;

static struct {
    pthread_mutex_t lock;
    bool is_open; /* leat_onednn is filled */
} library = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- finding it ------------------------------------------------------------------------------- */

/* n 0: where the system looks. Most have libdnnl.so.3; Debian 13 has only libdnnl.so.3.6, so minor versions are tried, too,
 * the newest first. */
static void *open_in(const char *folder, int n)
{
    char path[4096], minor[16] = "";
    struct stat status;
    void *found = NULL;
    for (int i = MINORS; i >= 0 && !found; i--) {
        const int length =
            snprintf(path, sizeof path, "%.*s%s%s%s", n, folder, n ? "/" : "", FILE_NAME, minor);
        if (length > 0 && (size_t)length < sizeof path && (n == 0 || stat(path, &status) == 0))
            found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        snprintf(minor, sizeof minor, ".%d", i - 1);
    }
    return found;
}

/* PREFIX/lib/libdnnl.so.3, when this library is PREFIX/lib/python3.11/site-packages/…/libleat.so. */
static void *open_above(void)
{
    Dl_info info;
    if (!dladdr(&leat_onednn, &info) || !info.dli_fname)
        return NULL;
    char *const own = realpath(info.dli_fname, NULL);
    void *found = NULL;
    for (int i = 0; own && !found && i < FOLDERS_UP; i++) {
        char *const slash = strrchr(own, '/');
        if (!slash || slash == own)
            break;
        *slash = 0;
        found = open_in(own, (int)strlen(own));
    }
    free(own);
    return found;
}

static void *find(const char *named)
{
    struct stat status;
    if (named && *named)
        return stat(named, &status) == 0 && S_ISDIR(status.st_mode)
                   ? open_in(named, (int)strlen(named))
                   : dlopen(named, RTLD_NOW | RTLD_LOCAL);
    void *const found = open_in("", 0);
    return found ? found : open_above();
}

/* --- opening it ------------------------------------------------------------------------------- */

static int fail_missing(const char *named, leat_error *err)
{
    const bool has_name = named && *named;
    return leat_fail(err, LEAT_E_UNSUPPORTED,
                     "training on the CPU needs oneDNN " MAJOR ".x (" FILE_NAME
                     "), which %s%s: install libdnnl" MAJOR
                     " (Debian 13: libdnnl3.6) or your system's package of it%s, or name its file "
                     "or folder in the environment variable LEAT_ONEDNN",
                     has_name ? "is not in LEAT_ONEDNN=" : "was not found", has_name ? named : "",
                     DNNL_VERSION_MAJOR >= 3 ? " (for Python: pip install onednn-cpu-gomp)" : "");
}

static int fill(void *file, leat_error *err)
{
    leat_onednn_table table = { 0 };
    const char *missing = NULL;
#define FIND(name)                                                                                 \
    *(void **)&table.name = dlsym(file, "dnnl_" #name);                                            \
    missing = missing || table.name ? missing : "dnnl_" #name;
    LEAT_ONEDNN_LIST(FIND)
#undef FIND
    const int major = table.version ? table.version()->major : 0;
    if (missing || major != DNNL_VERSION_MAJOR)
        return leat_fail(err, LEAT_E_UNSUPPORTED,
                         "the oneDNN that was found is %d.x%s%s: this build of leat needs " MAJOR
                         ".x (name another one in the environment variable LEAT_ONEDNN)",
                         major, missing ? " without " : "", missing ? missing : "");
    *(void **)&table.omp_get_max_threads = dlsym(file, "omp_get_max_threads");
    *(void **)&table.omp_set_num_threads = dlsym(file, "omp_set_num_threads");
    if (!table.omp_get_max_threads || !table.omp_set_num_threads) {
        table.omp_get_max_threads = NULL;
        table.omp_set_num_threads = NULL;
    }
    leat_onednn = table;
    return LEAT_OK;
}

/* What it allocates while it is opened is not checked: where memory is short, it ends the process. */
static int check_room(leat_error *err)
{
    leat_machine machine;
    leat_machine_read("", &machine);
    if (machine.address_bytes >= LIBRARY_BYTES)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_NOMEM,
                     "training needs %d MB for oneDNN, but there are %lld MB (%s): raise the "
                     "memory limit of the process (ulimit -v, ulimit -d)",
                     LIBRARY_BYTES / 1000000, (long long)machine.memory_bytes / 1000000,
                     machine.memory_why);
}

int leat_onednn_calls_open(leat_error *err)
{
    int rc = LEAT_OK;
    pthread_mutex_lock(&library.lock);
    if (!library.is_open && (rc = check_room(err)) == LEAT_OK) {
        const char *const named = getenv("LEAT_ONEDNN");
        void *const file = find(named);
        rc = file ? fill(file, err) : fail_missing(named, err);
        library.is_open = rc == LEAT_OK;
        if (file && rc < 0)
            dlclose(file);
    }
    pthread_mutex_unlock(&library.lock);
    return rc;
}
