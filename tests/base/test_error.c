/* SPDX-License-Identifier: MIT
 *
 * test_error.c: codes have names and texts; messages are kept, prefixed, cut to fit and printed. */
#include "fixtures/unit.h"
#include "leat/error.h"

TEST(every_code_has_name_and_text)
{
    static const int codes[] = {
#define CODE(name, value, text) LEAT_##name,
        LEAT_CODE_LIST(CODE)
#undef CODE
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        assert_int_equal(codes[i], -(int)i);
        assert_memory_equal(leat_code_name(codes[i]), i ? "LEAT_E_" : "LEAT_OK", 7);
        assert_true(strlen(leat_code_text(codes[i])) > 1);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(leat_code_name(codes[i]), leat_code_name(codes[k]));
            assert_string_not_equal(leat_code_text(codes[i]), leat_code_text(codes[k]));
        }
    }
    assert_string_equal(leat_code_name(LEAT_E_IO), "LEAT_E_IO");
    assert_string_equal(leat_code_name(77), "LEAT_E_?");
    assert_string_equal(leat_code_text(-77), "unknown code");
}

TEST(fail_fills_and_prefixes)
{
    leat_error err = { 0 };
    assert_int_equal(leat_fail(NULL, LEAT_E_IO, "%d", 1), LEAT_E_IO);
    assert_int_equal(leat_fail_in(NULL, LEAT_E_IO, "%d", 1), LEAT_E_IO);
    assert_int_equal(leat_fail(&err, LEAT_E_DATA, "record %d is %s", 7, "cut"), LEAT_E_DATA);
    assert_int_equal(err.code, LEAT_E_DATA);
    assert_string_equal(err.message, "record 7 is cut");
    assert_int_equal(leat_fail_in(&err, LEAT_E_DATA, "%s: ", "a.tfrecord"), LEAT_E_DATA);
    assert_string_equal(err.message, "a.tfrecord: record 7 is cut");
}

TEST(long_messages_are_cut)
{
    leat_error err = { 0 };
    char *text = malloc(3000);
    memset(text, 'a', 2999);
    text[2999] = 0;
    leat_fail(&err, LEAT_E_IO, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    leat_fail_in(&err, LEAT_E_IO, "here: ");
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_memory_equal(err.message, "here: aaa", 9);
    leat_fail_in(&err, LEAT_E_IO, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    free(text);
}

TEST(print_is_one_line)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    leat_error err = { .code = LEAT_E_IO };
    leat_error_print(&err, stream);
    leat_fail(&err, LEAT_E_IO, "100%% lost");
    leat_error_print(&err, stream);
    fclose(stream);
    assert_string_equal(text, "leat: input/output error\nleat: 100% lost\n");
    free(text);
}

TEST(version_is_the_headers)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", LEAT_VERSION_MAJOR, LEAT_VERSION_MINOR,
             LEAT_VERSION_PATCH);
    assert_string_equal(text, LEAT_VERSION);
    assert_string_equal(leat_version(), LEAT_VERSION);
}
