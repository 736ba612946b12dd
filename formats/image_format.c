/* SPDX-License-Identifier: MIT */
#include "image_format.h"

#include <stdbool.h>
#include <string.h>

static bool begins(const char *bytes, size_t n, const char *with, size_t n_with)
{
    return n >= n_with && !memcmp(bytes, with, n_with);
}

/* Many texts begin with "BM". So this also checks that the second header is smaller than 256 bytes. */
static bool is_bmp(const char *bytes, size_t n)
{
    return n >= LEAT_IMAGE_FORMAT_BYTES && begins(bytes, n, "BM", 2) &&
           !memcmp(bytes + 15, "\0\0", 3);
}

static bool is_pnm(const char *bytes, size_t n)
{
    return (begins(bytes, n, "P5", 2) || begins(bytes, n, "P6", 2)) && n > 2 &&
           memchr(" \t\n\v\f\r#", bytes[2], 7);
}

leat_image_format leat_image_format_of(const void *bytes, size_t n)
{
    if (begins(bytes, n, "\xff\xd8", 2))
        return LEAT_IMAGE_JPEG;
    if (begins(bytes, n, "\x89PNG", 4)) /* later bytes only tell how the file was damaged */
        return LEAT_IMAGE_PNG;
    if (begins(bytes, n, "RIFF", 4) && n >= 12 && !memcmp((const char *)bytes + 8, "WEBP", 4))
        return LEAT_IMAGE_WEBP;
    if (is_bmp(bytes, n))
        return LEAT_IMAGE_BMP;
    return is_pnm(bytes, n) ? LEAT_IMAGE_PNM : LEAT_IMAGE_NONE;
}

const char *leat_image_format_word(leat_image_format format)
{
#define WORD(id, word, name) #word,
    static const char *const words[] = { NULL, LEAT_IMAGE_FORMAT_LIST(WORD) };
    return words[format];
}

const char *leat_image_format_name(leat_image_format format)
{
#define NAME(id, word, name) name,
    static const char *const names[] = { NULL, LEAT_IMAGE_FORMAT_LIST(NAME) };
    return names[format];
}
