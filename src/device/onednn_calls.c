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

/* What messages say of the versions that this build can call, and the packages that have one. */
#if LEAT_ONEDNN_2 && LEAT_ONEDNN_3
#define VERSIONS "2.x or 3.x"
#define FILES    "libdnnl.so.2 or libdnnl.so.3"
#define PACKAGES "libdnnl2 (Debian 13: libdnnl3.6)"
#elif LEAT_ONEDNN_2
#define VERSIONS "2.x"
#define FILES    "libdnnl.so.2"
#define PACKAGES "libdnnl2"
#elif LEAT_ONEDNN_3
#define VERSIONS "3.x"
#define FILES    "libdnnl.so.3"
#define PACKAGES "libdnnl3 (Debian 13: libdnnl3.6)"
#else
#error "LEAT_ONEDNN_2 and LEAT_ONEDNN_3 say which versions of oneDNN the build has headers of"
#endif
#define FOLDERS_UP 8
#define MINORS     64

enum { LIBRARY_BYTES = 96 << 20 }; /* its file, 44 MB in Debian 13, and what it allocates */

leat_onednn_table leat_onednn;

static struct {
    pthread_mutex_t lock;
    void *file;    /* NULL: leat_onednn is not filled */
    char why[300]; /* of a file that is there and could not be opened; "": there was none */
    leat_error
        refused; /* the first one that was opened and is not fit; code LEAT_OK: there was none */
} library = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- whether one is fit ------------------------------------------------------------------------ */

static int fill(void *file, leat_error *err)
{
    leat_onednn_table table = { 0 };
    *(void **)&table.version = dlsym(file, "dnnl_version");
    *(void **)&table.sgemm = dlsym(file, "dnnl_sgemm");
    *(void **)&table.omp_get_max_threads = dlsym(file, "omp_get_max_threads");
    *(void **)&table.omp_set_num_threads = dlsym(file, "omp_set_num_threads");
    const int major = table.version ? table.version()->major : 0;
    const bool is_built = (major == 2 && LEAT_ONEDNN_2) || (major == 3 && LEAT_ONEDNN_3);
    if (!is_built || !table.sgemm)
        return leat_fail(err, LEAT_E_UNSUPPORTED,
                         "the oneDNN that was found is %d.x%s: this build of leat needs " VERSIONS
                         " (name another one in the environment variable LEAT_ONEDNN)",
                         major,
                         !table.version ? " without dnnl_version"
                         : !table.sgemm ? " without dnnl_sgemm"
                                        : "");
    if (!table.omp_get_max_threads || !table.omp_set_num_threads) {
        table.omp_get_max_threads = NULL;
        table.omp_set_num_threads = NULL;
    }
    leat_onednn = table;
    return LEAT_OK;
}

/* --- finding it ------------------------------------------------------------------------------- */

/* Of a name without a folder the loader's message begins with it if no such file was found, and else with a path, or with
 * another library that it needs. */
static void keep_why_locked(const char *path, bool says_why, const char *why)
{
    const size_t n = strlen(path);
    if (!library.why[0] && (says_why || strncmp(why, path, n) || why[n] != ':'))
        snprintf(library.why, sizeof library.why, " (%s)", why);
}

/* True: it is opened, and fit. */
static bool open_locked(const char *path, bool says_why)
{
    void *const file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!file) {
        keep_why_locked(path, says_why, dlerror());
        return false;
    }
    if (fill(file, library.refused.code ? NULL : &library.refused) == LEAT_OK) {
        library.file = file;
        return true;
    }
    dlclose(file);
    return false;
}

/* n 0: where the system looks. Most have libdnnl.so.3; Debian 13 has only libdnnl.so.3.6, so minor versions are tried, too,
 * the newest first. */
static bool open_major(const char *folder, int n, int major)
{
    char path[4096], minor[16] = "";
    struct stat status;
    bool found = false;
    for (int i = MINORS; i >= 0 && !found; i--) {
        const int length = snprintf(path, sizeof path, "%.*s%slibdnnl.so.%d%s", n, folder,
                                    n ? "/" : "", major, minor);
        if (length > 0 && (size_t)length < sizeof path && (n == 0 || stat(path, &status) == 0))
            found = open_locked(path, n > 0);
        snprintf(minor, sizeof minor, ".%d", i - 1);
    }
    return found;
}

static bool open_in(const char *folder, int n)
{
    return (LEAT_ONEDNN_3 && open_major(folder, n, 3)) ||
           (LEAT_ONEDNN_2 && open_major(folder, n, 2));
}

/* PREFIX/lib/libdnnl.so.3, when this library is PREFIX/lib/python3.11/site-packages/…/libleat.so. */
static bool open_above(void)
{
    Dl_info info;
    if (!dladdr(&leat_onednn, &info) || !info.dli_fname)
        return false;
    char *const own = realpath(info.dli_fname, NULL);
    bool found = false;
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

static bool find(const char *named)
{
    struct stat status;
    if (named && *named)
        return stat(named, &status) == 0 && S_ISDIR(status.st_mode)
                   ? open_in(named, (int)strlen(named))
                   : open_locked(named, true);
    return open_in("", 0) || open_above();
}

/* --- opening it ------------------------------------------------------------------------------- */

static int fail_missing(const char *named, leat_error *err)
{
    const bool has_name = named && *named;
    return leat_fail(
        err, LEAT_E_UNSUPPORTED,
        "training on the CPU needs oneDNN " VERSIONS " (" FILES "), which %s%s%s: install " PACKAGES
        " or your system's package of it%s, or name its file "
        "or folder in the environment variable LEAT_ONEDNN",
        has_name ? "is not in LEAT_ONEDNN=" : "was not found", has_name ? named : "", library.why,
        LEAT_ONEDNN_3 ? " (for Python: pip install onednn-cpu-gomp)" : "");
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
    if (!library.file && (rc = check_room(err)) == LEAT_OK) {
        const char *const named = getenv("LEAT_ONEDNN");
        library.why[0] = 0;
        library.refused.code = LEAT_OK;
        if (!find(named))
            rc = library.refused.code ? leat_fail_as(err, &library.refused)
                                      : fail_missing(named, err);
    }
    pthread_mutex_unlock(&library.lock);
    return rc;
}

void *leat_onednn_calls_find(const char *name)
{
    return dlsym(library.file, name);
}
