/* SPDX-License-Identifier: MIT
 *
 * gpu_fatbin.c: puts the compiled kernels (the file LEAT_FATBIN) into the plugin as bytes. */
extern const unsigned char leat_fatbin[] __attribute__((visibility("hidden")));

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl leat_fatbin\n"
        ".hidden leat_fatbin\n"
        "leat_fatbin:\n"
        ".incbin \"" LEAT_FATBIN "\"\n"
        ".popsection\n");
