/* SPDX-License-Identifier: MIT
 *
 * watch.c: leat_watch(): runs a program with leat's plugin in its environment, and reads what the plugin says in each of its
 * processes (watch_wire.h). */
#include "leat/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "device_busy.h"
#include "device_plugin.h"
#include "leat/error.h"
#include "watch_wire.h"

/* --- from records to figures ------------------------------------------------------------------ */

/* Sums up the records of a watched process. Records come in any order, but none later than
 * LATE_NS after its end; what is older is summed up and forgotten, so that a run may last for days. */

typedef struct watch_account watch_account;

#define KEPT_CALL_NS 5000000000 /* work may start so long after the call that enqueued it */
enum { NAMES = 4097, BUCKETS = 512, PER_OCTAVE = 8, LEAST_KERNELS = 10 };

/* Lengths of time, 8 classes per octave: their median is right within 9 %. */
typedef struct histogram {
    int64_t n[BUCKETS];
    int64_t all;
} histogram;

typedef struct kernel {
    char *name;
    int64_t n, ns;
} kernel;

struct watch_account {
    leat_watch_hello hello;
    leat_device_record pending;
    size_t room;
    kernel kernels[NAMES]; /* 0: those without a name */
    histogram lengths, between;
    int64_t from_ns, reached_ns; /* 0: no work yet. Summed up until reached_ns */
    int64_t last_call_ns;        /* start of the newest call */
    leat_device_shares shares;
    int64_t n_kernels, n_copies, n_calls;
    double copied_bytes;
    int64_t lost;
};

static watch_account *watch_account_open(const leat_watch_hello *hello)
{
    watch_account *const a = calloc(1, sizeof *a);
    if (a)
        a->hello = *hello;
    return a;
}

/* NULL: no memory */
static void watch_account_close(watch_account **account)
{
    watch_account *const a = *account;
    *account = NULL;
    if (!a)
        return;
    for (int i = 0; i < NAMES; i++)
        free(a->kernels[i].name);
    leat_device_record_fini(&a->pending);
    free(a);
}

/* --- taking records ---------------------------------------------------------------------------- */

static void count(histogram *h, int64_t ns)
{
    const int k = ns < 1 ? 0 : (int)(log2((double)ns) * PER_OCTAVE) + 1;
    h->n[k < BUCKETS ? k : BUCKETS - 1]++;
    h->all++;
}

/* Microseconds; 0: nothing was counted. */
static double median(const histogram *h)
{
    int64_t seen = 0;
    for (int k = 0; k < BUCKETS; k++) {
        seen += h->n[k];
        if (h->all && 2 * seen >= h->all)
            return k ? exp2((k - 0.5) / PER_OCTAVE) / 1e3 : 0;
    }
    return 0;
}

static int name_kernel(watch_account *a, const leat_watch_message *m, const char *text)
{
    if (m->name == 0 || m->name >= NAMES || a->kernels[m->name].name)
        return LEAT_OK;
    char *const name = malloc((size_t)m->bytes + 1);
    if (!name)
        return LEAT_E_NOMEM;
    memcpy(name, text, (size_t)m->bytes);
    name[m->bytes] = 0;
    a->kernels[m->name].name = name;
    return LEAT_OK;
}

static void count_span(watch_account *a, const leat_watch_message *m)
{
    if (m->kind == LEAT_SPAN_KERNEL) {
        kernel *const k = &a->kernels[m->name < NAMES ? m->name : 0];
        k->n++;
        k->ns += m->end_ns - m->start_ns;
        a->n_kernels++;
        count(&a->lengths, m->end_ns - m->start_ns);
    } else if (m->kind == LEAT_SPAN_COPY) {
        a->n_copies++;
        a->copied_bytes += (double)m->bytes;
    } else if (m->kind == LEAT_SPAN_CALL) {
        if (a->n_calls++ && m->start_ns > a->last_call_ns)
            count(&a->between, m->start_ns - a->last_call_ns);
        a->last_call_ns = m->start_ns > a->last_call_ns ? m->start_ns : a->last_call_ns;
    }
}

/* text: what follows a LEAT_WATCH_NAME. Returns LEAT_OK or LEAT_E_NOMEM. */
static int watch_account_add(watch_account *a, const leat_watch_message *m, const char *text)
{
    leat_device_record *const r = &a->pending;
    if (m->kind == LEAT_WATCH_NAME)
        return name_kernel(a, m, text);
    if (m->kind == LEAT_WATCH_LOST) {
        a->lost += (int64_t)m->bytes;
        return LEAT_OK;
    }
    if (r->n == a->room) {
        const size_t room = a->room ? 2 * a->room : 4096;
        leat_device_span *const more = realloc(r->spans, room * sizeof *more);
        if (!more)
            return LEAT_E_NOMEM;
        r->spans = more;
        a->room = room;
    }
    r->spans[r->n++] = (leat_device_span){ .start_ns = m->start_ns,
                                           .end_ns = m->end_ns,
                                           .bytes = m->bytes,
                                           .kind = m->kind,
                                           .call = m->call };
    count_span(a, m);
    return LEAT_OK;
}

/* --- summing up -------------------------------------------------------------------------------- */

static bool is_work(const leat_device_span *span)
{
    return (span->kind & (LEAT_SPAN_BUSY | LEAT_SPAN_COPY)) != 0;
}

static void add_shares(leat_device_shares *to, const leat_device_shares *more)
{
    to->busy_ns += more->busy_ns;
    to->exposed_copy_ns += more->exposed_copy_ns;
    to->host_ns += more->host_ns;
    to->launch_ns += more->launch_ns;
    to->unknown_ns += more->unknown_ns;
    to->wait_ns += more->wait_ns;
    to->short_ns += more->short_ns;
}

/* The newest end of work that is not later; 0: none. Sums end there, so that no gap is cut in two. */
static int64_t last_end(const leat_device_record *r, int64_t latest_ns)
{
    int64_t end = 0;
    for (size_t i = 0; i < r->n; i++)
        if (is_work(&r->spans[i]) && r->spans[i].end_ns <= latest_ns && r->spans[i].end_ns > end)
            end = r->spans[i].end_ns;
    return end;
}

static void forget(leat_device_record *r, int64_t until_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const leat_device_span *const s = &r->spans[i];
        if (s->end_ns > (is_work(s) ? until_ns : until_ns - KEPT_CALL_NS))
            r->spans[n++] = *s;
    }
    r->n = n;
}

/* Sums up what is older than the newest record by so much; 0: all. Then the figures are those until there. */
static void watch_account_sum(watch_account *a, int64_t late_ns)
{
    leat_device_record *const r = &a->pending;
    int64_t newest = 0;
    for (size_t i = 0; i < r->n; i++)
        newest = r->spans[i].end_ns > newest ? r->spans[i].end_ns : newest;
    const int64_t to = last_end(r, newest - late_ns);
    if (to <= a->reached_ns)
        return;
    qsort(r->spans, r->n, sizeof *r->spans, leat_device_span_order);
    for (size_t i = 0; i < r->n && a->from_ns == 0; i++)
        if (is_work(&r->spans[i]))
            a->from_ns = a->reached_ns = r->spans[i].start_ns;
    const leat_device_shares more = leat_device_shares_of(r, a->reached_ns, to);
    add_shares(&a->shares, &more);
    a->reached_ns = to;
    forget(r, to);
}

/* --- reading ----------------------------------------------------------------------------------- */

/* The largest share of idle time decides. If records are lost, idle time is too long, and which share has it is not known. */
static void judge(leat_watch_process *p)
{
    static const struct {
        leat_share share;
        leat_verdict_kind verdict;
    } rows[] = { { LEAT_SHARE_EXPOSED_COPY, LEAT_VERDICT_TRANSFER_BOUND },
                 { LEAT_SHARE_LAUNCH, LEAT_VERDICT_LAUNCH_BOUND },
                 { LEAT_SHARE_SYNC, LEAT_VERDICT_SYNC_BOUND },
                 { LEAT_SHARE_UNKNOWN, LEAT_VERDICT_INCONCLUSIVE },
                 { LEAT_SHARE_OTHER_HOST, LEAT_VERDICT_NONE } };
    size_t most = 0;
    if (!p->kernels && !p->copies)
        return;
    for (size_t i = 1; i < sizeof rows / sizeof *rows; i++)
        most = p->shares[rows[i].share] > p->shares[rows[most].share] ? i : most;
    p->verdict = p->kernels < LEAST_KERNELS || p->lost            ? LEAT_VERDICT_INCONCLUSIVE
                 : p->shares[LEAT_SHARE_BUSY] >= LEAT_BUSY_ENOUGH ? LEAT_VERDICT_COMPUTE_BOUND
                                                                  : rows[most].verdict;
    p->host_is_late = p->verdict == LEAT_VERDICT_NONE;
}

static int by_time(const void *a, const void *b)
{
    const kernel *const x = *(const kernel *const *)a, *const y = *(const kernel *const *)b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

static void read_kernels(const watch_account *a, leat_watch_process *out)
{
    const kernel *list[NAMES];
    size_t n = 0;
    for (int i = 0; i < NAMES; i++)
        if (a->kernels[i].n)
            list[n++] = &a->kernels[i];
    qsort(list, n, sizeof *list, by_time);
    for (size_t i = 0; i < n && i < LEAT_KERNEL_TIMES; i++) {
        leat_kernel_time *const to = &out->largest[out->n_largest++];
        snprintf(to->name, sizeof to->name, "%s", list[i]->name ? list[i]->name : "(no name)");
        to->n = list[i]->n;
        to->seconds = (double)list[i]->ns / 1e9;
    }
}

static void watch_account_read(const watch_account *a, leat_watch_process *out)
{
    const leat_device_shares *const s = &a->shares;
    const double all = (double)(a->reached_ns - a->from_ns);
    *out = (leat_watch_process){ .pid = a->hello.pid,
                                 .cupti = (int32_t)a->hello.cupti,
                                 .seconds = all / 1e9,
                                 .kernels = a->n_kernels,
                                 .copies = a->n_copies,
                                 .launches = a->n_calls,
                                 .copied_bytes = a->copied_bytes,
                                 .kernel_us = median(&a->lengths),
                                 .launch_us = median(&a->between),
                                 .lost = a->lost };
    snprintf(out->program, sizeof out->program, "%.63s", a->hello.program);
    snprintf(out->trouble, sizeof out->trouble, "%.255s", a->hello.trouble);
    if (all > 0) {
        out->shares[LEAT_SHARE_BUSY] = (double)s->busy_ns / all;
        out->shares[LEAT_SHARE_EXPOSED_COPY] = (double)s->exposed_copy_ns / all;
        out->shares[LEAT_SHARE_LAUNCH] = (double)(s->launch_ns + s->short_ns) / all;
        out->shares[LEAT_SHARE_SYNC] = (double)s->wait_ns / all;
        out->shares[LEAT_SHARE_OTHER_HOST] = (double)(s->host_ns - s->wait_ns - s->short_ns) / all;
        out->shares[LEAT_SHARE_UNKNOWN] = (double)s->unknown_ns / all;
    }
    judge(out);
    read_kernels(a, out);
}

#define LATE_NS 3000000000 /* records come at most so long after the newest */
#define SUM_NS  2000000000
#define LAST_NS 1000000000 /* after the program's end, for what its processes still say */
enum { POLL_MS = 20, CONNECTIONS = 64, ROOM = 1 << 16 };

/* A process that has called. */
typedef struct caller {
    int fd;                 /* -1: it has ended */
    watch_account *account; /* NULL: its hello is not complete */
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
    bool has_ended, is_lost; /* lost: somebody else has its status */
    struct rusage usage;
    struct sigaction child; /* of SIGCHLD, as the caller has it */
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
        watch_account_close(&w->callers[i]->account);
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
        c->account = watch_account_open(&hello);
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
    return watch_account_add(c->account, &m, at + sizeof m) < 0 ? -1 : (int64_t)(sizeof m + text);
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
    if (w->child.sa_handler == SIG_IGN)
        sigaction(SIGCHLD, &w->child, NULL);
    if (!w->options->unwatched &&
        (setenv(LEAT_WATCH_LIBRARY, plugin, 1) || setenv(LEAT_WATCH_SOCKET, w->socket, 1)))
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
    w->is_lost = ended < 0;
    w->end_ns = leat_clock_ns();
}

/* --- figures ----------------------------------------------------------------------------------- */

static void sum(watch *w, int64_t late_ns)
{
    for (int i = 0; i < w->n_callers; i++)
        if (w->callers[i]->account)
            watch_account_sum(w->callers[i]->account, w->callers[i]->fd >= 0 ? late_ns : 0);
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
            watch_account_read(w->callers[i]->account, &out->processes[out->n_processes++]);
    }
    if (!w->has_ended)
        return;
    out->exit_code = WIFEXITED(w->status) ? WEXITSTATUS(w->status) : -1;
    out->signal = WIFSIGNALED(w->status) ? WTERMSIG(w->status) : 0;
    out->cpu_seconds = (double)(w->usage.ru_utime.tv_sec + w->usage.ru_stime.tv_sec) +
                       (double)(w->usage.ru_utime.tv_usec + w->usage.ru_stime.tv_usec) / 1e6;
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
            read_all(w, scratch);
            w->options->progress(w->options->user, scratch);
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
    const struct sigaction standard = { .sa_handler = SIG_DFL };
    struct sigaction interrupt, quit;
    char plugin[4096];
    watch w = { .options = options ? options : &plain, .listens = -1 };
    int rc = w.options->unwatched ? LEAT_OK : leat_device_plugin_path(plugin, sizeof plugin, err);
    if (rc == LEAT_OK)
        rc = open_socket(&w, err);
    sigaction(SIGCHLD, NULL, &w.child);
    const bool reaped = w.child.sa_handler == SIG_IGN || w.child.sa_flags & SA_NOCLDWAIT;
    if (reaped) /* the kernel would keep the program's status to itself */
        sigaction(SIGCHLD, &standard, NULL);
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
    if (reaped)
        sigaction(SIGCHLD, &w.child, NULL);
    if (rc == LEAT_OK && w.is_lost)
        rc = leat_fail(err, LEAT_E_IO,
                       "how '%.200s' ended is not known: another wait() of this process took it",
                       arguments[0]);
    close_all(&w);
    return rc;
}
