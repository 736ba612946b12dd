/* SPDX-License-Identifier: MIT
 *
 * small_disk.h: a true file system of a few pages, for tests of what happens when it is full. In a child
 * process only: it gets mounts of its own, as root or as whoever the user is. */
#ifndef SMALL_DISK_H
#define SMALL_DISK_H

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

enum { SMALL_DISK_REFUSED = 77 }; /* what such a child returns when it may not mount */

static inline bool small_disk_tell(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool told = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return told;
}

/* Becomes root of a world of its own that has only this user. */
static inline bool small_disk_become_root(void)
{
    char users[60], groups[60];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
           small_disk_tell("/proc/self/setgroups", "deny") &&
           small_disk_tell("/proc/self/uid_map", users) &&
           small_disk_tell("/proc/self/gid_map", groups);
}

/* options: "size=64k". False: this user may not. */
static inline bool small_disk_mount(const char *where, const char *options)
{
    return (unshare(CLONE_NEWNS) == 0 || small_disk_become_root()) &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", where, "tmpfs", 0, options) == 0;
}

#endif
