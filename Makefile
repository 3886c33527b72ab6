# SPDX-License-Identifier: Apache-2.0
# The front door: `make demo` from a fresh clone, `make check` before sending a change.
# Everything real is in CMakeLists.txt; this file installs what is missing and calls it.

MAKEFLAGS += --no-print-directory

PREFIX  ?= /usr/local
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 60
BUILD   := build
PY      := $(BUILD)/venv/bin/python
NINJA   := $(if $(shell command -v ninja 2>/dev/null),-G Ninja,)
DEPS    := tools/install_deps.sh
CTEST   := ctest --output-on-failure -j $(JOBS) --no-tests=error
SANITIZED := ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
             TSAN_OPTIONS=allocator_may_return_null=1

# $(call configure,folder,options): makes the build folder unless it is there, then applies options.
configure = mkdir -p $(1) && cmake -S . -B $(1) -DHLOCC_WERROR=ON \
            $(if $(wildcard $(1)/CMakeCache.txt),,$(NINJA)) $(2) >$(1)/configure.log 2>&1 \
            || { cat $(1)/configure.log; exit 1; }
compile   = cmake --build $(1) -j $(JOBS) $(2)

.PHONY: help all venv demo check check-ci check-full check-asan check-ubsan check-tsan check-clang \
        check-rules check-format check-docs size check-accuracy check-emulated check-aarch64 check-ptx golden-update fuzz fuzz-coverage fuzz-modules bench docs format \
        install wheel deb check-packages check-versions check-examples check-libraries clean

all:
	@$(DEPS) build
	@$(call configure,$(BUILD),-DCMAKE_BUILD_TYPE=Release)
	@$(call compile,$(BUILD))

help:
	@echo "make demo | all | check | check-ci | check-full | check-asan | check-ubsan | check-tsan |"
	@echo "     check-accuracy | check-emulated | check-aarch64 | check-ptx | size | golden-update | fuzz | fuzz-coverage | fuzz-modules | bench | docs | format | install (PREFIX, DESTDIR) |"
	@echo "     wheel | deb | check-packages | check-versions | check-examples |"
	@echo "     check-libraries | clean"

venv:
	@$(DEPS) python

# The Python packages are fetched while the compiler works.
demo:
	@$(DEPS) build
	@$(MAKE) -j2 all venv
	JAX_PLATFORMS=hlocc $(PY) examples/train_digits.py --png $(BUILD)/demo/digits.png --compare

check-rules:
	@python3 tools/layer_check.py
	@python3 tools/house_rules.py
	@python3 tools/docs_check.py
	@python3 tools/language_rules.py

# How large the project is: lines, long functions, switches over operations, the plugin's bytes.
size:
	@python3 tools/size_report.py --build $(BUILD)

check:
	@$(DEPS) build check
	@$(MAKE) -j2 all venv
	@$(MAKE) check-rules check-docs size
	cd $(BUILD) && $(CTEST) -L 'unit|golden|example|smoke'

check-clang:
	@$(DEPS) build check clang
	@$(call configure,build-clang,-DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang)
	@$(call compile,build-clang)

# $(call sanitized,folder,sanitizers,ctest options): unit, slow and golden tests under sanitizers
define sanitized
	@$(DEPS) build check
	@$(call configure,$(1),-DCMAKE_BUILD_TYPE=Debug "-DHLOCC_SANITIZE=$(2)")
	@$(call compile,$(1))
	cd $(1) && $(SANITIZED) $(CTEST) -L 'unit|ci|golden' $(3)
endef

check-asan:
	$(call sanitized,build-asan,address;undefined)

check-ubsan:
	$(call sanitized,build-ubsan,undefined)

# Memory and load time of the instrumented library say nothing.
check-tsan:
	$(call sanitized,build-tsan,thread,-E 'frontend/hlo/bounds|pjrt/load')

check-ci:
	@$(MAKE) check
	@$(MAKE) check-clang check-format
	@$(MAKE) check-asan
	cd $(BUILD) && $(CTEST) -L 'ci|jax' -LE smoke

check-full: check-ci check-ubsan check-tsan fuzz fuzz-modules
	python3 tests/cli/hlo_roundtrip.py --run $(BUILD)/bin/hlocc
	python3 tests/upstream/upstream_test.py $(BUILD)/bin/hlocc $(PY) $(BUILD)/lib/pjrt_c_api_hlocc_plugin.so
	HLO_LAPACK_TEST_FULL=1 $(BUILD)/test/test_lib_lapack_lapack
	HLO_RANDOM_TEST_OPERATIONS=1000000 $(BUILD)/test/test_runtime_random
	HLOCC_TEST_PROGRAMS=10000 $(BUILD)/test/test_spmd_partition_random
	HLO_TILE_TEST_PHASES=1000000 $(BUILD)/test/test_codegen_image_tile_program
	HLO_STRESS_TEST_LAUNCHES=100000 $(BUILD)/test/test_runtime_collective_stress
	HLO_FAULTS_TEST_OPERATIONS=0 $(BUILD)/test/test_runtime_collective_faults
	HLOCC_TEST_PROGRAMS=2000 HLO_FAULTS_TEST_OPERATIONS=5 $(BUILD)/test/test_cli_collective_faults_random
	@$(MAKE) check-accuracy check-emulated check-aarch64 check-ptx check-packages check-versions check-examples

# Functions at every f32 and f16, and at very many arguments of other types; docs/accuracy.md is written anew.
check-accuracy: all
	HLO_MATH_TEST_STRIDE=997 $(BUILD)/test/test_codegen_math_accuracy
	HLO_MATH_TEST_STRIDE=1 HLO_MATH_TEST_TABLE=docs/accuracy.md $(BUILD)/test/test_codegen_math_accuracy

# Machine code on processors without AVX2, which know no other instructions. (With AVX2, QEMU 7.2 takes
# a gather whose indices are in register 4 for one without indices, so it says nothing there.)
OLD_PROCESSORS := qemu64 Nehalem SandyBridge

check-emulated: all
	@$(DEPS) check emulator
	@for cpu in $(OLD_PROCESSORS); do \
	  for test in ops fma x86; do \
	    qemu-x86_64 -cpu $$cpu $(BUILD)/test/test_codegen_x86_$$test || exit 1; \
	  done; \
	  python3 tests/codegen/random_modules.py $(BUILD)/bin/hlocc --count 60 --backends native \
	    --under "qemu-x86_64 -cpu $$cpu" || exit 1; \
	done

# Another processor: unit and golden tests by a cross compiler, where `native` is the C back end. QEMU is
# too slow for what is timed, and its processes do not notice that they were forked.
check-aarch64:
	@$(DEPS) build check aarch64
	@$(call configure,build-aarch64,-DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake)
	@$(call compile,build-aarch64)
	cd build-aarch64 && PATH=$$PWD/packages/bin:$$PATH $(CTEST) -L 'unit|ci|golden' \
	  -E 'frontend/hlo/bounds|base/process|compiler/tune_measure' --timeout 7200

# What the PTX emitter writes, by NVIDIA's assembler for each generation of GPUs.
check-ptx: all
	@$(DEPS) check ptxas
	HLOCC_PTXAS=$(CURDIR)/$(BUILD)/ptxas/bin/ptxas $(CTEST) --test-dir $(BUILD) -R 'codegen/ptx|ptx/kernels'

golden-update: all
	python3 tools/golden.py --update --tool $(BUILD)/bin/hlocc tests/golden

# Every fuzz target for FUZZ_SECONDS, started from its committed corpus.
fuzz:
	@$(DEPS) build clang
	@$(call configure,build-fuzz,-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang -DHLOCC_FUZZ=ON \
	  -DHLOCC_TESTS=OFF "-DHLOCC_SANITIZE=address;undefined")
	@$(call compile,build-fuzz)
	@tools/run_fuzzers.sh build-fuzz $(FUZZ_SECONDS)

# Random modules for FUZZ_SECONDS each: every back end beside the interpreter, machine code and C equal
# in every bit; then machine code under valgrind. FUZZ_FIRST moves to other modules.
FUZZ_FIRST ?= 1000000
MODULES := tests/codegen/random_modules.py $(BUILD)/bin/hlocc --first $(FUZZ_FIRST) --seconds $(FUZZ_SECONDS)

fuzz-modules: all
	@$(DEPS) check valgrind
	python3 $(MODULES) --equal native,c
	python3 $(MODULES) --backends native-avx2 \
	  --under "valgrind -q --undef-value-errors=no --error-exitcode=9"

# How much of the readers the committed corpora reach, at least.
FUZZ_COVERAGE := 85

fuzz-coverage:
	@$(DEPS) build clang
	@$(call configure,build-cov,-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang -DHLOCC_COVERAGE=ON)
	@$(call compile,build-cov,--target corpus_replays)
	@tools/fuzz_coverage.sh build-cov $(FUZZ_COVERAGE)

# Compilation, dispatch and runs through the C interface, then the stored programs beside XLA's cpu
# client (bench/suite.py) and of the other libraries that the Python environment has. Results are of
# this machine: they stay in the build folder. bench/jit.py times first calls, bench/runtime.py launches,
# transfers, callbacks and the memory of buffers, bench/collectives.py exchanges between devices,
# bench/sweep.py shapes around those programs.
bench: all
	@$(DEPS) python
	$(BUILD)/bench/pjrt_bench --plugin=$(BUILD)/lib/pjrt_c_api_hlocc_plugin.so \
	  | tee $(BUILD)/bench/pjrt.jsonl
	rm -f $(BUILD)/bench/suite.jsonl
	$(PY) bench/suite.py --out $(BUILD)/bench/suite.jsonl
	$(PY) bench/jit.py --library $(BUILD)/lib/pjrt_c_api_hlocc_plugin.so --memo $(BUILD)/bench/memo_plugin.so \
	  > $(BUILD)/bench/jit.jsonl
	$(PY) bench/runtime.py --library $(BUILD)/lib/pjrt_c_api_hlocc_plugin.so | tee $(BUILD)/bench/runtime.txt
	$(PY) bench/collectives.py --library $(BUILD)/lib/pjrt_c_api_hlocc_plugin.so | tee $(BUILD)/bench/collectives.txt
	$(PY) bench/report.py $(BUILD)/bench/suite.jsonl $(BUILD)/bench/pjrt.jsonl $(BUILD)/bench/jit.jsonl --charts $(BUILD)/bench

# The reference pages that the tool writes about itself; the committed ones are checked.
# Each is "tool verb:page".
DOC_PAGES := "hlocc ops:ops" "hlocc passes:passes" "hlocc config:config" "hlocc-dev support:support-matrix"

docs: all
	@for page in $(DOC_PAGES); do \
	  $(BUILD)/bin/$${page%:*} --markdown > docs/$${page#*:}.md || exit 1; done
	@python3 tools/vir_reference.py
	@python3 tools/tour.py $(BUILD)/bin/hlocc
	@python3 tools/partitioning.py $(BUILD)/bin/hlocc

check-docs:
	@python3 tools/vir_reference.py --check
	@python3 tools/tour.py $(BUILD)/bin/hlocc --check
	@python3 tools/partitioning.py $(BUILD)/bin/hlocc --check
	@for page in $(DOC_PAGES); do \
	  $(BUILD)/bin/$${page%:*} --markdown | diff -q - docs/$${page#*:}.md >/dev/null \
	    || { echo "docs/$${page#*:}.md is stale: run make docs"; exit 1; }; done

# $(call clang_format,options)
define clang_format
	@$(DEPS) format
	@git ls-files 'src/*.c' 'src/*.h' 'include/*.h' 'examples/*.c' 'bench/*.[ch]' | xargs clang-format $(1)
endef

format:
	$(call clang_format,-i)

check-format:
	$(call clang_format,--dry-run -Werror)

install: all
	@$(call configure,$(BUILD),-DCMAKE_INSTALL_PREFIX=$(PREFIX))
	cmake --install $(BUILD)

# build/wheel/*.whl, for every Linux whose glibc is that of its name or newer; the policy is that of
# manylinux2014 (glibc 2.17) as long as ctest's tools/glibc passes.
wheel:
	@$(DEPS) build wheel
	@$(call configure,$(BUILD),-DCMAKE_BUILD_TYPE=Release)
	@$(call compile,$(BUILD),--target pjrt_plugin)
	@rm -rf $(BUILD)/wheel
	@$(BUILD)/packaging/bin/python -m pip wheel -q --no-deps --no-build-isolation -w $(BUILD)/wheel/built ./python
	@PATH=$$PWD/$(BUILD)/packaging/bin:$$PATH auditwheel repair --plat manylinux2014_$$(uname -m) \
	  -w $(BUILD)/wheel $(BUILD)/wheel/built/*.whl >$(BUILD)/wheel/built/log 2>&1 || { cat $(BUILD)/wheel/built/log; exit 1; }
	@ls $(BUILD)/wheel/*.whl

# build/deb/*.deb. A build of its own: the tool and the package files know their folders.
DEB_LIB = lib/$$(dpkg-architecture -qDEB_HOST_MULTIARCH)

deb:
	@$(DEPS) build deb
	@$(call configure,build-deb,-DCMAKE_BUILD_TYPE=Release -DHLOCC_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr \
	  -DCMAKE_INSTALL_LIBDIR=$(DEB_LIB) -DHLOCC_INSTALL_PLUGINDIR=$(DEB_LIB)/hlocc)
	@$(call compile,build-deb)
	@rm -rf $(BUILD)/deb
	@tools/deb_packages.sh build-deb $(BUILD)/deb
	@lintian --allow-root --fail-on error,warning $(BUILD)/deb/*.deb

# Both are installed in a new Debian system and used there, without a network.
check-packages: wheel deb venv
	@tools/clean_root_test.sh $(BUILD)/wheel/*.whl $(BUILD)/deb/*.deb

# The plugin under every supported version of JAX, each in an environment under build/versions, as far as
# this machine has the Python for it. With UPDATE=--update the README gets the table.
check-versions: all
	@python3 tests/versions/matrix.py --library $(BUILD)/lib/pjrt_c_api_hlocc_plugin.so --readme README.md $(UPDATE)

# Checkouts of libraries whose source archives have no tests: LIBRARY_CHECKOUTS="equinox=DIR jaxopt=DIR".
check-libraries: all
	@python3 tests/libraries/libraries.py run --venv $(BUILD)/libraries --out $(BUILD)/libraries.json \
	  --plugin $(BUILD)/lib/pjrt_c_api_hlocc_plugin.so $(addprefix --checkout ,$(LIBRARY_CHECKOUTS))
	@python3 tests/libraries/libraries.py table $(BUILD)/libraries.json

# All examples in small settings, in an environment that has their libraries.
check-examples: all
	@$(DEPS) gallery
	HLOCC_LIBRARY_PATH=$(CURDIR)/$(BUILD)/lib/pjrt_c_api_hlocc_plugin.so PYTHONPATH=$(CURDIR)/python \
	  $(BUILD)/gallery/bin/python -m pytest -q -p no:cacheprovider tests/jax/test_examples.py

clean:
	rm -rf build-*
	[ ! -d $(BUILD) ] || find $(BUILD) -mindepth 1 -maxdepth 1 ! -name venv -exec rm -rf {} +
