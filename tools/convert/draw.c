/* SPDX-License-Identifier: MIT
 *
 * draw.c: DESIGN: a class is a signed distance: negative inside of a shape of radius about 1 around
 * the origin. Place, size, rotation, colours, ground and noise are drawn at random, so that no single
 * pixel tells the class: a linear model does badly where a small convolutional network does well.
 * The shape is always lighter than its ground; without that the network takes many more epochs. */
#include "image_encode.h"

#include <math.h>

#include "leat/rng.h"

typedef float (*distance_fn)(float x, float y);

static float least(float a, float b)
{
    return a < b ? a : b;
}

static float most(float a, float b)
{
    return a > b ? a : b;
}

static float length(float x, float y)
{
    return sqrtf(x * x + y * y);
}

static float bar(float x, float y, float half_width, float half_height)
{
    return most(fabsf(x) - half_width, fabsf(y) - half_height);
}

static float circle(float x, float y)
{
    return length(x, y) - 0.78f;
}

static float square(float x, float y)
{
    return bar(x, y, 0.7f, 0.7f);
}

static float triangle(float x, float y)
{
    return most(fabsf(x) * 0.8660254f + y * 0.5f, -y) - 0.48f;
}

static float ring(float x, float y)
{
    return fabsf(length(x, y) - 0.65f) - 0.2f;
}

static float cross(float x, float y)
{
    return least(bar(x, y, 0.26f, 0.9f), bar(x, y, 0.9f, 0.26f));
}

/* A point is in a five-pointed star if it is outside of at most one of five half-planes: the second
 * largest of their distances decides. */
static float star(float x, float y)
{
    static const float normals[5][2] = { { 0, 1 },
                                         { 0.95105652f, 0.30901699f },
                                         { 0.58778525f, -0.80901699f },
                                         { -0.58778525f, -0.80901699f },
                                         { -0.95105652f, 0.30901699f } };
    float first = -1e9f, second = -1e9f;
    for (int i = 0; i < 5; i++) {
        const float d = normals[i][0] * x + normals[i][1] * y - 0.36f;
        second = most(second, least(first, d));
        first = most(first, d);
    }
    return second;
}

static float stripes(float x, float y)
{
    const float middle = bar(x, y, 0.8f, 0.15f);
    return least(middle, bar(x, fabsf(y) - 0.6f, 0.8f, 0.15f));
}

static float crescent(float x, float y)
{
    return most(length(x, y) - 0.88f, 0.72f - length(x - 0.42f, y));
}

static float frame(float x, float y)
{
    return fabsf(most(fabsf(x), fabsf(y)) - 0.58f) - 0.17f;
}

static float hourglass(float x, float y)
{
    return most(fabsf(y) - 0.8f, (fabsf(x) - fabsf(y)) * 0.70710678f);
}

static const struct {
    const char *name;
    distance_fn distance;
} classes[LEAT_DRAW_CLASSES] = {
    { "circle", circle },       { "square", square },     { "triangle", triangle },
    { "ring", ring },           { "cross", cross },       { "star", star },
    { "stripes", stripes },     { "crescent", crescent }, { "frame", frame },
    { "hourglass", hourglass },
};

const char *leat_draw_class(int label)
{
    return classes[label].name;
}

/* --- a scene -----------------------------------------------------------------------------------*/

enum { CONTRAST = 180, GROUND_MOST = 160 }; /* of the sum, and of each, of red, green and blue */

struct colour {
    int32_t c[3];
};

struct place {
    float x, y, scale, cosine, sine;
};

struct scene {
    struct place shape, dots[4];
    int n_dots;
    struct colour ground, ground_end, paint, dot;
    float slope_x, slope_y; /* of the ground's change of colour, per pixel */
    int32_t noise;          /* about three standard deviations */
};

/* A random direction without sine and cosine, whose last bits differ between machines. */
static void draw_direction(leat_rng *rng, float *cosine, float *sine)
{
    const float t = leat_rng_range(rng, -1, 1), over = 1 / (1 + t * t);
    const float c = (1 - t * t) * over, s = 2 * t * over;
    switch (leat_rng_below(rng, 4)) {
    case 0:
        *cosine = c, *sine = s;
        break;
    case 1:
        *cosine = -s, *sine = c;
        break;
    case 2:
        *cosine = -c, *sine = -s;
        break;
    default:
        *cosine = s, *sine = -c;
        break;
    }
}

static struct place draw_place(leat_rng *rng, float size, float low, float high)
{
    struct place place;
    const float radius = leat_rng_range(rng, low, high) * size;
    place.scale = radius;
    place.x = leat_rng_range(rng, radius, size - radius);
    place.y = leat_rng_range(rng, radius, size - radius);
    draw_direction(rng, &place.cosine, &place.sine);
    return place;
}

static struct colour draw_colour(leat_rng *rng)
{
    struct colour colour;
    for (int i = 0; i < 3; i++)
        colour.c[i] = (int32_t)leat_rng_below(rng, 256);
    return colour;
}

static int32_t lightness(const struct colour *colour)
{
    return colour->c[0] + colour->c[1] + colour->c[2];
}

/* A colour that is lighter than both ends of the ground. */
static struct colour draw_paint(leat_rng *rng, const struct scene *scene)
{
    struct colour paint = { { 255, 255, 255 } };
    for (int attempt = 0; attempt < 64; attempt++) {
        const struct colour drawn = draw_colour(rng);
        if (lightness(&drawn) >= lightness(&scene->ground) + CONTRAST &&
            lightness(&drawn) >= lightness(&scene->ground_end) + CONTRAST)
            return drawn;
    }
    return paint;
}

/* The other end of the ground is near its first. */
static struct colour draw_near(leat_rng *rng, const struct colour *from)
{
    struct colour colour;
    for (int i = 0; i < 3; i++) {
        const int32_t c = from->c[i] + (int32_t)leat_rng_below(rng, 97) - 48;
        colour.c[i] = c < 0 ? 0 : c > 255 ? 255 : c;
    }
    return colour;
}

static struct scene draw_scene(leat_rng *rng, float size)
{
    struct scene scene;
    scene.shape = draw_place(rng, size, 0.26f, 0.44f);
    draw_direction(rng, &scene.slope_x, &scene.slope_y);
    scene.slope_x /= size;
    scene.slope_y /= size;
    scene.ground = draw_colour(rng);
    for (int i = 0; i < 3; i++)
        scene.ground.c[i] = scene.ground.c[i] * GROUND_MOST / 255;
    scene.ground_end = draw_near(rng, &scene.ground);
    scene.paint = draw_paint(rng, &scene);
    scene.dot = draw_colour(rng);
    scene.n_dots = (int)leat_rng_below(rng, 5);
    for (int i = 0; i < scene.n_dots; i++)
        scene.dots[i] = draw_place(rng, size, 0.02f, 0.07f);
    scene.noise = 8 + (int32_t)leat_rng_below(rng, 41);
    return scene;
}

/* --- pixels ------------------------------------------------------------------------------------*/

/* How much of a pixel a shape covers, 0 … 256. */
static int32_t coverage(distance_fn distance, const struct place *place, float x, float y)
{
    const float dx = (x - place->x) / place->scale, dy = (y - place->y) / place->scale;
    const float u = place->cosine * dx + place->sine * dy;
    const float v = place->cosine * dy - place->sine * dx;
    const float cover = 0.5f - distance(u, v) * place->scale;
    return cover <= 0 ? 0 : cover >= 1 ? 256 : (int32_t)(cover * 256);
}

static void blend(struct colour *under, const struct colour *over, int32_t cover)
{
    for (int i = 0; i < 3; i++)
        under->c[i] += (over->c[i] - under->c[i]) * cover / 256;
}

/* Sum of four uniform bytes: nearly normal, -510 … 510. */
static int32_t draw_noise(leat_rng *rng)
{
    const uint32_t r = leat_rng_u32(rng);
    return (int32_t)((r & 255) + (r >> 8 & 255) + (r >> 16 & 255) + (r >> 24)) - 510;
}

static struct colour pixel_at(const struct scene *scene, distance_fn distance, float x, float y,
                              float size)
{
    const float along = 0.5f + (x - size / 2) * scene->slope_x + (y - size / 2) * scene->slope_y;
    const int32_t share = (int32_t)(least(most(along, 0), 1) * 256);
    struct colour pixel = scene->ground;
    blend(&pixel, &scene->ground_end, share);
    for (int i = 0; i < scene->n_dots; i++)
        blend(&pixel, &scene->dot, coverage(circle, &scene->dots[i], x, y));
    blend(&pixel, &scene->paint, coverage(distance, &scene->shape, x, y));
    return pixel;
}

void leat_draw_picture(uint64_t seed, uint64_t number, int label, int size, uint8_t *pixels)
{
    leat_rng rng = leat_rng_make(seed, number, 0, 1);
    const struct scene scene = draw_scene(&rng, (float)size);
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            const struct colour pixel = pixel_at(&scene, classes[label].distance, (float)x + 0.5f,
                                                 (float)y + 0.5f, (float)size);
            for (int i = 0; i < 3; i++) {
                const int32_t c = pixel.c[i] + draw_noise(&rng) * scene.noise / 510;
                *pixels++ = (uint8_t)(c < 0 ? 0 : c > 255 ? 255 : c);
            }
        }
}
