/* SPDX-License-Identifier: MIT
 *
 * test_tfrecord_labels.c: a TFRecord set has the class names of the labels file beside it, which `leat convert` writes. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"

static int make_sets(void **state)
{
    const int rc = make_folder(state);
    write_records(in_folder("a-00000-of-00002.tfrecord"), 0, 10, 8);
    write_records(in_folder("a-00001-of-00002.tfrecord"), 10, 10, 8);
    write_records(in_folder("b-00000-of-00001.tfrecord"), 0, 10, 8);
    write_records(in_folder("plain.tfrecord"), 0, 10, 8);
    return rc;
}

static leat_plan *open_files(const char *files)
{
    return plan_format(
        "source: {tfrecord: {files: [%s], features: {x: {}}}}\npipeline: [{batch: 4}]\n", files);
}

/* names: joined by commas; NULL: unknown. */
static void expect(const char *files, const char *names, bool has_note)
{
    char given[300], joined[300] = "";
    int32_t n = 0;
    const char *name;
    snprintf(given, sizeof given, "%s", files);
    leat_plan *plan = open_files(given);
    for (; (name = leat_plan_class(plan, n)); n++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", n ? "," : "",
                 name);
    assert_string_equal(joined, names ? names : "");
    assert_int_equal(leat_plan_get_info(plan)->n_classes, n);
    assert_null(leat_plan_class(plan, -1));
    bool noted = false;
    for (int32_t i = 0; leat_plan_note(plan, i); i++)
        noted = noted || strstr(leat_plan_note(plan, i), "names of classes");
    assert_int_equal(noted, has_note);
    leat_plan_close(&plan);
}

static const char *pattern(const char *name)
{
    static char text[2][100];
    static int i;
    i = !i;
    snprintf(text[i], sizeof text[i], "'%s'", in_folder(name));
    return text[i];
}

TEST(a_set_has_the_names_beside_it)
{
    expect(pattern("a-*"), NULL, false);
    put_text("a-labels.txt", "cat\ndog\nowl\n");
    expect(pattern("a-*"), "cat,dog,owl", false);
    expect(pattern("a-00001-of-00002.tfrecord"), "cat,dog,owl", false);
    put_text("a-labels.txt", "cat\r\ndog\r\n\r\nzebra finch");
    expect(pattern("a-*"), "cat,dog,,zebra finch", false);
    put_text("a-labels.txt", "\xEF\xBB\xBF"
                             "cat\r\ndog\n"); /* as some editors begin it */
    expect(pattern("a-*"), "cat,dog", false);
    put_text("a-labels.txt", "\xEF\xBB\xBF");
    expect(pattern("a-*"), NULL, false);
    expect(pattern("plain.tfrecord"), NULL, false);
    put_text("a-labels.txt", "");
    expect(pattern("a-*"), NULL, false);
}

TEST(sets_must_agree)
{
    char both[300];
    put_text("a-labels.txt", "cat\ndog\n");
    snprintf(both, sizeof both, "%s, %s", pattern("a-*"), pattern("b-*"));
    expect(both, NULL, false); /* b has none */
    put_text("b-labels.txt", "cat\ndog\n");
    expect(both, "cat,dog", false);
    put_text("b-labels.txt", "cat\r\ndog"); /* lines count, not bytes */
    expect(both, "cat,dog", false);
    put_text("b-labels.txt", "cat\ndog\nowl\n"); /* the longer list */
    expect(both, "cat,dog,owl", false);
    put_text("b-labels.txt", "dog\ncat\n");
    expect(both, NULL, false); /* nothing is a label */
}

TEST(a_label_of_two_classes_is_refused)
{
    leat_plan *plan;
    leat_error err;
    char text[900];
    put_text("a-labels.txt", "cat\ndog\n");
    put_text("b-labels.txt", "cat\nowl\n");
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: [%s, %s], features: {x: {}, label: {key: id, type: int64, "
             "shape: []}}}}\npipeline: [{batch: 4}]\n",
             pattern("a-*"), pattern("b-*"));
    assert_int_equal(open_text(text, &plan, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "class 1 is 'owl' beside"));
    assert_non_null(strstr(err.message, "but 'dog' beside"));
    for (int i = 0; i < 3; i++) { /* nor does a set without names hide them */
        const char *const sets[] = { "plain*", "a-*", "b-*" };
        char here[900], files[3][100];
        for (int k = 0; k < 3; k++)
            snprintf(files[k], sizeof files[k], "%s", pattern(sets[(i + k) % 3]));
        snprintf(
            here, sizeof here,
            "source: {tfrecord: {files: [%s, %s, %s], features: {x: {}, label: {key: id, type: "
            "int64, shape: []}}}}\npipeline: [{batch: 4}]\n",
            files[0], files[1], files[2]);
        assert_int_equal(open_text(here, &plan, &err), LEAT_E_CONFIG);
        assert_non_null(strstr(err.message, "labels mean other classes"));
    }
    put_text("b-labels.txt", "cat\n");
    check(open_text(text, &plan, &err), &err);
    assert_string_equal(leat_plan_class(plan, 1), "dog");
    leat_plan_close(&plan);
}

/* What is combined follows the same rule. */
TEST(sources_without_a_label_may_differ)
{
    static const char source[] = "{tfrecord: {files: %s, features: {x: {}%s}}}";
    static const char label[] = ", label: {key: id, type: int64, shape: []}";
    leat_plan *plan;
    leat_error err;
    put_text("a-labels.txt", "cat\ndog\n");
    put_text("b-labels.txt", "cat\nowl\n");
    for (int has = 0; has < 2; has++) {
        char a[300], b[300], text[900];
        snprintf(a, sizeof a, source, pattern("a-*"), has ? label : "");
        snprintf(b, sizeof b, source, pattern("b-*"), has ? label : "");
        snprintf(text, sizeof text, "source: {concat: [%s, %s]}\npipeline: [{batch: 4}]\n", a, b);
        const int rc = open_text(text, &plan, &err);
        if (has) {
            assert_int_equal(rc, LEAT_E_CONFIG);
            assert_non_null(strstr(err.message, "class 1 of 'label' is 'owl' in"));
            continue;
        }
        check(rc, &err);
        assert_null(leat_plan_class(plan, 0)); /* as in one source of both sets */
        leat_plan_close(&plan);
    }
}

/* Names of files that are not read say nothing of the classes. */
TEST(another_name_of_a_file_has_no_names)
{
    char both[300];
    put_text("a-labels.txt", "cat\ndog\n");
    assert_int_equal(symlink("a-00000-of-00002.tfrecord", in_folder("c-00000-of-00002.tfrecord")),
                     0);
    assert_int_equal(symlink("a-00001-of-00002.tfrecord", in_folder("c-00001-of-00002.tfrecord")),
                     0);
    snprintf(both, sizeof both, "%s, %s", pattern("a-0*"), pattern("c-0*"));
    expect(both, "cat,dog", false);
}

/* Names of another feature would be wrong ones; what reads the same values has the same. */
TEST(classes_are_those_of_one_feature)
{
    static const struct {
        const char *set, *features, *tensor;
        int32_t n;
    } cases[] = {
        { "c-*", "cls: {key: image/class/label}, y: {}", "cls", 2 },
        { "c-*", "cls: {key: image/class/label}, y: {}", "y", 0 },
        { "c-*", "y: {}", "y", 0 }, /* the label is not read */
        { "c-*", "label: {key: image/class/label}, b: {key: image/class/label}", "label", 2 },
        { "c-*", "label: {key: image/class/label}, b: {key: image/class/label}", "b", 2 },
        { "c-*", "a: {key: image/class/label}, b: {key: image/class/label}", "a", 2 },
        { "c-*", "a: {key: image/class/label}, b: {key: image/class/label}", "b", 2 },
        { "c-*", "label: {key: y}", "label", 0 },
        { "a-*", "n: {key: id}", "n", 3 },
        { "a-*", "n: {key: id}, m: {key: id}", "n", 0 },
        { "a-*", "n: {key: id}, m: {key: id}", "m", 0 },
        { "a-*", "n: {key: id}, label: {key: x}", "n", 3 },
        { "a-*", "n: {key: id}, label: {key: x}", "label", 0 },
        { "a-*", "label: {key: x}", "label", 3 },
        { "a-*",
          "n: {key: id}, m: {key: id}}}}, {tfrecord: {files: [$], features: {label: {key: id}",
          "label", 2 },
    };
    leat_format_error why;
    record_writer to = open_records(in_folder("c-00000-of-00001.tfrecord"));
    for (int64_t i = 0; i < 2; i++) {
        assert_int_equal(leat_example_add_int64s(to.builder, "image/class/label", &i, 1, &why), 0);
        assert_int_equal(leat_example_add_int64s(to.builder, "y", &i, 1, &why), 0);
        put_record(&to);
    }
    close_records(&to);
    put_text("c-labels.txt", "cat\ndog\n");
    put_text("a-labels.txt", "cat\ndog\nowl\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const other = strchr(cases[i].features, '$');
        leat_plan *plan =
            plan_format("source: {zip: [{tfrecord: {files: [%s], features: {%.*s%s%s}}}]}\n"
                        "pipeline: [{batch: 1}]\n",
                        pattern(cases[i].set),
                        other ? (int)(other - cases[i].features) : (int)strlen(cases[i].features),
                        cases[i].features, other ? pattern("b-*") : "", other ? other + 1 : "");
        assert_int_equal(leat_plan_n_classes(plan, cases[i].tensor), cases[i].n);
        for (int32_t k = 0; k <= cases[i].n; k++)
            assert_int_equal(leat_plan_tensor_class(plan, cases[i].tensor, k) != NULL,
                             k < cases[i].n);
        leat_plan_close(&plan);
    }
    assert_int_equal(remove(in_folder("c-labels.txt")), 0);
}

TEST(what_is_no_text_is_noted)
{
    put_file("a-labels.txt", "cat\0dog\n", 8);
    expect(pattern("a-*"), NULL, true);
    assert_int_equal(remove(in_folder("a-labels.txt")), 0);
    assert_int_equal(mkdir(in_folder("a-labels.txt"), 0755), 0);
    expect(pattern("a-*"), NULL, true);
}

SUITE_FIXTURE(make_sets, remove_folder)
