/* SPDX-License-Identifier: MIT
 *
 * test_visible.c: texts from outside as a terminal and YAML may have them. */
#include "fixtures/unit.h"
#include "formats/visible.h"
#include "formats/yaml_text.h"
#include "leat/config.h"
#include "leat/error.h"

static const struct {
    const char *text, *shown;
} rows[] = {
    { "", "" },
    { "K\xc3\xa4se \xe7\x8c\xab \xf0\x9f\x90\x88", "K\xc3\xa4se \xe7\x8c\xab \xf0\x9f\x90\x88" },
    { "\033[31mred", "\\x1b[31mred" },
    { "a\nb\rc\td\x7f", "a\\x0ab\\x0dc\\x09d\\x7f" },
    { "\xc2\x9b[", "\\u{9b}[" }, /* CSI as a character, and as a byte */
    { "\x9b[", "\\x9b[" },
    { "\xe2\x80\xaegpj.exe", "\\u{202e}gpj.exe" },
    { "\xe2\x81\xa6x\xe2\x81\xa9", "\\u{2066}x\\u{2069}" },
    { "\xe2\x80\xa8", "\\u{2028}" },
    { "x\xe2\x80\x8by\xe2\x80\x8dz", "x\\u{200b}y\\u{200d}z" }, /* zero width */
    { "\xe2\x81\xa0\xef\xbb\xbf\xc2\xad", "\\u{2060}\\u{feff}\\u{ad}" },
    { "\xe3\x85\xa4\xf3\xa0\x81\xa1", "\\u{3164}\\u{e0061}" },
    { "\xe2\x9d\xa4\xef\xb8\x8f", "\xe2\x9d\xa4\xef\xb8\x8f" }, /* a heart in colour */
    { "caf\xe9", "caf\\xe9" },                                  /* Latin-1 */
    { "\xc3", "\\xc3" },                                        /* cut */
    { "\xc0\x9b\xed\xa0\x80", "\\xc0\\x9b\\xed\\xa0\\x80" },    /* overlong; a surrogate */
    { "\\x1b", "\\x1b" },
};

TEST(controls_are_shown_and_letters_stay)
{
    char text[100], cut[100];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t length = strlen(rows[i].text), n = strlen(rows[i].shown);
        assert_int_equal(leat_visible(rows[i].text, length, "", text, sizeof text), n);
        assert_string_equal(text, rows[i].shown);
        for (size_t size = 1; size <= n; size++) { /* cut, but not in a character */
            assert_int_equal(leat_visible(rows[i].text, length, "", cut, size), n);
            assert_true(strlen(cut) < size && !strncmp(cut, text, strlen(cut)));
            assert_int_equal(leat_visible(cut, strlen(cut), "", NULL, 0), strlen(cut));
        }
    }
    leat_visible("a\nb\033", 4, "\n", text, sizeof text);
    assert_string_equal(text, "a\nb\\x1b");
    leat_visible("a\0b", 3, "\n", text, sizeof text);
    assert_string_equal(text, "a\\x00b");
}

TEST(messages_show_controls)
{
    leat_error err;
    char many[3000], wanted[100];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        leat_fail(&err, LEAT_E_DATA, "'%s' is bad", rows[i].text);
        snprintf(wanted, sizeof wanted, "'%s' is bad", rows[i].shown);
        assert_string_equal(err.message, wanted);
        leat_fail_in(&err, LEAT_E_DATA, "%s: ", rows[i].text);
        snprintf(wanted, sizeof wanted, "%s: '%s' is bad", rows[i].shown, rows[i].shown);
        assert_string_equal(err.message, wanted);
    }
    leat_fail(&err, LEAT_E_DATA, "one line\nand %s", "another");
    assert_string_equal(err.message, "one line\nand another");
    memset(many, 27, sizeof many - 1);
    many[sizeof many - 1] = 0;
    leat_fail(&err, LEAT_E_DATA, "%s", many);
    assert_in_range(strlen(err.message), sizeof err.message - 5, sizeof err.message - 1);
    leat_fail_in(&err, LEAT_E_DATA, "%s", many);
    assert_in_range(strlen(err.message), sizeof err.message - 5, sizeof err.message - 1);
}

static const char *const names[] = {
    "cat",
    "flag \xf0\x9f\x8f\xb4\xf3\xa0\x81\xa7\xf3\xa0\x81\xbf",
    "zero\xe2\x80\x8bwidth",
    "a: b",
    "a:",
    ":a",
    "it's",
    "say \"hi\"",
    "back\\slash",
    "- dash",
    "-",
    "---",
    "...",
    "yes",
    "No",
    "true",
    "null",
    "~",
    "",
    " lead",
    "trail ",
    "# hash",
    "a #b",
    "a#b",
    "1.5",
    "-7",
    "0x10",
    ".inf",
    "2024-01-01",
    "12:30",
    "[x]",
    "{x}",
    "x, y",
    "*alias",
    "&anchor",
    "!tag",
    "%percent",
    "@at",
    "`tick`",
    "| pipe",
    "> fold",
    "? query",
    "<<",
    "=",
    "a\nb",
    "tab\there",
    "\033[3m",
    "K\xc3\xa4se",
    "\xc2\x85",
    "\xe2\x80\xaertl",
    "../x-*.tfrecord",
};

/* As a value and as a key, in blocks, in [..] and in {..}. */
static void check_forms(const char *name, const char *scalar)
{
    char text[300], back[200];
    leat_config *config;
    leat_error err;
    snprintf(text, sizeof text, "a: %s\nb: {c: [%s, 2]}\nd:\n  %s: 3\ne: {%s: 4}\n", scalar, scalar,
             scalar, scalar);
    if (leat_config_parse(text, "text", &config, &err))
        fail_msg("%s\n%s", err.message, text);
    static const char *const paths[] = { "a", "b.c[0]" };
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(leat_config_get(config, paths[i], back, sizeof back, &err), LEAT_OK);
        assert_string_equal(back, name);
    }
    if (!strpbrk(name, ".[]= ")) { /* which mean something in a path */
        snprintf(text, sizeof text, "d.%s", name);
        assert_int_equal(leat_config_get(config, text, back, sizeof back, &err), LEAT_OK);
        text[0] = 'e';
        assert_int_equal(leat_config_get(config, text, back, sizeof back, &err), LEAT_OK);
    }
    leat_config_close(&config);
}

TEST(yaml_reads_back)
{
    char scalar[100], cut[4];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int kind = LEAT_YAML_VALUE; kind <= LEAT_YAML_NAME; kind++) {
            const size_t n = leat_yaml_text(names[i], (leat_yaml_kind)kind, scalar, sizeof scalar);
            assert_int_equal(n, strlen(scalar));
            assert_int_equal(leat_yaml_text(names[i], (leat_yaml_kind)kind, cut, sizeof cut), n);
            assert_true(strlen(cut) <= 3 && !strncmp(cut, scalar, strlen(cut)));
            if (*names[i]) /* leat has no empty keys */
                check_forms(names[i], scalar);
            else
                assert_string_equal(scalar, "\"\"");
        }
}

TEST(a_name_is_the_same_as_its_escapes)
{
    static const struct {
        const char *a, *b;
        bool same;
    } pairs[] = {
        { "", "", true },
        { "a\tb", "a\\x09b", true },
        { "\377", "\\xff", true },
        { "\377", "\376", false },
        { "a", "ab", false },
        { "ab", "a", false },
        { "", "a", false },
        { "caf\xc3\xa9", "caf\xc3\xa9", true },
        { "caf\xc3\xa9", "caf\xc3\xa8", false },
        { "na\xe2\x80\x8cme", "na\\u{200c}me", true },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_int_equal(leat_visible_same(pairs[i].a, pairs[i].b), pairs[i].same);
        assert_int_equal(leat_visible_same(pairs[i].b, pairs[i].a), pairs[i].same);
    }
}

/* Other readers of YAML must read a name as a text. */
TEST(names_are_texts)
{
    static const char *const typed[] = { "yes", "No",   "TRUE", "null",  "~",         "1.5",
                                         "-7",  "0x10", ".inf", "12:30", "2024-01-01" };
    char text[50];
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
        leat_yaml_text(typed[i], LEAT_YAML_NAME, text, sizeof text);
        assert_true(*text == '"');
    }
    leat_yaml_text("image/class.label", LEAT_YAML_NAME, text, sizeof text);
    assert_string_equal(text, "image/class.label");
    leat_yaml_text("true", LEAT_YAML_VALUE, text, sizeof text);
    assert_string_equal(text, "true");
    leat_yaml_text("caf\xe9", LEAT_YAML_NAME, text, sizeof text);
    assert_string_equal(text, "\"caf\xef\xbf\xbd\"");
}
