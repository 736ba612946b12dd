/* SPDX-License-Identifier: MIT
 *
 * test_number.c: numbers from text are the nearest floats and doubles, however many digits the text has. */
#include "fixtures/unit.h"

#include <math.h>

#include "config/number.h"

/* The locale of this test is "C", so strtof() and strtod() say what is right. */
static void expect_nearest(const char *text)
{
    float real = 0;
    double wide = 0;
    const float wanted = strtof(text, NULL);
    const leat_number rc = leat_number_data(text, &real);
    if (isinf(wanted)) {
        assert_int_equal(rc, LEAT_NUMBER_LARGE);
        return;
    }
    if (rc != LEAT_NUMBER_OK || memcmp(&real, &wanted, sizeof real) != 0)
        fail_msg("%s: %d, %.9g instead of %.9g", text, (int)rc, (double)real, (double)wanted);
    assert_int_equal(leat_number_f64(text, &wide), LEAT_NUMBER_OK);
    if (wide != strtod(text, NULL))
        fail_msg("%s: %.17g instead of %.17g", text, wide, strtod(text, NULL));
}

TEST(rounded_once)
{
    static const char *const texts[] = {
        "16777217.0000000001",
        "-16777217.0000000001",
        "0.000442084958194755",
        "8388609.4999999999",
        "8388608.5000000000000001",
        "8388609.5",
        "1.00000005960464477539062500000000000000001",
        "340282356779733661637539395458142568447.9",
        "340282356779733661637539395458142568448",
        "7.0064923216240854e-46",
        "7."
        "006492321624085354618647916449580656401309709382578858785341419448955413429303007433190941"
        "81060791015626e-46",
        "1e-400",
        "1.17549428e-38",
        "9007199254740993.00000000000000000000000001",
        "0",
        "-0",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_nearest(texts[i]);
}

/* The middle between two floats, as many of its digits as given, and what is next to that. */
TEST(near_the_middle_of_two_floats)
{
    unsigned drawn = 7;
    for (int i = 0; i < 20000; i++) {
        float low;
        char text[200];
        const uint32_t bits = (drawn = drawn * 1664525u + 1013904223u) % 0x7f7fffffu;
        memcpy(&low, &bits, sizeof low);
        const double middle = ((double)low + (double)nextafterf(low, INFINITY)) / 2;
        snprintf(text, sizeof text, "%.*e", 6 + i % 60, middle);
        expect_nearest(text);
        char *const digit = strchr(text, 'e') - 1;
        *digit = (char)(*digit == '9' ? '8' : *digit + 1);
        expect_nearest(text);
    }
}
