# SPDX-License-Identifier: MIT
# The short way in. CMake does the work: `cmake --list-presets` shows the other builds.
JOBS   ?= $(shell nproc)
PREFIX ?= /usr/local

.PHONY: all setup demo test install uninstall dist wheel deb clean

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

# The times are those of two cores of an AMD EPYC (Zen 3) with nothing else running.
test:
	@if [ -e build/leat ]; then echo "Tests: about 5 minutes on two cores."; \
	else echo "Building, then tests: about 8 minutes on two cores."; fi
	@$(MAKE) --no-print-directory all
	@tools/dev/test build $(JOBS)

install: all
	cmake --install build --prefix $(PREFIX)
	@mv build/install_manifest.txt build/installed.txt

uninstall:
	@tools/dev/uninstall build

dist: all
	@tools/dev/dist build

# Needs Python with some packages: see tools/dev/wheel.
wheel: | setup
	@tools/dev/wheel build/wheel

# Needs Debian's packages file and dpkg-dev.
deb: all
	@rm -rf build/deb
	@cd build && cpack -G DEB >deb.log 2>&1 || { tail -20 deb.log; exit 1; }
	@du -b build/deb/*.deb | awk '{ printf "%s  %.2f MB\n", $$2, $$1 / 1e6 }'

clean:
	rm -rf build data/demo-images data/demo
