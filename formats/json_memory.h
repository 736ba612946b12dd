/* SPDX-License-Identifier: MIT
 *
 * json_memory.h: whether jansson ran out of memory. It then loses bytes of a text that it reads, and says nothing. The command
 * watches it; a program that does not has no such answer. */
#ifndef LEAT_JSON_MEMORY_H
#define LEAT_JSON_MEMORY_H

/* Once, before the first call of jansson. For the whole process. */
void leat_json_memory_watch(void);

/* Before a call of jansson, and after it: nonzero if an allocation of this thread failed between them. */
void leat_json_memory_begin(void);
int leat_json_memory_failed(void);

#endif
