/* SPDX-License-Identifier: MIT
 *
 * test_onednn_calls.c: oneDNN is opened when somebody trains, and not before; where it is missing, or is no oneDNN, a
 * message says what to do, and whatever trains nothing works. One process per case, since an open library stays. */
#include "fixtures/own_folder.h"

#include <stdbool.h>
#include <sys/wait.h>

#include "device/onednn_calls.h"
#include "leat/leat.h"

static const char job[] =
    "source: {npy: {files: '%s', name: x}}\n"
    "pipeline: [{batch: 4}]\n"
    "train: {model: [{dense: {units: 1}}], loss: mean_squared_error, input: x, "
    "target: x}\n";

static bool is_mapped(void)
{
    char line[1000];
    bool found = false;
    FILE *const maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps))
        found = found || strstr(line, "libdnnl");
    if (maps)
        fclose(maps);
    return found;
}

/* 16 rows of one float. */
static int make_data(void **state)
{
    char header[128] =
        "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (16, 1), }";
    static char file[128 + 16 * sizeof(float)];
    const size_t n = 10 + strlen(header + 10);
    const int rc = make_folder(state);
    memset(header + n, ' ', sizeof header - n);
    header[127] = '\n';
    memcpy(file, header, sizeof header);
    put_file("x.npy", file, sizeof file);
    put_text("no.so", "this is no library");
    return rc;
}

/* Runs the input, then opens a trainer: the code of that. 100: the input failed, or needed oneDNN. */
static int train(const char *named, char *message)
{
    char text[600];
    leat_config *config = NULL;
    leat_plan *plan = NULL;
    leat_loader *loader = NULL;
    leat_device *device = NULL;
    leat_trainer *trainer = NULL;
    leat_batch *batch;
    leat_error err = { 0 };
    if (named)
        setenv("LEAT_ONEDNN", named, 1);
    else
        unsetenv("LEAT_ONEDNN");
    snprintf(text, sizeof text, job, in_folder("x.npy"));
    if (leat_config_parse(text, "job", &config, &err) < 0 ||
        leat_plan_open(config, NULL, &plan, &err) < 0 ||
        leat_loader_open(plan, NULL, &loader, &err) < 0 ||
        leat_loader_next(loader, &batch, &err) < 0 || is_mapped()) {
        snprintf(message, 1020, "%s", err.message);
        return 100;
    }
    leat_batch_release(batch);
    leat_loader_close(&loader);
    int rc = leat_trainer_open_device(config, &device, &err);
    if (rc >= 0)
        rc = leat_trainer_open(config, plan, device, &trainer, &err);
    snprintf(message, 1020, "%s", err.message);
    return rc;
}

/* In a process of its own. */
static void expect(const char *named, int code, const char *words)
{
    char message[1020] = "";
    int ends[2], status = -1;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        const int rc = train(named, message);
        const ssize_t n = write(ends[1], message, sizeof message);
        _exit(n == (ssize_t)sizeof message ? -rc : 99);
    }
    assert_true(child > 0);
    assert_int_equal(read(ends[0], message, sizeof message), sizeof message);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ends[0]);
    close(ends[1]);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != -code || !strstr(message, words))
        fail_msg("LEAT_ONEDNN=%s: status %d: %s", named ? named : "", status, message);
}

TEST(a_trainer_opens_it)
{
    expect(NULL, LEAT_OK, "");
    expect("", LEAT_OK, "");
}

/* Links the library of the build, or the C library, to libdnnl.so.MAJOR.MINOR. */
static const char *put_link(const char *target, int minor)
{
    static char path[300];
    char name[32];
    snprintf(name, sizeof name, "libdnnl.so.%d.%d", DNNL_VERSION_MAJOR, minor);
    snprintf(path, sizeof path, "%s", in_folder(name));
    assert_int_equal(symlink(target, path), 0);
    return path;
}

static const char *built_with(void)
{
    static char library[4096];
    FILE *const cache =
        popen("sed -n 's/^DNNL_LIBRARY:FILEPATH=//p' " BUILD_DIR "/CMakeCache.txt", "r");
    assert_non_null(cache);
    assert_non_null(fgets(library, sizeof library, cache));
    pclose(cache);
    library[strcspn(library, "\n")] = 0;
    return library;
}

static const char *c_library(void)
{
    static char line[4096];
    FILE *const maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) && !strstr(line, "/libc.so."))
        line[0] = 0;
    fclose(maps);
    line[strcspn(line, "\n")] = 0;
    assert_non_null(strchr(line, '/'));
    return strchr(line, '/');
}

/* By a name such as Debian 13 has: libdnnl.so.3.6, and no other. */
TEST(a_minor_version_is_found)
{
    const char *const path = put_link(built_with(), 6);
    expect(test_folder, LEAT_OK, "");
    assert_int_equal(unlink(path), 0);
}

/* A newer one that is no oneDNN, or that the loader refuses, does not hide the one that works. */
TEST(one_that_is_not_fit_is_passed_over)
{
    put_link(c_library(), 9);
    expect(test_folder, LEAT_E_UNSUPPORTED, "without dnnl_version");
    put_link(in_folder("no.so"), 8);
    expect(test_folder, LEAT_E_UNSUPPORTED, "without dnnl_version");
    put_link(built_with(), 6);
    expect(test_folder, LEAT_OK, "");
    for (int minor = 6; minor < 10; minor++) {
        char name[32];
        snprintf(name, sizeof name, "libdnnl.so.%d.%d", DNNL_VERSION_MAJOR, minor);
        unlink(in_folder(name));
    }
}

/* Names that a system may have, all of what is no library; or none. */
static void put_all(bool are_there)
{
    for (int i = 0; i < 2 * 66; i++) {
        char name[32], minor[16] = "";
        if (i / 2 < 65)
            snprintf(minor, sizeof minor, ".%d", i / 2);
        snprintf(name, sizeof name, "libdnnl.so.%d%s", 2 + i % 2, minor);
        if (are_there)
            put_text(name, "this is no library");
        else
            unlink(in_folder(name));
    }
}

/* The loader reads its path when a process begins. */
TEST(one_of_the_system_that_cannot_be_opened_says_why)
{
    char text[900], command[1400], said[4000] = "";
    snprintf(text, sizeof text, job, in_folder("x.npy"));
    put_text("job.yaml", text);
    put_all(true);
    snprintf(command, sizeof command,
             "env -u LEAT_ONEDNN LD_LIBRARY_PATH=%s " BUILD_DIR "/leat train %s/job.yaml 2>&1",
             test_folder, test_folder);
    FILE *const out = popen(command, "r");
    assert_non_null(out);
    said[fread(said, 1, sizeof said - 1, out)] = 0;
    pclose(out);
    if (!strstr(said, "file too short") || !strstr(said, "install libdnnl"))
        fail_msg("%s", said);
    put_all(false);
}

TEST(without_it_a_message_says_what_to_install)
{
    expect(test_folder, LEAT_E_UNSUPPORTED, "training on the CPU needs oneDNN");
    expect(test_folder, LEAT_E_UNSUPPORTED, "LEAT_ONEDNN=");
    expect("/no/such/file.so", LEAT_E_UNSUPPORTED, "install libdnnl");
    expect(in_folder("no.so"), LEAT_E_UNSUPPORTED, "install libdnnl");
    expect(in_folder("no.so"), LEAT_E_UNSUPPORTED, "no.so: file too short");
    put_text("libdnnl.so.2", "this is no library");
    put_text("libdnnl.so.3", "this is no library");
    expect(test_folder, LEAT_E_UNSUPPORTED, "file too short");
    assert_int_equal(unlink(in_folder("libdnnl.so.2")), 0);
    assert_int_equal(unlink(in_folder("libdnnl.so.3")), 0);
    expect("libm.so.6", LEAT_E_UNSUPPORTED, "without dnnl_version");
}

SUITE_FIXTURE(make_data, remove_folder)
