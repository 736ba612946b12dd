/* SPDX-License-Identifier: MIT
 *
 * watch.c: leat_watch(): runs a program with leat's plugin in its environment, and reads what the plugin says in each of its
 * processes (watch_wire.h). */
#include "leat/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "device_plugin.h"
#include "watch_account.h"

#define LATE_NS 3000000000 /* records come at most so long after the newest */
#define SUM_NS  2000000000
#define LAST_NS 1000000000 /* after the program's end, for what its processes still say */
enum { POLL_MS = 20, CONNECTIONS = 64, ROOM = 1 << 16 };

/* A process that has called. */
typedef struct caller {
    int fd;                      /* -1: it has ended */
    leat_watch_account *account; /* NULL: its hello is not complete */
    char buffer[ROOM];
    size_t n;
} caller;

typedef struct watch {
    const leat_watch_options *options;
    char folder[64], socket[96];
    int listens;
    pid_t pid;
    int64_t start_ns, end_ns;
    caller *callers[CONNECTIONS];
    int n_callers, n_more;
    int status;
    bool has_ended;
    struct rusage usage;
} watch;

/* --- the socket -------------------------------------------------------------------------------- */

static int open_socket(watch *w, leat_error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(w->folder, sizeof w->folder, "/tmp/leat-watch-XXXXXX");
    if (!mkdtemp(w->folder)) {
        w->folder[0] = 0;
        return leat_fail(err, LEAT_E_IO, "watch: cannot make a folder in /tmp: %s",
                         strerror(errno));
    }
    snprintf(w->socket, sizeof w->socket, "%s/socket", w->folder);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", w->socket);
    w->listens = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (w->listens < 0 || bind(w->listens, (const struct sockaddr *)&address, sizeof address) < 0 ||
        listen(w->listens, CONNECTIONS) < 0)
        return leat_fail(err, LEAT_E_IO, "watch: no socket %s: %s", w->socket, strerror(errno));
    return LEAT_OK;
}

static void close_caller(caller *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

static void close_all(watch *w)
{
    for (int i = 0; i < w->n_callers; i++) {
        close_caller(w->callers[i]);
        leat_watch_account_close(&w->callers[i]->account);
        free(w->callers[i]);
    }
    if (w->listens >= 0)
        close(w->listens);
    if (w->socket[0])
        unlink(w->socket);
    if (w->folder[0])
        rmdir(w->folder);
}

static void accept_callers(watch *w)
{
    int fd;
    while ((fd = accept4(w->listens, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        caller *const c = w->n_callers < CONNECTIONS ? calloc(1, sizeof *c) : NULL;
        if (!c) {
            w->n_more++;
            close(fd);
            continue;
        }
        c->fd = fd;
        w->callers[w->n_callers++] = c;
    }
}

/* --- messages ---------------------------------------------------------------------------------- */

/* How many bytes of the buffer are a whole hello or message that was taken; 0: more must come; -1: nonsense, or no
 * memory. */
static int64_t take_one(caller *c, const char *at, size_t n)
{
    leat_watch_hello hello;
    leat_watch_message m;
    if (!c->account) {
        if (n < sizeof hello)
            return 0;
        memcpy(&hello, at, sizeof hello);
        if (hello.magic != LEAT_WATCH_MAGIC || hello.version != LEAT_WATCH_VERSION)
            return -1;
        hello.program[sizeof hello.program - 1] = hello.trouble[sizeof hello.trouble - 1] = 0;
        c->account = leat_watch_account_open(&hello);
        return c->account ? (int64_t)sizeof hello : -1;
    }
    if (n < sizeof m)
        return 0;
    memcpy(&m, at, sizeof m);
    const size_t text = m.kind == LEAT_WATCH_NAME ? (size_t)m.bytes : 0;
    if (text > ROOM / 2)
        return -1;
    if (n < sizeof m + text)
        return 0;
    return leat_watch_account_add(c->account, &m, at + sizeof m) < 0 ? -1
                                                                     : (int64_t)(sizeof m + text);
}

static void take_all(caller *c)
{
    size_t at = 0;
    int64_t used;
    while ((used = take_one(c, c->buffer + at, c->n - at)) > 0)
        at += (size_t)used;
    memmove(c->buffer, c->buffer + at, c->n - at);
    c->n -= at;
    if (used < 0)
        close_caller(c);
}

/* Reads what is there. */
static void hear(caller *c)
{
    for (int i = 0; i < 64 && c->fd >= 0; i++) { /* others want to be heard, too */
        const ssize_t n = recv(c->fd, c->buffer + c->n, sizeof c->buffer - c->n, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n <= 0) {
            close_caller(c);
            return;
        }
        c->n += (size_t)n;
        take_all(c);
    }
}

/* Waits a moment for something to happen. Returns whether somebody is still connected. */
static bool listen_a_moment(watch *w)
{
    struct pollfd fds[CONNECTIONS + 1] = { { .fd = w->listens, .events = POLLIN } };
    bool open = false;
    for (int i = 0; i < w->n_callers; i++) {
        fds[i + 1] = (struct pollfd){ .fd = w->callers[i]->fd, .events = POLLIN };
        open |= w->callers[i]->fd >= 0;
    }
    const int n = w->n_callers;
    if (poll(fds, (nfds_t)n + 1, POLL_MS) <= 0)
        return open;
    accept_callers(w);
    for (int i = 0; i < n; i++)
        if (fds[i + 1].revents)
            hear(w->callers[i]);
    return open;
}

/* --- the program ------------------------------------------------------------------------------- */

static void become(const watch *w, const char *const *arguments, const char *plugin, int tells)
{
    if (!w->options->unwatched &&
        (setenv(LEAT_WATCH_LIBRARY, plugin, 1) || setenv(LEAT_WATCH_SOCKET, w->socket, 1) ||
         (w->options->driver ? setenv(LEAT_WATCH_DRIVER, "1", 1) : unsetenv(LEAT_WATCH_DRIVER))))
        _exit(127);
    execvp(arguments[0], (char *const *)(uintptr_t)arguments);
    const int why = errno;
    if (write(tells, &why, sizeof why) != (ssize_t)sizeof why)
        _exit(126);
    _exit(127);
}

static int start(watch *w, const char *const *arguments, const char *plugin, leat_error *err)
{
    int told[2], why = 0;
    if (pipe2(told, O_CLOEXEC) < 0)
        return leat_fail(err, LEAT_E_IO, "watch: no pipe: %s", strerror(errno));
    w->start_ns = leat_clock_ns();
    w->pid = fork();
    if (w->pid == 0)
        become(w, arguments, plugin, told[1]);
    close(told[1]);
    if (w->pid < 0)
        why = errno;
    else if (read(told[0], &why, sizeof why) != (ssize_t)sizeof why) /* exec closed the other end */
        why = 0;
    close(told[0]);
    if (why && w->pid > 0)
        waitpid(w->pid, NULL, 0);
    return why ? leat_fail(err, LEAT_E_IO, "'%.200s' cannot be started: %s", arguments[0],
                           strerror(why))
               : LEAT_OK;
}

static void look_whether_ended(watch *w)
{
    if (w->has_ended)
        return;
    const pid_t ended = wait4(w->pid, &w->status, WNOHANG, &w->usage);
    if (ended != w->pid && !(ended < 0 && errno == ECHILD))
        return;
    w->has_ended = true;
    w->end_ns = leat_clock_ns();
}

/* --- figures ----------------------------------------------------------------------------------- */

static void sum(watch *w, int64_t late_ns)
{
    for (int i = 0; i < w->n_callers; i++)
        if (w->callers[i]->account)
            leat_watch_account_sum(w->callers[i]->account, w->callers[i]->fd >= 0 ? late_ns : 0);
}

static void read_all(const watch *w, leat_watch_result *out)
{
    const int64_t now = w->has_ended ? w->end_ns : leat_clock_ns();
    *out = (leat_watch_result){ .seconds = (double)(now - w->start_ns) / 1e9, .n_more = w->n_more };
    for (int i = 0; i < w->n_callers; i++) {
        if (!w->callers[i]->account)
            continue;
        if (out->n_processes == LEAT_WATCH_PROCESSES)
            out->n_more++;
        else
            leat_watch_account_read(w->callers[i]->account, &out->processes[out->n_processes++]);
    }
    if (!w->has_ended)
        return;
    out->exit_code = WIFEXITED(w->status) ? WEXITSTATUS(w->status) : -1;
    out->signal = WIFSIGNALED(w->status) ? WTERMSIG(w->status) : 0;
    out->cpu_seconds = (double)(w->usage.ru_utime.tv_sec + w->usage.ru_stime.tv_sec) +
                       (double)(w->usage.ru_utime.tv_usec + w->usage.ru_stime.tv_usec) / 1e6;
}

static void tell(watch *w, leat_watch_result *scratch)
{
    read_all(w, scratch);
    w->options->progress(w->options->user, scratch);
}

static void follow(watch *w, leat_watch_result *scratch)
{
    int64_t summed = leat_clock_ns(), told = summed;
    const int64_t every = (int64_t)(w->options->every_s * 1e9);
    bool open = true;
    while (!w->has_ended || (open && leat_clock_ns() < w->end_ns + LAST_NS)) {
        open = listen_a_moment(w);
        look_whether_ended(w);
        const int64_t now = leat_clock_ns();
        if (now >= summed + SUM_NS) {
            sum(w, LATE_NS);
            summed = now;
        }
        if (every > 0 && w->options->progress && now >= told + every && !w->has_ended) {
            tell(w, scratch);
            told = now;
        }
    }
    listen_a_moment(w); /* what came while the last one closed */
    sum(w, 0);
}

int leat_watch(const char *const *arguments, const leat_watch_options *options,
               leat_watch_result *out, leat_error *err)
{
    static const leat_watch_options plain;
    if (!arguments || !arguments[0] || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_watch: arguments and out must be given");
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    struct sigaction interrupt, quit;
    char plugin[4096];
    watch w = { .options = options ? options : &plain, .listens = -1 };
    int rc = w.options->unwatched ? LEAT_OK : leat_device_plugin_path(plugin, sizeof plugin, err);
    if (rc == LEAT_OK)
        rc = open_socket(&w, err);
    if (rc == LEAT_OK)
        rc = start(&w, arguments, plugin, err);
    if (rc == LEAT_OK) {
        sigaction(SIGINT, &ignore, &interrupt);
        sigaction(SIGQUIT, &ignore, &quit);
        follow(&w, out);
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGQUIT, &quit, NULL);
        read_all(&w, out);
    }
    close_all(&w);
    return rc;
}
