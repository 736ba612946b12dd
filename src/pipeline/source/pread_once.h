/* SPDX-License-Identifier: MIT
 *
 * pread_once.h: reads a small record with one call. It is for code that reads record after record, where the time of
 * each call counts. Inline: after a system call, each return to a caller is predicted wrongly. */
#ifndef LEAT_PREAD_ONCE_H
#define LEAT_PREAD_ONCE_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* Reads exactly size bytes at an offset. false: a signal came, the read was short or failed; leat_source_pread() then
 * reads again or says why. */
static inline bool leat_pread_once(int fd, void *to, size_t size, uint64_t offset)
{
    return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

#endif
