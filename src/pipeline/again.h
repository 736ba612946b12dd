/* SPDX-License-Identifier: MIT
 *
 * again.h: `device: auto` in a loader that runs. */
#ifndef LEAT_AGAIN_H
#define LEAT_AGAIN_H

#include <stdbool.h>

#include "leat/loader.h"

/* Whether ops may be put elsewhere while the loader runs. [consumer, but for what says otherwise] */
typedef struct leat_again {
    const struct leat_placed_entry *now; /* as they are; NULL: there is nothing to choose */
    struct leat_placed_entry *own;       /* owned: the same, if it was chosen while running */
    bool refused;                        /* what was chosen could not be opened: not again */
    int64_t tried_at;                    /* batch before which it was thought over last */
    int32_t n_changed;                   /* [engine lock] */
    bool changing;                       /* between two openings [engine lock] */
    int n_looking;                       /* others, at what is of an opening [engine lock] */
} leat_again;

/* Before batch loader->next is worked for: at the border of an epoch, opens the loader anew if its ops
 * are better put elsewhere. What goes wrong is loader->failure. By the consumer. */
void leat_again_at_next(leat_loader *loader);
void leat_again_close(leat_loader *loader);
/* Between these two no opening begins or ends. Not by who holds the lock. */
void leat_again_look(leat_loader *loader);
void leat_again_looked(leat_loader *loader);

#endif
