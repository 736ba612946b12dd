/* SPDX-License-Identifier: MIT
 *
 * experiment_again.c: runs this program again, for costs that only a new process has. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "experiment_rows.h"

extern char **environ;
enum { MAX_ARGUMENTS = 16 };

/* Reads all; what does not fit is dropped. */
static void read_all(int fd, char *out, size_t size)
{
    char rest[4096];
    size_t used = 0;
    for (;;) {
        const bool fits = out && used + 1 < size;
        const ssize_t n =
            fits ? read(fd, out + used, size - 1 - used) : read(fd, rest, sizeof rest);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += fits ? (size_t)n : 0;
    }
    if (out && size)
        out[used] = 0;
}

static int start(const char *const *arguments, int output, pid_t *child)
{
    char *argv[MAX_ARGUMENTS + 2] = { (char *)"leat" };
    posix_spawn_file_actions_t actions;
    for (int i = 0; i < MAX_ARGUMENTS && arguments[i]; i++)
        argv[i + 1] = (char *)arguments[i];
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc)
        return rc;
    if (!(rc = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)) &&
        !(rc = posix_spawn_file_actions_adddup2(&actions, output, 1)))
        rc = posix_spawn(child, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

int leat_experiment_again(const char *const *arguments, char *out, size_t size, leat_error *err)
{
    int ends[2], status = 0;
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return leat_fail(err, LEAT_E_IO, "pipe: %s", strerror(errno));
    const int rc = start(arguments, ends[1], &child);
    close(ends[1]);
    if (!rc)
        read_all(ends[0], out, size);
    close(ends[0]);
    if (rc)
        return leat_fail(err, LEAT_E_IO, "cannot start a process: %s", strerror(rc));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? LEAT_OK
               : leat_fail(err, LEAT_E_IO, "leat %s failed in a process of its own", arguments[0]);
}
