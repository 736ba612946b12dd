/* SPDX-License-Identifier: MIT
 *
 * fuzz_run_log.c: any bytes as the log of a run, read and drawn. The first byte chooses: bit 0: an event file, else
 * lines of JSON; the other bits: what the horizontal axis shows. Coordinates are numbers, text is escaped. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chart/chart.h"
#include "fuzz_target.h"
#include "plot/run_rows.h"

/* Of this process: event files are told by their names. */
static char folder[64];

static void remove_folder(void)
{
    rmdir(folder);
}

static const char *write_file(int events, const uint8_t *bytes, size_t size)
{
    static char path[128];
    if (!folder[0]) {
        strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/leat-fuzz-XXXXXX"
                                                     : "/tmp/leat-fuzz-XXXXXX");
        EXPECT(mkdtemp(folder));
        atexit(remove_folder);
    }
    snprintf(path, sizeof path, "%s/%s", folder, events ? "tfevents" : "log.jsonl");
    FILE *const file = fopen(path, "wb");
    EXPECT(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    return path;
}

/* Every path has numbers, and no NaN. */
static void check_paths(const char *text)
{
    while ((text = strstr(text, " d=\"M"))) {
        text += strlen(" d=\"M");
        EXPECT(text[strspn(text, "0123456789.- MLhvlz")] == '"');
    }
}

/* All keys of the log, four in a chart, at most two charts. */
static void draw(const leat_run_rows *rows, int32_t x)
{
    leat_lines lines[2] = {
        { .id = "a", .title = "a", .about = "", .x_name = "x", .steps = true, .wall = NAN },
        { .id = "b", .title = "b", .about = "", .x_name = "x", .steps = true, .wall = NAN }
    };
    const char *key;
    json_t *ignored, *const keys = json_object();
    size_t size;
    int n = 0;
    leat_run_curves_keys(rows, keys);
    json_object_foreach(keys, key, ignored)
    {
        if (n == 8)
            break;
        leat_lines *const some = &lines[n / 4];
        const int before = some->n;
        leat_run_curves_add(rows, key, x, key, some);
        EXPECT(!some->failed);
        if (some->n > before)
            some->lines[before].dash = n % 4;
        n++;
    }
    const leat_chart charts[2] = { leat_chart_lines(&lines[0]), leat_chart_lines(&lines[1]) };
    char *const text = leat_chart_file(charts, 2, &size);
    EXPECT(text && strlen(text) == size);
    check_paths(text);
    free(text);
    json_decref(keys);
    for (int i = 0; i < 2; i++)
        leat_lines_close(&lines[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_run_rows rows;
    leat_error err = { 0 };
    if (!size)
        return 0;
    const char *const path = write_file(data[0] & 1, data + 1, size - 1);
    const int rc = leat_run_rows_read(path, &rows, &err);
    EXPECT(rc == LEAT_OK || err.message[0]);
    if (rc == LEAT_OK)
        draw(&rows, (data[0] >> 1) % 3);
    leat_run_rows_close(&rows);
    remove(path);
    return 0;
}
