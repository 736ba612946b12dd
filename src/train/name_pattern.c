/* SPDX-License-Identifier: MIT */
#include "name_pattern.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static const char wildcards[] = "*?[";

bool leat_name_pattern_is(const char *key)
{
    return strpbrk(key, wildcards) != NULL;
}

bool leat_name_pattern_fits(const char *key, const char *name)
{
    return leat_name_pattern_is(key) ? fnmatch(key, name, 0) == 0 : !strcmp(key, name);
}

/* "layr4.*.bias" with the name "layer4.0.conv1.bias": "layer4.*.bias" */
static void correct(const char *key, const char *name, char word[LEAT_NAME_PATTERN_BYTES])
{
    const char *tail = key, *from = name;
    while (strcspn(tail, ".") < strcspn(tail, wildcards) && strchr(from, '.')) {
        tail += strcspn(tail, ".") + 1;
        from = strchr(from, '.') + 1;
    }
    snprintf(word, LEAT_NAME_PATTERN_BYTES, "%.*s%s", (int)(from - name), name, tail);
}

void leat_name_pattern_offer(leat_nearest_word *near, const char *name,
                             char best[LEAT_NAME_PATTERN_BYTES])
{
    char word[LEAT_NAME_PATTERN_BYTES];
    snprintf(word, sizeof word, "%s", name);
    if (leat_name_pattern_is(near->word)) {
        correct(near->word, name, word);
        if (fnmatch(word, name, 0))
            return;
    }
    leat_nearest_offer(near, word);
    if (near->best == word)
        near->best = strcpy(best, word);
}
