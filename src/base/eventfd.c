/* SPDX-License-Identifier: MIT */
#include "eventfd.h"

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

void leat_eventfd_wait(int fd)
{
    uint64_t count;
    while (read(fd, &count, sizeof count) < 0 && errno == EINTR) {
    }
}

bool leat_eventfd_wait_until(int fd, int64_t until_ns)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    int64_t ns;
    while ((ns = until_ns - leat_clock_ns()) > 0) {
        const struct timespec left = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
        if (ppoll(&one, 1, &left, NULL) > 0)
            return true;
    }
    return false;
}

void leat_eventfd_signal(int fd)
{
    const uint64_t one = 1;
    while (write(fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
}
