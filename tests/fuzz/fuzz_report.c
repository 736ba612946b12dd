/* SPDX-License-Identifier: MIT
 *
 * fuzz_report.c: any bytes as a result or a trace that `leat report` reads. What it takes becomes a page and pictures
 * that are whole and escaped, with numbers where they must be. */
#include <string.h>

#include "fixtures/xml_check.h"
#include "fuzz_target.h"
#include "page/page.h"

static void check(const char *text, size_t size)
{
    const char *at;
    EXPECT(text && strlen(text) == size);
    EXPECT(!xml_check(text, &at));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static leat_page page;
    leat_input input;
    leat_error err = { 0 };
    size_t length;
    uint8_t *const copy = malloc(size + 1); /* fmemopen() wants memory that it may write to */
    FILE *const file = copy && size ? fmemopen(copy, size, "r") : NULL;
    if (!file) {
        free(copy);
        return 0;
    }
    memcpy(copy, data, size);
    const int rc = leat_input_take(file, "fuzz.json", &input, &err);
    EXPECT(rc == LEAT_OK || err.message[0]);
    if (rc == LEAT_OK) {
        page = (leat_page){ .wants_pictures = true };
        char *const text = leat_page_write(&page, &input, 1, &length);
        check(text, length);
        for (int i = 0; i < page.n_pictures; i++)
            check(page.pictures[i].text, page.pictures[i].size);
        leat_page_close(&page);
        free(text);
    }
    leat_input_close(&input);
    fclose(file);
    free(copy);
    return 0;
}
