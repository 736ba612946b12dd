/* SPDX-License-Identifier: MIT
 *
 * jpeg_look.c: what decode_jpeg would do with a file, by asking the decoders in its order. */
#include "leat/jpeg_look.h"

#include <stdio.h>
#include <string.h>

#include "jpeg/jpeg.h"
#include "jpeg_turbo.h"

int leat_jpeg_look(const void *bytes, size_t size, leat_jpeg_info *out, leat_error *err)
{
    leat_jpeg own;
    leat_jpeg_size stored;
    leat_error why = { 0 };
    *out = (leat_jpeg_info){ 0 };
    const int rc = leat_jpeg_turbo_size(bytes, size, &stored, err);
    if (rc != LEAT_OK)
        return rc;
    out->height = stored.height;
    out->width = stored.width;
    out->components = stored.components;
    out->is_own = leat_jpeg_open(&own, bytes, size, &why) == LEAT_OK;
    if (out->is_own) {
        out->restart_mcus = own.restart_mcus;
        return LEAT_OK;
    }
    const char *colon = strchr(why.message, ':');
    snprintf(out->why_not, sizeof out->why_not, "%.63s", colon ? colon + 2 : why.message);
    return LEAT_OK;
}
