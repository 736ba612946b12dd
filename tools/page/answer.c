/* SPDX-License-Identifier: MIT */
#include "page.h"

#include <stdlib.h>
#include <string.h>

#include "doctor/doctor_report.h"

/* Cuts at a whole character. */
static void copy(char *out, size_t size, const char *text)
{
    leat_svg_fit(text, 1e9, out, size);
}

void leat_answer_verdict(leat_answer *answer, const char *name, const char *label,
                         const char *severity)
{
    const leat_verdict_kind known = leat_verdict_find(name);
    const leat_verdict_row *const row = leat_verdict_about(known);
    const bool high = severity && leat_verdict_find_severity(severity) == LEAT_SEVERITY_HIGH;
    const char *const more = label ? label : known ? row->words : NULL;
    answer->tone = known ? row->tone : LEAT_TONE_WARN;
    if (answer->tone == LEAT_TONE_WARN && high)
        answer->tone = LEAT_TONE_BAD;
    char text[sizeof answer->verdict];
    if (label && !strncmp(label, name, strlen(name))) /* the label says it all */
        snprintf(text, sizeof text, "%s", label);
    else
        snprintf(text, sizeof text, "%.100s%s%.120s%s", name,
                 !more   ? ""
                 : label ? " ("
                         : ": ",
                 more ? more : "", label ? ")" : "");
    copy(answer->verdict, sizeof answer->verdict, text);
    if (answer->verdict[0] >= 'a' && answer->verdict[0] <= 'z')
        answer->verdict[0] = (char)(answer->verdict[0] - 'a' + 'A');
}

void leat_answer_fact(leat_answer *answer, const char *name, const char *value, const char *note)
{
    if (answer->n_facts == LEAT_ANSWER_FACTS_MOST)
        return;
    struct leat_answer_fact *const fact = &answer->facts[answer->n_facts++];
    copy(fact->name, sizeof fact->name, name);
    copy(fact->value, sizeof fact->value, value);
    copy(fact->note, sizeof fact->note, note ? note : "");
}

struct leat_answer_change *leat_answer_change(leat_answer *answer, const char *title,
                                              const char *why)
{
    if (answer->n_changes == LEAT_ANSWER_CHANGES_MOST) {
        answer->n_more++;
        return NULL;
    }
    struct leat_answer_change *const change = &answer->changes[answer->n_changes++];
    *change = (struct leat_answer_change){ .title = title, .why = why };
    return change;
}

void leat_answer_set(struct leat_answer_change *change, const char *set)
{
    if (set && change->n_sets < LEAT_ANSWER_SETS_MOST)
        copy(change->sets[change->n_sets], sizeof change->sets[0], set);
    change->n_sets += set != NULL;
}

/* The end of the first "path=value": a `between` outside all brackets, or the end of the text. */
static const char *end_of_value(const char *text, const char *between)
{
    int depth = 0;
    for (; *text && (depth > 0 || strncmp(text, between, strlen(between)) != 0); text++)
        depth += (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
    return text;
}

void leat_answer_sets(struct leat_answer_change *change, const char *text, const char *between)
{
    while (*text) {
        char one[256];
        const char *const end = end_of_value(text, between);
        snprintf(one, sizeof one, "%.*s", (int)(end - text), text);
        leat_answer_set(change, one);
        text = end + (*end ? strlen(between) : 0);
    }
}

/* --- writing ---------------------------------------------------------------------------------------*/

static void put_element(FILE *out, const char *element, const char *kind, const char *text)
{
    if (text && *text && *kind)
        leat_svg_put(out, "<%s class=\"%s\">%s</%s>\n", element, kind, text, element);
    else if (text && *text)
        leat_svg_put(out, "<%s>%s</%s>\n", element, text, element);
}

static void put_facts(FILE *out, const leat_answer *a)
{
    if (a->n_facts == 0)
        return;
    fputs("<dl class=\"facts\">\n", out);
    for (int i = 0; i < a->n_facts; i++) {
        fputs("<div>", out);
        put_element(out, "dt", "", a->facts[i].name);
        put_element(out, "dd", "value", a->facts[i].value);
        put_element(out, "dd", "", a->facts[i].note);
        fputs("</div>\n", out);
    }
    fputs("</dl>\n", out);
}

/* What stands between two backquotes is code. */
static void put_marked(FILE *out, const char *text)
{
    for (bool code = false; *text; code = !code) {
        const size_t n = strcspn(text, "`");
        char *const part = strndup(text, n);
        leat_svg_put(out, code ? "<code>%s</code>" : "%s", part ? part : "");
        free(part);
        text += n + (text[n] == '`');
    }
}

/* Line ends stay, in which escaped text has none. */
static void put_lines(FILE *out, const char *lines)
{
    fputs("<pre><code>", out);
    while (*lines) {
        const size_t n = strcspn(lines, "\n");
        char *const line = strndup(lines, n);
        leat_svg_escape(out, line ? line : "");
        free(line);
        lines += n;
        if (*lines)
            fputc(*lines++, out);
    }
    fputs("</code></pre>", out);
}

static void put_more(FILE *out, int n)
{
    if (n > 0)
        fprintf(out, "<p class=\"small\">and %d more: the JSON has them all</p>\n", n);
}

static void put_sets(FILE *out, const struct leat_answer_change *change)
{
    fputs("<p class=\"small\">To try it, add to any command that takes the config</p>"
          "<pre><code>",
          out);
    const int more = change->n_sets - LEAT_ANSWER_SETS_MOST;
    for (int i = 0; i < (more > 0 ? LEAT_ANSWER_SETS_MOST : change->n_sets); i++) {
        char text[LEAT_DOCTOR_CHANGE_SHELL(LEAT_ANSWER_SET_SIZE)] = "";
        leat_doctor_change_shell(change->sets[i], text, sizeof text);
        fputs(i ? " \\\n" : "", out);
        leat_svg_escape(out, text + 1);
    }
    fputs("</code></pre>", out);
    put_more(out, more);
}

static void put_change(FILE *out, const struct leat_answer_change *change, const char *config)
{
    fputs("<li>", out);
    put_element(out, "strong", "", change->title);
    put_element(out, "em", "", change->differs);
    put_element(out, "span", change->off ? "gain off" : "gain", change->gain);
    if (change->why) {
        fputs("<p>", out);
        put_marked(out, change->why);
        fputs("</p>\n", out);
    }
    if (change->n_sets > 0)
        put_sets(out, change);
    if (change->diff) {
        const bool of_file = !change->note || !*change->note; /* else patch may find other lines */
        leat_svg_put(out, "<p class=\"small\">To keep it, change %s",
                     config ? config : "the config");
        fputs(of_file ? " (<code>patch CONFIG</code> takes this)</p>" : "</p>", out);
    }
    put_element(out, "p", "small", change->note);
    if (change->diff)
        put_lines(out, change->diff);
    fputs("</li>\n", out);
}

static void put_changes(FILE *out, const leat_answer *a)
{
    if (a->n_changes > 0) {
        fputs("<h2>What to change</h2>\n<ol class=\"changes\">\n", out);
        for (int i = 0; i < a->n_changes; i++)
            put_change(out, &a->changes[i], a->config);
        fputs("</ol>\n", out);
        put_more(out, a->n_more);
    } else if (a->asked_changes) {
        fputs("<h2>What to change</h2>\n<p>Nothing that was measured would help.</p>\n", out);
    }
}

void leat_answer_put(FILE *out, const leat_answer *a, const char *title, bool large)
{
    static const char *const tones[] = { "plain", "good", "warn", "bad", "open" };
    leat_svg_put(out, "<div class=\"answer %s\">\n<p class=\"from\">%s", tones[a->tone], title);
    if (a->device)
        leat_svg_put(out, " · on %s", a->device);
    fprintf(out, "%s</p>\n", a->simulated ? " <span class=\"mock\">simulated</span>" : "");
    put_element(out, large ? "h1" : "h2", "", a->verdict);
    put_element(out, "p", "lead", a->sentence);
    if (a->more)
        leat_svg_put(out, "<p><b>Why</b> %s</p>\n", a->more);
    put_facts(out, a);
    if (large)
        put_changes(out, a);
    fputs("</div>\n", out);
}
