# SPDX-License-Identifier: MIT
# The short way in. CMake does the work: `cmake --list-presets` shows the other builds.
JOBS   ?= $(shell nproc)
PREFIX ?= /usr/local

.PHONY: all setup demo test install uninstall dist clean

all: build/build.ninja
	cmake --build build -j $(JOBS)

# Every target first makes sure that the packages are there that it needs; says nothing when they are.
build/build.ninja: | setup
	cmake --preset release

setup:
	@tools/dev/setup

demo: build/build.ninja
	cmake --build build -j $(JOBS) --target leat_command
	@tools/dev/demo build/leat

test:
	@echo "All is built, then every test runs: about 3 minutes on two cores, 2 where it is built already."
	@$(MAKE) --no-print-directory all
	ctest --test-dir build -j $(JOBS) --output-on-failure

install: all
	cmake --install build --prefix $(PREFIX)

uninstall:
	@tools/dev/uninstall build

dist: all
	@tools/dev/dist build

clean:
	rm -rf build data/demo-images data/demo
