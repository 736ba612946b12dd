/* SPDX-License-Identifier: MIT */
#include "page_kinds.h"

#include <string.h>

#include "fields.h"

static const leat_page_kind kinds[] = {
#define LEAT_PAGE_KIND_ROW(name, needs)                                                            \
    { #name, needs, leat_page_##name##_answer, leat_page_##name##_section },
    LEAT_PAGE_KIND_LIST(LEAT_PAGE_KIND_ROW)
#undef LEAT_PAGE_KIND_ROW
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

const leat_page_kind *leat_page_kind_of(const json_t *json)
{
    const char *const command = leat_fields_text_or(json, "command", "");
    for (int i = 0; i < N_KINDS; i++)
        if (!strcmp(kinds[i].command, command))
            return &kinds[i];
    return NULL;
}

const char *leat_page_kind_list(char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < N_KINDS && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", kinds[i].command);
    return text;
}
