/* SPDX-License-Identifier: MIT
 *
 * again.c: `device: auto` in a loader that runs: when an epoch ends it is known what the consumer's steps
 * take (steps.h), and the ops may be better put elsewhere than was thought at open (placed_again.c).
 *
 * DESIGN. The slots of an opening have one layout, so a loader whose ops move ends its opening and begins
 * another one, at the first batch of the epoch, while the consumer is inside leat_loader_next and holds
 * nothing. What was made ahead for that epoch is made again; batches are the same. If the new opening
 * fails (there is no memory), the old one is opened again and that is the end of it; if that fails too, it
 * is the loader's error. Whoever looks at an opening from another thread (statistics, a trace) is waited
 * for before it ends, and waits until the next one is there. */
#include <stdio.h>

#include "engine.h"
#include "placed.h"

/* --- others ------------------------------------------------------------------------------------------ */

void leat_again_look(leat_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    while (loader->again.changing)
        pthread_cond_wait(&loader->looked, &loader->lock);
    loader->again.n_looking++;
    pthread_mutex_unlock(&loader->lock);
}

void leat_again_looked(leat_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->again.n_looking--;
    pthread_cond_broadcast(&loader->looked);
    pthread_mutex_unlock(&loader->lock);
}

static void begin_change(leat_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->again.changing = true;
    while (loader->again.n_looking)
        pthread_cond_wait(&loader->looked, &loader->lock);
    pthread_mutex_unlock(&loader->lock);
}

static void end_change(leat_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->again.changing = false;
    pthread_cond_broadcast(&loader->looked);
    pthread_mutex_unlock(&loader->lock);
}

/* --- whether it is time ------------------------------------------------------------------------------ */

/* The next batch is the first one of an epoch, and not of the loader. Looked at once for each. */
static bool is_border(const leat_loader *loader)
{
    const leat_again *const a = &loader->again;
    return a->now && !a->refused && loader->next != loader->began && loader->next != a->tried_at &&
           loader->next < loader->end &&
           loader->next % (int64_t)leat_plan_epoch_batches(&loader->whole->order) == 0;
}

/* Nothing is held, and nothing has gone wrong. *bytes: of buffers on the device. */
static bool is_free(leat_loader *loader, size_t *bytes)
{
    pthread_mutex_lock(&loader->lock);
    const bool is = !loader->held && loader->failure.code >= 0 && loader->lost.code >= 0;
    *bytes = (size_t)loader->n_buffers_made * loader->plan->buffer_bytes;
    pthread_mutex_unlock(&loader->lock);
    return is;
}

/* --- changing ---------------------------------------------------------------------------------------- */

/* Ops that may move and are on the device. */
static int64_t n_moved(const leat_loader *loader, const leat_placed_entry *entry)
{
    int64_t n = 0;
    for (int32_t c = 0; c < loader->whole->n_chains; c++)
        n += loader->whole->chains[c].n_host - entry->plan->chains[c].n_host;
    return n;
}

static int open_with(leat_loader *loader, const leat_placed_entry *entry, leat_error *err)
{
    loader->plan = entry->plan;
    int rc = leat_opening_size(loader, err);
    if (rc >= 0)
        rc = leat_opening_open(loader, err);
    if (rc < 0)
        leat_opening_end(loader);
    return rc;
}

/* The loader runs `to` from here on, and owns it. */
static void adopt(leat_loader *loader, leat_placed_entry *to)
{
    leat_again *const a = &loader->again;
    pthread_mutex_lock(&loader->lock);
    a->n_changed++;
    leat_tune_log_locked(loader, "placement", n_moved(loader, a->now), n_moved(loader, to), "ops",
                         "%s", to->placement.reason);
    pthread_mutex_unlock(&loader->lock);
    leat_placed_close_entry(a->own);
    a->now = a->own = to;
}

/* It could not be opened: back to what there was. */
static void go_back(leat_loader *loader, const leat_error *why)
{
    leat_again *const a = &loader->again;
    leat_error err = { .message = "" };
    char device[128] = "";
    const int64_t n = n_moved(loader, a->now);
    a->refused = true;
    const int rc = open_with(loader, a->now, &err);
    if (rc < 0 && loader->device->table->explain)
        loader->device->table->explain(loader->device, device, sizeof device);
    pthread_mutex_lock(&loader->lock);
    leat_tune_log_locked(loader, "placement", n, n, "ops",
                         "auto, chosen again, but that could not be opened: %.120s", why->message);
    if (rc < 0)
        leat_fail(&loader->failure, rc,
                  "device: auto has put ops elsewhere, and the loader could not be opened again: "
                  "%.700s%s%s",
                  err.message, device[0] ? ": " : "", device);
    pthread_mutex_unlock(&loader->lock);
}

static void change(leat_loader *loader, leat_placed_entry *to)
{
    leat_error why = { .message = "" };
    begin_change(loader);
    leat_opening_end(loader);
    if (open_with(loader, to, &why) >= 0) {
        adopt(loader, to);
    } else {
        go_back(loader, &why);
        leat_placed_close_entry(to);
    }
    end_change(loader);
}

void leat_again_at_next(leat_loader *loader)
{
    size_t returned_bytes;
    if (!is_border(loader) || !is_free(loader, &returned_bytes))
        return;
    const int64_t n = (int64_t)leat_plan_epoch_batches(&loader->whole->order);
    const leat_placed_ask ask = { .plan = loader->whole,
                                  .options = &loader->options,
                                  .now = loader->again.now,
                                  .step_ns = leat_steps_learn(loader, loader->next - n),
                                  .epoch = loader->next / n,
                                  .n_changed = loader->again.n_changed,
                                  .returned_bytes = returned_bytes };
    loader->again.tried_at = loader->next;
    leat_placed_entry *const to = ask.step_ns < 0 ? NULL : leat_placed_again(&ask);
    if (to)
        change(loader, to);
}

void leat_again_close(leat_loader *loader)
{
    leat_placed_close_entry(loader->again.own);
}

/* --- public ------------------------------------------------------------------------------------------ */

void leat_loader_placement(leat_loader *loader, leat_placement *out)
{
    leat_again_look(loader);
    if (loader->plan->entry)
        *out = loader->plan->entry->placement;
    else
        leat_placed_describe(loader->plan, loader->options.device, out);
    leat_again_looked(loader);
}
