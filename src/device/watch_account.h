/* SPDX-License-Identifier: MIT
 *
 * watch_account.h: from the records of a watched process to its figures. Records come in any order, but none later than
 * WATCH_LATE_NS after its end; what is older is summed up and forgotten, so that a run may last for days. */
#ifndef LEAT_WATCH_ACCOUNT_H
#define LEAT_WATCH_ACCOUNT_H

#include "device_busy.h"
#include "leat/watch.h"
#include "watch_wire.h"

typedef struct leat_watch_account leat_watch_account;

leat_watch_account *leat_watch_account_open(const leat_watch_hello *hello); /* NULL: no memory */
void leat_watch_account_close(leat_watch_account **account);
/* text: what follows a LEAT_WATCH_NAME. Returns LEAT_OK or LEAT_E_NOMEM. */
int leat_watch_account_add(leat_watch_account *account, const leat_watch_message *message,
                           const char *text);
/* Sums up what is older than the newest record by so much; 0: all. Then the figures are those until there. */
void leat_watch_account_sum(leat_watch_account *account, int64_t late_ns);
void leat_watch_account_read(const leat_watch_account *account, leat_watch_process *out);

#endif
