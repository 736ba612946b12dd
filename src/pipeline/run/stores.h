/* SPDX-License-Identifier: MIT
 *
 * stores.h: whether workers write rows through the CPU's caches or around them (engine.stores). */
#ifndef LEAT_STORES_H
#define LEAT_STORES_H

#include "engine.h"

/* Sets `streams` of all workers, and says why among the budget's decisions if a kernel can write around the caches.
 * After leat_slot_open_all(), before there are workers. */
void leat_stores_choose(leat_loader *loader);

#endif
