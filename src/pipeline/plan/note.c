/* SPDX-License-Identifier: MIT
 *
 * note.c: notes of a plan: remarks that are not errors. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan_impl.h"

void leat_note_add(leat_plan *plan, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = leat_text_v(NULL, 0, format, args);
    va_end(args);
    char *const text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (!text)
        return;
    va_start(args, format);
    leat_text_v(text, (size_t)length + 1, format, args);
    va_end(args);
    bool is_new = plan->n_notes < LEAT_MAX_NOTES;
    for (int32_t i = 0; i < plan->n_notes && is_new; i++)
        is_new = strcmp(plan->notes[i], text) != 0;
    if (is_new)
        plan->notes[plan->n_notes++] = text;
    else
        free(text);
}

void leat_note_clear(leat_plan *plan)
{
    while (plan->n_notes)
        free(plan->notes[--plan->n_notes]);
}

const char *leat_plan_note(const leat_plan *plan, int32_t i)
{
    return plan && i >= 0 && i < plan->n_notes ? plan->notes[i] : NULL;
}
