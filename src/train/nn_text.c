/* SPDX-License-Identifier: MIT */
#include "nn_text.h"

#include <string.h>

char *leat_nn_dims_text(const leat_shape *shape, char *text, size_t size)
{
    char whole[160];
    leat_shape_text(shape, whole, sizeof whole);
    const char *dims = strchr(whole, '[');
    snprintf(text, size, "%s", dims ? dims : "[?]");
    return text;
}

int leat_nn_want_image(const leat_shape *in, const char *what, leat_error *err)
{
    char text[128];
    if (in->rank == 3)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_CONFIG,
                     "%s needs an image [height, width, channels], got %s: put it before flatten "
                     "and dense, or reshape in the pipeline",
                     what, leat_nn_dims_text(in, text, sizeof text));
}

int leat_nn_want_vector(const leat_shape *in, const char *what, leat_error *err)
{
    char text[128];
    if (in->rank == 1)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_CONFIG, "%s needs a vector, got %s: put flatten before it", what,
                     leat_nn_dims_text(in, text, sizeof text));
}
