/* SPDX-License-Identifier: MIT
 *
 * test_api_walks.c: random walks through the public API: a random plan, one or two loaders of it on the
 * host or on a simulated device, and then any call that the headers allow: batches are taken, with and
 * without a limit of time, kept, read again, released late, out of order and from another thread, also
 * while their loader is closed; states are taken and gone on from, statistics and traces are asked for
 * meanwhile, and all is closed in every legal order. Contents, order, codes and messages are those of a
 * plain run of the same plan. A walk that hangs is named by a watchdog.
 *
 * LEAT_TEST_WALKS: how many (default 300, at most 10 s); LEAT_TEST_SEED; LEAT_TEST_FIRST: the first one's
 * number; LEAT_TEST_SAY=1 names each walk before it begins. */
#include "fixtures/random_plan.h"
#include "fixtures/walk_jobs.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/device_table.h"
#include "pipeline/read/reader.h"

#define N_DEFAULT   300
#define DEFAULT_SEC 10
#define WATCHDOG    60
#define LOADERS     2
#define HOLD        8
#define MOST        200 /* batches of a run that are looked at */
#define RECENT      64  /* batches whose info stays readable */

static uint64_t walk_seed, walk_number;

#define walk_fail(...)                                                                             \
    do {                                                                                           \
        printf("walk %llu of LEAT_TEST_SEED=%llu (LEAT_TEST_FIRST=%llu begins with it):\n",        \
               (unsigned long long)walk_number, (unsigned long long)walk_seed,                     \
               (unsigned long long)walk_number);                                                   \
        fail_msg(__VA_ARGS__);                                                                     \
    } while (0)

/* --- a plain run ---------------------------------------------------------------------------------- */

/* What a plain run gives, as far as it was asked for. */
typedef struct plain_run {
    leat_plan *plan;
    leat_loader *loader;
    int64_t n; /* known */
    uint64_t info[MOST], contents[MOST];
    int end; /* code after the last one; LEAT_OK: not there yet */
    char message[1020];
} plain_run;

/* False: the run ends before batch b. */
static bool plain_has(plain_run *plain, int64_t b)
{
    while (plain->n <= b && plain->end == LEAT_OK) {
        leat_batch *batch;
        leat_error err;
        plain->end = leat_loader_next(plain->loader, &batch, &err);
        if (plain->end < 0) {
            snprintf(plain->message, sizeof plain->message, "%s", err.message);
            break;
        }
        plain->info[plain->n] = batch_digest(batch);
        plain->contents[plain->n++] =
            walk_digest(batch, leat_plan_get_info(plain->plan)->n_tensors);
        leat_batch_release(batch);
    }
    return b < plain->n;
}

/* --- the state of a walk -------------------------------------------------------------------------- */

typedef struct holding {
    leat_batch *batch; /* NULL: this place is free */
    int64_t number;
    bool is_kept; /* until the walk ends */
} holding;

typedef struct one_loader {
    leat_loader *loader; /* NULL: closed, or not opened; batches may be held all the same */
    bool on_sim, copies; /* what is held beyond `hold` */
    int32_t hold;
    int64_t first, next; /* batches */
    int code;            /* that it ended with; LEAT_OK: goes on */
    holding held[HOLD];
    int lent;                     /* see walk_jobs.h */
    leat_batch *released[RECENT]; /* by number; NULL: its info is not to be looked at */
} one_loader;

typedef struct walk {
    leat_rng rng;
    random_plan what;
    plain_run plain;
    leat_plan *plan;
    int32_t n_tensors;
    int64_t epochs;
    bool has_policy; /* limits of bad records count from where a run began */
    leat_device *sim;
    leat_stream *stream;
    one_loader loaders[LOADERS];
    uint64_t n_taken;
} walk;

static uint32_t below(walk *w, uint32_t n)
{
    return leat_rng_below(&w->rng, n);
}

/* A copy that is under way is waited for: what is looked at is memory of the host that plays the device. */
static void look(const walk *w, leat_batch *batch, int64_t number, const char *when)
{
    while (leat_batch_get_info(batch)->sent_ns && !leat_batch_get_info(batch)->copy_end_ns)
        pause_ns(20000);
    if (walk_digest(batch, w->n_tensors) != w->plain.contents[number] ||
        batch_digest(batch) != w->plain.info[number])
        walk_fail("batch %lld is another one %s", (long long)number, when);
}

/* --- opening -------------------------------------------------------------------------------------- */

static void open_one(walk *w, one_loader *one, const leat_loader_state *state)
{
    leat_loader_options options = { .epochs = w->epochs, .state = state };
    leat_error err;
    *one = (one_loader){ .hold = 1 + (int32_t)below(w, HOLD),
                         .on_sim = w->sim && below(w, 3),
                         .copies = below(w, 2) };
    if (state)
        one->first = state->next_batch;
    else if (!w->has_policy && below(w, 3) == 0 && plain_has(&w->plain, 29))
        one->first = options.first_batch = below(w, 30);
    one->next = one->first;
    options.hold = one->hold == 1 && below(w, 2) ? 0 : one->hold;
    options.beyond_hold = one->copies;
    options.device = one->on_sim ? w->sim : NULL;
    const int rc = leat_loader_open(w->plan, &options, &one->loader, &err);
    if (rc < 0)
        walk_fail("cannot open a loader: %s", err.message);
}

static void draw_faults(walk *w)
{
    leat_reader_fault = (leat_reader_faults){
        .refuse_registration = below(w, 3) == 0,
        .short_every = below(w, 3) ? 0 : 1 + below(w, 5),
        .error_every = below(w, 3) ? 0 : 1 + below(w, 5),
    };
}

/* The same plan in some other way. */
static void open_plan(walk *w)
{
    static const int threads[] = { 0, 0, 1, 2, 3, 6 };
    const int prefetch = (int)below(w, 6) - 1;
    char engine[sizeof w->what.engine + 100];
    leat_error err;
    random_draw_engine(&w->rng, &w->what);
    snprintf(engine, sizeof engine, "{threads: %d, digest: true", threads[below(w, 6)]);
    random_put(engine, sizeof engine, "%s%s", strlen(w->what.engine) > 2 ? ", " : "",
               w->what.engine + 1);
    if (random_open_plan(&w->what, engine, prefetch, &w->plan, &err) < 0)
        walk_fail("opens, but not with engine %s, prefetch %d: %s", engine, prefetch, err.message);
    if (getenv("LEAT_TEST_SAY"))
        printf("engine %s, prefetch %d\n", engine, prefetch);
}

/* False: the plan that was drawn is refused. */
static bool begin(walk *w)
{
    static const char simple[] = "{threads: 0, reader: pread, digest: true}";
    static const int64_t epochs[] = { 1, 2, -1 };
    leat_error err;
    random_draw_plan(&w->rng, &w->what);
    leat_reader_fault = (leat_reader_faults){ 0 };
    if (random_open_plan(&w->what, simple, 0, &w->plain.plan, &err) < 0)
        return false;
    if (getenv("LEAT_TEST_SAY"))
        random_print_plan(&w->what);
    for (size_t i = 0; i < w->what.n_stages; i++)
        w->has_policy = w->has_policy || !strcmp(w->what.stages[i].name, "on_error");
    w->epochs = epochs[below(w, 3)];
    w->n_tensors = leat_plan_get_info(w->plain.plan)->n_tensors;
    w->plain.loader = open_loader(w->plain.plan, &(leat_loader_options){ .epochs = w->epochs });
    draw_faults(w);
    open_plan(w);
    if (below(w, 2))
        check(leat_device_open("sim", &w->sim, &err), &err);
    if (w->sim)
        check(w->sim->table->stream_open(w->sim, &w->stream, &err), &err);
    open_one(w, &w->loaders[0], NULL);
    return true;
}

/* --- steps ---------------------------------------------------------------------------------------- */

static int n_held(const one_loader *one)
{
    int n = 0;
    for (int i = 0; i < HOLD; i++)
        n += one->held[i].batch != NULL;
    return n;
}

static holding *draw_held(walk *w, one_loader *one)
{
    const uint32_t from = below(w, HOLD);
    for (uint32_t i = 0; i < HOLD; i++) {
        holding *const h = &one->held[(from + i) % HOLD];
        if (h->batch && !h->is_kept)
            return h;
    }
    return NULL;
}

static int call_next(walk *w, leat_loader *loader, leat_batch **out, leat_error *err)
{
    if (below(w, 3))
        return leat_loader_next(loader, out, err);
    const int64_t ns = below(w, 2) ? 0 : below(w, 2000000);
    const bool once = below(w, 4) == 0;
    int rc = leat_loader_next_within(loader, ns, out, err);
    while (rc == LEAT_E_AGAIN && !once)
        rc = leat_loader_next_within(loader, ns, out, err);
    return rc;
}

/* What came in the place of a batch is what came there in the plain run, or legal besides. */
static void check_refusal(walk *w, one_loader *one, int rc, int lent, const leat_error *err)
{
    const bool has = plain_has(&w->plain, one->next);
    const bool full = n_held(one) + lent >= one->hold && !one->copies;
    if (rc == LEAT_E_AGAIN || (rc == LEAT_E_BUSY && full))
        return;
    if (has)
        walk_fail("batch %lld: %s: %s", (long long)one->next, leat_code_name(rc), err->message);
    if (rc != w->plain.end || strcmp(err->message, w->plain.message) != 0)
        walk_fail("batch %lld: %s (%s), and plainly %s (%s)", (long long)one->next,
                  leat_code_name(rc), err->message, leat_code_name(w->plain.end), w->plain.message);
    one->code = rc;
}

static void hold(walk *w, one_loader *one, leat_batch *batch)
{
    int i = 0;
    while (one->held[i].batch)
        i++;
    one->held[i] = (holding){ batch, one->next, below(w, 12) == 0 && n_held(one) + 1 < one->hold };
    one->released[one->next % RECENT] = NULL;
    one->next++;
    w->n_taken++;
}

static void take(walk *w, one_loader *one)
{
    leat_batch *batch;
    leat_error err;
    if (!one->loader || one->next >= MOST || n_held(one) == HOLD)
        return;
    const int lent = walk_jobs_lent(&one->lent); /* may be fewer by now: no more are there */
    const bool full = n_held(one) >= one->hold && !one->copies;
    const int rc = call_next(w, one->loader, &batch, &err);
    if (rc < 0) {
        if (batch)
            walk_fail("a batch, and %s", leat_code_name(rc));
        check_refusal(w, one, rc, lent, &err);
        return;
    }
    if (full || one->code < 0 || !plain_has(&w->plain, one->next))
        walk_fail("batch %lld is one too many", (long long)one->next);
    const int64_t number = one->next;
    hold(w, one, batch);
    if (below(w, 3)) /* on a device it may stay unknown for now */
        look(w, batch, number, "when it was taken");
}

/* The memory is the consumer's until the release: whatever it writes changes no other batch. */
static void scribble(const walk *w, leat_batch *batch)
{
    while (leat_batch_get_info(batch)->sent_ns && !leat_batch_get_info(batch)->copy_end_ns)
        pause_ns(20000);
    for (int32_t i = 0; i < w->n_tensors; i++) {
        const leat_view view = leat_batch_tensor(batch, i);
        memset(view.data, 0xa5, (size_t)leat_shape_bytes(&view.shape));
    }
    const uint8_t *const valid = leat_batch_valid(batch);
    if (valid)
        memset((uint8_t *)(uintptr_t)valid, 0xa5, (size_t)leat_batch_get_info(batch)->rows);
}

/* In this thread, by a stream, or in the other thread. */
static void release(walk *w, one_loader *one, holding *h)
{
    leat_batch *const batch = h->batch;
    const uint32_t way = below(w, 6);
    const bool is_copy = leat_batch_get_info(batch)->is_copy;
    h->batch = NULL;
    if (below(w, 2))
        look(w, batch, h->number, "when it was released");
    if (way == 0) {
        look(w, batch, h->number, "when it was given to another thread");
        walk_jobs_give(&(walk_job){ .kind = WALK_JOB_RELEASE,
                                    .lent = &one->lent,
                                    .batch = batch,
                                    .n_tensors = w->n_tensors,
                                    .contents = w->plain.contents[h->number],
                                    .wait_ns = below(w, 2) ? (long)below(w, 300000) : 0 });
        return;
    }
    if (below(w, 2))
        scribble(w, batch);
    if (way < 3 && one->on_sim && w->stream) {
        const int waited = leat_batch_wait_on(batch, w->stream);
        const int rc = leat_batch_release_on(batch, w->stream);
        if (waited < 0 || rc < 0)
            walk_fail("by a stream: %s, %s", leat_code_name(waited), leat_code_name(rc));
    } else {
        leat_batch_release(batch);
    }
    if (one->next - h->number <= RECENT && !is_copy)
        one->released[h->number % RECENT] = batch;
}

static void read_again(walk *w, one_loader *one)
{
    for (int i = 0; i < HOLD; i++)
        if (one->held[i].batch && below(w, 2))
            look(w, one->held[i].batch, one->held[i].number, "when it was read again");
    for (int64_t b = one->next > RECENT ? one->next - RECENT : 0; one->loader && b < one->next; b++)
        if (one->released[b % RECENT] &&
            leat_batch_get_info(one->released[b % RECENT])->number != b)
            walk_fail("the info of batch %lld is another one's after its release", (long long)b);
}

static void ask(walk *w, one_loader *one)
{
    static leat_loader_stats_info stats;
    static leat_decision decisions[8];
    leat_error err;
    if (!one->loader)
        return;
    leat_loader_stats(one->loader, &stats);
    if (stats.batches != (uint64_t)(one->next - one->first))
        walk_fail("%llu batches were handed out, it says; there were %lld",
                  (unsigned long long)stats.batches, (long long)(one->next - one->first));
    leat_loader_decisions(one->loader, decisions, 8);
    leat_loader_trace_step(one->loader, one->next - (int64_t)below(w, 3), stats.wall_ns,
                           stats.wall_ns + below(w, 100000));
    if (leat_loader_budget(one->loader)->total_bytes <= 0)
        walk_fail("a loader without memory");
    if (below(w, 8) == 0) {
        char path[300];
        snprintf(path, sizeof path, "%s/walk.json", test_folder);
        if (leat_loader_trace_write(one->loader, path, &err) < 0)
            walk_fail("trace: %s", err.message);
    }
    if (below(w, 2))
        walk_jobs_give(
            &(walk_job){ .kind = WALK_JOB_LOOK, .lent = &one->lent, .loader = one->loader });
}

/* A state says where a run stands; the other loader, if it is closed and empty, goes on from there. */
static void go_on_from_state(walk *w, one_loader *one, one_loader *other)
{
    leat_loader_state state;
    if (!one->loader)
        return;
    leat_loader_get_state(one->loader, &state);
    if (state.next_batch != one->next)
        walk_fail("the state says %lld, not %lld", (long long)state.next_batch,
                  (long long)one->next);
    if (other->loader || n_held(other) || walk_jobs_lent(&other->lent))
        return;
    const bool anew = w->has_policy || one->next >= MOST || below(w, 4) == 0;
    open_one(w, other, anew ? NULL : &state);
}

static void close_one(one_loader *one)
{
    walk_jobs_wait_for_looks(one->loader);
    leat_loader_close(&one->loader);
}

static void step(walk *w)
{
    const uint32_t k = below(w, LOADERS);
    one_loader *const one = &w->loaders[k];
    holding *const h = draw_held(w, one);
    const uint32_t what = below(w, 100);
    if (what < 50)
        take(w, one);
    else if (what < 80 && h)
        release(w, one, h);
    else if (what < 88)
        read_again(w, one);
    else if (what < 95)
        ask(w, one);
    else if (what < 99)
        go_on_from_state(w, one, &w->loaders[1 - k]);
    else if (one->loader && w->loaders[1 - k].loader)
        close_one(one);
}

/* Takes to the end, or for long enough for what is kept to be in the way, if it could be. */
static void run_on(walk *w, one_loader *one)
{
    for (int n = 0; n < 3 * MOST && one->loader && one->code == LEAT_OK && one->next < MOST; n++) {
        holding *const h = draw_held(w, one);
        if (n_held(one) >= one->hold || below(w, 2))
            if (h)
                release(w, one, h);
        if (n_held(one) < one->hold)
            take(w, one);
    }
}

/* --- the end -------------------------------------------------------------------------------------- */

/* Closes one thing that may be closed now; false: there is nothing left. */
static bool close_something(walk *w)
{
    one_loader *const one = &w->loaders[below(w, LOADERS)];
    holding *const h = &one->held[below(w, HOLD)];
    const bool open = w->loaders[0].loader || w->loaders[1].loader;
    const int n = n_held(&w->loaders[0]) + n_held(&w->loaders[1]);
    if (!open && !n && !w->plan && !w->sim)
        return false;
    switch (below(w, 5)) {
    case 0:
        if (one->loader)
            close_one(one);
        break;
    case 1:
        if (!open)
            leat_plan_close(&w->plan);
        break;
    case 2:
        if (!open && w->stream)
            w->sim->table->stream_close(w->stream);
        if (!open) {
            w->stream = NULL;
            leat_device_close(&w->sim);
        }
        break;
    default:
        if (h->batch) {
            look(w, h->batch, h->number, "after something was closed");
            release(w, one, h);
        }
    }
    return true;
}

static void end(walk *w)
{
    while (close_something(w)) {
    }
    const char *const failed = walk_jobs_wait();
    if (failed)
        walk_fail("%s", failed);
    leat_loader_close(&w->plain.loader);
    leat_plan_close(&w->plain.plan);
    leat_reader_fault = (leat_reader_faults){ 0 };
}

/* False: the plan is refused. */
static bool go(uint64_t seed, uint64_t n, uint64_t *n_taken)
{
    static walk w;
    w = (walk){ .rng = leat_rng_make(seed, n, 0, 12) };
    if (!begin(&w))
        return false;
    for (uint32_t i = 10 + below(&w, 60); i > 0; i--)
        step(&w);
    if (below(&w, 4) == 0)
        run_on(&w, &w.loaders[0]);
    if (below(&w, 8) == 0)
        run_on(&w, &w.loaders[1]);
    end(&w);
    *n_taken += w.n_taken;
    return true;
}

/* --- all of them ---------------------------------------------------------------------------------- */

static void say_who_hangs(int signal)
{
    char text[120];
    const int n =
        snprintf(text, sizeof text, "walk %llu hangs: LEAT_TEST_SEED=%llu LEAT_TEST_FIRST=%llu\n",
                 (unsigned long long)walk_number, (unsigned long long)walk_seed,
                 (unsigned long long)walk_number);
    if (write(STDERR_FILENO, text, (size_t)n) < 0)
        _exit(4);
    _exit(3);
}

TEST(every_legal_walk_gives_the_plain_batches)
{
    const uint64_t n_walks = number_from("LEAT_TEST_WALKS", N_DEFAULT);
    const int64_t until =
        getenv("LEAT_TEST_WALKS") ? INT64_MAX : leat_clock_ns() + DEFAULT_SEC * 1000000000ll;
    uint64_t n_run = 0, n_taken = 0;
    walk_seed = number_from("LEAT_TEST_SEED", 1);
    walk_number = number_from("LEAT_TEST_FIRST", 0);
    const uint64_t first = walk_number;
    signal(SIGALRM, say_who_hangs);
    assert_int_equal(walk_jobs_begin(), 0);
    for (; n_run < n_walks && leat_clock_ns() < until; walk_number++) {
        alarm(WATCHDOG);
        if (getenv("LEAT_TEST_SAY"))
            fprintf(stderr, "walk %llu\n", (unsigned long long)walk_number);
        n_run += go(walk_seed, walk_number, &n_taken);
    }
    alarm(0);
    walk_jobs_end();
    printf("%llu walks, %llu batches; %llu plans were refused\n", (unsigned long long)n_run,
           (unsigned long long)n_taken, (unsigned long long)(walk_number - first - n_run));
    assert_true(n_taken > n_run || n_run < 30);
}

SUITE_FIXTURE(random_plan_setup, random_plan_teardown)
