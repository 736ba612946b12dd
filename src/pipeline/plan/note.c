/* SPDX-License-Identifier: MIT
 *
 * note.c: what a plan says about itself that is no error. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "plan_impl.h"

void leat_note_add(leat_plan *plan, const char *format, ...)
{
    char text[LEAT_NOTE_SIZE] = "";
    va_list args;
    va_start(args, format);
    leat_text_v(text, sizeof text, format, args);
    va_end(args);
    for (int32_t i = 0; i < plan->n_notes; i++)
        if (!strcmp(plan->notes[i], text))
            return;
    if (plan->n_notes < LEAT_MAX_NOTES)
        memcpy(plan->notes[plan->n_notes++], text, sizeof text);
}

const char *leat_plan_note(const leat_plan *plan, int32_t i)
{
    return plan && i >= 0 && i < plan->n_notes ? plan->notes[i] : NULL;
}
