/* SPDX-License-Identifier: MIT
 *
 * fuzz_vary.c: what follows --vary. Values lie inside the text, in order, and are never empty. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "study/vary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_vary vary;
    leat_error err;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (leat_vary_parse(text, &vary, &err) == LEAT_OK) {
        const char *at = vary.path.text + vary.path.length;
        if (!vary.path.length || !vary.n_values)
            abort();
        for (size_t i = 0; i < vary.n_values; i++) {
            if (vary.values[i].text <= at || !vary.values[i].length)
                abort();
            at = vary.values[i].text + vary.values[i].length;
        }
        if (at > text + strlen(text))
            abort();
    } else if (!err.message[0]) {
        abort();
    }
    free(text);
    return 0;
}
