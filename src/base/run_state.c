/* SPDX-License-Identifier: MIT */
#include "run_state.h"

#include <stddef.h>
#include <string.h>

#include "digest.h"

enum { VERSION = 1 };

static const char magic[] = "leatrun";

static uint64_t checksum(const leat_loader_state *state)
{
    return leat_digest_row(state, offsetof(leat_loader_state, checksum), 0);
}

void leat_run_state_seal(leat_loader_state *state)
{
    memcpy(state->magic, magic, sizeof state->magic);
    state->version = VERSION;
    state->size = sizeof *state;
    state->checksum = checksum(state);
}

int leat_run_state_check(const leat_loader_state *state, leat_error *err)
{
    if (memcmp(state->magic, magic, sizeof state->magic))
        return leat_fail(err, LEAT_E_ARGUMENT, "state: this is not the state of a loader");
    if (state->version != VERSION)
        return leat_fail(err, LEAT_E_ARGUMENT, "state: version %u, this library reads version %d",
                         state->version, VERSION);
    if (state->size != sizeof *state)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "state: damaged (it says that it has %u bytes, a state of version %d has "
                         "%zu)",
                         state->size, VERSION, sizeof *state);
    if (state->checksum != checksum(state))
        return leat_fail(err, LEAT_E_ARGUMENT, "state: damaged (its checksum does not match)");
    if (state->next_batch < 0 || state->next_batch > LEAT_RUN_STATE_MOST)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "state: its next batch is 0 to 4611686018427387904; got %lld",
                         (long long)state->next_batch);
    return LEAT_OK;
}
