/* SPDX-License-Identifier: MIT
 *
 * test_terminal.c: what people see: a progress line that never takes more than its line, whatever the
 * width of the terminal; reports that fit 80 columns; colour on terminals only. */
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>

#include "fixtures/command_pipeline.h"
#include "fixtures/failing_malloc.h"
#include "leat/leat.h"
#include "print/progress.h"
#include "print/terminal.h"

/* --- a terminal ----------------------------------------------------------------------------------*/

/* As far as the command uses one. Row 0 is where it began; a line that is too long takes more rows. */
typedef struct screen {
    int width, column, row;
    bool escape;    /* inside a sequence, which ends with a letter */
    char line[256]; /* the row that the cursor is in */
} screen;

static void next_row(screen *s)
{
    s->row++;
    s->column = 0;
    memset(s->line, 0, sizeof s->line);
}

static void put(screen *s, char c)
{
    if (s->escape) {
        s->escape = !((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
        if (c == 'J' || c == 'K')
            memset(s->line + s->column, 0, sizeof s->line - (size_t)s->column);
    } else if (c == '\033') {
        s->escape = true;
    } else if (c == '\r') {
        s->column = 0;
    } else if (c == '\n') {
        next_row(s);
    } else {
        if (s->column == s->width)
            next_row(s);
        s->line[s->column++] = c;
    }
}

/* What has been printed there by now. */
static void take(screen *s, int master)
{
    char bytes[4096];
    ssize_t n;
    while ((n = read(master, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < n; i++)
            put(s, bytes[i]);
}

static void resize(screen *s, int master, int width)
{
    const struct winsize size = { .ws_row = 24, .ws_col = (unsigned short)width };
    assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
    s->width = width;
}

static void three_fields(void *user, leat_progress_fields *fields)
{
    leat_progress_add(fields, "loss %.4g", *(const double *)user);
    leat_progress_add(fields, "waited %d %%", 12);
    leat_progress_add(fields, "%d of %d batches ready", 2, 4);
}

/* At every width, in an order that makes it narrower and wider between two drawings. */
TEST(progress_keeps_to_its_line)
{
    int master, slave;
    double loss = 2.302585;
    screen s = { .width = 80 };
    leat_progress progress;
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    assert_int_equal(fcntl(master, F_SETFL, O_NONBLOCK), 0);
    const int before = dup(STDERR_FILENO);
    dup2(slave, STDERR_FILENO);
    leat_progress_init(&progress, "train", "steps", 1234567, LEAT_PROGRESS_AUTO);
    progress.describe = three_fields;
    progress.user = &loss;
    bool alone = true, head = true, whole = false, bar = false;
    for (int i = 0; i <= 180; i++) {
        resize(&s, master, 20 + i * 67 % 181);
        progress.done = (uint64_t)i * 6789;
        leat_progress_draw(&progress);
        take(&s, master);
        alone &= s.row == 0 && s.column == 0 && (int)strlen(s.line) < s.width;
        head &= !strncmp(s.line, "train: ", 7);
        whole |= s.width > 150 && strstr(s.line, "2 of 4 batches ready");
        bar |= strstr(s.line, "...]") != NULL;
    }
    leat_progress_fini(&progress);
    take(&s, master);
    dup2(before, STDERR_FILENO);
    close(before);
    close(slave);
    close(master);
    assert_true(alone);
    assert_true(head);
    assert_true(whole);
    assert_true(bar);
    assert_string_equal(s.line, ""); /* nothing stays */
}

/* --- the command in a terminal ---------------------------------------------------------------------*/

/* Runs a line of shell there, with $L the command; what it printed goes to out. Returns the exit code. A
 * width that is not 0 is what the terminal is made as soon as something is there. */
static int run_in(screen *s, int then, const char *line)
{
    int master, status;
    const struct winsize size = { .ws_row = 24, .ws_col = (unsigned short)s->width };
    const pid_t child = forkpty(&master, NULL, NULL, &size);
    size_t used = 0;
    assert_true(child >= 0);
    if (child == 0) {
        if (chdir(folder) < 0)
            _exit(126);
        setenv("L", LEAT, 1);
        setenv("TERM", "xterm", 1);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    for (ssize_t n; (n = read(master, out + used, sizeof out - 1 - used)) > 0;) {
        for (ssize_t i = 0; i < n; i++)
            put(s, out[used + (size_t)i]);
        used += (size_t)n;
        if (then && s->width != then && !s->escape)
            resize(s, master, then);
    }
    out[used] = 0;
    close(master);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

TEST_WITH(commands_keep_to_one_line, NULL, clean)
{
    static const int widths[][2] = { { 30, 0 }, { 80, 40 }, { 40, 120 }, { 160, 0 } };
    make_pipeline();
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        screen s = { .width = widths[i][0] };
        expect_success(
            run_in(&s, widths[i][1], "$L train x.yaml --epochs 1000000 --steps 10000 >/dev/null"));
        assert_int_equal(s.row, 0);
        assert_string_equal(s.line, "");
        if (s.width >= 80)
            expect_in(out, "loss ");
        for (const char *const *part =
                 (const char *const[]){ " of 10,000 steps, ", " left, loss ", ", acc. ",
                                        " samples/s, idle ", " %, epoch ", NULL };
             s.width == 160 && *part; part++)
            expect_in(out, *part);
    }
}

TEST_WITH(colour_is_for_terminals, NULL, clean)
{
    static const struct {
        const char *line;
        bool coloured;
    } cases[] = {
        { "$L plan none.yaml", true },
        { "$L plan", true },
        { "$L plan none.yaml 2>&1 | cat", false },
        { "NO_COLOR=1 $L plan none.yaml", false },
        { "NO_COLOR= $L plan none.yaml", true },
        { "TERM=dumb $L plan none.yaml", false },
        { "$L compare x.yaml --vary engine.threads=1 --rounds 1 --steps 5 --device sim -q", true },
        { "$L compare x.yaml --vary engine.threads=1 --rounds 1 --steps 5 --device sim -q | cat",
          false },
    };
    make_pipeline();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        screen s = { .width = 200 };
        run_in(&s, 0, cases[i].line);
        if (!strstr(out, "leat plan:") && !strstr(out, "x.yaml") && !strstr(out, "arm") &&
            !strstr(out, "engine.threads=1"))
            fail_msg("%s said: %s", cases[i].line, out);
        if ((strstr(out, "\033[") != NULL) != cases[i].coloured)
            fail_msg("%s: colour is wrong in: %s", cases[i].line, out);
    }
}

/* --- reports ---------------------------------------------------------------------------------------*/

/* Columns of a line of UTF-8. */
static int columns(const char *line, size_t length)
{
    int n = 0;
    for (size_t i = 0; i < length; i++)
        n += ((unsigned char)line[i] & 0xc0) != 0x80;
    return n;
}

static void expect_80_columns(const char *what)
{
    for (const char *line = out; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const size_t length = strcspn(line, "\n");
        if (columns(line, length) > 80)
            fail_msg("%s: a line of %d columns:\n%.*s", what, columns(line, length), (int)length,
                     line);
    }
}

TEST_WITH(reports_fit_80_columns, NULL, clean)
{
    static const char *const lines[] = {
        "help",
        "devices",
        "ops",
        "inspect x-*.tfrecord",
        "inspect x.yaml",
        "inspect x-00000-of-00002.tfrecord --record 3",
        "plan x.yaml",
        "plan x.yaml --device sim:h200 --set pipeline.prefetch=auto",
        "bench x.yaml --steps 200 --epochs 20 --explain -q --set pipeline.prefetch=auto",
        "train x.yaml -q",
        "train x.yaml -q --device sim --steps 20",
        ("compare x.yaml --vary pipeline.prefetch.batches=0,2 --vary engine.threads=1,2 --rounds 2 "
         "--steps 5 --device sim -q"),
        "convert images images -o x2 -q",
        "synth xset --n 20 -q",
    };
    make_pipeline();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        expect_success(shell("$L %s", lines[i]));
        expect_80_columns(lines[i]);
    }
    for (const char *const *c =
             (const char *const[]){ "convert", "synth", "index", "inspect", "plan", "bench",
                                    "train", "plot", "compare", "doctor", "report", "ops",
                                    "devices", "help", NULL };
         *c; c++) {
        expect_success(shell("$L %s --help", *c));
        expect_80_columns(*c);
    }
    for (size_t i = 0; leat_ops()[i]; i++) {
        expect_success(shell("$L help %s", leat_ops()[i]->name));
        expect_80_columns(leat_ops()[i]->name);
    }
}

/* Also when a text has no room in memory, it is printed, or its beginning. */
TEST(texts_are_printed_without_memory)
{
    char line[8000] = "", buffer[8000], word[2000];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = 0;
    FILE *const file = tmpfile();
    assert_non_null(file);
    setvbuf(file, buffer, _IOFBF, sizeof buffer);
    for (int large = 0; large < 2; large++)
        for (long n = 0; n < 3; n++) {
            assert_int_equal(ftruncate(fileno(file), 0), 0);
            rewind(file);
            failing_malloc_at(n);
            leat_terminal_put(file, 2, 2, "%s; %s", "a", large ? word : "b");
            failing_malloc_hit();
            rewind(file);
            assert_non_null(fgets(line, sizeof line, file));
            assert_string_equal(line, large ? "  a;\n" : "  a; b\n");
            assert_true(!large || (fgets(line, sizeof line, file) && strlen(line) > 1000));
        }
    fclose(file);
}

SUITE_FIXTURE(make_images, command_remove_folder)
