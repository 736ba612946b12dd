/* SPDX-License-Identifier: MIT
 *
 * What is said of nvJPEG: it is opened once and for good, so what is missing comes first. */
#include "fixtures/nvjpeg_fixture.h"

static const cuda_fake_table *fake;

static const char *listed(leat_device_info infos[64])
{
    const size_t n = leat_devices(infos, 64);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(infos[i].name, "cuda:0"))
            return infos[i].text;
    fail_msg("cuda:0 is not listed");
    return "";
}

static void expect(const char *says)
{
    leat_device_info infos[64];
    const char *const text = listed(infos);
    if (!strstr(text, says))
        fail_msg("'%s' does not say '%s'", text, says);
    check_fake(fake);
}

TEST(a_missing_library_is_named)
{
    setenv("LEAT_NVJPEG", "/nowhere/libnvjpeg.so", 1);
    expect("no nvJPEG: /nowhere/libnvjpeg.so cannot be opened");
    unsetenv("LEAT_NVJPEG");
    if (!dlopen("libnvjpeg.so.13", RTLD_NOW) && !dlopen("libnvjpeg.so.12", RTLD_NOW))
        expect("no nvJPEG: libnvjpeg.so.13 cannot be opened");
}

TEST(another_library_is_refused)
{
    setenv("LEAT_NVJPEG", FAKE_PLUGIN, 1);
    expect("has no function nvjpegGetProperty");
}

TEST(an_old_version_is_refused)
{
    setenv("LEAT_NVJPEG", FAKE_NVJPEG, 1);
    setenv("NVJPEG_FAKE_MAJOR", "11", 1);
    expect("is nvJPEG 11.1.2");
    unsetenv("NVJPEG_FAKE_MAJOR");
}

TEST(hardware_is_counted)
{
    const nvjpeg_fake_table *const nvjpeg = open_fake_nvjpeg();
    static const struct {
        unsigned n_engines;
        const char *says;
    } cases[] = {
        { 0, "nvJPEG 13.1.2 without a hardware decoder" },
        { 1, "nvJPEG 13.1.2 with 1 hardware decoder" },
        { 7, "nvJPEG 13.1.2 with 7 hardware decoders" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nvjpeg->reset(cases[i].n_engines);
        expect(cases[i].says);
        check_fake_nvjpeg(nvjpeg);
    }
    for (int64_t n = 0; n < 3; n++) { /* creating, asking, destroying */
        nvjpeg->reset(2);
        nvjpeg->fail_at(n, 8);
        expect(n < 2 ? "without a hardware decoder" : "with 2 hardware decoders");
        check_fake_nvjpeg(nvjpeg);
    }
}

int main(void)
{
    fake = open_fake();
    fake->reset(0);
    return unit_run();
}
