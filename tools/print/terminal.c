/* SPDX-License-Identifier: MIT */
#include "terminal.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "files.h"
#include "formats/visible.h"

enum { ROOM = 1024 }; /* most texts take less */

int leat_terminal_width(FILE *stream)
{
    struct winsize size;
    const int fd = fileno(stream);
    if (isatty(fd) != 1)
        return 0;
    /* Serial lines and some containers do not know their size. */
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                : LEAT_TERMINAL_COLUMNS;
}

static bool has_colour(FILE *stream)
{
    const char *const no = getenv("NO_COLOR"), *const term = getenv("TERM");
    return isatty(fileno(stream)) == 1 && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

const char *leat_terminal_colour_text(FILE *stream, leat_terminal_colour colour)
{
    static const char *const texts[] = { "\033[0m", "\033[31m", "\033[32m", "\033[33m" };
    return has_colour(stream) ? texts[colour] : "";
}

/* A text that is safe as it is, or a copy that is. *copy: the memory of the copy, or NULL. */
static const char *shown(const char *text, const char *keep, char **copy)
{
    const size_t n = strlen(text), room = leat_visible(text, n, keep, NULL, 0) + 1;
    *copy = NULL;
    if (room == n + 1) /* every escape is longer than what it stands for */
        return text;
    if (!(*copy = malloc(room)))
        return "?";
    leat_visible(text, n, keep, *copy, room);
    return *copy;
}

const char *leat_terminal_name(const char *name)
{
    static char *copies[8];
    static size_t next;
    char *copy;
    const char *const text = shown(name, "", &copy);
    if (copy) {
        char **const old = &copies[next++ % (sizeof copies / sizeof *copies)];
        free(*old);
        *old = copy;
    }
    return text;
}

static void wrap(FILE *out, const char *text, int column, int indent)
{
    bool begins = true; /* true: no word on this line yet */
    for (const char *c = text; *c;) {
        int length = (int)strcspn(c, " \n");
        while (c[length] == ' ' && c[length + 1] == '%') /* a percent sign stays with its number */
            length += 1 + (int)strcspn(c + length + 1, " \n");
        if (*c == '\n' || (!begins && column + 1 + length > LEAT_TERMINAL_COLUMNS)) {
            fputc('\n', out);
            column = 0;
            begins = true;
            c += *c == '\n';
            continue;
        }
        if (begins && column == 0 && c != text)
            column += fprintf(out, "%*s", indent, "");
        else if (!begins)
            column += fprintf(out, " ");
        column += fprintf(out, "%.*s", length, c);
        begins = false;
        c += length;
        c += *c == ' ';
    }
    fputc('\n', out);
}

void leat_terminal_wrap(FILE *out, const char *text, int column, int indent)
{
    char *copy;
    wrap(out, shown(text, "\n", &copy), column, indent);
    free(copy);
}

const char *leat_terminal_shown(const char *text, char **copy)
{
    return shown(text, "\n\r\t", copy);
}

void leat_terminal_lines(FILE *out, const char *text)
{
    char *copy;
    fputs(leat_terminal_shown(text, &copy), out);
    free(copy);
}

static void put(FILE *out, int column, int indent, const char *format, va_list args)
{
    char room[ROOM], *copy;
    const char *const text = leat_files_text_in(room, sizeof room, &copy, format, args);
    fprintf(out, "%*s", column, "");
    leat_terminal_wrap(out, text, column, indent);
    free(copy);
}

void leat_terminal_put(FILE *out, int column, int indent, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(out, column, indent, format, args);
    va_end(args);
}

void leat_terminal_say(int indent, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(stdout, 0, indent, format, args);
    va_end(args);
}

void leat_terminal_paint(int indent, const char *format, ...)
{
    char room[ROOM], *copy;
    va_list args;
    va_start(args, format);
    wrap(stdout, leat_files_text_in(room, sizeof room, &copy, format, args), 0, indent);
    va_end(args);
    free(copy);
}

void leat_terminal_entry(FILE *out, const char *head, int column, const char *text)
{
    const int n = fprintf(out, "%s", leat_terminal_name(head));
    if (n + 2 > column)
        fprintf(out, "\n%*s", column, "");
    else
        fprintf(out, "%*s", column - n, "");
    leat_terminal_wrap(out, text, column, column);
}
